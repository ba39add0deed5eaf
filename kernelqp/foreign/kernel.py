"""Readers of scikit-learn's kernel models: SVC, SVR, KernelRidge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR

from kernelqp.block_gram import BlockGram
from kernelqp.certificate import Candidate
from kernelqp.data import read_features
from kernelqp.errors import KernelError
from kernelqp.foreign.pairs import one_against_one
from kernelqp.foreign.reading import (
    OUTSIDE,
    Reading,
    Rows,
    UnreadableModel,
    check_numbers,
    fitted,
    refuse,
    sum_of,
)
from kernelqp.foreign.registry import read
from kernelqp.gram import Gram
from kernelqp.kernels import (
    RBF,
    CallableKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from kernelqp.losses import EpsilonInsensitive, HalfSquared, Hinge
from kernelqp.offset import Offset
from kernelqp.repair import domain_of
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.kernels import Kernel


def kernel_of(model: Any, gamma: float) -> Kernel:
    """Return the kernel with the numbers that the fit used."""
    if callable(model.kernel):
        return CallableKernel(
            of_rows(model.kernel) if isinstance(model, KernelRidge) else model.kernel
        )
    constant = 0.0 if model.coef0 is None else float(model.coef0)
    table: dict[str, Any] = {
        "linear": Linear,
        "poly": lambda: Polynomial(int(model.degree), gamma, constant),
        "polynomial": lambda: Polynomial(int(model.degree), gamma, constant),
        "rbf": lambda: RBF(gamma=gamma),
        "laplacian": lambda: Laplacian(gamma),
        "sigmoid": lambda: Sigmoid(gamma, constant),
        "precomputed": Precomputed,
    }
    if model.kernel not in table:
        raise refuse(
            model, f"its kernel {model.kernel!r} is none of {', '.join(table)}; fit with one"
        )
    kernel: Kernel = table[model.kernel]()
    return kernel


def of_rows(function: Any) -> Any:
    """Return the kernel of two matrices of KernelRidge's kernel of two rows."""
    return lambda X, Z: pairwise_kernels(X, Z, metric=function)


def gram_in_blocks(name: str, kernel: Kernel, X: Any) -> Gram:
    """Return the Gram of a model's kernel on X: in blocks where it need not be measured.

    Raises
    ------
    UnreadableModel
        If its values are no kernel's, or it is not PSD on X: that was no convex problem.
    """
    try:
        in_blocks = kernel.psd and kernel.features(X) is None
        return BlockGram.on(kernel, X) if in_blocks else Gram.of(kernel, X)
    except KernelError as error:
        text, _, repair = str(error).partition(" Ask for")  # which is no remedy of a model's
        more = "; what it solved is no convex problem: fit with a kernel that is" if repair else ""
        raise UnreadableModel(f"{name} cannot be certified: {text.rstrip('.')}{more}") from error


def gram_of(model: Any, gamma: float, X: Any) -> Gram:
    """Return the Gram of a model's kernel, or refuse it."""
    return gram_in_blocks(type(model).__name__, kernel_of(model, gamma), X)


def positions(model: Any, rows: Rows) -> Indices:
    """Return where the support vectors stand among the rows in use.

    LIBSVM drops rows of weight 0 and numbers the rest; without weights the two numberings agree.

    Raises
    ------
    UnreadableModel
        If the support vectors are not rows of X: the model was fitted on other data.
    """
    known, index = dense_values(fitted(model, "support_vectors_")), np.asarray(model.support_)
    unseen = model.kernel == "precomputed" or callable(model.kernel)  # they keep no support vectors
    inside = index.max(initial=-1) < len(rows.X)
    if not (inside and (unseen or np.array_equal(rows.X[index], np.asarray(known, float)))):
        raise refuse(
            model,
            "its support vectors are not rows of X where support_ says; pass the data of the fit, "
            "rows in their order, and its sample_weight",
        )
    return index


def on_rows(where: Indices, values: Any, rows: Rows) -> Any:
    """Return dual coefficients of the support vectors, (s,) or (m, s), as β on the rows in use."""
    given = np.asarray(dense_values(values), dtype=np.float64)
    beta = np.zeros((*given.shape[:-1], len(rows.X)))
    beta[..., where] = given
    return beta


def check_box(
    name: str, risk: RegularizedRisk, beta: Vector, index: Indices, price: str = "C"
) -> None:
    """Refuse dual coefficients of other labels, weights or another ``price``.

    Raises
    ------
    UnreadableModel
        If one is outside its box: no fit of these labels, at these costs, ends there.
    """
    low, high = domain_of(risk.centred)  # the same, and needed again
    over = np.maximum(beta - high, low - beta) / risk.costs
    i = int(np.argmax(over))
    if not over[i] <= OUTSIDE:
        raise UnreadableModel(
            f"{name} cannot be certified: the dual coefficient of row {index[i]} is "
            f"{beta[i]:.4g}, and its bounds are {low[i]:.4g} and {high[i]:.4g}; pass the labels "
            f"and the sample_weight of the fit, and the model with the {price} of the fit"
        )


def class_labels(model: Any, rows: Rows, y: Any) -> Indices:
    """Return the class of every row in use, where all of them took part in the fit.

    Raises
    ------
    UnreadableModel
        If a class has rows of weight 0 only: LIBSVM fits the others, and numbers them anew.
    """
    labels = rows.labels(model, y)
    absent = np.setdiff1d(np.arange(len(model.classes_)), labels)
    if absent.size:
        name = np.asarray(model.classes_)[absent[:1]].tolist()[0]
        raise refuse(model, f"all rows of the class {name!r} have the weight 0; fit without them")
    return labels


