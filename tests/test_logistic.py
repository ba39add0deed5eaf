"""Logistic regression: page = engine, scikit-learn, probabilities, and what changes nothing."""

import functools
import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as Theirs

import kernelqp as kq
from tests.cases.runs import page

near = pytest.approx
KERNELS = {
    "linear": kq.Linear(),
    "rbf": kq.RBF(gamma=0.5),
    "polynomial": kq.Polynomial(2, 0.5, 1.0),
}
INTERCEPTS = ("free", "penalized", "none")


def clouds(n=24, seed=11):
    rng = np.random.default_rng(seed)
    y = np.resize([1, -1], n)
    X = rng.normal(size=(n, 2)) + np.c_[y, y] + 0.5
    return X, y, rng.integers(0, 4, n).astype(float)


def breast_cancer(n=120):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n, :4], y[:n], np.resize([1.0, 0.0, 2.0], n)


DATA = {"random": clouds, "breast cancer": breast_cancer}
CELLS = [(d, k, i) for d in DATA for k in KERNELS for i in INTERCEPTS]
every_cell = pytest.mark.parametrize(("data", "kernel", "intercept"), CELLS)


def method(kernel="linear", intercept="free", C=0.7, class_weight=None):
    return kq.LogisticRegression(C, KERNELS[kernel], intercept, class_weight)


def forms(kernel):
    return ("weights",) * (kernel == "linear") + ("coefficients", "dual")


def literal(formulation):
    """The value as cvxpy and CLARABEL give it, in the units it is written in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate"
        formulation.problem.solve(solver="CLARABEL")
    return float(formulation.problem.value)


@functools.cache
def written(data, kernel, intercept, form):
    """A page with class weights, solved literally, and its value."""
    X, y, s = DATA[data]()
    formulation = page(method(kernel, intercept, class_weight={1: 1.5}), X, y, form, s)
    return formulation, literal(formulation)


@functools.cache
def engine(data, kernel, intercept):
    """The engine's primal and dual value."""
    risk = written(data, kernel, intercept, "dual")[0].risk()
    return literal(risk.primal()), literal(risk.dual())


@every_cell
def test_page_and_engine_meet_on_both_sides(data, kernel, intercept):
    primal, dual = engine(data, kernel, intercept)
    assert primal == near(dual, rel=1e-6)
    for form in forms(kernel):
        assert written(data, kernel, intercept, form)[1] == near(dual, rel=1e-6), form


@every_cell
def test_literal_answers_are_certified(data, kernel, intercept):
    for form in forms(kernel):
        s = written(data, kernel, intercept, form)[0].solution()
        assert s.certificate.certified, (form, s)
        assert s.value == near(engine(data, kernel, intercept)[1], rel=1e-6), form


@every_cell
def test_newton_and_clarabel_agree_in_every_form(data, kernel, intercept):
    X, y, s = DATA[data]()
    value = engine(data, kernel, intercept)[1]
    for form in forms(kernel):
        formulation = page(method(kernel, intercept, class_weight={1: 1.5}), X, y, form, s)
        theirs, ours = formulation.solve(solver="CLARABEL"), formulation.solve()
        assert ours.solver.startswith("Newton")
        assert ours.certificate.relative_gap < 1e-12, (form, ours)
        assert kq.check_kkt(ours).holds, (form, kq.check_kkt(ours))
        assert theirs.certificate.certified, (form, theirs)
        assert theirs.value == near(value, rel=1e-6)
        assert ours.value == near(value, rel=1e-6)
        assert ours.decision_function(X) == near(theirs.decision_function(X), abs=1e-3)
        assert kq.compare([ours, theirs]).agree


