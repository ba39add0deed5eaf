"""What is said about a model: in words, with the remedy, and never more than is proved."""

import re

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import kernelqp as kq
from kernelqp.solvers import active_set
from tests.foreign.fits import features, fit, targets, two_classes, weights
from tests.foreign.hand import by_hand

X = features()
TWO, REAL = two_classes(X), targets(X)


def word(certificate):
    return certificate.verdict.split(":")[0]


def claimed(certificate):
    """The excess over the optimum that the verdict speaks of, as a fraction."""
    return float(re.search(r"at most (\S+) % above the optimum", certificate.verdict)[1]) / 100


# --- LinearSVC ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    return make_classification(n_samples=5000, n_features=30, random_state=0)


@pytest.mark.parametrize(
    ("model", "tol"),
    [
        (LinearSVC(loss="hinge", C=0.01, random_state=0), 1e-5),
        (LinearSVC(loss="hinge", C=1.0, random_state=0, max_iter=100_000), 1e-3),
    ],
    ids=str,
)
def test_a_converged_linear_model_is_bounded_by_one_linear_system(model, tol, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model.fit(X, y)
    with monkeypatch.context() as patched:
        patched.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("solved"))
        quick = kq.certify(model, X, y, tol=tol)
    assert word(quick) == "Converged"
    optimum = by_hand(model, X, y)[0].optimum()
    assert quick.dual_value == pytest.approx(optimum, rel=1e-4)
    assert quick.dual_value <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_a_kernel_model_is_bounded_by_the_sets_near_its_own(offset, monkeypatch):
    """Neither the elbow solve nor the interior point method is asked, however early it stopped."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X) + offset
    for options in ({}, {"max_iter": 30}, {"C": 100.0, "tol": 0.5}):
        model = fit(SVC(**options), X, y)
        with monkeypatch.context() as patched:
            for name in ("band_duals", "elbow_solve"):
                patched.setattr(f"kernelqp.bound_search.{name}", lambda *_: pytest.fail("asked"))
            if "max_iter" not in options:  # the rough start is not asked either
                patched.setattr(active_set, "descend", lambda *_: pytest.fail("started anew"))
            found = kq.certify(model, X, y, tol=1e-6)
        assert 0.0 <= found.best_value - found.dual_value <= 1e-8 * found.best_value


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LinearSVC(loss="hinge", C=100, random_state=0), "Not converged"),
        (LinearSVC(C=100, dual=True, max_iter=100, random_state=0), "Not converged"),
        (LinearSVC(loss="hinge", C=0.1, max_iter=60, random_state=0), "Converged"),
    ],
    ids=["hinge C 100", "squared C 100", "converged all the same"],
)
def test_a_warning_is_not_a_verdict(large, model, expected):
    """A LinearSVC that warned may be off by half, or converged: the bound tells."""
    X, y = large
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    certificate, (problem,) = kq.certify(model, X, y), by_hand(model, X, y)
    optimum = problem.optimum()
    true = (certificate.primal_value - optimum) / certificate.primal_value
    assert word(certificate) == expected
    assert (true <= 1e-3) == (expected == "Converged")
    assert certificate.dual_value <= optimum * (1 + 1e-9)
    assert certificate.dual_value == pytest.approx(optimum, rel=1e-4)
    if expected == "Not converged":
        assert "raise max_iter" in certificate.verdict


def test_the_problem_of_scikit_learns_docstring():
    X, y = make_classification(n_features=4, random_state=0)
    X = StandardScaler().fit_transform(X)
    model = LinearSVC(tol=1e-5, random_state=0).fit(X, y)
    certificate = kq.certify(model, X, y)
    assert word(certificate) == "Converged"
    assert certificate.dual_value <= 33.3039588339 + 1e-9
    assert certificate.primal_value >= 33.3039588339 - 1e-9
    assert certificate.best_value == pytest.approx(33.3039588339, abs=1e-6)
    assert certificate.objective == "1/2 |w|^2 + 1/2 (b/1)^2 + 1 sum max(0, 1 - y (w'x + b))^2"
    hinge = fit(LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6, random_state=0), X, y)
    assert kq.certify(hinge, X, y).dual_value == pytest.approx(25.3158537519, rel=1e-5)


def test_svc_and_linear_svc_are_two_problems():
    """On 10..13 a penalised intercept costs 3.65, a free one 1.5."""
    X, y = np.array([[10.0], [11.0], [12.0], [13.0]]), np.array([-1, -1, 1, 1])
    linear = LinearSVC(loss="hinge", tol=1e-10, max_iter=10**7, random_state=0).fit(X, y)
    own = kq.certify(linear, X, y)
    assert word(own) == "Converged"
    assert own.primal_value == pytest.approx(3.65, rel=1e-6)
    free = kq.certify(SVC(kernel="linear", tol=1e-10).fit(X, y), X, y)
    assert word(free) == "Converged"
    assert free.primal_value == pytest.approx(1.5, rel=1e-6)
    # the plane of LinearSVC as an answer to the problem with a free intercept, times 1/4
    other = SGDClassifier(alpha=0.25, random_state=0).fit(X, y)
    other.coef_, other.intercept_ = linear.coef_, linear.intercept_
    wrong = kq.certify(other, X, y)
    assert word(wrong) == "Not converged"
    assert 4 * wrong.primal_value == pytest.approx(3.605, rel=1e-6)
    assert 4 * wrong.best_value == pytest.approx(1.5, rel=1e-5)
    assert 4 * wrong.gap == pytest.approx(2.105, rel=1e-4)


def test_large_features_are_named_in_the_remedy():
    y = two_classes(X)
    small, big = (
        fit(LinearSVC(loss="hinge", max_iter=2, random_state=0), k * X, y) for k in (1.0, 1e3)
    )
    assert "max |x|" not in kq.certify(small, X, y).verdict
    certificate = kq.certify(big, 1e3 * X, y)
    assert word(certificate) == "Not converged"
    number = re.search(r"scale the features \(max \|x\| is (\S+)\)", certificate.verdict)[1]
    assert float(number) == pytest.approx(1e3 * np.abs(X).max(), rel=1e-2)


# --- SVC ----------------------------------------------------------------------------------------


def two_clouds():
    rng = np.random.default_rng(5)
    X = np.r_[rng.normal(size=(12, 2)) + 1.0, rng.normal(size=(12, 2)) - 1.0]
    return X, np.repeat([1.0, -1.0], 12)


@pytest.mark.parametrize(
    ("limit", "expected", "least", "most"),
    [
        ({"max_iter": 3}, "Not converged", 0.5, 1.0),
        ({"tol": 0.5}, "Not converged", 0.02, 1.0),
        ({"tol": 1e-3}, "Converged", 1e-6, 1e-3),
        ({"tol": 1e-10}, "Converged", 0.0, 1e-6),
    ],
    ids=str,
)
def test_svc_stopped_early(limit, expected, least, most):
    X, y = two_clouds()
    certificate = kq.certify(fit(SVC(C=5.0, gamma=0.5, **limit), X, y), X, y)
    assert word(certificate) == expected
    assert least <= certificate.relative_gap <= most
    assert certificate.certified == (expected == "Converged")
    assert certificate.dual_value <= 13.9003335269 + 1e-8
    assert certificate.best_value >= 13.9003335269 - 1e-8
    assert certificate.primal_value >= certificate.best_value


def test_tol_is_what_the_gap_is_compared_with():
    X, y = two_clouds()
    model = SVC(C=5.0, gamma=0.5).fit(X, y)  # relative gap near 4e-4
    for tol, expected in ((1e-2, "Converged"), (1e-3, "Converged"), (1e-5, "Not converged")):
        certificate = kq.certify(model, X, y, tol=tol)
        assert word(certificate) == expected
        assert certificate.tol == tol
        assert certificate.certified == (expected == "Converged")


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf, "small", None], ids=str)
def test_a_tol_that_is_none_is_refused(tol):
    X, y = two_clouds()
    with pytest.raises(kq.InputError, match="tol"):
        kq.certify(SVC().fit(X, y), X, y, tol=tol)


# --- what the words say -------------------------------------------------------------------------

STOPPED = {
    "svc": (SVC(C=5.0, gamma=0.5, max_iter=3), TWO),
    "svc loose": (SVC(C=5.0, gamma=0.5, tol=0.5), TWO),
    "linear svc": (LinearSVC(loss="hinge", C=5.0, max_iter=2, random_state=0), TWO),
    "logistic": (LogisticRegression(max_iter=1), TWO),
    "sgd": (SGDClassifier(max_iter=2, tol=None, alpha=0.01, random_state=0), TWO),
    "svr": (SVR(C=10.0, max_iter=5), REAL),
    "linear svr": (LinearSVR(C=10.0, max_iter=2, random_state=0), REAL),
    "ridge": (Ridge(solver="sag", max_iter=1, random_state=0), REAL),
    "svc converged": (SVC(), TWO),
    "ridge converged": (Ridge(), REAL),
}


@pytest.mark.parametrize("name", STOPPED)
def test_the_percentage_holds(name):
    """The verdict says "at most x % above the optimum": so is the model, and no higher."""
    model, y = STOPPED[name]
    model = fit(model, X, y)
    certificate, (problem,) = kq.certify(model, X, y), by_hand(model, X, y)
    optimum = problem.optimum()
    assert claimed(certificate) >= (problem.value - optimum) / optimum - 1e-9
    assert "e+" not in certificate.verdict.split(" %")[0]


@pytest.mark.parametrize("name", [name for name in STOPPED if "converged" not in name])
def test_the_numbers_of_the_verdict_are_those_of_the_certificate(name):
    model, y = STOPPED[name]
    certificate = kq.certify(fit(model, X, y), X, y)
    assert word(certificate) == "Not converged"
    low, best, at = re.search(
        r"\(between (\S+) and (\S+); the model is at (\S+)\)", certificate.verdict
    ).groups()
    assert float(low) == pytest.approx(certificate.dual_value, rel=1e-5)
    assert float(best) == pytest.approx(certificate.best_value, rel=1e-5)
    assert float(at) == pytest.approx(certificate.primal_value, rel=1e-5)
    carried = re.search(r"(\d+) samples carry 90 % of what the rows lack", certificate.verdict)
    order = np.sort(certificate.complementarity)[::-1]
    count = int(carried[1])
    assert order[:count].sum() >= 0.9 * order.sum() * (1 - 1e-9)
    assert order[: count - 1].sum() < 0.9 * order.sum()
    assert str(certificate) == (
        f"{certificate.name}, {certificate.objective}\n{certificate.verdict}"
    )


def test_what_is_not_proved_is_said_to_be_so():
    """More rows near the margin than are solved for: neither a better point nor a tight bound."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 5))
    y = np.where(X[:, 0] + 3 * rng.normal(size=2400) > 0, 1, 0)
    model = fit(SVC(tol=0.3), X, y)
    first = kq.certify(model, X, y)
    excess = (first.primal_value - first.best_value) / first.primal_value
    assert excess < first.relative_gap
    between = 0.5 * (excess + first.relative_gap)
    certificate = kq.certify(model, X, y, tol=between)
    assert word(certificate) == "Not proved"
    assert not certificate.certified
    assert "the model is at" not in certificate.verdict
    assert "raise max_iter or lower tol" in certificate.verdict


