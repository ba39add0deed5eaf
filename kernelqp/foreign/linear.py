"""Readers of scikit-learn's linear models: LinearSVC, LinearSVR, Ridge, LogisticRegression, SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    QuantileRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight

from kernelqp.foreign.linear_reading import LIBLINEAR, Design, linear_reading, unpenalised_reading
from kernelqp.foreign.reading import Reading, Rows, fitted, refuse, sum_of
from kernelqp.foreign.registry import read
from kernelqp.losses import (
    EpsilonInsensitive,
    HalfSquared,
    Hinge,
    Logistic,
    Pinball,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.losses import Loss

ONLY_L2 = "only l2 is a kernel machine; fit with l2"


def class_factors(model: Any, labels: Indices, weights: Vector | None) -> Vector:
    """Return the weight of every class; None and "balanced" as scikit-learn has them.

    ``weights`` are the sample weights that "balanced" counts, None where rows are counted.

    Raises
    ------
    UnreadableModel
        If a class has the weight 0.
    """
    known, given = np.arange(len(model.classes_)), getattr(model, "class_weight", None)
    if isinstance(given, dict):
        names = [np.asarray(c).item() for c in model.classes_]
        factors = np.array([float(given.get(name, 1.0)) for name in names])
    elif given is None:
        factors = np.ones(known.size)
    else:
        counted = compute_class_weight(given, classes=known, y=labels, sample_weight=weights)
        factors = np.asarray(counted, dtype=np.float64)
    if not (factors > 0).all():
        raise refuse(model, "a class has the weight 0; fit without its rows")
    return factors


def one_against_rest(
    model: Any, labels: Indices, factors: Vector
) -> list[tuple[str, Vector, Vector]]:
    """Return the name, the signs and the class factors of every binary problem of a linear model.

    With two classes the second is positive and both have their weight; with more, liblinear and SGD
    weigh the class in question and leave the rest at 1.
    """
    if len(model.classes_) == 2:
        return [("", np.where(labels == 1, 1.0, -1.0), factors[labels])]
    problems = []
    for k, label in enumerate(model.classes_):
        own, signs = np.where(labels == k, factors[k], 1.0), np.where(labels == k, 1.0, -1.0)
        problems.append((f": {label} against the rest", signs, own))
    return problems


def liblinear_intercept(model: Any) -> float | str:
    """Return liblinear's intercept: the weight of a constant feature, penalised like any other."""
    return float(model.intercept_scaling) if model.fit_intercept else "none"


def classifier_readings(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    loss: Loss,
    price: float,
    intercept: float | str,
    objective: str,
    scale: float = 1.0,
) -> list[Reading]:
    """Return one reading for each row of ``coef_``; at an infinite price there is no penalty."""
    coefficients = np.atleast_2d(fitted(model, "coef_"))
    rows = Rows.read(model, X, sample_weight, keep_sparse=True)
    labels = rows.labels(model, y)
    if isinstance(model, SGDClassifier):  # it counts every row, of weight 0 too
        everyone = np.searchsorted(np.asarray(model.classes_), np.ravel(np.asarray(y)))
        factors = class_factors(model, everyone, None)
    else:
        factors = class_factors(model, labels, rows.weights)
    b = np.broadcast_to(np.ravel(model.intercept_), (len(coefficients),))
    if np.isinf(price):
        return [
            unpenalised_reading(
                model,
                type(model).__name__ + name,
                objective,
                rows,
                signs,
                rows.weights * own,
                loss,
                np.asarray(coefficients[k], dtype=np.float64),
                float(b[k]),
                LIBLINEAR,
            )
            for k, (name, signs, own) in enumerate(one_against_rest(model, labels, factors))
        ]
    design = Design.of(rows, intercept)
    return [
        linear_reading(
            type(model).__name__ + name,
            objective,
            design,
            signs,
            price * rows.weights * own,
            loss,
            np.asarray(coefficients[k], dtype=np.float64),
            float(b[k]),
            scale,
        )
        for k, (name, signs, own) in enumerate(one_against_rest(model, labels, factors))
    ]


