"""NuSVC, NuSVR and OneClassSVM: the reader's objective is the method's, the verdict is true."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import kernelqp as kq
from kernelqp.foreign import LibsvmModel, UnreadableModel
from tests.foreign.fits import features, fit, targets, three_classes, two_classes, weights

X = features()
TWO, THREE, REAL, W = two_classes(X), three_classes(X), targets(X), weights()
OURS = {
    "linear": kq.Linear(),
    "rbf": kq.RBF(gamma=0.5),
    "poly": kq.Polynomial(3, 0.5, 1.0),
}
KINDS = ("NuSVC", "NuSVR", "OneClassSVM")


def model(kind, kernel="rbf", **options):
    common = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0} | options
    if kind == "NuSVC":
        return NuSVC(nu=0.45, **common)
    return NuSVR(nu=0.45, C=2.0, **common) if kind == "NuSVR" else OneClassSVM(nu=0.33, **common)


def y_of(kind):
    return {"NuSVC": TWO, "NuSVR": REAL, "OneClassSVM": None}[kind]


def solved(kind, kernel, w):
    """The method of this library on the same data, tightly."""
    total = len(X) if w is None else w.sum()
    method = {
        "NuSVC": kq.NuSVM(0.45, OURS[kernel]),
        "NuSVR": kq.NuSVR(2.0 * total, 0.45, OURS[kernel]),
        "OneClassSVM": kq.OneClassSVM(0.33, OURS[kernel]),
    }[kind]
    return method.solve(X, y_of(kind), w, form="dual", tol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", OURS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees_to_what_its_tolerance_allows(kind, kernel, weighted):
    w = W if weighted else None
    ours = solved(kind, kernel, w)
    assert ours.certificate.certified
    rounding = 1e-4 if kernel == "poly" else 1e-6  # LIBSVM keeps K in single precision
    for tol, allowed in ((1e-3, 1e-3), (1e-8, rounding)):
        fitted = fit(model(kind, kernel, tol=tol), X, y_of(kind), w)
        c = kq.certify(fitted, X, y_of(kind), w)
        assert c.certified, (tol, c)
        assert c.verdict.startswith("Converged")
        assert c.relative_gap <= allowed
        size = max(abs(ours.value), c.gap / c.relative_gap if c.relative_gap > 1e-12 else 0.0)
        assert abs(c.primal_value - ours.value) <= allowed * size
        assert c.dual_value <= ours.value + 1e-8 * size
        assert np.nansum(c.complementarity) <= 1.01 * c.gap + 1e-12 * size
        assert c.complementarity.shape == (len(X),)
        used = np.ones(len(X), dtype=bool) if w is None else w > 0
        assert (np.isnan(c.complementarity) == ~used).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"max_iter": 5}, {"tol": 3.0}], ids=str)
def test_a_fit_that_stopped_early_is_not_called_converged(kind, options):
    c = kq.certify(fit(model(kind, **options), X, y_of(kind)), X, y_of(kind))
    assert not c.certified
    assert c.verdict.startswith("Not converged")
    assert "raise max_iter" in c.verdict
    best = solved(kind, "rbf", None).value
    assert c.primal_value > best
    assert c.dual_value <= best + 1e-9 * abs(best)
    assert c.best_value == pytest.approx(best, rel=1e-4)


def test_the_optimum_of_a_nu_svr_that_stopped_early_is_found(monkeypatch):
    """Its sets do not settle from those of the model, nor from the first start of our own."""
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("solved"))
    rows = make_classification(2000, 20, n_informative=10, flip_y=0.05, random_state=0)[0]
    noise = np.random.default_rng(0).normal(size=2000)
    y = 2.0 * rows[:, 0] + np.sin(rows[:, 1]) + 0.3 * noise
    c = kq.certify(fit(NuSVR(gamma=0.02, max_iter=200), rows, y), rows, y)
    assert c.verdict.startswith("Not converged")
    assert c.best_value == pytest.approx(c.dual_value, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_moved_is_found_out(kind):
    fitted = fit(model(kind, tol=1e-8), X, y_of(kind))
    fitted.intercept_ = fitted.intercept_ + 0.3 * np.abs(fitted.intercept_) + 0.1
    assert not kq.certify(fitted, X, y_of(kind)).certified


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_model(kind):
    fitted, ours = fit(model(kind, tol=1e-8), X, y_of(kind)), solved(kind, "rbf", None)
    total = len(X)
    if kind == "NuSVR":
        assert ours.predict(X) == pytest.approx(fitted.predict(X), abs=1e-3)
        return
    unit = ours.rho if kind == "NuSVC" else 1.0 / (0.33 * total)
    theirs = unit * fitted.decision_function(X)
    assert ours.decision_function(X) == pytest.approx(theirs, abs=1e-4 * np.abs(theirs).max())
    clear = np.abs(theirs) > 1e-3 * np.abs(theirs).max()
    assert (ours.predict(X) == fitted.predict(X))[clear].all()


def test_every_pair_of_three_classes_is_a_problem():
    fitted = fit(NuSVC(nu=0.3, gamma=0.5, tol=1e-8), X, THREE, W)
    c = kq.certify(fitted, X, THREE, W)
    assert [p.name for p in c.problems] == [
        f"NuSVC: {i} against {j}" for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert c.certified
    for p, (i, j) in zip(c.problems, ((0, 1), (0, 2), (1, 2)), strict=True):
        rows = (i == THREE) | (j == THREE)
        own = kq.NuSVM(0.3, kq.RBF(gamma=0.5)).solve(X[rows], THREE[rows], W[rows], tol=1e-9)
        assert p.primal_value == pytest.approx(own.value, rel=1e-5)


def test_class_weights_have_no_part_in_nu_svc():
    """LIBSVM takes them for C alone: the fit with and without them is one."""
    fitted = fit(NuSVC(nu=0.3, gamma=0.5, tol=1e-8, class_weight={1: 5.0}), X, TWO)
    c = kq.certify(fitted, X, TWO)
    assert c.relative_gap <= 1e-6


def test_real_data_pipelines_and_precomputed_kernels():
    iris = load_iris()
    pipe = make_pipeline(StandardScaler(), NuSVC(nu=0.2)).fit(iris.data, iris.target)
    assert kq.certify(pipe, iris.data, iris.target).certified
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for kind in KINDS:
        given = fit(model(kind, "precomputed", tol=1e-8), K, y_of(kind), W)
        plain = fit(model(kind, tol=1e-8), X, y_of(kind), W)
        one, two = kq.certify(given, K, y_of(kind), W), kq.certify(plain, X, y_of(kind), W)
        assert one.certified
        assert one.primal_value == pytest.approx(two.primal_value, rel=1e-5)


def test_models_that_are_no_convex_problem_are_refused():
    fitted = fit(NuSVC(nu=0.3, kernel="sigmoid", gamma=0.5, coef0=-3.0), X, TWO)
    with pytest.raises(UnreadableModel, match=r"NuSVC cannot be certified.*no convex problem"):
        kq.certify(fitted, X, TWO)
    for cls in (NuSVC, NuSVR, OneClassSVM):
        with pytest.raises(UnreadableModel, match="was not fitted"):
            kq.certify(cls(), X, TWO)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_model_file_is_the_model(kind, kernel, tmp_path):
    rounded, y = np.round(X, 6), y_of(kind)
    fitted = fit(model(kind, kernel, tol=1e-8), rounded, y)
    head = {"NuSVC": "nu_svc", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}[kind]
    lines = [f"svm_type {head}", f"kernel_type {kernel}", f"gamma {fitted._gamma:.17g}"]
    lines += ["nr_class 2", f"rho {-fitted.intercept_[0]:.17g}"]
    lines += ["label 1 0"] * (kind == "NuSVC") + ["SV"]
    for a, row in zip(fitted.dual_coef_[0], rounded[fitted.support_], strict=True):
        lines.append(f"{a:.17g} " + " ".join(f"{k + 1}:{v:.8g}" for k, v in enumerate(row)))
    path = tmp_path / "a.model"
    path.write_text("\n".join(lines) + "\n")
    given = {"NuSVC": {"nu": 0.45}, "NuSVR": {"C": 2.0}, "OneClassSVM": {}}[kind]
    read = kq.certify(LibsvmModel.load(path, **given), rounded, y)
    direct = kq.certify(fitted, rounded, y)
    assert read.certified
    assert read.primal_value == pytest.approx(direct.primal_value, rel=1e-6)
    assert read.dual_value == pytest.approx(direct.dual_value, rel=1e-6)
    with pytest.raises(kq.InputError, match="nu must be"):
        LibsvmModel.load(path, nu=1.5)
    if kind == "NuSVC":
        with pytest.raises(kq.InputError, match="does not hold nu"):
            kq.certify(LibsvmModel.load(path), rounded, y)
        with pytest.raises(kq.InputError, match="too large for the data"):
            kq.certify(LibsvmModel.load(path, nu=1.0), rounded, y)


def test_nu_models_and_C_models_have_one_plane():
    """1/(rho S) is the C of SVC, ε that of SVR: scikit-learn then fits the same f."""
    ours = solved("NuSVC", "rbf", None)
    svc = SVC(C=ours.C, gamma=0.5, tol=1e-8).fit(X, TWO)
    assert svc.decision_function(X) == pytest.approx(ours.decision_function(X) / ours.rho, abs=1e-3)
    ours = solved("NuSVR", "rbf", None)
    svr = SVR(C=2.0, epsilon=ours.epsilon, gamma=0.5, tol=1e-8).fit(X, REAL)
    assert svr.predict(X) == pytest.approx(ours.predict(X), abs=1e-3)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_no_coefficients_at_all_are_refused(y):
    model = NuSVC(nu=0.1).fit(X, y)
    model.dual_coef_ = np.zeros_like(model.dual_coef_)
    with pytest.raises(kq.errors.InputError, match="coefficients are all 0"):
        kq.certify(model, X, y)
