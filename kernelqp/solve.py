"""From a formulation to a certified solution: twin, run, certify, write back.

An answer that is not certified at once is asked for again, once, as tight as the solver goes (not
when the caller set options: then the run is the caller's). The best answer met is reported.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from kernelqp.certificate import Candidate, Verdict, certify, complete
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


def choose_solver(risk: RegularizedRisk, solver: str) -> str:
    """Return the solver's name; "auto" is OSQP for small problems in mild units, else CLARABEL.

    The rule is read off ``benchmarks/results/auto_solver.json``.
    """
    if solver != "auto":
        return resolve_solver(solver)
    row = risk.loss.row(risk.targets, risk.costs)
    mild = row is not None and risk.n < 800 and hardness(risk) < 100.0 and not risk.loss.hard
    return "OSQP" if mild else "CLARABEL"


def solve_formulation(
    formulation: Formulation, solver: str, tol: float, **options: Any
) -> Solution | Infeasible:
    """Solve in the dimensionless twin, write the raw answer to the page, and certify it."""
    started = time.perf_counter()
    check_tol(tol)
    risk = formulation.risk()
    chosen = choose_solver(risk.centred, solver)
    best: tuple[Candidate, Verdict] | None = None
    remark: Remark | None = None
    tried_proof = False
    for run_risk, side, tolerance in attempts(formulation, risk.centred, chosen, tol, options):
        candidate, remark = run_twin(formulation, run_risk, side, chosen, tolerance, options)
        if candidate is not None:
            verdict = certify(risk.centred, candidate, formulation.side, tol)
            best = better(best, (candidate, verdict))
            if verdict.certificate.certified:
                break
        if risk.loss.hard and not tried_proof:
            tried_proof = True
            proof = separation_proof(risk.centred)
            if proof is not None:
                return infeasible(formulation, proof, started)
    if best is None or remark is None:
        raise SolverFailed(f"{chosen} returned no numbers: try solver='CLARABEL', or a larger tol")
    formulation.write(formulation.page.fill(risk, raw_point(risk, best[0])))
    seconds = time.perf_counter() - started
    return build_solution(formulation, risk, best[1], chosen, seconds, remark)


def infeasible(formulation: Formulation, proof: SeparationProof, started: float) -> Infeasible:
    """Return the result of data that nothing fits, its proof in the caller's rows."""
    data = formulation.page.data
    weights = proof.weights if data is None else data.scatter(proof.weights)
    seconds = time.perf_counter() - started
    return Infeasible(Status.INFEASIBLE, replace(proof, weights=weights), seconds)


def attempts(
    formulation: Formulation,
    risk: RegularizedRisk,
    solver: str,
    tol: float,
    options: dict[str, Any],
) -> Iterator[tuple[RegularizedRisk, str, float]]:
    """Yield (problem, side, tolerance) in the order in which they are tried.

    Where the loss dominates (κ > 1e6) the data are first tried as separable, without the bound on
    β; where that violates the bound, the primal keeps its figures and the dual does not.
    """
    known, side = capability(solver), formulation.side
    for tolerance in (known.loose * tol,) if options else (known.loose * tol, known.tight):
        if risk.loss.zero_beyond_margin and hardness(risk) > HARD:
            yield replace(risk, loss=HardMargin()), side, tolerance
            yield risk, "primal", tolerance
        else:
            yield risk, side, tolerance


def run_twin(
    formulation: Formulation,
    risk: RegularizedRisk,
    side: str,
    solver: str,
    tolerance: float,
    options: dict[str, Any],
) -> tuple[Candidate | None, Remark]:
    """Solve the twin of one attempt, compiled once for each side and kind of solver."""
    quadratic = capability(solver).quadratic
    key = (side, quadratic, type(risk.loss))
    twin = formulation.twins.get(key)
    if twin is None:
        twin = formulation.twins[key] = Twin(risk, side, quadratic=quadratic)
    twin.set(risk)
    remark = run(twin.problem, solver, tolerance, options)
    candidate = twin.candidate(risk)
    if (
        candidate is not None
        and candidate.function is not None
        and formulation.page.in_coefficients
    ):
        candidate = replace(candidate, function=risk.in_coefficients(candidate.function))
    return candidate, remark


def better(
    best: tuple[Candidate, Verdict] | None, new: tuple[Candidate, Verdict]
) -> tuple[Candidate, Verdict]:
    """Return the answer of the smaller relative gap."""
    if best is None or new[1].certificate.relative_gap < best[1].certificate.relative_gap:
        return new
    return best


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
    verdict = certify(risk.centred, candidate, formulation.side, tol)
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


__all__ = ["SolverError", "certify_current", "choose_solver", "solve_formulation"]
