"""The judge: how good a candidate is, from numbers alone.

    candidate (β from multipliers, f from variables, θ)  →  feasible points  →  D <= optimum <= P

The certificate never evaluates a cvxpy expression and never reads a solver's status: a wrong model
or a wrong solver cannot certify itself. The blame is taken before any repair, in four terms: see
``kernelqp.blame``. Where rounding is all that is left to prove, P and D are taken again from
products in twice the figures.

Source: Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.1; Rifkin & Lippert (2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.blame import blame
from kernelqp.elbow import elbow_solve
from kernelqp.errors import InputError
from kernelqp.repair import (
    EPS,
    best_offset,
    domain_of,
    feasible_intercepts,
    lower_bound,
    midway,
    repair_dual,
    repair_primal,
)
from kernelqp.scales import (
    gap_scale,
    imbalance_at_price,
    relative_gap,
    rounding_of_bounds,
    rounding_of_primal,
    target_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Vector
    from kernelqp.risk import Function, RegularizedRisk

EXACT = 4e-15  # relative gap of an answer that is taken as it stands: its sets are settled
POLISHED = 1e-15  # a point is off by the square root of its gap: short of rounding, polish it
NEAR = 1e-3  # an answer off by more than this is another answer, not a rough version of this one
BAND = 1e-3  # in units of a margin: rows this near to a kink have a multiplier left open
TERMS = ("stationarity", "complementarity", "domain", "balance")


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """What a solver, or anybody, claims: nothing here has been checked.

    ``beta`` (n,) are the dual coefficients β = −u (not g: β / −c can leave the domain by one
    rounding), ``function`` is the primal f, ``theta`` (m,) the offsets. What was not given is None.
    """

    beta: Vector | None = None
    function: Function | None = None
    theta: Vector | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Certificate:
    """A two-sided bound on the optimum and where the gap comes from; values in the method's unit.

    Attributes
    ----------
    primal_value, dual_value : float
        P and D at the repaired, feasible points: D <= optimum <= P.
    gap, relative_gap : float
        P − D; and |P − D| + rounding over max(|P|, |D|, min(P at f = 0, s²/mean K_ii)), 0/0 is 0.
    tol : float
        What ``relative_gap`` was compared with.
    stationarity, domain, balance : float
        The blame of the candidate before its repair, in the unit of the objective.
    complementarity : Vector, shape (n,)
        The same, row by row of the caller's data.
    repair : float
        How far the reported side was moved: ‖f_repaired − f‖.
    rounding : float
        What evaluating P − D may have lost, as sums of n terms lose it on the average; less where
        products in twice the figures were needed, and K is stored. Its entries are taken as given.
    certified : bool
        relative_gap <= tol, and gap >= −rounding: below that K is not PSD, or figures are lost.
    """

    primal_value: float
    dual_value: float
    gap: float
    relative_gap: float
    tol: float
    stationarity: float
    complementarity: Vector
    domain: float
    balance: float
    repair: float
    rounding: float
    certified: bool

    def scaled(self, scale: float) -> Certificate:
        """Return the same in another unit of the objective, ``scale`` > 0 of it to one of this."""
        if scale == 1.0:
            return self
        named = ("primal_value", "dual_value", "gap", "stationarity", "complementarity")
        values = {name: scale * getattr(self, name) for name in (*named, "domain", "balance")}
        return replace(self, **values, rounding=scale * self.rounding)

    @property
    def blame(self) -> str:
        """The name of the largest of the four terms."""
        terms = (self.stationarity, float(self.complementarity.sum()), self.domain, self.balance)
        return TERMS[int(np.argmax(terms))]

    def __str__(self) -> str:
        word = "certified" if self.certified else "not certified"
        lost = not self.certified and self.rounding > abs(self.gap)
        known = f", both known to {self.rounding:.1e} only" if lost else ""
        return (
            f"{word}: {self.dual_value:.10g} <= optimum <= {self.primal_value:.10g}{known}, "
            f"relative gap {self.relative_gap:.1e} (tol {self.tol:.0e}), "
            f"largest term {self.blame}"
        )


@dataclass(frozen=True, eq=False, slots=True)
class Verdict:
    """The certificate with the feasible points it speaks of, in the risk's rows."""

    certificate: Certificate
    dual: Function
    function: Function
    theta: Vector


