"""The active set method and its rough start: exact optima of kernel QPs, degenerate ones too."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import kernelqp as kq
from kernelqp import losses
from kernelqp.solvers import sets, smo
from kernelqp.solvers.active_set import (
    active_set,
    balanced,
    feasible_start,
    settle_near,
)
from kernelqp.solvers.interior import interior_point
from kernelqp.solvers.kernel_qp import KernelQP
from kernelqp.solvers.native import native
from kernelqp.solvers.sets import CLOSE, settle_sets
from kernelqp.solvers.smo import descend
from tests.random_risks import PRICES, known_to, random_risk

MILD = PRICES[:6]  # up to 100; beyond, the last figure of a β may be worth more than 1e-9


def dense_risk(loss, n=60, C=1.0, offset="free", gamma=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n)) if loss.margin else rng.normal(size=n)
    return kq.RegularizedRisk(kq.Gram.of(kq.RBF(gamma=gamma), X), y, C, loss, offset)


def gap(risk, beta, theta):
    return risk.primal_value(risk.function(beta), theta) - risk.dual_value(beta)


ALL = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.EpsilonInsensitive(0.2),
    losses.EpsilonInsensitive(0.0),
    losses.SquaredEpsilonInsensitive(0.2),
    losses.Pinball(0.3),
    losses.Huber(0.5),
]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_it_ends_at_the_optimum(loss, offset, C):
    risk = dense_risk(loss, C=C, offset=offset).centred
    beta, function, theta, who = native(risk)
    assert "active set" in who
    assert function is None
    row = risk.loss.row(risk.targets, risk.costs)
    assert ((row.lower <= beta) & (beta <= row.upper)).all()
    assert abs(gap(risk, beta, theta)) <= 1e-11 * risk.primal_value(risk.function(beta), theta)


@pytest.mark.parametrize("seed", range(300))
def test_random_problems_are_certified_to_1e_9(seed):
    risk, name = random_risk(seed, prices=MILD)
    c = risk.solve(solver="native", tol=1e-9).certificate
    assert c.relative_gap <= 1e-9, f"{name}: {c}"
    assert c.certified, f"{name}: {c}"


@pytest.mark.parametrize("seed", range(300))
def test_at_any_price_they_are_certified_to_1e_9_or_to_rounding(seed):
    risk, name = random_risk(seed, prices=PRICES[:-1])
    s = risk.solve(solver="native", tol=1e-9)
    c = s.certificate
    assert c.certified or abs(c.gap) <= known_to(risk, s.beta, c), f"{name}: {c}"


@pytest.mark.parametrize("seed", range(60))
def test_where_no_figures_are_left_the_answer_says_so(seed):
    """At C = 1e12 a prediction's last figure is worth 1e-4."""
    risk, name = random_risk(seed, prices=PRICES[-1:])
    s = risk.solve(solver="native", tol=1e-6)
    c = s.certificate
    assert c.primal_value - c.dual_value >= -known_to(risk, s.beta, c), name
    assert (s.status is kq.Status.CERTIFIED) == (c.relative_gap <= 1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize("block", range(30))
def test_thousands_of_random_problems(block):
    for seed in range(300 + 100 * block, 400 + 100 * block):
        risk, name = random_risk(seed, prices=PRICES[:-1])  # at 1e12 few have figures left
        s = risk.solve(solver="native", tol=1e-9)
        c = s.certificate
        assert c.certified or abs(c.gap) <= known_to(risk, s.beta, c), f"{name}: {c}"


@pytest.mark.parametrize("seed", range(300))
def test_random_problems_agree_with_clarabel(seed):
    risk, name = random_risk(seed, prices=MILD)
    ours, theirs = risk.solve(solver="native"), risk.solve(solver="CLARABEL")
    assert ours.certificate.certified, name
    scale = max(abs(ours.value), abs(theirs.value), ours.certificate.rounding, 1e-300)
    wide = theirs.certificate.primal_value - theirs.certificate.dual_value
    assert abs(ours.value - theirs.value) <= 1e-6 * scale + abs(wide), name


# --- the rough start -----------------------------------------------------------------------------


@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_the_rough_start_gains_and_stays_feasible(loss, offset):
    risk = dense_risk(loss, offset=offset)
    qp = KernelQP.of(risk)
    at, before = qp.at(feasible_start(qp)), -np.inf
    for stop in (0.5, 0.1, 0.01):
        left = descend(qp, at, stop, 10_000)
        assert left <= stop
        value = risk.dual_value(at.beta)
        assert value >= before
        before = value
        np.testing.assert_allclose(at.slope, qp.at(at.beta).slope, atol=1e-10)
        if offset == "free":
            assert abs(at.beta.sum()) < 1e-12


def test_a_start_with_a_price_meets_it():
    nu = kq.NuSVM(nu=0.4, kernel=kq.RBF(gamma=0.5))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    risk = nu.dual(X, np.sign(X[:, 0] + 0.3 * rng.normal(size=40))).risk()
    qp = KernelQP.of(risk)
    start = feasible_start(qp)
    np.testing.assert_allclose(risk.offset.basis.T @ start, risk.offset.price, rtol=1e-12)
    row = risk.loss.row(risk.targets, risk.costs)
    assert ((row.lower <= start) & (start <= row.upper)).all()


@pytest.mark.parametrize("price", [-1.5, 0.0, 0.7, 3.0])
def test_a_point_is_balanced_within_its_box(price):
    risk = dense_risk(losses.Hinge(), C=0.3)
    qp = replace(KernelQP.of(risk), price=np.array([price]))
    row = qp.row
    start = np.clip(np.random.default_rng(1).normal(size=qp.n), row.lower, row.upper)
    found = balanced(qp, start)
    assert found.sum() == pytest.approx(price, abs=1e-12)
    assert ((row.lower <= found) & (found <= row.upper)).all()


def test_columns_other_than_ones_are_left_to_the_interior_point():
    y = np.array([1.0, -1.0, 1.0, 1.0])
    offset = kq.Offset(y[:, None], np.zeros(1), None)
    gram = kq.Gram.dense(np.eye(4))
    risk = kq.RegularizedRisk(gram, y, 1.0, losses.Hinge(), offset)
    assert KernelQP.of(risk) is None
    assert native(risk)[3] == "interior point"


# --- degenerate sets -----------------------------------------------------------------------------


def test_an_empty_elbow_leaves_an_interval_for_the_intercept():
    gram = kq.Gram.of(kq.RBF(gamma=1.0), np.array([[1.0], [-1.0]]))
    risk = kq.RegularizedRisk(gram, np.array([1.0, -1.0]), 1.0, losses.Hinge())
    beta, _, theta, who = native(risk.centred)
    assert who == "active set"
    np.testing.assert_array_equal(beta, [1.0, -1.0])
    assert abs(float(theta[0])) <= np.exp(-4.0)


def test_duplicates_make_the_elbow_singular():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(12, 2)), 4, axis=0)
    y = np.sign(X[:, 0])
    risk = kq.RegularizedRisk(kq.Gram.of(kq.RBF(gamma=0.5), X), y, 10.0, losses.Hinge()).centred
    beta, _, theta, _ = native(risk)
    assert abs(gap(risk, beta, theta)) <= 1e-9