@every_cell
def test_pages_are_dpp_in_C(data, kernel, intercept):
    X, y, s = DATA[data]()
    for form in forms(kernel):
        formulation = written(data, kernel, intercept, form)[0]
        assert formulation.problem.is_dpp()
        again = page(method(kernel, intercept, class_weight={1: 1.5}), X, y, form, s)
        again.parameters["C"].value = 5.0
        fresh = page(method(kernel, intercept, 5.0, {1: 1.5}), X, y, form, s)
        moved = again.solve()
        assert moved.method.C == 5.0
        assert moved.value == near(literal(fresh), rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_multiplier_of_the_balance_is_plus_b(kernel):
    X, y, _ = clouds()
    dual = method(kernel).dual(X, y)
    literal(dual)
    b = np.ravel(dual.constraints["balance"].dual_value)
    assert b == near([method(kernel).solve(X, y).intercept], abs=1e-4)
    dual.solve()
    assert np.ravel(dual.constraints["balance"].dual_value) == near(b, abs=1e-4)


def test_pages_name_what_the_textbook_names():
    X, y, _ = clouds()
    primal, dual = method().primal(X, y), method().dual(X, y)
    assert (set(primal.variables), set(primal.constraints)) == ({"w", "b"}, set())
    assert (set(dual.variables), set(dual.constraints)) == ({"alpha"}, {"balance"})
    assert set(primal.parameters) == set(dual.parameters) == {"C"}
    penalised = method(intercept="penalized").primal(X, y, form="coefficients")
    assert set(penalised.constraints) == {"intercept"}
    assert not method(intercept="none").dual(X, y).constraints


def test_alpha_is_C_s_over_one_plus_exp_z():
    X, y, s = clouds()
    found = method("rbf").solve(X, y, s)
    z = y * found.decision_function(X)
    assert found.alpha == near(0.7 * s / (1 + np.exp(z)), abs=1e-9)
    assert found.beta == near(y * found.alpha, abs=1e-15)


# --- the objective in plain NumPy, and scikit-learn ----------------------------------------------


def objective(w, b, X, y, C, s, penalised=False):
    """1/2 |w|^2 + C sum s log(1 + exp(-y (w'x + b))), and b^2/2 where penalised."""
    loss = np.logaddexp(0.0, -np.where(np.asarray(y) > 0, 1.0, -1.0) * (X @ w + b))
    return 0.5 * w @ w + 0.5 * penalised * b * b + C * s @ loss


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("data", DATA)
def test_scikit_learn_agrees_on_the_objective(C, data):
    X, y, s = DATA[data]()
    ours = method(C=C).solve(X, y, s)
    theirs = Theirs(C=C, tol=1e-10, max_iter=10**5).fit(X, y, s)
    value = objective(theirs.coef_[0], theirs.intercept_[0], X, y, C, s)
    assert ours.value == near(objective(ours.weights, ours.intercept, X, y, C, s), rel=1e-12)
    assert ours.value <= value * (1 + 1e-12)
    assert ours.value == near(value, rel=1e-7)
    assert ours.predict_proba(X) == near(theirs.predict_proba(X), abs=1e-4)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()


def test_scikit_learn_without_intercept_and_with_class_weights():
    X, y, _ = clouds()
    weight = {1: 3.0, -1: 0.5}
    ours = method(intercept="none", class_weight=weight).solve(X, y)
    theirs = Theirs(C=0.7, fit_intercept=False, class_weight=weight, tol=1e-10).fit(X, y)
    assert ours.weights == near(theirs.coef_[0], abs=1e-5)
    assert ours.intercept == 0.0


def test_a_penalised_intercept_is_a_feature_of_ones():
    X, y, s = clouds()
    one = method(intercept="penalized").solve(X, y, s)
    other = method(intercept="none").solve(np.c_[X, np.ones(len(y))], y, s)
    assert one.value == near(other.value, rel=1e-12)
    assert np.r_[one.weights, one.intercept] == near(other.weights, abs=1e-9)


def test_two_points_in_closed_form():
    """On x = ±1 the weight solves w/C = 2/(1 + e^w)."""
    for C, w, value in (
        (1.0, 0.6748316143, 1.0509141452),
        (1e3, 5.8342374978, 0.0228619273e3),
        (1e6, 12.0219200715, 8.428523731e-05 * 1e6),
    ):
        for form in ("weights", "coefficients", "dual"):
            s = method(C=C).solve([[-1.0], [1.0]], [-1, 1], form=form)
            assert s.status is kq.Status.CERTIFIED
            assert s.weights == near([w], rel=1e-9)
            assert s.intercept == near(0.0, abs=1e-9)
            assert s.value == near(value, rel=1e-8)
            assert w / C == near(2 / (1 + math.exp(w)), rel=1e-8)


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_are_in_the_order_of_the_classes():
    X, y, _ = clouds()
    s = method("rbf").solve(X, np.where(y > 0, "yes", "no"))
    P, f = s.predict_proba(X), s.decision_function(X)
    assert list(s.classes) == ["no", "yes"]
    assert P.shape == (len(y), 2)
    assert P.sum(axis=1) == near(1.0)
    assert P[:, 1] == near(1 / (1 + np.exp(-f)))
    assert ((P[:, 1] > 0.5) == (s.predict(X) == "yes")).all()
    assert s.predict_log_proba(X) == near(np.log(P))


def test_margins_of_thousands_overflow_nowhere():
    """Warnings are errors here; the logarithm keeps what the probability cannot hold."""
    s = method(C=1e6).solve([[-1.0], [1.0]], [-1, 1])
    far = np.array([[-1e5], [1e5], [1e200]])
    log = s.predict_log_proba(far)
    assert s.predict_proba(far).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    f = s.decision_function(far)
    assert log[:, 1] == near(np.minimum(f, 0.0), abs=1e-300)
    assert log[:, 0] == near(np.minimum(-f, 0.0), abs=1e-300)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_rows_with_margins_of_thousands_are_fitted(intercept):
    X = np.r_[clouds()[0], [[5e4, 5e4], [-5e4, -5e4], [4e4, 3e4]]]
    y = np.r_[clouds()[1], 1, -1, -1]
    for form in ("weights", "coefficients", "dual"):
        s = method(C=1.0, intercept=intercept).solve(X, y, form=form)
        assert s.status is kq.Status.CERTIFIED, s
        assert np.isfinite(s.predict_log_proba(X)).all()


def test_only_logistic_regression_has_probabilities():
    X, y, _ = clouds()
    for other in (kq.SoftMarginSVM(), kq.RegularizedLeastSquares(), kq.ConstrainedRidge(1.0)):
        s = other.solve(X, y)
        assert not hasattr(s, "predict_proba")
        with pytest.raises(AttributeError, match="margin is no probability; LogisticRegression"):
            s.predict_log_proba(X)


def test_what_a_margin_has_is_absent_with_a_reason():
    s = method().solve(*clouds()[:2])
    for name in ("slack", "geometric_margin"):
        with pytest.raises(AttributeError, match="every row costs something"):
            getattr(s, name)
    with pytest.raises(AttributeError, match="no bounds or kinks"):
        s.support.elbow  # noqa: B018
    size = np.abs(s.decision_function(clouds()[0]))
    assert s.distances == near(size / np.linalg.norm(s.weights))


# --- changes whose effect is known exactly --------------------------------------------------------

X, Y, _ = clouds(26, seed=3)
NEW = np.random.default_rng(99).normal(size=(9, 2))
COUNTS = np.random.default_rng(1).integers(1, 5, len(Y))
every_kernel_and_form = pytest.mark.parametrize(
    ("kernel", "form"), [(k, f) for k in KERNELS for f in forms(k)]
)


def solved(X, y, s=None, kernel="linear", form="dual", **parameters):
    found = method(kernel, **parameters).solve(X, y, s, form=form, tol=1e-11)
    assert found.certificate.certified, found
    return found


@every_kernel_and_form
def test_exchanging_the_labels_turns_f_round(kernel, form):
    s, t = solved(X, Y, None, kernel, form), solved(X, -Y, None, kernel, form)
    assert t.value == near(s.value, rel=1e-10)
    assert t.decision_function(NEW) == near(-s.decision_function(NEW), abs=1e-8)
    assert t.predict_proba(NEW) == near(s.predict_proba(NEW)[:, ::-1], abs=1e-8)


@every_kernel_and_form
def test_integer_weights_are_repeated_rows(kernel, form):
    s = solved(X, Y, COUNTS, kernel, form)
    t = solved(np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS), None, kernel, form)
    assert t.value == near(s.value, rel=1e-10)
    assert t.decision_function(NEW) == near(s.decision_function(NEW), abs=1e-8)