def certify_candidate(
    risk: RegularizedRisk, candidate: Candidate, side: str, tol: float, near: float = NEAR
) -> Verdict:
    """Repair a candidate, bound the optimum from both sides, and say where the gap comes from.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem, centred where its intercept is free.
    candidate : Candidate
        At least one of β and f.
    side : str
        "primal" or "dual": the side whose repaired point is reported.
    tol : float
        The relative gap that is good enough.
    near : float
        The relative gap up to which an elbow solve counts as a repair of the candidate: from
        farther off it would be another answer, not this one.
    """
    dual0, function0, theta0 = complete(risk, candidate)
    terms, lower = blame(risk, dual0, function0, theta0), lower_bound(risk, dual0)
    scale = gap_scale(risk, lower)
    first = None
    if math.isfinite(lower) and _at_ends_exactly(risk, dual0.coefficients):
        for point in _nearly_as_it_came(risk, side, dual0, function0, theta0, lower):
            noise = _rounding(risk, point)
            if _is_nothing(point.primal, point.dual, scale, noise):
                first = _judged(risk, point, noise, terms, function0, tol, scale)
                break
    if first is not None:
        known = first.certificate
        ends = known.primal_value, known.dual_value
        if known.certified or _is_nothing(*ends, scale, known.rounding):
            return first  # there is nothing to repair
    point = _report(risk, side, repair_dual(risk, dual0, theta0), function0, theta0)
    if POLISHED < relative_gap(point.primal, point.dual, scale) <= near:
        dual, theta = elbow_solve(risk, point.at, point.theta)
        point = _better(point, _report(risk, side, dual, function0, theta))
        if side == "primal":
            solved = _written_like(risk, function0, dual)
            point = _better(point, _report(risk, side, dual, solved, theta))
    last = _judged(risk, point, _rounding(risk, point), terms, function0, tol, scale)
    if first is None or last.certificate.relative_gap < first.certificate.relative_gap:
        return last
    return first


def _is_nothing(primal: float, dual: float, scale: float, noise: float) -> bool:
    """Whether a gap is no more than what is left of settled sets, or rounding."""
    return abs(primal - dual) <= max(EXACT * max(abs(dual), scale), noise)


def _exact(risk: RegularizedRisk, point: _Point) -> _Point | None:
    """Return the point with P and D of exact products; None where f or f_β has none.

    Not for a hard margin, which has to be met by the f that is shown.
    """
    function = point.function
    if risk.loss.hard or function.beta is None or function.by_values:
        return None
    dual = risk.function(point.at.coefficients, exactly=True)
    function = dual if function is point.at else risk.function(function.beta, exactly=True)
    if not (dual.exact and function.exact):
        return None
    theta = offset_at(risk, function, point.theta)
    return _Point(dual, function, theta, risk.primal_value(function, theta), risk.dual_value(dual))


def _nearly_as_it_came(
    risk: RegularizedRisk,
    side: str,
    dual: Function,
    function: Function,
    theta: Vector,
    lower: float,
) -> Iterator[_Point]:
    """Yield the reported point with its own θ, and with the best one; ``lower`` is D."""
    shown = function if side == "primal" else dual
    yield _Point(dual, shown, theta, risk.primal_value(shown, theta), lower)
    yield _report(risk, side, dual, function, theta)


def _at_ends_exactly(risk: RegularizedRisk, beta: Vector) -> bool:
    """Whether no β_i is at an end of its domain, or at 0, but for rounding."""
    low, high = domain_of(risk)
    away = np.minimum(np.minimum(beta - low, high - beta), np.abs(beta))
    return not ((away > 0) & (away < 1e-10 * risk.costs)).any()


def certify_as_it_stands(
    risk: RegularizedRisk, function: Function, dual: Function, tol: float
) -> Verdict:
    """Judge an f that nothing is done to, by a feasible dual point that may come from elsewhere.

    For problems without an offset. The blame is that of f itself where it is written in a β.
    """
    theta = np.zeros(risk.offset.price.size)
    terms = blame(risk, dual if function.beta is None else function, function, theta)
    primal, lower = risk.primal_value(function, theta), lower_bound(risk, dual)
    point = _Point(dual, function, theta, primal, lower)
    noise = _rounding(risk, point)
    return _judged(risk, point, noise, terms, function, tol, gap_scale(risk, lower))


def _judged(
    risk: RegularizedRisk,
    point: _Point,
    noise: float,
    terms: tuple[float, Vector, float, float],
    given: Function,
    tol: float,
    scale: float,
) -> Verdict:
    """Return the certificate of a point with its P and D, known to ``noise``.

    Where rounding is why they prove too little, they are taken again from exact products; of a
    kernel that is not stored the rounding is looked at more closely.
    """
    gap = point.primal - point.dual
    relative = relative_gap(point.primal, point.dual, scale, noise)
    if relative > tol:
        lost = abs(gap) <= noise or relative_gap(point.primal, point.dual, scale) <= tol
        if lost:
            point = _exact(risk, point) or point
            noise, gap = _rounding(risk, point, closely=True), point.primal - point.dual
            relative = relative_gap(point.primal, point.dual, scale, noise)
    certificate = Certificate(
        primal_value=point.primal,
        dual_value=point.dual,
        gap=gap,
        relative_gap=relative,
        tol=tol,
        stationarity=terms[0],
        complementarity=terms[1],
        domain=terms[2],
        balance=terms[3],
        repair=_distance(risk, given, point.function),
        rounding=noise,
        certified=relative <= tol and gap >= -noise,
    )
    return Verdict(certificate, point.at, point.function, point.theta)


