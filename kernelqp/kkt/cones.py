"""Nearest points of cones: how far a point is outside, and from multipliers to the dual cone.

    second order  K = {‖X‖ <= t}                    K* = K
    semidefinite  K = {(X + X')/2 >= 0}             K* = {symmetric, >= 0}
    exponential   K = cl {y exp(x/y) <= z, y > 0}   K* = {(u, v, w) : (−v, −u, e w) in K}
    power         K = {Π W_i^a_i >= |z|, W >= 0}    K* = {(V, w) : (V/a, w) in K},  Σ a = 1

Each function returns a *member* of its cone. The distance to a member bounds the distance to the
cone from above however well the member was found, so a small one is a proof. Members of the dual
exponential and power cones are found through the maps above, which stretch: the distance to them
is at most max(e, 1/min a) times the shortest one.

Points are rows: shape (cones, dimension). Every cone here is the same in all units, so a row is
divided by its largest entry before anything is exponentiated.

Source: MOSEK Modeling Cookbook, chapters 4 and 8; Friberg (2023), Projection onto the exponential
cone: a univariate root-finding problem; Hien (2015), Differential properties of Euclidean
projection onto power cone.
"""

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint
from numpy.typing import NDArray

Rows = NDArray[np.float64]

HALVINGS = 110  # of an interval of exponents or of [0, |z|]: to the last digit
STEEPEST = 300.0  # |x/y| beyond which exp(x/y) is 0 or infinite beside numbers near 1


def nearest_second_order(points: Rows) -> Rows:
    """Nearest points of {(t, X) : ‖X‖ <= t}."""
    t, X = points[:, 0], points[:, 1:]
    norm = np.linalg.norm(X, axis=1)
    top = np.where(t >= norm, t, np.maximum((t + norm) / 2, 0.0))
    shrink = np.minimum(top / np.where(norm > 0, norm, 1.0), 1.0)
    return np.column_stack([top, shrink[:, None] * X])


def nearest_semidefinite(matrices: Rows) -> Rows:
    """Nearest symmetric positive semidefinite matrices; shape (..., n, n)."""
    symmetric = (matrices + np.swapaxes(matrices, -1, -2)) / 2
    eigenvalues, Q = np.linalg.eigh(symmetric)
    clipped = Q * np.maximum(eigenvalues, 0.0)[..., None, :]
    return np.asarray(clipped @ np.swapaxes(Q, -1, -2))


def nearest_exponential(points: Rows) -> Rows:
    """Nearest points of the exponential cone; what is inside comes back unchanged."""
    unit = _unit(points)
    x, y, z = (points / unit).T
    flat_face = np.column_stack([np.minimum(x, 0.0), np.zeros_like(y), np.maximum(z, 0.0)])
    with np.errstate(all="ignore"):
        above = np.column_stack([x, y, np.maximum(z, y * np.exp(x / y))])
        beside = np.column_stack([np.minimum(x, y * np.log(z / y)), y, z])
        ray = _exponential_ray(_exponent(x, y, z))
    ray = ray * np.maximum(np.einsum("ij,ij->i", points / unit, ray), 0.0)[:, None]
    inside = (y > 0)[:, None], ((y > 0) & (z > 0))[:, None]
    above, beside = np.where(inside[0], above, np.inf), np.where(inside[1], beside, np.inf)
    return _best(points, unit, [flat_face, ray, above, beside])