def test_the_rows_that_are_blamed_are_the_callers():
    s = weights()
    model = fit(LinearSVC(loss="hinge", C=5.0, max_iter=2, random_state=0), X, TWO, s)
    certificate = kq.certify(model, X, TWO, s)
    np.testing.assert_array_equal(np.isnan(certificate.complementarity), s == 0)
    assert np.nansum(certificate.complementarity) <= certificate.gap * (1 + 1e-9)
    for name in ("support_vectors", "elbow", "left", "right", "undecided"):
        assert (s[getattr(certificate.support, name)] > 0).all()


# --- the other families -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "expected"),
    [
        (Ridge(alpha=2.0), REAL, "Converged"),
        (Ridge(alpha=2.0, fit_intercept=False, solver="cholesky"), REAL, "Converged"),
        (Ridge(alpha=1e-3, solver="sag", max_iter=2, random_state=0), REAL, "Not converged"),
        (KernelRidge(kernel="rbf", alpha=0.1), REAL, "Converged"),
        (KernelRidge(alpha=1.0), REAL, "Converged"),
        (LogisticRegression(C=1e4, tol=1e-2, max_iter=3), TWO, "Not converged"),
        (LogisticRegression(C=1e4, tol=1e-10, max_iter=10_000), TWO, "Converged"),
        (SVR(C=10.0), REAL, "Converged"),
        (SVR(C=10.0, tol=2.0), REAL, "Not converged"),
        (SGDClassifier(alpha=0.01, max_iter=3, tol=None, random_state=0), TWO, "Not converged"),
    ],
    ids=lambda v: str(v)[:40] if not isinstance(v, np.ndarray) else "",
)
def test_other_families(model, y, expected):
    model = fit(model, X, y)
    certificate, (problem,) = kq.certify(model, X, y), by_hand(model, X, y)
    optimum = problem.optimum()
    assert word(certificate) == expected
    true = (problem.value - optimum) / problem.value
    assert (true <= 1e-3) == (expected == "Converged")
    if expected == "Converged":
        assert certificate.relative_gap <= 1e-3
    assert certificate.dual_value == pytest.approx(optimum, rel=1e-3)


