"""What may be asked of our own solvers: a start, a time limit, a bound on memory, Ctrl-C."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.preprocessing import StandardScaler

import kernelqp as kq
from kernelqp.engine_options import bytes_of
from kernelqp.errors import ParameterError
from kernelqp.solvers import active_set, smo
from kernelqp.solvers.watch import HaltedError, Watch

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
Z, T = load_diabetes(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))
KEPT = np.flatnonzero(np.arange(len(Y)) % 10 != 3)


def svm(C=1.0, **more):
    return kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=1 / 30), **more)


def starts_counted(monkeypatch):
    """Count how often the rough start runs."""
    seen = []
    descend = active_set.descend
    monkeypatch.setattr(active_set, "descend", lambda *a: (seen.append(1), descend(*a))[1])
    return seen


def same(warm, cold):
    assert warm.status is kq.Status.CERTIFIED
    assert warm.certificate.relative_gap <= 1e-9
    assert warm.value == pytest.approx(cold.value, rel=1e-12)
    assert warm.support.support_vectors.tolist() == cold.support.support_vectors.tolist()


@pytest.mark.parametrize("C", [1.0, 1.1, 0.8, 2.0, 30.0, 1e-3])
def test_a_start_from_another_cost(C, monkeypatch):
    before, cold = svm().solve(X, Y), svm(C).solve(X, Y)
    rough = starts_counted(monkeypatch)
    same(svm(C).solve(X, Y, start=before), cold)
    if 0.5 <= C <= 2.0:
        assert not rough  # the sets were near enough


def test_a_start_when_rows_go_come_move_and_have_other_weights(monkeypatch):
    before = svm().solve(X[KEPT], Y[KEPT])
    whole, weighted = svm().solve(X, Y), svm().solve(X, Y, WEIGHTS)
    turned = np.arange(len(Y))[::-1]
    mirrored = svm().solve(X[turned], Y[turned])
    same(svm().solve(X, Y, start=before), whole)
    same(svm().solve(X[KEPT], Y[KEPT], start=whole), before)
    rough = starts_counted(monkeypatch)
    same(svm().solve(X, Y, WEIGHTS, start=whole), weighted)
    same(svm().solve(X[turned], Y[turned], start=whole), mirrored)
    assert not rough


@pytest.mark.parametrize(
    "method",
    [
        kq.SupportVectorRegression(C=10.0, epsilon=5.0, kernel="rbf"),
        kq.QuantileRegression(C=10.0, tau=0.3, kernel="rbf"),
        kq.NuSVR(C=10.0, nu=0.4, kernel="rbf"),
        kq.SupportVectorRegression(C=10.0, loss="squared_epsilon_insensitive", kernel="rbf"),
    ],
    ids=["svr", "quantile", "nu-svr", "squared"],
)
def test_a_regression_starts_from_itself(method, monkeypatch):
    cold = method.solve(Z, T)
    rough = starts_counted(monkeypatch)
    warm = method.solve(Z, T, start=cold)
    assert warm.value == pytest.approx(cold.value, rel=1e-12)
    assert warm.status is kq.Status.CERTIFIED
    assert not rough


def test_the_rows_of_k_that_are_known_serve_again():
    before = svm().solve(X, Y)
    old = before.origin[0].page.gram
    page = svm(1.05).dual(X, Y)
    filled = old.store.filled
    page.solve(start=before)
    ours = page.page.gram.store
    assert (ours.place[old.store.place >= 0] >= 0).all()
    assert ours.filled <= filled + 64
    assert old.store.filled == filled


def test_a_start_that_cannot_be_one_is_refused():
    before = svm().solve(X, Y)
    with pytest.raises(ParameterError, match="Solution of NuSVM"):
        kq.NuSVM(kernel="rbf").solve(X, Y, start=before)
    with pytest.raises(ParameterError, match="got list"):
        svm().solve(X, Y, start=[1.0])
    K = X @ X.T
    given = kq.SoftMarginSVM(kernel="precomputed")
    with pytest.raises(ParameterError, match="as many"):
        given.solve(K[:30, :30], Y[:30], start=given.solve(K, Y))
    logistic = kq.LogisticRegression(kernel="rbf")
    with pytest.raises(ParameterError, match="kernel QP"):
        logistic.solve(X, Y, solver="native", start=logistic.solve(X, Y))


@pytest.mark.parametrize("given", [0, -1, "x", True, "4 apples", "GB"])
def test_no_size_is_refused(given):
    with pytest.raises(ParameterError, match="memory"):
        bytes_of(given)


@pytest.mark.parametrize("given", [0, -1.0, "x", True, float("nan")])
def test_no_time_is_refused(given):
    with pytest.raises(ParameterError, match="time_limit"):
        svm().solve(X, Y, time_limit=given)


def test_memory_bounds_the_rows_that_are_kept_and_changes_nothing_else():
    whole, page = svm(100.0).solve(X, Y), svm(100.0).dual(X, Y)
    rows = 70
    same(page.solve(solver="native", memory=8 * len(Y) * rows), whole)
    assert page.page.gram.store.filled <= rows
    assert page.page.gram.store.block.nbytes <= 8 * len(Y) * rows
    with pytest.raises(ParameterError, match="32 rows"):
        svm().solve(X, Y, memory="4kB")


def test_options_that_are_not_ours_are_named():
    with pytest.raises(ParameterError, match=r"max_iter.*start, time_limit, memory"):
        svm().solve(X, Y, solver="native", max_iter=3)
    assert svm().solve(X, Y, max_iter=50).solver == "CLARABEL"  # as ever, cvxpy's own words


SLOW = make_classification(1500, 40, n_informative=20, n_clusters_per_class=8, random_state=0)


@pytest.mark.parametrize(
    "method",
    [
        kq.SoftMarginSVM(C=10.0, kernel="rbf"),
        kq.SoftMarginSVM(C=10.0, slack_power=2, kernel="rbf"),
        kq.LogisticRegression(C=10.0, kernel="rbf"),
        kq.SoftMarginSVM(C=10.0),
    ],
    ids=["sets", "squared", "Newton", "interior"],
)
@pytest.mark.parametrize("solver", ["auto", "native"])
def test_a_time_limit_gives_what_there_is_with_its_bound(method, solver):
    whole = method.solve(*SLOW)
    short = method.solve(*SLOW, solver=solver, time_limit=1e-9)
    assert short.status is kq.Status.LIMIT
    assert "stopped early" in short.solver
    assert not short.certificate.certified
    assert short.certificate.dual_value <= whole.value <= short.certificate.primal_value
    page = method.dual(*SLOW)
    assert page.solve(solver=solver, time_limit=1e9).status is kq.Status.CERTIFIED


def interrupted(monkeypatch, steps):
    """Send Ctrl-C after so many looks."""
    look, seen = Watch.look, []

    def looked(self, beta):
        seen.append(1)
        if len(seen) == steps:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        look(self, beta)

    monkeypatch.setattr(Watch, "look", looked)
    monkeypatch.setattr(smo, "WATCHED", 16)


def test_ctrl_c_gives_what_there_is_with_its_bound(monkeypatch):
    whole = svm(100.0).solve(*SLOW)
    interrupted(monkeypatch, 5)
    short = svm(100.0).solve(*SLOW)
    assert short.status is kq.Status.LIMIT
    assert short.certificate.dual_value <= whole.value <= short.certificate.primal_value
    assert np.isfinite(short.certificate.relative_gap)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def watched(interrupts):
    """Leave a watch after so many Ctrl-C."""
    with Watch():
        for _ in range(interrupts):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)


def test_ctrl_c_that_comes_too_late_is_pythons_own():
    with pytest.raises(KeyboardInterrupt):
        watched(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_is_pythons_own():
    with pytest.raises(KeyboardInterrupt):
        watched(2)


def test_another_thread_leaves_the_signal_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(svm().solve(X, Y).status))
    thread.start()
    thread.join()
    assert found == [kq.Status.CERTIFIED]


def test_a_watch_keeps_the_best_and_ends_in_time():
    watch = Watch(limit=0.0)
    with pytest.raises(HaltedError):
        watch.look(np.ones(2))
    assert watch.halted
    assert watch.best.tolist() == [1.0, 1.0]


SHOWN = """
import numpy as np, kernelqp as kq
from kernelqp import progress
from kernelqp.solvers import smo, watch
progress.DELAY, watch.PAUSE, watch.SHARE, smo.WATCHED = 0.0, 0.0, 0, 8
from sklearn.datasets import make_classification
X, y = make_classification(900, 20, n_informative=15, random_state=0)
import time
look = watch.Watch.look
watch.Watch.look = lambda self, beta: (time.sleep(0.02), look(self, beta))[1]
assert kq.SoftMarginSVM(C=10.0, kernel="rbf").solve(X, y).status is kq.Status.CERTIFIED
"""


def test_a_terminal_sees_the_certified_gap_fall():
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", SHOWN], stderr=theirs, check=True, timeout=120)
    os.close(theirs)
    os.set_blocking(ours, False)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # all is read
        pass
    gaps = [float(part.split()[0]) for part in said.decode().split("relative gap ")[1:]]
    assert len(gaps) > 1
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0]


@pytest.mark.parametrize("rows", [64, 100, 300])
@pytest.mark.parametrize("C", [1e-3, 1.0], ids=["all support", "some support"])
def test_more_support_vectors_than_memory_holds_are_computed_as_they_pass(rows, C):
    whole = svm(C).solve(*SLOW)
    page = svm(C).dual(*SLOW)
    bounded = page.solve(solver="native", memory=8 * 1500 * rows)
    assert len(whole.support.support_vectors) > rows
    assert page.page.gram.store.block.shape[0] == rows
    assert bounded.solver == "active set"
    assert bounded.value == pytest.approx(whole.value, rel=1e-12)


def test_without_room_for_all_of_k_the_interior_point_is_not_tried(monkeypatch):
    import kernelqp.solvers.native as module

    monkeypatch.setattr(module, "active_set", lambda *_: None)
    short = svm().solve(*SLOW, solver="native", memory="2MB")
    assert short.status is kq.Status.LIMIT
    assert svm().solve(*SLOW, solver="native").solver == "interior point, active set"


def test_options_that_auto_cannot_use_are_named():
    steep = kq.SoftMarginSVM(slack_power=1.5, kernel="rbf")
    with pytest.raises(ParameterError, match="start and memory"):
        steep.solve(X[:80], Y[:80], memory="1GB")
    assert steep.solve(X[:80], Y[:80], time_limit=None).status is kq.Status.CERTIFIED
    with pytest.raises(ParameterError, match="'max_iter' of cvxpy's"):
        svm().solve(X, Y, memory="1GB", max_iter=10)


def test_options_of_ours_are_not_handed_to_cvxpys_solvers_and_slips_are_named():
    before = svm().solve(X, Y)
    for given in ({"start": before}, {"memory": "1GB"}):
        with pytest.raises(ParameterError, match="our own solvers, and CLARABEL"):
            svm().solve(X, Y, solver="CLARABEL", **given)
    with pytest.raises(ParameterError, match="did you mean 'time_limit'"):
        svm().solve(X, Y, timelimit=1.0)


def test_logistic_regression_in_weights_ends_in_time():
    short = kq.LogisticRegression(C=1.0).solve(*SLOW, time_limit=1e-9)
    assert short.status is kq.Status.LIMIT


def test_the_interior_point_does_not_forget_a_better_start(monkeypatch):
    import kernelqp.solvers.native as module

    sets = module.active_set

    def unsettled(qp, near):
        sets(qp, near)

    monkeypatch.setattr(module, "active_set", unsettled)
    look = Watch.look

    def looked(self, beta, *, better=True):
        look(self, beta, better=better)
        if not better:
            self.halt("test")

    monkeypatch.setattr(Watch, "look", looked)
    short = svm(100.0).solve(*SLOW, solver="native")
    assert short.certificate.relative_gap < 0.5  # the interior point's own is near 1


def test_a_limit_of_time_leaves_a_loss_that_is_not_ours_its_solver():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    y = np.where(rows[:, 0] + rng.normal(size=80) > 0, 1, -1)
    method = kq.SoftMarginSVM(C=1e7, slack_power=1.5, kernel=kq.Linear())
    assert method.solve(rows, y, time_limit=60.0).certificate.certified
    cubed = kq.SoftMarginSVM(C=1e14, slack_power=3, kernel=kq.Polynomial(3, 1.0, 1.0))
    assert cubed.solve(rows, y, time_limit=60.0).value > 0
