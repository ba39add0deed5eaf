"""Where a verdict is close: next to tol, at an optimum of 0, in kernels that hold no figures."""

import re
import warnings
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVR, OneClassSVM

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from kernelqp.foreign import read
from kernelqp.judgement import _exactly
from kernelqp.newton import WIDE
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
    assert found.verdict.startswith("Not proved")  # rounding of entries of 1e12 is as large as P
    assert found.dual_value < found.best_value < found.primal_value


def rational(K, y, alpha):
    """The optimum of KernelRidge, alpha y'(K + alpha I)⁻¹ y, and its objective, in fractions."""
    K = [[Fraction(v) for v in row] for row in K.tolist()]
    y, alpha, n = [Fraction(v) for v in y.tolist()], Fraction(alpha), len(K)
    rows = [[*row, target] for row, target in zip(K, y, strict=True)]
    for i in range(n):
        rows[i][i] += alpha
    for i in range(n):  # positive definite: no row is exchanged
        for below in rows[i + 1 :]:
            share = below[i] / rows[i][i]
            below[i:] = [b - share * a for a, b in zip(rows[i][i:], below[i:], strict=True)]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]

    def objective(beta):
        beta = [Fraction(v) for v in beta.tolist()]
        f = [sum(map(mul, row, beta)) for row in K]
        return sum((a - b) ** 2 for a, b in zip(y, f, strict=True)) + alpha * sum(map(mul, beta, f))

    return alpha * sum(map(mul, y, x)), objective


@pytest.mark.parametrize("gamma", [5.0, 20.0])
@pytest.mark.parametrize("alpha", [1e-12, 1e-13])
def test_a_nearly_interpolating_model_of_a_stored_kernel_is_known_on_both_sides(alpha, gamma):
    """P as it is summed in double precision is below the optimum by more than the gap."""
    x = np.linspace(0.0, 1.0, 24)[:, None]
    K, y = rbf_kernel(x, gamma=gamma), np.sin(6.0 * x.ravel())
    y += np.random.default_rng(0).normal(size=24)
    K = 0.5 * (K + K.T)  # the entries are what is judged, to their last figure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        model = KernelRidge(kernel="precomputed", alpha=alpha).fit(K, y)
    optimum, objective = rational(K, y, alpha)
    found = kq.certify(model, K, y)
    low, high = map(float, re.search(r"between (\S+) and ([^;)\s]+)", found.verdict).groups())
    at = objective(model.dual_coef_)
    assert low * (1 - 1e-9) <= optimum <= at <= high * (1 + 1e-9)  # ten figures are printed
    assert found.dual_value <= optimum
    assert found.primal_value == pytest.approx(float(at), rel=1e-9)
    assert found.gap >= 0.0
    assert found.best_value >= found.dual_value


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_no_bound_is_below_0_where_nothing_costs_less(kernel):
    """Rounding takes more from D than there is: 0 is known without it."""
    X, y = load_diabetes(return_X_y=True)
    given = rbf_kernel(X, gamma=0.1) if kernel == "precomputed" else X
    for alpha in (1e-12, 1e-14):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # which is what is wanted here
            model = KernelRidge(kernel=kernel, gamma=0.1, alpha=alpha).fit(given, y)
        found = kq.certify(model, given, y)
        assert found.dual_value >= 0.0
        assert 0.0 < found.relative_gap <= 1.0


def test_a_one_class_bound_may_be_below_0():
    X = small(0)[0]
    X = X - X.mean(axis=0)
    model = fit(OneClassSVM(nu=0.37, kernel="linear", max_iter=3), X, None)
    assert kq.certify(model, X).dual_value < 0.0


def test_ends_that_are_close_are_told_apart():
    X, y, _ = small(1)
    model = SVC(kernel="linear", tol=1e-4).fit(X, y)
    found = kq.certify(model, X, y, tol=1e-12)
    assert 1e-12 < found.relative_gap < 1e-5
    low, high = re.search(r"between (\S+) and (\S+); the model", found.verdict).groups()
    at = re.search(r"the model is at (\S+)\)", found.verdict)[1]
    assert float(low) <= float(high) < float(at)
    assert float(at) - float(low) == pytest.approx(found.gap, rel=0.05)


def test_ends_that_are_closer_than_the_model_is_are_told_apart():
    X, y, _ = small(1)
    found = kq.certify(fit(LinearSVC(loss="hinge", max_iter=1, tol=1e-9), X, y), X, y)
    assert found.relative_gap > 1e-2
    assert 1e-12 < 1.0 - found.dual_value / found.best_value < 1e-6
    low, high = re.search(r"between (\S+) and (\S+); the model", found.verdict).groups()
    assert float(low) < float(high)


