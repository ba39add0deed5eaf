"""Random small fits of every family, scale and stopping rule, against the tight optimum."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from tests.foreign.fits import fit
from tests.foreign.hand import by_hand

COUNT, DEFAULT = 360, 72
TOL, MARGIN = 1e-3, 1e-6
STOPS = [{"max_iter": 3}, {"max_iter": 40}, {"tol": 0.3}, {"tol": 1e-3}, {"tol": 1e-6}]


def svc(kernel):
    def draw(rng, C):
        return SVC(kernel=kernel, C=C, degree=2, coef0=float(rng.integers(0, 2)))

    return draw


FAMILIES = {
    "svc linear": svc("linear"),
    "svc rbf": svc("rbf"),
    "svc poly": svc("poly"),
    "linear svc hinge": lambda rng, C: LinearSVC(
        loss="hinge", C=C, intercept_scaling=float(10 ** rng.integers(0, 2)), random_state=0
    ),
    "linear svc": lambda rng, C: LinearSVC(C=C, dual=bool(rng.integers(0, 2)), random_state=0),
    "svr": lambda rng, C: SVR(C=C, kernel=str(rng.choice(["linear", "rbf"])), epsilon=0.2),
    "linear svr": lambda rng, C: LinearSVR(C=C, epsilon=0.2, random_state=0),
    "linear svr squared": lambda rng, C: LinearSVR(
        C=C, epsilon=0.2, loss="squared_epsilon_insensitive", random_state=0, dual=True
    ),
    "ridge": lambda rng, C: Ridge(
        alpha=1 / C, solver=str(rng.choice(["auto", "lsqr", "sag"])), random_state=0
    ),
    "kernel ridge": lambda rng, C: KernelRidge(alpha=1 / C, kernel="rbf"),
    "logistic": lambda rng, C: LogisticRegression(
        C=C, solver=str(rng.choice(["lbfgs", "liblinear", "newton-cg", "saga"])), random_state=0
    ),
    "sgd": lambda rng, C: SGDClassifier(
        loss=str(rng.choice(["hinge", "squared_hinge", "log_loss"])),
        alpha=max(1e-4, 1 / (C * 40)),
        learning_rate="adaptive",
        eta0=1e-3,
        random_state=0,
    ),
}


def drawn(seed):
    """Return (name, model, X, y) of one fit."""
    rng = np.random.default_rng([13, seed])
    name = list(FAMILIES)[seed % len(FAMILIES)]
    n, d = int(rng.integers(15, 60)), int(rng.integers(1, 6))
    scale, C = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-4, 4)
    if name == "sgd":  # it diverges beyond
        scale = min(max(scale, 0.1), 10.0)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    score = X @ rng.normal(size=d) + rng.uniform(0, 1.5) * rng.normal(size=n)
    model = FAMILIES[name](rng, C)
    real = "svr" in name or "ridge" in name
    y = score + 2.0 if real else np.where(score > np.quantile(score, rng.uniform(0.2, 0.8)), 1, 0)
    stop = STOPS[int(rng.integers(0, len(STOPS)))]
    if isinstance(model, SVC | SVR):
        model.set_params(max_iter=100_000)  # LIBSVM may not end at a large C
    if not isinstance(model, KernelRidge):
        model.set_params(**stop)
    return name, fit(model, scale * X, y), scale * X, y


def judged(seed):
    """Return the certificate, the optimum, and the model's true excess over it, relative."""
    name, model, X, y = drawn(seed)
    certificate, (problem,) = kq.certify(model, X, y, tol=TOL), by_hand(model, X, y)
    optimum = problem.optimum()
    width = max(problem.value, optimum)
    if certificate.relative_gap > 0:  # what the certificate takes for the scale of the problem
        width = max(width, certificate.gap / certificate.relative_gap)
    return name, model, certificate, problem, optimum, (problem.value - optimum) / width


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed < DEFAULT else pytest.mark.slow) for seed in range(COUNT)],
)
def test_a_random_fit(seed):
    _, _, certificate, problem, optimum, excess = judged(seed)
    room = 1e-7 * max(optimum, problem.value)
    assert certificate.primal_value == pytest.approx(problem.value, rel=1e-7)
    assert certificate.dual_value <= optimum + room
    assert optimum - room <= certificate.best_value <= certificate.primal_value + room
    kind = certificate.verdict.split(":")[0]
    assert kind in ("Converged", "Not converged", "Not proved")
    assert certificate.certified == (kind == "Converged")
    if excess <= TOL:
        assert kind != "Not converged", f"converged, {excess:.2e}"
    if excess > TOL + MARGIN:
        assert kind != "Converged", f"not converged, {excess:.2e}"
    assert kind != "Not proved", f"true excess {excess:.2e}, gap {certificate.relative_gap:.2e}"


def test_dual_coefficients_an_ulp_over_their_bound_lose_no_bound():
    """C times two weights, multiplied in another order than LIBSVM does."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        y, w = (X[:, 0] + rng.normal(size=200) > 0.4).astype(int), rng.uniform(0.1, 3.0, 200)
        model = SVC(C=0.7, class_weight="balanced", tol=0.3).fit(X, y, sample_weight=w)
        c = kq.certify(model, X, y, w, tol=1e-6)
        assert c.best_value - c.dual_value <= 1e-8 * c.best_value
    X = np.random.default_rng(0).normal(size=(600, 10))
    c = kq.certify(fit(OneClassSVM(nu=0.1, max_iter=50), X, None), X)
    assert c.best_value - c.dual_value <= 1e-5 * abs(c.best_value)


def test_rounding_alone_does_not_leave_a_model_unproved():
    K, y = np.full((6, 6), 5e12), np.array([0, 1] * 3)
    assert kq.certify(SVC(kernel="precomputed").fit(K, y), K, y).verdict.startswith("Converged")


@pytest.mark.parametrize("seed", [21, 58, 93])
def test_the_best_point_is_not_better_than_the_bound(seed):
    """Where rounding of a kernel with entries from 1e-6 to 1e12 has it so."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=150) * 10.0 ** rng.uniform(-3, 3, 150) * 10.0 ** rng.choice([0, 3])
    y = f / np.abs(f).max() + rng.choice([0, 0.3, 2.0]) * rng.normal(size=150)
    K = np.outer(f, f)
    model = fit(SVR(kernel="precomputed", C=100.0, epsilon=0, max_iter=100), K, y)
    c = kq.certify(model, K, y)
    assert c.dual_value <= c.best_value


def test_sets_settle_where_all_of_k_does_not_fit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=300) > 0).astype(int)
    model = SVC(tol=0.1).fit(X, y)
    room = 8 * 300 * 200  # 200 rows

    def tight(_, kernel, X):
        return BlockGram.on(kernel, X, room)

    monkeypatch.setattr("kernelqp.foreign.kernel.gram_in_blocks", tight)
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: iter(()))
    monkeypatch.setattr(
        "kernelqp.bound_search._settled", lambda _, dual, theta: (dual, dual, theta)
    )
    c = kq.certify(model, X, y, tol=1e-9)
    assert c.best_value == pytest.approx(c.dual_value, rel=1e-12)


def test_sets_that_do_not_settle_in_time_leave_the_other_attempts(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0.1 * X[:, 1]).astype(int)
    model = SVC(C=10.0, tol=0.3).fit(X, y)
    by_sets = kq.certify(model, X, y, tol=1e-6)
    monkeypatch.setattr("kernelqp.bound_search.LIMIT", 0.0)
    without = kq.certify(model, X, y, tol=1e-6)
    assert without.dual_value == pytest.approx(by_sets.dual_value, rel=1e-5)
