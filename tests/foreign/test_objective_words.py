"""The objective that a certificate states: with weights where there are weights."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import kernelqp as kq
from tests.foreign.fits import features, fit, targets, two_classes, weights

X = features()
TWO, REAL, S = two_classes(X), targets(X), weights()
SEEDED = {"random_state": 0}
CLASSIFIERS = [
    (SVC(), " sum max", " sum s max"),
    (LinearSVC(**SEEDED), " sum max", " sum s max"),
    (LogisticRegression(), " sum log", " sum s log"),
    (LogisticRegression(solver="liblinear", **SEEDED), " sum log", " sum s log"),
    (SGDClassifier(**SEEDED), "1/n sum max", "1/n sum s max"),
]
OTHERS = [
    (NuSVC(nu=0.3), TWO, "+ mean of", "+ weighted mean of"),
    (OneClassSVM(nu=0.3), None, "+ mean of", "+ weighted mean of"),
    (SVR(), REAL, " sum max", " sum s max"),
    (LinearSVR(**SEEDED), REAL, " sum max", " sum s max"),
    (NuSVR(), REAL, " sum (0.5 epsilon", " sum s (0.5 epsilon"),
    (Ridge(), REAL, "sum (y", "sum s (y"),
    (KernelRidge(), REAL, "sum (y", "sum s (y"),
    (QuantileRegressor(alpha=0), REAL, "1/n sum 0.5", "1/sum(s) sum s 0.5"),
]


def objective(model, y, s=None):
    if s is None:
        return kq.certify(fit(model, X, y), X, y).objective
    return kq.certify(fit(model, X, y, s), X, y, s).objective


@pytest.mark.parametrize(
    ("model", "y", "plain", "weighted"), [(m, TWO, *words) for m, *words in CLASSIFIERS] + OTHERS
)
def test_weights_of_rows_are_in_it(model, y, plain, weighted):
    assert plain in objective(model, y)
    assert weighted in objective(model, y, S)
    assert plain not in objective(model, y, S)


@pytest.mark.parametrize(("model", "plain", "weighted"), CLASSIFIERS)
def test_weights_of_classes_are_in_it(model, plain, weighted):
    words = objective(type(model)(**model.get_params() | {"class_weight": {0: 5}}), TWO)
    assert weighted in words
    assert plain not in words


def test_the_s_of_it_is_what_the_values_hold():
    """C Σ s max(0, 1 − y f) + 1/2 |w|², s the weight of the row times that of its class."""
    model = SVC(kernel="linear", class_weight={0: 5.0, 1: 0.5}).fit(X, TWO, S)
    found = kq.certify(model, X, TWO, S)
    w, z = model.coef_.ravel(), np.where(TWO == 1, 1, -1) * model.decision_function(X)
    s = S * np.where(TWO == 0, 5.0, 0.5)
    by_hand = 0.5 * w @ w + s @ np.maximum(0.0, 1.0 - z)
    assert found.objective.startswith("1/2 |f|^2 + 1 sum s max(0, 1 - y (f(x) + b))")
    assert found.primal_value == pytest.approx(by_hand, rel=1e-12)