def dual_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    name: str,
    objective: str,
    gram: Gram,
    targets: Vector,
    costs: Vector,
    loss: Any,
    beta: Vector,
    b: float | None,
    index: Indices,
    scale: float = 1.0,
    remedies: tuple[str, ...] | None = None,
) -> Reading:
    """Return the reading of f = Σ β_j k(x_j, ·) + b; b None is no intercept.

    Raises
    ------
    UnreadableModel
        If a β_i is outside its box: no fit of these labels, at these costs, ends there.
    """
    n = gram.n
    offset = Offset.none(n) if b is None else Offset.free(n)
    risk = RegularizedRisk(gram, targets, costs, loss, offset)
    check_numbers(name, beta, b)
    if isinstance(gram, BlockGram):  # all that is to be needed in one go
        gram.keep_for(beta)
    check_box(name, risk, beta, index)
    function = risk.function(beta)
    theta = np.zeros(0) if b is None else np.array([b])
    moved, theta = risk.to_centred(function, theta)
    candidate = Candidate(beta=beta, function=moved, theta=theta)
    chosen = ("raise max_iter", "lower tol", "scale the features") if remedies is None else remedies
    return Reading(name, objective, risk, candidate, scale, index, chosen)


@read.register(SVC)
def read_svc(model: SVC, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """SVC: 1/2 ‖f‖² + C Σ s ξ; dual_coef_ is y α. With more classes every pair is a problem."""
    rows = Rows.read(model, X, sample_weight)
    where, labels = positions(model, rows), class_labels(model, rows, y)
    gram = gram_of(model, float(model._gamma), square(model, rows))
    table = on_rows(where, model.dual_coef_, rows)
    costs = float(model.C) * rows.weights * np.asarray(model.class_weight_)[labels]
    loss = f"{sum_of(model, sample_weight)} max(0, 1 - y (f(x) + b))"
    objective = f"1/2 |f|^2 + {model.C:g} {loss}, kernel {model.kernel}"
    if len(model.classes_) == 2:
        signs, b = np.where(labels == 1, 1.0, -1.0), float(model.intercept_[0])
        parts = (gram, signs, costs, Hinge(), table[0], b, rows.index)
        return [dual_reading("SVC", objective, *parts)]
    return [
        dual_reading(
            f"SVC{pair.name}",
            objective,
            pair.gram,
            pair.signs,
            costs[pair.chosen],
            Hinge(),
            pair.beta,
            pair.b,
            rows.index[pair.chosen],
        )
        for pair in one_against_one(gram, labels, model.classes_, table, model.intercept_)
    ]


@read.register(SVR)
def read_svr(model: SVR, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """SVR: 1/2 ‖f‖² + C Σ s max(0, |r| − ε); dual_coef_ is β."""
    rows = Rows.read(model, X, sample_weight)
    where = positions(model, rows)
    gram = gram_of(model, float(model._gamma), square(model, rows))
    beta = on_rows(where, model.dual_coef_, rows)[0]
    objective = (
        f"1/2 |f|^2 + {model.C:g} {sum_of(model, sample_weight)} "
        f"max(0, |y - f(x) - b| - {model.epsilon:g}), kernel {model.kernel}"
    )
    return [
        dual_reading(
            "SVR",
            objective,
            gram,
            rows.targets(y),
            float(model.C) * rows.weights,
            EpsilonInsensitive(float(model.epsilon)),
            beta,
            float(np.ravel(model.intercept_)[0]),
            rows.index,
        )
    ]


@read.register(KernelRidge)
def read_kernel_ridge(model: KernelRidge, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """KernelRidge: Σ s r² + alpha ‖f‖², no intercept."""
    dual = np.asarray(fitted(model, "dual_coef_"), dtype=np.float64)
    rows = Rows.read(model, X, sample_weight)
    if dual.ndim > 1 and dual.shape[1] > 1:
        raise refuse(model, f"it has {dual.shape[1]} targets; certify one at a time")
    if np.ndim(model.alpha) or not float(model.alpha) > 0:
        raise refuse(model, f"alpha is {model.alpha!r}; fit with one positive number")
    precomputed = isinstance(model.kernel, str) and model.kernel == "precomputed"
    if not precomputed and not np.array_equal(read_features(model.X_fit_)[0], read_features(X)[0]):
        raise refuse(model, "it was fitted on other rows than X; pass the data of the fit")
    gamma = 1.0 / rows.X.shape[1] if model.gamma is None else float(model.gamma)
    gram, alpha = gram_of(model, gamma, square(model, rows)), float(model.alpha)
    loss = f"{sum_of(model, sample_weight)} (y - f(x))^2"
    objective = f"{loss} + {alpha:g} |f|^2, kernel {model.kernel}"
    return [
        dual_reading(
            "KernelRidge",
            objective,
            gram,
            rows.targets(y),
            rows.weights / alpha,
            HalfSquared(),
            np.ravel(dual)[rows.index],
            None,
            rows.index,
            2.0 * alpha,
            ("raise alpha", "scale the features"),
        )
    ]


def square(model: Any, rows: Rows) -> Any:
    """Return X of the rows in use; for a precomputed kernel its columns of them too."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        return rows.X[:, rows.index]
    return rows.X


def dense_values(values: Any) -> Any:
    """Return an array that may be held sparse as a dense one."""
    return values.toarray() if hasattr(values, "toarray") else values
