"""Proof that no plane separates two classes: convex weights on each that meet in one point.

If r satisfies y r >= 0, B'r = 0 and y'r > 0, then every f and b with y (f + b) >= 1 obey

    y'r <= Σ r_i (f(x_i) + b) = <f, f_r> <= ‖f‖ ‖r‖_K      so      margin = 1/‖f‖ <= ‖r‖_K / (y'r)

and ‖r‖_K = 0 leaves no plane at all. In floating point the weights meet to within a resolution,
which the proof states: √(n eps max K_ii) for a dense K, n eps max |x_i| for explicit features.

Source: Bennett & Bredensteiner (2000), Duality and geometry in SVM classifiers, ICML, 57-64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np
import scipy.linalg

from kernelqp.errors import SolverFailed
from kernelqp.fenchel import square_norm
from kernelqp.repair import EPS
from kernelqp.solvers.cvxpy import run

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import RegularizedRisk


@dataclass(frozen=True, eq=False, slots=True)
class SeparationProof:
    """Weights y r >= 0 that sum to 1 on each class and whose means meet within ``distance``.

    Attributes
    ----------
    weights : Vector, shape (n,)
        The convex weights, both classes' in one array. Without a free intercept they sum to 1
        over all rows, and the mean of y x stands at ``distance`` from the origin.
    distance : float
        ‖r‖_K: how far apart the two means are.
    resolution : float
        Distances below it are 0 in double precision.
    """

    weights: Vector
    distance: float
    resolution: float

    def __str__(self) -> str:
        carriers = int((self.weights > 0).sum())
        return (
            f"no plane separates the classes: convex weights on {carriers} rows "
            f"meet within {self.distance:.1e} (resolution {self.resolution:.1e})"
        )


def separation_proof(risk: RegularizedRisk) -> SeparationProof | None:
    """Return verified weights that meet, or None where the nearest points of the classes do not."""
    start = nearest_points(risk)
    if start is None:
        return None
    weights = meet(risk, start)
    resolution = resolution_of(risk)
    distance = math.sqrt(max(risk.gram.norm2(risk.targets * weights), 0.0))
    if not distance <= resolution:
        return None
    return SeparationProof(weights, distance, resolution)


def resolution_of(risk: RegularizedRisk) -> float:
    """Return the distance below which two means of the rows are one in double precision."""
    size = math.sqrt(float(risk.gram.diagonal.max(initial=0.0)))
    relative = risk.n * EPS if risk.gram.factor is not None else math.sqrt(risk.n * EPS)
    return relative * size


def nearest_points(risk: RegularizedRisk) -> Vector | None:
    """Return the convex weights of the nearest points of the two classes, by a QP."""
    k = risk.gram.mean_diagonal or 1.0
    scaled = replace(risk, gram=risk.gram.scaled(1.0 / k))
    a = cp.Variable(risk.n, name="weights")
    total = _sums(risk)
    problem = cp.Problem(
        cp.Minimize(square_norm(scaled.gram, cp.multiply(risk.targets, a))),
        [a >= 0, total @ a == np.ones(total.shape[0])],
    )
    try:
        run(problem, "CLARABEL", 1e-12, {})
    except SolverFailed:
        return None
    return None if a.value is None else np.maximum(a.value, 0.0)


def meet(risk: RegularizedRisk, start: Vector) -> Vector:
    """Return weights >= 0 near ``start`` whose means agree, by least squares on its support.

    Rows that would turn negative leave the support, and the rest is solved again.
    """
    total = _sums(risk)
    best = _normalised(total, start)
    support = start > 1e-9 * start.max()
    for _ in range(20):
        rows = np.flatnonzero(support)
        if rows.size == 0:
            break
        signed = risk.targets[rows]
        factor = risk.gram.thin_factor()[rows] * signed[:, None]
        scale = float(np.abs(factor).max(initial=0.0)) or 1.0
        system = np.vstack([factor.T / scale, total[:, rows]])
        right = np.r_[np.zeros(factor.shape[1]), np.ones(total.shape[0])]
        guess = best[rows]
        change = least_norm(system, right - system @ guess)
        change += least_norm(system, right - system @ (guess + change))
        solved = guess + change
        if (solved >= 0).all():
            best = np.zeros_like(best)
            best[rows] = solved
            break
        support[rows[solved < 0]] = False
    return _normalised(total, best)


def least_norm(system: Matrix, right: Vector) -> Vector:
    """Return the least-squares solution of least norm, by a pivoted QR factorisation."""
    return np.asarray(scipy.linalg.lstsq(system, right, lapack_driver="gelsy")[0])


def _sums(risk: RegularizedRisk) -> Vector:
    """Return the rows that sum each class (free intercept), or all rows (no intercept)."""
    if risk.offset.is_intercept:
        return np.array([risk.targets > 0, risk.targets < 0], dtype=np.float64)
    return np.ones((1, risk.n))


def _normalised(total: Vector, weights: Vector) -> Vector:
    """Return the weights divided by their sums."""
    sums = total @ weights
    return np.asarray(weights / (total.T @ np.where(sums > 0, sums, 1.0)))