def test_lbfgs_at_a_loose_and_a_tight_tol(large):
    X, y = large[0][:1500], large[1][:1500]
    X = X * np.geomspace(0.1, 10.0, X.shape[1])
    for tol, least, most in ((1e-2, 1e-12, 1.0), (1e-10, 0.0, 1e-6)):
        model = fit(LogisticRegression(tol=tol, max_iter=5000), X, y)
        certificate, (problem,) = kq.certify(model, X, y), by_hand(model, X, y)
        optimum = problem.optimum()
        true = (problem.value - optimum) / problem.value
        assert word(certificate) == ("Converged" if true <= 1e-3 else "Not converged")
        assert least <= certificate.relative_gap <= most
        assert certificate.dual_value <= optimum * (1 + 1e-9)


def test_saga_stopped_early(large):
    X, y = large[0][:1500], large[1][:1500]
    model = LogisticRegression(solver="saga", max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(50 * X, y)
    certificate, (problem,) = kq.certify(model, 50 * X, y), by_hand(model, 50 * X, y)
    assert word(certificate) == "Not converged"
    assert certificate.dual_value == pytest.approx(problem.optimum(), rel=1e-4)
    assert "raise max_iter" in certificate.verdict


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_sgd_on_features_that_were_not_scaled(loss):
    """Stopped at ten thousand times the optimum; how far off that is has to come out."""
    X, y = load_breast_cancer(return_X_y=True)
    model = fit(SGDClassifier(loss=loss, random_state=0), X, y)
    certificate, (problem,) = kq.certify(model, X, y), by_hand(model, X, y)
    optimum = problem.optimum()
    assert word(certificate) == "Not converged"
    assert certificate.dual_value <= optimum * (1 + 1e-7)
    assert certificate.best_value >= optimum * (1 - 1e-7)
    assert certificate.dual_value == pytest.approx(optimum, rel=1e-2)
    assert certificate.best_value == pytest.approx(optimum, rel=1e-2)
    assert "scale the features (max |x|" in certificate.verdict


# --- several classes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (SVC(kernel="linear"), "Converged"),
        (SVC(max_iter=5), "Not converged"),
        (LinearSVC(dual=True, max_iter=5, random_state=0), "Not converged"),
        (LinearSVC(dual=False, tol=1e-6, random_state=0), "Converged"),
        (SGDClassifier(max_iter=2, tol=None, random_state=0), "Not converged"),
    ],
    ids=str,
)
def test_iris(model, expected):
    X, y = load_iris(return_X_y=True)
    certificate = kq.certify(fit(model, X, y), X, y)
    assert word(certificate) == expected
    assert len(certificate.problems) == 3
    worst = max(certificate.problems, key=lambda c: c.relative_gap)
    for name in ("name", "relative_gap", "primal_value", "dual_value", "verdict"):
        assert getattr(certificate, name) == getattr(worst, name)
    assert all(not one.problems for one in certificate.problems)


