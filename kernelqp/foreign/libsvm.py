"""The reader of LIBSVM's model files, with the data they were trained on."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import InputError, KernelError
from kernelqp.foreign.kernel import dual_reading, gram_on, signed, sub_gram
from kernelqp.foreign.libsvm_file import LibsvmModel
from kernelqp.foreign.reading import Reading, Rows, UnreadableModel
from kernelqp.foreign.registry import read
from kernelqp.losses import EpsilonInsensitive, Hinge

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.gram import Gram

REMEDIES = ("lower -e", "scale the features")


@read.register(LibsvmModel)
def read_libsvm(model: LibsvmModel, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Read 1/2 ‖f‖² + C Σ loss, rho = −b; of every pair of labels the first is positive."""
    rows = Rows.read(model, X, sample_weight)
    prices, values = model.prices(), rows.targets(y)
    gram, kernel = _gram(model, rows.X), model.header["kernel_type"]
    shifts, C = model.shifts(), " and ".join(f"{C:g}" for C in sorted(set(prices)))
    read_off = "" if model.C is not None else " (C read off the coefficients)"
    if model.header["svm_type"] == "epsilon_svr":
        if model.epsilon is None:
            raise InputError(
                "a LIBSVM model file does not hold epsilon: pass epsilon (the -p of svm-train)"
            )
        beta = signed(place(model, rows.X, np.zeros(len(values))), model.coefficients[:, 0], rows)
        loss, b = EpsilonInsensitive(model.epsilon), float(shifts[0])
        words = f"1/2 |f|^2 + {C} sum max(0, |y - f(x) - b| - {model.epsilon:g}), kernel {kernel}"
        words, costs = words + read_off, prices[0] * rows.weights
        parts = ("LIBSVM", words, gram, values, costs, loss, beta, b, rows.index)
        return [dual_reading(*parts, remedies=REMEDIES)]
    words = f"1/2 |f|^2 + {C} sum max(0, 1 - y (f(x) + b)), kernel {kernel}{read_off}"
    return _pairs(model, rows, values, prices, gram, words)


def _pairs(  # every argument is a part of the problem
    model: LibsvmModel, rows: Rows, values: Vector, prices: Vector, gram: Gram, words: str
) -> list[Reading]:
    """Return the problem of every pair of labels."""
    labels, several = model.labels(), model.labels().size > 2
    unknown = np.setdiff1d(values, labels)
    if unknown.size:
        raise InputError(
            f"y holds {unknown[0]:g}, the labels of the model file are {model.header['label']}: "
            f"pass the labels it was trained on"
        )
    costs = prices[np.argmax(values[:, None] == labels, axis=1)] * rows.weights
    where, shifts, readings = place(model, rows.X, values), model.shifts(), []
    for k, (i, j) in enumerate(combinations(range(labels.size), 2)):
        chosen = np.flatnonzero((values == labels[i]) | (values == labels[j]))
        first = values[chosen] == labels[i]
        low, high = (signed(where, model.coefficients[:, r], rows)[chosen] for r in (j - 1, i))
        pair = f": {labels[i]:g} against {labels[j]:g}" if several else ""
        part = sub_gram(gram, chosen, labels.size) if several else gram
        signs, beta = np.where(first, 1.0, -1.0), np.where(first, low, high) if several else low
        parts = (f"LIBSVM{pair}", words, part, signs, costs[chosen], Hinge(), beta)
        b = float(shifts[k])
        readings.append(dual_reading(*parts, b, rows.index[chosen], remedies=REMEDIES))
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


def _gram(model: LibsvmModel, X: Matrix) -> Gram:
    """Return the Gram of the file's kernel; refuse one that is not PSD on X."""
    try:
        return gram_on(model.kernel, X)
    except KernelError as error:
        text = str(error).split(" Ask for")[0].rstrip(".")
        raise UnreadableModel(
            f"the model file cannot be certified: {text}; what it solved is no convex problem"
        ) from error
