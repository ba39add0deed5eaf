"""The missing dual of a piecewise linear-quadratic loss: a small kernel QP near the kinks.

Exact slopes at a primal point give a useless bound: a row near a kink has a multiplier anywhere in
its interval. The rows outside the band |p − kink| <= e keep their slope, the rest are a kernel QP:

    maximise  (q − K β_out)'b − ε'|b| − 1/2 b'(K + ridge) b
    subject to  lower <= b <= upper,  B'b = d − B'β_out
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np

from kernelqp.errors import SolverFailed
from kernelqp.fenchel import constant
from kernelqp.gram import Gram
from kernelqp.repair import domain_of, repair_dual
from kernelqp.solvers.cvxpy import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Indices, Mask, Vector
    from kernelqp.losses import Row
    from kernelqp.risk import Function, RegularizedRisk

WIDTHS = (1e-2, 1e-1, 1.0, math.inf)  # in units of a margin, or of the targets' size
DENSE, THIN = 1500, 30_000  # rows of a band that are solved, without and with a thin factor


def band_duals(
    risk: RegularizedRisk, function: Function, theta: Vector, unit: float
) -> Iterator[Function]:
    """Yield feasible dual points from wider and wider bands; none for a smooth loss."""
    row = risk.loss.row(risk.targets, risk.costs)
    if row is None:
        return
    p = risk.predictions(function, theta)
    most = THIN if risk.gram.factor is not None and risk.gram.factor.shape[1] <= 200 else DENSE
    for width in WIDTHS:
        low, high = _slopes(risk, p, width * unit if math.isfinite(width) else 0.0)
        inside = (low < high) if math.isfinite(width) else np.ones(risk.n, dtype=bool)
        if not inside.any():
            continue
        if inside.sum() > most:
            return
        fixed = np.clip(-risk.costs * 0.5 * (low + high), *domain_of(risk))
        beta = _solve_band(risk, row, fixed, inside)
        if beta is not None:
            yield repair_dual(risk, risk.function(beta), theta)


def _slopes(risk: RegularizedRisk, p: Vector, width: float) -> tuple[Vector, Vector]:
    """Return the least and the greatest slope within ``width`` of p."""
    low = risk.loss.slopes(risk.targets, p - width)[0]
    high = risk.loss.slopes(risk.targets, p + width)[1]
    return np.asarray(low), np.asarray(high)


def _solve_band(risk: RegularizedRisk, row: Row, fixed: Vector, inside: Mask) -> Vector | None:
    """Return β with the rows inside solved for; None where the solver finds nothing."""
    rows, outside = np.flatnonzero(inside), np.where(inside, 0.0, fixed)
    pulled = row.q - risk.gram.matvec(outside)
    unit, gram = float(risk.costs.mean()), _rows_of(risk.gram, rows)
    v = cp.Variable(rows.size, name="v")  # β = unit v
    norm2 = (
        cp.sum_squares(constant(np.sqrt(unit) * gram.factor.T) @ v)
        if gram.factor is not None
        else cp.quad_form(v, cp.psd_wrap(unit * gram.dense_matrix()))
    )
    gain = pulled[rows] @ v - row.eps[rows] @ cp.abs(v) - 0.5 * norm2
    if row.ridge.any():
        gain = gain - 0.5 * unit * (row.ridge[rows] @ cp.square(v))
    low, high = row.lower[rows] / unit, row.upper[rows] / unit
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    constraints = [v[below] >= low[below]] if below.size else []
    constraints += [v[above] <= high[above]] if above.size else []
    basis = risk.offset.basis
    if basis.shape[1]:
        left = (risk.offset.price - basis.T @ outside) / unit
        constraints.append(basis[rows].T @ v == left)
    problem = cp.Problem(cp.Maximize(gain), constraints)
    try:
        run(problem, "CLARABEL", 1e-9, {})
    except SolverFailed:
        return None
    if v.value is None or not np.isfinite(v.value).all():
        return None
    beta = outside.copy()
    beta[rows] = unit * v.value
    return beta


def _rows_of(gram: Gram, rows: Indices) -> Gram:
    if gram.factor is not None:
        return Gram.from_factor(gram.factor[rows])
    return Gram.dense(gram.submatrix(rows), psd=True)
