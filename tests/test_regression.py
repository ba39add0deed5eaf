"""Support vector and quantile regression: page = engine, closed forms, other people's optima."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVR, LinearSVR

import kernelqp as kq
from kernelqp.errors import DataError, ParameterError

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "absolute")
KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.3)}
INTERCEPTS = ("free", "penalized", "none")


def methods(C=2.0, **common):
    for loss in LOSSES:
        yield kq.SupportVectorRegression(C=C, loss=loss, epsilon=0.3, delta=0.7, **common)
    yield kq.QuantileRegression(C=C, tau=0.3, **common)


def random_data(n=30):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    weights = rng.integers(0, 3, n).astype(float)
    return X, X @ [1.0, 2.0, -1.0] + rng.normal(size=n), weights


def real_data():
    X, y = load_diabetes(return_X_y=True)
    return 20.0 * X[:80], (y[:80] - 150.0) / 80.0, None


DATA = {"random": random_data, "real": real_data}
CASES = [
    pytest.param(method, data, id=f"{data}-{method!r}")
    for data in DATA
    for kernel in KERNELS.values()
    for intercept in INTERCEPTS
    for method in methods(kernel=kernel, intercept=intercept)
]


def pages(method, X, y, weights):
    found = [method.primal(X, y, weights), method.dual(X, y, weights)]
    if method.has_explicit_features():
        found.append(method.primal(X, y, weights, form="coefficients"))
    return found


@pytest.mark.parametrize(("method", "data"), CASES)
def test_page_and_engine_agree(method, data):
    X, y, weights = DATA[data]()
    risk = method.primal(X, y, weights).risk()
    values = [risk.dual().solve(tol=1e-8).value, risk.primal().solve(tol=1e-8).value]
    for page in pages(method, X, y, weights):
        assert page.problem.is_dcp(dpp=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "may be inaccurate"
            page.problem.solve(solver="CLARABEL")
        values.append(page.problem.value)
        assert page.solution().certificate.certified
        solved = page.solve(tol=1e-8)
        assert solved.certificate.certified
        assert kq.check_kkt(solved, tol=1e-5).holds
        values.append(solved.value)
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("method", list(methods(C=np.inf)), ids=repr)
def test_without_a_penalty_page_and_engine_agree(method, data):
    X, y, weights = DATA[data]()
    page = method.primal(X, y, weights)
    risk = page.risk()
    page.problem.solve(solver="CLARABEL")
    assert page.solution().certificate.certified
    values = [page.problem.value, risk.dual().solve(tol=1e-8).value]
    for solver in ("auto", "native", "CLARABEL"):
        solved = page.solve(solver=solver, tol=1e-8)
        assert solved.certificate.certified
        assert kq.check_kkt(solved, tol=1e-5).holds
        values.append(solved.value)
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
    fitted = X @ solved.weights + solved.intercept
    used = weights is None or weights > 0
    np.testing.assert_allclose(solved.residuals[used], (y - fitted)[used], atol=1e-9)


@pytest.mark.parametrize("method", list(methods()), ids=repr)
def test_without_a_penalty_is_the_limit_of_a_large_C(method):
    X, y, weights = random_data()
    bare = type(method)(**{**vars(method), "C": np.inf}).solve(X, y, weights, tol=1e-8)
    large = type(method)(**{**vars(method), "C": 1e5}).solve(X, y, weights, tol=1e-8)
    assert large.value / 1e5 == pytest.approx(bare.value, rel=1e-3)
    assert bare.value <= large.value / 1e5


def test_no_penalty_needs_explicit_features():
    X, y, _ = random_data()
    with pytest.raises(ParameterError, match="C=inf"):
        kq.QuantileRegression(C=np.inf, kernel="rbf").solve(X, y)
    with pytest.raises(ParameterError, match="C=inf"):
        kq.SupportVectorRegression(C=np.inf).dual(X, y)


def test_absolute_is_the_median_and_epsilon_zero():
    """SVR(C, epsilon 0) = quantile(2C, 1/2)."""
    X, y, weights = random_data()
    found = [
        kq.SupportVectorRegression(C=1.5, loss="absolute").solve(X, y, weights, tol=1e-9),
        kq.SupportVectorRegression(C=1.5, epsilon=0.0).solve(X, y, weights, tol=1e-9),
        kq.QuantileRegression(C=3.0, tau=0.5).solve(X, y, weights, tol=1e-9),
    ]
    np.testing.assert_allclose([s.value for s in found], found[0].value, rtol=1e-8)
    np.testing.assert_allclose([s.weights for s in found], [found[0].weights] * 3, rtol=1e-4)


def test_huber_with_a_large_delta_is_ridge_and_with_a_small_one_absolute():
    X, y, weights = random_data()
    ridge = kq.RegularizedLeastSquares(lam=0.5).solve(X, y, weights)
    wide = kq.SupportVectorRegression(C=2.0, loss="huber", delta=1e4).solve(X, y, weights, tol=1e-9)
    assert wide.value == pytest.approx(2.0 * ridge.value, rel=1e-8)
    np.testing.assert_allclose(wide.weights, ridge.weights, rtol=1e-4)
    absolute = kq.SupportVectorRegression(C=2.0, loss="absolute").solve(X, y, weights, tol=1e-9)
    narrow = kq.SupportVectorRegression(C=2e5, loss="huber", delta=1e-5).solve(X, y, weights)
    assert narrow.value == pytest.approx(absolute.value, rel=1e-4)


@pytest.mark.parametrize("solver", ["auto", "native", "CLARABEL", "OSQP"])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_two_sided_multipliers(solver, form):
    """Signs and boxes of α − α*, by hand."""
    svr = kq.SupportVectorRegression(C=0.2, epsilon=0.5)
    s = svr.solve([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 3.0, 3.0], form=form, solver=solver)
    assert s.value == pytest.approx(22.0 / 45.0, abs=1e-6)
    np.testing.assert_allclose(s.alpha, [-7 / 45, -0.2, 0.2, 7 / 45], atol=1e-6)
    assert s.alpha.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(s.weights, [2 / 3], atol=1e-6)
    assert s.intercept == pytest.approx(0.5, abs=1e-6)
    fitted = s.predict([[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_allclose(fitted, [0.5, 7 / 6, 11 / 6, 2.5], atol=1e-6)
    np.testing.assert_array_equal(s.support.support_vectors, [0, 1, 2, 3])


def test_the_pages_multipliers_are_alpha_and_alpha_star():
    svr = kq.SupportVectorRegression(C=0.2, epsilon=0.5)
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 3.0, 3.0]
    dual, primal = svr.dual(X, y), svr.primal(X, y)
    dual.problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10)
    primal.problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10)
    above, below = (primal.constraints[name].dual_value for name in ("above", "below"))
    np.testing.assert_allclose(dual.variables["alpha"].value, above, atol=1e-6)
    np.testing.assert_allclose(dual.variables["alpha_star"].value, below, atol=1e-6)
    np.testing.assert_allclose(above * below, 0.0, atol=1e-7)
    upper = dual.constraints["upper"].dual_value
    np.testing.assert_allclose(upper, primal.variables["xi"].value, atol=1e-5)
    assert float(np.ravel(dual.constraints["balance"].dual_value)[0]) == pytest.approx(
        0.5, abs=1e-6
    )


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_tube_wider_than_the_targets_has_no_support_vector(form, storage):
    import scipy.sparse

    X = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    given = X if storage == "dense" else scipy.sparse.csr_matrix(X)
    svr = kq.SupportVectorRegression(C=100.0, epsilon=0.3)
    s = svr.solve(given, [0.2, 0.35, 0.1, 0.3], form=form)
    assert s.status is kq.Status.CERTIFIED
    assert s.value == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(s.weights, 0.0, atol=1e-6)
    assert s.support.support_vectors.size == 0
    np.testing.assert_allclose(s.intercept_interval, [0.05, 0.40], atol=1e-6)
    assert 0.05 - 1e-6 <= s.intercept <= 0.40 + 1e-6
    np.testing.assert_allclose(s.predict(X), s.intercept, atol=1e-6)
    flat = kq.SupportVectorRegression(C=100.0, epsilon=0.0).solve(given, np.ones(4), form=form)
    assert (flat.value, flat.intercept) == pytest.approx((0.0, 1.0), abs=1e-9)
    np.testing.assert_allclose(flat.predict(X), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("tau", "value", "interval"),
    [(0.999, 0.018, (7, 7)), (0.8, 3.6, (4, 7)), (0.5, 4.0, (3, 3)), (0.1, 1.2, (1, 1))],
)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_quantiles_of_five_points(tau, value, interval, form):
    X, y = np.zeros((5, 1)), [1.0, 4.0, 2.0, 7.0, 3.0]
    s = kq.QuantileRegression(C=1.0, tau=tau).solve(X, y, form=form)
    assert s.status is kq.Status.CERTIFIED
    assert s.value == pytest.approx(value, abs=1e-5)
    np.testing.assert_allclose(s.intercept_interval, interval, atol=1e-5)
    assert interval[0] - 1e-5 <= s.intercept <= interval[1] + 1e-5


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 1.5, float("nan"), "half", None, True])
def test_a_level_outside_is_refused_by_name(tau):
    with pytest.raises(ParameterError, match="tau"):
        kq.QuantileRegression(tau=tau)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("C", C) for C in (0.0, -1.0, float("nan"))),
        *(("epsilon", epsilon) for epsilon in (-0.1, np.inf)),
        *(("delta", 0.0), ("loss", "hinge"), ("intercept", "fixed"), ("kernel", "cosine")),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    with pytest.raises(kq.InputError, match=name):
        kq.SupportVectorRegression(**{name: value})


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_nu_of_a_solution_leads_to_nu_svr_and_back(C):
    X, y, weights = random_data()
    S = weights.sum()
    s = kq.SupportVectorRegression(C=C, epsilon=0.3).solve(X, y, weights, tol=1e-10)
    t = kq.NuSVR(C=C * S, nu=s.nu).solve(X, y, weights, tol=1e-10)
    assert t.value == pytest.approx(s.value + C * S * s.nu * 0.3, rel=1e-8)  # ε may be an interval
    np.testing.assert_allclose(t.weights, s.weights, rtol=1e-4)


def test_labels_are_no_targets():
    with pytest.raises(DataError):
        kq.SupportVectorRegression().solve([[0.0], [1.0]], ["a", "b"])


# --- others' optima ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr_of_scikit_learn(loss):
    X, y, weights = random_data(60)
    theirs = LinearSVR(C=1.0, epsilon=0.2, loss=loss, tol=1e-10, max_iter=200_000, dual=True)
    theirs.fit(X, y, weights + 1.0)
    ours = kq.SupportVectorRegression(C=1.0, epsilon=0.2, loss=loss, intercept="penalized")
    s = ours.solve(X, y, weights + 1.0, tol=1e-10)
    np.testing.assert_allclose(s.weights, theirs.coef_, rtol=1e-4)
    assert s.intercept == pytest.approx(float(theirs.intercept_[0]), rel=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_svr_of_scikit_learn(C):
    X, y, _ = DATA["real"]()
    theirs = SVR(C=C, epsilon=0.1, gamma=0.05, tol=1e-8).fit(X, y)
    s = kq.SupportVectorRegression(C=C, epsilon=0.1, kernel=kq.RBF(gamma=0.05)).solve(
        X, y, tol=1e-10
    )
    beta = np.zeros(len(y))
    beta[theirs.support_] = theirs.dual_coef_[0]
    K = kq.RBF(gamma=0.05)(X)
    value = y @ beta - 0.1 * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert value == pytest.approx(s.value, rel=2e-7)  # their kernel is in float32
    free = s.predict(X) - s.intercept, theirs.predict(X) - theirs.intercept_
    np.testing.assert_allclose(*free, atol=1e-4)
    low, high = s.intercept_interval  # without a free support vector b is not unique
    assert low - 1e-4 <= float(theirs.intercept_[0]) <= high + 1e-4


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantile_regressor_of_scikit_learn(tau):
    X, y = load_diabetes(return_X_y=True)
    theirs = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
    r = y - theirs.predict(X)
    lost = float(np.maximum(tau * r, (tau - 1.0) * r).sum())
    s = kq.QuantileRegression(C=np.inf, tau=tau).solve(X, y, tol=1e-9)
    assert s.status is kq.Status.CERTIFIED
    assert s.value == pytest.approx(lost, rel=1e-8)
    assert np.mean(s.residuals < -1e-6) <= tau <= np.mean(s.residuals <= 1e-6)


# --- degenerate ----------------------------------------------------------------------------------

ODD = {
    "one row": ([[2.0]], [5.0]),
    "duplicates": ([[1.0], [1.0], [1.0], [2.0]], [0.0, 1.0, 5.0, 3.0]),
    "constant features": (np.ones((6, 2)), [0.0, 1.0, 2.0, 3.0, 4.0, 50.0]),
    "constant targets": (np.arange(5.0)[:, None], np.full(5, 3.0)),
    "far": (np.array([[1e6], [1e6 + 1.0], [1e6 + 2.0], [1e6 + 3.0]]), [1.0, 2.0, 2.0, 4.0]),
    "large targets": (np.arange(5.0)[:, None], 1e8 * np.array([1.0, 2.0, 1.5, 4.0, 3.0])),
    "integers": ([[1], [2], [3], [4]], [1, 3, 2, 5]),
    "float32": (np.array([[1.0], [2.0], [4.0]], np.float32), np.array([1, 2, 1.5], np.float32)),
}


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("method", list(methods()), ids=lambda m: getattr(m, "loss", "quantile"))
def test_odd_data_are_certified_from_both_sides(method, odd, C):
    X, y = ODD[odd]
    method = type(method)(**{**vars(method), "C": C})
    found = [method.primal(X, y).solve(), method.dual(X, y).solve()]
    assert all(s.certificate.certified for s in found)
    nothing = 1e-12 * C * float(np.abs(y).max())  # constant targets cost nothing
    assert found[0].value == pytest.approx(found[1].value, rel=1e-5, abs=nothing)


@pytest.mark.parametrize("method", list(methods()), ids=lambda m: getattr(m, "loss", "quantile"))
def test_whole_weights_are_repeated_rows(method):
    X, y, weights = random_data()
    weights = weights.astype(int)
    weighted = method.solve(X, y, weights, tol=1e-9)
    repeated = method.solve(np.repeat(X, weights, axis=0), np.repeat(y, weights), tol=1e-9)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=1e-4)
    assert np.isnan(weighted.residuals[weights == 0]).all()
    assert not weighted.alpha[weights == 0].any()


@pytest.mark.parametrize("method", list(methods()), ids=lambda m: getattr(m, "loss", "quantile"))
def test_a_shift_of_the_targets_is_one_of_the_intercept(method):
    X, y, weights = random_data()
    s, moved = (method.solve(X, t, weights, tol=1e-9) for t in (y, y + 1000.0))
    assert moved.value == pytest.approx(s.value, rel=1e-7)
    np.testing.assert_allclose(moved.weights, s.weights, rtol=1e-4)
    assert moved.intercept - s.intercept == pytest.approx(1000.0, abs=1e-3)


def test_slopes_are_those_of_pandas_columns():
    import pandas as pd

    X, y, _ = random_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    s = kq.QuantileRegression(C=np.inf, tau=0.7).solve(frame, pd.Series(y))
    np.testing.assert_allclose(s.predict(frame), frame.to_numpy() @ s.weights + s.intercept)
    with pytest.raises(DataError):
        s.predict(frame[["b", "a", "c"]])


def test_the_price_is_changed_without_compiling_again():
    X, y, _ = random_data()
    page = kq.SupportVectorRegression(C=1.0).dual(X, y)
    first = page.solve()
    page.parameters["C"].value = 10.0
    assert page.solve().method.C == 10.0
    fresh = kq.SupportVectorRegression(C=10.0).solve(X, y)
    assert page.solve().value == pytest.approx(fresh.value, rel=1e-6)
    assert first.value < fresh.value
