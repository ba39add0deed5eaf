"""Solving in a ball: the multiplier t at which the penalised solution has the norm R.

‖f_t‖ falls as the penalty t/2 ‖f‖² grows, and 1/‖f_t‖ is nearly linear in t: the secular equation
1/‖f_t‖ = 1/R has one root where the ball binds. Every f_t on the way is judged in the ball, and the
best is kept; the ball does not bind where f_t stays inside it as t falls.

Source: Moré & Sorensen (1983), Computing a trust region step, SIAM J. Sci. Stat. Comput. 4(3).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from cvxpy import settings
from scipy.optimize import brentq

from kernelqp.ball import certify_in_ball, completed, repair_in_ball
from kernelqp.certificate import Candidate
from kernelqp.errors import ParameterError, SolverFailed, Status
from kernelqp.formulation import Point
from kernelqp.solution import Solution
from kernelqp.solvers.native import NATIVE, native
from kernelqp.twin import hardness

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.ball import BallRisk
    from kernelqp.certificate import Verdict
    from kernelqp.formulation import Formulation, Page, Written
    from kernelqp.risk import Function

FACTOR, REACH = 32.0, 1e14  # of the steps that bracket t, and how far they go
CLOSE = 1e-3  # of tol: the relative gap that ends the search


@dataclass
class Search:
    """The t tried so far and the best answer among them; ``ball`` is centred."""

    ball: BallRisk
    solver: str
    tol: float
    best: Verdict | None = None
    candidate: Candidate | None = None
    solved_by: str = ""

    def length(self, t: float) -> float:
        """Return ‖f_t‖, having judged f_t in the ball."""
        beta, function, theta = self._solved(t)
        found = Candidate(beta=t * beta, function=function, theta=theta)
        verdict = certify_in_ball(self.ball, found, self.tol)
        gap = verdict.certificate.relative_gap
        if self.best is None or gap < self.best.certificate.relative_gap:
            self.best, self.candidate = verdict, found
        return math.sqrt(function.norm2)

    @property
    def done(self) -> bool:
        """Whether the best answer is far better than asked for."""
        return self.best is not None and self.best.certificate.relative_gap <= CLOSE * self.tol

    def _solved(self, t: float) -> tuple[Vector, Function, Vector]:
        """Solve the penalised risk: by our own solver where it can, else through cvxpy."""
        risk = self.ball.penalised(t)
        if self.solver in ("auto", NATIVE):
            try:
                beta, function, theta, self.solved_by = native(risk)
            except SolverFailed:
                if self.solver == NATIVE:
                    raise
            else:
                if theta is not None:  # it came to an end
                    return beta, risk.function(beta) if function is None else function, theta
        solution = risk.solve(form="dual", solver=self.solver, tol=1e-3 * self.tol)
        point = solution.origin[1]
        self.solved_by = solution.solver
        return point.beta, point.function, point.theta


def solve_on_page(
    formulation: Formulation, ball: BallRisk, solver: str, tol: float, options: dict[str, Any]
) -> Solution:
    """Solve, write the raw answer to the page, and certify it."""
    if options:
        names = ", ".join(map(repr, options))
        raise ParameterError(f"a ball is solved by several runs, which take no options: {names}")
    own = getattr(formulation.page, "solve_in_ball", solve_in_ball)
    candidate, verdict, who, seconds = own(ball.centred, solver, tol)
    certified = verdict.certificate.certified
    settled = settings.OPTIMAL if certified else settings.OPTIMAL_INACCURATE
    formulation.write(partial(_raw, formulation.page, candidate), settled, ball)
    return _built(formulation, ball, verdict, who, seconds)


def certify_page(formulation: Formulation, ball: BallRisk, tol: float) -> Solution:
    """Certify what the page's variables and multipliers hold now."""
    started = time.perf_counter()
    claimed = formulation.read(ball)
    function, theta = claimed.function, claimed.theta
    if function is not None:
        place = ball.offset.price * 0.0 if theta is None else theta
        function, moved = ball.risk.to_centred(function, place)
        theta = None if theta is None else moved
    elif theta is not None and ball.offset.free_constant is not None:
        theta = None  # the multiplier stands for the uncentred f: the best offset is the same one
    verdict = certify_in_ball(ball.centred, Candidate(claimed.beta, function, theta), tol)
    stats = formulation.problem.solver_stats
    name = "given" if stats is None else str(stats.solver_name)
    return _built(formulation, ball, verdict, name, time.perf_counter() - started)


def _built(
    formulation: Formulation, ball: BallRisk, verdict: Verdict, who: str, seconds: float
) -> Solution:
    point = _point(formulation.page, ball, verdict.dual, verdict.function, verdict.theta)
    certified = verdict.certificate.certified
    status = Status.CERTIFIED if certified else Status.NOT_CERTIFIED
    return Solution.build(formulation, ball, verdict, point, status, who, seconds)


def _raw(page: Page, candidate: Candidate, ball: BallRisk) -> Written:
    """Return the values and multipliers of a centred candidate, unrepaired but for f's length.

    A search for the length ends a little off, and a point outside the ball is none.
    """
    dual, function, theta = completed(ball.centred, candidate)
    function, theta = repair_in_ball(ball.centred, function, theta)
    return page.fill(ball, _point(page, ball, dual, function, theta))


def _point(page: Page, ball: BallRisk, dual: Function, function: Function, theta: Vector) -> Point:
    """Return a centred point in the page's coordinates."""
    risk = ball.centred.risk
    if page.in_coefficients:
        function = risk.in_coefficients(function)
    elif page.side == "primal" and function.weights is None and risk.gram.factor is not None:
        function = risk.function(weights=risk.gram.weights(function.coefficients))
    function, theta = ball.risk.from_centred(function, theta)
    return Point(dual.coefficients, function, theta)


def solve_in_ball(ball: BallRisk, solver: str, tol: float) -> tuple[Candidate, Verdict, str, float]:
    """Return the candidate, its verdict, who solved it and the seconds; ``ball`` is centred."""
    if not isinstance(solver, str):
        raise ParameterError(f"solver must be a name; got {solver!r}")
    started = time.perf_counter()
    name = NATIVE if solver.upper() == NATIVE else solver
    search = Search(ball, name, tol)
    _search(search, ball.radius, hardness(ball.risk))
    assert search.best is not None  # at least one t was tried
    assert search.candidate is not None
    who = f"{search.solved_by}, in the multiplier of the ball"
    return search.candidate, search.best, who, time.perf_counter() - started


def _search(search: Search, radius: float, start: float) -> None:
    """Bracket the root by steps of FACTOR, and close in on it."""
    t, length = start, search.length(start)
    outside = length > radius
    while not search.done and start / REACH < t < start * REACH:
        moved = t * FACTOR if outside else t / FACTOR
        if (search.length(moved) > radius) != outside:
            break
        t = moved
    else:
        return

    def off(log_t: float) -> float:
        length = search.length(math.exp(log_t))
        return 1.0 / radius - 1.0 / length if not search.done and length > 0.0 else 0.0

    if radius == 0.0 or search.done:
        return
    ends = sorted((math.log(t), math.log(moved)))
    brentq(off, *ends, xtol=1e-15, rtol=4.0 * np.finfo(np.float64).eps, maxiter=60, disp=False)
