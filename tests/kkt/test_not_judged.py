"""What cannot be judged is said to be so, with the reason; and never holds."""

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.kkt import check_problem

from . import more_problems, problems
from .answers import Answer, by_kind, reasons, solve, solved_by_all

PRIMAL = "primal feasibility"


def test_changed_since_the_solve_is_not_judged():
    problem = solve(problems.soft_margin())
    w = next(v for v in problem.variables() if v.name() == "w")
    w.value = 1.001 * w.value
    report = check_problem(problem)
    assert not report.holds
    assert all("changed" in reason for reason in reasons(report))
    assert len(reasons(report)) == 4


def test_integer_variables_are_not_judged_beyond_feasibility():
    x = cp.Variable(2, integer=True, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.5])
    problem.solve(solver="HIGHS")
    report = check_problem(problem)
    assert not report.holds
    assert by_kind(report, PRIMAL)[0].holds
    assert any("no multiplier" in r or "integer" in r for r in reasons(report))


def test_unsolved_infeasible_and_unbounded_are_not_judged():
    x = cp.Variable()
    infeasible = solve(cp.Problem(cp.Minimize(x), [x >= 1, x <= 0]))
    unbounded = solve(cp.Problem(cp.Minimize(x), [x <= 0]))
    for problem in (cp.Problem(cp.Minimize(x)), infeasible, unbounded):
        report = check_problem(problem)
        assert not report.holds
        assert len(reasons(report)) == 4
        assert "not judged" in report.verdict


def test_missing_multiplier_is_not_judged():
    problem = solve(problems.lp())
    problem.constraints[0].dual_variables[0].save_value(None)
    report = check_problem(problem)
    assert not report.holds
    assert by_kind(report, PRIMAL)[0].holds
    assert any("no multiplier" in reason for reason in reasons(report))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_not_judged(bad):
    problem = solve(problems.lp())
    problem.constraints[0].dual_variables[0].save_value(np.array([bad, 0.0]))
    assert "an infinite or NaN value" in str(check_problem(problem))


def test_optimum_zero_by_its_data_is_not_judged_rather_than_refused():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(np.array([1.0, 2, 3]) @ x), [x >= 0, cp.sum(x) <= 5])
    report = check_problem(solve(problem, solver="CLARABEL"))
    assert report.worst.holds is not False, str(report)


def test_atom_without_gradient_that_cannot_be_copied_is_not_judged():
    u, s = cp.Variable(name="u"), cp.Variable(nonneg=True, name="s")
    f0 = cp.perspective(cp.square(u), s) + s  # u^2 / s + s
    problem = solve(cp.Problem(cp.Minimize(f0), [u == 2]))
    report = check_problem(problem, tol=1e-4)
    assert report.worst.holds is True
    assert any("perspective has no gradient" in reason for reason in reasons(report))


def test_failed_inner_solve_is_not_judged(monkeypatch):
    problem = solve(problems.hinge_kink())
    monkeypatch.setattr("kernelqp.kkt.inner.INNER_SOLVERS", ())
    report = check_problem(problem)
    assert not report.holds
    assert any("inner solve failed" in reason for reason in reasons(report))


def test_complex_problems_are_not_judged():
    z = cp.Variable(2, complex=True)
    problem = solve(cp.Problem(cp.Minimize(cp.norm(z)), [cp.real(z) == 1]))
    assert "complex" in check_problem(problem).verdict


def test_problems_that_are_not_convex_are_not_judged():
    x = cp.Variable(pos=True)
    problem = cp.Problem(cp.Minimize(x + 1 / (x * x)), [x <= 5])
    problem.solve(gp=True, solver="CLARABEL")
    report = check_problem(problem)
    assert not report.holds
    assert any("DCP" in reason or "multiplier" in reason for reason in reasons(report))


def test_homogeneous_problem_has_no_scale():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)))
    exact = check_problem(Answer({x.id: np.zeros(2)}, {}).write(problem))
    assert exact.holds
    noise = check_problem(Answer({x.id: np.array([1e-9, 0.0])}, {}).write(problem))
    assert not noise.holds
    assert noise.conditions[0].holds is None
    assert "no data" in noise.verdict


def test_unknown_cone_is_not_judged():
    x = cp.Variable(3, name="x")
    cone = cp.constraints.exponential.RelEntrConeQuad(x[0], x[1], x[2], 3, 3)
    problem = cp.Problem(cp.Minimize(x[2]), [cone, x[0] == 2, x[1] == 1])
    values = {x.id: np.array([2.0, 1.0, 2 * np.log(2)])}
    problem.unpack(cp.reductions.solution.Solution("optimal", 0.0, values, {}, {}))
    report = check_problem(problem)
    assert report.worst.holds is not False
    assert any("unknown cone RelEntrConeQuad" in reason for reason in reasons(report))


