"""The interior point method against the certificate: every box, thin and dense, singular too."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from kernelqp import RBF, Gram, Linear, Offset, RegularizedRisk, losses
from kernelqp.repair import lower_bound, repair_dual, repair_primal
from kernelqp.scales import gap_scale, relative_gap
from kernelqp.solvers import interior
from kernelqp.solvers.interior import Dense, Newton, Thin, interior_point, system_of

TOL = 1e-9
LABELS = {
    "hinge": losses.Hinge(),
    "squared hinge": losses.SquaredHinge(),
}
REAL = {
    "tube": losses.EpsilonInsensitive(0.3),
    "tube 0": losses.EpsilonInsensitive(0.0),
    "squared tube": losses.SquaredEpsilonInsensitive(0.3),
    "pinball": losses.Pinball(0.3),
    "pinball 1": losses.Pinball(1.0),
    "huber": losses.Huber(0.5),
}


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def data(name):
    if name in LABELS:
        X, y = standardised(load_breast_cancer)
        return X[:200], np.where(y[:200] > 0, 1.0, -1.0), LABELS[name]
    X, y = standardised(load_diabetes)
    return X[:200], (y[:200] - y.mean()) / y.std(), REAL[name]


def gap(risk):
    """The relative gap of the point as it is returned; only the dual is moved onto B'β = d."""
    risk = risk.centred
    row = risk.loss.row(risk.targets, risk.costs)
    beta, theta, w = interior_point(risk.gram, row, risk.offset.basis, risk.offset.price)
    assert ((row.lower <= beta) & (beta <= row.upper)).all()
    function = risk.function(beta) if w is None else risk.function(weights=w)
    primal = risk.primal_value(*repair_primal(risk, function, theta))
    dual = lower_bound(risk, repair_dual(risk, risk.function(beta), theta))
    assert dual <= primal * (1 + 1e-12)
    return relative_gap(primal, dual, gap_scale(risk))


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.05)], ids=["linear", "rbf"])
@pytest.mark.parametrize("name", [*LABELS, *REAL])
def test_every_box_is_solved(name, kernel, offset, C):
    X, y, loss = data(name)
    assert gap(RegularizedRisk(Gram.of(kernel, X), y, C, loss, offset)) <= TOL


@pytest.mark.parametrize("name", ["hinge", "tube", "pinball", "huber"])
@pytest.mark.parametrize("C", [1e6, 1e8])
def test_a_large_C_in_more_dimensions_than_rows(name, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 150))
    y = X[:, 0] + 0.5 * rng.normal(size=100)
    loss = {**LABELS, **REAL}[name]
    targets = np.sign(y) if name == "hinge" else y
    assert gap(RegularizedRisk(Gram.of(Linear(), X), targets, C, loss, "none")) <= 1e-4


def test_a_hard_margin_has_no_upper_bound():
    X, y, _ = data("hinge")
    risk = RegularizedRisk(Gram.of(RBF(gamma=0.05), X), y, 1.0, losses.HardMargin(), "free")
    assert gap(risk) <= TOL


@pytest.mark.parametrize("name", ["hinge", "tube"])
def test_duplicates_and_a_kernel_of_zeros(name):
    X, y, loss = data(name)
    twice = Gram.of(RBF(gamma=0.05), np.vstack([X, X]))
    assert gap(RegularizedRisk(twice, np.r_[y, y], 2.0, loss, "free")) <= TOL
    assert gap(RegularizedRisk(twice, np.r_[y, -y], 2.0, loss, "free")) <= TOL
    zeros = Gram.from_factor(np.zeros((len(y), 1)))
    assert gap(RegularizedRisk(zeros, y, 2.0, loss, "free")) <= TOL


def test_features_out_of_hand_keep_their_figures():
    """F'β cancels to four figures here; the weights of their own keep all of them."""
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y > 0, 1.0, -1.0)
    risk = RegularizedRisk(Gram.of(Linear(), X), y, 17.6, losses.Hinge(), "free")
    assert gap(risk) <= TOL


