"""The optimum lies between the two bounds, however far off the model is.

The optimum comes from SoftMarginSVM, from CLARABEL on the problem written out, or from a linear
system; never from the reader that is tested.
"""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import kernelqp as kq
from tests.foreign.fits import features, fit, targets, three_classes, two_classes, weights
from tests.foreign.hand import by_hand

X = features()
TWO, THREE, REAL, WEIGHTS = two_classes(X), three_classes(X), targets(X), weights()
SEEDED = {"random_state": 0}
FREE = dict(n_iter_no_change=10**6, tol=None, **SEEDED)  # SGD without a rule to stop

CLASSIFIERS = {
    "svc linear, 2 steps": SVC(kernel="linear", C=0.7, max_iter=2),
    "svc linear, 40 steps": SVC(kernel="linear", C=7.0, max_iter=40),
    "svc linear, loose": SVC(kernel="linear", C=7.0, tol=0.5),
    "svc linear": SVC(kernel="linear", C=0.7),
    "svc rbf, 3 steps": SVC(C=2.0, max_iter=3),
    "svc rbf, loose": SVC(C=200.0, gamma=0.3, tol=0.8),
    "svc rbf": SVC(C=2.0),
    "svc poly, 5 steps": SVC(kernel="poly", degree=2, coef0=1.0, C=0.3, max_iter=5),
    "svc poly": SVC(kernel="poly", degree=2, coef0=1.0, C=0.3),
    "linear svc hinge, 1 step": LinearSVC(loss="hinge", C=0.7, max_iter=1, **SEEDED),
    "linear svc hinge, 20 steps": LinearSVC(
        loss="hinge", C=50, max_iter=20, intercept_scaling=10, **SEEDED
    ),
    "linear svc hinge": LinearSVC(loss="hinge", C=0.7, max_iter=100_000, **SEEDED),
    "linear svc dual, 2 steps": LinearSVC(C=5.0, dual=True, max_iter=2, **SEEDED),
    "linear svc primal, loose": LinearSVC(C=5.0, dual=False, tol=3.0, **SEEDED),
    "linear svc none, 3 steps": LinearSVC(
        C=5.0, dual=True, fit_intercept=False, max_iter=3, **SEEDED
    ),
    "logistic, 1 step": LogisticRegression(C=5.0, max_iter=1),
    "logistic, loose": LogisticRegression(C=500.0, tol=1e-1),
    "logistic": LogisticRegression(C=5.0),
    "logistic saga, 2 steps": LogisticRegression(solver="saga", max_iter=2, **SEEDED),
    "logistic liblinear, 1 step": LogisticRegression(
        C=5.0, solver="liblinear", max_iter=1, **SEEDED
    ),
    "logistic newton, 1 step": LogisticRegression(C=5.0, solver="newton-cg", max_iter=1),
    "sgd hinge": SGDClassifier(alpha=0.03, max_iter=5, **FREE),
    "sgd hinge averaged": SGDClassifier(alpha=0.03, max_iter=200, average=True, **FREE),
    "sgd squared hinge": SGDClassifier(loss="squared_hinge", alpha=0.3, max_iter=30, **FREE),
    "sgd log": SGDClassifier(loss="log_loss", alpha=0.001, max_iter=3, **FREE),
}
REGRESSORS = {
    "svr linear, 3 steps": SVR(kernel="linear", max_iter=3),
    "svr rbf, loose": SVR(C=20.0, tol=0.9),
    "svr rbf": SVR(C=20.0),
    "svr poly, 10 steps": SVR(kernel="poly", degree=2, coef0=1.0, max_iter=10),
    "linear svr, 2 steps": LinearSVR(C=3.0, epsilon=0.2, max_iter=2, **SEEDED),
    "linear svr": LinearSVR(C=0.2, epsilon=0.2, max_iter=100_000, **SEEDED),
    "linear svr squared, 1 step": LinearSVR(
        C=3.0, loss="squared_epsilon_insensitive", dual=True, max_iter=1, **SEEDED
    ),
    "linear svr squared, loose": LinearSVR(
        C=3.0, loss="squared_epsilon_insensitive", dual=False, tol=9.0, **SEEDED
    ),
    "ridge": Ridge(alpha=3.0),
    "ridge lsqr, loose": Ridge(alpha=1e-3, solver="lsqr", tol=0.5),
    "ridge sag, 2 steps": Ridge(alpha=3.0, solver="sag", max_iter=2, **SEEDED),
    "kernel ridge": KernelRidge(kernel="rbf", alpha=0.1),
}


