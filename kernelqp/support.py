"""Which rows carry the solution: support vectors, elbow, left, right, and the intercept interval.

No threshold on a multiplier decides: a multiplier times h_i, the size of the kernel at its row, is
in the unit of a margin, and is compared with the margin that pushes it towards its bound. At the
optimum one of the two is 0; at an approximate answer the larger one wins, whatever C is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.repair import (
    EPS,
    column_of,
    offset_end,
    offset_slope,
    slope_rounding,
    steps_along,
    unit_of_predictions,
)

if TYPE_CHECKING:
    from kernelqp._types import Indices, Mask, Vector
    from kernelqp.losses import Row
    from kernelqp.repair import Direction
    from kernelqp.risk import Function, RegularizedRisk

SETTLED = 1e-9  # below this relative gap a multiplier strictly inside its box says "elbow"
ROUNDING = 1e-12  # of a margin


@dataclass(frozen=True, eq=False, slots=True)
class Support:
    """The rows by their role, as index arrays into the caller's rows.

    Attributes
    ----------
    support_vectors : Indices
        Rows with a multiplier that is not 0: leaving any other row out changes nothing.
    elbow : Indices
        On the margin, with a multiplier strictly inside its box.
    left : Indices
        Proved to lie inside the margin or on the wrong side (z < 1 at every optimum).
    right : Indices
        Proved to lie outside the margin (z > 1 at every optimum); never support vectors.
    undecided : Indices
        Rows that the bound is too wide, or the optimum too degenerate, to place; all of them for
        a loss that is not piecewise linear, which has no elbow.
    """

    support_vectors: Indices
    elbow: Indices
    left: Indices
    right: Indices
    undecided: Indices


def margin_unit(risk: RegularizedRisk) -> Vector:
    """Return h, shape (n,): what turns a multiplier of row i into the unit of a margin.

    h_i = max(K_ii, mean K_ii / 100), K centred when the intercept is free; 1/c_i where K vanishes.
    """
    diagonal, mean = risk.gram.diagonal, risk.gram.mean_diagonal
    return np.maximum(diagonal, 0.01 * mean) if mean > 0 else 1.0 / risk.costs


def gradient(risk: RegularizedRisk, row: Row, dual: Function, theta: Vector) -> Vector:
    """Return q − K β − ridge β − Bθ, shape (n,): the slope of D's smooth part, less the offset."""
    return np.asarray(
        row.q - dual.values - row.ridge * dual.coefficients - risk.offset.basis @ theta
    )


def away_from_zero(risk: RegularizedRisk, row: Row, beta: Vector, slope: Vector) -> Mask:
    """Whether β_i is not 0: |β_i| h_i > max(0, ε_i − sign(β_i) G_i), a boolean per row."""
    push = np.maximum(row.eps - np.sign(beta) * slope, 0.0)
    return np.asarray(np.abs(beta) * margin_unit(risk) > push)


def inside_box(risk: RegularizedRisk, row: Row, beta: Vector, slope: Vector) -> Mask:
    """Whether β_i is strictly inside its box, by the same rule at both ends, a boolean per row."""
    unit = margin_unit(risk)
    slope = slope - np.sign(beta) * row.eps
    above = (beta - row.lower) * unit > np.maximum(-slope, 0.0)
    below = (row.upper - beta) * unit > np.maximum(slope, 0.0)
    return np.asarray(above & below)


def has_sets(risk: RegularizedRisk) -> bool:
    """Whether rows can be told apart by role: not under a loss under which every row carries."""
    row = risk.row
    if row is None:
        return risk.loss.zero_beyond_margin
    ends = np.isfinite(row.lower).any() or np.isfinite(row.upper).any()
    return bool(ends or row.eps.any())


def find_support(
    risk: RegularizedRisk,
    dual: Function,
    function: Function,
    theta: Vector,
    gap: float,
    tight: bool,
) -> Support:
    """Return the sets in the risk's own rows.

    ``gap`` bounds the distance of both points to the optimum; ``tight`` says that it is small
    enough for a multiplier strictly inside its box to be believed.
    """
    beta = dual.coefficients
    row = risk.local_row(beta)
    slope = gradient(risk, row, dual, theta)
    carries = away_from_zero(risk, row, beta, slope)
    if not (risk.loss.margin and risk.loss.piecewise_linear):
        none = np.zeros(0, dtype=np.intp)
        return Support(np.flatnonzero(carries), none, none, none, np.arange(risk.n))
    least, most = margin_range(risk, function, theta, gap)
    kink = risk.targets * row.q  # 1, and 0 for the perceptron loss
    rounding = ROUNDING * unit_of_predictions(risk)
    left, right = most < kink - rounding, least > kink + rounding
    elbow = inside_box(risk, row, beta, slope) & ~left & ~right & tight
    carries &= ~right
    undecided = ~(elbow | left | right)
    return Support(*(np.flatnonzero(s) for s in (carries, elbow, left, right, undecided)))


