"""Pegasos' bounds hold on any data; it stops by them, and at Ctrl-C with the best of them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import kernelqp as kq
from kernelqp import own_point, pegasos_solve
from kernelqp.errors import ParameterError
from kernelqp.pegasos_run import PegasosRun
from tests.pegasos_runs import (
    INTERCEPTS,
    KERNELS,
    VARIANTS,
    N,
    X,
    Y,
    every_variant,
    method,
    optimum,
)

# --- stopping -------------------------------------------------------------------------------------


def test_it_stops_as_soon_as_the_gap_is_small_enough():
    m = method(epochs=5000)
    loose, tight = m.solve(X, Y, tol=1e-2), m.solve(X, Y, tol=1e-3)
    for solution, tol in ((loose, 1e-2), (tight, 1e-3)):
        assert solution.status is kq.Status.CERTIFIED
        assert solution.certificate.relative_gap <= tol
        assert solution.history[-1, 0] < 5000 * N
        gaps = solution.history[:-1, 1] - solution.history[:-1, 2]
        scale = np.abs(solution.history[:-1, 1:]).max(axis=1)
        assert (gaps > tol * scale * (1 - 1e-9)).all()
    assert loose.history[-1, 0] < tight.history[-1, 0]


def test_when_the_epochs_run_out_it_says_so():
    solution = method(epochs=2).solve(X, Y, tol=1e-9)
    assert solution.status is kq.Status.LIMIT
    assert solution.history[:, 0].tolist() == [N, 2 * N]
    with pytest.raises(kq.NotCertified):
        solution.raise_if_not_certified()


def test_the_full_batch_is_looked_at_every_16_steps_and_at_the_end():
    assert method(batch="full", epochs=40).solve(X, Y).history[:, 0].tolist() == [16, 32, 40]
    assert method(batch=20, epochs=20).solve(X, Y).history[:, 0].tolist() == [16, 32, 40]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_gap_falls_towards_0(kernel):
    """The rate of the method is 1/t up to a logarithm: a hundredfold of steps, a tenth and less."""
    gaps = [
        method(kernel, lam=0.1, batch="full", epochs=e).solve(X, Y).certificate.relative_gap
        for e in (20, 2000)
    ]
    assert gaps[1] < 0.1 * gaps[0]
    assert gaps[1] < 2e-3


def test_without_a_search_the_counts_alone_close_the_gap(monkeypatch):
    """As where a kernel QP would take too long: D comes from the algorithm's own coefficients."""
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    monkeypatch.setattr(own_point.Looks, "_tighten", lambda *_: None)
    best = optimum(method(lam=0.1))
    found = [method(lam=0.1, batch="full", epochs=e).solve(X, Y) for e in (50, 5000)]
    gaps = [s.certificate.relative_gap for s in found]
    assert all(s.certificate.dual_value <= best * (1 + 1e-9) for s in found)
    assert gaps[1] < 0.1 * gaps[0]
    assert gaps[1] < 1e-2


@every_variant
@pytest.mark.parametrize("lam", [1e-4, 0.05, 1.0])
def test_the_first_bound_is_no_worse_than_the_coefficients_in_their_box(variant, lam, monkeypatch):
    monkeypatch.setattr(own_point.Looks, "_tighten", lambda *_: None)
    for epochs in (1, 16):
        m = method(epochs=epochs, lam=lam, **VARIANTS[variant])
        risk, beta = m.dual(X, Y).risk(), m.run(X, Y).beta
        inside = np.clip(beta, np.minimum(0.0, Y * risk.costs), np.maximum(0.0, Y * risk.costs))
        reached = m.solve(X, Y).certificate.dual_value
        assert reached >= lam * risk.dual_value(inside) * (1 - 1e-12)


def test_where_a_search_is_dear_it_comes_at_the_end(monkeypatch):
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    solution = method(epochs=5).solve(X, Y)
    assert solution.certificate.dual_value > solution.history[-1, 2]
    assert solution.certificate.dual_value == pytest.approx(optimum(method()), rel=1e-6)


# --- Ctrl-C ---------------------------------------------------------------------------------------


def interrupted_at(monkeypatch, step):
    taken = PegasosRun.step

    def stepping(self, rows):
        if self.t == step:
            raise KeyboardInterrupt
        return taken(self, rows)

    monkeypatch.setattr(PegasosRun, "step", stepping)


def test_ctrl_c_keeps_the_best_point_that_was_looked_at(monkeypatch):
    whole = method(epochs=6).solve(X, Y)
    interrupted_at(monkeypatch, 5 * N + 3)
    solution = method(epochs=6).solve(X, Y)
    assert solution.status is kq.Status.LIMIT
    assert solution.history[:, 0].tolist() == [N, 2 * N, 3 * N, 4 * N, 5 * N]
    assert solution.value == pytest.approx(whole.history[:5, 1].min(), rel=1e-12)
    at = int(np.argmin(whole.history[:5, 1])) + 1
    monkeypatch.undo()
    assert solution.counts.tolist() == method(epochs=at).run(X, Y).counts.tolist()


