"""Where a gap comes from, before any repair: P − D is a sum of terms that are 0 at the optimum.

    stationarity      1/2 ‖f − f_β‖²
    complementarity   Σ c_i FY_i,  FY the Fenchel-Young residual at β moved onto its domain
    domain            Σ dist(β_i, its domain) max(1, |1 − z_i|)
    balance           Σ |B'β − d| max(1, |θ|)

Source: Rifkin & Lippert (2007), Value regularization and Fenchel duality, JMLR 8, 441-479.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelqp.repair import domain_of, imbalance, unit_of_predictions

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import Function, RegularizedRisk


def blame(
    risk: RegularizedRisk, dual: Function, function: Function, theta: Vector
) -> tuple[float, Vector, float, float]:
    """Return stationarity, complementarity by row, domain and balance, before any repair."""
    low, high = domain_of(risk)
    beta = dual.coefficients
    inside = np.minimum(np.maximum(beta, low), high)
    p = risk.predictions(function, theta)
    unit = unit_of_predictions(risk)
    miss = np.abs(p if risk.homogeneous else risk.targets - p)  # |1 − z| for targets ±1
    domain = float(np.abs(beta - inside) @ np.maximum(unit, miss))
    off = np.abs(imbalance(risk, beta))
    balance = float(off @ np.maximum(unit, np.abs(theta)))
    return (
        0.5 * risk.distance2(function, dual),
        complementarity_by_row(risk, inside, p),
        domain,
        balance,
    )


def complementarity_by_row(risk: RegularizedRisk, beta: Vector, p: Vector) -> Vector:
    """Return c_i FY_i; a violated hard margin costs the typical multiplier per unit of margin."""
    if risk.loss.hard:
        z, size = risk.targets * p, np.abs(beta)
        return np.asarray(size * np.abs(z - 1) + size.mean() * np.maximum(1 - z, 0))
    low, high = risk.slopes
    g = np.minimum(np.maximum(-beta / risk.costs, low), high)
    return np.asarray(risk.costs * risk.loss.residual(risk.targets, p, g))
