"""What cannot be certified is refused: by the model's name, and with the reason."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    LogisticRegressionCV,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import kernelqp as kq
from kernelqp.foreign import UnreadableModel
from tests.foreign.fits import features, fit, targets, three_classes, two_classes

X = features()
TWO, THREE, REAL = two_classes(X), three_classes(X), targets(X)
SEEDED = {"random_state": 0}


def refused(model, match, X=X, y=TWO, s=None, kind=UnreadableModel):
    with pytest.raises(kind, match=match) as caught:
        kq.certify(model, X, y, s)
    assert isinstance(caught.value, kq.InputError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LinearSVC(penalty="l1", dual=False, **SEEDED), "penalty is 'l1'"),
        (LogisticRegression(l1_ratio=1.0, solver="liblinear", **SEEDED), "an l1 part"),
        (LogisticRegression(l1_ratio=0.5, solver="saga", **SEEDED), "an l1 part"),
        (SGDClassifier(penalty="l1", **SEEDED), "penalty is 'l1'"),
        (SGDClassifier(penalty="elasticnet", **SEEDED), "penalty is 'elasticnet'"),
        (SGDClassifier(penalty=None, **SEEDED), "penalty is None"),
        (SGDClassifier(loss="modified_huber", **SEEDED), "loss is 'modified_huber'"),
        (SGDClassifier(loss="perceptron", **SEEDED), "loss is 'perceptron'"),
    ],
    ids=str,
)
def test_other_objectives_of_a_known_classifier(model, reason):
    refused(fit(model, X, TWO), rf"^{type(model).__name__} .*{reason}.*; fit with ")


@pytest.mark.parametrize(
    ("model", "y", "reason"),
    [
        (QuantileRegressor(alpha=0.1), REAL, "l1 norm"),
        (Ridge(positive=True), REAL, "positive"),
        (Ridge(alpha=0.0), REAL, "alpha"),
        (Ridge(), np.c_[REAL, -REAL], "2 targets"),
        (Ridge(alpha=[1.0, 2.0]), np.c_[REAL, -REAL], "2 targets"),
        (KernelRidge(), np.c_[REAL, -REAL, REAL], "3 targets"),
        (KernelRidge(kernel="cosine"), REAL, "kernel 'cosine'"),
        (LogisticRegression(), THREE, "multinomial"),
        (LinearSVC(multi_class="crammer_singer", **SEEDED), THREE, "crammer_singer"),
        (
            LogisticRegressionCV(
                cv=2, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"
            ),
            TWO,
            "chose C itself",
        ),
    ],
    ids=lambda v: str(v)[:45] if not isinstance(v, np.ndarray) else "",
)
def test_other_problems(model, y, reason):
    refused(fit(model, X, y), rf"^{type(model).__name__} .*{reason}.*; (fit|certify) ", y=y)


def test_crammer_singer_of_two_classes_is_another_problem_too():
    """1/4 |w|^2 + C sum hinge, whatever `loss` says, and not 1/2 |w|^2 + C sum hinge^2."""
    model = LinearSVC(multi_class="crammer_singer", tol=1e-8, **SEEDED)
    refused(fit(model, X, TWO), r"^LinearSVC .*crammer_singer")


def test_a_fit_that_held_rows_back_is_another_problem():
    """early_stopping takes a tenth of the rows, at random, out of the objective."""
    model = SGDClassifier(early_stopping=True, **SEEDED)
    refused(fit(model, X, TWO), r"^SGDClassifier .*early_stopping")


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (CalibratedClassifierCV(LinearSVC(**SEEDED), cv=2), TWO),
        (RandomForestClassifier(n_estimators=2, **SEEDED), TWO),
        (GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2), TWO),
        (RidgeClassifier(), TWO),
        (Lasso(), REAL),
        (ElasticNet(), REAL),
        (SGDRegressor(**SEEDED), REAL),
    ],
    ids=lambda v: type(v).__name__,
)
def test_an_unknown_estimator(model, y):
    name = type(model).__name__
    message = refused(fit(model, X, y), rf"{name} cannot be certified", y=y)
    assert "LinearSVC" in message.split("cannot be certified")[1]  # what can be


def test_a_model_of_models_says_where_they_are():
    searched = fit(GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2), X, TWO)
    refused(searched, "certify its best_estimator_")
    kq.certify(searched.best_estimator_, X, TWO)
    many = fit(OneVsRestClassifier(SVC()), X, THREE)
    refused(many, "certify each of its estimators_", y=THREE)
    for one, label in zip(many.estimators_, many.classes_, strict=True):
        kq.certify(one, X, (label == THREE).astype(int))


@pytest.mark.parametrize(
    "thing", [None, 3, "svc", object()], ids=["None", "number", "name", "object"]
)
def test_what_is_no_estimator(thing):
    refused(thing, "cannot be certified: no reader knows it")
    refused(SVC, "^SVC cannot be certified: it is a class; pass a fitted model")


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        LinearSVC(),
        SVR(),
        LinearSVR(),
        Ridge(),
        KernelRidge(),
        LogisticRegression(),
        SGDClassifier(),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(SVC()),
    ],
    ids=str,
)
def test_a_model_that_was_not_fitted(model):
    y = REAL if isinstance(model, SVR | LinearSVR | Ridge | KernelRidge) else TWO
    refused(model, "was not fitted: call fit first", y=y)


@pytest.mark.parametrize("last", ["passthrough", StandardScaler()], ids=str)
def test_a_pipeline_that_ends_in_no_model(last):
    refused(fit(make_pipeline(StandardScaler(), last), X, TWO), "cannot be certified: no reader")


# --- kernels that are not positive semidefinite -------------------------------------------------


def indefinite(A, B):
    return np.tanh(0.3 * A @ B.T)


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (SVC(kernel="sigmoid"), X, TWO),
        (SVR(kernel="sigmoid"), X, REAL),
        (SVC(kernel="poly", degree=2, coef0=-3.0), X, TWO),
        (SVC(kernel="precomputed"), indefinite(X, X), TWO),
        (KernelRidge(kernel="sigmoid", alpha=90.0), X, REAL),
    ],
    ids=["svc sigmoid", "svr sigmoid", "svc poly", "svc precomputed", "kernel ridge sigmoid"],
)
def test_an_indefinite_kernel_is_refused_with_its_eigenvalue(model, X, y):
    model = fit(model, X, y)
    message = refused(
        model, "not positive semidefinite: the smallest eigenvalue", X, y, kind=kq.InputError
    )
    assert type(model).__name__ in message
    assert "repair=" not in message  # no argument of certify


# --- other data than those of the fit -----------------------------------------------------------

FITTED = {
    "svc": (SVC(), TWO),
    "svc precomputed": (SVC(kernel="precomputed"), TWO),
    "linear svc": (LinearSVC(**SEEDED), TWO),
    "logistic": (LogisticRegression(), TWO),
    "sgd": (SGDClassifier(**SEEDED), TWO),
    "svr": (SVR(), REAL),
    "linear svr": (LinearSVR(**SEEDED), REAL),
    "ridge": (Ridge(), REAL),
    "kernel ridge": (KernelRidge(kernel="rbf"), REAL),
}
CLASSIFIERS = [name for name, (_, y) in FITTED.items() if y is TWO]
REGRESSORS = [name for name, (_, y) in FITTED.items() if y is REAL]


def fitted(name):
    model, y = FITTED[name]
    data = X @ X.T if "precomputed" in name else X
    return fit(model, data, y), data, y


@pytest.mark.parametrize("name", FITTED)
def test_other_features(name):
    model, data, y = fitted(name)
    refused(model, r"(?i)features|fit", data[:, :2], y, kind=kq.InputError)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("change", ["longer", "shorter"])
def test_a_y_of_another_length(name, change):
    model, data, y = fitted(name)
    other = y[:-5] if change == "shorter" else np.r_[y, y]
    refused(model, r"X has 50 rows, y has (45|100): pass", data, other, kind=kq.InputError)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_other_classes(name):
    model, data, y = fitted(name)
    for other in (y + 1, np.where(y == 1, "a", "b"), np.where(np.arange(len(y)) == 7, 5, y)):
        refused(model, "the labels of the fit", data, other, kind=kq.InputError)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_class_of_the_fit_that_is_missing(name):
    model, data, y = fitted(name)
    refused(model, "fit", data, np.zeros_like(y), kind=kq.InputError)


@pytest.mark.parametrize("name", REGRESSORS)
def test_labels_for_a_regressor(name):
    model, data, _ = fitted(name)
    refused(model, "y must hold real numbers", data, np.where(TWO, "a", "b"), kind=kq.InputError)


@pytest.mark.parametrize("model", [SVC(C=2.0), SVR(C=2.0), SVC(C=2.0, kernel="linear")], ids=str)
def test_weights_or_a_price_that_are_not_those_of_the_fit(model):
    """Dual coefficients beyond their bounds are no answer to this problem, however rough."""
    weights = np.linspace(0.2, 3.0, len(X))
    y = REAL if isinstance(model, SVR) else TWO
    fitted = fit(model, X, y, sample_weight=weights)
    kq.certify(fitted, X, y, weights)
    message = refused(fitted, "dual coefficient of row", y=y)
    assert "sample_weight of the fit" in message
    row = int(message.split("row ")[1].split(" ")[0])
    assert weights[row] > 1.0
    refused(fitted.set_params(C=0.1), "the C of the fit", y=y, s=weights)


def test_coefficients_are_let_out_of_their_bounds_by_what_printing_costs():
    model = fit(SVC(C=2.0), X, TWO)
    exact = model.dual_coef_.copy()
    model.dual_coef_ = exact * (1 + 5e-6)  # as six printed figures may have it
    assert kq.certify(model, X, TWO).certified
    model.dual_coef_ = exact * (1 + 1e-3)
    refused(model, "dual coefficient of row")


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), Ridge(), SVR()], ids=str)
def test_a_y_that_is_missing(model):
    y = TWO if hasattr(model, "dual") or isinstance(model, SVC) else REAL
    refused(fit(model, X, y), "y is missing", y=None, kind=kq.InputError)


def test_labels_that_are_not_those_of_the_fit():
    refused(fit(SVC(), X, TWO), "pass the labels", y=TWO.max() - TWO)
    refused(fit(SVC(), X, THREE), "against .* pass the labels", y=(THREE + 1) % 3)


def test_rows_in_another_order():
    turned = np.arange(len(X))[::-1]
    refused(fit(SVC(), X, TWO), "rows in their order", X=X[turned], y=TWO[turned])


@pytest.mark.parametrize("name", ["svc", "svr", "kernel ridge"])
@pytest.mark.parametrize(
    "other", [X + 1e-3, X[::-1], X[:30]], ids=["moved", "in another order", "fewer"]
)
def test_support_vectors_that_are_no_rows_of_x(name, other):
    model, _, y = fitted(name)
    refused(model, rf"^{type(model).__name__} .*pass the data of the fit", other, y[: len(other)])


@pytest.mark.parametrize(
    ("s", "match"),
    [
        (np.ones(49), "shape"),
        (np.r_[-1.0, np.ones(49)], "negative"),
        (np.zeros(50), "0 on every row"),
        (np.r_[np.nan, np.ones(49)], "finite"),
    ],
    ids=["length", "negative", "zero", "nan"],
)
@pytest.mark.parametrize("name", ["svc", "linear svc", "sgd", "ridge", "kernel ridge"])
def test_weights_that_cannot_be(name, s, match):
    model, data, y = fitted(name)
    refused(model, match, data, y, s, kind=kq.InputError)


@pytest.mark.parametrize("name", FITTED)
def test_numbers_that_are_not_finite(name):
    model, data, y = fitted(name)
    broken = data.copy()
    broken[3, 1] = np.nan
    refused(model, "finite", broken, y, kind=kq.InputError)


def test_nothing_is_changed():
    """Neither the model nor the data are written to."""
    model, data, y = fitted("svc")
    before = model.dual_coef_.copy(), model.intercept_.copy(), data.copy(), y.copy()
    kq.certify(model, data, y)
    after = model.dual_coef_, model.intercept_, data, y
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


WEIGHTS = np.linspace(0.2, 3.0, len(X))


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), NuSVR(nu=0.3), OneClassSVM(nu=0.3)], ids=str)
def test_a_nu_model_of_other_weights(model):
    y = REAL if isinstance(model, NuSVR) else TWO
    model.fit(X, y, sample_weight=WEIGHTS)
    assert kq.certify(model, X, y, WEIGHTS).certified
    refused(model, "sample_weight of the fit", y=y)


def test_a_nu_model_of_other_labels():
    refused(NuSVC(nu=0.3).fit(X, TWO), "labels", y=TWO[::-1])


def test_a_one_class_model_of_another_nu():
    model = OneClassSVM(nu=0.3).fit(X)
    model.nu = 0.2
    refused(model, "nu of the fit")


def test_a_class_whose_rows_all_have_the_weight_0():
    s = np.where(np.unique(THREE)[2] == THREE, 0.0, 1.0)
    refused(SVC().fit(X, THREE, sample_weight=s), "have the weight 0", y=THREE, s=s)


def test_an_ensemble_that_was_not_fitted_has_no_parts_to_certify():
    assert "estimators_" not in refused(OneVsRestClassifier(SVC()), "no reader knows it")


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize(
    ("model", "y", "attribute"),
    [
        (LinearSVC(**SEEDED), TWO, "coef_"),
        (Ridge(), REAL, "coef_"),
        (QuantileRegressor(alpha=0), REAL, "coef_"),
        (SVC(), TWO, "dual_coef_"),
        (SVC(), TWO, "intercept_"),
        (SVR(), REAL, "intercept_"),
        (KernelRidge(), REAL, "dual_coef_"),
        (NuSVC(nu=0.1), TWO, "dual_coef_"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_a_fit_that_failed(model, y, attribute, value):
    model = fit(model, X, y)
    getattr(model, attribute).flat[0] = value
    with np.errstate(all="ignore"):
        refused(model, "its coefficients are not finite", y=y)


def test_weights_whose_square_is_not_finite():
    model = fit(Ridge(), X, REAL)
    model.coef_ = 1e200 * model.coef_
    refused(model, "so large that its objective is not", y=REAL)


@pytest.mark.parametrize("model", [LinearSVC(**SEEDED), Ridge(), QuantileRegressor(alpha=0)])
def test_weights_of_other_features(model):
    y = TWO if isinstance(model, LinearSVC) else REAL
    model = fit(model, X, y)
    model.coef_ = model.coef_[..., :-1]
    d = X.shape[1]
    refused(model, f"its coef_ has {d - 1} entries, X has {d} features", y=y)


def test_data_that_are_missing_or_of_another_shape():
    model = fit(LinearSVC(**SEEDED), X, TWO)
    refused(model, "X is missing: got None", X=None, kind=kq.InputError)
    match = rf"y must have shape \({len(X)},\), one label a row; got \({len(X)}, 2\)"
    refused(model, match, y=np.column_stack([TWO, TWO]), kind=kq.InputError)
