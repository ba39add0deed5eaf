"""Every convention, solved on both sides: as it is written, and as ours at the translated C."""

import math
import re

import cvxpy as cp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC

import kernelqp as kq
from kernelqp import conventions
from kernelqp.errors import ParameterError
from kernelqp.losses import LOSSES

N, LAM, TAU, EPSILON = 25, 0.3, 0.3, 0.1
_RNG = np.random.default_rng(7)
X = _RNG.normal(size=(N, 3))
Y = np.where(X @ [1.0, -0.5, 0.2] + 0.9 * _RNG.normal(size=N) > 0.1, 1.0, -1.0)
T = X @ [0.5, 1.0, -1.0] + 0.7 + 0.5 * _RNG.normal(size=N)
APART = np.vstack([X[:8] + 3.0, X[8:16] - 3.0])
SIDES = np.r_[np.ones(8), -np.ones(8)]
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}

HINGE = lambda p: cp.sum(cp.pos(1 - cp.multiply(Y, p)))  # noqa: E731
SQUARE = lambda p: cp.sum_squares(T - p)  # noqa: E731
LOGISTIC = lambda p: cp.sum(cp.logistic(-cp.multiply(Y, p)))  # noqa: E731
TUBE = lambda p: cp.sum(cp.pos(cp.abs(T - p) - EPSILON))  # noqa: E731
CHECK = lambda p: cp.sum(cp.maximum(TAU * (T - p), (TAU - 1) * (T - p)))  # noqa: E731


def engine(loss, targets, features=X):
    """Return our side of the losses that have no method yet."""

    def solved(C, intercept):
        gram = kq.Gram.from_factor(features)
        s = kq.RegularizedRisk(gram, targets, C, loss, intercept).solve("primal", tol=1e-10)
        return s.weights, s.value

    return solved


def soft_margin(C, intercept, **options):
    s = kq.SoftMarginSVM(C=C, intercept=intercept, **options).solve(X, Y, tol=1e-10)
    return s.weights, s.value


def least_squares(C, intercept):
    """Return our side with the value of the engine, 1/lam times that of the method."""
    s = kq.RegularizedLeastSquares(lam=1 / C, intercept=intercept).solve(X, T, tol=1e-10)
    return s.weights, s.value * C


# the note's objective of λ, ‖w‖² and the predictions, as it is printed; ours; the intercept
NOTES = {
    "000 (1)": (lambda v, w2, p: SQUARE(p) / 2 + v / 2 * w2, least_squares, "none"),
    "000 (14)": (lambda v, w2, p: HINGE(p) / N + v * w2, soft_margin, "none"),
    "001 ridge": (lambda v, w2, p: SQUARE(p) + v * w2, least_squares, "none"),
    "002 hinge": (lambda v, w2, p: HINGE(p) + v / 2 * w2, soft_margin, "free"),
    "002 SVR": (
        lambda v, w2, p: TUBE(p) + v / 2 * w2,
        engine(kq.losses.EpsilonInsensitive(EPSILON), T),
        "free",
    ),
    "002 quantile": (
        lambda v, w2, p: CHECK(p) + v / 2 * w2,
        engine(kq.losses.Pinball(TAU), T),
        "free",
    ),
    "002 logistic": (
        lambda v, w2, p: LOGISTIC(p) + v / 2 * w2,
        engine(kq.losses.Logistic(), Y),
        "free",
    ),
    "002 ridge": (lambda v, w2, p: SQUARE(p) + v / 2 * w2, least_squares, "free"),
    "003 (38)": (lambda v, w2, p: v / 2 * w2 + HINGE(p) / N, soft_margin, "none"),
    "004 (2)": (lambda v, w2, p: w2 / 2 + HINGE(p), soft_margin, "free"),
    "004 (4)": (lambda v, w2, p: v / 2 * w2 + SQUARE(p), least_squares, "none"),
    "004 (7)": (
        lambda v, w2, p: v / 2 * w2 + LOGISTIC(p),
        engine(kq.losses.Logistic(), Y),
        "none",
    ),
}


