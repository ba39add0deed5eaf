"""The dual function bounds the optimum, reaches it, and refuses multipliers that bound nothing."""

import math

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.errors import InputError, SolverFailed
from kernelqp.kkt import dual_function, lagrangian

from . import more_problems, problems
from .answers import TIGHT, Answer, solve

EVERY = (*problems.ALL, *more_problems.MORE)
ACCURACY = 1e-6  # of the value; the inner solve is asked for 1e-9
BOUNDED = (  # strongly convex in all of x, or x in a bounded set: finite at any multipliers
    problems.qp,
    problems.equality_qp,
    problems.least_squares,
    problems.portfolio,
    problems.nonneg_attribute,
    problems.lasso,
    problems.huber,
    problems.entropy,
    more_problems.divergence,
    more_problems.log_sum_exp,
    more_problems.nearest_correlation,
    more_problems.symmetric_attribute,
    more_problems.diagonal_attribute,
    more_problems.sparse_attribute,
    more_problems.nonpos_attribute,
    more_problems.powers,
    more_problems.parametrised_lasso,
)


def sign(problem):
    return 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0


def duals(problem):
    return {
        c: [d.value for d in c.dual_variables] if len(c.dual_variables) > 1 else c.dual_value
        for c in problem.constraints
    }


def other_multipliers(problem, rng):
    """Stay in the dual cone: positive factors by row for inequalities, one for each cone."""
    found = {}
    for term in lagrangian(problem).terms:
        factor = rng.uniform(0.7, 1.3, size=() if term.is_cone else term.constraint.shape)
        moved = [factor * d for d in term.duals()]
        if term.is_equality:
            moved = [m + 0.1 * rng.normal(size=m.shape) for m in moved]
        found[term.name] = moved if len(moved) > 1 else moved[0]
    return found


@pytest.mark.parametrize("build", EVERY)
def test_saved_multipliers_reach_the_optimum(build):
    problem = solve(build(), **TIGHT)
    value = problem.value
    assert dual_function(problem) == pytest.approx(value, rel=ACCURACY)


@pytest.mark.parametrize("build", EVERY)
def test_no_multipliers_beat_the_optimum(build):
    problem, rng = solve(build(), **TIGHT), np.random.default_rng(0)
    for _ in range(2):
        bound = dual_function(problem, other_multipliers(problem, rng))
        slack = ACCURACY * abs(problem.value)
        assert sign(problem) * bound <= sign(problem) * problem.value + slack
        if problem.constraints and build in BOUNDED:
            assert math.isfinite(bound)


@pytest.mark.parametrize("build", BOUNDED)
def test_other_multipliers_are_truly_worse(build):
    """Twice the multipliers that count: g is concave and largest at the optimum only."""
    problem = solve(build(), **TIGHT)
    if not Answer.of(problem).has_multipliers:
        assert dual_function(problem, {}) == pytest.approx(problem.value, rel=ACCURACY)
        return
    doubled = {t.name: _twice(t) for t in lagrangian(problem).terms}
    bound, value = dual_function(problem, doubled), problem.value
    assert math.isfinite(bound)
    assert sign(problem) * bound < sign(problem) * value - 1e-4 * abs(value)


def _twice(term):
    twice = [2.0 * d for d in term.duals()]
    return twice if len(twice) > 1 else twice[0]


def quadratic_program():
    x = cp.Variable(2, name="x")
    rows = np.array([[1.0, 2.0], [-1.0, 1.0]])
    f0 = cp.sum_squares(x) - x[0]
    return rows, cp.Problem(cp.Minimize(f0), [rows @ x <= np.array([-1.0, 2.0])])


