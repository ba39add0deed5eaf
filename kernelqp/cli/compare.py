"""`kernelqp compare FILE`: every form by every solver, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelqp.cli.outcome import ROUNDING, Failed, Refuted
from kernelqp.compare import Comparison, compare
from kernelqp.errors import InputError, SolverFailed, Status
from kernelqp.solution import Infeasible, Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelqp.problem_file import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One form by one solver, as they were asked for, and what came of it."""

    form: str
    solver: str
    result: Solution | Refuted | Failed

    @property
    def proved(self) -> bool:
        """Whether the answer is certified, or is a proof that there is none."""
        if isinstance(self.result, Solution):
            return self.result.status is Status.CERTIFIED
        return self.result.proved


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What `kernelqp compare` found.

    Attributes
    ----------
    problem : Problem
    runs : tuple of Run
        By form, then by solver, as they were asked for.
    comparison : Comparison or None
        Of the runs that have a point, in their order; None if none has.
    """

    problem: Problem
    runs: tuple[Run, ...]
    comparison: Comparison | None

    @property
    def succeeded(self) -> bool:
        """Whether every run is proved and they agree: all certified, or all infeasible."""
        kinds = {type(run.result) for run in self.runs}
        agree = self.comparison is None or self.comparison.agree
        return len(kinds) == 1 and agree and all(run.proved for run in self.runs)

    @property
    def verdict(self) -> str:
        """The verdict over the runs that have a point, and what is said of the others."""
        said = [] if self.comparison is None else [self.comparison.verdict]
        open_ = [
            f"the {run.form} by {run.solver} is {run.result.status.name}"
            for run in self.runs
            if isinstance(run.result, Solution) and not run.proved
        ]
        failed = [run.solver for run in self.runs if isinstance(run.result, Failed)]
        refuted = [run.result for run in self.runs if isinstance(run.result, Refuted)]
        if open_:
            said.append(f"not certified: {', '.join(open_)}")
        if failed:
            said.append(f"no answer from {', '.join(dict.fromkeys(failed))}")
        if refuted:
            said.append(f"infeasible: {refuted[0].result.proof}")
        if refuted and self.comparison is not None:
            said.append("a point and a proof that there is none contradict each other")
        return "; ".join(said)


def listed(given: Iterable[str], default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated and may hold commas, each once.

    Raises
    ------
    InputError
        If a name is empty.
    """
    names = [name.strip() for text in given for name in text.split(",")]
    if not all(names):
        raise InputError(f"a name is empty in {', '.join(map(repr, given))}: separate by one comma")
    return tuple(dict.fromkeys(names)) or default


def run(
    problem: Problem,
    forms: tuple[str, ...],
    solvers: tuple[str, ...],
    tol: float,
    progress: Callable[[str], None],
) -> Compared:
    """Solve every form by every solver and compare what has a point.

    Raises
    ------
    InputError
        If the problem, a form or tol cannot be used.
    SolverNotInstalled
        If a solver is not there.
    """
    runs = []
    for form in dict.fromkeys(name for given in forms for name in _both(problem, given)):
        for solver in solvers:
            progress(f"solving the {form} of {problem.name} by {solver} (n = {problem.n})")
            runs.append(Run(form, solver, _solve(problem, form, solver, tol)))
    points = [run.result for run in runs if isinstance(run.result, Solution)]
    progress("judging the KKT conditions")
    comparison = compare(points, max(tol, ROUNDING)) if points else None
    if comparison is not None:
        comparison.results  # noqa: B018  # solved and judged here, shown without a wait
    return Compared(problem, tuple(runs), comparison)


def _both(problem: Problem, form: str) -> tuple[str, ...]:
    return problem.sides if form == "both" else (form,)


def _solve(problem: Problem, form: str, solver: str, tol: float) -> Solution | Refuted | Failed:
    try:
        result = problem.solve(form=form, solver=solver, tol=tol)
    except SolverFailed as error:
        return Failed(str(error))
    return Refuted(result) if isinstance(result, Infeasible) else result
