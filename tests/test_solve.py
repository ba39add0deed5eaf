"""From a formulation to a solution: solvers, limits, errors, memory, what a result shows."""

import gc
import math
import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import kernelqp as kq
from kernelqp.errors import SolverFailed, SolverNotInstalled
from kernelqp.solvers import cvxpy as adapter
from kernelqp.twin import Twin

X = [[0.0], [1.0], [3.0], [4.0]]
Y = [-1, -1, 1, 1]
INSTALLED = [name for name in adapter.CAPABILITIES if name in cp.installed_solvers()]


def overlapping(n=60, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    return features, np.where(features[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


@pytest.fixture
def no_arpack(monkeypatch):
    """Make every eigenvalue test of cvxpy and scipy's ARPACK raise."""

    def refuse(*args, **kwargs):
        raise AssertionError("an ARPACK eigenvalue test ran")

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", refuse)
    monkeypatch.setattr("cvxpy.interface.matrix_utilities.is_psd_within_tol", refuse, raising=False)
    monkeypatch.setattr(
        "cvxpy.expressions.constants.constant.eig_util.is_psd_within_tol", refuse, raising=False
    )


@pytest.mark.parametrize("solver", INSTALLED)
@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_installed_solver_reaches_a_certified_optimum(solver, form, kernel):
    if (form, kernel) == ("weights", "rbf"):
        pytest.skip("an RBF kernel has no explicit features")
    features, y = overlapping()
    solution = kq.SoftMarginSVM(kernel=kernel).solve(features, y, form=form, solver=solver)
    want = kq.SoftMarginSVM(kernel=kernel).solve(features, y, form="dual", solver="CLARABEL").value
    assert solution.status is kq.Status.CERTIFIED
    assert solution.value == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP", "SCS", "ECOS"])
def test_no_eigenvalue_test_of_cvxpy_runs(solver, no_arpack):
    features, y = overlapping()
    svm = kq.SoftMarginSVM(kernel="rbf")
    for page in (svm.primal(features, y), svm.dual(features, y)):
        page.solve(solver=solver)
        if solver != "ECOS":  # on the literal page cvxpy itself factorises K for ECOS
            page.problem.solve(solver=solver)
        assert page.problem.is_dcp(dpp=True)


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP", "SCS", "ECOS"])
def test_nothing_is_printed(solver, capfd):
    kq.SoftMarginSVM().solve(X, Y, solver=solver)
    assert capfd.readouterr() == ("", "")


def test_an_unknown_solver_is_refused_with_the_installed_ones():
    with pytest.raises(SolverNotInstalled, match=r"'CPLEKS' is not installed; .*CLARABEL"):
        kq.SoftMarginSVM().solve(X, Y, solver="CPLEKS")


def test_a_solver_without_the_cone_fails_by_name():
    with pytest.raises(SolverFailed, match=r"OSQP cannot solve this problem.*CLARABEL"):
        kq.SoftMarginSVM(slack_power=1.5).solve(X, Y, solver="OSQP")


@pytest.mark.parametrize("error", [RuntimeError("boom"), BaseException("panic")])
def test_what_a_solver_raises_is_wrapped(error, monkeypatch):
    def explode(self, **options):
        raise error

    monkeypatch.setattr(cp.Problem, "solve", explode)
    with pytest.raises(SolverFailed, match=r"CLARABEL cannot solve .*: (boom|panic)") as caught:
        kq.SoftMarginSVM().solve(X, Y, solver="CLARABEL")
    assert caught.value.__cause__ is error


def test_an_interrupt_is_not_swallowed(monkeypatch):
    def interrupt(self, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cp.Problem, "solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kq.SoftMarginSVM().solve(X, Y, solver="CLARABEL")


def test_options_are_passed_on_and_a_stopped_run_says_limit():
    features, y = overlapping()
    solution = kq.SoftMarginSVM(kernel="rbf").solve(features, y, solver="CLARABEL", max_iter=2)
    assert solution.status is kq.Status.LIMIT
    assert not solution.certificate.certified
    with pytest.raises(kq.NotCertified, match="raise the limit"):
        solution.raise_if_not_certified()


class Lying:
    """A solver that writes chosen values to the twin and calls them optimal."""

    def __init__(self, change):
        self.change = change

    def __call__(self, problem, solver, tolerance, options):
        remark = adapter.run(problem, solver, tolerance, options)
        for variable in problem.variables():
            variable.save_value(self.change(variable.value))
        for constraint in problem.constraints:
            constraint.save_dual_value(self.change(np.asarray(constraint.dual_value)))
        return adapter.Remark(cp.OPTIMAL, remark.seconds)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize(
    "change",
    [lambda v: -v, lambda v: 0.0 * v, np.ones_like, lambda v: np.ravel(v)[::-1]],
    ids=["flipped", "zero", "constant", "reversed"],
)
def test_a_lying_solver_is_never_believed(form, change, monkeypatch):
    features, y = overlapping(200, seed=3)
    want = kq.SoftMarginSVM(C=3, kernel="rbf").dual(features, y).solve(solver="CLARABEL").value
    monkeypatch.setattr(
        "kernelqp.solve.run", Lying(lambda v: np.reshape(change(np.asarray(v)), np.shape(v)))
    )
    svm = kq.SoftMarginSVM(C=3, kernel="rbf")
    page = svm.dual(features, y) if form == "dual" else svm.primal(features, y)
    solution = page.solve(solver="CLARABEL")
    c = solution.certificate
    assert c.dual_value <= want * (1 + 1e-9)
    assert c.primal_value >= want * (1 - 1e-9)
    if c.certified:
        assert solution.value == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_a_solver_without_numbers_leaves_a_bound_that_is_not_certified(form, monkeypatch):
    monkeypatch.setattr("kernelqp.solve.run", lambda *_: adapter.Remark(cp.SOLVER_ERROR, 0.0))
    solution = kq.SoftMarginSVM(C=10).solve(X, Y, form=form, solver="CLARABEL")
    assert solution.status is kq.Status.NOT_CERTIFIED
    assert solution.certificate.dual_value <= 0.5 <= solution.certificate.primal_value


def test_a_failing_solver_does_not_end_the_others(monkeypatch):
    def native(*_):
        raise SolverFailed("no")

    monkeypatch.setattr("kernelqp.solve.native", native)
    solution = kq.SoftMarginSVM(C=10).solve(X, Y)
    assert solution.solver == "CLARABEL"
    assert solution.certificate.certified


def test_a_stopped_run_is_so_on_the_page():
    page = kq.SoftMarginSVM(kernel="rbf").dual(*overlapping())
    page.solve(solver="CLARABEL", max_iter=2)
    assert page.problem.status == cp.USER_LIMIT
    page.solve(solver="CLARABEL")
    assert page.problem.status == cp.OPTIMAL


def test_a_risk_costs_memory_of_its_own_size_only():
    risk = kq.RegularizedRisk(
        kq.Gram.dense(np.eye(4)), np.array([1, 1, 1, -1.0]), 1.0, kq.losses.Hinge()
    )
    tracemalloc.start()
    risk.solve()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("tol", [0, -1e-6, math.nan, math.inf, "1e-6", True])
def test_tol_must_be_positive(tol):
    with pytest.raises(kq.InputError, match="tol must be a positive number"):
        kq.SoftMarginSVM().solve(X, Y, tol=tol)


@pytest.mark.parametrize("form", ["dual", "coefficients"])
def test_a_formulation_holds_at_most_three_copies_of_the_kernel(form):
    features, y = load_breast_cancer(return_X_y=True)
    n = len(y)
    svm = kq.SoftMarginSVM(kernel="rbf")
    gc.collect()
    tracemalloc.start()
    page = svm.dual(features, y) if form == "dual" else svm.primal(features, y, form=form)
    twin = Twin(page.risk().centred, page.side, quadratic=True)
    gc.collect()
    copies = tracemalloc.get_traced_memory()[0] / (8 * n * n)
    tracemalloc.stop()
    assert twin.problem.is_dcp(dpp=True)
    assert copies < 3


def test_another_C_uses_the_compiled_twin(monkeypatch):
    page = kq.SoftMarginSVM(C=1, kernel="rbf").dual(*overlapping())
    page.solve(solver="CLARABEL")
    (twin,) = page.twins.values()
    chain = twin.problem._cache.param_prog
    page.parameters["C"].value = 10.0
    solution = page.solve(solver="CLARABEL")
    assert list(page.twins.values()) == [twin]
    assert twin.problem._cache.param_prog is chain
    assert solution.method.C == 10.0
    fresh = kq.SoftMarginSVM(C=10, kernel="rbf").dual(*overlapping()).solve(solver="CLARABEL")
    assert solution.value == pytest.approx(fresh.value, rel=1e-9)


def test_a_parameter_without_a_number_is_refused():
    page = kq.SoftMarginSVM().dual(X, Y)
    page.parameters["C"].value = None
    with pytest.raises(kq.InputError, match=r"parameter C must be a finite number"):
        page.solve()


def test_a_solution_before_any_solve_asks_for_one():
    with pytest.raises(
        kq.InputError, match=r"alpha has no value, nothing was solved yet: call solve\(\)"
    ):
        kq.SoftMarginSVM().dual(X, Y).solution()


def test_a_solution_is_frozen_and_its_arrays_are_read_only():
    solution = kq.SoftMarginSVM(C=10).solve(X, Y)
    with pytest.raises(AttributeError):
        solution.value = 3.0
    for name in ("alpha", "beta", "weights", "slack", "classes"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(solution, name)[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        solution.support.support_vectors[0] = 3


@pytest.mark.parametrize(
    ("method", "name", "reason"),
    [
        (kq.SoftMarginSVM(kernel="rbf"), "weights", "no explicit features"),
        (kq.HardMarginSVM(), "slack", "allows none"),
        (kq.HardMarginSVM(), "probability", "no attribute"),
    ],
)
def test_an_absent_attribute_says_why(method, name, reason):
    solution = method.solve(X, Y)
    assert not hasattr(solution, name)
    with pytest.raises(AttributeError, match=reason):
        getattr(solution, name)