@pytest.mark.filterwarnings("ignore:Singular matrix:UserWarning")  # by scikit-learn, of its fit
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_a_kernel_with_features_is_bounded_where_its_matrix_is_lost_to_rounding(size, alpha, kind):
    """The small side holds the figures: K, of rank 2, is singular to all of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + 0.5 * rng.normal(size=60)
    X = (size * X).astype(kind)
    Z = X.astype(np.float64)
    w = np.linalg.solve(Z.T @ Z + alpha * np.eye(2), Z.T @ y)
    optimum = float(((y - Z @ w) ** 2).sum() + alpha * w @ w)
    found = kq.certify(fit(KernelRidge(alpha=alpha), X, y), X, y)
    assert found.dual_value <= optimum * (1.0 + 1e-9)
    assert found.dual_value == pytest.approx(optimum, rel=1e-3)
    assert found.best_value == pytest.approx(optimum, rel=1e-3)
    assert found.certified == (found.primal_value <= 1.001 * optimum)


def test_a_kernel_of_very_many_features_is_left_to_its_matrix(monkeypatch):
    """Without a Hessian Newton's steps take longer than the n x n system."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, WIDE + 1)) / np.arange(1, WIDE + 2)
    y = rng.normal(size=20)
    model = fit(KernelRidge(alpha=1e-3), X, y)
    model.dual_coef_ = 1.05 * model.dual_coef_
    monkeypatch.setattr("kernelqp.bound_search.newton_primal", lambda *_: pytest.fail("called"))
    found = kq.certify(model, X, y)
    assert found.verdict.startswith("Not converged")
    assert found.best_value == pytest.approx(found.dual_value, rel=1e-6)


def test_only_a_kernel_that_is_not_psd_is_said_to_be_no_convex_problem():
    X = np.array([[1.0], [2.0], [4.0]])
    model = fit(KernelRidge(), X, np.ones(3))
    model.X_fit_ = 1e160 * X
    with pytest.raises(kq.InputError, match=r"^KernelRidge cannot be.*finite.*scale") as e:
        kq.certify(model, model.X_fit_, np.ones(3))
    assert "convex" not in str(e.value)
    model = fit(KernelRidge(kernel="precomputed", alpha=2.0), np.diag([1.0, -1.0, 1.0]), np.ones(3))
    with pytest.raises(kq.InputError, match=r"is no convex problem: fit with a kernel that is$"):
        kq.certify(model, np.diag([1.0, -1.0, 1.0]), np.ones(3))


def test_shares_are_read_only():
    X, y, _ = small(2)
    found = kq.certify(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="read-only"):
        found.complementarity[0] = 5.0


def test_exact_predictions_of_a_model_with_an_intercept_are_those_about_its_mean():
    X, _, y = small(3)
    K = rbf_kernel(X, gamma=0.5)
    model = SVR(kernel="precomputed", C=1e6).fit(K, y)
    reading = read(model, K, y, None)[0]
    risk, candidate = reading.risk.centred, reading.candidate
    function, theta = _exactly(reading, candidate.function, candidate.theta)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_.ravel()
    f = [sum(map(mul, map(Fraction, row), map(Fraction, beta.tolist()))) for row in K.tolist()]
    p = np.array([float(v) for v in f]) + model.intercept_[0] - reading.risk.middle
    assert np.abs(risk.predictions(function, theta) - p).max() <= 1e-14 * np.abs(p).max()
    norm2 = float(sum(map(mul, f, map(Fraction, beta.tolist()))))
    assert function.norm2 == pytest.approx(norm2, rel=1e-15)


def integers(seed):
    """A kernel of integers that is nearly singular for its size, so that fractions are short."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 7)), int(rng.integers(1, 3))
    X = rng.integers(2 ** rng.integers(5, 13), size=1) + rng.integers(-10, 11, size=(n, d)) * 1.0
    y = rng.integers(-10, 11, size=n) * 1.0
    return X @ X.T, y, 2.0 ** -float(rng.integers(15, 40))


@pytest.mark.parametrize("seed", range(60))
def test_what_is_said_of_a_nearly_singular_kernel_is_true(seed):
    K, y, alpha = integers(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy and scikit-learn both say that it is singular
        model = KernelRidge(kernel="precomputed", alpha=alpha).fit(K, y)
    optimum, objective = rational(K, y, alpha)
    at = objective(model.dual_coef_)
    for tol in (1e-3, 1e-9):
        found = kq.certify(model, K, y, tol=tol)
        low, high = map(float, re.search(r"between (\S+) and ([^;)\s]+)", found.verdict).groups())
        slack = Fraction(1e-5)  # of printed figures
        assert low * (1 - slack) <= optimum <= high * (1 + slack)
        assert found.dual_value <= optimum * (1 + Fraction(1e-12))
        assert found.dual_value <= found.best_value <= found.primal_value
        if found.verdict.startswith("Not converged"):
            assert at > optimum * (1 + Fraction(tol) / 2)
        if found.certified:
            assert at <= optimum * (1 + 2 * Fraction(tol))


def test_f_of_0_is_not_forgotten_where_rounding_decides():
    """A kernel of 1e34, of which a model in part fitted makes a P far above that of f = 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    K = (1.0 + 1e17 * X @ X.T) ** 2
    K = 0.5 * (K + K.T)
    model = fit(NuSVR(kernel="precomputed", C=1e-3, nu=0.4, max_iter=50), K, y)
    found = kq.certify(model, K, y, tol=1e-6)
    at_0 = 1e-3 * np.abs(y - np.median(y)).sum()
    assert found.best_value <= at_0 * (1 + 1e-9)
    assert found.primal_value > 2.0 * at_0
    assert found.verdict.startswith("Not converged")


@pytest.mark.parametrize("offset", [0.0, 3.0])
@pytest.mark.parametrize("kind", [{"kernel": "rbf"}, {"kernel": "poly", "coef0": 1.0}], ids=str)
def test_support_vectors_of_a_converged_model_are_its_own(kind, offset):
    """A kernel in blocks has another origin than the mean of all rows: θ is of the same one."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) + offset
    model = SVC(gamma=1 / 30, tol=1e-10, **kind).fit(X, y)
    support = kq.certify(model, X, y).support
    assert np.array_equal(support.support_vectors, np.sort(model.support_))
