"""The elbow solve: read the sets off a candidate, and solve for what they leave open.

With the rows at their bounds fixed, the optimum is the linear system of the rest E, the elbow:

    [K_EE + ridge_E   B_E] [Δβ_E]   [q_E − ε_E sgn − (K β + ridge β)_E − B_E θ]
    [B_E'             0  ] [Δθ  ] = [d − B'β                                 ]

solved for the correction of least norm, so that duplicates and singular kernels change little. Rows
that leave their box, or that the new θ pulls off a bound, change sets, and it is solved anew.

Source: Nocedal & Wright (2006), Numerical Optimization, section 16.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from kernelqp.repair import EPS, imbalance, lower_bound, repair_dual
from kernelqp.scales import rounding_of_bounds
from kernelqp.support import gradient, inside_box

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Mask, Matrix, Vector
    from kernelqp.losses import Row
    from kernelqp.risk import Function, RegularizedRisk

ROUNDS = 12
WELL = 1e-11  # reciprocal condition from which a factorisation is trusted
LARGEST = 4000  # rows of a dense system that are still solved: 128 MB, about a second


def elbow_solve(risk: RegularizedRisk, dual: Function, theta: Vector) -> tuple[Function, Vector]:
    """Return the (f_β, θ) of the largest D met while the sets settle, the start included.

    A loss that is not linear-quadratic gives the system of its second-order model at β, so that the
    rounds are Newton's. An elbow of too many rows is returned unchanged.
    """
    best, value = (dual, theta), lower_bound(risk, dual)
    curved = risk.row is None
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        row = risk.local_row(dual.coefficients)
        free = inside_box(risk, row, dual.coefficients, gradient(risk, row, dual, theta))
        key = free.tobytes()
        if (key in seen and not curved) or free.sum() > largest(risk, row):
            break
        seen.add(key)
        start = risk.function(snap(row, dual.coefficients, free))
        beta, theta = solve_elbow_system(risk, row, start, theta, free)
        dual = risk.function(np.clip(beta, row.lower, row.upper))
        feasible = repair_dual(risk, dual, theta)
        reached = lower_bound(risk, feasible)
        tie = max(1e-12 * abs(value), rounding_of_bounds(risk, feasible))
        if reached >= value - tie:  # a tie in D is decided by P, which is first order
            best, value = (feasible, theta), max(reached, value)
        if curved and reached <= value * (1.0 + 4.0 * EPS):
            break
    return best


def solve_as_it_stands(
    risk: RegularizedRisk, row: Row, dual: Function, theta: Vector
) -> tuple[Function, Vector]:
    """Return (f_β, θ) of one solve whose elbow are the rows strictly inside their box, repaired.

    For a β of slopes near kinks, which knows the sets and nothing of the values inside.
    """
    beta = dual.coefficients
    free = (row.lower < beta) & (beta < row.upper) & ((row.eps == 0) | (beta != 0))
    if free.sum() > largest(risk, row):
        return dual, theta
    beta, theta = solve_elbow_system(risk, row, dual, theta, free)
    found = risk.function(np.clip(beta, row.lower, row.upper))
    return repair_dual(risk, found, theta), theta


def largest(risk: RegularizedRisk, row: Row) -> int:
    """Return the most rows of an elbow that is still solved.

    Without a ridge the elbow of r features holds no more than r + 1 rows unless rows coincide; many
    more are the mark of a start that is far off, and of a singular system.
    """
    factor = risk.gram.factor
    if factor is None or row.ridge.any():
        return LARGEST
    return min(LARGEST, 200 + 4 * int(factor.shape[1]))


def snap(row: Row, beta: Vector, free: Mask) -> Vector:
    """Return β with every row that is not free at its nearest bound, or at the kink at 0."""
    low, high = np.abs(beta - row.lower), np.abs(row.upper - beta)
    end = np.where(low <= high, row.lower, row.upper)
    nearer_zero = (row.eps > 0) & (np.abs(beta) < np.minimum(low, high))
    return np.where(free, beta, np.where(nearer_zero, 0.0, end))


def solve_elbow_system(
    risk: RegularizedRisk, row: Row, dual: Function, theta: Vector, free: Mask
) -> tuple[Vector, Vector]:
    """Return (β + Δβ, θ + Δθ) of the system above."""
    rows, beta = np.flatnonzero(free), dual.coefficients
    basis = risk.offset.basis[rows]
    size, columns = rows.size, basis.shape[1]
    if size == 0:
        return beta, theta
    system = np.zeros((size + columns, size + columns))
    system[:size, :size] = risk.gram.submatrix(rows)
    system[np.arange(size), np.arange(size)] += row.ridge[rows]
    system[:size, size:], system[size:, :size] = basis, basis.T
    right = np.empty(size + columns)
    right[:size] = (gradient(risk, row, dual, theta) - np.sign(beta) * row.eps)[rows]
    right[size:] = -imbalance(risk, beta)
    change = least_norm_solution(system, right, size)
    beta = beta.copy()
    beta[rows] += change[:size]
    return beta, theta + change[size:]


def least_norm_solution(system: Matrix, right: Vector, size: int) -> Vector:
    """Solve the bordered system; where it is singular, by its eigenvectors, with least norm."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(system)), np.abs(system).max(axis=1)))
    scale[scale == 0] = 1.0
    scaled = system / scale[:, None] / scale[None, :]
    solve = _cholesky(scaled, size) or _eigenvectors(scaled)
    solution = solve(right / scale)
    solution = solution + solve(right / scale - scaled @ solution)  # one refinement
    return np.asarray(solution / scale)


def _cholesky(system: Matrix, size: int) -> Callable[[Vector], Vector] | None:
    """Return the solver through K_EE = L L' and its Schur complement, None near singularity."""
    block, border = system[:size, :size], system[:size, size:]
    factor, info = lapack.dpotrf(block)
    if info != 0 or not lapack.dpocon(factor, np.abs(block).sum(axis=0).max())[0] > WELL:
        return None
    inner: Matrix = lapack.dpotrs(factor, border)[0] if border.size else border
    schur = np.asarray(np.linalg.pinv(border.T @ inner), dtype=np.float64)

    def solve(b: Vector) -> Vector:
        u: Vector = lapack.dpotrs(factor, b[:size])[0].reshape(size)
        v = schur @ (border.T @ u - b[size:])
        return np.concatenate([u - inner @ v, v])

    return solve


def _eigenvectors(system: Matrix) -> Callable[[Vector], Vector]:
    """Return the least-norm solver of a singular system."""
    values, vectors = scipy.linalg.eigh(system, check_finite=False)
    keep = np.abs(values) > 1e-13 * len(values) * np.abs(values).max(initial=0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=keep)
    return lambda b: np.asarray(vectors @ (inverse * (vectors.T @ b)))
