"""LogisticRegression without a penalty: read as what it is, whatever the solver does with b."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import kernelqp as kq

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0, "b", "a")
WEIGHTS = RNG.integers(0, 3, 60).astype(float)
SOLVERS = ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"]  # liblinear refuses C = inf
TIGHT = {"C": np.inf, "tol": 1e-10, "max_iter": 100_000, "random_state": 0}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_every_solver_converges_to_the_optimum_of_the_page(solver, intercept, s):
    model = LogisticRegression(solver=solver, fit_intercept=intercept, **TIGHT).fit(X, Y, s)
    best = kq.LogisticRegression(C=np.inf, intercept="free" if intercept else "none")
    found = kq.certify(model, X, Y, s)
    assert found.verdict.startswith("Converged")
    summed = "sum" if s is None else "sum s"
    assert found.objective == f"{summed} log(1 + exp(-y (w'x + b)))"
    assert found.primal_value == pytest.approx(best.solve(X, Y, s).value, rel=1e-9)
    assert found.dual_value <= found.primal_value * (1 + 1e-12)


@pytest.mark.parametrize("balanced", [None, "balanced", {"a": 3.0}])
def test_a_run_that_is_stopped_early_is_named(balanced):
    with pytest.warns(match="failed to converge"):
        model = LogisticRegression(C=np.inf, max_iter=2, class_weight=balanced).fit(X, Y)
    found = kq.certify(model, X, Y)
    best = kq.LogisticRegression(C=np.inf, class_weight=balanced).solve(X, Y).value
    assert found.verdict.startswith("Not converged")
    assert found.dual_value == pytest.approx(best, rel=1e-6)
    assert found.primal_value > best * (1 + 1e-3)


@pytest.mark.parametrize("steps", [1, 3, 1000])
@pytest.mark.parametrize("touching", [False, True], ids=["separated", "rows on the plane"])
def test_of_separable_classes_no_optimum_is_attained(steps, touching):
    rows, labels = X, np.where(X[:, 0] > 0, "b", "a")
    if touching:  # one row of either class on the plane itself
        rows = np.vstack([X, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]])
        labels = np.r_[labels, ["a", "b"]]
    model = LogisticRegression(C=np.inf, max_iter=steps, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        model.fit(rows, labels)
    found = kq.certify(model, rows, labels)
    assert found.verdict.startswith("No optimum is attained: a plane separates the classes")
    assert "finite C" in found.verdict
    assert not found.certified
    with_penalty = LogisticRegression(C=10.0, tol=1e-10, max_iter=1000).fit(rows, labels)
    assert kq.certify(with_penalty, rows, labels).verdict.startswith("Converged")
