"""The text model files of LIBSVM's svm-train, as they are written.

A file holds the kernel, the labels, rho and, for every support vector, its coefficient y α and its
features, to eight figures. It holds neither C, ε nor ν: C is read off the coefficients at their
bound, class by class, or given; ν of one class and of a ν-SVR is read off their sum.

Source: Chang & Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2(3), 27.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.errors import InputError
from kernelqp.foreign.reading import OUTSIDE, UnreadableModel
from kernelqp.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector

LARGEST_INDEX = 10_000_000  # of a feature: rows are held dense
KINDS = ("c_svc", "epsilon_svr", "nu_svc", "nu_svr", "one_class")
ASK = "pass C (the -c of svm-train)"


@dataclass(frozen=True, eq=False, slots=True)
class LibsvmModel:
    """A model file of svm-train (C-SVC, ν-SVC, one class, ε-SVR or ν-SVR).

    Attributes
    ----------
    header : dict of str to str
        The lines before the support vectors.
    coefficients : Matrix, shape (n_sv, 1), or (n_sv, k - 1) for k classes
        y α; of more than two classes, in its problem against each of the others.
    vectors : Matrix, shape (n_sv, d)
        Support vectors, to eight figures.
    C, epsilon, nu : float or None
        What the file does not say.
    """

    header: dict[str, str]
    coefficients: Matrix
    vectors: Matrix
    C: float | None = None
    epsilon: float | None = None
    nu: float | None = None

    @classmethod
    def load(
        cls,
        path: str | Path,
        C: float | None = None,
        epsilon: float | None = None,
        nu: float | None = None,
    ) -> LibsvmModel:
        """Read a model file.

        Raises
        ------
        InputError
            If the file is missing or is no model file, or C, epsilon or nu is out of its range.
        """
        file = Path(path)
        if not file.is_file():
            raise InputError(f"there is no model file {path}")
        if C is not None and not 0 < C < float("inf"):
            raise InputError(f"C must be a finite number > 0; got {C!r}")
        if epsilon is not None and not 0 <= epsilon < float("inf"):
            raise InputError(f"epsilon must be a finite number >= 0; got {epsilon!r}")
        if nu is not None and not 0 < nu <= 1:
            raise InputError(f"nu must be a number > 0 and at most 1; got {nu!r}")
        try:
            header, body = _parts(file.read_text(encoding="utf-8-sig"))
            kind = header.get("svm_type")
            if kind not in KINDS:
                raise UnreadableModel(
                    f"{path}: svm_type {kind!r} cannot be certified; {', '.join(KINDS)} can"
                )
            model = cls(header, *_rows(body, int(header.get("nr_class", 2))), C, epsilon, nu)
            model.check()
        except (ValueError, IndexError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is no model file of svm-train: {error}") from error
        return model

    def check(self) -> None:
        """Raise ValueError or KeyError where the header does not describe the rows below it."""
        classes = self.coefficients.shape[1] + 1
        wanted = {"rho": classes * (classes - 1) // 2}
        if self.header["svm_type"] in ("c_svc", "nu_svc"):
            wanted["label"] = classes
        if classes > 2:
            wanted["nr_sv"] = classes
        for key, number in wanted.items():
            count = len(self.header.get(key, "").split())
            if count != number:
                raise ValueError(f"{key} holds {count} numbers, {classes} classes have {number}")
        if not np.isfinite([*np.ravel(self.coefficients), *self.labels(), *self.shifts()]).all():
            raise ValueError("it holds a number that is not finite")
        if self.label_of_vectors().size != len(self.vectors):
            raise ValueError(f"nr_sv is {self.header['nr_sv']} for {len(self.vectors)} vectors")
        assert self.kernel is not None  # it raises where the header lacks its numbers

    def shifts(self) -> Vector:
        """Return b = −rho of every problem."""
        return -np.array([float(v) for v in self.header["rho"].split()])

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
        counts = [int(v) for v in self.header["nr_sv"].split()]
        return np.repeat(labels, counts)

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

    def prices(self, weight: float = 1.0) -> Vector:
        """Return C of every label, in their order; one of a regression.

        Given, it bounds every coefficient, times the largest ``weight`` of a row. Else it is the
        largest coefficient of a class where several share it: they stand at the bound (one of each
        class may agree by Σ y α = 0 alone).

        Raises
        ------
        InputError
            If a coefficient is beyond the C that was given, or the file does not show C.
        """
        size, of = np.abs(self.coefficients), self.label_of_vectors()
        groups = [size[of == label] for label in (self.labels() if self.labels().size else [0.0])]
        tops = [float(group.max(initial=0.0)) for group in groups]
        if self.C is not None:
            if max(tops) > self.C * weight * (1.0 + OUTSIDE):
                raise InputError(
                    f"a coefficient of the model file is {max(tops):.8g}, beyond C = {self.C:g}: "
                    f"it was trained with another C, or with class weights; leave C out to read "
                    f"it off the coefficients"
                )
            return np.full(len(tops), self.C)
        shown = [
            top if int((group == top).sum()) > 1 and top > 0 else None
            for top, group in zip(tops, groups, strict=True)
        ]
        known = {top for top in shown if top is not None}
        if None not in shown:
            return np.array(shown, dtype=np.float64)
        if len(known) != 1 or max(tops) > max(known):
            raise InputError(
                f"a LIBSVM model file does not hold C, and no two coefficients of a class stand at "
                f"a bound that would show it: {ASK}"
            )
        return np.full(len(tops), max(known))


def _parts(text: str) -> tuple[dict[str, str], str]:
    """Return the header and the support vectors below it."""
    head, _, body = text.partition("\nSV\n")
    if not any(line.startswith("svm_type ") for line in head.splitlines()):
        raise ValueError("it has no svm_type")
    return dict(line.split(" ", 1) for line in head.splitlines()), body


def _rows(body: str, classes: int) -> tuple[Matrix, Matrix]:
    """Return the coefficients and the features of the support vectors."""
    rows, k = [line.split() for line in body.splitlines() if line.strip()], max(classes - 1, 1)
    coefficients = np.array([[float(v) for v in row[:k]] for row in rows]).reshape(-1, k)
    cells = [[cell.split(":") for cell in row[k:]] for row in rows]
    indices = [int(index) for row in cells for index, _ in row]
    first = min(indices, default=1) > 0  # svm-train takes features counted from 0 as well
    d = max(indices, default=0) + (0 if first else 1)
    if d > LARGEST_INDEX or min(indices, default=0) < 0:
        raise ValueError(f"the features are numbered {min(indices)} to {max(indices)}")
    vectors = np.zeros((len(rows), d))
    for i, row in enumerate(cells):
        vectors[i, [int(index) - first for index, _ in row]] = [float(v) for _, v in row]
    return coefficients, vectors
