"""The missing dual of a piecewise linear-quadratic loss: a kernel QP, near the kinks or whole.

Exact slopes at a primal point give a useless bound: a row near a kink has a multiplier anywhere in
its interval. The rows outside the band |p − kink| <= e keep their slope, the rest are a kernel QP:

    maximise  (q − K β_out)'b − ε'|b| − 1/2 b'(K + ridge) b
    subject to  lower <= b <= upper,  B'b = d − B'β_out

Where features make the whole problem cheap there is no band to choose.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.gram import Gram
from kernelqp.repair import domain_of, repair_dual
from kernelqp.solvers.interior import interior_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Indices, Mask, Vector
    from kernelqp.losses import Row
    from kernelqp.risk import Function, RegularizedRisk

WIDTHS = (1e-2, 1e-1, 1.0, math.inf)  # in units of a margin, or of the targets' size
CHEAP = 1e11  # multiplications of one interior-point solve that are spent, some seconds
STEPS = 20  # of an interior-point solve


def band_duals(
    risk: RegularizedRisk, function: Function, theta: Vector, unit: float, target: float
) -> Iterator[tuple[Function, Function, Vector]]:
    """Yield a feasible dual point and (f, θ) from wider and wider bands; none without boxes.

    Each is solved to ``target`` of its objective.
    """
    row = risk.row
    if row is None or not row.ends:
        return
    p = risk.predictions(function, theta)
    whole = is_cheap(risk)
    for width in (math.inf,) if whole else WIDTHS:
        low, high = _slopes(risk, p, width * unit if math.isfinite(width) else 0.0)
        inside = (low < high) if math.isfinite(width) else np.ones(risk.n, dtype=bool)
        if not inside.any():
            continue
        if solve_cost(risk.gram, int(inside.sum())) > CHEAP:
            return
        fixed = np.clip(-risk.costs * 0.5 * (low + high), *domain_of(risk))
        beta, found, weights = _solve_band(risk, row, fixed, inside, target, function.weights)
        raw = risk.function(
            beta
        )  # unrepaired: at a large C a repair costs its f more than it gains
        known = weights is not None and inside.all()
        reached = risk.function(weights=weights) if known else raw
        yield repair_dual(risk, raw, found), reached, found


def is_cheap(risk: RegularizedRisk) -> bool:
    """Whether features make the whole kernel QP cheap."""
    return risk.gram.factor is not None and solve_cost(risk.gram, risk.n) <= CHEAP


def solve_cost(gram: Gram, n: int) -> float:
    """Return the multiplications of a solve on n rows: n r² a step, or K and n³/3 a step."""
    rows, rank = float(n), None if gram.factor is None else float(gram.factor.shape[1])
    if rank is not None and rank <= n:
        return STEPS * rows * rank * rank
    return rows * rows * ((rank or 0.0) + STEPS * rows / 3.0)


def _slopes(risk: RegularizedRisk, p: Vector, width: float) -> tuple[Vector, Vector]:
    """Return the least and the greatest slope within ``width`` of p."""
    low = risk.loss.slopes(risk.targets, p - width)[0]
    high = risk.loss.slopes(risk.targets, p + width)[1]
    return np.asarray(low), np.asarray(high)


def _solve_band(
    risk: RegularizedRisk,
    row: Row,
    fixed: Vector,
    inside: Mask,
    target: float,
    start: Vector | None,
) -> tuple[Vector, Vector, Vector | None]:
    """Return β with the rows inside solved for, θ, and the weights if there are any.

    All rows are solved from ``start``, a w, if that is near.
    """
    rows, outside = np.flatnonzero(inside), np.where(inside, 0.0, fixed)
    basis, price = risk.offset.basis, risk.offset.price
    if rows.size == risk.n:
        return interior_point(risk.gram, row, basis, price, target=target, start=start)
    pulled = replace(row, q=row.q - risk.gram.matvec(outside))
    part, theta, _ = interior_point(
        _rows_of(risk.gram, rows),
        pulled.take(rows),
        basis[rows],
        price - basis.T @ outside,
        target=target,
    )
    beta = outside.copy()
    beta[rows] = part
    return beta, theta, None


def _rows_of(gram: Gram, rows: Indices) -> Gram:
    if gram.factor is not None:
        return Gram.of_features(gram.factor[rows])
    return Gram.dense(gram.submatrix(rows), psd=True)
