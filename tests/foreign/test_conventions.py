"""Every sign, scale and weight of scikit-learn's objectives, against the objective by hand.

`primal_value` has to be the hand-written objective at the model, and a fit that is as tight as it
goes has to come out tight: a wrong sign, factor or intercept leaves a gap of percents.
"""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import kernelqp as kq
from tests.foreign.fits import (
    features,
    fit,
    placed,
    targets,
    three_classes,
    two_classes,
    weights,
)
from tests.foreign.hand import by_hand

TIGHT = {"tol": 1e-10}
LIBLINEAR = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}
X = features()
TWO, THREE, REAL, WEIGHTS = two_classes(X), three_classes(X), targets(X), weights()


def poly_by_hand(A, B):
    return (0.5 * A @ B.T + 1.0) ** 2


def rbf_of_rows(a, b):
    return float(np.exp(-0.4 * np.sum((a - b) ** 2)))


KERNEL_CLASSIFIERS = {
    "svc linear": lambda: SVC(kernel="linear", C=0.7, **TIGHT),
    "svc rbf": lambda: SVC(C=2.0, **TIGHT),
    "svc rbf auto": lambda: SVC(C=2.0, gamma="auto", **TIGHT),
    "svc rbf number": lambda: SVC(C=20.0, gamma=0.3, **TIGHT),
    "svc poly": lambda: SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.5, C=0.3, **TIGHT),
    "svc poly cubic": lambda: SVC(kernel="poly", C=0.3, **TIGHT),
    "svc callable": lambda: SVC(kernel=poly_by_hand, C=0.3, **TIGHT),
    "svc linear large C": lambda: SVC(kernel="linear", C=5.0, **TIGHT),
}
LINEAR_CLASSIFIERS = {
    "linear svc hinge": lambda: LinearSVC(loss="hinge", C=0.7, **LIBLINEAR),
    "linear svc hinge 10": lambda: LinearSVC(
        loss="hinge", C=0.7, intercept_scaling=10, **LIBLINEAR
    ),
    "linear svc hinge none": lambda: LinearSVC(
        loss="hinge", C=0.7, fit_intercept=False, **LIBLINEAR
    ),
    "linear svc": lambda: LinearSVC(C=0.7, **LIBLINEAR),
    "linear svc dual": lambda: LinearSVC(C=0.7, dual=True, **LIBLINEAR),
    "linear svc 10": lambda: LinearSVC(C=0.7, intercept_scaling=10, **LIBLINEAR),
    "linear svc none": lambda: LinearSVC(C=0.7, fit_intercept=False, **LIBLINEAR),
    "logistic lbfgs": lambda: LogisticRegression(C=0.7, max_iter=10_000, **TIGHT),
    "logistic newton": lambda: LogisticRegression(C=0.7, solver="newton-cg", **TIGHT),
    "logistic cholesky": lambda: LogisticRegression(C=0.7, solver="newton-cholesky", **TIGHT),
    "logistic saga": lambda: LogisticRegression(C=0.7, solver="saga", **LIBLINEAR),
    "logistic none": lambda: LogisticRegression(C=0.7, fit_intercept=False, **TIGHT),
    "logistic liblinear": lambda: LogisticRegression(C=0.7, solver="liblinear", **LIBLINEAR),
    "logistic liblinear 10": lambda: LogisticRegression(
        C=0.7, solver="liblinear", intercept_scaling=10, **LIBLINEAR
    ),
    "logistic liblinear none": lambda: LogisticRegression(
        C=0.7, solver="liblinear", fit_intercept=False, **LIBLINEAR
    ),
}
SGD = {
    f"sgd {loss}{' none' if not intercept else ''}": (
        lambda loss=loss, intercept=intercept: SGDClassifier(
            loss=loss, alpha=0.03, fit_intercept=intercept, random_state=0
        )
    )
    for loss in ("hinge", "squared_hinge", "log_loss")
    for intercept in (True, False)
}
CLASSIFIERS = {**KERNEL_CLASSIFIERS, **LINEAR_CLASSIFIERS, **SGD}
REGRESSORS = {
    "svr linear": lambda: SVR(kernel="linear", C=0.7, epsilon=0.3, **TIGHT),
    "svr rbf": lambda: SVR(C=5.0, epsilon=0.2, **TIGHT),
    "svr poly": lambda: SVR(kernel="poly", degree=2, coef0=1.0, C=0.5, epsilon=0.4, **TIGHT),
    "svr no tube": lambda: SVR(C=5.0, epsilon=0.0, **TIGHT),
    "svr all inside": lambda: SVR(epsilon=100.0, **TIGHT),
    "linear svr": lambda: LinearSVR(C=0.7, epsilon=0.3, **LIBLINEAR),
    "linear svr 10": lambda: LinearSVR(C=0.7, epsilon=0.3, intercept_scaling=10, **LIBLINEAR),
    "linear svr none": lambda: LinearSVR(C=0.7, epsilon=0.3, fit_intercept=False, **LIBLINEAR),
    "linear svr squared": lambda: LinearSVR(
        C=0.7, epsilon=0.3, loss="squared_epsilon_insensitive", dual=True, **LIBLINEAR
    ),
    "linear svr squared primal": lambda: LinearSVR(
        C=0.7, loss="squared_epsilon_insensitive", dual=False, intercept_scaling=10, **LIBLINEAR
    ),
    "ridge": lambda: Ridge(alpha=3.0),
    "ridge none": lambda: Ridge(alpha=3.0, fit_intercept=False),
    "ridge lsqr": lambda: Ridge(alpha=0.2, solver="lsqr", tol=1e-12),
    "ridge saga": lambda: Ridge(alpha=3.0, solver="saga", **LIBLINEAR),
    "kernel ridge linear": lambda: KernelRidge(alpha=0.5),
    "kernel ridge rbf": lambda: KernelRidge(kernel="rbf", alpha=0.5, gamma=0.3),
    "kernel ridge rbf default": lambda: KernelRidge(kernel="rbf", alpha=0.05),
    "kernel ridge laplacian": lambda: KernelRidge(kernel="laplacian", alpha=0.5),
    "kernel ridge poly": lambda: KernelRidge(kernel="poly", alpha=0.5, degree=2, coef0=1.0),
}


