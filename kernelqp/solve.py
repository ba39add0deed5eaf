"""From a formulation to a certified solution: twin, run, certify, write back.

An answer that is not certified at once is asked for again, once, as tight as the solver goes (not
when the caller set options: then the run is the caller's). The best answer met is reported.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp.attainment import NotAttained, separating_direction
from kernelqp.ball import BallRisk
from kernelqp.ball_solve import certify_page, solve_on_page
from kernelqp.certificate import Candidate, Verdict, certify_candidate, complete
from kernelqp.errors import SolverError, SolverFailed, Status
from kernelqp.formulation import Formulation, Page, Point, Written, filled
from kernelqp.losses import HardMargin
from kernelqp.progress import Progress
from kernelqp.scales import gap_scale, relative_gap
from kernelqp.separation import SeparationProof, separation_proof
from kernelqp.solution import Infeasible, Solution
from kernelqp.solver_choice import choose_solvers, split_options
from kernelqp.solvers.cvxpy import Remark, capability, run
from kernelqp.solvers.native import NATIVE, looks, native
from kernelqp.solvers.watch import Watch
from kernelqp.threads import threads_for
from kernelqp.tolerance import check_tol
from kernelqp.twin import Relative, Twin, hardness
from kernelqp.warm_start import starting_beta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk

WRITTEN = {Status.CERTIFIED: cp.OPTIMAL, Status.LIMIT: cp.USER_LIMIT}  # cvxpy's words on the page
OTHER = {"primal": "dual", "dual": "primal"}
REACH = 1e-8  # relative gap from which one that is all rounding counts as the best there is
HARD = 1e6  # κ from which data are first tried as if they could be separated


def solve_formulation(
    formulation: Formulation, solver: str, tol: float, **options: Any
) -> Solution | Infeasible:
    """Solve in the dimensionless twin, write the raw answer to the page, and certify it."""
    check_tol(tol)
    risk = formulation.risk()
    with threads_for(risk.n):
        return _solved(formulation, risk, solver, tol, options)


def _solved(
    formulation: Formulation, risk: Any, solver: str, tol: float, options: dict[str, Any]
) -> Solution | Infeasible:
    started = time.perf_counter()
    if isinstance(risk, BallRisk):
        return solve_on_page(formulation, risk, solver, tol, options)
    if (unattained := not_attained(formulation, risk)) is not None:
        return Infeasible(Status.NOT_ATTAINED, unattained, time.perf_counter() - started)
    solvers, own, options = split_options(choose_solvers(risk, solver), solver, options)
    own.limit(risk.gram)
    near = None if own.start is None else starting_beta(formulation, risk, own.start)
    if NATIVE not in solvers:  # cvxpy needs all of K
        risk = replace(risk, gram=risk.gram.whole())
    relative = Relative.of(risk.centred)
    native_run = NativeRun(own.time_limit, None if near is None else near / relative.unit)
    runs = Runs(formulation, risk, relative, tol, options, native_run, solver == "auto")
    for attempt in attempts(relative.risk, formulation.side, solvers, tol, options):
        if runs.certified_after(attempt) or runs.halted or runs.exhausted:
            break
        if risk.loss.hard and attempt.first:
            proof = separation_proof(risk.centred)
            if proof is not None:
                return infeasible(formulation, proof, started)
        limited = own.time_limit < math.inf
        if limited and attempt.solver == NATIVE and runs.best is not None:
            break  # a solver that takes over would not keep to what is left
    best = runs.best or runs.rescued(solvers[-1])
    status = status_of(best)
    whole = NATIVE not in solvers
    written = partial(raw, formulation.page, best.candidate, whole)  # for when somebody looks
    formulation.write(written, WRITTEN.get(status, cp.OPTIMAL_INACCURATE), risk)
    seconds = time.perf_counter() - started
    solution = build_solution(formulation, risk, best.verdict, status, best.solver, seconds)
    return solution.looked_at() if whole else solution  # lest it keep all of K


@dataclass(frozen=True, slots=True)
class NativeRun:
    """For how long our own solvers may run, and where they start."""

    time_limit: float = math.inf
    near: Vector | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run: which problem, through which side, by which solver, how tightly."""

    risk: RegularizedRisk
    side: str
    solver: str
    tolerance: float
    first: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run gave, and what it is worth."""

    candidate: Candidate
    verdict: Verdict
    solver: str
    remark: Remark


def infeasible(formulation: Formulation, proof: SeparationProof, started: float) -> Infeasible:
    """Return the result of data that nothing fits, its proof in the caller's rows."""
    data = formulation.page.data
    weights = proof.weights if data is None else data.scatter(proof.weights)
    seconds = time.perf_counter() - started
    return Infeasible(Status.INFEASIBLE, replace(proof, weights=weights), seconds)