@every_kernel_and_form
def test_rows_of_weight_0_are_absent_and_keep_their_numbers(kernel, form):
    weights = COUNTS * (np.arange(len(Y)) % 3 != 1)
    used = np.flatnonzero(weights)
    far = np.where(weights[:, None] > 0, X, 1e9)
    s = solved(far, Y, weights, kernel, form)
    t = solved(X[used], Y[used], weights[used], kernel, form)
    assert s.value == near(t.value, rel=1e-10)
    assert not s.alpha[weights == 0].any()
    assert s.alpha[used] == near(t.alpha, abs=1e-8)


@pytest.mark.parametrize("t", [1e-4, 10.0, 1e6])
@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_features_in_another_unit_with_C_in_its_unit(t, form):
    s = solved(X, Y, form=form)
    u = solved(t * X, Y, form=form, C=0.7 / t**2)
    assert u.value * t**2 == near(s.value, rel=1e-9)
    assert u.decision_function(t * NEW) == near(s.decision_function(NEW), abs=1e-6)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_features_far_from_the_origin(form):
    s, t = method().solve(X, Y, form=form), method().solve(X + 1e6, Y, form=form)
    assert t.status is kq.Status.CERTIFIED
    assert t.value == near(s.value, rel=1e-8)
    assert t.weights == near(s.weights, abs=1e-6)


def test_constraints_of_your_own():
    primal = method().primal(X, Y)
    s = primal.with_constraints({"w >= 0.9": primal.variables["w"] >= 0.9}).solve()
    assert s.certificate.certified
    assert s.kkt.holds
    assert s.weights.min() >= 0.9 - 1e-6
    assert s.value > solved(X, Y).value


# --- input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.0, -1.0, float("nan"), -math.inf, "1", True, None])
def test_C_out_of_range_is_refused(C):
    with pytest.raises(kq.InputError, match=r"^C must be"):
        kq.LogisticRegression(C=C)


def test_classes_and_forms_are_checked():
    with pytest.raises(kq.InputError, match="two classes; got 1"):
        method().solve(X, np.ones(len(Y)))
    with pytest.raises(kq.InputError, match="one problem for every class"):
        method().solve(X, np.arange(len(Y)) % 3)
    with pytest.raises(kq.InputError, match="'dual' is no primal"):
        method().primal(X, Y, form="dual")
    with pytest.raises(kq.InputError, match="needs explicit features"):
        method("rbf").primal(X, Y, form="weights")
    with pytest.raises(kq.InputError, match="form must be one of"):
        method().primal(X, Y, form="max_margin")


def test_the_page_refuses_a_C_that_is_not_finite():
    formulation = method().dual(X, Y)
    formulation.parameters["C"].value = math.inf
    with pytest.raises(kq.InputError, match="C must be a finite number"):
        formulation.solve()
