"""The text model files of LIBSVM's svm-train, with the data they were trained on.

A file holds the kernel, the labels, rho and, for every support vector, its coefficient y α and its
features, written to eight figures. It holds neither C nor ε: they are read off the coefficients at
their bound, or given.

Source: Chang & Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2(3), 27.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import InputError
from kernelqp.foreign.kernel import dual_reading, gram_on, signed, sub_gram
from kernelqp.foreign.reading import Reading, Rows, UnreadableModel
from kernelqp.foreign.registry import read
from kernelqp.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from kernelqp.losses import EpsilonInsensitive, Hinge

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector

REMEDIES = ("lower -e", "scale the features")


@dataclass(frozen=True, eq=False, slots=True)
class LibsvmModel:
    """A model file of svm-train (C-SVC, or epsilon-SVR).

    Attributes
    ----------
    header : dict of str to str
        The lines before the support vectors.
    coefficients : Matrix, shape (n_sv, 1), or (n_sv, k - 1) for k classes
        y α; of more than two classes, in its problem against each of the others.
    vectors : Matrix, shape (n_sv, d)
        Support vectors, to eight figures.
    C, epsilon : float or None
        What the file does not say.
    """

    header: dict[str, str]
    coefficients: Matrix
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
            k = max(int(header.get("nr_class", 2)) - 1, 1)
            coefficients = np.array([[float(v) for v in row[:k]] for row in rows]).reshape(-1, k)
            pairs = [[cell.split(":") for cell in row[k:]] for row in rows]
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
        model = cls(header, coefficients, vectors, C, epsilon)
        model.check_header(path)
        return model

    def check_header(self, path: str | Path) -> None:
        """Raise InputError where the header does not describe the rows below it."""
        classes = self.coefficients.shape[1] + 1
        count = {key: len(self.header.get(key, "").split()) for key in ("rho", "label", "nr_sv")}
        wanted = {"rho": classes * (classes - 1) // 2}
        if self.header["svm_type"] == "c_svc":
            wanted["label"] = classes
            if classes > 2:
                wanted["nr_sv"] = classes
        wrong = [key for key, number in wanted.items() if count[key] != number]
        if wrong:
            raise InputError(
                f"{path} is no model file of svm-train: {wrong[0]} holds {count[wrong[0]]} "
                f"numbers, {classes} classes have {wanted[wrong[0]]}"
            )

    def labels(self) -> Vector:
        """Return the labels in the order of the file; none for a regression."""
        return np.array([float(v) for v in self.header.get("label", "").split()])

    def label_of_vectors(self) -> Vector:
        """Return the label of every support vector; 0 for a regression."""
        labels = self.labels()
        if labels.size == 0:
            return np.zeros(len(self.vectors))
        if labels.size == 2:
            return np.asarray(np.where(self.coefficients[:, 0] > 0, labels[0], labels[1]))
        return np.repeat(labels, [int(v) for v in self.header["nr_sv"].split()])

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
    """Read 1/2 ‖f‖² + C Σ loss, rho = −b; of every pair of labels the first is positive."""
    rows = Rows.read(model, X, sample_weight)
    C, values = model.price(), rows.targets(y)
    gram, kernel = gram_on(model.kernel, rows.X), model.header["kernel_type"]
    costs, shifts = C * rows.weights, -np.array([float(v) for v in model.header["rho"].split()])
    if model.header["svm_type"] == "epsilon_svr":
        if model.epsilon is None:
            raise InputError(
                "a LIBSVM model file does not hold epsilon: pass epsilon (the -p of svm-train)"
            )
        beta = signed(place(model, rows.X, np.zeros(len(values))), model.coefficients[:, 0], rows)
        loss = EpsilonInsensitive(model.epsilon)
        words = f"1/2 |f|^2 + {C:g} sum max(0, |y - f(x) - b| - {model.epsilon:g}), kernel {kernel}"
        b = float(shifts[0])
        return [
            dual_reading(
                "LIBSVM", words, gram, values, costs, loss, beta, b, rows.index, 1.0, REMEDIES
            )
        ]
    words = f"1/2 |f|^2 + {C:g} sum max(0, 1 - y (f(x) + b)), kernel {kernel}"
    where, labels = place(model, rows.X, values), model.labels()
    readings = []
    for k, (i, j) in enumerate(combinations(range(labels.size), 2)):
        chosen = np.flatnonzero((values == labels[i]) | (values == labels[j]))
        first = values[chosen] == labels[i]
        low, high = (signed(where, model.coefficients[:, r], rows)[chosen] for r in (j - 1, i))
        pair = f": {labels[i]:g} against {labels[j]:g}" if labels.size > 2 else ""
        readings.append(
            dual_reading(
                f"LIBSVM{pair}",
                words,
                gram if len(chosen) == len(values) else sub_gram(gram, chosen),
                np.where(first, 1.0, -1.0),
                costs[chosen],
                Hinge(),
                np.where(first, low, high) if labels.size > 2 else low,
                float(shifts[k]),
                rows.index[chosen],
                1.0,
                REMEDIES,
            )
        )
    return readings


def place(model: LibsvmModel, X: Matrix, values: Vector) -> Indices:
    """Return for every support vector the row of X of its features, to eight figures, and label.

    Raises
    ------
    UnreadableModel
        If a support vector is no row of X.
    """
    d = max(X.shape[1], model.vectors.shape[1])
    free: dict[tuple[bytes, float], list[int]] = {}
    for i, row in enumerate(_eight_figures(X, d)):
        free.setdefault((row.tobytes(), float(values[i])), []).append(i)
    places = []
    seen = zip(_eight_figures(model.vectors, d), model.label_of_vectors(), strict=True)
    for row, label in seen:
        rows = free.get((row.tobytes(), float(label)), [])
        if not rows:
            raise UnreadableModel(
                "a support vector of the model file is no row of X: pass the data it was trained on"
            )
        places.append(rows.pop(0))
    return np.array(places, dtype=np.intp)


def _eight_figures(X: Matrix, d: int) -> Matrix:
    """Return X as svm-train prints it, with columns of 0 up to d."""
    wide = np.zeros((len(X), d))
    wide[:, : X.shape[1]] = X
    return np.array([[float(f"{v:.8g}") for v in row] for row in wide]).reshape(len(X), d) + 0.0
