"""The elbow solve: read the sets off a candidate, and solve for what they leave open.

With the rows at their bounds fixed, the optimum is the linear system of the rest E, the elbow:

    [K_EE + ridge_E   B_E] [Δβ_E]   [q_E − ε_E sgn − (K β + ridge β)_E − B_E θ]
    [B_E'             0  ] [Δθ  ] = [d − B'β                                 ]

solved for the correction of least norm, so that duplicates and singular kernels change little. Rows
that leave their box, or that the new θ pulls off a bound, change sets, and the system is solved anew.

Source: Nocedal & Wright (2006), Numerical Optimization, section 16.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from kernelqp.repair import imbalance, repair_dual
from kernelqp.support import gradient, inside_box

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.losses import Row
    from kernelqp.risk import RegularizedRisk

ROUNDS = 12
LARGEST = 4000  # rows of a dense system that are still solved: 128 MB, about a second


def elbow_solve(risk: RegularizedRisk, beta: Vector, theta: Vector) -> tuple[Vector, Vector]:
    """Return the (β, θ) of the largest D met while the sets settle; at least as good as the start.

    A loss that is not linear-quadratic gives the system of its second-order model at β, so that the
    rounds are Newton's. An elbow of more than 4000 rows is returned unchanged.
    """
    best, value = (beta, theta), risk.dual_value(beta)
    curved = risk.loss.row(risk.targets, risk.costs) is None
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        row = risk.loss.local_row(risk.targets, risk.costs, beta)
        free = inside_box(risk, row, beta, gradient(risk, row, beta, theta))
        key = free.tobytes()
        if (key in seen and not curved) or free.sum() > LARGEST:
            break
        seen.add(key)
        beta, theta = solve_elbow_system(risk, row, snap(row, beta, free), theta, free)
        beta = np.clip(beta, row.lower, row.upper)
        feasible = repair_dual(risk, beta, theta)
        reached = risk.dual_value(feasible)
        if reached >= value - 1e-12 * abs(value):  # a tie in D is decided by P, which is first order
            best, value = (feasible, theta), max(reached, value)
    return best


def snap(row: Row, beta: Vector, free: Vector) -> Vector:
    """Return β with every row that is not free at its nearest bound, or at the kink at 0."""
    low, high = np.abs(beta - row.lower), np.abs(row.upper - beta)
    end = np.where(low <= high, row.lower, row.upper)
    nearer_zero = (row.eps > 0) & (np.abs(beta) < np.minimum(low, high))
    return np.where(free, beta, np.where(nearer_zero, 0.0, end))


def solve_elbow_system(
    risk: RegularizedRisk, row: Row, beta: Vector, theta: Vector, free: Vector
) -> tuple[Vector, Vector]:
    """Return (β + Δβ, θ + Δθ) of the system above."""
    rows = np.flatnonzero(free)
    basis = risk.offset.basis[rows]
    size, columns = rows.size, basis.shape[1]
    if size == 0:
        return beta, theta
    system = np.zeros((size + columns, size + columns))
    system[:size, :size] = risk.gram.submatrix(rows)
    system[np.arange(size), np.arange(size)] += row.ridge[rows]
    system[:size, size:], system[size:, :size] = basis, basis.T
    right = np.empty(size + columns)
    right[:size] = (gradient(risk, row, beta, theta) - np.sign(beta) * row.eps)[rows]
    right[size:] = -imbalance(risk, beta)
    change = least_norm_solution(system, right)
    beta = beta.copy()
    beta[rows] += change[:size]
    return beta, theta + change[size:]


def least_norm_solution(system: Vector, right: Vector) -> Vector:
    """Solve the symmetric system; where it is singular, by its eigenvectors, least norm."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(system)), np.abs(system).max(axis=1)))
    scale[scale == 0] = 1.0
    scaled = system / scale[:, None] / scale[None, :]
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    keep = np.abs(values) > 1e-13 * len(values) * np.abs(values).max(initial=0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=keep)
    solution = vectors @ (inverse * (vectors.T @ (right / scale)))
    solution += vectors @ (inverse * (vectors.T @ (right / scale - scaled @ solution)))
    return np.asarray(solution / scale)