def literally(objective, intercept, lam):
    """Return w and the value of an objective as it is written."""
    w, b = cp.Variable(3), cp.Variable()
    p = X @ w + (b if intercept == "free" else 0)
    problem = cp.Problem(cp.Minimize(objective(lam, cp.sum_squares(w), p)))
    problem.solve(solver="CLARABEL", **TIGHT)
    return w.value, problem.value


def agree(theirs, ours, w_tol=1e-5):
    np.testing.assert_allclose(theirs[0], ours[0], rtol=0, atol=w_tol)
    assert theirs[1] == pytest.approx(ours[1], rel=1e-6)


@pytest.mark.parametrize("name", NOTES)
def test_a_notes_objective_and_ours_have_one_minimiser_and_values_of_the_stated_ratio(name):
    objective, solved, intercept = NOTES[name]
    lam = LAM if conventions.named(name).parameter else None
    C = conventions.to_C(lam, name, N)
    w, value = solved(C, intercept)
    agree(literally(objective, intercept, lam), (w, conventions.value_in(value, name, C, N)))


def test_the_hard_margin_without_a_half_is_twice_ours():
    w, b = cp.Variable(3), cp.Variable()
    margin = [cp.multiply(SIDES, APART @ w + b) >= 1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w)), margin)
    problem.solve(solver="CLARABEL", **TIGHT)
    s = kq.HardMarginSVM().solve(APART, SIDES, tol=1e-10)
    agree((w.value, problem.value), (s.weights, conventions.value_in(s.value, "003 (3)")))


# --- scikit-learn ------------------------------------------------------------------------------


def half(w, b=None):
    return 0.5 * (w @ w) + (0.0 if b is None else 0.5 * b * b)


def hinge(p):
    return np.maximum(0.0, 1.0 - Y * p)


def logistic(p):
    return np.logaddexp(0.0, -Y * p)


def fitted(model, targets, value):
    """Return w, and the value of what the library documents, at w and b."""
    model.fit(X, targets)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    return w, value(w, b, X @ w + b)


def ridge_value(w, b, p):
    return np.sum((T - p) ** 2) + LAM * (w @ w)


