"""How a case is run: in every form, by every solver, and the answer has to be certified."""

import contextlib

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq

FORMS = ("weights", "coefficients", "dual")
IMPLICIT = ("coefficients", "dual")  # the forms of a kernel without explicit features
SOLVERS = ("CLARABEL", "OSQP", "SCS", "ECOS")

every_form = pytest.mark.parametrize("form", FORMS)
every_implicit_form = pytest.mark.parametrize("form", IMPLICIT)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
# each form and each solver at least once, where the whole grid would say the same thing again
RUNS = (("weights", "CLARABEL"), ("coefficients", "OSQP"), ("dual", "SCS"), ("dual", "ECOS"))
IMPLICIT_RUNS = (("dual", "CLARABEL"), ("dual", "OSQP"), ("coefficients", "SCS"), ("dual", "ECOS"))
every_run = pytest.mark.parametrize(("form", "solver"), RUNS)
every_implicit_run = pytest.mark.parametrize(("form", "solver"), IMPLICIT_RUNS)


def certified(method, X, y, sample_weight=None, form="auto", solver="auto"):
    """Solve, and let nothing pass that is not certified."""
    s = method.solve(X, y, sample_weight, form=form, solver=solver)
    assert isinstance(s, kq.Solution), s
    assert s.status is kq.Status.CERTIFIED, s
    assert s.certificate.certified, s
    return s


def page(method, X, y, form, sample_weight=None):
    """The page of one form."""
    if form == "dual":
        return method.dual(X, y, sample_weight)
    return method.primal(X, y, sample_weight, form=form)


def cost(w, b, X, y, C, power=1.0):
    """1/2 |w|^2 + C sum xi^q in plain NumPy."""
    w, X, y = np.asarray(w, float), np.asarray(X, float), np.asarray(y, float)
    return 0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - y * (X @ w + b)) ** power)


@contextlib.contextmanager
def no_solver(monkeypatch):
    """Fail if anything is handed to a solver inside."""

    def refuse(*args, **options):
        pytest.fail("a solver was called")

    with monkeypatch.context() as patch:
        patch.setattr(cp.Problem, "solve", refuse)
        yield