def tight(model, X, y, s=None):
    """Fit as tightly as it goes; SGD never gets there and is placed."""
    model = fit(model, X, y, s)
    return placed(model, by_hand(model, X, y, s)) if isinstance(model, SGDClassifier) else model


def agrees(model, X, y, s=None):
    """Every problem's value is that by hand, and the fit is certified tight."""
    last = model[-1] if hasattr(model, "steps") else model
    gap = 1e-5 if isinstance(last, SVC | SVR) else 1e-7  # LIBSVM's kernel is float32
    certificate, problems = kq.certify(model, X, y, s, tol=gap), by_hand(model, X, y, s)
    found = certificate.problems or (certificate,)
    assert len(found) == len(problems)
    for one, problem in zip(found, problems, strict=True):
        assert one.primal_value == pytest.approx(problem.value, rel=1e-9), one
        assert one.relative_gap <= gap, one
        assert one.certified
        assert one.verdict.startswith("Converged: ")
        difference = one.primal_value - one.dual_value
        assert one.gap == pytest.approx(difference, rel=1e-9, abs=1e-14 * one.primal_value)
        assert one.complementarity.shape == (len(y),)
        taking_part = np.isfinite(one.complementarity)
        used = np.arange(len(y)) if problem.used is None else problem.used
        expected = np.zeros(len(y), dtype=bool)
        expected[used] = True if s is None else s[used] > 0
        np.testing.assert_array_equal(taking_part, expected)
    return certificate


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_is_read_in_its_own_convention(name):
    agrees(tight(CLASSIFIERS[name](), X, TWO), X, TWO)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_sample_weights_of_a_classifier(name):
    agrees(tight(CLASSIFIERS[name](), X, TWO, WEIGHTS), X, TWO, WEIGHTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_class_weights_as_a_dict(name):
    model = CLASSIFIERS[name]().set_params(class_weight={0: 0.4, 1: 2.5})
    agrees(tight(model, X, TWO, WEIGHTS), X, TWO, WEIGHTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_dict_of_one_class_leaves_the_other_at_1(name):
    model = CLASSIFIERS[name]().set_params(class_weight={1: 3.0})
    agrees(tight(model, X, TWO), X, TWO)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_balanced_classes(name):
    model = CLASSIFIERS[name]().set_params(class_weight="balanced")
    agrees(tight(model, X, TWO), X, TWO)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_balanced_classes_with_sample_weights(name):
    """SVC and SGD balance by the count of rows, those of weight 0 too; the others by weights."""
    s = np.where(TWO == 1, WEIGHTS, 2.0 * WEIGHTS)
    model = CLASSIFIERS[name]().set_params(class_weight="balanced")
    agrees(tight(model, X, TWO, s), X, TWO, s)


@pytest.mark.parametrize("name", ["svc rbf", "linear svc", "logistic lbfgs", "sgd hinge"])
@pytest.mark.parametrize(
    "labels",
    [("ham", "spam"), ("spam", "ham"), (False, True), (1, -1), (0.0, -3.0), (7, 3)],
    ids=str,
)
def test_labels_of_any_kind(name, labels):
    """The greater label is the positive one, whichever class it stands for."""
    y = np.array(labels)[TWO]
    model = CLASSIFIERS[name]().set_params(class_weight={labels[0]: 0.4, labels[1]: 2.5})
    agrees(tight(model, X, y, WEIGHTS), X, y, WEIGHTS)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_is_read_in_its_own_convention(name):
    agrees(fit(REGRESSORS[name](), X, REAL), X, REAL)


@pytest.mark.parametrize("name", REGRESSORS)
def test_sample_weights_of_a_regressor(name):
    agrees(fit(REGRESSORS[name](), X, REAL, WEIGHTS), X, REAL, WEIGHTS)


def test_one_column_of_targets():
    for model in (Ridge(alpha=3.0), KernelRidge(kernel="rbf")):
        agrees(fit(model, X, REAL[:, None]), X, REAL[:, None])


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "model", [SVC(C=0.7, kernel="precomputed", **TIGHT), SVR(kernel="precomputed", **TIGHT)]
)
def test_a_precomputed_kernel(model, s):
    K, y = (0.5 * X @ X.T + 1.0) ** 2, TWO if isinstance(model, SVC) else REAL
    agrees(fit(model, K, y, s), K, y, s)


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_precomputed_kernel_of_kernel_ridge(s):
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    agrees(fit(KernelRidge(kernel="precomputed", alpha=0.5), K, REAL, s), K, REAL, s)


def test_a_callable_of_kernel_ridge_takes_two_rows():
    """SVC's takes two matrices."""
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
    model = KernelRidge(kernel=rbf_of_rows, alpha=0.5).fit(X, REAL)
    same = KernelRidge(kernel="precomputed", alpha=0.5).fit(K, REAL)
    expected = by_hand(same, K, REAL)[0].value
    certificate = kq.certify(model, X, REAL)
    assert certificate.primal_value == pytest.approx(expected, rel=1e-9)
    assert certificate.relative_gap <= 1e-9


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SVC(C=0.7, **TIGHT), TWO),
        (LinearSVC(C=0.7, **LIBLINEAR), TWO),
        (LogisticRegression(C=0.7, **TIGHT), TWO),
        (SVR(C=0.7, **TIGHT), REAL),
        (Ridge(alpha=0.7), REAL),
    ],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_pipeline_is_its_last_step(model, y, s):
    steps = (PolynomialFeatures(2, include_bias=False), StandardScaler())
    pipeline = fit(make_pipeline(*steps, model), X, y, s)
    assert agrees(pipeline, X, y, s).name == type(model).__name__
    alone = fit(make_pipeline(model), X, y, s)
    assert agrees(alone, X, y, s).primal_value == kq.certify(alone[-1], X, y, s).primal_value


