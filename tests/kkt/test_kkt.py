"""True optima are accepted, wrong answers refused, whatever the problem, solver and units."""

import math
import time
import warnings

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.errors import InputError
from kernelqp.kkt import check_problem, lagrangian

from . import problems
from .answers import TIGHT, Answer, by_kind, solve

DUAL, PRIMAL = "dual feasibility", "primal feasibility"


def test_negative_multiplier_is_refused_though_all_else_vanishes():
    x = cp.Variable(name="x")
    cap = x <= 1
    problem = cp.Problem(cp.Minimize(0.5 * x**2), [cap])
    Answer({x.id: np.array(1.0)}, {cap.id: [np.array(-1.0)]}).write(problem)
    report = check_problem(problem, names={cap.id: "cap"})
    assert not report.holds
    assert report.worst.name == "dual feasibility: cap"
    assert report.worst.value == 1.0
    assert [c.holds for c in report.conditions] == [True, False, True, True]


def weighted_svm(copies, lam_error=1.0):
    X, y = problems.labels()
    X, y = np.tile(X, (copies, 1)), np.tile(y, copies)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(y.size)
    f0 = 0.5 * cp.sum_squares(w) + 2.0 / copies * cp.sum(xi)
    margin, slack = cp.multiply(y, X @ w + b) >= 1 - xi, xi >= 0
    return cp.Problem(cp.Minimize(f0), [margin, slack])


@pytest.mark.parametrize("error", [0.0, 0.3, 3.0])
def test_repeated_rows_with_divided_weights_change_nothing(error):
    """An error of 0.3 tolerances passes once and twelvefold, one of 3 tolerances never."""
    once, often = solve(weighted_svm(1), **TIGHT), weighted_svm(12)
    tol = 1e-4
    for constraint in once.constraints:
        constraint.dual_variables[0].save_value(np.maximum(constraint.dual_value, 0))
    plain = check_problem(once, tol)
    unit = next(c.scale for c in plain.conditions if c.name == "dual feasibility: constraint 0")
    lam = np.array(once.constraints[0].dual_value)
    lam[int(np.argmin(lam))] = -error * tol * unit
    once.constraints[0].dual_variables[0].save_value(lam)
    w, b, xi = (np.array(v.value) for v in (once.variables()[i] for i in (0, 2, 1)))
    slots = {v.shape: v for v in often.variables()}
    values = {slots[3,].id: w, slots[()].id: b, slots[360,].id: np.tile(xi, 12)}
    duals = {
        new.id: [np.tile(old.dual_value, 12) / 12]
        for new, old in zip(often.constraints, once.constraints, strict=True)
    }
    Answer(values, duals).write(often)
    first, twelvefold = check_problem(once, tol), check_problem(often, tol)
    assert first.holds == twelvefold.holds == (error < 1), str(twelvefold)
    for a, b in zip(by_kind(first, DUAL), by_kind(twelvefold, DUAL), strict=True):
        assert a.ratio == pytest.approx(b.ratio, rel=1e-6)


def test_maximise_and_minimise_are_one_problem():
    problem = solve(problems.svm_dual(), **TIGHT)
    flipped = cp.Problem(cp.Minimize(-problem.objective.expr), problem.constraints)
    report = check_problem(Answer.of(problem).write(flipped))
    assert report.holds, str(report)


@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_kink_is_accepted_on_evidence_and_its_neighbour_refused(weight):
    x = cp.Variable(2, name="x")
    kink = weight * cp.norm1(x - np.array([1.0, 0.0])) + 0.5 * cp.abs(x[0] + x[1] - 1)
    problem = solve(cp.Problem(cp.Minimize(kink + 0.1 * cp.sum_squares(x))))
    right = Answer({x.id: np.array([1.0, 0.0])}, {})
    report = check_problem(right.write(problem))
    assert report.holds, str(report)
    (condition,) = report.conditions
    assert condition.evidence == "evidence"
    assert "gradient" in condition.where
    off = Answer({x.id: np.array([1.0, 0.01])}, {})
    assert not check_problem(off.write(problem)).holds