def encloses(certificate, problem, rounding=1e-9):
    optimum, w, b = problem.solve()
    room = rounding * max(optimum, certificate.primal_value)
    assert certificate.dual_value <= optimum + room
    assert certificate.best_value >= optimum - room
    assert certificate.best_value <= certificate.primal_value + room
    assert certificate.primal_value == pytest.approx(problem.value, rel=1e-9)
    assert_sets(certificate.support, problem, problem.features @ w + b)


def assert_sets(support, problem, p):
    """No row is placed on a side on which the optimum does not have it."""
    if problem.loss != "hinge":
        return
    z = np.full(len(X), np.nan)
    z[np.arange(len(X)) if problem.used is None else problem.used] = problem.targets * p
    assert (z[support.left] < 1 + 1e-6).all()
    assert (z[support.right] > 1 - 1e-6).all()
    assert not np.intersect1d(support.support_vectors, support.right).size
    placed = np.concatenate([support.elbow, support.left, support.right, support.undecided])
    assert len(placed) == len(set(placed.tolist()))


def certificates(model, X, y, s=None):
    found = kq.certify(model, X, y, s)
    return found.problems or (found,)


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_wherever_it_stopped(name, s):
    model = fit(CLASSIFIERS[name], X, TWO, s)
    (certificate,), (problem,) = certificates(model, X, TWO, s), by_hand(model, X, TWO, s)
    encloses(certificate, problem)


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_wherever_it_stopped(name, s):
    model = fit(REGRESSORS[name], X, REAL, s)
    (certificate,), (problem,) = certificates(model, X, REAL, s), by_hand(model, X, REAL, s)
    encloses(certificate, problem)


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        SVC(max_iter=4, decision_function_shape="ovo"),
        SVC(C=30.0, gamma=0.2, decision_function_shape="ovo", class_weight={1: 3.0}),
        LinearSVC(max_iter=2, dual=True, class_weight={1: 3.0}, **SEEDED),
        SGDClassifier(alpha=0.1, max_iter=4, **FREE),
    ],
    ids=["svc, 4 steps", "svc", "linear svc, 2 steps", "sgd"],
)
def test_every_problem_of_three_classes(model, s):
    model = fit(model, X, THREE, s)
    found, problems = certificates(model, X, THREE, s), by_hand(model, X, THREE, s)
    for certificate, problem in zip(found, problems, strict=True):
        encloses(certificate, problem)