def test_sets_that_cycle_are_given_up_and_the_answer_is_still_exact(monkeypatch):
    """Sets that do not settle from the rough start do so from an interior point."""
    import kernelqp.solvers.native as module

    monkeypatch.setattr(module, "active_set", lambda *_: None)
    risk = dense_risk(losses.Hinge(), C=10.0).centred
    beta, _, theta, who = native(risk)
    assert who == "interior point, active set"
    assert abs(gap(risk, beta, theta)) <= 1e-11 * abs(risk.dual_value(beta))


def test_a_start_whose_sets_are_wrong_is_given_up_after_one_round(monkeypatch):
    """Its sets would be changed round after round, through systems of nearly all rows."""
    rounds, entering = [], sets.entering
    monkeypatch.setattr(sets, "entering", lambda *a: (rounds.append(1), entering(*a))[1])
    risk = dense_risk(losses.Hinge(), n=600, offset="none")
    qp = KernelQP.of(risk)
    far = np.where(risk.targets > 0, qp.row.upper, qp.row.lower)
    assert settle_sets(qp, qp.at(far), CLOSE) is None
    assert len(rounds) == 1
    rounds.clear()
    settle_sets(qp, qp.at(far))
    assert len(rounds) > 4
    beta, _ = active_set(qp, far)
    np.testing.assert_allclose(beta, native(risk)[0], atol=1e-8)
    inside = (beta > qp.row.lower) & (beta < qp.row.upper) & (beta != 0)
    again = settle_sets(qp, qp.at(beta + 1e-4 * inside), CLOSE)
    np.testing.assert_allclose(again[0], beta, atol=1e-8)


