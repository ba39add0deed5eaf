"""Changes of the data whose effect on the optimum is known exactly."""

import numpy as np
import pytest

import kernelqp as kq

near = pytest.approx
NEW = np.random.default_rng(99).normal(size=(9, 2))
FORMS = ("weights", "coefficients", "dual")
METHODS = {
    "hinge": kq.SoftMarginSVM(C=0.7),
    "squared": kq.SoftMarginSVM(C=0.7, slack_power=2),
    "power 1.5": kq.SoftMarginSVM(C=0.7, slack_power=1.5),
    "penalized": kq.SoftMarginSVM(C=0.7, intercept="penalized"),
    "none": kq.SoftMarginSVM(C=0.7, intercept="none"),
    "rbf": kq.SoftMarginSVM(C=0.7, kernel=kq.RBF(gamma=0.5)),
    "polynomial": kq.SoftMarginSVM(C=0.7, kernel=kq.Polynomial(2, 0.5, 1.0)),
}
CELLS = [
    pytest.param(m, f, id=f"{name}-{f}")
    for name, m in METHODS.items()
    for f in FORMS
    if f != "weights" or isinstance(m.kernel, kq.Linear)
]
every_cell = pytest.mark.parametrize(("method", "form"), CELLS)


def clouds(n=26, seed=3):
    rng = np.random.default_rng(seed)
    y = np.resize([1, -1], n)
    return rng.normal(size=(n, 2)) + np.c_[y, 0.5 * y] + [0.3, 0.0], y


X, Y = clouds()


def with_(method, **changes):
    return type(method)(**{**vars(method), **changes})


def solve(method, X, y, weights=None, form="dual"):
    """A certified solution, as tight as it goes."""
    s = method.solve(X, y, weights, form=form, tol=1e-9)
    assert s.certificate.certified, s
    return s


