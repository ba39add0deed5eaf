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

from kernelqp.repair import domain_of

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import Function, RegularizedRisk

STEPS = 50
ENOUGH = 1e-14  # of |P|: a decrement below it is rounding


def newton_dual(risk: RegularizedRisk, function: Function, theta: Vector) -> Function | None:
    """Return f_β, β = −c ℓ'(p), where Newton's method from f, θ ends; None where it cannot start.

    It starts for a differentiable loss and an f in weights.
    """
    if function.weights is None or not is_smooth(risk):
        return None
    w, F, B = function.weights, risk.gram.factor, risk.offset.basis
    assert F is not None  # weights belong to a factor
    design, penalty = np.hstack([F, B]), np.r_[np.ones(w.size), np.zeros(theta.size)]
    starts = [np.r_[w, theta], np.zeros(w.size + theta.size)]
    x = min(starts, key=lambda start: _value(risk, start, w.size))  # far out the Hessian is flat
    value = _value(risk, x, w.size)
    for _ in range(STEPS):
        beta, weights = slopes_and_bends(risk, design @ x)
        gradient = penalty * x - design.T @ beta
        gradient[w.size :] += risk.offset.price
        hessian = (design.T * weights) @ design + np.diag(penalty)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        decrement = float(gradient @ step)
        if not decrement > ENOUGH * abs(value):
            break
        x, value = _searched(risk, x, step, decrement, value, w.size)
    return risk.function(slopes_and_bends(risk, design @ x)[0])


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
