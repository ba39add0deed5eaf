"""Newton's method on the primal of a smooth loss in explicit features, O(n r²) a step.

    gradient   w − F'β,  d − B'β      with β = −c ℓ'(p)
    Hessian    [I + F'D F   F'D B]    with D = c ℓ''(p), the inverse ridge of the loss's local row
               [B'D F       B'D B]

A backtracking line search on P makes every step a descent; at the optimum β is the dual solution.

Source: Boyd & Vandenberghe (2004), Convex Optimization, section 9.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from scipy.sparse.linalg import LinearOperator, cg

from kernelqp.columns import dense, side_by_side, weighted_rows
from kernelqp.repair import best_offset, domain_of, settle

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import Function, RegularizedRisk

STEPS = 50
WIDE = 1000  # features from which a Hessian is not formed
ENOUGH = 1e-14  # of |P|: a decrement below it is rounding


def slope_dual(risk: RegularizedRisk, function: Function, theta: Vector) -> Function:
    """Return f_β with β = −c ℓ'(p) at the best offset, where the slope of P in θ, B'β − d, is 0."""
    best = best_offset(risk, function, theta)
    beta = slopes_and_bends(risk, risk.predictions(function, best))[0]
    return risk.function(settle(risk, beta) if theta.size == 1 else beta)


def newton_primal(
    risk: RegularizedRisk, function: Function, theta: Vector
) -> tuple[Function, Vector]:
    """Return the (f, θ) at which Newton's method from an f in weights ends."""
    assert function.weights is not None
    assert risk.gram.factor is not None  # weights belong to a factor
    w = function.weights
    design = side_by_side(risk.gram.factor, risk.offset.basis)
    penalty = np.r_[np.ones(w.size), np.zeros(theta.size)]
    starts = [np.r_[w, theta], np.zeros(w.size + theta.size)]
    x = min(starts, key=lambda start: _value(risk, start, w.size))  # far out the Hessian is flat
    value = _value(risk, x, w.size)
    for _ in range(STEPS):
        beta, weights = slopes_and_bends(risk, design @ x)
        gradient = penalty * x - design.T @ beta
        gradient[w.size :] += risk.offset.price
        step = newton_step(design, weights, penalty, gradient)
        decrement = float(gradient @ step)
        if not decrement > ENOUGH * abs(value):
            break
        x, value = _searched(risk, x, step, decrement, value, w.size)
    return risk.function(weights=x[: w.size]), x[w.size :]


def newton_step(design: Matrix, weights: Vector, penalty: Vector, gradient: Vector) -> Vector:
    """Solve (X'D X + penalty) step = gradient: by Cholesky, for many features by CG to 1e-3."""
    if penalty.size > WIDE:
        size = (penalty.size, penalty.size)
        hessian = LinearOperator(size, lambda x: design.T @ (weights * (design @ x)) + penalty * x)
        return np.asarray(cg(hessian, gradient, rtol=1e-3, maxiter=200)[0])
    hessian = dense(design.T @ weighted_rows(design, weights))
    hessian[np.diag_indices(penalty.size)] += penalty
    try:
        return np.asarray(cho_solve(cho_factor(hessian, check_finite=False), gradient))
    except LinAlgError:  # an offset that no row with a bend sees
        return np.asarray(lstsq(hessian, gradient)[0])


def is_smooth(risk: RegularizedRisk) -> bool:
    """Whether the loss has one slope everywhere, its kinks included."""
    probe = risk.targets.copy()  # where every kink of a loss that has one stands
    low, high = risk.loss.slopes(risk.targets, probe)
    return bool(np.array_equal(low, high)) and not risk.loss.piecewise_linear


def slopes_and_bends(risk: RegularizedRisk, p: Vector) -> tuple[Vector, Vector]:
    """Return β = −c ℓ'(p) and c ℓ''(p); a row with no slope has no bend."""
    slope = risk.loss.slopes(risk.targets, p)[0]
    beta = np.clip(-risk.costs * slope, *domain_of(risk))
    ridge = risk.loss.local_row(risk.targets, risk.costs, beta).ridge
    flat = (slope == 0) & risk.loss.zero_beyond_margin
    return beta, np.where(flat, 0.0, 1.0 / np.maximum(ridge, np.finfo(np.float64).tiny))


def _value(risk: RegularizedRisk, x: Vector, r: int) -> float:
    return risk.primal_value(risk.function(weights=x[:r]), x[r:])


def _searched(
    risk: RegularizedRisk, x: Vector, step: Vector, decrement: float, value: float, r: int
) -> tuple[Vector, float]:
    """Return the first point of a backtracking search that falls as it should."""
    t = 1.0
    while t > 1e-12:
        moved = x - t * step
        reached = _value(risk, moved, r)
        if reached <= value - 1e-4 * t * decrement:
            return moved, reached
        t *= 0.5
    return x, value
