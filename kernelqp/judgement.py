"""Judging one problem of somebody else's model: its bounds first, its report when it is asked for.

The bounds of a problem need K; its report, which says the verdict, the share of every row and the
sets, needs the sizes of its rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.arrays import freeze
from kernelqp.attainment import separating_direction
from kernelqp.blame import complementarity_by_row
from kernelqp.bound_search import Bounds
from kernelqp.certificate import as_it_came
from kernelqp.diagonal_gram import DiagonalGram
from kernelqp.model_certificate import ModelCertificate
from kernelqp.model_verdict import remedy_of, verdict_of
from kernelqp.repair import best_offset, lower_bound
from kernelqp.scales import (
    imbalance_at_price,
    null_value,
    relative_gap,
    rounding_of_bounds,
    rounding_of_primal,
    rounding_of_products,
)
from kernelqp.support import SETTLED, Support, find_support, has_sets

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.bound_search import Search
    from kernelqp.foreign import Reading
    from kernelqp.risk import Function, RegularizedRisk


@dataclass(frozen=True, eq=False, slots=True)
class Judgement:
    """The bounds of one problem, in the unit of its risk.

    Attributes
    ----------
    name, objective, scale, rows
        Those of the reading.
    risk, dual, function, theta
        The problem about its mean, the β of the largest D, and the model's f and θ.
    primal, proved, best : float
        P at the model, D less its rounding, and the smallest P that was met.
    noise, size : float
        The rounding of P − D, and what the gap is compared with.
    relative, tol : float
        The relative gap, and the one up to which the model counts as converged.
    attained, interrupted : bool
        Whether there is an optimum, and whether more may be proved in more time.
    remedy : str
        What to do where the model has not converged.
    """

    name: str
    objective: str
    scale: float
    rows: Indices
    risk: RegularizedRisk
    dual: Function
    function: Function
    theta: Vector
    primal: float
    proved: float
    best: float
    noise: float
    size: float
    relative: float
    tol: float
    attained: bool
    interrupted: bool
    remedy: str

    @property
    def gap(self) -> float:
        """P − D as far as rounding lets it be known."""
        return max(abs(self.primal - self.proved), self.noise)

    @property
    def excess(self) -> float:
        """How far P at the model is above the smallest that was met, of the size of the problem.

        No more of it than rounding leaves certain.
        """
        return (self.primal - self.best - self.noise) / self.size if self.size > 0 else 0.0

    def without_kernel(self) -> Judgement:
        """Return the same with no more of the kernel than a report needs."""
        return replace(self, risk=replace(self.risk, gram=DiagonalGram.of_gram(self.risk.gram)))


def judge(reading: Reading, search: Search) -> Judgement:
    """Bound one problem: P at the model as it is, D at the best dual point that can be made."""
    risk = reading.risk.centred
    start, function, theta = as_it_came(risk, reading.candidate)
    met, tol = search.run(risk, start, function, theta), search.tol
    if met.relative <= tol:  # θ is about that of the optimum
        met = replace(met, noise=met.noise + imbalance_at_price(risk, met.dual, theta))
    elif met.noise > 0.5 * tol * met.size:  # rounding decides
        met, function, theta = _closely(reading, met, function, theta)
    proved, relative = met.lower - met.noise, met.relative  # what rounding has added is no proof
    noise = met.noise + met.above
    if proved < 0.0 and not risk.offset.price.any():  # P is a sum of what is not negative
        proved, relative = 0.0, min(relative, relative_gap(met.primal + noise, 0.0, met.scale))
    return Judgement(
        name=reading.name,
        objective=reading.objective,
        scale=reading.scale,
        rows=reading.rows,
        risk=risk,
        dual=met.dual,
        function=function,
        theta=theta,
        primal=max(met.primal, proved),  # no P is less, whatever rounding says
        proved=proved,
        best=max(met.best, proved),
        noise=noise,
        size=max(abs(met.primal), abs(proved), met.scale),  # without what rounding made of D
        relative=relative,
        tol=tol,
        attained=separating_direction(risk) is None,
        interrupted=search.interrupted and relative > tol,
        remedy=remedy_of(reading) if relative > tol else "",
    )


def _closely(
    reading: Reading, met: Bounds, function: Function, theta: Vector
) -> tuple[Bounds, Function, Vector]:
    """Return the bounds, f and θ from exact products where K is stored, with the rounding of P."""
    risk = reading.risk.centred
    dual = risk.function(met.dual.coefficients, exactly=True)
    noise = rounding_of_bounds(risk, dual, closely=True)
    function, theta = _exactly(reading, function, theta)
    primal = risk.primal_value(function, theta)
    if function.exact:
        above = rounding_of_primal(risk, primal, function, theta, dual.coefficients)
    else:
        above = rounding_of_products(risk, function, theta)
    lower, best = lower_bound(risk, dual), min(primal, null_value(risk), _other(risk, met, dual))
    return Bounds(primal, dual, lower, noise, met.scale, best, above), function, theta


def _other(risk: RegularizedRisk, met: Bounds, dual: Function) -> float:
    """Return P at f_β with its rounding; of products that are not exact, the smallest P met."""
    if not dual.exact:
        return met.best + met.noise  # it was summed as D was
    theta = best_offset(risk, dual, np.zeros(risk.offset.price.size))
    primal = risk.primal_value(dual, theta)
    return primal + rounding_of_primal(risk, primal, dual, theta, dual.coefficients)


def _exactly(reading: Reading, function: Function, theta: Vector) -> tuple[Function, Vector]:
    """Return the model's (f, θ) about the mean, f from products of a stored K rounded once."""
    risk, beta = reading.risk, reading.candidate.beta
    if beta is None:
        return function, theta
    exact, constant = risk.function(beta, exactly=True), risk.centring
    if constant is None:
        return exact, theta
    moved, _ = risk.to_centred(exact, theta)
    off = risk.gram.value_at_origin(exact.values - risk.function(beta).values)
    return replace(moved, exact=exact.exact), theta + off * constant


