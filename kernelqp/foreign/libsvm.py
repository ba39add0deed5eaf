"""The reader of LIBSVM's model files, with the data they were trained on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import InputError
from kernelqp.foreign.kernel import dual_reading, gram_in_blocks, on_rows
from kernelqp.foreign.libsvm_file import LibsvmModel
from kernelqp.foreign.nu import nu_svc_reading, nu_svr_reading, one_class_reading, rho_of
from kernelqp.foreign.pairs import Pair, one, one_against_one
from kernelqp.foreign.reading import Reading, Rows, UnreadableModel, sum_of
from kernelqp.foreign.registry import read
from kernelqp.losses import EpsilonInsensitive, Hinge
from kernelqp.nu_risks import LIMIT, largest_nu

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.gram import Gram

REMEDIES = ("lower -e", "scale the features")


@read.register(LibsvmModel)
def read_libsvm(model: LibsvmModel, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Read 1/2 ‖f‖² + C Σ loss, rho = −b; of every pair of labels the first is positive."""
    rows, kind = Rows.read(model, X, sample_weight), model.header["svm_type"]
    if kind == "one_class":
        return [_one_class(model, rows)]
    if kind in ("nu_svc", "nu_svr"):
        return (_nu_pairs if kind == "nu_svc" else _nu_svr)(model, rows, rows.targets(y))
    prices, values = model.prices(rows.heaviest), rows.targets(y)
    gram, kernel = _gram(model, rows.X), model.header["kernel_type"]
    shifts, C = model.shifts(), " and ".join(f"{C:g}" for C in sorted(set(prices)))
    summed = sum_of(model, sample_weight)
    read_off = "" if model.C is not None else " (C read off the coefficients)"
    if kind == "epsilon_svr":
        if model.epsilon is None:
            raise InputError(
                "a LIBSVM model file does not hold epsilon: pass epsilon (the -p of svm-train)"
            )
        where = place(model, rows.X, np.zeros(len(values)))
        beta = on_rows(where, model.coefficients[:, 0], rows)
        loss, b = EpsilonInsensitive(model.epsilon), float(shifts[0])
        words = f"1/2 |f|^2 + {C} {summed} max(0, |y - f(x) - b| - {model.epsilon:g})"
        words = f"{words}, kernel {kernel}"
        words, costs = words + read_off, prices[0] * rows.weights
        parts = ("LIBSVM", words, gram, values, costs, loss, beta, b, rows.index)
        return [dual_reading(*parts, remedies=REMEDIES)]
    words = f"1/2 |f|^2 + {C} {summed} max(0, 1 - y (f(x) + b)), kernel {kernel}{read_off}"
    costs = prices[np.argmax(values[:, None] == _known_labels(model, values), axis=1)]
    return [
        dual_reading(
            f"LIBSVM{pair.name}",
            words,
            pair.gram,
            pair.signs,
            (costs * rows.weights)[pair.chosen],
            Hinge(),
            pair.beta,
            pair.b,
            rows.index[pair.chosen],
            remedies=REMEDIES,
        )
        for pair in _pairs(model, rows, values, gram)
    ]


def _known_labels(model: LibsvmModel, values: Vector) -> Vector:
    """Return the labels of the file; InputError where y holds another, or lacks one."""
    labels = model.labels()
    unknown = np.setdiff1d(values, labels)
    if unknown.size:
        raise InputError(
            f"y holds {unknown[0]:g}, the labels of the model file are {model.header['label']}: "
            f"pass the labels it was trained on"
        )
    absent = np.setdiff1d(labels, values)
    if absent.size:
        raise InputError(
            f"y lacks the label {absent[0]:g} of the model file: pass the labels it was trained on"
        )
    return labels


def _pairs(
    model: LibsvmModel,
    rows: Rows,
    values: Vector,
    gram: Gram,
    factor: Callable[[Vector], float] = one,
) -> list[Pair]:
    """Return every pair of labels; ``factor`` is that of its β."""
    labels = _known_labels(model, values)
    table = on_rows(place(model, rows.X, values), model.coefficients.T, rows)
    numbers = np.argmax(values[:, None] == labels, axis=1)
    names = [f"{label:g}" for label in labels]
    return one_against_one(gram, numbers, names, table, model.shifts(), factor)


def _nu_pairs(model: LibsvmModel, rows: Rows, values: Vector) -> list[Reading]:
    """Return the problem of every pair of a ν-SVC, its coefficients y α/ρ."""
    if model.nu is None:
        raise InputError("a LIBSVM model file does not hold nu: pass nu (the -n of svm-train)")
    kernel, readings = model.header["kernel_type"], []
    gram, factor = _gram(model, rows.X), partial(rho_of, model.nu)
    for pair in _pairs(model, rows, values, gram, factor):
        weights, index = rows.weights[pair.chosen], rows.index[pair.chosen]
        most = largest_nu(pair.signs, weights, free=True)
        if model.nu > most * (1.0 + LIMIT):
            raise InputError(
                f"nu = {model.nu!r} is too large for the data, which admit {most:.6g}: pass the -n "
                f"of svm-train"
            )
        parts = (pair.gram, pair.signs, weights, model.nu, pair.beta, pair.b, index, REMEDIES)
        readings.append(nu_svc_reading(f"LIBSVM{pair.name}", kernel, *parts))
    return readings


def _one_class(model: LibsvmModel, rows: Rows) -> Reading:
    """Return the problem of one class, its coefficients ν S α; their sum shows ν."""
    where = place(model, rows.X, np.zeros(len(rows.X)))
    raw, total = on_rows(where, model.coefficients[:, 0], rows), float(rows.weights.sum())
    nu = min(float(raw.sum()) / total, 1.0) if model.nu is None else model.nu
    parts = (_gram(model, rows.X), rows.weights, nu, raw, float(model.shifts()[0]), rows.index)
    return one_class_reading("LIBSVM", model.header["kernel_type"], *parts, REMEDIES)


def _nu_svr(model: LibsvmModel, rows: Rows, values: Vector) -> list[Reading]:
    """Return the problem of a ν-SVR; with C the sum of |β| shows ν."""
    where = place(model, rows.X, np.zeros(len(values)))
    beta, C = (
        on_rows(where, model.coefficients[:, 0], rows),
        float(model.prices(rows.heaviest)[0]),
    )
    spent = float(np.abs(beta).sum()) / (C * float(rows.weights.sum()))
    nu = min(spent, 1.0) if model.nu is None else model.nu
    problem = (_gram(model, rows.X), values, rows.weights, C, nu, beta, float(model.shifts()[0]))
    kernel = model.header["kernel_type"]
    return [nu_svr_reading("LIBSVM", kernel, *problem, rows.index, REMEDIES)]


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
    """Return the Gram of the file's kernel, or refuse it."""
    return gram_in_blocks("the model file", model.kernel, X)
