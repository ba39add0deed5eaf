"""The text model files of LIBSVM's svm-train, with the data they were trained on.

A file holds the kernel, the labels, rho and, for every support vector, its coefficient y α and its
features, written to eight figures. It holds neither C nor ε: they are read off the coefficients at
their bound, or given.

Source: Chang & Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2(3), 27.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import InputError
from kernelqp.foreign.kernel import dual_reading
from kernelqp.foreign.reading import Reading, Rows, UnreadableModel
from kernelqp.foreign.registry import read
from kernelqp.gram import Gram
from kernelqp.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from kernelqp.losses import EpsilonInsensitive, Hinge

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector

REMEDIES = ("lower -e", "scale the features")


@dataclass(frozen=True, eq=False, slots=True)
class LibsvmModel:
    """A model file of svm-train (C-SVC of two classes, or epsilon-SVR).

    Attributes
    ----------
    header : dict of str to str
        The lines before the support vectors.
    coefficients : Vector, shape (n_sv,)
        y α.
    vectors : Matrix, shape (n_sv, d)
        Support vectors, to eight figures.
    C, epsilon : float or None
        What the file does not say.
    """

    header: dict[str, str]
    coefficients: Vector
    vectors: Matrix
    C: float | None = None
    epsilon: float | None = None

    @classmethod
    def load(
        cls, path: str | Path, C: float | None = None, epsilon: float | None = None
    ) -> LibsvmModel:
        """Read a model file.

        Raises
        ------
        InputError
            If the file is missing or is no model file.
        """
        file = Path(path)
        if not file.is_file():
            raise InputError(f"there is no model file {path}")
        try:
            head, _, body = file.read_text().partition("\nSV\n")
            header = dict(line.split(" ", 1) for line in head.splitlines())
            rows = [line.split() for line in body.splitlines() if line.strip()]
            coefficients = np.array([float(row[0]) for row in rows])
            pairs = [[cell.split(":") for cell in row[1:]] for row in rows]
            d = max((int(k) for row in pairs for k, _ in row), default=0)
            vectors = np.zeros((len(rows), d))
            for i, row in enumerate(pairs):
                vectors[i, [int(k) - 1 for k, _ in row]] = [float(v) for _, v in row]
        except (ValueError, IndexError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is no model file of svm-train: {error}") from error
        if header.get("svm_type") not in ("c_svc", "epsilon_svr"):
            raise UnreadableModel(
                f"{path}: svm_type {header.get('svm_type')!r} cannot be certified; c_svc and "
                f"epsilon_svr can"
            )
        if int(header.get("nr_class", 2)) != 2:
            raise UnreadableModel(f"{path} has {header['nr_class']} classes; two can be certified")
        return cls(header, coefficients, vectors, C, epsilon)

    @property
    def kernel(self) -> Kernel:
        """The kernel with its numbers."""
        kind = self.header["kernel_type"]
        gamma, degree, constant = (
            float(self.header.get(key, 0.0)) for key in ("gamma", "degree", "coef0")
        )
        if kind == "linear":
            return Linear()
        if kind == "rbf":
            return RBF(gamma=gamma)
        if kind == "polynomial":
            return Polynomial(int(degree), gamma, constant)
        if kind == "sigmoid":
            return Sigmoid(gamma, constant)
        raise UnreadableModel(f"kernel_type {kind!r} cannot be read from a model file")

    def price(self) -> float:
        """Return C as given, else the bound that several coefficients share.

        Raises
        ------
        InputError
            If it was not given and no two coefficients stand at a bound.
        """
        if self.C is not None:
            return self.C
        size = np.abs(self.coefficients)
        if (size == size.max(initial=0.0)).sum() < 2:
            raise InputError(
                "a LIBSVM model file does not hold C, and no two coefficients stand at a bound "
                "that would show it: pass C (the -c of svm-train)"
            )
        return float(size.max())


@read.register(LibsvmModel)
def read_libsvm(model: LibsvmModel, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Read 1/2 ‖f‖² + C Σ loss, rho = −b; LIBSVM's first label is the positive one."""
    rows = Rows.read(model, X, sample_weight)
    C, values = model.price(), rows.targets(y)
    gram = Gram.of(model.kernel, rows.X)
    b, costs = -float(model.header["rho"]), C * rows.weights
    if model.header["svm_type"] == "epsilon_svr":
        if model.epsilon is None:
            raise InputError(
                "a LIBSVM model file does not hold epsilon: pass epsilon (the -p of svm-train)"
            )
        beta = place(model, rows.X, np.zeros(len(values)))
        loss = EpsilonInsensitive(model.epsilon)
        words = f"1/2 |f|^2 + {C:g} sum max(0, |y - f(x) - b| - {model.epsilon:g})"
        return [
            dual_reading(
                "LIBSVM", words, gram, values, costs, loss, beta, b, rows.index, 1.0, REMEDIES
            )
        ]
    positive = float(model.header["label"].split()[0])
    signs = np.where(values == positive, 1.0, -1.0)
    beta = place(model, rows.X, signs)
    words = f"1/2 |f|^2 + {C:g} sum max(0, 1 - y (f(x) + b)), kernel {model.header['kernel_type']}"
    return [
        dual_reading(
            "LIBSVM", words, gram, signs, costs, Hinge(), beta, b, rows.index, 1.0, REMEDIES
        )
    ]


def place(model: LibsvmModel, X: Matrix, signs: Vector) -> Vector:
    """Return β on the rows of X whose features, to eight figures, are those of a support vector.

    Raises
    ------
    UnreadableModel
        If a support vector is no row of X.
    """
    d = max(X.shape[1], model.vectors.shape[1])
    free: dict[tuple[bytes, float], list[int]] = {}
    for i, row in enumerate(_eight_figures(X, d)):
        free.setdefault((row.tobytes(), signs[i]), []).append(i)
    beta = np.zeros(len(X))
    for row, coefficient in zip(_eight_figures(model.vectors, d), model.coefficients, strict=True):
        sign = np.sign(coefficient) if signs.any() else 0.0
        rows = free.get((row.tobytes(), sign), [])
        if not rows:
            raise UnreadableModel(
                "a support vector of the model file is no row of X: pass the data it was trained on"
            )
        beta[rows.pop(0)] = coefficient
    return beta


def _eight_figures(X: Matrix, d: int) -> Matrix:
    """Return X as svm-train prints it, with columns of 0 up to d."""
    wide = np.zeros((len(X), d))
    wide[:, : X.shape[1]] = X
    return np.array([[float(f"{v:.8g}") for v in row] for row in wide]) + 0.0