def not_attained(formulation: Formulation, risk: RegularizedRisk) -> NotAttained | None:
    """Return the proof that no point has the smallest loss, in the page's coordinates."""
    theta = separating_direction(risk)
    if theta is None:
        return None
    page, nothing = formulation.page, risk.function(beta=np.zeros(risk.n))
    if risk.gram.factor is not None:
        nothing = risk.function(weights=np.zeros(risk.gram.inputs.shape[1]))
    shown = page.attributes(risk, Point(np.zeros(risk.n), nothing, theta))[0]
    margins = risk.targets * (risk.offset.basis @ theta)
    return NotAttained(
        weights=shown.get("weights"),
        intercept=shown.get("intercept"),
        margins=margins if page.data is None else page.data.scatter(margins, fill=np.nan),
    )


def attempts(
    risk: RegularizedRisk, side: str, solvers: tuple[str, ...], tol: float, options: dict[str, Any]
) -> Iterator[Attempt]:
    """Yield what is tried, in order, until an answer is certified.

    Our own solver, once. A foreign one as it is asked, and again as tight as it goes; then, and
    from the start where the loss dominates (κ > 1e6), the data as if they were separable, without
    the bound on β; last the other side, which keeps other figures.
    """
    if NATIVE in solvers:
        yield Attempt(risk, side, NATIVE, 0.0, first=True)
    last = solvers[-1]
    if last == NATIVE:
        return
    loose, tight = capability(last).loose * tol, capability(last).tight
    may_separate = risk.loss.zero_beyond_margin
    separable = replace(risk, loss=HardMargin()) if may_separate else risk
    if may_separate and hardness(risk) > HARD:
        for tolerance in (loose,) if options else (loose, tight):
            yield Attempt(separable, side, last, tolerance)
            yield Attempt(risk, "primal", last, tolerance)
        return
    yield Attempt(risk, side, last, loose, first=NATIVE not in solvers)
    if options:  # the run is the caller's
        return
    yield Attempt(risk, side, last, tight)
    if may_separate and hardness(risk) > 1.0:
        yield Attempt(separable, side, last, loose)
    yield Attempt(risk, OTHER[side], last, loose)


@dataclass
class Runs:
    """The runs of one solve and the best answer among them; a failure ends none of the others."""

    formulation: Formulation
    risk: RegularizedRisk
    relative: Relative
    tol: float
    options: dict[str, Any]
    native: NativeRun
    lenient: bool
    best: Answer | None = None
    failure: SolverFailed | None = None
    halted: bool = False

    def certified_after(self, attempt: Attempt) -> bool:
        """Run one attempt, keep the better answer, and say whether it is certified.

        A solver chosen by name that fails before there is any answer has failed; one that was
        chosen for the caller is followed by the next.
        """
        try:
            answer = self.answer(attempt)
        except SolverFailed as error:
            if self.best is None and not self.lenient:
                raise
            self.failure = error
            return False
        gaps = [a.verdict.certificate.relative_gap for a in (self.best, answer) if a is not None]
        if answer is not None and gaps[-1] == min(gaps):
            self.best = answer
        return self.best is not None and self.best.verdict.certificate.certified

    @property
    def exhausted(self) -> bool:
        """Whether what is left of the gap is rounding: a smaller tol is out of reach."""
        if self.best is None:
            return False
        certificate = self.best.verdict.certificate
        left = abs(certificate.gap) <= certificate.rounding
        return left and certificate.relative_gap <= REACH

    def answer(self, attempt: Attempt) -> Answer | None:
        """Solve the twin, compiled once a side and kind of solver, and judge what it gives."""
        if attempt.solver == NATIVE:
            return self.native_answer(attempt.risk)
        quadratic = capability(attempt.solver).quadratic
        key = (attempt.side, quadratic, type(attempt.risk.loss))
        twins = self.formulation.twins
        if key not in twins:
            twins[key] = Twin(attempt.risk, attempt.side, quadratic=quadratic)
        twins[key].set(attempt.risk)
        remark = run(twins[key].problem, attempt.solver, attempt.tolerance, self.options)
        candidate = twins[key].candidate(attempt.risk)
        return None if candidate is None else self.judged(candidate, attempt.solver, remark)

    def native_answer(self, risk: RegularizedRisk) -> Answer:
        """Judge what our own solver gives, whole or as far as it came."""
        started = time.perf_counter()
        falling = Falling(self)
        progress = Progress("solve")
        watch = Watch(self.native.time_limit, partial(falling.say, progress))
        with progress, watch if looks(risk) else nullcontext():
            beta, function, theta, who = native(risk, watch, self.native.near)
        self.halted = watch.halted
        word = cp.USER_LIMIT if watch.halted else cp.OPTIMAL
        remark = Remark(word, time.perf_counter() - started)
        near = 0.0 if watch.halted else math.inf  # what ends early is not solved on in repair
        return self.judged(Candidate(beta, function, theta), who, remark, near)

    def judged(
        self, candidate: Candidate, solver: str, remark: Remark, near: float = math.inf
    ) -> Answer:
        """Certify a candidate, written as the page writes f."""
        centred, side = self.risk.centred, self.formulation.side
        candidate = self.relative.restored(candidate)
        if candidate.function is not None and self.formulation.page.in_coefficients:
            function = centred.in_coefficients(candidate.function)
            candidate = replace(candidate, function=function)
        verdict = certify_candidate(centred, candidate, side, self.tol, near)
        return Answer(candidate, verdict, solver, remark)

    def rescued(self, solver: str) -> Answer:
        """Return f = 0 and its bounds, where no run gave numbers.

        Raises
        ------
        SolverFailed
            If a run ended in an error of the solver.
        """
        if self.failure is not None:
            raise self.failure
        zero = Candidate(beta=np.zeros(self.risk.n))
        return self.judged(zero, solver, Remark(cp.SOLVER_ERROR, 0.0), near=0.0)