def test_several_offset_columns_are_a_linear_program():
    """Quantile regression without a penalty: K = 0 and B = (1, X)."""
    X, y, _ = data("pinball")
    basis = np.column_stack([np.ones(len(y)), X])
    offset = Offset(basis, np.zeros(basis.shape[1]), np.r_[1.0, np.zeros(X.shape[1])])
    risk = RegularizedRisk(
        Gram.from_factor(np.zeros((len(y), 1))), y, 1.0, losses.Pinball(0.3), offset
    )
    row = risk.loss.row(risk.targets, risk.costs)
    beta, theta, _ = interior_point(risk.gram, row, offset.basis, offset.price)
    lost = risk.primal_value(risk.function(weights=np.zeros(1)), theta)
    assert np.abs(offset.basis.T @ beta).max() < 1e-8
    assert lost == pytest.approx(y @ beta, rel=1e-8)


def test_wide_features_are_solved_as_a_dense_kernel():
    rng = np.random.default_rng(0)
    gram, basis = Gram.from_factor(rng.normal(size=(5, 9))), np.ones((5, 1))
    assert isinstance(system_of(gram, basis, np.zeros(1)), Dense)
    thin = Gram.from_factor(rng.normal(size=(9, 5)))
    assert isinstance(system_of(thin, np.ones((9, 1)), np.zeros(1)), Thin)


@pytest.mark.parametrize("target", [1e-13, 1e-7])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
def test_the_best_point_is_none_of_the_first(C, target):
    """Early on nothing is lacking but figures; without an upper end a row starts far from C."""
    y = np.array([1.0, 2.0, 3.0, -1.0, -2.0, 3.0])
    gram = Gram.from_factor(np.zeros((6, 1)))  # every row for itself: β = C (|y| − ε) sign y
    loss = losses.SquaredEpsilonInsensitive(0.01)
    row = loss.row(y, np.full(6, C))
    beta, _, _ = interior_point(gram, row, np.ones((6, 0)), np.zeros(0), target=target)
    best = row.value(np.sign(y) * (np.abs(y) - 0.01) / row.ridge).sum()
    assert row.value(beta).sum() == pytest.approx(best, rel=10.0 * target + 1e-12)


def thin(name, seed=0):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(200, 6)), rng.normal(size=200)
    y = X @ rng.normal(size=6) + 0.5 * noise
    loss = {**LABELS, **REAL}[name]
    targets = np.sign(y) if loss.margin else y
    return RegularizedRisk(Gram.from_factor(X), targets, 3.0, loss, "none")


def solved(risk, start=None):
    basis, price = risk.offset.basis, risk.offset.price
    return interior_point(risk.gram, risk.row, basis, price, target=1e-11, start=start)


@pytest.mark.parametrize("name", ["hinge", "tube", "tube 0", "pinball"])
@pytest.mark.parametrize("off", [0.0, 1e-6, 1e-3, 0.3, 1e3, np.inf])
def test_a_start_changes_the_steps_and_not_the_optimum(name, off, monkeypatch):
    risk = thin(name)
    beta, _, w = solved(risk)
    cold = risk.dual_value(beta)
    start = np.zeros(6) if np.isinf(off) else w + off * np.random.default_rng(1).normal(size=6)
    steps = []
    monkeypatch.setattr(
        "kernelqp.solvers.interior.Newton", lambda *system: steps.append(1) or Newton(*system)
    )
    solved(risk)
    many = len(steps)
    steps.clear()
    beta, _, w = solved(risk, start)
    assert risk.dual_value(beta) == pytest.approx(cold, rel=1e-9)
    assert np.abs(w - risk.gram.weights(beta)).max() <= 1e-6 * np.abs(w).max()
    assert len(steps) < 0.8 * many if off <= 1e-3 else len(steps) <= many + 1


def test_a_start_that_leads_nowhere_is_left(monkeypatch):
    risk = thin("hinge")
    beta, _, w = solved(risk)
    known, run, begun = risk.dual_value(beta), interior._run, []

    def lost(split, system, row, state, watch, target):
        begun.append(state)
        return (state, False) if len(begun) == 1 else run(split, system, row, state, watch, target)

    monkeypatch.setattr(interior, "_run", lost)
    beta, *_ = solved(risk, w)
    assert len(begun) == 2
    assert risk.dual_value(beta) == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("name", ["squared tube", "squared hinge", "huber"])
def test_a_start_is_of_no_use_where_rows_have_no_two_ends_or_a_ridge(name):
    risk = thin(name)
    beta, _, w = solved(risk)
    assert np.array_equal(solved(risk, w)[0], beta)
