"""Outcomes and problems as JSON; a number that is not finite becomes null."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from kernelqp.cli.outcome import Failed, Form, Outcome, Refuted, Solved

if TYPE_CHECKING:
    from kernelqp.cli.compare import Compared, Run
    from kernelqp.compared_result import ComparedResult
    from kernelqp.kkt import KKTReport
    from kernelqp.model_certificate import ModelCertificate
    from kernelqp.problem_file import Problem
    from kernelqp.solution import Solution

NUMBERS = ("value", "primal_value", "dual_value", "relative_gap")
FAILED = "SOLVER_FAILED"


def dumps(value: Any) -> str:
    """Return strict JSON.

    Examples
    --------
    >>> print(dumps({"gap": float("inf")}))
    {
      "gap": null
    }
    """
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def of_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the report of `kernelqp solve --json`."""
    return {
        "title": outcome.problem.title,
        "method": type(outcome.problem.method).__name__,
        "n": outcome.problem.n,
        "certified": outcome.certified,
        "support_vectors": outcome.support_vectors,
        "forms": {name: _of_form(form) for name, form in outcome.forms.items()},
        "expected": {
            key: {"want": check.want, "got": check.got, "ok": check.ok}
            for key, check in outcome.checks.items()
        },
    }


def of_comparison(found: Compared) -> dict[str, Any]:
    """Return the report of `kernelqp compare --json`; runs without a point have nulls."""
    comparison = found.comparison
    lines = iter(() if comparison is None else comparison.results)
    table = [
        _without_point(run)
        if isinstance(run.result, Failed | Refuted)
        else _of_line(run, next(lines))
        for run in found.runs
    ]
    names = ("lower", "upper", "agree", "same_multipliers", "same_intercept", "intercept_interval")
    return {
        "title": found.problem.title,
        "method": type(found.problem.method).__name__,
        "n": found.problem.n,
        "succeeded": found.succeeded,
        "verdict": found.verdict,
        **{name: getattr(comparison, name, None) for name in names},
        "wrong": [k for k, line in enumerate(table) if line["judgement"] == "wrong"],
        "results": table,
    }


def _of_line(run: Run, line: ComparedResult) -> dict[str, Any]:
    """Return one result that has a point."""
    sets = ("support_vectors", "elbow", "left", "right")
    return {
        "form": run.form,
        "asked": run.solver,
        "solver": line.solver,
        "status": line.status,
        "value": line.value,
        "primal_value": line.upper,
        "dual_value": line.lower,
        "relative_gap": line.relative_gap,
        "seconds": line.seconds,
        "kkt": {"holds": line.kkt_holds, **line.kkt},
        "sets": {name: getattr(line, name) for name in sets},
        "judgement": line.judgement,
    }


def _without_point(run: Run) -> dict[str, Any]:
    """Return one result that has none: a proof that there is none, or a solver that failed."""
    empty: dict[str, Any] = dict.fromkeys((*NUMBERS, "seconds", "kkt", "sets", "judgement"))
    head = {"form": run.form, "asked": run.solver, "solver": None}
    if isinstance(run.result, Failed):
        return head | {"status": FAILED} | empty | {"message": run.result.message}
    result = run.result.result if isinstance(run.result, Refuted) else run.result
    ending = {"seconds": result.seconds, "judgement": "infeasible"}
    return head | {"status": result.status.name} | empty | ending


def of_model(found: ModelCertificate) -> dict[str, Any]:
    """Return the report of `kernelqp certify --json`."""
    names = ("name", "objective", "primal_value", "dual_value", "best_value", "gap")
    sets = found.support
    return {name: getattr(found, name) for name in (*names, "relative_gap", "tol")} | {
        "certified": found.certified,
        "support_vectors": None if sets is None else len(sets.support_vectors),
        "verdict": found.verdict,
        "problems": [of_model(problem) for problem in found.problems],
    }


def of_problem(problem: Problem) -> dict[str, Any]:
    """Return one line of `kernelqp problems --json`."""
    return {
        "name": problem.name,
        "title": problem.title,
        "method": type(problem.method).__name__,
        "n": problem.n,
        "value": problem.expected.get("value"),
        "status": problem.expected.get("status"),
        "source": problem.source.strip(),
    }


def _of_form(form: Form) -> dict[str, Any]:
    """Return one form; without a point the numbers are null and the status says why."""
    if isinstance(form, Solved):
        return _of_solution(form.solution) | {"kkt": _of_kkt(form.kkt)}
    empty: dict[str, Any] = dict.fromkeys(NUMBERS)
    if isinstance(form, Failed):
        ending = {"status": FAILED, "solver": None, "seconds": None, "kkt": None}
        return empty | ending | {"message": form.message}
    result = form.result
    ending = {"status": result.status.name, "solver": None, "seconds": None, "kkt": None}
    return empty | ending | {"seconds": result.seconds, "proof": str(result.proof)}


def _of_solution(solution: Solution) -> dict[str, Any]:
    certificate = solution.certificate
    return {
        "value": solution.value,
        "primal_value": certificate.primal_value,
        "dual_value": certificate.dual_value,
        "relative_gap": certificate.relative_gap,
        "status": solution.status.name,
        "solver": solution.solver,
        "seconds": solution.seconds,
    }


def _of_kkt(kkt: KKTReport) -> dict[str, Any]:
    """Return the verdict, the name of the worst condition, and all of them."""
    names = ("name", "value", "scale", "tolerance", "holds", "where")
    conditions = [{name: getattr(c, name) for name in names} for c in kkt.conditions]
    return {"holds": kkt.holds, "worst": kkt.worst.name, "conditions": conditions}


def _plain(value: Any) -> Any:
    """Return a value in JSON's own types; NumPy's scalars and arrays become Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
