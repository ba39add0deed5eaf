"""What a gap is compared with, and what is known of it: far targets, huge prices, exact fits."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import kernelqp as kq
from kernelqp.scales import gap_scale, relative_gap, rounding_of_bounds

REGRESSIONS = [
    kq.QuantileRegression(),
    kq.SupportVectorRegression(),
    kq.SupportVectorRegression(loss="huber"),
    kq.SupportVectorRegression(loss="squared_epsilon_insensitive"),
    kq.RegularizedLeastSquares(),
]


@pytest.mark.parametrize("method", REGRESSIONS, ids=lambda m: getattr(m, "loss", type(m).__name__))
def test_targets_that_stand_far_from_0_keep_their_figures(method):
    """Seconds since 1970, say."""
    X = np.random.default_rng(2).normal(size=(50, 2))
    y = 1e4 * np.random.default_rng(1).normal(size=50)
    far, near = method.solve(X, y + 1.7e9), method.solve(X, y)
    assert far.certificate.certified
    assert far.value == pytest.approx(near.value, rel=1e-9)
    assert far.intercept - near.intercept == pytest.approx(1.7e9, rel=1e-9)
    assert far.predict(X).mean() == pytest.approx(1.7e9 + y.mean(), rel=1e-6)


def test_a_huge_price_does_not_hide_a_wide_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0, 1, -1)
    method = kq.LogisticRegression(C=1e29, kernel=kq.RBF(gamma=0.5))
    c = method.solve(X, y, form="primal").certificate
    wide = (c.primal_value - c.dual_value) / max(abs(c.primal_value), abs(c.dual_value))
    assert c.certified == (wide <= 1e-6)


def test_the_rounding_of_a_primal_that_cancels_is_known():
    """At the largest ν, P is a small difference of ν ρ and the losses."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 2))
        y = np.sign(X[:, 0] + rng.normal(size=30))
        nu = 2 * min((y > 0).sum(), (y < 0).sum()) / 30
        assert kq.NuSVM(nu=nu, kernel="rbf").solve(X, y, solver="native").certificate.certified


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_an_exact_fit_without_a_penalty_costs_nothing(tau):
    X = np.arange(6.0)[:, None]
    s = kq.QuantileRegression(C=np.inf, tau=tau, intercept="none").solve(X, 2.0 * X[:, 0])
    assert s.status is kq.Status.CERTIFIED
    assert s.value == pytest.approx(0.0, abs=1e-12)


def test_constant_targets_without_a_penalty():
    X = np.arange(6.0)[:, None]
    s = kq.SupportVectorRegression(C=np.inf, loss="absolute").solve(X, np.full(6, 0.3))
    assert s.status is kq.Status.CERTIFIED


@pytest.mark.parametrize("seed", [3, 18, 21, 40])
def test_small_regressions_with_a_large_price_are_certified_by_default(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 16)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    y = X[:, 0] * rng.normal() + rng.normal(size=n)
    svr = kq.SupportVectorRegression(C=1e6, epsilon=0.1, kernel=kq.RBF(gamma=1.0))
    assert svr.solve(X, y).certificate.certified


def test_as_many_columns_as_rows_leave_no_multiplier_but_0():
    rng = np.random.default_rng(2)
    s = kq.QuantileRegression(C=np.inf, tau=0.3).solve(rng.normal(size=(4, 3)), rng.normal(size=4))
    assert s.status is kq.Status.CERTIFIED
    assert s.certificate.dual_value == 0.0


def test_offsets_that_cancel_leave_rounding_in_the_bound():
    """Nearly separable rows need weights of 1e13, which cancel: P is not known to its own size."""
    tiny = 1e-8
    X = [[-1, 0], [1, 0], [0, tiny], [0, -tiny], [tiny, 0], [-tiny, 0], [-1, 5], [1, -3]]
    s = kq.LogisticRegression(C=np.inf).solve(X, [0, 1, 0, 1, 0, 1, 0, 1])
    assert isinstance(s, kq.Solution)
    c = s.certificate
    exact = 1.386294562258  # the infimum, in 40 digits
    assert c.dual_value - c.rounding <= exact * (1 + 1e-9)
    assert exact <= c.primal_value + c.rounding