def _exponent(x: Rows, y: Rows, z: Rows) -> Rows:
    """Ratio r = x/y of the nearest boundary point, by bisection of Friberg's equation.

    The point is p (r, 1, e^r) + q (1, 1 − r, −e^−r): boundary and normal, p, q >= 0. Its first two
    entries give p and q; the third grows with r wherever both are >= 0.
    """
    low = np.where(x > 0, 1 - y / np.where(x > 0, x, 1.0), -STEEPEST)
    high = np.where(y > 0, x / np.where(y > 0, y, 1.0), STEEPEST)
    low, high = np.clip(low, -STEEPEST, STEEPEST), np.clip(high, -STEEPEST, STEEPEST)
    for _ in range(HALVINGS):
        r = (low + high) / 2
        determinant = r**2 - r + 1
        p, q = ((r - 1) * x + y) / determinant, (x - r * y) / determinant
        too_high = p * np.exp(r) - q * np.exp(-r) > z
        low, high = np.where(too_high, low, r), np.where(too_high, r, high)
    return (low + high) / 2


def _exponential_ray(r: Rows) -> Rows:
    """Give unit vectors along (r, 1, e^r)."""
    ray = np.column_stack([r, np.ones_like(r), np.exp(r)])
    return np.asarray(ray / np.linalg.norm(ray, axis=1, keepdims=True))


def nearest_dual_exponential(points: Rows) -> Rows:
    """Points of the dual exponential cone, at most e times as far as the nearest."""
    u, v, w = points.T
    a, b, c = nearest_exponential(np.column_stack([-v, -u, np.e * w])).T
    return np.column_stack([-b, -a, c / np.e])


def nearest_power(points: Rows, exponents: Rows) -> Rows:
    """Nearest points (W, z) of the power cone; what is inside comes back unchanged.

    With s = |z|: W_i(r) = (W_i + √(W_i² + 4 a_i r (s − r)))/2 and r = Π W_i(r)^a_i, for the only r
    in (0, s) that solves it (Hien). Below the root the product is the larger.
    """
    unit = _unit(points)
    W, z = points[:, :-1] / unit, points[:, -1] / unit[:, 0]
    low, high = np.zeros_like(z), np.abs(z)
    for _ in range(HALVINGS):
        r = (low + high) / 2
        enough = _product(_lifted(W, np.abs(z), r, exponents), exponents) >= r
        low, high = np.where(enough, r, low), np.where(enough, high, r)
    lifted = _lifted(W, np.abs(z), low, exponents)
    on_boundary = np.column_stack([lifted, np.sign(z) * low])
    clipped = np.maximum(W, 0.0)
    lowered = np.minimum(np.abs(z), _product(clipped, exponents))
    below = np.column_stack([clipped, np.sign(z) * lowered])
    return _best(points, unit, [on_boundary, below, np.zeros_like(points)])


def _lifted(W: Rows, s: Rows, r: Rows, exponents: Rows) -> Rows:
    """(W + √(W² + 4 a r (s − r)))/2, the small root without cancellation."""
    push = exponents * (r * (s - r))[:, None]
    root = np.sqrt(W**2 + 4 * push)
    return np.asarray(np.where(W >= 0, (W + root) / 2, 2 * push / np.maximum(root - W, 1e-300)))


def _product(W: Rows, exponents: Rows) -> Rows:
    return np.asarray(np.prod(W**exponents, axis=1))


def nearest_dual_power(points: Rows, exponents: Rows) -> Rows:
    """Points of the dual power cone, at most 1/min a times as far as the nearest."""
    stretch = np.column_stack([exponents, np.ones(len(points))])
    return nearest_power(points / stretch, exponents) * stretch


def _unit(points: Rows) -> Rows:
    """Largest |entry| of each row, as a column; 1 for rows of zeros."""
    largest = np.abs(points).max(axis=1, keepdims=True)
    return np.where(largest > 0, largest, 1.0)


def _best(points: Rows, unit: Rows, members: list[Rows]) -> Rows:
    """Whichever member, in units of its row, is closest; a point that is one, to the last digit."""
    stacked = np.stack([np.where(np.isfinite(m), m, np.inf) for m in members])
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(stacked - points / unit, axis=2)
    best = stacked[distances.argmin(axis=0), np.arange(len(points))] * unit
    return np.where(distances.min(axis=0)[:, None] == 0, points, best)


