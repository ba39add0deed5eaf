"""Feasible points from candidates: what a solver returned is moved onto the constraints.

A bound is a bound only at a feasible point. The dual is repaired by one majorised step that ends
in the box and balanced; the primal by the best scale of f and the best offset, each a convex
problem in one dimension. Nothing here solves the problem; a candidate far off stays far off.

Source: Hunter & Lange (2004), A tutorial on MM algorithms, The American Statistician 58(1), 30-37.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from kernelqp.roots import monotone_root

if TYPE_CHECKING:
    from typing import TypeAlias

    from kernelqp._types import Vector
    from kernelqp.risk import Function, RegularizedRisk

    # how a step moves the predictions, and what it costs
    Direction: TypeAlias = tuple[Vector, float]

EPS = float(np.finfo(np.float64).eps)


def imbalance(risk: RegularizedRisk, beta: Vector) -> Vector:
    """Return B'β − d, shape (m,), summed in the longest numbers there are."""
    columns = risk.offset.basis * beta[:, None]
    total = columns.sum(axis=0, dtype=np.longdouble)
    return np.asarray(total - risk.offset.price, dtype=np.float64)


def majorised_step(risk: RegularizedRisk, dual: Function, theta: Vector) -> Function:
    """Return the best feasible f_β for a separable lower bound of D that touches D at ``dual``.

    β(t) = argmax over b of −h/2 (b − v(t))² − c ℓ*(y, −b/c) with v(t) = β − (K β + B t)/h and
    diag(h) >= K; t is the root of the monotone B'β(t) = d. D never falls from a feasible β.
    """
    bounds = risk.gram.row_bounds
    h = np.maximum(bounds, EPS * float(bounds.max(initial=0.0)) or 1.0)
    start, basis = dual.coefficients - dual.values / h, risk.offset.basis

    def at(t: Vector) -> Vector:
        moved = start - (basis @ t) / h
        if risk.row is not None:
            return risk.row.prox(moved, h)
        return risk.loss.dual_prox(risk.targets, risk.costs, moved, h)

    if not theta.size:
        return risk.function(at(theta))
    if not risk.offset.is_disjoint:  # only the solver's θ is tried: D says what it is worth
        return risk.function(spread(risk, at(theta)))
    unit = unit_of_predictions(risk)
    roots = np.array(theta, dtype=np.float64)
    for k in range(roots.size):  # no row is moved by two columns: each has a root of its own

        def lacking(t: float, k: int = k) -> float:  # grows with t
            roots[k] = t
            return float(risk.offset.price[k] - basis[:, k] @ at(roots))

        first = float(theta[k])
        roots[k] = monotone_root(lacking, first, scale=max(abs(first), unit))
    return risk.function(settle(risk, at(roots)))


def spread(risk: RegularizedRisk, beta: Vector) -> Vector:
    """Move the entries inside their boxes by the least change that gives B'β = d."""
    basis, (lower, upper) = risk.offset.basis, domain_of(risk)
    for _ in range(4 if basis.shape[1] else 0):
        left, inside = imbalance(risk, beta), (lower < beta) & (beta < upper)
        if not left.any() or not inside.any():
            break
        beta = beta.copy()
        beta[inside] -= scipy.linalg.lstsq(basis[inside].T, left)[0]
        beta = np.clip(beta, lower, upper)
    return beta


def settle(risk: RegularizedRisk, beta: Vector) -> Vector:
    """Put what is left of B'β − d, disjoint columns, on entries that have room for it."""
    beta = beta.copy()
    lower, upper = domain_of(risk)
    for k, column in enumerate(risk.offset.basis.T):
        nothing = 0.01 * EPS * float(np.abs(column) @ np.abs(beta))
        for _ in range(4):
            left = float(imbalance(risk, beta)[k])
            if abs(left) <= nothing:
                break
            move = np.divide(-left, column, out=np.zeros_like(column), where=column != 0)
            moved = np.clip(beta + move, lower, upper)
            room = np.abs(moved - beta) * np.where((beta > lower) & (beta < upper), 1.0, 0.5)
            i = int(np.argmax(room))
            beta[i] = moved[i]
    return beta


