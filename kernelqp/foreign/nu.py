"""Readers of scikit-learn's ν models: NuSVC, NuSVR, OneClassSVM.

LIBSVM solves them with multipliers of 0 to s_i that sum to ν S, and stores them over ρ S for
NuSVC, whose margin it makes 1, and as they are for one class. It keeps neither ρ nor ε.

Source: Chang & Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2(3), 27,
sections 2.2 to 2.5.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.svm import NuSVC, NuSVR, OneClassSVM

from kernelqp.certificate import Candidate
from kernelqp.foreign.kernel import (
    check_box,
    gram_of,
    on_rows,
    positions,
    square,
)
from kernelqp.foreign.pairs import one_against_one
from kernelqp.foreign.reading import OUTSIDE, Reading, Rows, UnreadableModel, refuse
from kernelqp.foreign.registry import read
from kernelqp.nu_risks import (
    best_epsilon,
    margin_risk,
    middle,
    offsets,
    one_class_risk,
    regression_risk,
)

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.gram import Gram
    from kernelqp.risk import RegularizedRisk

REMEDIES = ("raise max_iter", "lower tol", "scale the features")


def nu_reading(  # every argument is a part of the problem
    name: str,
    objective: str,
    risk: RegularizedRisk,
    beta: Vector,
    theta: Vector,
    index: Indices,
    remedies: tuple[str, ...] = REMEDIES,
) -> Reading:
    """Return the reading of f = Σ β_j k(x_j, ·) with the offsets θ."""
    function, moved = risk.to_centred(risk.function(beta), theta)
    candidate = Candidate(beta=beta, function=function, theta=moved)
    return Reading(name, objective, risk, candidate, 1.0, index, remedies)


def mean_of(weights: Vector) -> str:
    """Return what a mean over the rows is called."""
    return "mean of" if (weights == 1.0).all() else "weighted mean of"


def rho_of(nu: float, coefficients: Vector) -> float:
    """Return ρ of the y α/ρ that LIBSVM holds: Σ α = ν.

    Raises
    ------
    UnreadableModel
        If all of them are 0: no ρ gives the sum ν.
    """
    total = float(np.abs(coefficients).sum())
    if total == 0.0:
        raise UnreadableModel(
            "a NuSVC cannot be certified: its dual coefficients are all 0, but they sum to nu over "
            "rho; pass the model as it was fitted"
        )
    return nu / total


def nu_svc_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    name: str,
    kernel: str,
    gram: Gram,
    signs: Vector,
    weights: Vector,
    nu: float,
    coefficients: Vector,
    b: float,
    index: Indices,
    remedies: tuple[str, ...] = REMEDIES,
) -> Reading:
    """Return the reading of a plane with margin 1: times ρ = ν/Σ |coefficients| it is the page's.

    ``coefficients`` are y α/ρ.
    """
    rho = rho_of(nu, coefficients)
    objective = (
        f"1/2 |f|^2 - {nu:g} rho + {mean_of(weights)} max(0, rho - y (f(x) + b)), kernel {kernel}; "
        f"f, b and rho are the model's times rho"
    )
    risk = margin_risk(gram, signs, weights, nu, free=True)
    turned = np.sign(signs @ coefficients)  # LIBSVM has divided by a ρ < 0 where it stopped early
    check_box(name, risk, turned * rho * coefficients, index, "nu")
    theta = offsets(rho * b, rho, free=True)
    return nu_reading(name, objective, risk, rho * coefficients, theta, index, remedies)


@read.register(NuSVC)
def read_nu_svc(model: NuSVC, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """NuSVC; dual_coef_ is y α/ρ. With more classes every pair is a problem."""
    rows = Rows.read(model, X, sample_weight)
    where, labels = positions(model, rows), rows.labels(model, y)
    gram = gram_of(model, float(model._gamma), square(model, rows))
    table = on_rows(where, model.dual_coef_, rows)
    if not (np.isfinite(table).all() and np.isfinite(model.intercept_).all()):
        raise refuse(model, "its coefficients are not finite: rho is 0, and it divides by it")
    nu, kernel = float(model.nu), str(model.kernel)
    if len(model.classes_) == 2:
        signs = np.where(labels == 1, 1.0, -1.0)
        parts = (gram, signs, rows.weights, nu, table[0], float(model.intercept_[0]), rows.index)
        return [nu_svc_reading("NuSVC", kernel, *parts)]
    factor = partial(rho_of, nu)
    return [
        nu_svc_reading(
            f"NuSVC{pair.name}",
            kernel,
            pair.gram,
            pair.signs,
            rows.weights[pair.chosen],
            nu,
            pair.beta,
            pair.b,
            rows.index[pair.chosen],
        )
        for pair in one_against_one(gram, labels, model.classes_, table, model.intercept_, factor)
    ]


def one_class_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    name: str,
    kernel: str,
    gram: Gram,
    weights: Vector,
    nu: float,
    coefficients: Vector,
    b: float,
    index: Indices,
    remedies: tuple[str, ...] = REMEDIES,
) -> Reading:
    """Return the reading of one class; its f and −ρ = b are ν S times the page's.

    Raises
    ------
    UnreadableModel
        If the coefficients do not sum to ν S: no fit at this ν and these weights ends there.
    """
    total, spent = nu * float(weights.sum()), float(coefficients.sum())
    if not abs(spent - total) <= OUTSIDE * total:
        raise UnreadableModel(
            f"{name} cannot be certified: its dual coefficients sum to {spent:.6g}, and nu times "
            f"the sum of the weights is {total:.6g}; pass the data and the sample_weight of the "
            f"fit, and the model with the nu of the fit"
        )
    objective = (
        f"1/2 |f|^2 - rho + {mean_of(weights)} max(0, rho - f(x)) / {nu:g}, kernel {kernel}; "
        f"f and rho are the model's over {total:g}"
    )
    theta = offsets(0.0, -b / total, free=False)
    risk = one_class_risk(gram, weights, nu)
    check_box(name, risk, coefficients / total, index, "nu")
    return nu_reading(name, objective, risk, coefficients / total, theta, index, remedies)


@read.register(OneClassSVM)
def read_one_class(model: OneClassSVM, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """OneClassSVM; dual_coef_ is ν S α, intercept_ −ν S ρ. y is ignored."""
    del y
    rows = Rows.read(model, X, sample_weight)
    where = positions(model, rows)
    gram = gram_of(model, float(model._gamma), square(model, rows))
    raw = on_rows(where, model.dual_coef_, rows)[0]
    b = float(np.ravel(model.intercept_)[0])
    parts = (str(model.kernel), gram, rows.weights, float(model.nu), raw, b, rows.index)
    return [one_class_reading("OneClassSVM", *parts)]


def nu_svr_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    name: str,
    kernel: str,
    gram: Gram,
    targets: Vector,
    weights: Vector,
    C: float,
    nu: float,
    beta: Vector,
    b: float,
    index: Indices,
    remedies: tuple[str, ...] = REMEDIES,
) -> Reading:
    """Return the reading of a ν-SVR that pays C Σ s_i; its ε is the best for its f and b."""
    summed = "sum" if (weights == 1.0).all() else "sum s"
    objective = (
        f"1/2 |f|^2 + {C:g} {summed} ({nu:g} epsilon + max(0, |y - f(x) - b| - epsilon)), "
        f"kernel {kernel}; the model does not hold epsilon: the best for its f and b is taken"
    )
    total = C * float(weights.sum())
    epsilon = best_epsilon(targets - gram.matvec(beta) - b, weights, nu)
    shift = middle(targets)
    risk = regression_risk(gram, targets - shift, weights, total, nu, free=True)
    theta = offsets(b - shift, -epsilon, free=True)
    parts = np.r_[np.maximum(beta, 0.0), np.minimum(beta, 0.0)]
    check_box(name, risk, parts, np.tile(index, 2))
    return nu_reading(name, objective, risk, parts, theta, np.tile(index, 2), remedies)


@read.register(NuSVR)
def read_nu_svr(model: NuSVR, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """NuSVR; dual_coef_ is β. Its C is that of a row, not of the mean."""
    rows = Rows.read(model, X, sample_weight)
    where = positions(model, rows)
    gram = gram_of(model, float(model._gamma), square(model, rows))
    beta = on_rows(where, model.dual_coef_, rows)[0]
    b = float(np.ravel(model.intercept_)[0])
    problem = (gram, rows.targets(y), rows.weights, float(model.C), float(model.nu))
    return [nu_svr_reading("NuSVR", str(model.kernel), *problem, beta, b, rows.index)]