@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"tol": 0.5}, {}, {"tol": 1e-10}], ids=str)
@pytest.mark.parametrize(
    ("model", "method"),
    [
        (SVC(kernel="linear", C=0.7), kq.SoftMarginSVM(C=0.7)),
        (SVC(C=2.0, gamma=0.3), kq.SoftMarginSVM(C=2.0, kernel=kq.RBF(gamma=0.3))),
        (
            SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.5, C=0.3),
            kq.SoftMarginSVM(C=0.3, kernel=kq.Polynomial(2, 0.5, 1.0)),
        ),
        (
            LinearSVC(loss="hinge", C=0.7, max_iter=100_000, **SEEDED),
            kq.SoftMarginSVM(C=0.7, intercept="penalized"),
        ),
        (
            LinearSVC(C=0.7, dual=True, max_iter=100_000, **SEEDED),
            kq.SoftMarginSVM(C=0.7, slack_power=2, intercept="penalized"),
        ),
        (
            LinearSVC(C=0.7, dual=True, fit_intercept=False, max_iter=100_000, **SEEDED),
            kq.SoftMarginSVM(C=0.7, slack_power=2, intercept="none"),
        ),
    ],
    ids=["linear", "rbf", "poly", "linear svc hinge", "linear svc", "linear svc none"],
)
def test_the_optimum_is_that_of_our_own_machine(model, method, limit):
    model = fit(type(model)(**{**model.get_params(), **limit}), X, TWO, WEIGHTS)
    certificate = kq.certify(model, X, TWO, WEIGHTS)
    solution = method.solve(X, TWO, WEIGHTS, tol=1e-9)
    own = solution.certificate
    assert own.certified
    room = 1e-9 * own.primal_value
    assert certificate.dual_value <= own.primal_value + room
    assert certificate.best_value >= own.dual_value - room
    assert certificate.primal_value >= own.dual_value - room
    assert certificate.dual_value == pytest.approx(solution.value, rel=1e-4)  # and not by far


def test_closed_forms():
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    optimum = 0.2 * REAL @ np.linalg.solve(K + 0.2 * np.eye(len(X)), REAL)
    found = kq.certify(KernelRidge(kernel="rbf", gamma=0.3, alpha=0.2).fit(X, REAL), X, REAL)
    for value in (found.primal_value, found.dual_value, found.best_value):
        assert value == pytest.approx(optimum, rel=1e-10)
    centred, y = X - X.mean(axis=0), REAL - REAL.mean()
    system = centred.T @ centred + 3 * np.eye(3)
    optimum = y @ y - y @ centred @ np.linalg.solve(system, centred.T @ y)
    found = kq.certify(Ridge(alpha=3.0).fit(X, REAL), X, REAL)
    for value in (found.primal_value, found.dual_value, found.best_value):
        assert value == pytest.approx(optimum, rel=1e-10)


FAR = {
    "hinge": LinearSVC(loss="hinge", **SEEDED),
    "squared hinge": LinearSVC(**SEEDED),
    "logistic": LogisticRegression(),
    "logistic liblinear": LogisticRegression(solver="liblinear", **SEEDED),
    "sgd log": SGDClassifier(loss="log_loss", alpha=0.1, **SEEDED),
}


@pytest.mark.parametrize("b", [-1e4, 0.0, 1e4])
@pytest.mark.parametrize("name", FAR)
def test_a_model_far_from_everything_still_has_a_bound(name, b):
    """One that was overwritten by noise: the bounds are the problem's, not the model's."""
    model = fit(FAR[name], X, TWO)
    model.coef_ = 1e3 * np.random.default_rng(0).normal(size=(1, 3))
    model.intercept_ = np.array([b])
    certificate, (problem,) = kq.certify(model, X, TWO), by_hand(model, X, TWO)
    encloses(certificate, problem)
    assert certificate.dual_value == pytest.approx(problem.optimum(), rel=1e-3)
    assert certificate.best_value == pytest.approx(problem.optimum(), rel=1e-3)
    assert certificate.verdict.startswith("Not converged")


def test_what_the_gap_is_relative_to():
    """max(P, D, the scale of the problem): the smaller of P at f = 0 and s² / mean K_ii."""
    model = fit(SVC(kernel="linear", C=1e-3, max_iter=1), X, TWO)
    certificate = kq.certify(model, X, TWO)
    centred = X - X.mean(axis=0)
    null = 2e-3 * min(TWO.sum(), (1 - TWO).sum())
    scale = min(null, 1.0 / (centred**2).sum(axis=1).mean())
    width = max(certificate.primal_value, certificate.dual_value, scale)
    assert certificate.relative_gap == pytest.approx(certificate.gap / width, rel=1e-9)