def margin_range(
    risk: RegularizedRisk, function: Function, theta: Vector, gap: float
) -> tuple[Vector, Vector]:
    """Return bounds on the margin z_i at every optimum, shape (n,) each.

    P is strongly convex in f, so the optimal f is within √(2 gap) of ``function`` in norm and
    f(x_i) within δ_i = √(2 gap K_ii). The optimal θ of a column b lies between the lowest one at
    f + δ sign b and the highest one at f − δ sign b. Columns that share rows leave no bound.
    """
    offset = risk.offset
    known = offset.is_disjoint and (offset.is_intercept or not theta.size or not risk.loss.hard)
    if not known or not math.isfinite(gap):
        return np.full(risk.n, -np.inf), np.full(risk.n, np.inf)
    values, delta = function.values, math.sqrt(2.0 * max(gap, 0.0)) * np.sqrt(risk.gram.diagonal)
    low, high = values - delta, values + delta
    for k, start in enumerate(theta):
        way = column_of(risk, k)
        column = way[0]
        turn = np.sign(column) * delta
        first = _outer_end(risk, values + turn, float(start), 1, way)
        last = _outer_end(risk, values - turn, float(start), -1, way)
        moves = np.flatnonzero(column)  # an end may be infinite
        moved = column[moves] * first, column[moves] * last
        low[moves] += np.minimum(*moved)
        high[moves] += np.maximum(*moved)
    ends = risk.targets * low, risk.targets * high
    return np.minimum(*ends), np.maximum(*ends)


def _outer_end(
    risk: RegularizedRisk, values: Vector, start: float, side: int, way: Direction
) -> float:
    """Return a bound on the least (side 1) or the greatest (−1) θ that minimises P at ``values``.

    The jump of the slope of a piecewise linear loss where it turns, or one farther out that sums of
    n terms cannot tell from it; infinite where P is flat beyond the first jump or the last.
    """
    jumps, after = (np.zeros(0), np.zeros(0)) if risk.loss.hard else steps_along(risk, values, way)
    rounding = 2.0 * slope_rounding(risk) * max(float(np.abs(way[0]).max(initial=0.0)), 1.0)
    rounding += EPS * risk.n * abs(way[1])
    k = int(np.searchsorted(after, -side * rounding, side="left" if side > 0 else "right"))
    if k >= after.size:
        return offset_end(risk, values, start, side, way)
    size = float(np.abs(values).max(initial=0.0)) + abs(float(jumps[k]))
    before = float(jumps[0]) - max(size, 1.0)
    if k == 0 and side > 0 and offset_slope(risk, values, way, before, -1) >= -rounding:
        return -math.inf
    return float(jumps[k]) - side * 8.0 * EPS * size


def intercept_interval(risk: RegularizedRisk, dual: Function, theta: Vector) -> tuple[float, float]:
    """Return the interval of free intercepts that are optimal with an optimal β.

    [max of G_i⁺ over β_i < upper_i, min of G_i⁻ over β_i > lower_i] with
    G_i± = q_i − (K β)_i − ridge_i β_i − ε_i sgn±(β_i); where noise empties it, the point itself.
    """
    row, beta = risk.row, dual.coefficients
    b = float(theta[0])
    if row is None:
        return b, b
    base = gradient(risk, row, dual, np.zeros(1))
    slope, unit = base - b, margin_unit(risk)
    right_sign, left_sign = np.where(beta >= 0, 1.0, -1.0), np.where(beta > 0, 1.0, -1.0)
    rising, falling = base - row.eps * right_sign, base - row.eps * left_sign
    can_rise = (row.upper - beta) * unit > np.maximum(slope, 0.0)
    can_fall = (beta - row.lower) * unit > np.maximum(-slope, 0.0)
    low = float(rising[can_rise].max(initial=-math.inf))
    high = float(falling[can_fall].min(initial=math.inf))
    return (low, high) if low <= high else (b, b)