LIBRARIES = {
    "SVC": (
        lambda v: SVC(kernel="linear", C=v, tol=1e-10),
        Y, lambda w, b, p: half(w) + LAM * hinge(p).sum(), soft_margin, "free",
    ),
    "SVR": (
        lambda v: SVR(kernel="linear", C=v, epsilon=EPSILON, tol=1e-10),
        T, lambda w, b, p: half(w) + LAM * np.maximum(0, abs(T - p) - EPSILON).sum(),
        engine(kq.losses.EpsilonInsensitive(EPSILON), T), "free",
    ),
    "LinearSVC": (
        lambda v: LinearSVC(C=v, tol=1e-10, max_iter=10**6),
        Y, lambda w, b, p: half(w, b) + LAM * (hinge(p) ** 2).sum(),
        lambda C, t: soft_margin(C, t, slack_power=2), "penalized",
    ),
    "LIBLINEAR": (
        lambda v: LinearSVC(C=v, loss="hinge", tol=1e-10, max_iter=10**6),
        Y, lambda w, b, p: half(w, b) + LAM * hinge(p).sum(), soft_margin, "penalized",
    ),
    "LogisticRegression": (
        lambda v: LogisticRegression(C=v, tol=1e-10, max_iter=10**5),
        Y, lambda w, b, p: half(w) + LAM * logistic(p).sum(),
        engine(kq.losses.Logistic(), Y), "free",
    ),
    "Ridge": (lambda v: Ridge(alpha=v, tol=1e-10), T, ridge_value, least_squares, "free"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_librarys_estimator_and_ours_have_one_minimiser_and_value(name):
    make, targets, value, solved, intercept = LIBRARIES[name]
    C = conventions.to_C(LAM, name)
    w, found = solved(C, intercept)
    agree(fitted(make(LAM), targets, value), (w, conventions.value_in(found, name, C)))


def test_kernel_ridge_is_ridge_in_a_kernel():
    model = KernelRidge(alpha=LAM, kernel="rbf", gamma=conventions.gamma_of_sigma(1.5)).fit(X, T)
    p = model.predict(X)
    value = np.sum((T - p) ** 2) + LAM * model.dual_coef_ @ p
    C = conventions.to_C(LAM, "KernelRidge")
    ours = kq.RegularizedLeastSquares(lam=1 / C, kernel=kq.RBF(sigma=1.5), intercept="none")
    s = ours.solve(X, T)
    agree((model.dual_coef_, value), (s.beta, conventions.value_in(s.value * C, "KernelRidge", C)))


def test_sgd_steps_towards_our_minimiser():
    # its steps shrink as 1/t: the last digits of w are years away; those of the value are not
    alpha = 0.1
    options = {"max_iter": 200_000, "tol": None, "shuffle": False, "fit_intercept": False}
    model = SGDClassifier(loss="log_loss", alpha=alpha, **options).fit(X, Y)
    w = model.coef_[0]
    value = logistic(X @ w).mean() + alpha * half(w)
    C = conventions.to_C(alpha, "SGDClassifier", N)
    found, engine_value = engine(kq.losses.Logistic(), Y)(C, "none")
    agree(
        (w, value), (found, conventions.value_in(engine_value, "SGDClassifier", C, N)), w_tol=1e-4
    )


def test_libsvm_prints_minus_our_value_and_minus_the_intercept_of_its_own_sides(capfd):
    model = SVC(kernel="linear", C=LAM, tol=1e-10, verbose=True).fit(X, Y)
    printed = capfd.readouterr().out
    obj, rho = map(float, re.search(r"obj = (\S+), rho = (\S+)", printed).groups())
    s = kq.SoftMarginSVM(C=conventions.to_C(LAM, "LIBSVM")).solve(X, Y, tol=1e-10)
    assert obj == pytest.approx(conventions.value_in(s.value, "LIBSVM", LAM), abs=1e-5)
    # scikit-learn gives LIBSVM the smaller label first, which is its +1: its b is minus ours
    assert rho == pytest.approx(s.intercept, abs=1e-5)
    assert model.intercept_[0] == pytest.approx(s.intercept, abs=1e-5)


def test_every_convention_is_solved_on_both_sides():
    solved = {*NOTES, *LIBRARIES, "003 (3)", "KernelRidge", "SGDClassifier", "LIBSVM", "kernelqp"}
    assert solved == set(conventions.CONVENTIONS)


# --- the table ---------------------------------------------------------------------------------

SCALED = [c for c in conventions.CONVENTIONS.values() if c.parameter]


@pytest.mark.parametrize("convention", SCALED, ids=lambda c: c.name)
@pytest.mark.parametrize("value", [1e-3, 0.7, 40.0])
def test_the_way_there_and_back_is_none(convention, value):
    C = conventions.to_C(value, convention.name, n=13)
    assert conventions.from_C(C, convention.name, n=13) == pytest.approx(value, rel=1e-15)


def by_formula(formula, **names):
    """Return the number that a formula of the table says."""
    python = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", formula.replace("−", "-"))
    return eval(python, {}, names)


@pytest.mark.parametrize("convention", SCALED, ids=lambda c: c.name)
def test_the_table_says_what_the_functions_do(convention):
    names = {convention.symbol: 0.7, "n": 13}
    C = conventions.to_C(0.7, convention.name, n=13)
    assert by_formula(convention.formula, **names) == pytest.approx(C)
    ratio = by_formula(convention.ratio_formula, **names)
    assert conventions.value_in(1.0, convention.name, C, 13) == pytest.approx(ratio)


def test_the_table_has_a_row_for_each_and_every_loss_it_names_exists():
    first, *rows = conventions.table().splitlines()
    assert first.split() == ["convention", "objective", "C", "value", "/", "ours", "source"]
    assert [re.split(r"\s{2,}", row)[0] for row in rows] == list(conventions.CONVENTIONS)
    known = {loss.__name__ for loss in LOSSES}
    for convention in conventions.CONVENTIONS.values():
        assert set(convention.losses) <= known


@pytest.mark.parametrize("source", ["000 (14)", "002 hinge", "003 (38)"])
@pytest.mark.parametrize("target", ["SVC", "SGDClassifier", "003 (38)", "kernelqp"])
def test_a_translation_goes_through_C(source, target):
    found = conventions.translate(0.2, from_=source, to=target, n=N)
    C = conventions.to_C(0.2, source, N)
    assert conventions.to_C(found, target, N) == pytest.approx(C, rel=1e-14)


def test_gamma_and_sigma_are_those_of_the_kernel():
    gamma = conventions.gamma_of_sigma(1.7)
    np.testing.assert_allclose(
        kq.RBF(gamma=gamma)(X), np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / (2 * 1.7**2))
    )
    assert conventions.sigma_of_gamma(gamma) == pytest.approx(1.7, rel=1e-15)
    assert math.isfinite(conventions.sigma_of_gamma(5e-324))


REFUSED = {
    "name": (lambda: conventions.to_C(1.0, "000 14", N), r"did you mean '000 \(14\)'"),
    "case": (lambda: conventions.from_C(1.0, "svc"), "did you mean 'SVC'"),
    "no name": (lambda: conventions.to_C(1.0, None), "convention None is unknown"),
    "to": (lambda: conventions.translate(1.0, from_="SVC", to="SVX"), "to 'SVX' is unknown"),
    "zero": (lambda: conventions.to_C(0, "002 hinge"), "lam of '002 hinge' must be .* > 0"),
    "text": (lambda: conventions.to_C("1", "SVC"), "C of 'SVC' must be .*got '1'"),
    "infinite C": (lambda: conventions.from_C(math.inf, "SVC"), "C must be .*got inf"),
    "truth": (lambda: conventions.from_C(True, "SVC"), "C must be .*got True"),
    "no n": (lambda: conventions.to_C(1.0, "003 (38)"), "pass n=len"),
    "n of 2.5": (lambda: conventions.to_C(1.0, "003 (38)", 2.5), "n must be an integer >= 1"),
    "n of 0": (lambda: conventions.from_C(1.0, "SGDClassifier", 0), "got 0"),
    "hard": (lambda: conventions.to_C(1.0, "003 (3)"), "hard margin: it has no C"),
    "hard too": (lambda: conventions.from_C(1.0, "003 (3)"), "hard margin: it has no C"),
    "constant given": (lambda: conventions.to_C(2.0, "004 (2)"), "has no constant"),
    "constant asked": (lambda: conventions.from_C(2.0, "004 (2)"), "has no constant"),
    "overflow": (lambda: conventions.to_C(5e-324, "002 hinge"), "C would be inf"),
    "narrow": (lambda: conventions.gamma_of_sigma(1e-200), "gamma would be inf"),
    "wide": (lambda: conventions.gamma_of_sigma(1e200), "gamma would be 0"),
    "sigma": (lambda: conventions.gamma_of_sigma(-1.0), "sigma must be .*got -1.0"),
    "gamma": (lambda: conventions.sigma_of_gamma(None), "gamma must be .*got None"),
    "value": (lambda: conventions.value_in(math.nan, "SVC", 1.0), "engine_value must be"),
    "losses": (lambda: conventions.translate(1, from_="Ridge", to="SVC"), "one problem"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_named(case):
    call, message = REFUSED[case]
    with pytest.raises(ParameterError, match=message):
        call()
