"""The ball penalty: minimise a risk over the functions of norm at most R.

    (P)  min over f, θ    d'θ + Σ c_i ℓ(y_i, p_i)            ‖f‖ <= R,  p = f(x) + Bθ
    (D)  max over β      −R ‖β‖_K − Σ c_i ℓ*(y_i, −β_i / c_i)         B'β = d

For any f in the ball, any θ and any β in the domain with B'β = d,

    P − D = (R ‖f_β‖ − ⟨f, f_β⟩) + Σ c_i FY_i >= 0

At the optimum f = R f_β/‖f_β‖, and μ = ‖f_β‖ is the multiplier of the ball: the risk with the
penalty t/2 ‖f‖², t = μ/R, has the same solution, with the coefficients β/t. So every repair is
that of a penalised risk.

Source: Rifkin & Lippert (2007), Value regularization and Fenchel duality, JMLR 8, 441-479.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kernelqp.blame import complementarity_by_row
from kernelqp.certificate import (
    Candidate,
    Certificate,
    Verdict,
    dual_from_primal,
)
from kernelqp.elbow import elbow_solve
from kernelqp.errors import InputError, ParameterError
from kernelqp.repair import (
    EPS,
    best_offset,
    domain_of,
    feasible,
    imbalance,
    repair_dual,
    settle,
    spread,
)
from kernelqp.risk import Function, RegularizedRisk, TwoSided
from kernelqp.scales import (
    null_value,
    relative_gap,
)

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.formulation import Formulation
    from kernelqp.offset import Offset


LARGEST = 1e100  # of a radius: its square has to be a number


@dataclass(frozen=True, eq=False, repr=False)
class BallRisk(TwoSided):
    """min d'θ + Σ c_i ℓ(y_i, f(x_i) + (Bθ)_i) over ‖f‖ <= R.

    Parameters
    ----------
    risk : RegularizedRisk
        The kernel, targets, costs, loss and offset; its own penalty 1/2 ‖f‖² is left out.
    radius : float
        R >= 0, finite.

    Raises
    ------
    ParameterError
        If the radius is negative or not finite, or the loss is a hard margin.

    Examples
    --------
    >>> import numpy as np, kernelqp as kq
    >>> gram = kq.Gram.from_factor(np.eye(2))
    >>> risk = kq.RegularizedRisk(gram, np.array([3.0, 4.0]), 2.0, kq.losses.HalfSquared(), "none")
    >>> s = kq.BallRisk(risk, radius=2.5).solve()
    >>> print(f"{s.value:.6f} {s.multiplier:.6f}")
    6.250000 5.000000
    """

    risk: RegularizedRisk
    radius: float

    def __post_init__(self) -> None:
        radius, risk = cast("Any", self.radius), cast("Any", self.risk)
        real = isinstance(radius, Real) and not isinstance(radius, bool)
        if not (real and 0 <= radius < LARGEST):
            raise ParameterError(
                f"radius must be a number >= 0 and below {LARGEST:g}; got {radius!r}"
            )
        if not isinstance(risk, RegularizedRisk):
            raise InputError(f"a ball holds a RegularizedRisk; got {type(risk).__name__}")
        if self.risk.loss.hard:
            raise ParameterError("a hard margin in a ball is feasible or not: use HardMarginSVM")

    def __repr__(self) -> str:
        return f"<BallRisk: radius {self.radius:g} around {self.risk!r}>"

    @property
    def offset(self) -> Offset:
        """The offset of the risk."""
        return self.risk.offset

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.risk.n

    @cached_property
    def centred(self) -> BallRisk:
        """The same problem about the mean of the rows, when the offset holds a free constant."""
        return replace(self, risk=self.risk.centred)

    def penalised(self, t: float) -> RegularizedRisk:
        """Return the risk with the penalty t/2 ‖f‖², t > 0, in units of t."""
        return replace(self.risk, costs=self.risk.costs / t)

    def primal_value(self, function: Function, theta: Vector) -> float:
        """Return P, infinite outside the ball."""
        if function.norm2 > (self.radius * (1.0 + 4.0 * EPS)) ** 2:
            return math.inf
        return self.risk.primal_value(Function(function.values, 0.0), theta)

    def dual_value(self, dual: Function) -> float:
        """Return D; −inf where β is out of its domain or not balanced."""
        if not feasible(self.risk, dual.coefficients):
            return -math.inf
        gained = self.risk.gain(dual.coefficients)
        return float(gained.sum() - self.radius * math.sqrt(dual.norm2))

    def primal(self) -> Formulation:
        """Return (P) as a cvxpy problem in w or β, θ and p."""
        from kernelqp.ball_page import ball_primal  # knows cvxpy, this file not

        return ball_primal(self)

    def dual(self) -> Formulation:
        """Return (D) as a cvxpy problem in β."""
        from kernelqp.ball_page import ball_dual

        return ball_dual(self)


def certify_in_ball(ball: BallRisk, candidate: Candidate, tol: float) -> Verdict:
    """Repair a candidate onto the ball and the dual's constraints, and bound the optimum."""
    dual0, function0, theta0 = completed(ball, candidate)
    terms = _blame(ball, dual0, function0, theta0)
    function, theta = repair_in_ball(ball, function0, theta0)
    dual = _best_dual(ball, dual0, theta)
    primal, lower = ball.primal_value(function, theta), ball.dual_value(dual)
    noise = _rounding(ball, dual)
    relative = relative_gap(primal, lower, null_value(ball.risk), noise)
    certificate = Certificate(
        primal_value=primal,
        dual_value=lower,
        gap=primal - lower,
        relative_gap=relative,
        tol=tol,
        stationarity=terms[0],
        complementarity=terms[1],
        domain=terms[2],
        balance=terms[3],
        repair=abs(math.sqrt(function0.norm2) - math.sqrt(function.norm2)),
        rounding=noise,
        certified=relative <= tol and primal - lower >= -noise,
    )
    return Verdict(certificate, dual, function, theta)