@pytest.mark.parametrize("b_value", [0.0, 1e-13])
def test_a_variable_at_zero_does_not_close_the_box(b_value):
    """A box of 2 max|x| around b = 0 is empty: then any gradient in b would pass."""
    x, y = np.array([1.0, -1.0]), np.array([1.0, -1.0])
    w, b = cp.Variable(name="w"), cp.Variable(name="b")
    margin = cp.multiply(y, x * w + b) >= 1
    problem = cp.Problem(cp.Minimize(0.5 * w**2), [margin])
    values = {w.id: np.array(1.0), b.id: np.array(b_value)}
    right = Answer(values, {margin.id: [np.array([0.5, 0.5])]})
    assert check_problem(right.write(problem)).holds
    unbalanced = Answer(values, {margin.id: [np.array([0.6, 0.4])]})  # w = Σ lam y x still holds
    report = check_problem(unbalanced.write(problem), tol=1e-4)
    assert report.worst.holds is False
    assert "b" in report.worst.name


@pytest.mark.parametrize("huge", [1e6, 1e9, 1e12])
def test_huge_inactive_bounds_do_not_loosen_the_scale(huge):
    x = cp.Variable(3, name="x")
    f0 = cp.sum_squares(x - np.array([1.0, 2.0, -1.0]))
    problem = cp.Problem(cp.Minimize(f0), [x >= 0, x <= huge, cp.sum(x) <= huge])
    duals = [np.array([0.0, 0.0, 2.0]), np.zeros(3), np.array(0.0)]
    dual = {c.id: [d] for c, d in zip(problem.constraints, duals, strict=True)}
    report = check_problem(Answer({x.id: np.array([1.0, 2.0, 0.0])}, dual).write(problem))
    assert report.holds, str(report)
    assert report.conditions[0].scale < 10
    for wrong in ([1.0, 2.0, -1e-3], [1.01, 2.0, 0.0], [1.0, 2.0, 0.01]):
        report = check_problem(Answer({x.id: np.array(wrong)}, dual).write(problem))
        assert not report.holds, str(report)
        assert huge > 1e6 or report.worst.holds is False


@pytest.mark.parametrize(
    "build",
    [
        problems.hinge_kink,
        problems.lasso,
        problems.entropy,
        problems.norm_fit,
        problems.nonneg_attribute,
    ],
)
def test_the_users_values_survive_the_inner_solve(build):
    problem = solve(build())
    before, stats = Answer.of(problem), problem.solver_stats
    value, status = problem.value, problem.status
    check_problem(problem, tol=1e-4)
    check_problem(problem, tol=1e-13)
    after = Answer.of(problem)
    assert all(np.array_equal(x, after.primal[k]) for k, x in before.primal.items())
    for key, parts in before.dual.items():
        assert all(map(np.array_equal, parts, after.dual[key]))
    assert (value, status, stats) == (problem.value, problem.status, problem.solver_stats)


def test_atom_without_gradient_is_judged_by_the_inner_solve(monkeypatch):
    monkeypatch.setattr(cp.log_sum_exp, "_grad", lambda *_: [None])
    x = cp.Variable(3, name="x")
    f0 = cp.log_sum_exp(x) + cp.sum_squares(x - np.array([1.0, 2.0, 3.0]))
    problem = solve(cp.Problem(cp.Minimize(f0), [cp.sum(x) == 1]))
    report = check_problem(problem, tol=1e-4)
    assert report.holds, str(report)
    assert "log_sum_exp has no gradient" in str(report)
    wrong = Answer.of(problem).scaled(multiply=1.2).write(problem)
    assert not check_problem(wrong, tol=1e-4).holds


def test_gradient_may_prove_the_gap_without_an_inner_solve(monkeypatch):
    """An error of 1e-3 in x is worth 1e-9 of 900: the subgradient inequality says so."""
    monkeypatch.setattr("kernelqp.kkt.inner.INNER_SOLVERS", ())
    x, z = cp.Variable(name="x"), cp.Variable(name="z")
    floor = z >= 30
    problem = cp.Problem(cp.Minimize(1e-3 * (x - 1) ** 2 + z**2), [floor])
    values = {x.id: np.array(1.001), z.id: np.array(30.0)}
    Answer(values, {floor.id: [np.array(60.0)]}).write(problem)
    report = check_problem(problem, tol=1e-5)
    assert report.holds, str(report)
    assert report.conditions[-1].evidence == "proof"
    assert "bounded by the gradient; gradient of x: 2.0e-06" in report.conditions[-1].where