@pytest.mark.parametrize("lam", [[0.0, 0.0], [1.0, 0.0], [0.3, 2.0], [5.0, 1.0]])
def test_quadratic_program_has_the_dual_of_the_textbook(lam):
    """g = −|A'lam + c|²/4 − b'lam, for |x|² + c'x; B&V 5.2.4 on an unsolved problem."""
    rows, problem = quadratic_program()
    slope = rows.T @ np.array(lam) + np.array([-1.0, 0.0])
    expected = -slope @ slope / 4 - np.array([-1.0, 2.0]) @ np.array(lam)
    assert dual_function(problem, {problem.constraints[0]: lam}) == pytest.approx(expected)


def test_linear_program_is_unbounded_off_the_dual_constraint():
    problem = problems.lp()  # min −x0 − x1: A'lam + c = mu
    lam = {"constraint 0": [0.4, 0.2], "constraint 1": [0.0, 0.0]}
    assert dual_function(problem, lam) == pytest.approx(-(4 * 0.4 + 6 * 0.2))
    lam["constraint 0"] = [0.4, 0.3]
    assert dual_function(problem, lam) == -math.inf
    lam["constraint 1"] = [0.3, 0.1]
    assert dual_function(problem, lam) == pytest.approx(-(4 * 0.4 + 6 * 0.3))
    flipped = cp.Problem(cp.Maximize(-problem.objective.expr), problem.constraints)
    assert dual_function(flipped, {"constraint 0": [0.4, 0.2], "constraint 1": [0.0, 0.0]}) > 2.79
    assert dual_function(flipped, {"constraint 0": [1, 1], "constraint 1": [0, 0]}) == math.inf


def test_slopes_of_rounding_are_not_called_unbounded():
    """L = (y − 1)² + x − lam x falls without end by 1e-9 per unit: rounding; by 0.1: not."""
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize((y - 1) ** 2 + x), [x >= 0])
    assert dual_function(problem, {"constraint 0": 1 - 1e-9}) == pytest.approx(0.0, abs=1e-6)
    assert dual_function(problem, {"constraint 0": 0.9}) == -math.inf
    assert dual_function(problem, {"constraint 0": 1 - 1e-9}, tol=1e-12) == -math.inf


def test_attributes_bound_the_variables():
    """max x + y over [0, 1] x [0, 2] at lam: sup of x + y − lam (x + y − 1)."""
    x = cp.Variable(2, bounds=[0, np.array([1.0, 2.0])])
    cap = cp.sum(x) <= 1
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [cap])
    for lam, expected in [(0.0, 3.0), (0.5, 2.0), (1.0, 1.0), (2.0, 2.0)]:
        assert dual_function(problem, {cap: lam}) == pytest.approx(expected, abs=1e-6)


def test_keys_are_constraints_ids_labels_and_names():
    x = cp.Variable()
    floor = x >= 1
    problem = cp.Problem(cp.Minimize(x**2), [floor])
    keys = [floor, floor.id, "constraint 0"]
    assert [dual_function(problem, {key: 2.0}) for key in keys] == pytest.approx([1.0] * 3)
    floor.set_label("floor")
    assert dual_function(problem, {"floor": np.array([2.0])}) == pytest.approx(1.0)


def test_constraints_that_are_not_mentioned_keep_their_multipliers():
    problem = solve(problems.qp(), **TIGHT)
    assert dual_function(problem, {"constraint 0": problem.constraints[0].dual_value}) == (
        pytest.approx(problem.value, rel=ACCURACY)
    )


@pytest.mark.parametrize("build", [problems.soft_margin, problems.svm_dual, problems.socp])
def test_problem_is_left_as_it_was(build):
    problem = solve(build())
    before, value, status = Answer.of(problem), problem.value, problem.status
    stats = problem.solver_stats
    dual_function(problem, other_multipliers(problem, np.random.default_rng(1)))
    after = Answer.of(problem)
    assert all(np.array_equal(x, after.primal[k]) for k, x in before.primal.items())
    assert all(all(map(np.array_equal, p, after.dual[k])) for k, p in before.dual.items())
    assert (value, status, stats) == (problem.value, problem.status, problem.solver_stats)
    unsolved = quadratic_program()[1]
    dual_function(unsolved, {"constraint 0": [1.0, 1.0]})
    assert unsolved.variables()[0].value is None
    assert unsolved.constraints[0].dual_value is None


