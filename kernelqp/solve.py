"""From a formulation to a certified solution: twin, run, certify, write back.

An answer that is not certified at once is asked for again, once, as tight as the solver goes (not
when the caller set options: then the run is the caller's). The best answer met is reported.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from kernelqp.certificate import Candidate, Verdict, certify_candidate, complete
from kernelqp.errors import ParameterError, SolverError, SolverFailed, Status
from kernelqp.formulation import Formulation, Point
from kernelqp.losses import HardMargin
from kernelqp.separation import SeparationProof, separation_proof
from kernelqp.solution import Infeasible, Solution
from kernelqp.solvers.cvxpy import Remark, capability, resolve_solver, run
from kernelqp.twin import Twin, hardness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp.risk import RegularizedRisk

HARD = 1e6  # κ from which data are first tried as if they could be separated


def choose_solvers(risk: RegularizedRisk, solver: str) -> tuple[str, ...]:
    """Return the solvers to try; "auto" starts with OSQP for small problems in mild units.

    The rule is read off ``benchmarks/results/auto_solver.json``.
    """
    if solver != "auto":
        return (resolve_solver(solver),)
    row = risk.loss.row(risk.targets, risk.costs)
    mild = row is not None and risk.n < 800 and hardness(risk) < 100.0 and not risk.loss.hard
    return ("OSQP", "CLARABEL") if mild else ("CLARABEL",)


def solve_formulation(
    formulation: Formulation, solver: str, tol: float, **options: Any
) -> Solution | Infeasible:
    """Solve in the dimensionless twin, write the raw answer to the page, and certify it."""
    started = time.perf_counter()
    check_tol(tol)
    risk = formulation.risk()
    best: Answer | None = None
    solvers = choose_solvers(risk.centred, solver)
    for attempt in attempts(risk.centred, formulation.side, solvers, tol, options):
        best = better(best, run_attempt(formulation, risk, attempt, tol, options))
        if best is not None and best.verdict.certificate.certified:
            break
        if risk.loss.hard and attempt.first:
            proof = separation_proof(risk.centred)
            if proof is not None:
                return infeasible(formulation, proof, started)
    if best is None:
        tried = " and ".join(solvers)
        raise SolverFailed(f"{tried} returned no numbers: try solver='CLARABEL', or a larger tol")
    formulation.write(formulation.page.fill(risk, raw_point(risk, best.candidate)))
    seconds = time.perf_counter() - started
    return build_solution(formulation, risk, best.verdict, best.solver, seconds, best.remark)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run: which problem, through which side, by which solver, how tightly."""

    risk: RegularizedRisk
    side: str
    solver: str
    tolerance: float
    first: bool


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


def attempts(
    risk: RegularizedRisk, side: str, solvers: tuple[str, ...], tol: float, options: dict[str, Any]
) -> Iterator[Attempt]:
    """Yield what is tried, in order: each solver, and the last one again as tight as it goes.

    Where the loss dominates (κ > 1e6) the data are first tried as separable, without the bound on
    β; where that violates the bound, the primal keeps its figures and the dual does not.
    """
    runs = [(solver, capability(solver).loose * tol) for solver in solvers]
    if not options:  # with options the run is the caller's
        runs.append((solvers[-1], capability(solvers[-1]).tight))
    for k, (solver, tolerance) in enumerate(runs):
        if risk.loss.zero_beyond_margin and hardness(risk) > HARD:
            separable = replace(risk, loss=HardMargin())
            yield Attempt(separable, side, solver, tolerance, first=False)
            yield Attempt(risk, "primal", solver, tolerance, first=False)
        else:
            yield Attempt(risk, side, solver, tolerance, first=k == 0)


def run_attempt(
    formulation: Formulation,
    risk: RegularizedRisk,
    attempt: Attempt,
    tol: float,
    options: dict[str, Any],
) -> Answer | None:
    """Solve the twin of one attempt, compiled once a side and kind of solver, and judge it."""
    quadratic = capability(attempt.solver).quadratic
    key = (attempt.side, quadratic, type(attempt.risk.loss))
    twin = formulation.twins.get(key)
    if twin is None:
        twin = formulation.twins[key] = Twin(attempt.risk, attempt.side, quadratic=quadratic)
    twin.set(attempt.risk)
    remark = run(twin.problem, attempt.solver, attempt.tolerance, options)
    candidate = twin.candidate(attempt.risk)
    if candidate is None:
        return None
    if candidate.function is not None and formulation.page.in_coefficients:
        function = attempt.risk.in_coefficients(candidate.function)
        candidate = replace(candidate, function=function)
    verdict = certify_candidate(risk.centred, candidate, formulation.side, tol, near=math.inf)
    return Answer(candidate, verdict, attempt.solver, remark)


def better(best: Answer | None, new: Answer | None) -> Answer | None:
    """Return the answer of the smaller relative gap."""
    if best is None or new is None:
        return best or new
    old_gap, new_gap = (a.verdict.certificate.relative_gap for a in (best, new))
    return new if new_gap < old_gap else best


def raw_point(risk: RegularizedRisk, candidate: Candidate) -> Point:
    """Return a centred candidate, unrepaired, in the page's coordinates."""
    dual, function, theta = complete(risk.centred, candidate)
    function, theta = risk.from_centred(function, theta)
    assert dual.beta is not None  # a dual point is written in β
    return Point(dual.beta, function, theta)


def certify_current(formulation: Formulation, tol: float) -> Solution:
    """Certify what the page's variables and multipliers hold now."""
    started = time.perf_counter()
    check_tol(tol)
    risk = formulation.risk()
    claimed = formulation.read(risk)
    function, theta = claimed.function, claimed.theta
    if function is None:
        assert claimed.beta is not None  # a page reads at least one side
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
    seconds = time.perf_counter() - started
    return build_solution(formulation, risk, verdict, name, seconds, None)


def build_solution(
    formulation: Formulation,
    risk: RegularizedRisk,
    verdict: Verdict,
    solver: str,
    seconds: float,
    remark: Remark | None,
) -> Solution:
    """Name the status and put the repaired point into the page's coordinates."""
    status = Status.CERTIFIED if verdict.certificate.certified else Status.NOT_CERTIFIED
    if status is Status.NOT_CERTIFIED and remark is not None and remark.at_limit:
        status = Status.LIMIT
    function, theta = risk.from_centred(verdict.function, verdict.theta)
    assert verdict.dual.beta is not None  # a dual point is written in β
    point = Point(verdict.dual.beta, function, theta)
    return Solution.build(formulation, risk, verdict, point, status, solver, seconds)


def check_tol(tol: Any) -> None:
    """Raise ParameterError unless tol is a positive finite number."""
    number = not isinstance(tol, bool) and isinstance(tol, Real)
    if not (number and math.isfinite(tol) and tol > 0):
        raise ParameterError(f"tol must be a positive number; got {tol!r}: 1e-6 is the default")


def _or_zero(risk: RegularizedRisk, theta: Any) -> Any:
    return risk.offset.price * 0.0 if theta is None else theta


__all__ = ["SolverError", "certify_current", "choose_solvers", "solve_formulation"]