def rows_of(constraint: Constraint, parts: list[Rows]) -> Rows:
    """Parts of a cone constraint (its arguments, or its multipliers) with one cone per row."""
    if isinstance(constraint, cp.SOC | cp.PowConeND):
        wide, single = parts if isinstance(constraint, cp.PowConeND) else parts[::-1]
        wide = _one_cone_per_row(constraint, wide)
        column = np.reshape(single, (-1, 1), order="F")
        both = [wide, column] if isinstance(constraint, cp.PowConeND) else [column, wide]
        return np.hstack(both)
    return np.column_stack([np.ravel(part, order="F") for part in parts])


def parts_of(constraint: Constraint, rows: Rows, shapes: list[tuple[int, ...]]) -> list[Rows]:
    """Undo `rows_of`."""
    if not isinstance(constraint, cp.SOC | cp.PowConeND):
        return [np.reshape(c, s, order="F") for c, s in zip(rows.T, shapes, strict=True)]
    power = isinstance(constraint, cp.PowConeND)
    wide, single = (rows[:, :-1], rows[:, -1]) if power else (rows[:, 1:], rows[:, 0])
    shape = shapes[0] if power else shapes[1]
    across = constraint.axis == 0 and len(shape) == 2
    wide = np.reshape(wide.T if across else wide, shape)
    return [wide, np.reshape(single, shapes[1])] if power else [np.reshape(single, shapes[0]), wide]


def _one_cone_per_row(constraint: Constraint, wide: Rows) -> Rows:
    if wide.ndim < 2:
        return np.reshape(wide, (1, -1))
    return wide.T if constraint.axis == 0 else wide


def nearest(constraint: Constraint, parts: list[Rows], *, dual: bool) -> list[Rows]:
    """Parts of a cone constraint moved into the cone, or multipliers into the dual cone."""
    if isinstance(constraint, cp.PSD):
        return [nearest_semidefinite(parts[0])]
    rows = rows_of(constraint, parts)
    if isinstance(constraint, cp.SOC):
        moved = nearest_second_order(rows)
    elif isinstance(constraint, cp.ExpCone):
        moved = nearest_dual_exponential(rows) if dual else nearest_exponential(rows)
    else:
        moved = (nearest_dual_power if dual else nearest_power)(rows, _exponents(constraint))
    return parts_of(constraint, moved, [np.shape(part) for part in parts])


def distance(constraint: Constraint, parts: list[Rows], *, dual: bool) -> Rows:
    """How far each cone's point (or multiplier) is outside; for PSD the eigenvalue below 0."""
    if isinstance(constraint, cp.PSD):
        X = parts[0]
        lowest = np.linalg.eigvalsh((X + np.swapaxes(X, -1, -2)) / 2)[..., 0]
        return np.asarray(np.maximum(-lowest, 0.0))
    moved, rows = (
        rows_of(constraint, nearest(constraint, parts, dual=dual)),
        rows_of(constraint, parts),
    )
    return np.asarray(np.linalg.norm(rows - moved, axis=1))


def products(constraint: Constraint, multipliers: list[Rows], parts: list[Rows]) -> Rows:
    """Inner product of multipliers and arguments, one number per cone."""
    if isinstance(constraint, cp.PSD):
        return np.atleast_1d((multipliers[0] * parts[0]).sum(axis=(-2, -1)))
    together = rows_of(constraint, multipliers) * rows_of(constraint, parts)
    return np.asarray(together.sum(axis=1))


def _exponents(constraint: Constraint) -> Rows:
    """Exponents a, one cone per row, Σ a = 1."""
    a = np.asarray(constraint.alpha.value, dtype=float)
    if isinstance(constraint, cp.PowConeND):
        a = _one_cone_per_row(constraint, a)
        return np.asarray(a / a.sum(axis=1, keepdims=True))
    flat = np.ravel(a, order="F")
    return np.column_stack([flat, 1 - flat])
