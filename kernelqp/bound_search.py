"""The missing side of somebody else's answer: which dual points are tried, and when it is enough.

A model holds one side, or a rough version of both. Dual points are made from it, the cheap ones
first, and the best bound of all is kept, with the best primal point met on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelqp.band import band_duals, is_cheap
from kernelqp.certificate import slope_start
from kernelqp.elbow import elbow_solve, solve_as_it_stands
from kernelqp.newton import STEPS, WIDE, is_smooth, newton_primal, slope_dual
from kernelqp.repair import best_offset, lower_bound, repair_dual, repair_primal
from kernelqp.scales import gap_scale, relative_gap, rounding_of_bounds, target_unit
from kernelqp.smoothing import can_be_smoothed, smoothed_dual
from kernelqp.solvers.active_set import from_start, settle_by_factor
from kernelqp.solvers.kernel_qp import KernelQP
from kernelqp.solvers.sets import CLOSE, settle_sets
from kernelqp.solvers.watch import HaltedError, Watch
from kernelqp.threads import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Vector
    from kernelqp.progress import Progress
    from kernelqp.risk import Function, RegularizedRisk

    Point: TypeAlias = tuple[Function, Vector]  # (f, θ)

    # a dual point, its D, and the (f, θ) that belongs to it
    Attempt: TypeAlias = tuple[Function, float, Function | None, Vector]

KNOWN = 1e-2  # of tol: the relative width at which the optimum counts as known
ENOUGH = 1e-6  # of tol: what an interior point solve leaves of its objective
USUAL = 1e-3  # of tol: a larger one makes no coarser solve, whose sets would be another's
LIMIT = 5.0  # seconds after which sets that have not settled are left to the other attempts
CLEAR = 0.5  # of tol: the relative gap, rounding aside, below which a model is converged
SMOOTH = 0.3  # of tol: the error of a smoothed problem
SURE = 0.9  # of tol: the relative gap, rounding included, below which it is


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """P, the dual point of the largest D, that D with its rounding, and the smallest P met.

    ``scale`` is that of the gap; ``above`` the rounding of P, where it has been looked at.
    """

    primal: float
    dual: Function
    lower: float
    noise: float
    scale: float
    best: float
    above: float = 0.0

    @property
    def size(self) -> float:
        """What the gap is compared with."""
        return max(abs(self.primal), abs(self.lower), self.scale)

    @property
    def relative(self) -> float:
        """The relative gap, rounding included."""
        return relative_gap(self.primal, self.lower, self.scale, self.noise + self.above)


@dataclass
class Search:
    """The search for the largest D and the smallest P of one problem after another.

    It ends where the model is clearly converged, or the optimum known. An interrupt (Ctrl-C) ends
    it with the bounds found so far; the problems still to come get their first bound only.
    """

    tol: float
    progress: Progress
    interrupted: bool = False
    gap: float = math.inf  # relative, rounding aside

    def run(
        self, risk: RegularizedRisk, start: Function | None, function: Function, theta: Vector
    ) -> Bounds:
        """Bound the optimum from (f, θ) and, where there is one, a dual point to start from."""
        primal = risk.primal_value(function, theta)
        best, lower, dual, scale, noise = primal, -math.inf, None, 0.0, 0.0
        self.gap = math.inf
        try:
            for other, value, reached, offset in attempts(risk, start, function, theta, self.tol):
                if dual is None or value > lower:  # all at once: an interrupt may come in between
                    known = gap_scale(risk, value), rounding_of_bounds(risk, other)
                    dual, lower, (scale, noise) = other, value, known
                self.gap = relative_gap(primal, lower, scale)
                certain = relative_gap(primal, lower, scale, noise) <= SURE * self.tol
                if certain or self.interrupted or self.gap <= CLEAR * self.tol:
                    break
                for point in _primal_points(risk, reached, offset):
                    best = min(best, risk.primal_value(*point))
                    if self._is_told(primal, lower, best, scale):
                        return Bounds(primal, dual, lower, noise, scale, best)
                self.progress.say(f"relative gap at most {self.gap:.1e}")
        except KeyboardInterrupt:
            self.interrupted = True
            if dual is None:
                raise
        assert dual is not None  # there is always a first attempt
        return Bounds(primal, dual, lower, noise, scale, best)

    def _is_told(self, primal: float, lower: float, best: float, scale: float) -> bool:
        """Whether the optimum is known, and with it on which side of tol the model is."""
        known = relative_gap(best, lower, scale) <= KNOWN * self.tol
        apart = primal - best > self.tol * max(abs(primal), abs(lower), scale)
        return known and (apart or self.gap <= self.tol)


def _primal_points(
    risk: RegularizedRisk, function: Function | None, theta: Vector
) -> Iterator[tuple[Function, Vector]]:
    """Yield (f, θ) as it is; an f_β repaired too, which costs more and has no primal behind it."""
    if function is not None:
        yield function, theta
        if function.weights is None:
            yield repair_primal(risk, function, best_offset(risk, function, theta))


def attempts(
    risk: RegularizedRisk, start: Function | None, function: Function, theta: Vector, tol: float
) -> Iterator[Attempt]:
    """Yield a dual point, its D and the (f, θ) that belongs to it, the cheap ones first.

    ``start`` None is the β of the slopes at (f, θ).

    The candidate's own, and Newton's for a smooth loss; then what there is to do for a model of
    features, or of a kernel; and kernel QPs near kinks, with the linear systems of what they find.
    """
    features = function.weights is not None
    if features and is_smooth(risk):
        yield from _by_newton(risk, function, theta)
    start = slope_start(risk, function, theta) if start is None else start
    given, repaired = _attempt(risk, start, None, theta), None
    if math.isfinite(given[1]):  # it needs no repair to be a bound
        yield given
    else:
        repaired = repair_dual(risk, start, theta)
        yield _attempt(risk, repaired, None, theta)
    if features:
        yield from _of_features(risk, start, repaired, (function, theta), tol)
    else:
        yield from _of_kernel(risk, start, repaired, (function, theta), tol)


def _of_features(
    risk: RegularizedRisk, start: Function, repaired: Function | None, point: Point, tol: float
) -> Iterator[Attempt]:
    """Yield what slopes give: near a smoothed optimum; else repaired, and by their sets.

    They have no f of their own that is worth a look, and one solve tells whether their sets are
    those of the optimum.
    """
    (_, theta), smoothed = point, False
    if is_cheap(risk) and can_be_smoothed(risk):
        for dual, function, offset in _by_smoothing(risk, *point, tol):
            point, smoothed = (function, offset), True
            yield _attempt(risk, dual, *point)
    if not smoothed:
        repaired = repaired or repair_dual(risk, start, theta)
        yield _attempt(risk, repaired, None, theta)
        if not is_cheap(risk):
            yield _settled(risk, repaired, theta)
        elif risk.row is not None and risk.row.ends:
            found, offset = solve_as_it_stands(risk, risk.row, start, theta)
            yield _attempt(risk, found, None, offset)
    yield from _by_bands(risk, *point, tol)


def _of_kernel(
    risk: RegularizedRisk, start: Function, repaired: Function | None, point: Point, tol: float
) -> Iterator[Attempt]:
    """Yield what a β gives: the optimum that sets near its own settle at; repaired; by its sets.

    Of a smooth loss what Newton's method gives from its w first, where the kernel has features and
    no more than a Hessian is formed of.
    """
    if _settles(risk):
        yield from _by_sets(risk, start.coefficients)
    factor = risk.gram.factor
    if factor is not None and factor.shape[1] <= WIDE and is_smooth(risk):
        weights = risk.gram.weights(start.coefficients)
        yield from _by_newton(risk, risk.function(weights=weights), point[1])
    repaired = repaired or repair_dual(risk, start, point[1])
    yield _attempt(risk, repaired, repaired, point[1])
    yield _settled(risk, repaired, point[1])
    yield from _by_bands(risk, *point, tol)


def _by_bands(
    risk: RegularizedRisk, function: Function, theta: Vector, tol: float
) -> Iterator[Attempt]:
    """Yield the kernel QPs near kinks, and the linear systems of what they find."""
    target = ENOUGH * min(tol, USUAL)
    for found, reached, offset in band_duals(risk, function, theta, target_unit(risk), target):
        yield _attempt(risk, found, reached, offset)
        yield _settled(risk, found, offset)


def _by_newton(risk: RegularizedRisk, function: Function, theta: Vector) -> Iterator[Attempt]:
    """Yield the slopes at (f, θ), after one step of Newton's, and at its end."""
    yield _attempt(risk, slope_dual(risk, function, theta), None, theta)
    for steps in (1, STEPS):  # one is enough for a model that is nearly there
        function, theta = newton_primal(risk, function, theta, steps)
        reached = function if steps > 1 else None
        yield _attempt(risk, slope_dual(risk, function, theta), reached, theta)


