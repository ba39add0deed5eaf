"""Where a verdict is close: next to tol, at an optimum of 0, in kernels that hold no figures."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVR, OneClassSVM

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from tests.foreign.fits import fit

NEAR = (0.993, 0.999, 1.0003, 1.003)  # the true gap over tol


def small(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y, X[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "model",
    [
        OneClassSVM(nu=0.37, kernel="linear", max_iter=3),
        NuSVR(C=10, nu=0.3, max_iter=10),
        SVC(C=10, max_iter=10),
        SVR(C=10, max_iter=10),
        LinearSVC(loss="hinge", max_iter=10, random_state=0),
        LinearSVR(epsilon=0.1, max_iter=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_gap_next_to_tol_is_told_from_it(model, seed):
    X, labels, targets = small(seed)
    y = labels if isinstance(model, SVC | LinearSVC) else targets
    model = fit(model, X, y)
    known = kq.certify(model, X, y, tol=1e-10)
    assert known.best_value - known.dual_value < 1e-4 * known.gap  # so it is the true gap
    for share in NEAR:
        found = kq.certify(model, X, y, tol=known.relative_gap / share)
        assert found.verdict.startswith("Converged" if share < 1.0 else "Not converged")


@pytest.mark.parametrize("n", [3, 30])
def test_a_constant_target_is_met_to_its_rounding(n):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, 2)), np.full(n, rng.normal())
        model = QuantileRegressor(alpha=0).fit(X, y)
        assert kq.certify(model, X, y).certified
        model.intercept_ += 1e-6
        assert not kq.certify(model, X, y).certified


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-12, 1e9])
@pytest.mark.parametrize(("mean", "spread"), [(1e2, 1.0), (1e6, 1e-3), (1e6, 1e-5), (1e4, 1e-7)])
def test_a_bad_fit_of_what_is_left_beside_a_large_mean_is_told(mean, spread, unit):
    """A squared loss is in the square of the unit of the targets, and so are their roundings."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = unit * (mean + spread * (X @ [1.0, -0.5] + 0.3 * rng.normal(size=60)))
    model = Ridge(alpha=1.0).fit(X - X.mean(axis=0), y - y.mean())
    model.intercept_ = y.mean() - X.mean(axis=0) @ model.coef_
    good = kq.certify(model, X, y)
    model.coef_ = 0.0 * model.coef_
    model.intercept_ = y.mean()
    bad = kq.certify(model, X, y)
    assert good.certified
    assert bad.verdict.startswith("Not converged")
    assert bad.dual_value > 0.0


def test_one_row_is_met_to_its_rounding():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1, 2)), rng.normal(size=1)
        assert kq.certify(NuSVR(nu=0.4, C=17, kernel="linear").fit(X, y), X, y).certified


def exact_optimum(X, y, gamma, alpha):
    """Return the optimum of a kernel ridge with (γ x'z + 1)², in rational arithmetic."""
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    targets = [Fraction(v) for v in y.tolist()]
    K = [
        [(gamma * sum(a * b for a, b in zip(p, q, strict=True)) + 1) ** 2 for q in rows]
        for p in rows
    ]
    system = [[*row, t] for row, t in zip(K, targets, strict=True)]
    for i in range(len(y)):
        system[i][i] += alpha
    for i, pivot in enumerate(system):
        pivot[:] = [v / pivot[i] for v in pivot]
        for j, row in enumerate(system):
            if j != i:
                row[:] = [u - row[i] * v for u, v in zip(row, pivot, strict=True)]
    beta = [row[-1] for row in system]
    return float(alpha * sum(b * t for b, t in zip(beta, targets, strict=True)))


@pytest.mark.parametrize("seed", range(6))
def test_the_bounds_allow_for_the_rounding_of_a_large_kernel(seed):
    """Far from 0 a polynomial kernel is 1e5 times what tells its rows apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 4)) + 1e3
    y = 30.0 * (X - 1e3) @ rng.normal(size=4)
    model = KernelRidge(kernel="poly", alpha=147.0, degree=2, coef0=1.0, gamma=1.5).fit(X, y)
    found = kq.certify(model, X, y, tol=1e-2)
    low, high = (float(v) for v in found.verdict.split("between ")[1].rstrip(").").split(" and "))
    assert found.certified
    assert found.dual_value == pytest.approx(low, rel=1e-9)
    assert low < exact_optimum(X, y, Fraction(1.5), Fraction(147)) < high


def test_the_rounding_of_a_kernel_in_blocks_is_that_before_centring():
    X = np.random.default_rng(0).normal(size=(6, 2)) + 1e3
    gram = BlockGram.on(kq.Polynomial(2, 1.0, 1.0), X)
    np.testing.assert_array_equal(gram.centred().summed_diagonal, gram.diagonal)
    assert gram.centred().diagonal.max() < 1e-4 * gram.diagonal.min()


@pytest.mark.parametrize("seed", [6, 8])
def test_rows_of_a_centred_kernel_are_symmetric(seed):
    """Centring rounds K_ij and K_ji apart by more than the centred kernel's own rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 8)) + 1e3
    y = np.where(rng.normal(size=70) > 0, 1, -1)
    model = fit(SVC(kernel="poly", degree=2, coef0=1.0, gamma=1.126, C=0.75, max_iter=50), X, y)
    found = kq.certify(model, X, y)
    assert found.verdict.startswith("Not converged")
    assert found.dual_value < found.best_value < found.primal_value
