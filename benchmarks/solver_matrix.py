"""Every problem of the library, in both forms, by every solver: certified, honest, or wrong.

A cell is one problem in one form by one solver. It is "certified" where the answer is proved (or
proved infeasible) and meets [expected], "not certified" where the answer says so itself, "cannot"
where the solver says that it cannot take the problem, and "wrong" where what is proved is not what
is expected, which must never be. `tests/test_solver_matrix.py` runs the same cells.
"""

import math
import time
import warnings
from dataclasses import dataclass
from statistics import median

import cvxpy as cp

from benchmarks.record import store
from kernelqp.errors import SolverError, Status
from kernelqp.problem_file import load_problem, problem_names
from kernelqp.problem_file.expected import TOLERANCE
from kernelqp.solvers.cvxpy import silent

FORMS = ("primal", "dual")
CERTIFIED, NOT_CERTIFIED, CANNOT, WRONG = VERDICTS = (
    "certified",
    "not certified",
    "cannot",
    "wrong",
)
PROVED = (Status.CERTIFIED, Status.INFEASIBLE)
MEDIUM = 100  # rows from which seconds are compared: below, all that is timed is cvxpy's compiler
LARGE = 600  # rows above which only CLARABEL's dual is asked
SECONDS = 10.0  # for a page handed over as it stands; nothing else is set
LIMITS = {
    "HIGHS": {"time_limit": SECONDS},
    "OSQP": {"time_limit": SECONDS},
    "SCS": {"time_limit_secs": SECONDS},
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one solver made of one problem in one form; ``missed`` are the expectations not met."""

    verdict: str
    status: str
    value: float | None
    relative_gap: float | None
    seconds: float
    missed: dict


def solvers():
    """Return the names of the solvers that cvxpy has installed, sorted."""
    return tuple(sorted(cp.installed_solvers()))


def cells():
    """Return (name, form, solver) of every cell within its solver's size class."""
    return tuple(
        (name, form, solver)
        for name in problem_names()
        for form in FORMS
        for solver in solvers()
        if load_problem(name).n <= LARGE or (form, solver) == ("dual", "CLARABEL")
    )


def solve_cell(problem, form, solver):
    """Solve one cell, formulation included, and judge it."""
    started = time.perf_counter()
    try:
        result = problem.solve(form=form, solver=solver)
    except SolverError as error:
        return Cell(CANNOT, type(error).__name__, None, None, time.perf_counter() - started, {})
    seconds = time.perf_counter() - started
    missed = {name: check for name, check in problem.check(result).items() if not check.ok}
    proved = result.status in PROVED
    certificate = getattr(result, "certificate", None)
    return Cell(
        verdict=(WRONG if missed else CERTIFIED) if proved else NOT_CERTIFIED,
        status=result.status.name,
        value=getattr(result, "value", None),
        relative_gap=None if certificate is None else certificate.relative_gap,
        seconds=seconds,
        missed=missed,
    )


def solve_literally(problem, form, solver):
    """Solve the page as it stands with cvxpy, at the solver's tolerances: (its word, its value)."""
    page = (problem.primal() if form == "primal" else problem.dual()).problem
    try:
        with warnings.catch_warnings(), silent():
            warnings.simplefilter("ignore")
            value = page.solve(solver=solver, **LIMITS.get(solver, {}))
    except (cp.error.SolverError, cp.error.DCPError, ValueError) as error:
        return type(error).__name__, None
    return page.status, None if value is None or not math.isfinite(value) else float(value)


def claims_wrongly(word, value, form, expected):
    """Whether a solver calls optimal, infeasible or unbounded what is known to be otherwise.

    A value is off where it differs by more than 1e-6 of it, the tolerance of the library.
    """
    if "value" in expected:
        off = value is None or abs(value - expected["value"]) > TOLERANCE * abs(expected["value"])
        return (word == cp.OPTIMAL and off) or word in (cp.INFEASIBLE, cp.UNBOUNDED)
    return word in (cp.OPTIMAL, cp.UNBOUNDED if form == "primal" else cp.INFEASIBLE)


def measure():
    """Return the row of every cell; a solver's first run in a process is not the one timed."""
    xor, problems = load_problem("xor"), {name: load_problem(name) for name in problem_names()}
    for solver in solvers():
        for form in FORMS:
            solve_cell(xor, form, solver)
    rows = []
    for name, form, solver in cells():
        cell = solve_cell(problems[name], form, solver)
        word, value = solve_literally(problems[name], form, solver)
        rows.append(
            {
                "problem": name,
                "n": problems[name].n,
                "form": form,
                "solver": solver,
                "value": cell.value,
                "relative_gap": cell.relative_gap,
                "seconds": cell.seconds,
                "status": cell.status,
                "verdict": cell.verdict,
                "meets_expected": not cell.missed and cell.verdict != CANNOT,
                "missed": sorted(cell.missed) if cell.verdict == WRONG else [],
                "literal_word": word,
                "literal_value": value,
                "literal_wrong": claims_wrongly(word, value, form, problems[name].expected),
            }
        )
        print(
            f"{name:27} {form:7} {solver:9} {cell.verdict:14} {cell.seconds:8.3f} s, cvxpy: {word}"
        )
    return rows


def summary(rows):
    """Return one row for each solver and form: cells by verdict; seconds are of n >= 100."""
    table = []
    for solver in sorted({row["solver"] for row in rows}):
        for form in FORMS:
            of = [row for row in rows if (row["solver"], row["form"]) == (solver, form)]
            counts = {v: sum(row["verdict"] == v for row in of) for v in VERDICTS}
            table.append(
                {
                    "solver": solver,
                    "form": form,
                    "cells": len(of),
                    **counts,
                    "literal_wrong": sum(row["literal_wrong"] for row in of),
                    "seconds": median(row["seconds"] for row in of if row["n"] >= MEDIUM),
                    "slowest": max(row["seconds"] for row in of),
                    "without": [row["problem"] for row in of if row["verdict"] == NOT_CERTIFIED],
                }
            )
    return table


def claim(rows):
    """Return the sentence that the rows support."""
    counts = {v: sum(row["verdict"] == v for row in rows) for v in VERDICTS}
    return (
        f"of {len(rows)} cells (problem, form, solver) {counts[CERTIFIED]} are certified and meet "
        f"the expected value, {counts[NOT_CERTIFIED]} say that they are not certified, in "
        f"{counts[CANNOT]} the solver cannot take the problem and says so, "
        f"{counts[WRONG]} are certified and wrong; handed to cvxpy as they stand, "
        f"{sum(row['literal_wrong'] for row in rows)} end with a claim that is wrong, in the value "
        f"by more than 1e-6"
    )


def main():
    """Run every cell, print the table by solver and form, store the rows."""
    rows = measure()
    heads = ("certified", "not", "cannot", "wrong", "raw wrong", "median s", "slowest")
    print(f"\n{'solver':9} {'form':7} " + " ".join(f"{head:>9}" for head in heads))
    for line in summary(rows):
        share = f"{line[CERTIFIED]}/{line['cells']}"
        counts = (line[v] for v in (NOT_CERTIFIED, CANNOT, WRONG, "literal_wrong"))
        print(
            f"{line['solver']:9} {line['form']:7} {share:>9} "
            + " ".join(f"{count:9}" for count in counts)
            + f" {line['seconds']:9.3f} {line['slowest']:9.2f}  {', '.join(line['without'])}"
        )
    store("solver_matrix", rows, claim(rows))


if __name__ == "__main__":
    main()