@every_cell
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_rows_has_no_effect(method, form, seed):
    order = np.random.default_rng(seed).permutation(len(Y))
    s, t = solve(method, X, Y, form=form), solve(method, X[order], Y[order], form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.decision_function(NEW) == near(s.decision_function(NEW), abs=1e-6)
    assert t.alpha == near(s.alpha[order], abs=1e-6)
    assert sorted(order[t.support.support_vectors]) == s.support.support_vectors.tolist()


@every_cell
def test_exchanging_the_labels_turns_f_round(method, form):
    s, t = solve(method, X, Y, form=form), solve(method, X, -Y, form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.decision_function(NEW) == near(-s.decision_function(NEW), abs=1e-6)
    assert t.alpha == near(s.alpha, abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_exchanging_labels_and_their_weights_turns_f_round(form):
    one = kq.SoftMarginSVM(C=0.7, class_weight={1: 2.0, -1: 0.5})
    other = kq.SoftMarginSVM(C=0.7, class_weight={-1: 2.0, 1: 0.5})
    s, t = solve(one, X, Y, form=form), solve(other, X, -Y, form=form)
    assert t.decision_function(NEW) == near(-s.decision_function(NEW), abs=1e-6)


# --- units --------------------------------------------------------------------------------------

BIG = [1e-4, 1e-2, 10.0, 1e4, 1e7]


@pytest.mark.parametrize("t", BIG)
@pytest.mark.parametrize("power", [1, 2, 1.5])
@pytest.mark.parametrize("form", FORMS)
def test_features_in_another_unit_with_C_in_its_unit(t, power, form):
    """K -> t^2 K, C -> C/t^2: f stays, multipliers and value are divided by t^2."""
    method = kq.SoftMarginSVM(C=0.7, slack_power=power)
    s = solve(method, X, Y, form=form)
    u = solve(with_(method, C=0.7 / t**2), t * X, Y, form=form)
    assert u.value * t**2 == near(s.value, rel=1e-8)
    assert u.decision_function(t * NEW) == near(s.decision_function(NEW), abs=1e-5)
    assert u.intercept == near(s.intercept, abs=1e-5)
    assert u.support.support_vectors.tolist() == s.support.support_vectors.tolist()


@pytest.mark.parametrize("t", BIG)
@pytest.mark.parametrize("form", ["coefficients", "dual"])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_kernel_in_another_unit_with_C_in_its_unit(t, form, intercept):
    K = kq.RBF(gamma=0.5)(X)
    method = kq.SoftMarginSVM(C=0.7, kernel="precomputed", intercept=intercept)
    s = solve(method, K, Y, form=form)
    u = solve(with_(method, C=0.7 / t**2), t**2 * K, Y, form=form)
    assert u.value * t**2 == near(s.value, rel=1e-8)
    assert u.alpha * t**2 == near(s.alpha, abs=1e-6)
    new = kq.RBF(gamma=0.5)(NEW, X)
    assert u.decision_function(t**2 * new) == near(s.decision_function(new), abs=1e-6)


@pytest.mark.parametrize("t", BIG)
@pytest.mark.parametrize("form", FORMS)
def test_a_hard_margin_has_no_unit(t, form):
    y = np.where(X[:, 0] > X[:, 0].mean(), 1, -1)
    s = solve(kq.HardMarginSVM(), X, y, form=form)
    u = solve(kq.HardMarginSVM(), t * X, y, form=form)
    assert u.value * t**2 == near(s.value, rel=1e-8)
    assert u.geometric_margin == near(t * s.geometric_margin, rel=1e-8)
    assert u.support.support_vectors.tolist() == s.support.support_vectors.tolist()


@pytest.mark.parametrize("shift", [[1.0, -3.0], [1e3, 0.0], [1e6, 1e6], [1e6, -1e7]])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_features_far_from_the_origin(shift, power, form):
    method = kq.SoftMarginSVM(C=0.7, slack_power=power)
    s = solve(method, X, Y, form=form)
    t = method.solve(X + shift, Y, form=form)
    assert t.certificate.certified
    assert t.value == near(s.value, rel=2e-6)
    assert t.support.support_vectors.tolist() == s.support.support_vectors.tolist()
    if form == "weights":
        assert t.weights == near(s.weights, abs=1e-5)
        assert t.decision_function(NEW + shift) == near(s.decision_function(NEW), abs=1e-5)
        assert t.predict(X + shift).tolist() == s.predict(X).tolist()


@pytest.mark.parametrize("form", ["coefficients", "dual"])
def test_a_distance_kernel_does_not_see_a_shift(form):
    method = kq.SoftMarginSVM(C=0.7, kernel=kq.RBF(gamma=0.5))
    s, t = solve(method, X, Y, form=form), solve(method, X + 2.0**20, Y, form=form)
    assert t.value == near(s.value, rel=1e-8)


# --- weights ------------------------------------------------------------------------------------

COUNTS = np.random.default_rng(1).integers(1, 5, len(Y))


@every_cell
def test_integer_weights_are_repeated_rows(method, form):
    s = solve(method, X, Y, COUNTS, form=form)
    t = solve(method, np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS), form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.decision_function(NEW) == near(s.decision_function(NEW), abs=1e-6)
    assert t.predict(NEW).tolist() == s.predict(NEW).tolist()


@every_cell
def test_rows_of_weight_0_are_absent_and_keep_their_numbers(method, form):
    weights = COUNTS * (np.arange(len(Y)) % 3 != 1)
    used = np.flatnonzero(weights)
    s = solve(method, X, Y, weights, form=form)
    t = solve(method, X[used], Y[used], weights[used], form=form)
    assert s.value == near(t.value, rel=1e-8)
    assert s.decision_function(NEW) == near(t.decision_function(NEW), abs=1e-6)
    assert s.alpha.shape == s.beta.shape == s.slack.shape == Y.shape
    assert not s.alpha[weights == 0].any()
    assert s.alpha[used] == near(t.alpha, abs=1e-6)
    assert s.certificate.complementarity.shape == Y.shape
    for name in ("support_vectors", "elbow", "left", "right"):
        assert getattr(s.support, name).tolist() == used[getattr(t.support, name)].tolist()


@pytest.mark.parametrize("form", FORMS)
def test_wild_values_in_rows_of_weight_0_do_no_harm(form):
    far = np.r_[X, [[1e9, -1e9]]]
    s = solve(kq.SoftMarginSVM(C=0.7), X, Y, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7), far, np.r_[Y, 1], np.r_[np.ones(len(Y)), 0.0], form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.weights == near(s.weights, abs=1e-6)


@every_cell
def test_class_weights_are_sample_weights(method, form):
    by_class = {1: 2.5, -1: 0.4}
    rows = np.array([by_class[int(v)] for v in Y])
    s = solve(with_(method, class_weight=by_class), X, Y, form=form)
    t = solve(method, X, Y, rows, form=form)
    assert s.value == near(t.value, rel=1e-8)
    assert s.decision_function(NEW) == near(t.decision_function(NEW), abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_balanced_class_weights_count_sample_weights(form):
    y = np.where(np.arange(len(Y)) % 4 == 0, 1, -1)
    total, positive = COUNTS.sum(), COUNTS[y > 0].sum()
    rows = COUNTS * np.where(y > 0, total / (2 * positive), total / (2 * (total - positive)))
    s = solve(kq.SoftMarginSVM(C=0.7, class_weight="balanced"), X, y, COUNTS, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7), X, y, rows, form=form)
    assert s.value == near(t.value, rel=1e-8)


@every_cell
def test_weights_and_C_are_one_factor(method, form):
    s = solve(with_(method, C=2.1), X, Y, form=form)
    t = solve(method, X, Y, np.full(len(Y), 3.0), form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.alpha == near(s.alpha, abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_hard_margin_ignores_weights(form):
    y = np.where(X[:, 0] > X[:, 0].mean(), 1, -1)
    s = solve(kq.HardMarginSVM(), X, y, form=form)
    t = solve(kq.HardMarginSVM(), X, y, COUNTS, form=form)
    assert t.value == near(s.value, rel=1e-8)


# --- rows that change nothing -------------------------------------------------------------------


@every_cell
def test_every_row_twice_is_twice_the_C(method, form):
    s = solve(with_(method, C=1.4), X, Y, form=form)
    t = solve(method, np.r_[X, X], np.r_[Y, Y], form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.decision_function(NEW) == near(s.decision_function(NEW), abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_leaving_out_rows_that_carry_nothing_changes_nothing(form, kind):
    hard = kind == "hard"
    y = np.where(X[:, 0] > X[:, 0].mean(), 1, -1) if hard else Y
    method = kq.HardMarginSVM() if hard else kq.SoftMarginSVM(C=0.7)
    s = solve(method, X, y, form=form)
    kept = s.support.support_vectors
    assert 0 < len(kept) < len(y)
    t = solve(method, X[kept], y[kept], form=form)
    assert t.value == near(s.value, rel=1e-7)
    assert t.weights == near(s.weights, abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_a_feature_of_zeros_gets_no_weight(form):
    s = solve(kq.SoftMarginSVM(C=0.7), X, Y, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7), np.c_[X, np.zeros(len(Y))], Y, form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.weights == near(np.r_[s.weights, 0.0], abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_rotation_of_the_features_rotates_the_weights(form):
    angle = 0.7
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    s = solve(kq.SoftMarginSVM(C=0.7), X, Y, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7), X @ R.T, Y, form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert t.weights == near(R @ s.weights, abs=1e-6)


@pytest.mark.parametrize("form", ["coefficients", "dual"])
def test_a_precomputed_matrix_is_its_kernel(form):
    kernel = kq.RBF(gamma=0.5)
    s = solve(kq.SoftMarginSVM(C=0.7, kernel=kernel), X, Y, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7, kernel="precomputed"), kernel(X), Y, form=form)
    assert t.value == near(s.value, rel=1e-10)
    assert t.decision_function(kernel(NEW, X)) == near(s.decision_function(NEW), abs=1e-8)


@pytest.mark.parametrize("form", ["coefficients", "dual"])
def test_a_free_intercept_does_not_see_a_constant_in_the_kernel(form):
    kernel = kq.RBF(gamma=0.5)
    s = solve(kq.SoftMarginSVM(C=0.7, kernel="precomputed"), kernel(X), Y, form=form)
    t = solve(kq.SoftMarginSVM(C=0.7, kernel="precomputed"), kernel(X) + 7.0, Y, form=form)
    assert t.value == near(s.value, rel=1e-8)


@pytest.mark.parametrize("form", ["coefficients", "dual"])
def test_a_penalised_intercept_is_a_constant_in_the_kernel(form):
    kernel = kq.RBF(gamma=0.5)
    s = solve(kq.SoftMarginSVM(C=0.7, kernel=kernel, intercept="penalized"), X, Y, form=form)
    plain = kq.SoftMarginSVM(C=0.7, kernel="precomputed", intercept="none")
    t = solve(plain, kernel(X) + 1.0, Y, form=form)
    assert t.value == near(s.value, rel=1e-8)
    assert s.intercept == near(t.beta.sum(), abs=1e-6)