def test_frames_lists_and_sparse_matrices_are_the_same_data():
    pd = pytest.importorskip("pandas", reason="frames need it")
    from scipy.sparse import csr_matrix

    for model, y in ((SVC(**TIGHT), TWO), (LinearSVC(**LIBLINEAR), TWO), (Ridge(), REAL)):
        expected = kq.certify(fit(model, X, y), X, y).primal_value
        frame = pd.DataFrame(X, columns=["u", "v", "w"])
        for data in (frame, csr_matrix(X), X.tolist()):
            found = kq.certify(fit(model, data, y), data, pd.Series(y))
            assert found.primal_value == pytest.approx(expected, rel=1e-6)
            assert found.certified


# --- several classes ----------------------------------------------------------------------------

PAIRS = {
    "linear": lambda: SVC(kernel="linear", C=0.7, decision_function_shape="ovo", **TIGHT),
    "rbf": lambda: SVC(C=2.0, decision_function_shape="ovo", **TIGHT),
    "balanced": lambda: SVC(C=2.0, decision_function_shape="ovo", class_weight="balanced", **TIGHT),
    "weights": lambda: SVC(
        kernel="poly",
        degree=2,
        coef0=1,
        C=0.2,
        class_weight={0: 3.0, 2: 0.5},
        decision_function_shape="ovo",
        **TIGHT,
    ),
}
AGAINST_THE_REST = {
    "linear svc hinge": lambda: LinearSVC(loss="hinge", C=0.7, **LIBLINEAR),
    "linear svc": lambda: LinearSVC(C=0.7, intercept_scaling=10, **LIBLINEAR),
    "sgd hinge": SGD["sgd hinge"],
    "sgd squared_hinge": SGD["sgd squared_hinge"],
    "sgd log_loss": SGD["sgd log_loss"],
}


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PAIRS)
def test_svc_of_three_classes_is_three_pairs(name, s):
    model = fit(PAIRS[name](), X, THREE, s)
    certificate = agrees(model, X, THREE, s)
    names = [one.name for one in certificate.problems]
    assert names == ["SVC: 0 against 1", "SVC: 0 against 2", "SVC: 1 against 2"]
    if name == "linear":
        for one, w, p in zip(
            certificate.problems, model.coef_, by_hand(model, X, THREE, s), strict=True
        ):
            assert one.primal_value == pytest.approx(p.at(w @ w, p.predictions), rel=1e-9)


