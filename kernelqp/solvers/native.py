"""Our own solvers: which one takes which loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelqp.errors import SolverFailed
from kernelqp.losses import HalfSquared
from kernelqp.solvers.interior import interior_point
from kernelqp.solvers.least_squares import least_squares

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import Function, RegularizedRisk

NATIVE = "NATIVE"


def native(risk: RegularizedRisk) -> tuple[Vector, Function | None, Vector, str]:
    """Return (β, f, θ) of a risk and who found them; f is None where β holds it.

    Raises
    ------
    SolverFailed
        If the loss has no kernel QP.
    """
    if isinstance(risk.loss, HalfSquared):
        return least_squares(risk)
    row = risk.loss.row(risk.targets, risk.costs)
    if row is None or not (np.isfinite(row.lower) | np.isfinite(row.upper) | (row.eps > 0)).all():
        raise SolverFailed(
            f"the native solver takes losses with a kernel QP; {type(risk.loss).__name__} has none "
            f"with bounds: use solver='auto'"
        )
    beta, theta, weights = interior_point(risk.gram, row, risk.offset.basis, risk.offset.price)
    function = None if weights is None else risk.function(weights=weights)
    return beta, function, theta, "interior point"
