"""Solve a problem in one or both forms and collect what is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelqp.check import check_kkt
from kernelqp.compare import Comparison, compare
from kernelqp.errors import SolverFailed, Status
from kernelqp.problem_file.expected import Check
from kernelqp.solution import Infeasible, Solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp.kkt import KKTReport
    from kernelqp.problem_file import Problem

FORMS = ("dual", "primal")
ROUNDING = 1e-12  # two certified values agree to rounding at best, however small tol is


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A form that has a point: the solution and its KKT report."""

    solution: Solution
    kkt: KKTReport

    @property
    def proved(self) -> bool:
        """Whether the solution is certified."""
        return self.solution.status is Status.CERTIFIED


@dataclass(frozen=True, slots=True, eq=False)
class Refuted:
    """A form that no point satisfies, with proof."""

    result: Infeasible
    proved: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """A form whose solver failed without an answer."""

    message: str
    proved: bool = False


Form = Solved | Refuted | Failed


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the command found.

    Attributes
    ----------
    problem : Problem
    forms : dict of str to Solved, Refuted or Failed
        By "dual" and "primal".
    checks : dict of str to Check
        Every expectation; of several forms the first that misses it, else the first.
    comparison : Comparison or None
        None unless both forms have a point.
    """

    problem: Problem
    forms: dict[str, Form]
    checks: dict[str, Check]
    comparison: Comparison | None

    @property
    def solutions(self) -> list[Solution]:
        """The solutions of the forms that have a point."""
        return [form.solution for form in self.forms.values() if isinstance(form, Solved)]

    @property
    def certified(self) -> bool:
        """Whether every form has a certified value."""
        return all(isinstance(form, Solved) and form.proved for form in self.forms.values())

    @property
    def proved(self) -> bool:
        """Whether every form is certified, or every form infeasible with proof."""
        kinds = {type(form) for form in self.forms.values()}
        return len(kinds) == 1 and all(form.proved for form in self.forms.values())

    @property
    def met(self) -> bool:
        """Whether every expectation is met."""
        return all(check.ok for check in self.checks.values())

    @property
    def agree(self) -> bool:
        """Whether the values of the two forms agree; True for one form."""
        return self.comparison is None or self.comparison.agree

    @property
    def succeeded(self) -> bool:
        """Whether everything is proved, in agreement and as expected."""
        return self.proved and self.met and self.agree

    @property
    def support_vectors(self) -> int | None:
        """The number of support vectors of the first form that tells them."""
        counts = [count_support(solution) for solution in self.solutions]
        return next((count for count in counts if count is not None), None)


def run(
    problem: Problem,
    forms: tuple[str, ...],
    solver: str,
    tol: float,
    progress: Callable[[str], None],
) -> Outcome:
    """Solve the forms one after the other and judge each.

    Raises
    ------
    InputError
        If the problem or tol cannot be used.
    SolverNotInstalled
        If the solver is not there.
    """
    found: dict[str, Form] = {}
    for form in forms:
        progress(f"solving the {form} of {problem.name} (n = {problem.n})")
        found[form] = _solve(problem, form, solver, tol)
    solutions = [form.solution for form in found.values() if isinstance(form, Solved)]
    comparison = compare(solutions, max(tol, ROUNDING)) if len(solutions) == 2 else None
    return Outcome(problem, found, _checks(problem, found), comparison)


def count_support(solution: Solution) -> int | None:
    """Return the number of support vectors; None for a method that has none."""
    support = getattr(solution, "support", None)
    return None if support is None else len(support.support_vectors)


def _solve(problem: Problem, form: str, solver: str, tol: float) -> Form:
    try:
        result = problem.solve(form=form, solver=solver, tol=tol)
    except SolverFailed as error:
        return Failed(str(error))
    if isinstance(result, Infeasible):
        return Refuted(result)
    return Solved(result, check_kkt(result, tol=tol))


def _checks(problem: Problem, forms: dict[str, Form]) -> dict[str, Check]:
    """Return one check for each expectation: the first form that misses it, else the first form."""
    tables = []
    for form in forms.values():
        if isinstance(form, Failed):
            missing = {k: Check(want, None, ok=False) for k, want in problem.expected.items()}
            missing.pop("tolerance", None)
            tables.append(missing)
        else:
            result = form.solution if isinstance(form, Solved) else form.result
            tables.append(problem.check(result))
    return {
        key: next((table[key] for table in tables if not table[key].ok), tables[0][key])
        for key in tables[0]
    }