def _by_smoothing(
    risk: RegularizedRisk, function: Function, theta: Vector, tol: float
) -> Iterator[tuple[Function, Function, Vector]]:
    """Yield (f_β, f, θ) that show that a model is converged, then that it is not; none far off."""
    for part in (1.0, KNOWN):
        error = part * SMOOTH * tol * risk.primal_value(function, theta)
        found = smoothed_dual(risk, function, theta, error)
        if found is None:
            return
        yield found
        _, function, theta = found


def _attempt(
    risk: RegularizedRisk, dual: Function, function: Function | None, theta: Vector
) -> Attempt:
    return dual, lower_bound(risk, dual), function, theta


def _settles(risk: RegularizedRisk) -> bool:
    """Whether this is a kernel without features, whose rows have ends to settle at."""
    return risk.gram.factor is None and risk.row is not None and risk.row.ends


def _by_sets(risk: RegularizedRisk, beta: Vector) -> Iterator[Attempt]:
    """Yield the optimum that sets near those of β settle at, if they do, by the kernel QP.

    Else what a thin factor of K finds, or a start of our own; where K does not fit not at all. Sets
    of a singular kernel may go on without an end, which ``LIMIT`` is.
    """
    qp = KernelQP.of(risk, Watch(LIMIT))
    if qp is None:  # its offset is none of a kernel QP's
        return
    near = np.clip(beta, qp.row.lower, qp.row.upper)
    try:
        with ONE_THREAD:
            settled = settle_sets(qp, qp.at(near), CLOSE) or settle_by_factor(qp)
            if settled is None and qp.kernel.fits:
                settled = from_start(qp)
    except HaltedError:
        return
    if settled is not None:
        found = risk.function(settled[0])
        yield _attempt(risk, found, found, qp.offset(*settled))


def _settled(risk: RegularizedRisk, dual: Function, theta: Vector) -> Attempt:
    """Return what the linear system of a dual point's sets gives."""
    found, offset = elbow_solve(risk, dual, theta)
    return _attempt(risk, found, found, offset)
