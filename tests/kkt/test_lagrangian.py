"""The public Lagrangian: its value, its gradient, its words, and what it refuses."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.errors import InputError
from kernelqp.kkt import lagrangian

from . import more_problems, problems
from .answers import TIGHT, solve

SMOOTH = (problems.qp, problems.svm_dual, problems.portfolio, problems.socp, problems.transport)
SMOOTH += (more_problems.logistic, more_problems.entropy_by_cones, more_problems.power_cones)
SMOOTH += (more_problems.max_cut, more_problems.power_cone_rows, more_problems.log_det)


@pytest.mark.parametrize("build", SMOOTH)
def test_gradient_is_the_derivative_of_the_value(build):
    problem = solve(build())
    found, rng = lagrangian(problem), np.random.default_rng(0)
    values = {v: v.value + 0.01 * rng.uniform(size=v.shape) for v in problem.variables()}
    directions = {v: rng.normal(size=v.shape) for v in values}

    def along(step):
        for v, x in values.items():
            v.save_value(x + step * directions[v])
        return found.value()

    numeric = (along(1e-5) - along(-1e-5)) / 2e-5
    along(0.0)
    exact = sum(np.sum(directions[v] * g) for v, g in found.gradient().items())
    scale = sum(np.sum(np.abs(directions[v] * g)) for v, g in found.gradient().items())
    assert numeric == pytest.approx(exact, abs=1e-6 * (scale + 1))


@pytest.mark.parametrize("build", SMOOTH)
def test_gradient_vanishes_at_the_optimum_and_has_the_shapes_of_the_variables(build):
    problem = solve(build(), **TIGHT)
    gradient = lagrangian(problem).gradient()
    assert set(gradient) == set(problem.variables())
    for variable, g in gradient.items():
        assert g.shape == variable.shape
        if not variable.attributes["symmetric"]:
            assert np.abs(g).max() < 1e-4


def test_lagrangian_lies_below_the_objective_on_the_feasible_set():
    problem = solve(problems.transport(), **TIGHT)
    (T,) = problem.variables()
    best, found = problem.value, lagrangian(problem)
    T.value = np.outer([3.0, 4.0, 5.0], np.full(4, 0.25))  # feasible, not optimal
    assert found.value() <= problem.objective.value
    assert found.value() >= best - 1e-6
    assert float(found.expression.value) == pytest.approx(found.value())


def test_words_show_every_constraint_under_its_name():
    x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
    cap, balance, cone = x <= 1, cp.sum(x) == 1, cp.SOC(t, x)
    problem = cp.Problem(cp.Maximize(x[0] - t), [cap, balance, cone])
    text = str(lagrangian(problem, {cap.id: "cap", balance.id: "balance", cone.id: "norm"}))
    shown = "L = -(x[0] + -t) + <cap, x - (1.0)> + <balance, Sum(x, None, False) - (1.0)>"
    assert text == f"{shown} - <norm, SOC({cone.args[0]}, x)>"


@pytest.mark.filterwarnings("ignore::cvxpy.utilities.warn.CvxpyDeprecationWarning")
def test_words_and_signs_of_legacy_constraints():
    x = cp.Variable(name="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constraints = [cp.NonNeg(x - 1), cp.NonPos(x - 4), cp.Zero(0 * x)]
    problem = solve(cp.Problem(cp.Minimize(x**2), constraints), **TIGHT)
    text = str(lagrangian(problem))
    assert "- <constraint 0, x + -1.0> + <constraint 1, x + -4.0>" in text
    assert lagrangian(problem).value() == pytest.approx(1.0)
    (g,) = lagrangian(problem).gradient().values()
    assert abs(g) < 1e-6


def test_what_is_missing_is_named():
    x = cp.Variable(name="x")
    unsolved = cp.Problem(cp.Minimize(x**2), [x >= 1])
    for read in ("value", "gradient"):
        with pytest.raises(InputError, match="constraint 0: the solver left no multiplier"):
            getattr(lagrangian(unsolved), read)()
    with pytest.raises(InputError, match="needs every multiplier"):
        _ = lagrangian(unsolved).expression
    free = cp.Problem(cp.Minimize(x**2))
    for read in ("value", "gradient"):
        with pytest.raises(InputError, match="has no value"):
            getattr(lagrangian(free), read)()
    x.value = 3.0
    assert lagrangian(free).value() == 9.0
    with pytest.raises(InputError, match="got int"):
        lagrangian(3)


def test_no_gradient_at_the_edge_of_a_domain():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(-cp.sqrt(x)))
    x.value = 0.0
    with pytest.raises(InputError, match="no gradient here"):
        lagrangian(problem).gradient()
