"""The cvxpy forms are the NumPy forms, they are DCP, and solvers accept them."""

import ast
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelqp.losses as package
from kernelqp.losses import PowerHinge

from .strategies import CASES, N, law, pairs, targets

every_loss = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
# few of these powers are short fractions; 1.0004 is within cvxpy's rounding of 1
POWERS = (1.0004, 1.02, 1.25, 4 / 3, 1.37, 2.5, 4.0, 6.0, 50.0)
LOSSES_SOLVED = (*(case.loss for case in CASES), *map(PowerHinge, POWERS))
MODULES = sorted(Path(package.__file__).parent.glob("*.py"))


def _satisfied(constraints):
    """Per row, whether every constraint holds exactly."""
    return np.all([np.full(N, True), *(c.residual == 0 for c in constraints)], axis=0)


@every_loss
@law
@given(data=st.data())
def test_value_form_equals_numpy(case, data):
    y, p, _ = data.draw(pairs(case))
    variable = cp.Variable(N)
    form, constraints = case.loss.value_expr(y, variable)
    variable.value = p
    expected = case.loss.value(y, p)
    held = _satisfied(constraints)
    assert form.shape == (N,)
    assert np.array_equal(held, np.isfinite(expected))
    np.testing.assert_allclose(form.value[held], expected[held], rtol=1e-12, atol=1e-13)


@every_loss
@law
@given(data=st.data())
def test_conjugate_form_equals_numpy(case, data):
    y, _, g = data.draw(pairs(case))
    variable = cp.Variable(N)
    form, constraints = case.loss.conjugate_expr(y, variable)
    variable.value = g
    assert form.shape == (N,)
    assert np.all(_satisfied(constraints))
    np.testing.assert_allclose(form.value, case.loss.conjugate(y, g), rtol=1e-11, atol=1e-13)


@every_loss
@law
@given(data=st.data())
def test_conjugate_form_has_the_domain_as_constraints(case, data):
    y = data.draw(targets(case))
    variable = cp.Variable(N)
    _, constraints = case.loss.conjugate_expr(y, variable)
    for end, away in zip(case.loss.domain(y), (-np.inf, np.inf), strict=True):
        limit = np.where(np.isfinite(end), np.nextafter(end, away), 0.0)
        for g in (limit, np.where(np.isfinite(end), end, 0.0), limit + np.sign(away)):
            variable.value = g
            inside = np.isfinite(case.loss.conjugate(y, g))
            assert np.array_equal(_satisfied(constraints), inside)


@every_loss
def test_both_forms_are_convex_by_the_rules(case):
    y, variable = LABELS, cp.Variable(N)
    for form, constraints in (
        case.loss.value_expr(y, variable),
        case.loss.conjugate_expr(y, variable),
    ):
        assert form.is_convex()
        assert (-form).is_concave()
        assert all(c.is_dcp() for c in constraints)
        assert cp.Problem(cp.Minimize(cp.sum(form)), constraints).is_dcp(dpp=True)


@pytest.mark.parametrize("name", ["hinge", "hard-margin", "perceptron", "pinball", "pinball-rows"])
def test_conjugates_that_are_affine_stay_affine(name):
    case = next(c for c in CASES if c.name == name)
    assert case.loss.conjugate_expr(LABELS, cp.Variable(N))[0].is_affine()


@pytest.mark.parametrize("loss", LOSSES_SOLVED, ids=repr)
def test_primal_and_dual_solved_by_cvxpy_meet(loss):
    """min l(p) + (p - a)^2/2 equals max -l*(g) + g a - g^2/2, at g = -prox of -a."""
    a = np.array([0.3, -1.7, 2.2, 0.9, -0.4, 3.1])
    p, g = cp.Variable(N), cp.Variable(N)
    value, held = loss.value_expr(LABELS, p)
    conjugate, domain = loss.conjugate_expr(LABELS, g)
    primal = cp.Problem(cp.Minimize(cp.sum(value) + cp.sum_squares(p - a) / 2), held)
    gain = -cp.sum(conjugate) + g @ a - cp.sum_squares(g) / 2
    best = cp.Problem(cp.Maximize(gain), domain).solve(solver="CLARABEL")
    assert primal.solve(solver="CLARABEL") == pytest.approx(best, abs=1e-5)
    prox = loss.dual_prox(LABELS, np.ones(N), -a, np.ones(N))
    np.testing.assert_allclose(-prox, g.value, atol=1e-4)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.name)
def test_modules_import_cvxpy_inside_functions_only(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert "cvxpy" not in ast.unparse(node)