@dataclass
class Falling:
    """The certified gap of the points that a run has met, which can only fall."""

    runs: Runs
    primal: float = math.inf
    dual: float = -math.inf

    def say(self, progress: Progress, beta: Vector) -> None:
        """Show the gap where somebody looks."""
        if not progress.visible:
            return
        found = self.runs.judged(Candidate(beta), NATIVE, Remark(cp.OPTIMAL, 0.0), near=0.0)
        certificate = found.verdict.certificate
        self.primal = min(self.primal, certificate.primal_value)
        self.dual = max(self.dual, certificate.dual_value)
        gap = relative_gap(self.primal, self.dual, gap_scale(self.runs.risk.centred))
        progress.say(f"certified relative gap {gap:.1e}")


def status_of(answer: Answer) -> Status:
    """Return what the numbers prove; a limit is named where it is why they prove too little."""
    if answer.verdict.certificate.certified:
        return Status.CERTIFIED
    return Status.LIMIT if answer.remark.at_limit else Status.NOT_CERTIFIED


def raw(
    page: Page,
    candidate: Candidate,
    whole: bool,  # bound by place
    risk: RegularizedRisk,
) -> Written:
    """Return the values and multipliers of a centred candidate, unrepaired.

    ``whole`` if K was centred as a whole: θ of a candidate is that of its centring.
    """
    risk = replace(risk, gram=risk.gram.whole()) if whole else risk
    return page.fill(risk, raw_point(risk, candidate))


def raw_point(risk: RegularizedRisk, candidate: Candidate) -> Point:
    """Return a centred candidate, unrepaired, in the page's coordinates."""
    dual, function, theta = complete(risk.centred, candidate)
    function, theta = risk.from_centred(function, theta)
    return Point(dual.coefficients, function, theta)


def certify_current(formulation: Formulation, tol: float) -> Solution:
    """Certify what the page's variables and multipliers hold now."""
    started = time.perf_counter()
    check_tol(tol)
    risk = formulation.risk()
    if isinstance(risk, BallRisk):
        return certify_page(formulation, risk, tol)
    claimed = formulation.read(risk)
    function, theta = claimed.function, claimed.theta
    if function is None:
        function = risk.function(claimed.beta)
    moved, shifted = risk.to_centred(function, _or_zero(risk, theta))
    candidate = Candidate(
        beta=claimed.beta,
        function=None if claimed.function is None else moved,
        theta=None if theta is None else shifted,
    )
    verdict = certify_candidate(risk.centred, candidate, formulation.side, tol)
    stats = formulation.problem.solver_stats
    name = "given" if stats is None else str(stats.solver_name)
    certified = verdict.certificate.certified
    status = Status.CERTIFIED if certified else Status.NOT_CERTIFIED
    if separating_direction(risk) is not None:  # the infimum, at a point that is not optimal
        status = Status.NOT_ATTAINED
    seconds = time.perf_counter() - started
    return build_solution(formulation, risk, verdict, status, name, seconds)


def adopt_verdict(
    formulation: Formulation, verdict: Verdict, status: Status, solver: str, seconds: float
) -> Solution:
    """Return a verdict that an algorithm of its own reached, and write its point to the page."""
    risk = formulation.risk()
    function, theta = risk.from_centred(verdict.function, verdict.theta)
    point = Point(verdict.dual.coefficients, function, theta)
    written = partial(filled, formulation.page, point)
    formulation.write(written, WRITTEN.get(status, cp.OPTIMAL_INACCURATE), risk)
    return build_solution(formulation, risk, verdict, status, solver, seconds)


def build_solution(
    formulation: Formulation,
    risk: RegularizedRisk,
    verdict: Verdict,
    status: Status,
    solver: str,
    seconds: float,
) -> Solution:
    """Put the repaired point into the page's coordinates."""
    function, theta = risk.from_centred(verdict.function, verdict.theta)
    point = Point(verdict.dual.coefficients, function, theta)
    return Solution.build(formulation, risk, verdict, point, status, solver, seconds)


def _or_zero(risk: RegularizedRisk, theta: Any) -> Any:
    return risk.offset.price * 0.0 if theta is None else theta


__all__ = ["SolverError", "adopt_verdict", "certify_current", "choose_solvers", "solve_formulation"]
