"""What users pass by mistake, and problems whose optimum is 0."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import kernelqp as kq
from tests.foreign.fits import features, fit, two_classes

X = features()
Y = two_classes(X)


@pytest.mark.parametrize(
    "model",
    [Ridge(), KernelRidge(), SVR(), SVR(kernel="linear"), LinearSVR(), QuantileRegressor(alpha=0)],
    ids=str,
)
def test_targets_of_0_have_the_optimum_0(model):
    found = kq.certify(fit(model, X, np.zeros(len(X))), X, np.zeros(len(X)))
    assert found.verdict.startswith("Converged")
    assert found.primal_value == found.dual_value == 0.0


def test_columns_in_another_order_are_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LinearSVC(random_state=0).fit(frame, Y)
    assert kq.certify(model, frame, Y).certified
    with pytest.raises(kq.InputError, match="in their order"):
        kq.certify(model, frame[["c", "b", "a"]], Y)


def test_a_pipeline_that_cannot_transform_says_so():
    model = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    with pytest.raises(kq.InputError, match="cannot transform X"):
        kq.certify(model, X[:, :2], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kq.certify(model, pd.DataFrame(X, columns=["a", "b", "c"]), Y).certified


def test_a_step_whose_fit_saw_other_features_is_refused():
    kinds = np.random.default_rng(1).integers(0, 6, (len(Y), 2)).astype(str).astype(object)
    model = make_pipeline(TargetEncoder(), LogisticRegression()).fit(kinds, Y)
    with pytest.raises(kq.InputError, match="TargetEncoder"):
        kq.certify(model, kinds, Y)


@pytest.mark.parametrize(
    "y", [[None, *Y.tolist()[1:]], [object()] * len(Y)], ids=["none", "object"]
)
def test_labels_that_cannot_be_compared(y):
    with pytest.raises(kq.InputError, match="cannot be compared"):
        kq.certify(SVC().fit(X, Y), X, y)


def test_a_margin_of_rounding_is_no_separation():
    """Coinciding rows of both classes: 1/margin would be infinite."""
    rng = np.random.default_rng(95)
    rows = np.repeat(rng.normal(size=(2, 60)), 2, axis=0)
    y = np.array([0, 1, 0, 1])
    found = kq.certify(fit(SVC(kernel="linear", C=1e9, max_iter=50), rows, y), rows, y)
    assert found.dual_value <= found.primal_value


def test_a_dense_problem_of_large_C_keeps_the_primal_it_found():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(100, 150))
    y = Z[:, 0] + 0.5 * rng.normal(size=100)
    model = fit(LinearSVR(C=1e5, max_iter=100, epsilon=0.1, random_state=0), Z, y)
    found = kq.certify(model, Z, y)
    assert found.best_value <= found.dual_value * (1 + 1e-3)
