"""Regularised least squares by one Cholesky factorisation, of the primal or of the dual.

    primal   (X'C X + diag(1, 0)) (w, θ) = X'C y − (0, d),  X = (F, B)      r + m unknowns
    dual     (K + C⁻¹) β + B θ = y,  B'β = d                               n + m unknowns

with C = diag(c). The primal costs n r² + r³/3 multiplications, the dual n² r + n³/3 and, for a
kernel without features, n³/3; the cheaper is taken. One step of refinement keeps the figures.

Source: Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from kernelqp.columns import dense, side_by_side, weighted_rows
from kernelqp.solvers.interior import Dense, Solver

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.gram import Gram
    from kernelqp.risk import Function, RegularizedRisk


def least_squares(risk: RegularizedRisk) -> tuple[Vector, Function, Vector, str]:
    """Return (β, f, θ) of a risk with half squares, and what was factorised.

    Examples
    --------
    >>> import kernelqp as kq
    >>> gram = kq.Gram.from_factor([[0.0], [1.0], [3.0], [4.0]])
    >>> y, loss = np.array([1.0, 2.0, 2.0, 4.0]), kq.losses.HalfSquared()
    >>> risk = kq.RegularizedRisk(gram, y, 1.0, loss, "none")
    >>> beta, f, theta, how = least_squares(risk)
    >>> f.weights.round(6), how
    (array([0.888889]), 'Cholesky, primal 1 x 1')
    """
    factor, columns = risk.gram.factor, risk.offset.price.size
    if factor is not None and primal_cost(risk.gram) <= dual_cost(risk.gram):
        u = _primal(side_by_side(factor, risk.offset.basis), risk)
        rank = factor.shape[1]
        function, theta = risk.function(weights=u[:rank]), u[rank:]
        beta = risk.costs * (risk.targets - risk.predictions(function, theta))
        size = rank + columns
        return beta, function, theta, f"Cholesky, primal {size} x {size}"
    beta, theta = _dual(risk)
    return beta, risk.function(beta), theta, f"Cholesky, dual {risk.n} x {risk.n}"


def primal_cost(gram: Gram) -> float:
    """Return the multiplications of the primal, infinite without features."""
    if gram.factor is None:
        return float("inf")
    n, r = gram.factor.shape
    return float(n * r**2 + r**3 / 3.0)


def dual_cost(gram: Gram) -> float:
    """Return the multiplications of the dual: K, where it is not there yet, and its factor."""
    n, rank = gram.n, 0 if gram.factor is None else gram.factor.shape[1]
    return float(n) ** 2 * rank + float(n) ** 3 / 3.0


def _primal(design: Matrix, risk: RegularizedRisk) -> Vector:
    """Solve the normal equations; by the stacked least squares where they are singular."""
    columns = risk.offset.price.size
    penalty = np.r_[np.ones(design.shape[1] - columns), np.zeros(columns)]
    price = np.r_[np.zeros(penalty.size - columns), risk.offset.price]
    weighted = weighted_rows(design, risk.costs)
    normal = dense(design.T @ weighted)
    normal[np.diag_indices(penalty.size)] += penalty

    def gradient(u: Vector) -> Vector:
        return np.asarray(weighted.T @ (risk.targets - design @ u) - penalty * u - price)

    try:
        factor = scipy.linalg.cho_factor(normal, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        root = np.sqrt(risk.costs)
        stacked = np.vstack([dense(weighted_rows(design, root)), np.diag(penalty)])
        right = np.r_[risk.targets * root, np.zeros(penalty.size)]
        return np.asarray(scipy.linalg.lstsq(stacked, right)[0])
    u = np.zeros(penalty.size)
    for _ in range(2):
        u = u + scipy.linalg.cho_solve(factor, gradient(u), check_finite=False)
    return u


def _dual(risk: RegularizedRisk) -> tuple[Vector, Vector]:
    """Solve the bordered system of the dual; where K + C⁻¹ is singular to rounding, least norm."""
    system = Dense(risk.gram.dense_matrix(), risk.offset.basis, risk.offset.price)
    ridge = 1.0 / risk.costs
    try:
        solve = system.solver(ridge)
    except scipy.linalg.LinAlgError:
        solve = _least_norm(system, ridge)
    beta, theta = np.zeros(risk.n), np.zeros(risk.offset.price.size)
    for _ in range(2):
        left = risk.targets - system.predictions(beta, theta) - ridge * beta
        dbeta, dtheta = solve(left, system.residual(beta, theta))
        beta, theta = beta + dbeta, theta + dtheta
    return beta, theta


def _least_norm(system: Dense, ridge: Vector) -> Solver:
    """Return the solver of the bordered system by its singular values."""
    n, m = system.basis.shape
    whole = np.block(
        [[system.matrix + np.diag(ridge), system.basis], [system.basis.T, np.zeros((m, m))]]
    )
    inverse = scipy.linalg.pinvh(whole)

    def solve(left: Vector, residual: Vector) -> tuple[Vector, Vector]:
        found = inverse @ np.r_[left, -residual]
        return found[:n], found[n:]

    return solve