def best_scaling(risk: RegularizedRisk, dual: Function) -> Function:
    """Return s f_β with the s >= 0 of the largest D that stays in the box; needs d = 0."""
    beta, row = dual.coefficients, risk.row
    if row is None or risk.offset.price.any() or not beta.any():
        return dual
    linear = float(row.q @ beta - row.eps @ np.abs(beta))
    curvature = float(dual.norm2 + row.ridge @ beta**2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(beta > 0, row.upper / beta, np.where(beta < 0, row.lower / beta, np.inf))
    most = float(room.min()) * (1.0 - 4.0 * EPS)  # not over the bound by a rounding
    best = linear / curvature if curvature > 0 else most
    scale = min(max(best, 0.0), most)
    return dual.scaled(scale) if math.isfinite(scale) else dual


def feasible(risk: RegularizedRisk, beta: Vector) -> bool:
    """Whether β is in its domain and balanced to rounding."""
    return in_balance(risk, beta) and bool(np.isfinite(risk.gain(beta)).all())


def in_balance(risk: RegularizedRisk, beta: Vector) -> bool:
    """Whether β is finite, and B'β = d to rounding."""
    if not np.isfinite(beta).all():
        return False
    if not risk.offset.price.size:
        return True
    size = np.abs(risk.offset.basis).T @ np.abs(beta) + np.abs(risk.offset.price)
    return bool((np.abs(imbalance(risk, beta)) <= 1e-12 * size).all())


def repair_dual(risk: RegularizedRisk, dual: Function, theta: Vector) -> Function:
    """Return the feasible f_β of the largest D among a few repairs of ``dual``.

    The majorised step is preferred unless another is better by more than rounding, 1e-12 relative.
    """
    best, beta = majorised_step(risk, dual, theta), dual.coefficients
    value = lower_bound(risk, best)
    given = dual
    if risk.offset.price.any() and risk.offset.is_disjoint and imbalance(risk, beta).any():
        given = risk.function(settle(risk, beta))  # what B'β exceeds d by would be worth θ in D
    others = [given, best_scaling(risk, best)]
    if not risk.offset.is_disjoint:  # the step moved it as far as its θ lets it
        others.append(risk.function(spread(risk, np.clip(dual.coefficients, *domain_of(risk)))))
        if not risk.offset.price.any():  # 0 is balanced, where columns leave nothing else
            others.append(risk.function(np.zeros(risk.n)))
    for other in others:
        rival = -math.inf if other is best else lower_bound(risk, other)
        if rival > value + 1e-12 * abs(rival):
            best, value = other, rival
    return best


def lower_bound(risk: RegularizedRisk, dual: Function) -> float:
    """Return D where it is a bound: −inf where β is out of its domain or not balanced."""
    if not in_balance(risk, dual.coefficients):
        return -math.inf
    value = risk.dual_value(dual)  # −inf outside the domain
    return value if math.isfinite(value) else -math.inf


def repair_primal(
    risk: RegularizedRisk, function: Function, theta: Vector
) -> tuple[Function, Vector]:
    """Return (t f, θ') of the smallest P over the scale t >= 0 and the offset.

    Also tries the scale that makes the smallest margin exactly 1, in floating point: at a large C a
    margin of 1 − 1e-9 costs C 1e-9.
    """
    if risk.loss.hard:
        return separating(risk, function)
    best = (function, best_offset(risk, function, theta))
    if risk.homogeneous:
        return best_multiple(risk, *best)
    for _ in range(2):
        scale = best_scale(risk, *best)
        if abs(scale - 1.0) <= 4.0 * EPS:
            break
        scaled = best[0].scaled(scale)
        rival = (scaled, best_offset(risk, scaled, best[1]))
        best = min(best, rival, key=lambda pair: risk.primal_value(*pair))
    if not risk.loss.zero_beyond_margin:
        return best
    return min(best, separating(risk, function), key=lambda pair: risk.primal_value(*pair))


def separating(risk: RegularizedRisk, function: Function) -> tuple[Function, Vector]:
    """Return f and θ scaled so that every margin is at least 1; unscaled when f separates nothing.

    With a free intercept m = (min over + of f − max over − of f)/2 and
    b = −(min over + of f + max over − of f)/2, without one m = min y f.
    """
    y, f = risk.targets, function.values
    if risk.offset.is_intercept:
        first, last = feasible_intercepts(y, f)
        margin, theta = 0.5 * (last - first) + 1.0, np.array([midway(first, last)])
    else:
        margin, theta = float((y * f).min()), np.zeros(risk.offset.price.size)
    size = float(np.abs(f).max(initial=0.0))
    if not EPS * size < margin < math.inf:  # below it f separates by rounding
        return function, theta
    scale = 1.0 / margin
    for _ in range(60):  # rounding may leave a margin short of 1
        scaled, moved = function.scaled(scale), scale * theta
        least = float((y * risk.predictions(scaled, moved)).min())
        if least >= 1.0:
            break
        scale *= 1.0 + 2.0 * (1.0 - least)
    return scaled, moved


def midway(first: float, last: float) -> float:
    """Return the middle of an interval; for a half-line, which one class leaves, its end."""
    if math.isfinite(first) and math.isfinite(last):
        return 0.5 * (first + last)
    return first if math.isfinite(first) else last


def feasible_intercepts(y: Vector, f: Vector) -> tuple[float, float]:
    """Return the interval of b with y (f + b) >= 1; its ends cross where there is none."""
    above, below = f[y > 0].min(initial=math.inf), f[y < 0].max(initial=-math.inf)
    return float(1.0 - above), float(-1.0 - below)


def best_offset(risk: RegularizedRisk, function: Function, theta: Vector) -> Vector:
    """Return the θ nearest to ``theta`` that minimises P at f, along one direction at a time.

    Of disjoint columns that is every column, and the minimum over θ; of others the direction of
    their constant, and without one θ stays.
    """
    offset, found = risk.offset, np.array(theta, dtype=np.float64)
    if offset.is_disjoint:
        for k in range(found.size):
            found[k] = _best_along(risk, function.values, column_of(risk, k), float(theta[k]))
        return found
    way = offset.free_constant
    if way is None:
        return theta
    values = function.values + offset.basis @ theta
    return np.asarray(found + way * _best_along(risk, values, (np.ones(risk.n), 0.0), 0.0))


def column_of(risk: RegularizedRisk, k: int) -> Direction:
    """Return how θ_k moves the predictions, and its price."""
    return risk.offset.basis[:, k], float(risk.offset.price[k])


def _best_along(risk: RegularizedRisk, values: Vector, way: Direction, start: float) -> float:
    """Return the minimiser of P along a direction that is nearest to ``start``."""
    rounding = slope_rounding(risk)
    if offset_slope(risk, values, way, start, 1) < -rounding:
        return offset_end(risk, values, start, 1, way)
    if offset_slope(risk, values, way, start, -1) > rounding:
        return offset_end(risk, values, start, -1, way)
    return start


def offset_end(
    risk: RegularizedRisk, values: Vector, start: float, side: int, way: Direction | None = None
) -> float:
    """Return the least (side 1) or the greatest (−1) θ along a way that minimises P at ``values``.

    The way is the only column, or as given. Both ends fall as f rises where the way raises p. For a
    hard margin they are the ends of the feasible free intercepts, which cross where there is none.
    ``start`` is where the search begins.
    """
    if risk.loss.hard:
        return feasible_intercepts(risk.targets, values)[0 if side > 0 else 1]
    way = column_of(risk, 0) if way is None else way
    rounding, size = slope_rounding(risk), float(np.abs(values).max(initial=0.0))
    jumps, after = steps_along(risk, values, way)
    k = int(np.searchsorted(after, -side * rounding))
    start = float(jumps[k]) if k < after.size else start
    root = monotone_root(
        lambda t: offset_slope(risk, values, way, t, side) + side * rounding,
        start,
        unit_of_predictions(risk) + size,
        jumps,
        size,
    )
    return root if side > 0 else float(np.nextafter(root, -np.inf))  # the last before it rises


def steps_along(risk: RegularizedRisk, start: Vector, way: Direction) -> tuple[Vector, Vector]:
    """Return the t at which the slope of P along a way jumps, and what it is after each jump.

    The latter for a piecewise linear loss, whose slope rises from one end of its domain to the
    other by the same amount at each of its kinks; to the rounding of a sum, and empty for others.
    The way starts at the predictions ``start``.
    """
    column, price = way
    kinks, costs, (low, high) = risk.loss.jumps(risk.targets), risk.costs, risk.slopes
    moves = column != 0
    if not moves.all():
        kinks, column, start = kinks[:, moves], column[moves], start[moves]
        costs, low, high = costs[moves], low[moves], high[moves]
    with np.errstate(over="ignore"):
        found = ((kinks - start) / column).ravel()
    finite = np.isfinite(found)
    if finite.all():
        order = np.argsort(found)
    else:
        order = np.argsort(np.where(finite, found, np.inf))[: finite.sum()]
    if not order.size or not risk.loss.piecewise_linear:
        return found[order], np.zeros(0)
    weights = costs * column
    first = price + np.minimum(weights * low, weights * high).sum()
    rises = np.abs(weights) * (high - low) / len(kinks)
    return found[order], first + np.cumsum(rises[order % rises.size])


def offset_slope(
    risk: RegularizedRisk, values: Vector, way: Direction, t: float, side: int
) -> float:
    """Return the left (side −1) or right (side 1) slope of P along a way at t."""
    column, price = way
    low, high = risk.loss.slopes(risk.targets, values + t * column)
    ends = (column * low, column * high)
    steep = np.maximum(*ends) if side > 0 else np.minimum(*ends)
    return float(price + risk.costs @ steep)


def slope_rounding(risk: RegularizedRisk) -> float:
    """Return the size of a slope that may be 0: sums of costs cancel to rounding only."""
    return EPS * risk.n * float(risk.costs.sum())


def unit_of_predictions(risk: RegularizedRisk) -> float:
    """Return what a prediction is measured by: 1, a margin; in a homogeneous risk k̄ Σ|d|/√(2n).

    Such a risk has no margin of its own. Its predictions are of the size of the kernel: if every
    row were orthogonal to every other, the least norm of a β with Σ |β_i| = Σ |d_k| would be
    ‖f‖² = k̄ (Σ |d|)²/n, k̄ the mean diagonal. The unit u is such that u²/k̄, the scale of the
    objective, is then ‖f‖²/2, the optimum itself: K → t² K takes u to t² u and P to t² P.
    """
    spent = float(np.abs(risk.offset.price).sum())
    if not (spent > 0 and risk.homogeneous):
        return 1.0
    mean = float(risk.costs @ risk.gram.diagonal / risk.costs.sum())
    return mean * spent / math.sqrt(2.0 * risk.n) if mean > 0 else 1.0


def best_multiple(
    risk: RegularizedRisk, function: Function, theta: Vector
) -> tuple[Function, Vector]:
    """Return (t f, t θ) of the smallest P over t >= 0, for a homogeneous risk.

    P(t) = t²/2 ‖f‖² + t L, so t = max(0, −L/‖f‖²); where θ is the best for f, t θ is for t f.
    """
    linear = risk.primal_value(function, theta) - 0.5 * function.norm2
    falls = linear < 0 < function.norm2 and math.isfinite(linear)
    t = -linear / function.norm2 if falls else 0.0
    scaled, moved = function.scaled(t), t * theta
    kept = risk.primal_value(function, theta) <= risk.primal_value(scaled, moved)
    return (function, theta) if kept else (scaled, moved)


def best_scale(risk: RegularizedRisk, function: Function, theta: Vector) -> float:
    """Return the t >= 0 that minimises P(t f, θ)."""
    offset = risk.offset.basis @ theta

    def slope(t: float) -> float:
        low, high = risk.loss.slopes(risk.targets, t * function.values + offset)
        steep = np.where(function.values > 0, high, low)
        return t * function.norm2 + float(risk.costs @ (steep * function.values))

    if slope(0.0) >= 0.0:
        return 0.0
    jumps, after = steps_along(risk, offset, (function.values, 0.0))
    ahead, start = jumps > 0, 1.0
    jumps = jumps[ahead]
    if after.size:
        k = int(np.searchsorted(jumps * function.norm2 + after[ahead], 0.0))
        start = float(jumps[k]) if 0 < k < jumps.size else start
    return max(monotone_root(slope, start, 1.0, jumps), 0.0)


def domain_of(risk: RegularizedRisk) -> tuple[Vector, Vector]:
    """Return the ends of β's domain, shape (n,) each."""
    row = risk.row
    if row is not None:
        return row.lower, row.upper
    low, high = risk.slopes
    return -risk.costs * high, -risk.costs * low
