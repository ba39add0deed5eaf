"""Pegasos' page is the engine's problem, and what is no problem of it is refused."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.errors import ParameterError
from tests.pegasos_runs import (
    KERNELS,
    N,
    X,
    Y,
    every_intercept,
    every_kernel,
    method,
    optimum,
    weighted,
)

# --- the page -------------------------------------------------------------------------------------


@every_kernel
@every_intercept
@weighted
def test_every_form_of_the_page_is_the_soft_margin_in_other_units(kernel, intercept, s):
    m, S = method(kernel, intercept, class_weight={1: 2.0}), np.ones(N) if s is None else s
    total = float(S @ np.where(Y > 0, 2.0, 1.0))
    soft = kq.SoftMarginSVM(
        C=1 / (0.05 * total), kernel=KERNELS[kernel], intercept=intercept, class_weight={1: 2.0}
    ).solve(X, Y, s, tol=1e-9)
    for form in ("dual", "coefficients", *(("weights",) if kernel == "linear" else ())):
        page = m.dual(X, Y, s) if form == "dual" else m.primal(X, Y, s, form=form)
        page.problem.solve(solver="CLARABEL")
        assert page.problem.value == pytest.approx(0.05 * soft.value, rel=1e-6)
        literal = page.solution()
        assert literal.certificate.certified
        solved = page.solve(solver="CLARABEL", tol=1e-9)
        assert solved.certificate.certified
        assert solved.value == pytest.approx(0.05 * soft.value, rel=1e-6)
        assert kq.check_kkt(page).holds
        assert kq.check_kkt(solved).holds
        new = solved.decision_function(X)
        np.testing.assert_allclose(new, soft.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("form", ["dual", "weights", "coefficients"])
def test_multipliers_that_are_written_are_those_of_a_literal_solve(form):
    m = method(intercept="penalized")
    page = m.dual(X, Y) if form == "dual" else m.primal(X, Y, form=form)
    page.problem.solve(solver="CLARABEL")
    literal = {name: np.ravel(c.dual_value) for name, c in page.constraints.items()}
    page.solve(solver="CLARABEL", tol=1e-9)
    for name, value in literal.items():
        np.testing.assert_allclose(np.ravel(page.constraints[name].dual_value), value, atol=1e-5)


@pytest.mark.parametrize("form", ["dual", "weights", "coefficients"])
def test_lam_is_a_parameter(form):
    page = method().dual(X, Y) if form == "dual" else method().primal(X, Y, form=form)
    assert page.problem.is_dpp()
    page.parameters["lam"].value = 0.3
    solution = page.solve()
    assert solution.method.lam == 0.3
    assert solution.value == pytest.approx(optimum(method(lam=0.3)), rel=1e-6)


def test_constraints_of_your_own():
    page = method().primal(X, Y)
    found = page.with_constraints([page.variables["w"] >= 0]).solve()
    assert found.certificate.certified
    assert found.value >= optimum(method()) * (1 - 1e-9)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"lam": 0}, "lam must be a finite number > 0; got 0"),
        ({"lam": np.inf}, "lam must be a finite number > 0"),
        ({"epochs": 0}, "epochs must be a whole number >= 1; got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"batch": 0}, "batch must be a whole number >= 1; got 0"),
        ({"batch": "half"}, "batch must be one of 'full'; got 'half'"),
        ({"batch": True}, "batch must be a whole number"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"project": 1}, "project must be a bool; got 1"),
        ({"average": "no"}, "average must be a bool; got 'no'"),
        ({"intercept": "free"}, r"intercept='free' is not .* 'penalized' .* SoftMarginSVM"),
        ({"intercept": "some"}, "intercept must be one of"),
    ],
)
def test_a_parameter_out_of_range_is_refused(bad, message):
    with pytest.raises(ParameterError, match=message):
        kq.Pegasos(**bad)


def test_what_solve_and_run_refuse():
    with pytest.raises(ParameterError, match="takes no options; got 'max_iter'"):
        method().solve(X, Y, max_iter=3)
    with pytest.raises(ParameterError, match="tol must be a finite number > 0"):
        method().solve(X, Y, tol=0)
    with pytest.raises(ParameterError, match="form 'dual' is no primal"):
        method().primal(X, Y, form="dual")
    with pytest.raises(ParameterError, match="form must be 'auto', 'weights' or 'counts'"):
        method().run(X, Y, form="dual")
    with pytest.raises(ParameterError, match="needs explicit features"):
        method("rbf").run(X, Y, form="weights")
    page = method().dual(X, Y)
    page.parameters["lam"].value = 0.0
    with pytest.raises(ParameterError, match="lam must be > 0; got 0"):
        page.solve()


def test_what_a_page_does_not_show_says_so():
    solution = method().solve(X, Y, form="dual")
    for name in ("counts", "history", "mistakes"):
        with pytest.raises(AttributeError, match=f"no {name}"):
            getattr(solution, name)