@pytest.mark.parametrize("build", EVERY)
def test_flipped_multipliers_are_refused(build):
    problem = solve(build(), **TIGHT)
    terms = [t for t in lagrangian(problem).terms if not t.is_equality]
    terms = [t for t in terms if max(np.abs(m).max() for m in t.multipliers) > 1e-4]
    if not terms:
        pytest.skip("no inequality or cone counts here")
    flipped = [-d for d in terms[0].duals()]
    given = {terms[0].name: flipped if len(flipped) > 1 else flipped[0]}
    with pytest.raises(InputError, match=f"{terms[0].name}: multipliers must be"):
        dual_function(problem, given)


def test_rounding_outside_the_cone_is_moved_inside():
    _, problem = quadratic_program()
    exact = dual_function(problem, {"constraint 0": [1.0, 0.0]})
    assert dual_function(problem, {"constraint 0": [1.0, -1e-8]}) == pytest.approx(exact)
    with pytest.raises(InputError, match=r"must be >= 0; they are outside by 0\.0001"):
        dual_function(problem, {"constraint 0": [1.0, -1e-4]})
    assert dual_function(problem, {"constraint 0": [1.0, -1e-4]}, tol=1e-3) == (
        pytest.approx(exact)
    )


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [
        (
            {"constraint 0": [1.0]},
            r"constraint 0: wrong shape .* \(1,\), the constraint has \(2,\)",
        ),
        ({"constraint 0": [[1.0, 1.0]]}, "wrong shape"),
        ({"constraint 0": [1.0, np.nan]}, "must be finite"),
        ({"nonsense": [1.0, 1.0]}, "no constraint nonsense; the problem has constraint 0"),
        ({}, "constraint 0: the solver left no multiplier; pass one, or solve"),
    ],
)
def test_what_is_wrong_with_multipliers_is_named(multipliers, message):
    with pytest.raises(InputError, match=message):
        dual_function(quadratic_program()[1], multipliers)


def test_cones_want_one_array_for_each_argument():
    problem = solve(problems.socp())
    with pytest.raises(InputError, match="pass a list of 2 arrays"):
        dual_function(problem, {"constraint 0": np.ones(3)})


def test_problems_without_a_lagrange_dual_are_refused():
    x, n = cp.Variable(nonneg=True), cp.Variable(integer=True)
    z, free = cp.Variable(complex=True), cp.Parameter()
    for problem, message in [
        (cp.Problem(cp.Minimize(n), [n >= 0.5]), "integer"),
        (cp.Problem(cp.Minimize(cp.abs(z))), "complex"),
        (cp.Problem(cp.Minimize(cp.sqrt(x))), "DCP"),
        (cp.Problem(cp.Minimize(x + free)), "parameter has no value"),
        (3, "got int"),
    ]:
        with pytest.raises(InputError, match=message):
            dual_function(problem)
    for tol in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="tol must be"):
            dual_function(quadratic_program()[1], {"constraint 0": [1.0, 1.0]}, tol=tol)


def test_failed_inner_solve_is_an_error_and_no_bound(monkeypatch):
    monkeypatch.setattr("kernelqp.kkt.inner.INNER_SOLVERS", ())
    with pytest.raises(SolverFailed, match="infimum of the Lagrangian was not found"):
        dual_function(quadratic_program()[1], {"constraint 0": [1.0, 1.0]})


@pytest.mark.parametrize("build", [more_problems.cone_qp, more_problems.zero_lp])
def test_optimum_zero_is_bounded_too(build):
    problem = solve(build(), **TIGHT)
    assert dual_function(problem) == pytest.approx(0.0, abs=1e-9)
