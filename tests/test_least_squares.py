"""Regularised least squares: page = engine, closed forms, scikit-learn, and every λ at once."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

import kernelqp as kq

X, Y = load_diabetes(return_X_y=True)
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
KERNELS = {
    "linear": kq.Linear(),
    "rbf": kq.RBF(gamma=50.0),
    "polynomial": kq.Polynomial(2, 1.0, 1.0),
}
INTERCEPTS = ("free", "penalized", "none")
LAMS = np.array([1e-3, 0.1, 1.0, 100.0])

every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
weighted = pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])


def method(kernel="linear", intercept="free", lam=0.3):
    return kq.RegularizedLeastSquares(lam=lam, kernel=KERNELS[kernel], intercept=intercept)


def by_hand(kernel, intercept, s, lam=0.3):
    """Return (value, predictions) from the normal equations in β."""
    s = np.ones(len(Y)) if s is None else s
    used = s > 0
    K, y, root = KERNELS[kernel](X)[np.ix_(used, used)], Y[used], np.sqrt(s[used])
    if intercept == "penalized":
        K = K + 1.0
    n = len(y)
    system = np.block(
        [[K + lam * np.diag(1.0 / s[used]), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    if intercept == "free":
        beta, b = np.split(np.linalg.solve(system, np.r_[y, 0.0]), [n])
    else:
        beta, b = np.linalg.solve(system[:n, :n], y), np.zeros(1)
    p = K @ beta + b
    value = 0.5 * np.sum((root * (y - p)) ** 2) + 0.5 * lam * beta @ K @ beta
    full = KERNELS[kernel](X, X[used]) + (1.0 if intercept == "penalized" else 0.0)
    return float(value), full @ beta + b


@every_kernel
@every_intercept
@weighted
def test_page_and_engine_meet_in_every_form(kernel, intercept, s):
    value, predictions = by_hand(kernel, intercept, s)
    forms = ["coefficients", "dual"] + (["weights"] if kernel == "linear" else [])
    for form in forms:
        m = method(kernel, intercept)
        page = m.dual(X, Y, s) if form == "dual" else m.primal(X, Y, s, form=form)
        solution = page.solve()
        assert solution.status is kq.Status.CERTIFIED
        assert solution.value == pytest.approx(value, rel=1e-9)
        assert solution.solver.startswith("Cholesky")
        np.testing.assert_allclose(solution.predict(X), predictions, rtol=1e-6, atol=1e-6)
        assert kq.check_kkt(solution).holds
        other = page.solve(solver="CLARABEL")
        assert other.certificate.certified
        assert other.value == pytest.approx(value, rel=1e-6)


@every_intercept
@weighted
@pytest.mark.parametrize("form", ["weights", "dual"])
def test_the_literal_page_is_the_same_problem(intercept, s, form):
    m = method("linear", intercept)
    page = m.dual(X, Y, s) if form == "dual" else m.primal(X, Y, s, form=form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page.problem.solve(solver="CLARABEL")
    assert page.problem.value == pytest.approx(by_hand("linear", intercept, s)[0], rel=1e-7)
    given = page.solution()
    assert given.certificate.certified
    for name, constraint in page.constraints.items():
        literal = np.ravel(constraint.dual_value)
        page.solve()
        written = np.ravel(page.constraints[name].dual_value)
        np.testing.assert_allclose(written, literal, rtol=1e-4, atol=1e-4 * abs(Y).max())


def test_the_multiplier_of_the_balance_is_lam_b():
    page = method(lam=0.3).dual(X, Y)
    solution = page.solve()
    assert float(page.constraints["balance"].dual_value) == pytest.approx(0.3 * solution.intercept)


@every_intercept
def test_the_multiplier_of_a_penalised_intercept_in_coefficients(intercept):
    page = method("rbf", intercept).primal(X, Y, form="coefficients")
    assert kq.check_kkt(page.solve()).holds
    assert set(page.constraints) == ({"intercept"} if intercept == "penalized" else set())


def test_lam_is_a_parameter():
    page = method(lam=1.0).dual(X, Y)
    page.parameters["lam"].value = 0.05
    solution = page.solve()
    assert solution.method.lam == 0.05
    assert solution.value == pytest.approx(by_hand("linear", "free", None, 0.05)[0], rel=1e-9)
    page.parameters["lam"].value = 0.0
    with pytest.raises(kq.InputError, match="lam must be > 0"):
        page.solve()


def test_g_of_the_notes_is_the_dual():
    """The dual is lam/2 G(α), G(α) = −α'(K + lam I) α + 2 α'y, at α = (K + lam I)⁻¹ y."""
    K, lam = KERNELS["rbf"](X), 0.3
    alpha = np.linalg.solve(K + lam * np.eye(len(Y)), Y)
    G = -alpha @ (K @ alpha + lam * alpha) + 2 * alpha @ Y
    solution = method("rbf", "none").dual(X, Y).solve()
    assert solution.value == pytest.approx(0.5 * lam * G, rel=1e-9)
    np.testing.assert_allclose(solution.alpha, alpha, rtol=1e-6)


@weighted
def test_scikit_learn_agrees(s):
    ridge = Ridge(alpha=0.3).fit(X, Y, s)
    ours = method().solve(X, Y, s)
    np.testing.assert_allclose(ours.weights, ridge.coef_, rtol=1e-8)
    assert ours.intercept == pytest.approx(ridge.intercept_, rel=1e-8)
    kernel_ridge = KernelRidge(alpha=0.3, kernel="rbf", gamma=50.0).fit(X, Y, s)
    solution = method("rbf", "none").solve(X, Y, s)
    np.testing.assert_allclose(solution.predict(X), kernel_ridge.predict(X), rtol=1e-8)


def test_the_cheaper_side_is_factorised():
    wide = np.random.default_rng(0).normal(size=(20, 300))
    y = wide[:, 0]
    assert method().solve(X, Y).solver == "Cholesky, primal 11 x 11"
    assert method().solve(wide, y).solver == "Cholesky, dual 20 x 20"
    assert method("rbf").solve(X, Y).solver == "Cholesky, dual 442 x 442"


# --- no penalty -----------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "none"])
@weighted
def test_without_a_penalty_it_is_least_squares(intercept, s):
    model = LinearRegression(fit_intercept=intercept == "free").fit(X, Y, s)
    solution = method(intercept=intercept, lam=0).solve(X, Y, s)
    assert solution.status is kq.Status.CERTIFIED
    np.testing.assert_allclose(solution.predict(X), model.predict(X), rtol=1e-8)
    used = np.ones(len(Y)) if s is None else s
    lost = 0.5 * used @ (Y - model.predict(X)) ** 2
    assert solution.value == pytest.approx(lost, rel=1e-10)


def test_without_a_penalty_the_shortest_weights_are_shown():
    twice = np.column_stack([X, X[:, 0], np.full(len(Y), 3.0)])
    solution = method(lam=0).solve(twice, Y)
    assert solution.certificate.certified
    np.testing.assert_allclose(solution.weights[0], solution.weights[10], rtol=1e-8)
    assert solution.weights[11] == pytest.approx(0.0, abs=1e-9)


def test_without_a_penalty_rows_may_be_fewer_than_features():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(5, 9)), rng.normal(size=5)
    solution = method(lam=0).solve(wide, y)
    assert solution.certificate.certified
    assert solution.value == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(solution.predict(wide), y)


@pytest.mark.parametrize(
    "state",
    [
        lambda m: m.dual(X, Y),
        lambda m: m.primal(X, Y, form="coefficients"),
        lambda m: kq.RegularizedLeastSquares(lam=0, kernel="rbf").solve(X, Y),
        lambda m: m.path(X, Y, [-1.0]),
        lambda m: m.path(X, Y, []),
        lambda m: m.path(X, Y, ["a"]),
        lambda m: kq.RegularizedLeastSquares(kernel="rbf").path(X, Y, [0.0, 1.0]),
        lambda m: kq.RegularizedLeastSquares(lam=-1.0),
        lambda m: kq.RegularizedLeastSquares(lam=np.inf),
        lambda m: kq.RegularizedLeastSquares(lam=5e-324).solve(X, Y),
        lambda m: m.path(X, Y, [1.0]).best("aic"),
    ],
    ids=list("abcdefghijk"),
)
def test_what_makes_no_sense_is_refused_and_named(state):
    with pytest.raises(kq.InputError, match=r"lam|by must be"):
        state(method(lam=0))


# --- labels ---------------------------------------------------------------------------------------


def test_two_labels_are_classified():
    labels = np.where(np.median(Y) < Y, "high", "low")
    solution = method("rbf").solve(X, labels)
    signs = np.where(labels == "low", 1.0, -1.0)
    numeric = method("rbf").solve(X, signs)
    assert solution.value == pytest.approx(numeric.value, rel=1e-12)
    assert solution.classes.tolist() == ["high", "low"]
    assert (solution.predict(X) == np.where(numeric.predict(X) > 0, "low", "high")).all()
    with pytest.raises(AttributeError, match="real numbers"):
        numeric.classes  # noqa: B018


def test_a_regression_has_no_slack_and_says_so():
    with pytest.raises(AttributeError, match="a regression has no margin"):
        method().solve(X, Y).slack  # noqa: B018


def test_rows_of_weight_0_leave_the_problem():
    solution = method().solve(X, Y, WEIGHTS)
    assert np.isnan(solution.residuals[WEIGHTS == 0]).all()
    assert not solution.beta[WEIGHTS == 0].any()
    used = WEIGHTS > 0
    fitted = Y[used] - solution.predict(X[used])
    np.testing.assert_allclose(solution.residuals[used], fitted, atol=1e-9)


# --- every lambda at once -------------------------------------------------------------------------


@every_kernel
@every_intercept
@weighted
def test_the_path_is_the_solution_at_every_lam(kernel, intercept, s):
    path = method(kernel, intercept).path(X, Y, LAMS, s)
    for k, lam in enumerate(LAMS):
        one = method(kernel, intercept, lam).solve(X, Y, s)
        assert path.values[k] == pytest.approx(one.value, rel=1e-9)
        assert path.intercepts[k] == pytest.approx(one.intercept, rel=1e-7, abs=1e-7)
        np.testing.assert_allclose(path.residuals[k], one.residuals, atol=1e-6)
        size = np.abs(one.beta).max()
        np.testing.assert_allclose(path.coefficients[k], one.beta, atol=1e-8 * size)
        if kernel == "linear":
            np.testing.assert_allclose(path.weights[k], one.weights, rtol=1e-8)
        else:
            assert path.weights is None


@every_kernel
@every_intercept
@weighted
def test_a_left_out_row_is_the_residual_of_the_fit_without_it(kernel, intercept, s):
    path = method(kernel, intercept).path(X, Y, LAMS, s)
    weights = np.ones(len(Y)) if s is None else s
    for i in np.flatnonzero(weights)[[3, 77]]:
        without = weights.copy()
        without[i] = 0.0
        for k, lam in enumerate(LAMS):
            one = method(kernel, intercept, lam).solve(X, Y, without)
            left = Y[i] - one.predict(X[i : i + 1])[0]
            assert path.leave_one_out[k, i] == pytest.approx(left, rel=1e-6, abs=1e-5)
    assert np.isnan(path.leave_one_out[:, weights == 0]).all()


@every_kernel
@every_intercept
def test_degrees_of_freedom_are_the_trace_of_the_hat_matrix(kernel, intercept):
    rows, y = X[:40], Y[:40]
    path = method(kernel, intercept).path(rows, y, LAMS)
    for k, lam in enumerate(LAMS):
        m = method(kernel, intercept, lam)
        trace = 0.0
        for i in range(40):
            moved = y.copy()
            moved[i] += 1.0
            trace += m.solve(rows, moved).predict(rows)[i] - m.solve(rows, y).predict(rows)[i]
        assert path.effective_degrees_of_freedom[k] == pytest.approx(trace, rel=1e-6)
        squares = np.sum(path.residuals[k] ** 2)
        assert path.gcv[k] == pytest.approx(40 * squares / (40 - trace) ** 2, rel=1e-5)


def test_ridge_cv_has_the_same_leave_one_out_errors():
    alphas = [1e-2, 0.1, 1.0]
    reference = RidgeCV(alphas=alphas, store_cv_results=True).fit(X, Y)
    path = method().path(X, Y, alphas)
    np.testing.assert_allclose(path.leave_one_out.T**2, reference.cv_results_, rtol=1e-8)
    assert path.best().lam == reference.alpha_


@pytest.mark.parametrize("lam", [1e-6, 1e-10, 1e-14])
@every_intercept
def test_left_out_rows_keep_their_figures_as_lam_falls(intercept, lam):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(7, 3)), rng.normal(size=7)
    m = kq.RegularizedLeastSquares(lam=lam, kernel=kq.RBF(gamma=1.0), intercept=intercept)
    path = m.path(rows, y, [lam])
    for i in range(7):
        without = np.ones(7)
        without[i] = 0.0
        left = y[i] - m.solve(rows, y, without).predict(rows[i : i + 1])[0]
        assert path.leave_one_out[0, i] == pytest.approx(left, rel=1e-10)
    near = m.path(rows, y, [1e-9]).gcv[0]
    assert path.gcv[0] == pytest.approx(near, rel=1e-4)
    assert path.effective_degrees_of_freedom[0] <= 7.0 + 1e-12
    assert path.best("gcv").lam == lam


def wide(name):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(20, 50))
    B = rng.normal(size=(20, 9))
    return {
        "wide": A,
        "square": A[:, :20],
        "one less": A[:, :19],
        "twice": np.hstack([B, B]),
        "one-hot": np.repeat(np.eye(5)[np.arange(20) % 5], 3, axis=1),
        "zeros": np.hstack([B, np.zeros((20, 12))]),
    }[name]


@pytest.mark.parametrize("name", ["wide", "square", "one less", "twice", "one-hot", "zeros"])
@every_intercept
@pytest.mark.parametrize("s", [None, WEIGHTS[:20]], ids=["plain", "weighted"])
def test_left_out_rows_of_features_that_are_many_or_coincide(name, intercept, s):
    rows, y = wide(name), Y[:20]
    lams = np.array([1e-3, 0.1, 10.0])
    path = method(intercept=intercept).path(rows, y, lams, s)
    weights = np.ones(20) if s is None else s
    for k, lam in enumerate(lams):
        for i in np.flatnonzero(weights)[[1, 7]]:
            without = weights.copy()
            without[i] = 0.0
            one = method(intercept=intercept, lam=lam).solve(rows, y, without)
            left = y[i] - one.predict(rows[i : i + 1])[0]
            assert path.leave_one_out[k, i] == pytest.approx(left, rel=1e-6)
        spent = path.effective_degrees_of_freedom[k]
        used = np.nansum((weights > 0) * weights * path.residuals[k] ** 2)
        n = (weights > 0).sum()
        assert path.gcv[k] == pytest.approx(n * used / (n - spent) ** 2, rel=1e-6)


def test_it_prints_on_one_line():
    assert repr(method().path(X, Y, [1.0, 2.0])).count("\n") == 0
    assert "2 values of lam" in repr(method().path(X, Y, [1.0, 2.0]))
    with pytest.raises(AttributeError, match="no bounds or kinks"):
        method().solve(X, Y).support  # noqa: B018


def test_the_path_is_read_only():
    path = method().path(X, Y, [1.0])
    for name in ("lams", "values", "coefficients", "weights", "leave_one_out", "gcv"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(path, name)[0] = 1.0


def test_options_go_to_a_solver_of_cvxpy():
    assert method().solve(X, Y, max_iter=50).solver == "CLARABEL"


def test_the_minimiser_of_gcv_on_diabetes_is_that_of_the_hat_matrix():
    lams = np.logspace(-3, 1, 41)
    ones = np.ones((len(Y), 1))
    centred, scores = X - X.mean(axis=0), []
    for lam in lams:
        hat = centred @ np.linalg.solve(centred.T @ centred + lam * np.eye(10), centred.T)
        hat = hat + ones @ ones.T / len(Y)
        missed = Y - hat @ Y
        scores.append(len(Y) * missed @ missed / (len(Y) - np.trace(hat)) ** 2)
    path = method().path(X, Y, lams)
    np.testing.assert_allclose(path.gcv, scores, rtol=1e-9)
    assert path.best("gcv").lam == lams[np.argmin(scores)]
    assert lams[0] < path.best("gcv").lam < lams[-1]


def test_lam_0_is_on_the_path_of_explicit_features():
    path = method().path(X, Y, [1.0, 0.0])
    model = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(path.weights[1], model.coef_, rtol=1e-8)
    np.testing.assert_allclose(path.residuals[1], Y - model.predict(X), atol=1e-8)
    assert path.effective_degrees_of_freedom[1] == pytest.approx(11.0)
    fitted = X @ (X.T @ path.coefficients[1])
    np.testing.assert_allclose(
        fitted - fitted.mean(), X @ model.coef_ - (X @ model.coef_).mean(), atol=1e-6
    )


def test_a_row_that_stands_alone_has_no_left_out_residual():
    path = method(intercept="none").path(
        [[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]], [1.0, 2.0, 3.0], [0.0]
    )
    assert np.isnan(path.leave_one_out[0, 0])
    assert np.isfinite(path.leave_one_out[0, 1:]).all()
    assert np.isnan(path.leave_one_out_error[0])
    with pytest.raises(kq.InputError, match="more rows"):
        path.best()
