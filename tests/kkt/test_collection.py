"""True optima hold, wrong answers do not: every problem, every solver, every unit."""

import cvxpy as cp
import pytest

from kernelqp.kkt import check_problem, lagrangian

from . import more_problems, problems
from .answers import TIGHT, TIGHTENED, Answer, in_units, solve, solved_by_all

EVERY = (*problems.ALL, *more_problems.MORE)
WRONG = {
    "moved up": (1.1, 1.0),
    "moved down": (0.9, 1.0),
    "flipped multipliers": (1.0, -1.0),
    "larger multipliers": (1.0, 1.2),
    "smaller multipliers": (1.0, 0.8),
    "no multipliers": (1.0, 0.0),
}
PLAIN = {
    f
    for f in EVERY
    if not any(v for variable in f().variables() for v in variable.attributes.values())
}


def reference(build):
    return solve(build(), **TIGHT).value


def judged(build, options, tol):
    """Solvers whose answer holds; an answer that is refused must be wrong in value as well."""
    accepted, best = [], reference(build)
    for solver, problem in solved_by_all(build, options):
        report = check_problem(problem, tol)
        if report.holds:
            accepted.append(solver)
            assert problem.value == pytest.approx(best, rel=10 * tol), solver
        else:
            wrong = abs(problem.value - best) > tol * abs(best)
            assert wrong, f"{solver} ({problem.status}) at {problem.value}, best {best}:\n{report}"
    return accepted


def test_there_are_enough_problems():
    assert len(EVERY) == len({f.__name__ for f in EVERY}) >= 65
    assert sum(isinstance(f().objective, cp.Maximize) for f in EVERY) >= 15


@pytest.mark.parametrize("build", EVERY)
def test_every_solver_at_its_defaults_is_accepted_at_1e_4(build):
    assert "CLARABEL" in judged(build, {}, 1e-4)


@pytest.mark.parametrize("build", EVERY)
def test_every_solver_tightened_is_accepted_at_1e_6(build):
    assert "CLARABEL" in judged(build, TIGHTENED, 1e-6)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("build", EVERY)
def test_wrong_answer_is_refused(build, wrong):
    problem = solve(build(), **TIGHT)
    answer, (move, multiply) = Answer.of(problem), WRONG[wrong]
    if multiply != 1.0 and not answer.has_multipliers:
        pytest.skip("nothing to change")
    report = check_problem(answer.scaled(move, multiply).write(problem), tol=1e-4)
    assert not report.holds, str(report)
    assert report.worst.holds is False, str(report)
    assert "changed" not in str(report)


@pytest.mark.parametrize("build", sorted(PLAIN, key=lambda f: f.__name__))
def test_units_do_not_change_a_verdict(build):
    problem = solve(build(), **TIGHT)
    answer = Answer.of(problem)
    for unit, currency, row in [(1e-6, 1e6, 1.0), (1e6, 1e-6, 1e6), (1e6, 1e6, 1e-6)]:
        right = check_problem(in_units(answer.write(problem), unit, currency, row), tol=1e-6)
        assert right.holds, str(right)
        moved = answer.scaled(move=1.05).write(problem)
        assert not check_problem(in_units(moved, unit, currency, row), tol=1e-4).holds


@pytest.mark.filterwarnings("ignore:Reading from a sparse CVXPY expression")
@pytest.mark.parametrize("build", EVERY)
def test_lagrangian_equals_the_optimal_value(build):
    problem = solve(build(), **TIGHT)
    found = lagrangian(problem)
    assert found.value() == pytest.approx(found.sign * problem.value, rel=1e-5)
    assert float(found.expression.value) == pytest.approx(found.value(), rel=1e-9)