def repair_in_ball(ball: BallRisk, function: Function, theta: Vector) -> tuple[Function, Vector]:
    """Return f min(1, R/‖f‖) and the best offset."""
    length = math.sqrt(function.norm2)
    if length > ball.radius:
        function = function.scaled(ball.radius / length)
    return function, best_offset(ball.risk, function, theta)


def completed(ball: BallRisk, candidate: Candidate) -> tuple[Function, Function, Vector]:
    """Return (f_β, f, θ) of a candidate; what it does not say follows from what it says."""
    risk, function, theta = ball.risk, candidate.function, candidate.theta
    dual = None if candidate.beta is None else risk.function(np.nan_to_num(candidate.beta))
    if function is None:
        if dual is None:
            raise InputError("a candidate needs beta or a function; got neither")
        length = math.sqrt(dual.norm2)
        function = dual.scaled(ball.radius / length if length > 0 else 0.0)
    if theta is None:
        theta = best_offset(risk, function, np.zeros(risk.offset.price.size))
    if dual is None:
        known = Function(function.values, function.norm2)  # its β is not the dual's
        dual = risk.function(dual_from_primal(risk, known, theta))
    return dual, function, np.nan_to_num(theta)


def _best_dual(ball: BallRisk, dual: Function, theta: Vector) -> Function:
    """Return the feasible β of the largest D among a few repairs, those of a penalised risk."""
    balanced = _balanced(ball.risk, np.clip(dual.coefficients, *domain_of(ball.risk)))
    tried = [ball.risk.function(balanced)]
    t = math.sqrt(dual.norm2) / ball.radius if ball.radius > 0 else 0.0
    if t > 0:
        risk = ball.penalised(t)
        near = repair_dual(risk, risk.function(dual.coefficients / t), theta)
        tried += [near.scaled(t), elbow_solve(risk, near, theta)[0].scaled(t)]
    return max(tried, key=ball.dual_value)


def _balanced(risk: RegularizedRisk, beta: Vector) -> Vector:
    """Return β with B'β = d, by the change that the box allows."""
    moved = spread(risk, beta)
    return settle(risk, moved) if risk.offset.price.size == 1 else moved


def _blame(
    ball: BallRisk, dual: Function, function: Function, theta: Vector
) -> tuple[float, Vector, float, float]:
    """Return stationarity, complementarity by row, domain and balance, before any repair."""
    risk, beta = ball.risk, dual.coefficients
    inside = np.clip(beta, *domain_of(risk))
    p = risk.predictions(function, theta)
    pulled = ball.radius * math.sqrt(dual.norm2) - float(function.values @ beta)
    outside = max(math.sqrt(function.norm2) - ball.radius, 0.0) * math.sqrt(dual.norm2)
    domain = float(np.abs(beta - inside) @ np.maximum(1.0, np.abs(risk.targets - p)))
    off = np.abs(imbalance(risk, beta))
    balance = float(off @ np.maximum(1.0, np.abs(theta)))
    return max(pulled, 0.0) + outside, complementarity_by_row(risk, inside, p), domain, balance


def _rounding(ball: BallRisk, dual: Function) -> float:
    """Return the rounding of D: of R ‖β‖_K and of the sum."""
    size = float(np.abs(dual.coefficients) @ np.sqrt(np.maximum(ball.risk.gram.diagonal, 0.0)))
    terms = ball.risk.gain(dual.coefficients)
    rest = 4.0 * np.abs(terms[np.isfinite(terms)]).sum()
    return float(EPS * (math.sqrt(ball.n) * size * ball.radius + rest))