@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("name", AGAINST_THE_REST)
def test_linear_models_of_three_classes_are_each_against_the_rest(name, class_weight, s):
    model = AGAINST_THE_REST[name]().set_params(class_weight=class_weight)
    certificate = agrees(tight(model, X, THREE, s), X, THREE, s)
    assert [one.name.split(": ")[1] for one in certificate.problems] == [
        f"{k} against the rest" for k in range(3)
    ]


def test_one_against_rest_of_liblinears_logistic_is_certified_one_by_one():
    y = np.array(["a", "b", "c"])[THREE]
    outer = OneVsRestClassifier(LogisticRegression(solver="liblinear", **LIBLINEAR)).fit(X, y)
    for label, inner in zip(outer.classes_, outer.estimators_, strict=True):
        agrees(inner, X, (y == label).astype(int))


@pytest.mark.parametrize("labels", [("x", "z", "y"), (9, 4, 7)])
def test_several_classes_are_named_by_their_labels(labels):
    y, order = np.array(labels)[THREE], sorted(labels)
    for model, words in (
        (PAIRS["rbf"](), [f"{a} against {b}" for k, a in enumerate(order) for b in order[k + 1 :]]),
        (AGAINST_THE_REST["linear svc"](), [f"{a} against the rest" for a in order]),
    ):
        certificate = agrees(fit(model, X, y), X, y)
        assert [one.name.split(": ")[1] for one in certificate.problems] == words
        assert certificate.relative_gap == max(p.relative_gap for p in certificate.problems)
        assert certificate.name in [one.name for one in certificate.problems]