def test_hermitian_attributes_are_not_judged():
    H = cp.Variable((2, 2), hermitian=True, name="H")
    problem = solve(cp.Problem(cp.Minimize(cp.real(cp.trace(H))), [H >> np.eye(2)]))
    assert all("complex" in reason for reason in reasons(check_problem(problem)))
    assert len(reasons(check_problem(problem))) == 4


def test_changed_parameter_of_the_objective_is_not_judged():
    problem = solve(more_problems.parametrised_lasso())
    assert check_problem(problem, tol=1e-4).holds
    price = next(p for p in problem.parameters() if p.is_nonneg())
    price.value = 1.01 * price.value
    report = check_problem(problem, tol=1e-4)
    assert len(reasons(report)) == 4
    assert all("changed" in reason for reason in reasons(report))


@pytest.mark.parametrize(("cap", "kind"), [(0.5, PRIMAL), (2.0, "complementarity")])
def test_changed_parameter_of_a_constraint_is_refused(cap, kind):
    """The values still belong to the objective, so they are judged by the constraint as it is."""
    problem = solve(more_problems.parametrised_lasso())
    next(p for p in problem.parameters() if not p.is_nonneg()).value = cap
    report = check_problem(problem, tol=1e-4)
    assert report.worst.holds is False
    assert any(c.holds is False for c in by_kind(report, kind))


def test_parameter_without_value_is_not_judged():
    problem = solve(more_problems.parametrised_lasso())
    problem.parameters()[0]._value = None
    assert "a parameter without a value" in check_problem(problem).verdict


@pytest.mark.parametrize("build", more_problems.OPTIMUM_ZERO)
def test_optimum_zero_is_never_refused_at_any_solvers_defaults(build):
    for solver, problem in solved_by_all(build, {}):
        report = check_problem(problem, tol=1e-4)
        assert report.worst.holds is not False, f"{solver}: {report}"


@pytest.mark.parametrize("unit", [1e-2, 1e3])
def test_optimum_zero_is_never_refused_in_other_units(unit):
    """Solvers stop at absolute tolerances, so in small units they leave more than 1e-8 of it."""

    def build():
        x = cp.Variable(3, name="x")
        f0 = unit * np.array([1.0, 2.0, 3.0]) @ x
        return cp.Problem(cp.Minimize(f0), [x >= 0, cp.sum(x) <= 5 * unit])

    for solver, problem in solved_by_all(build, {}):
        report = check_problem(problem, tol=1e-4)
        assert report.worst.holds is not False, f"{solver}: {report}"


@pytest.mark.parametrize(
    "build", [more_problems.cone_qp, more_problems.cone_qp_attribute, more_problems.perfect_fit]
)
def test_optimum_zero_with_a_scale_holds(build):
    for solver, problem in solved_by_all(build, {}):
        assert check_problem(problem, tol=1e-4).holds, solver


@pytest.mark.parametrize("build", [more_problems.cone_qp, more_problems.cone_qp_attribute])
@pytest.mark.parametrize("size", [1e-3, 1e-2, 1.0])
def test_cone_program_off_its_optimum_zero_is_refused(build, size):
    problem = solve(build())
    (x,) = problem.variables()
    answer = Answer.of(problem)
    answer.primal[x.id] = np.array([size, 0.0, 0.0, 0.0])
    report = check_problem(answer.write(problem), tol=1e-4)
    assert report.worst.holds is False, str(report)


def test_feasibility_without_multipliers_holds_and_off_the_set_is_refused():
    problem = more_problems.feasibility()
    (x,) = problem.variables()
    zero = {c.id: [np.zeros(c.shape)] for c in problem.constraints}
    inside = Answer({x.id: np.array([0.4, 0.3, 0.3])}, zero)
    assert check_problem(inside.write(problem)).holds
    noisy = {key: [1e-12 + parts[0]] for key, parts in zero.items()}
    report = check_problem(Answer(inside.primal, noisy).write(problem))
    assert any("the objective is constant" in reason for reason in reasons(report))
    assert report.worst.holds is not False
    for wrong in ([0.6, 0.2, 0.2], [0.4, 0.3, 0.301], [0.5, 0.42, 0.08]):
        report = check_problem(Answer({x.id: np.array(wrong)}, noisy).write(problem), tol=1e-4)
        assert report.worst.holds is False, str(report)