@read.register(LinearSVC)
def read_linear_svc(model: LinearSVC, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """LinearSVC: 1/2 ‖w‖² + (b/t)²/2 + C Σ s ξ, ξ squared by default; b is penalised."""
    if model.penalty != "l2":
        raise refuse(model, f"its penalty is {model.penalty!r}: {ONLY_L2}")
    if model.multi_class != "ovr":
        raise refuse(
            model, "multi_class='crammer_singer' is one problem over all classes; fit with 'ovr'"
        )
    squared = model.loss == "squared_hinge"
    loss = SquaredHinge() if squared else Hinge()
    t = liblinear_intercept(model)
    power = "^2" if squared else ""
    penalty = "" if t == "none" else f" + 1/2 (b/{t:g})^2"
    summed = sum_of(model, sample_weight)
    objective = f"1/2 |w|^2{penalty} + {model.C:g} {summed} max(0, 1 - y (w'x + b)){power}"
    return classifier_readings(model, X, y, sample_weight, loss, float(model.C), t, objective)


@read.register(LogisticRegression)
def read_logistic(model: LogisticRegression, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """LogisticRegression, l2: 1/2 ‖w‖² + C Σ s log(1 + e^−z); liblinear penalises b.

    Without a penalty, or at C = inf, it is Σ s log(1 + e^−z) alone, and b is free of any price.
    """
    fitted(model, "coef_")
    if isinstance(model, LogisticRegressionCV):
        raise refuse(model, "it chose C itself; certify a LogisticRegression refitted at that C")
    penalty = getattr(model, "penalty", "deprecated")
    C = float("inf") if penalty is None else float(model.C)
    if np.isfinite(C) and (penalty not in ("l2", "deprecated") or model.l1_ratio):
        raise refuse(model, f"its penalty has an l1 part: {ONLY_L2}")
    if len(model.classes_) > 2 and model.solver != "liblinear":
        raise refuse(
            model, "the multinomial loss is one problem over all classes; fit one against the rest"
        )
    t = liblinear_intercept(model) if model.solver == "liblinear" else "free"
    t = t if model.fit_intercept else "none"
    words, penalty = f"{sum_of(model, sample_weight)} log(1 + exp(-y (w'x + b)))", ""
    if not isinstance(t, str):
        penalty = f" + 1/2 (b/{t:g})^2"
    objective = words if np.isinf(C) else f"1/2 |w|^2{penalty} + {C:g} {words}"
    return classifier_readings(model, X, y, sample_weight, Logistic(), C, t, objective)


@read.register(SGDClassifier)
def read_sgd(model: SGDClassifier, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """SGDClassifier: alpha/2 ‖w‖² + (1/n) Σ s loss, the intercept free."""
    fitted(model, "coef_")
    if model.early_stopping:
        raise refuse(model, "early_stopping=True held rows back that nobody names; fit without it")
    if not float(model.alpha) > 0:
        raise refuse(
            model,
            f"alpha is {model.alpha!r}: without a penalty it is no kernel machine; fit with "
            f"alpha > 0",
        )
    losses: dict[str, tuple[Loss, str]] = {
        "hinge": (Hinge(), "max(0, 1 - y (w'x + b))"),
        "squared_hinge": (SquaredHinge(), "max(0, 1 - y (w'x + b))^2"),
        "log_loss": (Logistic(), "log(1 + exp(-y (w'x + b)))"),
    }
    if model.loss not in losses:
        raise refuse(model, f"its loss is {model.loss!r}; fit with one of {', '.join(losses)}")
    if model.penalty != "l2":
        raise refuse(model, f"its penalty is {model.penalty!r}: {ONLY_L2}")
    loss, words = losses[model.loss]
    n = len(np.ravel(np.asarray(y)))
    alpha, t = float(model.alpha), "free" if model.fit_intercept else "none"
    objective = f"{alpha:g}/2 |w|^2 + 1/n {sum_of(model, sample_weight)} {words}"
    price = 1.0 / (alpha * n)
    return classifier_readings(model, X, y, sample_weight, loss, price, t, objective, alpha)


@read.register(LinearSVR)
def read_linear_svr(model: LinearSVR, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """LinearSVR: 1/2 ‖w‖² + (b/t)²/2 + C Σ s max(0, |r| − ε), squared if asked."""
    w, rows = np.ravel(fitted(model, "coef_")), Rows.read(model, X, sample_weight, keep_sparse=True)
    squared = model.loss == "squared_epsilon_insensitive"
    kind = SquaredEpsilonInsensitive if squared else EpsilonInsensitive
    t = liblinear_intercept(model)
    penalty = "" if t == "none" else f" + 1/2 (b/{t:g})^2"
    power = "^2" if squared else ""
    objective = (
        f"1/2 |w|^2{penalty} + {model.C:g} {sum_of(model, sample_weight)} "
        f"max(0, |y - w'x - b| - {model.epsilon:g}){power}"
    )
    return [
        linear_reading(
            "LinearSVR",
            objective,
            Design.of(rows, t),
            rows.targets(y),
            float(model.C) * rows.weights,
            kind(float(model.epsilon)),
            w,
            float(np.ravel(model.intercept_)[0]),
        )
    ]


@read.register(Ridge)
def read_ridge(model: Ridge, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Ridge: Σ s r² + alpha ‖w‖², the intercept free."""
    w, rows = (
        np.asarray(fitted(model, "coef_"), dtype=np.float64),
        Rows.read(model, X, sample_weight, keep_sparse=True),
    )
    if np.ndim(w) > 1 and len(w) > 1:
        raise refuse(model, f"it has {len(w)} targets; certify one at a time")
    if np.ndim(model.alpha) or not float(model.alpha) > 0:
        raise refuse(model, f"alpha is {model.alpha!r}; fit with one positive number")
    if model.positive:
        raise refuse(model, "positive=True is a constraint on the weights; fit with positive=False")
    alpha = float(model.alpha)
    objective = f"{sum_of(model, sample_weight)} (y - w'x - b)^2 + {alpha:g} |w|^2"
    return [
        linear_reading(
            "Ridge",
            objective,
            Design.of(rows, "free" if model.fit_intercept else "none"),
            rows.targets(y),
            rows.weights / alpha,
            HalfSquared(),
            np.ravel(w),
            float(np.ravel(model.intercept_)[0]),
            2.0 * alpha,
            ("lower tol", "solver='svd'"),
        )
    ]


@read.register(QuantileRegressor)
def read_quantile(model: QuantileRegressor, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """QuantileRegressor without its l1 penalty: (1/S) Σ s check loss, all of f an offset."""
    w, rows = np.ravel(fitted(model, "coef_")), Rows.read(model, X, sample_weight)
    if model.alpha:
        raise refuse(
            model,
            "its penalty is the l1 norm; fit with alpha=0, which is plain quantile regression",
        )
    tau = float(model.quantile)
    mean = "1/n sum" if sample_weight is None else "1/sum(s) sum s"
    objective = f"{mean} {tau:g} max(0, y - w'x - b) + {1 - tau:g} max(0, w'x + b - y)"
    return [
        unpenalised_reading(
            model,
            "QuantileRegressor",
            objective,
            rows,
            rows.targets(y),
            rows.weights / rows.weights.sum(),
            Pinball(tau),
            w,
            float(model.intercept_),
            ("solver='highs'",),
        )
    ]
