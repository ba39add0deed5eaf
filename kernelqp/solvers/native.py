"""Our own solvers: which one takes which loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelqp.errors import SolverFailed
from kernelqp.losses import HalfSquared, Logistic, PowerHinge
from kernelqp.solvers.active_set import active_set, settle_near
from kernelqp.solvers.interior import interior_point
from kernelqp.solvers.kernel_qp import KernelQP
from kernelqp.solvers.least_squares import least_squares
from kernelqp.solvers.newton import newton

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.losses import Loss
    from kernelqp.risk import Function, RegularizedRisk

NATIVE = "NATIVE"


def takes(risk: RegularizedRisk) -> bool:
    """Whether one of our own solvers takes the loss."""
    if isinstance(risk.loss, HalfSquared) or _bends_boundedly(risk.loss):
        return True
    row = risk.loss.row(risk.targets, risk.costs)
    return row is not None and bool(
        (np.isfinite(row.lower) | np.isfinite(row.upper) | (row.eps > 0)).all()
    )


def native(risk: RegularizedRisk) -> tuple[Vector, Function | None, Vector, str]:
    """Return (β, f, θ) of a risk and who found them; f is None where β holds it.

    Raises
    ------
    SolverFailed
        If the loss has no kernel QP, and no bounded second derivative either.
    """
    if isinstance(risk.loss, HalfSquared):
        return least_squares(risk)
    if _bends_boundedly(risk.loss):
        return newton(risk)
    if not takes(risk):
        raise SolverFailed(
            f"the native solver takes losses with a kernel QP, or with a bounded second "
            f"derivative for Newton's method; {risk.loss!r} has neither: use solver='auto'"
        )
    row = risk.loss.row(risk.targets, risk.costs)
    assert row is not None  # as every loss that is taken from here on
    dense = risk.gram.factor is None or risk.gram.factor.shape[1] > risk.n
    qp = KernelQP.of(risk) if dense else None
    settled = None if qp is None else active_set(qp)
    if qp is not None and settled is not None:
        return settled[0], None, qp.offset(*settled), "active set"
    beta, theta, weights = interior_point(risk.gram, row, risk.offset.basis, risk.offset.price)
    if qp is not None:
        settled = settle_near(qp, beta, theta - qp.offset(beta, 0.0 * theta))
        if settled is not None:
            return settled[0], None, qp.offset(*settled), "interior point, active set"
    function = None if weights is None else risk.function(weights=weights)
    return beta, function, theta, "interior point"


def _bends_boundedly(loss: Loss) -> bool:
    """Whether Newton's model of the loss holds: below q = 2 a hinge's power bends without bound."""
    return isinstance(loss, Logistic) or (isinstance(loss, PowerHinge) and loss.q >= 2)
