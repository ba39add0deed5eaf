"""Proof that no plane separates two classes: convex weights on each that meet in one point.

If r satisfies y r >= 0, B'r = 0 and y'r > 0, then every f and b with y (f + b) >= 1 obey

    y'r <= Σ r_i (f(x_i) + b) = <f, f_r> <= ‖f‖ ‖r‖_K      so      margin = 1/‖f‖ <= ‖r‖_K / (y'r)

and ‖r‖_K = 0 leaves no plane at all. In floating point the weights meet to within a resolution,
which the proof states: √(n eps max K_ii) for a dense K, else n eps Σ a |x| in every feature.

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
from kernelqp.gram import Gram
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
    distance = math.sqrt(max(risk.gram.norm2(risk.targets * weights), 0.0))
    resolution, verified = resolution_of(risk, weights)
    return SeparationProof(weights, distance, resolution) if verified else None


def resolution_of(risk: RegularizedRisk, weights: Vector) -> tuple[float, bool]:
    """Return the distance below which two means are one, and whether the weights meet within it.

    Of explicit features every one is held against its own rounding, n eps Σ a |x|: one that tells
    the classes apart is not lost beside another that is large.
    """
    F, signed = risk.gram.factor, risk.targets * weights
    if F is None:
        size = float(risk.gram.diagonal.max(initial=0.0))
        resolution = math.sqrt(risk.n * EPS * size)
        return resolution, math.sqrt(max(risk.gram.norm2(signed), 0.0)) <= resolution
    own = risk.n * EPS * (weights @ np.abs(F))
    return float(np.linalg.norm(own)), bool((np.abs(signed @ F) <= own).all())


def nearest_points(risk: RegularizedRisk) -> Vector | None:
    """Return the convex weights of the nearest points of the two classes, by a QP."""
    gram = even(risk.gram)
    k = gram.mean_diagonal or 1.0
    scaled = replace(risk, gram=gram.scaled(1.0 / k))
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


def even(gram: Gram) -> Gram:
    """Return the Gram with features of one size: separability does not depend on it."""
    if gram.factor is None:
        return gram
    size = np.abs(gram.factor).max(axis=0, initial=0.0)
    return Gram.from_factor(gram.factor / np.where(size > 0, size, 1.0))


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
        factor = even(risk.gram).thin_factor()[rows] * signed[:, None]
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