def report(judged: Judgement, n: int) -> ModelCertificate:
    """Return the certificate of a problem on some of the caller's n rows."""
    risk, dual, function, theta = judged.risk, judged.dual, judged.function, judged.theta
    by_row = complementarity_by_row(risk, dual.coefficients, risk.predictions(function, theta))
    blame = _callers_shares(judged.scale * by_row, judged.rows, n)
    freeze(blame)
    sets = None
    if has_sets(risk):
        tight = judged.relative <= SETTLED
        sets = find_support(risk, dual, function, theta, judged.gap, tight)
    return ModelCertificate(
        name=judged.name,
        objective=judged.objective,
        primal_value=judged.scale * judged.primal,
        dual_value=judged.scale * judged.proved,
        best_value=judged.scale * judged.best,
        gap=judged.scale * (judged.primal - judged.proved),
        relative_gap=judged.relative,
        tol=judged.tol,
        complementarity=blame,
        support=None if sets is None else _callers(sets, judged.rows, n),
        certified=bool(judged.relative <= judged.tol and judged.attained),
        verdict=verdict_of(judged, blame),
    )


def _callers_shares(shares: Vector, rows: Indices, n: int) -> Vector:
    """Return what every row of the caller's has a share in; NaN for those that take no part."""
    if _everyone(rows, n):
        return shares
    taking_part = np.bincount(rows, minlength=n) > 0  # a row may stand in the problem twice
    return np.where(taking_part, np.bincount(rows, shares, n), np.nan)


def _callers(sets: Support, rows: Indices, n: int) -> Support:
    """Return the sets as the caller's row numbers."""
    if _everyone(rows, n):
        return sets
    own = (sets.support_vectors, sets.elbow, sets.left, sets.right, sets.undecided)
    if (rows[1:] > rows[:-1]).all():
        return Support(*(rows[chosen] for chosen in own))
    return Support(*(np.unique(rows[chosen]) for chosen in own))  # a row may come twice


def _everyone(rows: Indices, n: int) -> bool:
    """Whether the rows are all of the caller's n, once and in their order."""
    return rows.size == n and bool((rows[1:] > rows[:-1]).all())