def test_nothing_over_nothing_is_nothing():
    assert relative_gap(0.0, 0.0, 0.0) == 0.0
    assert relative_gap(1.0, 0.0, 0.0) == 1.0
    assert relative_gap(np.inf, 0.0, 1.0) == np.inf


def test_the_scale_is_that_of_the_kernel_and_the_targets():
    K = kq.Gram.dense(np.diag([1.0, 2.0, 3.0]))
    y = np.array([1.0, -1.0, 2.0])
    risk = kq.RegularizedRisk(K, y, 1.0, kq.losses.HalfSquared(), "none")
    assert gap_scale(risk) == pytest.approx(min(3.0, 2.0 / 2.0))  # P at f = 0; s² over mean K_ii


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("method", [kq.SoftMarginSVM, kq.SupportVectorRegression])
def test_a_lower_bound_saves_the_search_and_changes_nothing(method, C):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    risk = method(C=C, kernel=kq.RBF(gamma=1.0)).dual(X, y).risk().centred
    best = method(C=C, kernel=kq.RBF(gamma=1.0)).solve(X, y).certificate.dual_value
    for least in (-np.inf, 0.0, 0.5 * best, best):
        assert gap_scale(risk, least) == pytest.approx(gap_scale(risk), rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_of_a_factor_counts_what_cancels_in_its_weights(size, seed):
    """F'β is 0 to rounding: its square is, and not 0; D in rational arithmetic is no less."""
    rng = np.random.default_rng(seed)
    X, y = size * rng.normal(size=(30, 2)), np.where(np.arange(30) < 15, 1.0, -1.0)
    beta = y * rng.uniform(1.0, 9.0, 30)
    for _ in range(3):
        X[-1] -= X.T @ beta / beta[-1]  # as near to 0 as figures allow
    risk = kq.RegularizedRisk(kq.Gram.of(kq.Linear(), X), y, 10.0, kq.losses.Hinge(), "none")
    dual = risk.function(beta)
    w = [sum(Fraction(a) * Fraction(b) for a, b in zip(X[:, k], beta, strict=True)) for k in (0, 1)]
    exact = sum(Fraction(b * s) for b, s in zip(beta, y, strict=True)) - sum(v * v for v in w) / 2
    error = abs(Fraction(risk.dual_value(dual)) - exact)
    assert error <= rounding_of_bounds(risk, dual)


@pytest.mark.parametrize(("n", "r"), [(1, 200_000), (2, 100_000)])
def test_rounding_counts_the_sums_over_many_features_of_few_rows(n, r):
    """SciPy adds the terms of a sparse row one after another."""
    X = scipy.sparse.random(n, r, density=0.15, random_state=0, format="csr")
    risk = kq.RegularizedRisk(kq.Gram.from_factor(X), np.ones(n), 10.0, kq.losses.Hinge(), "none")
    dual = risk.function(np.full(n, 8.0 / 7.0))
    b, columns = Fraction(8.0 / 7.0), X.tocsc()
    w = [b * sum(map(Fraction, values)) for values in np.split(columns.data, columns.indptr[1:-1])]
    exact = n * b - sum(v * v for v in w) / 2
    noise = rounding_of_bounds(risk, dual)
    assert abs(Fraction(risk.dual_value(dual)) - exact) <= noise
    assert noise <= 1e-11 * dual.norm2


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_rounding_of_plain_data_is_small(size):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = size * StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)
    risk = kq.RegularizedRisk(
        kq.Gram.of(kq.Linear(), X), y, 1.0 / size**2, kq.losses.Hinge()
    ).centred
    found = risk.solve(tol=1e-6)
    noise = rounding_of_bounds(risk, risk.function(found.beta))
    assert 0.0 < noise <= 1e-12 * found.value