def test_the_hard_pair_of_iris_is_the_known_optimum():
    X, y = load_iris(return_X_y=True)
    certificate = kq.certify(SVC(kernel="linear", tol=1e-8).fit(X, y), X, y)
    pair = certificate.problems[0]
    assert pair.name == "SVC: 0 against 1"
    assert pair.dual_value == pytest.approx(0.7480579265, rel=1e-5)
    assert word(pair) == "Converged"


@pytest.mark.parametrize(
    "model",
    [SVC(max_iter=3), LinearSVC(dual=True, max_iter=3, random_state=0)],
    ids=["10 pairs", "5 against the rest"],
)
def test_digits(model):
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y = X[:200], y[:200]
    certificate = kq.certify(fit(model, X, y), X, y)
    assert len(certificate.problems) == (10 if isinstance(model, SVC) else 5)
    assert word(certificate) == "Not converged"
    for one in certificate.problems:
        assert one.dual_value <= one.best_value * (1 + 1e-12)
        assert one.best_value <= one.primal_value * (1 + 1e-12)
        assert np.isfinite(one.complementarity).sum() == len(
            y if isinstance(model, LinearSVC) else y[np.isin(y, _pair(one.name))]
        )


def _pair(name):
    return [int(k) for k in name.removeprefix("SVC: ").split(" against ")]