def _rounding(risk: RegularizedRisk, point: _Point, *, closely: bool = False) -> float:
    """Return what P − D is known to, with what rounding leaves of B'β − d at its price θ."""
    beta = point.at.coefficients
    left = imbalance_at_price(risk, point.at, point.theta)
    sums = rounding_of_primal(risk, point.primal, point.function, point.theta, beta)
    return rounding_of_bounds(risk, point.at, closely=closely) + sums + left


def complete(risk: RegularizedRisk, candidate: Candidate) -> tuple[Function, Function, Vector]:
    """Return (f_β, f, θ) of a candidate; what it does not say follows from what it says."""
    dual, function, theta = as_it_came(risk, candidate)
    return dual or slope_start(risk, function, theta), function, theta


def as_it_came(
    risk: RegularizedRisk, candidate: Candidate
) -> tuple[Function | None, Function, Vector]:
    """Return (f_β, f, θ) of a candidate; f_β is None where it says nothing of a β."""
    beta, function, theta = candidate.beta, candidate.function, candidate.theta
    dual = None if beta is None else risk.function(_finite(beta))
    function = dual if function is None else function
    if function is None:
        raise InputError("a candidate needs beta or a function; got neither")
    if theta is None:
        theta = offset_at(risk, function, np.zeros(risk.offset.price.size))
    return dual, function, _finite(theta)


def _finite(values: Vector) -> Vector:
    """Return numbers with 0 for those that are none."""
    return values if np.isfinite(values).all() else np.nan_to_num(values)


def slope_start(risk: RegularizedRisk, function: Function, theta: Vector) -> Function:
    """Return f_β of the β that the slopes at (f, θ) give."""
    return risk.function(dual_from_primal(risk, function, theta))


def dual_from_primal(risk: RegularizedRisk, function: Function, theta: Vector) -> Vector:
    """Return β = −c ℓ'(p): the middle of the slopes near p, so that rows at a kink stay free."""
    low, high = domain_of(risk)
    if function.beta is not None:
        return np.asarray(np.clip(function.beta, low, high))
    p = risk.predictions(function, theta)
    if risk.loss.hard:
        z = risk.targets * p
        near = (z <= z.min() + BAND) / max(risk.gram.mean_diagonal, EPS)
        return np.asarray(risk.targets * near)
    band = BAND * target_unit(risk)
    steepest = risk.loss.slopes(risk.targets, p + band)[1]
    flattest = risk.loss.slopes(risk.targets, p - band)[0]
    return np.minimum(np.maximum(-0.5 * risk.costs * (steepest + flattest), low), high)


def offset_at(risk: RegularizedRisk, function: Function, theta: Vector) -> Vector:
    """Return the best θ for f as it stands; for a hard margin, midway between the classes."""
    if not risk.loss.hard:
        return best_offset(risk, function, theta)
    if not risk.offset.is_intercept:
        return theta
    return np.array([midway(*feasible_intercepts(risk.targets, function.values))])


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """A reported point, the dual point ``at`` which D was taken, and the two bounds."""

    at: Function
    function: Function
    theta: Vector
    primal: float
    dual: float


def _report(
    risk: RegularizedRisk, side: str, dual: Function, function: Function, theta: Vector
) -> _Point:
    """Return the repaired point of one side with P and D.

    A dual reports β, and f_β repaired as a primal is: P is the objective of what is shown.
    """
    lower = lower_bound(risk, dual)
    if side == "primal":
        function, theta = repair_primal(risk, function, theta)
        return _Point(dual, function, theta, risk.primal_value(function, theta), lower)
    function, theta = repair_primal(risk, dual, offset_at(risk, dual, theta))
    return _Point(dual, function, theta, risk.primal_value(function, theta), lower)


def _better(a: _Point, b: _Point) -> _Point:
    """Return the f of the smaller P with the β of the larger D: both are of what is shown."""
    primal, dual = min(a.primal, b.primal), max(a.dual, b.dual)
    tie = 4.0 * EPS * max(abs(primal), abs(dual))  # within rounding the later point is consistent
    by_dual = b if b.dual >= a.dual - tie else a
    by_primal = b if b.primal <= a.primal + tie else a
    return replace(by_primal, at=by_dual.at, primal=primal, dual=dual)


def _written_like(risk: RegularizedRisk, function: Function, dual: Function) -> Function:
    """Return f_β in weights where ``function`` is."""
    if function.weights is None or dual.beta is None:
        return dual
    return risk.function(weights=risk.gram.weights(dual.beta))


def _distance(risk: RegularizedRisk, a: Function, b: Function) -> float:
    """Return ‖a − b‖, where one of the two may be known by its values."""
    if a.weights is not None and b.weights is not None:
        return float(np.linalg.norm(a.weights - b.weights))
    a, b = (b, a) if b.by_values or b.beta is None else (a, b)
    if b.by_values:  # both are: a function and its multiple
        return abs(math.sqrt(a.norm2) - math.sqrt(b.norm2))
    return math.sqrt(risk.distance2(a, b))
