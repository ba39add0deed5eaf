"""Where the slope of an objective jumps along a way, and what it is in between."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp import losses
from kernelqp.repair import best_scale, offset_slope, steps_along

LOSSES = [
    losses.Hinge(),
    losses.Perceptron(),
    losses.Pinball(0.3),
    losses.EpsilonInsensitive(0.1),
    losses.EpsilonInsensitive(0.0),
]
N = 40


def risk_of(loss, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], N) if loss.margin else rng.normal(size=N)
    gram = kq.Gram.of(kq.RBF(gamma=0.5), rng.normal(size=(N, 2)))
    return kq.RegularizedRisk(gram, y, rng.uniform(0.5, 2.0, N), loss), rng


@pytest.mark.parametrize("price", [0.0, 3.5])
@pytest.mark.parametrize("sign", ["ones", "mixed", "some zero"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_slope_after_every_jump_is_that_of_the_objective(loss, sign, price):
    risk, rng = risk_of(loss)
    column = {"ones": np.ones(N), "mixed": rng.normal(size=N)}.get(sign)
    if column is None:
        column = rng.normal(size=N) * (rng.uniform(size=N) < 0.5)
    values = rng.normal(size=N)
    jumps, after = steps_along(risk, values, (column, price))
    ends = np.r_[jumps, jumps[-1] + 1.0]
    apart = np.diff(ends) > 1e-9
    assert apart.sum() >= np.count_nonzero(column)
    for k in np.flatnonzero(apart):
        middle = 0.5 * (ends[k] + ends[k + 1])
        assert after[k] == pytest.approx(
            offset_slope(risk, values, (column, price), middle, 1), abs=1e-9
        )


def test_a_loss_without_steps_has_none():
    risk, rng = risk_of(losses.SquaredHinge())
    jumps, after = steps_along(risk, rng.normal(size=N), (np.ones(N), 0.0))
    assert jumps.size == after.size == 0


def test_jumps_as_far_as_numbers_go_overflow_nowhere():
    F = np.array([[1e4, 0.0], [-1e4, 0.0], [-1e-305, 0.0], [1.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0, 1.0])
    risk = kq.RegularizedRisk(kq.Gram.from_factor(F), y, 1.0, losses.Hinge(), "none")
    function = risk.function(weights=np.array([1.0, 0.5]))
    assert best_scale(risk, function, np.zeros(0)) == pytest.approx(2.0 / 3.0)


def test_a_scale_before_the_first_jump_is_found_near_one():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    risk = kq.RegularizedRisk(kq.Gram.dense(np.eye(4)), y, 1e-6, losses.Hinge(), "none")
    function = risk.function(1e-26 * y)
    scale = best_scale(risk, function, np.zeros(0))
    assert risk.primal_value(function.scaled(scale), np.zeros(0)) < 4e-6
