"""QuantileRegressor without a penalty: a linear program, whose optimum linprog knows."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor

import kernelqp as kq

X, Y = load_diabetes(return_X_y=True)
X = X + 0.05  # of centred features without an intercept the objective is flat
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)


def program(X, y, s, tau, intercept):
    """Return min (1/S) sum s check loss over w and b."""
    n = len(y)
    design = np.column_stack([X, np.ones(n)]) if intercept else X
    c = np.r_[np.zeros(design.shape[1]), tau * s, (1 - tau) * s] / s.sum()
    rows = np.hstack([design, np.eye(n), -np.eye(n)])
    free = [(None, None)] * design.shape[1] + [(0, None)] * (2 * n)
    return linprog(c, A_eq=rows, b_eq=y, bounds=free, method="highs").fun


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_optimum_and_a_model_that_missed_it(tau, intercept, s):
    model = QuantileRegressor(alpha=0, quantile=tau, fit_intercept=intercept).fit(X, Y, s)
    used = np.ones(len(Y)) if s is None else s
    optimum = program(X, Y, used, tau, intercept)
    found = kq.certify(model, X, Y, s)
    assert found.verdict.startswith("Converged")
    assert found.relative_gap < 1e-9
    assert found.primal_value == pytest.approx(optimum, rel=1e-9)
    assert found.dual_value <= optimum * (1 + 1e-12)
    model.coef_ = model.coef_ * 0.7
    off = kq.certify(model, X, Y, s)
    assert off.verdict.startswith("Not converged")
    assert off.dual_value == pytest.approx(optimum, rel=1e-8)
    assert off.best_value == pytest.approx(optimum, rel=1e-8)


def test_the_size_of_the_targets_does_not_hide_a_bad_fit():
    """f = median y explains nothing, wherever y stands."""
    for shift in (0.0, 1e4, 1e6):
        model = QuantileRegressor(alpha=0).fit(X, Y + shift)
        assert kq.certify(model, X, Y + shift).relative_gap < 1e-8
        model.coef_, model.intercept_ = 0.0 * model.coef_, np.median(Y + shift)
        found = kq.certify(model, X, Y + shift)
        assert found.verdict.startswith("Not converged")
        assert found.dual_value == pytest.approx(
            program(X, Y, np.ones(len(Y)), 0.5, True), rel=1e-6
        )


def test_predictions_that_rounding_ate_are_refused():
    u = np.arange(20.0) % 7
    Z = np.column_stack([1e15 + u, np.ones(20)])
    plain = np.column_stack([u, np.ones(20)])
    model = QuantileRegressor(alpha=0, fit_intercept=False).fit(plain, u)
    model.coef_ = np.array([1.0, -1e15])
    with pytest.raises(kq.InputError, match="lost to rounding"):
        kq.certify(model, Z, u)


def test_features_that_coincide_and_a_constant_one():
    Z = np.column_stack([X[:, :2], X[:, 0], np.full(len(Y), 7.0), 1e6 * X[:, 1]])
    model = QuantileRegressor(alpha=0).fit(Z, Y)
    assert kq.certify(model, Z, Y).relative_gap < 1e-9