def test_an_interior_answer_settles_at_once():
    risk = dense_risk(losses.EpsilonInsensitive(0.2), C=5.0)
    qp, row = KernelQP.of(risk), risk.loss.row(risk.targets, risk.costs)
    beta, theta, _ = interior_point(risk.gram, row, risk.offset.basis, risk.offset.price)
    settled, moved = settle_near(qp, beta, theta)
    np.testing.assert_allclose(settled, beta, atol=1e-5)
    assert abs(gap(risk, settled, moved)) <= 1e-12 * abs(risk.dual_value(settled))


def test_settled_sets_stay():
    qp = KernelQP.of(dense_risk(losses.Hinge(), C=3.0))
    beta, theta = active_set(qp)
    again = settle_sets(qp, qp.at(beta))
    np.testing.assert_allclose(again[0], beta, atol=1e-12)
    np.testing.assert_allclose(again[1], theta, atol=1e-12)


# --- through a method ----------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantiles_of_diabetes(tau):
    X, y = load_diabetes(return_X_y=True)
    method = kq.QuantileRegression(C=10.0, tau=tau, kernel=kq.RBF(gamma=20.0))
    s = method.solve(X, y)
    assert s.solver == "active set"
    assert s.certificate.relative_gap <= 1e-9
    assert s.value == pytest.approx(method.solve(X, y, solver="CLARABEL").value, rel=1e-6)


@pytest.mark.parametrize("method", [kq.NuSVM(0.3, kernel="rbf"), kq.OneClassSVM(0.2, kernel="rbf")])
def test_nu_methods_are_solved_by_it(method):
    X, y = load_diabetes(return_X_y=True)
    labels = y > np.median(y)
    s = method.solve(X, labels, solver="native")
    assert s.solver == "active set"
    assert s.certificate.relative_gap <= 1e-9


def test_the_page_holds_what_a_cvxpy_solve_would_leave():
    X, y = load_diabetes(return_X_y=True)
    page = kq.SupportVectorRegression(C=10.0, epsilon=10.0, kernel=kq.RBF(gamma=20.0)).dual(X, y)
    s = page.solve(solver="native")
    assert page.problem.status == "optimal"
    assert page.problem.value == pytest.approx(s.value, rel=1e-9)
    assert page.constraints["balance"].dual_value is not None
    assert kq.check_kkt(page, tol=1e-8).holds


@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_steps_know_what_every_row_may_do(loss, offset, monkeypatch):
    """The steps write out what Ends says of a row: the two meet after every run of them."""
    risk = dense_risk(loss, C=0.5, offset=offset).centred
    qp = KernelQP.of(risk)
    at = qp.at(np.zeros(qp.n))
    seen, runs = [], smo._pairs if qp.groups else smo._single

    def watched(qp, at, ends, stop, most):
        steps = runs(qp, at, ends, stop, most)
        seen.append((ends, smo.Ends(qp, at)))
        return steps

    monkeypatch.setattr(smo, runs.__name__, watched)
    for stop in (0.5, 0.1, 1e-3):
        descend(qp, at, stop, 10_000)
    assert len(seen) >= 3
    assert at.beta.any()
    kept, fresh = seen[-1]
    assert np.array_equal(kept.up, fresh.up)
    assert np.array_equal(kept.down, fresh.down)
    assert np.allclose(at.slope, qp.at(at.beta).slope, atol=1e-12)


def test_an_end_that_is_reached_is_met_exactly():
    C = 0.7 / 3.0
    risk = dense_risk(losses.Hinge(), C=C).centred
    qp = KernelQP.of(risk)
    at = qp.at(np.zeros(qp.n))
    descend(qp, at, 1e-3, 10_000)
    near = np.minimum(np.abs(at.beta), np.abs(np.abs(at.beta) - C)) < 1e-9
    assert near.sum() > 10
    assert np.isin(np.abs(at.beta[near]), (0.0, C)).all()
