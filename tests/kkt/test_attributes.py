"""Attributes of variables are constraints: their sets and their hidden multipliers are judged."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from kernelqp.kkt import check_problem
from kernelqp.kkt.attributes import bounds, outside

from . import more_problems, problems
from .answers import TIGHT, Answer, by_kind, solve

C = np.array([[1.0, -2.0], [0.5, 3.0]])
INSIDE = {  # attributes, and for each a value that leaves the set by 0.5
    "nonneg": ({"nonneg": True}, [[1.0, -0.5], [0.0, 2.0]]),
    "pos": ({"pos": True}, [[1.0, -0.5], [0.0, 2.0]]),
    "nonpos": ({"nonpos": True}, [[-1.0, 0.5], [0.0, -2.0]]),
    "neg": ({"neg": True}, [[-1.0, 0.5], [0.0, -2.0]]),
    "bounds": ({"bounds": [-1, np.full((2, 2), 2.0)]}, [[1.0, 2.5], [-1.0, 0.0]]),
    "one bound": ({"bounds": [None, 2]}, [[-4.0, 2.5], [-1.0, 0.0]]),
    "symmetric": ({"symmetric": True}, [[1.0, 2.5], [2.0, 3.0]]),
    "symmetric nonneg": ({"symmetric": True, "nonneg": True}, [[1.0, -0.5], [-0.5, 3.0]]),
    "PSD": ({"PSD": True}, [[1.0, 1.5], [1.5, 1.0]]),
    "NSD": ({"NSD": True}, [[-1.0, 1.5], [1.5, -1.0]]),
    "PSD nonneg": ({"PSD": True, "nonneg": True}, [[1.0, -0.5], [-0.5, 1.0]]),
    "diag": ({"diag": True}, [[1.0, 0.5], [0.0, 1.0]]),
    "sparsity": ({"sparsity": [(0, 1), (0, 1)]}, [[1.0, 0.5], [0.0, 1.0]]),
}


def fit(kind):
    X = cp.Variable((2, 2), name="X", **INSIDE[kind][0])
    target = -C if kind in {"nonpos", "neg", "NSD"} else C
    return cp.Problem(cp.Minimize(cp.sum_squares(X - target) + cp.sum(X)), [cp.sum(X) >= -9])


@pytest.mark.parametrize("kind", INSIDE)
def test_distance_to_the_set_of_the_attributes(kind):
    X = cp.Variable((2, 2), **INSIDE[kind][0])
    X.save_value(np.array(INSIDE[kind][1]))
    if kind == "sparsity":
        X.save_value(sp.coo_array(np.array(INSIDE[kind][1])))
    if X.sparse_idx is None:
        assert outside(X).max() == pytest.approx(0.5)


@pytest.mark.parametrize("kind", INSIDE)
def test_optimum_holds_and_wrong_ones_do_not(kind):
    problem = solve(fit(kind), **TIGHT)
    report = check_problem(problem, tol=1e-6)
    assert report.holds, str(report)
    answer = Answer.of(problem)
    for move in (0.9, 1.1):
        assert check_problem(answer.scaled(move).write(problem), 1e-4).worst.holds is False


@pytest.mark.parametrize("kind", [kind for kind in INSIDE if kind != "sparsity"])
def test_value_outside_the_attributes_is_refused(kind):
    problem = solve(fit(kind), **TIGHT)
    answer = Answer.of(problem)
    (x,) = problem.variables()
    answer.primal[x.id] = np.array(INSIDE[kind][1])
    report = check_problem(answer.write(problem), tol=1e-4)
    refused = [c for c in by_kind(report, "primal feasibility") if "X (" in c.name]
    assert [c.holds for c in refused] == [False]


def test_zero_gradient_is_not_needed_where_an_attribute_holds_the_value():
    """min x subject to x >= 0 by attribute: the gradient is 1, its hidden multiplier."""
    x = cp.Variable(2, nonneg=True, name="x")
    problem = cp.Problem(cp.Minimize(x[0] + (x[1] - 1) ** 2))
    right = Answer({x.id: np.array([0.0, 1.0])}, {})
    assert check_problem(right.write(problem)).holds
    for wrong in ([0.0, 0.9], [0.1, 1.0]):
        report = check_problem(Answer({x.id: np.array(wrong)}, {}).write(problem), tol=1e-4)
        assert report.worst.holds is False


def test_lower_bound_excuses_no_negative_gradient():
    x = cp.Variable(bounds=[0, 5], name="x")
    problem = cp.Problem(cp.Maximize(x))
    assert check_problem(Answer({x.id: np.array(5.0)}, {}).write(problem)).holds
    report = check_problem(Answer({x.id: np.array(0.0)}, {}).write(problem))
    assert not report.holds


def test_bounds_may_be_parameters_and_sparse():
    top = cp.Parameter(value=2.0)
    x = cp.Variable(3, bounds=[0, top])
    assert np.array_equal(bounds(x)[1], np.full(3, 2.0))
    lower = sp.coo_array(([-1.0], ([0], [1])), shape=(2, 2))
    y = cp.Variable((2, 2), sparsity=[(0,), (1,)], bounds=[lower, 3])
    assert np.array_equal(bounds(y)[0], [0.0, 0.0, -1.0, 0.0])


def test_attribute_violations_are_seen():
    for build, shift in [(problems.nonneg_attribute, -0.5), (problems.bounds_attribute, 2.0)]:
        problem = solve(build(), **TIGHT)
        answer = Answer.of(problem)
        key = next(iter(answer.primal))
        answer.primal[key] = answer.primal[key] + shift
        report = check_problem(answer.write(problem), tol=1e-4)
        assert any(
            c.holds is False and "(" in c.name for c in by_kind(report, "primal feasibility")
        )


@pytest.mark.parametrize("build", more_problems.ATTRIBUTES)
def test_gradient_proves_the_optimum(build):
    report = check_problem(solve(build(), **TIGHT), tol=1e-5)
    assert report.holds
    assert {c.evidence for c in report.conditions} == {"proof"}
