"""Newton's method on a smoothed primal: its slopes, its error, and what it must leave alone."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from kernelqp import RBF, Gram, Linear, Offset, RegularizedRisk, certify, losses
from kernelqp.certificate import dual_from_primal
from kernelqp.repair import lower_bound, repair_dual
from kernelqp.smoothing import Smoothed, can_be_smoothed, smoothed_dual
from kernelqp.solvers.interior import interior_point

LOSSES = {
    "hinge": losses.Hinge(),
    "tube": losses.EpsilonInsensitive(0.3),
    "tube 0": losses.EpsilonInsensitive(0.0),
    "pinball": losses.Pinball(0.3),
}


def problem(name, offset="free", C=1.0):
    """A linear model about its mean, with costs that differ."""
    loss = LOSSES[name]
    X, y = (load_breast_cancer if loss.margin else load_diabetes)(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.asarray(y, dtype=float)
    y = np.where(y > 0, 1.0, -1.0) if loss.margin else (y - y.mean()) / y.std()
    costs = C * np.where(np.arange(y.size) % 2 == 0, 1.0, 3.0)
    return RegularizedRisk(Gram.of(Linear(), X), y, costs, loss, offset).centred


def optimum(risk):
    """The optimal w, θ and D to 1e-9."""
    beta, theta, w = interior_point(risk.gram, risk.row, risk.offset.basis, risk.offset.price)
    dual = lower_bound(risk, repair_dual(risk, risk.function(beta), theta))
    primal = risk.primal_value(risk.function(weights=w), theta)
    assert primal - dual <= 1e-8 * primal
    return w, theta, dual


@pytest.mark.parametrize("loss", [*LOSSES.values(), losses.Perceptron()])
def test_a_slope_is_the_mean_of_the_loss_over_its_window(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    costs, h = rng.uniform(0.5, 2.0, 40), 0.7
    risk = RegularizedRisk(Gram.of(Linear(), rng.normal(size=(40, 2))), y, costs, loss, "none")
    smoothed = replace(Smoothed.of(risk, np.zeros(2), 1.0), window=h)
    for _ in range(30):
        p = rng.normal(size=40)
        mean = (loss.value(y, p + h / 2) - loss.value(y, p - h / 2)) / h
        assert np.abs(smoothed.slopes(p)[0] + costs * mean).max() <= 1e-14 / h
    far = smoothed.slopes(np.full(40, 1e9))[0], smoothed.slopes(np.full(40, -1e9))[0]
    assert np.array_equal(far[0], -costs * risk.slopes[1])
    assert np.array_equal(far[1], -costs * risk.slopes[0])


@pytest.mark.parametrize("error", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_both_sides_are_as_near_as_was_asked(name, offset, error):
    risk = problem(name, offset)
    w, theta, best = optimum(risk)
    near = risk.function(weights=w * (1.0 + 0.01 * error))
    found = smoothed_dual(risk, near, theta, error * best)
    assert found is not None
    dual, function, moved = found
    lower, upper = lower_bound(risk, dual), risk.primal_value(function, moved)
    assert best * (1.0 - 2.0 * error) <= lower <= best * (1.0 + 1e-8)
    assert best * (1.0 - 1e-8) <= upper <= best * (1.0 + 2.0 * error)


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_at_the_optimum_itself_are_no_bound(name):
    """What the smoothing is for: without it D lacks what rows on kinks give."""
    risk = problem(name, C=100.0)
    w, theta, best = optimum(risk)
    hard = dual_from_primal(risk, risk.function(weights=w), theta)
    assert not lower_bound(risk, repair_dual(risk, risk.function(hard), theta)) > 0.9 * best
    dual, _, _ = smoothed_dual(risk, risk.function(weights=w), theta, 1e-4 * best)
    assert lower_bound(risk, dual) > (1.0 - 1e-3) * best


def test_rows_in_windows_lack_the_error_where_many_are_near():
    risk = problem("tube", "none")
    off = 1e-4 * np.linspace(-0.5, 0.5, risk.n)
    risk = replace(risk, targets=0.3 + off)  # at w = 0 every row is near a kink
    x, p = np.zeros(risk.gram.factor.shape[1]), np.zeros(risk.n)
    smoothed = Smoothed.of(risk, x, 1e-2)
    beta = smoothed.slopes(p)[0]
    lacking = float(risk.costs @ risk.loss.residual(risk.targets, p, -beta / risk.costs))
    assert 2e-3 <= lacking <= 1e-2
    wider = replace(smoothed, window=4.0 * smoothed.window).slopes(p)[0]
    assert risk.costs @ risk.loss.residual(risk.targets, p, -wider / risk.costs) > 1e-2


@pytest.mark.parametrize("times", [-30.0, 30.0])
def test_a_model_far_off_is_left_to_others_at_the_first_step(times, monkeypatch):
    risk = problem("hinge", "none")
    w, theta, best = optimum(risk)
    monkeypatch.setattr(Smoothed, "_search", lambda *_: pytest.fail("a step was made"))
    assert smoothed_dual(risk, risk.function(weights=times * w), theta, 1e-6 * best) is None


def test_slopes_are_those_of_the_point_however_a_search_ends(monkeypatch):
    """Also where its tries are spent before the slope along the step is small."""
    monkeypatch.setattr("kernelqp.smoothing.TRIES", 2)
    monkeypatch.setattr("kernelqp.smoothing.FLAT", 1e-12)
    risk = problem("hinge", "none")
    x, _, best = optimum(risk)
    smoothed = Smoothed.of(risk, x, 1e-4 * best)
    p, change = smoothed.design @ x, smoothed.design @ (0.5 * x)
    t, beta, below = smoothed._search(x, p, 0.5 * x, change, 1e-3 * best)
    assert 0.0 < t < 1.0
    assert np.array_equal(beta, smoothed.slopes(p + t * change)[0])
    assert np.array_equal(below, smoothed.slopes(p + t * change)[1])


@pytest.mark.parametrize("error", [0.0, -1e-3])
def test_without_an_error_nothing_is_tried(error, monkeypatch):
    risk = problem("hinge", "none")
    w, theta, _ = optimum(risk)
    monkeypatch.setattr(Smoothed, "of", lambda *_: pytest.fail("it was tried"))
    assert smoothed_dual(risk, risk.function(weights=w), theta, error) is None


def test_an_offset_that_no_row_near_a_kink_sees_is_left_to_others():
    X = np.array([[-2.0], [2.0]])
    risk = RegularizedRisk(Gram.of(Linear(), X), np.array([-1.0, 1.0]), 1.0, losses.Hinge())
    far = risk.function(weights=np.array([2.0]))
    assert smoothed_dual(risk, far, np.zeros(1), 1e-9) is None


def test_what_can_be_smoothed():
    risk = problem("hinge")
    assert can_be_smoothed(risk)
    X = np.asarray(risk.gram.factor)
    y, costs = risk.targets, risk.costs
    for gram, loss in (
        (Gram.of(RBF(gamma=0.1), X), losses.Hinge()),  # no features
        (Gram.of(Linear(), X), losses.SquaredHinge()),  # a ridge, and no upper end
        (Gram.of(Linear(), X), losses.Logistic()),  # no row
    ):
        assert not can_be_smoothed(RegularizedRisk(gram, y, costs, loss))
    shared = Offset.spanned(np.column_stack([np.ones(risk.n), X[:, 0]]), constant=True)
    assert not can_be_smoothed(replace(risk, offset=shared))
    few = np.arange(20)  # rows of 30 features
    gram = Gram.of(Linear(), X[few])
    assert not can_be_smoothed(RegularizedRisk(gram, y[few], 1.0, losses.Hinge()))


def fits():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    yield LinearSVC(C=0.1, loss="hinge", random_state=0, max_iter=10**6), X, y
    yield LinearSVC(C=1.0, loss="hinge", random_state=0, max_iter=10**6, tol=1e-6), X, y
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    yield LinearSVR(C=100.0, epsilon=1.0, random_state=0, max_iter=10**6), X, y
    yield LinearSVR(C=1.0, epsilon=0.0, random_state=0, max_iter=10**6, tol=1e-6), X, y


@pytest.mark.parametrize("k", range(4))
def test_a_converged_model_needs_no_kernel_qp(k, monkeypatch):
    model, X, y = list(fits())[k]
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("solved"))
    found = certify(model.fit(X, y), X, y)
    assert found.certified
    assert found.verdict.startswith("Converged")


@pytest.mark.parametrize("off", [1.05, 0.9, 0.5])
def test_a_model_of_many_rows_that_is_off_is_told_without_a_kernel_qp(off, monkeypatch):
    X, y = make_classification(3000, 10, n_informative=6, flip_y=0.1, random_state=0)
    model = LinearSVC(loss="hinge", random_state=0, max_iter=10**6).fit(X, y)
    risk = RegularizedRisk(
        Gram.of(Linear(), np.column_stack([X, np.ones(3000)])),
        2.0 * y - 1.0,
        1.0,
        losses.Hinge(),
        "none",
    )
    _, _, best = optimum(risk)
    model.coef_ *= off
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("solved"))
    found = certify(model, X, y)
    assert found.verdict.startswith("Not converged")
    assert best * (1 - 1e-4) <= found.dual_value <= best * (1 + 1e-8)
    assert best * (1 - 1e-8) <= found.best_value <= best * (1 + 1e-4)
