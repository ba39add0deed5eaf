"""Newton's method on the primal of a smooth loss: the line search, and the steps in features.

With β = −c ℓ'(p) and W = c ℓ''(p), the inverse ridge of the loss's local row, in weights w

    gradient   w − F'β,  d − B'β
    Hessian    [I + F'W F   F'W B]
               [B'W F       B'W B]

at O(n r²) a step. A search on P makes every step a descent; along a step the predictions move on a
line, so that it costs O(n) a point. Where no part of a step is of use, bends are given to all rows
until steps are long again. At the optimum β is the dual solution, and P − D at β is
1/2 ‖w − F'β‖², which may be large where the decrement of P is not: both have to be small.

Source: Boyd & Vandenberghe (2004), Convex Optimization, section 9.5; Marquardt (1963), An algorithm
for least-squares estimation of nonlinear parameters, J. SIAM 11(2), 431-441.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, svd
from scipy.sparse.linalg import LinearOperator, cg

from kernelqp.columns import dense, side_by_side, weighted_gram, weighted_rows
from kernelqp.repair import EPS, best_offset, domain_of, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import Function, RegularizedRisk

STEPS = 200  # far out a step wins a constant number of units of margin
WIDE = 1000  # features from which a Hessian is not formed
ENOUGH = 1e-14  # of |P|: a decrement below it is rounding
SHAKY = 1e-5  # a pivot of the Cholesky factor from which half of the figures are lost
EXACT = 0.1  # of t: to what the least P along a step is found
SHORT = 0.1  # a step that is worth less of its length calls for more bend
LEAST, MOST = 1e-6, 1e6  # of c: the bend that every row may be given
GROWTH = 10.0  # of that bend
REFINED = 3  # rounds in which β is made to agree with w


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """P along a step: Σ c ℓ(y, p + t Δp), and what the penalty and the price add.

    ``slope`` and ``bend`` are the derivatives of 1/2 ‖f + t Δf‖² + d'(θ + t Δθ) at t = 0;
    ``decrement`` is minus the derivative of P there.
    """

    risk: RegularizedRisk
    p: Vector
    change: Vector
    slope: float
    bend: float
    decrement: float

    def search(self) -> float:
        """Return 1 if P falls there as it should; else the t of the least P, or 0 if none falls.

        A shorter step that merely falls may end far beyond the least P, where nothing bends.
        """
        low, high = 0.0, 1.0
        if self._falls(high):
            return high
        while high - low > EXACT * high and high > 1e-12:
            t = 0.5 * (low + high)
            low, high = (t, high) if self._rises(t) < 0.0 else (low, t)
        return low if self._falls(low) else 0.0

    def _falls(self, t: float) -> bool:
        """Whether P falls by 1e-4 of what its slope promises, to rounding."""
        risk = self.risk
        here = risk.costs * risk.loss.value(risk.targets, self.p)
        there = risk.costs * risk.loss.value(risk.targets, self.p + t * self.change)
        rise = t * (self.slope + 0.5 * t * self.bend) + float((there - here).sum())
        return bool(rise <= 4.0 * EPS * float(here.sum()) - 1e-4 * t * self.decrement)

    def _rises(self, t: float) -> float:
        """Return the derivative of P at t."""
        risk = self.risk
        steep = risk.loss.slopes(risk.targets, self.p + t * self.change)[0]
        return self.slope + t * self.bend + float(risk.costs @ (steep * self.change))


def slope_dual(risk: RegularizedRisk, function: Function, theta: Vector) -> Function:
    """Return f_β with β = −c ℓ'(p) at the best offset, where the slope of P in θ, B'β − d, is 0."""
    best = best_offset(risk, function, theta)
    beta = _slopes(risk, risk.predictions(function, best))[0]
    return risk.function(settle(risk, beta) if theta.size == 1 else beta)


def newton_primal(
    risk: RegularizedRisk,
    function: Function,
    theta: Vector,
    steps: int = STEPS,
    each: Callable[[Vector], None] | None = None,
) -> tuple[Function, Vector]:
    """Return the (f, θ) at which Newton's method from an f in weights ends.

    ``each`` is told the β of every step, and may end the run by an exception.
    """
    assert function.weights is not None
    assert risk.gram.factor is not None  # weights belong to a factor
    w, price = function.weights, risk.offset.price
    design, r = side_by_side(risk.gram.factor, risk.offset.basis), w.size
    penalty = np.r_[np.ones(r), np.zeros(theta.size)]
    starts = [np.r_[w, theta], np.zeros(r + theta.size)]
    x = min(starts, key=lambda start: _value(risk, start, r))  # far out the Hessian is flat
    left, damping = np.inf, 0.0
    for _ in range(steps):
        p = design @ x
        beta, weights = slopes_and_bends(risk, p)
        if each is not None:
            each(beta)
        gradient = penalty * x - design.T @ beta
        gradient[r:] += price
        step = newton_system(design, weights + damping * risk.costs, penalty)(-gradient)
        decrement = -float(gradient @ step)
        before, left = left, 0.5 * float(gradient[:r] @ gradient[:r])
        enough = ENOUGH * abs(_value(risk, x, r))
        done = not decrement > enough and (left <= enough or left > 0.5 * before)
        slope, bend = x[:r] @ step[:r] + price @ step[r:], step[:r] @ step[:r]
        t = Line(risk, p, design @ step, float(slope), float(bend), decrement).search()
        x = x + t * step
        if (done and not damping) or (t == 0.0 and damping >= MOST):
            break
        damping = 0.0 if done else damped(damping, t)
    return risk.function(weights=x[:r]), x[r:]


def damped(damping: float, t: float) -> float:
    """Return the bend, in units of c, to give every row in the next step after one of length t.

    It begins where no part of a step falls: where no row bends, far out, a step along an offset has
    no end.
    """
    if t == 0.0 or (damping and t < SHORT):
        return min(max(GROWTH * damping, LEAST), MOST)
    return (damping / GROWTH if damping > LEAST else 0.0) if t >= 0.5 else damping


def stepped_dual(risk: RegularizedRisk, function: Function, theta: Vector) -> Vector:
    """Return the β of the linear model at (w, θ), with F'β = w + Δw and B'β = d to rounding.

    Where c is large, −c ℓ'(p) holds the rounding of p times c ℓ''; here it is that of Δp.
    """
    assert function.weights is not None
    x, price = np.r_[function.weights, theta], risk.offset.price
    design = side_by_side(risk.gram.inputs, risk.offset.basis)
    penalty = np.r_[np.ones(function.weights.size), np.zeros(theta.size)]
    paid = np.r_[np.zeros(function.weights.size), price]
    beta, weights = slopes_and_bends(risk, design @ x)
    solve = newton_system(design, weights, penalty)
    for _ in range(REFINED):
        step = solve(design.T @ beta - penalty * x - paid)
        x, beta = x + step, beta - weights * (design @ step)
    return np.asarray(beta)


def newton_system(design: Matrix, weights: Vector, penalty: Vector) -> Callable[[Vector], Vector]:
    """Return the solver of (X'W X + penalty) x = b: by Cholesky, for many features by CG to 1e-3.

    Near singularity a QR factorisation and singular values, which square no condition number.
    """
    size = penalty.size
    if size > WIDE:
        shape = (size, size)
        matrix = LinearOperator(shape, lambda x: design.T @ (weights * (design @ x)) + penalty * x)
        return lambda b: np.asarray(cg(matrix, b, rtol=1e-3, maxiter=200)[0])
    hessian = weighted_gram(design, weights)
    hessian[np.diag_indices(size)] += penalty
    scale = np.sqrt(np.diag(hessian))
    scale = 1.0 / np.where(scale > 0, scale, 1.0)
    try:
        factor = cho_factor(scale[:, None] * hessian * scale, check_finite=False)
    except LinAlgError:
        return _without_squares(design, weights, penalty, scale)
    if not np.abs(np.diag(factor[0])).min(initial=1.0) > SHAKY:
        return _without_squares(design, weights, penalty, scale)
    return lambda b: np.asarray(scale * cho_solve(factor, scale * b, check_finite=False))


def _without_squares(
    design: Matrix, weights: Vector, penalty: Vector, scale: Vector
) -> Callable[[Vector], Vector]:
    """Return the solver by the singular values of √W X over the penalty, of least norm."""
    rows = dense(weighted_rows(design, np.sqrt(weights)))
    stacked = np.vstack([rows, np.diag(np.sqrt(penalty))]) * scale
    triangle = np.asarray(qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0])
    _, s, vt = svd(triangle[: scale.size], check_finite=False)
    kept = s > scale.size * EPS * s.max(initial=0.0)  # an offset that no bend sees has none
    s, vt = s[kept], vt[kept]
    return lambda b: np.asarray(scale * (vt.T @ (vt @ (scale * b) / s**2)))


def is_smooth(risk: RegularizedRisk) -> bool:
    """Whether the loss has one slope everywhere, its kinks included."""
    if risk.loss.piecewise_linear:
        return False
    probe = risk.targets.copy()  # where every kink of a loss that has one stands
    low, high = risk.loss.slopes(risk.targets, probe)
    return bool(np.array_equal(low, high))


def _slopes(risk: RegularizedRisk, p: Vector) -> tuple[Vector, Vector]:
    """Return β = −c ℓ'(p) and ℓ'(p)."""
    slope = risk.loss.slopes(risk.targets, p)[0]
    low, high = domain_of(risk)
    return np.minimum(np.maximum(-risk.costs * slope, low), high), slope


def slopes_and_bends(risk: RegularizedRisk, p: Vector) -> tuple[Vector, Vector]:
    """Return β = −c ℓ'(p) and c ℓ''(p); a row with no slope has no bend."""
    beta, slope = _slopes(risk, p)
    ridge = risk.local_row(beta).ridge
    flat = (slope == 0) & risk.loss.zero_beyond_margin
    return beta, np.where(flat, 0.0, 1.0 / np.maximum(ridge, np.finfo(np.float64).tiny))


def _value(risk: RegularizedRisk, x: Vector, r: int) -> float:
    return risk.primal_value(risk.function(weights=x[:r]), x[r:])