def test_second_inner_solver_steps_in(monkeypatch):
    problem = solve(problems.hinge_kink())
    solvers = (("NOSUCH", ()), ("SCS", ("eps_abs", "eps_rel")))
    monkeypatch.setattr("kernelqp.kkt.inner.INNER_SOLVERS", solvers)
    assert check_problem(problem, tol=1e-4).holds


@pytest.mark.filterwarnings("ignore::cvxpy.utilities.warn.CvxpyDeprecationWarning")
def test_legacy_constraints_have_the_signs_of_the_module_docstring():
    x = cp.Variable(2, name="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constraints = [cp.NonPos(x[0] - 1), cp.NonNeg(x[1] - 4), cp.Zero(x[0] - x[1] + 3)]
    problem = solve(cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([2.0, 3.0]))), constraints))
    assert all(t.multipliers is not None for t in lagrangian(problem).terms)
    assert check_problem(problem, tol=1e-5).holds


def test_names_labels_and_shapes_reach_the_report():
    x = cp.Variable(1, name="x")
    named, plain = x[0] <= 1, x >= -5
    problem = solve(cp.Problem(cp.Minimize((x[0] - 3) ** 2), [named, plain]))
    report = check_problem(problem, names={named.id: "cap"})
    names = [c.name for c in report.conditions]
    assert "dual feasibility: cap" in names
    assert "complementarity: constraint 1" in names
    assert "stationarity: x" in names
    assert report.holds


def test_report_points_at_the_worst_entry():
    problem = solve(problems.transport(), **TIGHT)
    answer = Answer.of(problem)
    answer.primal[problem.variables()[0].id][2, 1] -= 5.0
    report = check_problem(answer.write(problem), tol=1e-4)
    worst = next(c for c in report.conditions if c.name == "primal feasibility: constraint 2")
    assert worst.where == (2, 1)
    assert worst.holds is False


def test_report_is_a_table_with_one_verdict():
    text = str(check_problem(solve(problems.soft_margin())))
    lines = text.splitlines()
    assert lines[0].split() == ["condition", "value", "scale", "tolerance", "holds", "by", "where"]
    assert lines[-1].startswith("KKT holds at tol = 1e-06 (proved)")
    assert len(lines) == 1 + 9 + 1


@pytest.mark.parametrize("tol", [0, -1e-6, math.nan, math.inf, "1e-6", True, None])
def test_bad_tolerance_raises(tol):
    with pytest.raises(InputError, match="tol must be a positive finite number"):
        check_problem(solve(problems.lp()), tol=tol)


def test_what_is_no_problem_raises():
    with pytest.raises(InputError, match=r"solved cvxpy\.Problem; got int"):
        check_problem(3)


def test_large_dual_is_fast_and_never_asks_for_eigenvalues(monkeypatch):
    """n = 1797, written back as by an engine of our own: cvxpy has cached nothing."""

    def never(*args, **kwargs):
        msg = "an eigenvalue test was triggered"
        raise AssertionError(msg)

    monkeypatch.setattr("cvxpy.utilities.linalg.is_psd_within_tol", never)
    monkeypatch.setattr("scipy.sparse.linalg.eigsh", never)
    n, rng = 1797, np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y, K = np.sign(X[:, 0] + 0.1), X @ X.T
    alpha = cp.Variable(n, name="alpha")
    quadratic = cp.quad_form(cp.multiply(y, alpha), cp.psd_wrap(K))
    problem = cp.Problem(
        cp.Maximize(cp.sum(alpha) - 0.5 * quadratic), [alpha >= 0, alpha <= 1, y @ alpha == 0]
    )
    constraints = problem.constraints
    dual = {c.id: [np.full(c.shape, 0.5)] for c in constraints}
    Answer({alpha.id: np.full(n, 0.5)}, dual).write(problem)
    monkeypatch.setattr("kernelqp.kkt.inner.INNER_SOLVERS", ())
    start = time.perf_counter()
    report = check_problem(problem)
    assert time.perf_counter() - start < 2.0
    assert not report.holds