def test_after_ctrl_c_nothing_long_is_searched(monkeypatch):
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("searched"))
    interrupted_at(monkeypatch, 2 * N + 1)
    solution = method(epochs=6).solve(X, Y)
    assert solution.certificate.dual_value <= solution.value


def test_ctrl_c_before_the_first_look_goes_on(monkeypatch):
    interrupted_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        method(epochs=6).solve(X, Y)


def test_ctrl_c_in_the_search_for_a_bound_ends_the_run(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("kernelqp.bound_search.band_duals", interrupted)
    solution = method(epochs=6).solve(X, Y)
    assert solution.history.shape == (1, 3)
    assert solution.status is kq.Status.LIMIT
    best = optimum(method())
    assert solution.certificate.dual_value <= best <= solution.value


def test_progress_is_told_every_epoch(monkeypatch):
    told = []

    class Told(pegasos_solve.Progress):
        def say(self, note):
            told.append(note)

        def step(self):
            told.append("step")

    monkeypatch.setattr(pegasos_solve, "Progress", Told)
    method(epochs=3).solve(X, Y)
    assert told.count("step") == 3
    assert sum(note.startswith("relative gap at most") for note in told) >= 3


# --- what may come --------------------------------------------------------------------------------

ODD = {
    "two rows": ([[1.0, 0.0], [0.0, 1.0]], [1, -1]),
    "opposite labels on one point": ([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], [1, -1, 1]),
    "only one point": ([[1.0, 2.0]] * 4, [1, -1, 1, -1]),
    "duplicates": (np.repeat(X, 3, axis=0), np.repeat(Y, 3)),
    "a row of zeros": (np.r_[np.zeros((1, 3)), X], np.r_[1, Y]),
    "only zeros": (np.zeros((4, 2)), [1, -1, 1, -1]),
    "a constant feature": (np.c_[X, np.ones(N)], Y),
    "huge features": (1e6 * X, Y),
    "far from the origin": (X + 1e6, Y),
    "integers": ((10 * X).astype(np.int8), Y),
    "float32": (X.astype(np.float32), Y),
}


@pytest.mark.parametrize("name", ODD)
@every_variant
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_odd_data_have_bounds_that_hold(name, variant, intercept):
    data = ODD[name]
    m = method(intercept=intercept, epochs=8, **VARIANTS[variant])
    c = m.solve(*data).certificate
    best = m.solve(*data, form="dual", solver="CLARABEL").certificate  # far out only bounds as well
    assert np.isfinite([c.primal_value, c.dual_value]).all()
    rounding = c.rounding + best.rounding
    assert c.dual_value <= c.primal_value + c.rounding
    assert c.dual_value <= best.primal_value * (1 + 1e-12) + rounding
    assert best.dual_value * (1 - 1e-12) <= c.primal_value + rounding


@pytest.mark.parametrize("lam", [1e-100, 1e-12, 1e12, 1e100])
@every_variant
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_lam_has_bounds_that_hold(lam, variant, kernel):
    m = method(kernel, lam=lam, epochs=4, **VARIANTS[variant])
    c = m.solve(X, Y).certificate
    assert np.isfinite(c.primal_value)
    assert 0.0 <= c.dual_value <= c.primal_value + c.rounding
    assert c.dual_value <= 1.0 + 1e-12  # the value of f = 0
    if lam > 1.0:
        assert c.primal_value == pytest.approx(1.0)


@pytest.mark.parametrize("lam", [5e-324, 1e-200, 1e308])
def test_a_lam_that_has_no_inverse_is_refused(lam):
    light = np.r_[np.ones(N - 1), 1e-200]
    with pytest.raises(ParameterError, match=r"lam = .* is too"):
        method(lam=lam).solve(X, Y, light)


def test_a_precomputed_kernel_and_predictions():
    K = KERNELS["rbf"](X)
    one = kq.Pegasos(lam=0.1, kernel="precomputed", epochs=5).solve(K, Y)
    other = kq.Pegasos(lam=0.1, kernel=KERNELS["rbf"], epochs=5).solve(X, Y)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.predict(K[:5]).tolist() == other.predict(X[:5]).tolist()


@pytest.mark.parametrize(
    ("load", "lam"), [(load_iris, 1e-2), (load_breast_cancer, 1e-2)], ids=["iris", "cancer"]
)
def test_real_data(load, lam):
    features, labels = load(return_X_y=True)
    labels = labels == 1
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    m = kq.Pegasos(lam=lam, epochs=30, intercept="penalized")
    solution, best = m.solve(features, labels), optimum(m, data=(features, labels))
    assert solution.certificate.dual_value <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= solution.value <= 1.1 * best
    found = kq.compare([solution, m.solve(features, labels, solver="CLARABEL")])
    assert found.judgement(1) != "wrong"
    assert found.upper == pytest.approx(best, rel=1e-6)
    assert (0 in found.wrong) == (solution.value > found.upper * (1 + 1e-6))
