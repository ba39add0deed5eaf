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
from kernelqp.solvers.watch import HaltedError, Watch
from kernelqp.threads import ONE_THREAD

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.losses import Loss
    from kernelqp.risk import Function, RegularizedRisk

NATIVE = "NATIVE"


def takes(risk: RegularizedRisk) -> bool:
    """Whether one of our own solvers takes the loss."""
    if isinstance(risk.loss, HalfSquared) or _bends_boundedly(risk.loss):
        return True
    return risk.row is not None and risk.row.ends


def native(
    risk: RegularizedRisk, watch: Watch | None = None, near: Vector | None = None
) -> tuple[Vector, Function | None, Vector | None, str]:
    """Return (β, f, θ) of a risk and who found them; f is None where β holds it.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    watch : Watch, optional
        May end the run: then β is the best met, and θ None.
    near : Vector, shape (n,), optional
        A β in the box whose sets may be those of the optimum, for a loss with a kernel QP.

    Raises
    ------
    SolverFailed
        If the loss has no kernel QP, and no bounded second derivative either.
    """
    if not takes(risk):
        raise SolverFailed(
            f"the native solver takes losses with a kernel QP, or with a bounded second "
            f"derivative for Newton's method; {risk.loss!r} has neither: use solver='auto'"
        )
    watch = watch or Watch()
    try:
        if isinstance(risk.loss, HalfSquared):
            return least_squares(risk)
        if _bends_boundedly(risk.loss):
            return newton(risk, watch)
        return _kernel_qp(risk, watch, near)
    except HaltedError as reason:
        beta = np.zeros(risk.n) if watch.best is None else watch.best
        return beta, None, None, f"native, stopped early: {reason}"


def _kernel_qp(
    risk: RegularizedRisk, watch: Watch, near: Vector | None
) -> tuple[Vector, Function | None, Vector, str]:
    """Solve by sets where K is dense; by the interior point method else, or where they fail."""
    row = risk.row
    assert row is not None  # as the loss is taken
    dense = risk.gram.factor is None or risk.gram.factor.shape[1] > risk.n
    qp = KernelQP.of(risk, watch) if dense else None
    with ONE_THREAD:  # steps are short: threads that have to be woken hold them up
        settled = None if qp is None else active_set(qp, near)
    if qp is not None and settled is not None:
        return settled[0], None, qp.offset(*settled), "active set"
    if qp is not None and not qp.kernel.fits:  # the interior point method needs all of K
        watch.halt("memory has no room for all of K")
    beta, theta, weights = interior_point(
        risk.gram, row, risk.offset.basis, risk.offset.price, watch
    )
    if qp is not None:
        with ONE_THREAD:
            settled = settle_near(qp, beta, theta - qp.offset(beta, 0.0 * theta))
        if settled is not None:
            return settled[0], None, qp.offset(*settled), "interior point, active set"
    function = None if weights is None else risk.function(weights=weights)
    return beta, function, theta, "interior point"


def looks(risk: RegularizedRisk) -> bool:
    """Whether the solver of a risk looks at its watch: one that is direct cannot end early."""
    return not isinstance(risk.loss, HalfSquared)


def _bends_boundedly(loss: Loss) -> bool:
    """Whether Newton's model of the loss holds: below q = 2 a hinge's power bends without bound."""
    return isinstance(loss, Logistic) or (isinstance(loss, PowerHinge) and loss.q >= 2)
