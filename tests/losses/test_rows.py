"""The dual side in beta: kernel-QP rows, values without the rounding trap, proximal steps."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelqp.losses import Logistic, PowerHinge

from .strategies import CASES, CURVED_CASES, ROW_CASES, N, law, magnitudes, pairs, targets

every_loss = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
every_row = pytest.mark.parametrize("case", ROW_CASES, ids=lambda c: c.name)
COSTS = np.array([0.1, 3.0, 0.7, 1e-3, 40.0, 1 / 3])


def test_the_losses_without_a_row_are_two():
    assert {type(c.loss) for c in CURVED_CASES} == {PowerHinge, Logistic}


@every_row
@law
@given(data=st.data())
def test_row_is_the_conjugate_in_beta(case, data):
    y, _, g = data.draw(pairs(case))
    row, beta = case.loss.row(y, COSTS), -COSTS * g
    gain = row.q * beta - row.eps * np.abs(beta) - row.ridge / 2 * beta**2
    np.testing.assert_allclose(gain, -COSTS * case.loss.conjugate(y, g), rtol=1e-12, atol=1e-12)


@every_row
@law
@given(data=st.data())
def test_box_is_the_domain_in_beta(case, data):
    y = data.draw(targets(case))
    row, (lower, upper) = case.loss.row(y, COSTS), case.loss.domain(y)
    assert np.array_equal(row.lower, -COSTS * upper)
    assert np.array_equal(row.upper, -COSTS * lower)
    assert np.all((row.lower <= 0) & (row.upper >= 0) & (row.ridge >= 0) & (row.eps >= 0))
    assert all(np.shape(getattr(row, name)) == (N,) for name in row.__slots__)


@every_row
def test_row_is_read_only_and_leaves_its_inputs_writable(case):
    y, c = np.ones(N), np.ones(N)
    row = case.loss.row(y, c)
    y[0] = c[0] = -1.0
    assert row.q[0] >= 0
    with pytest.raises(ValueError, match="read-only"):
        row.lower[0] = 5.0


@every_loss
@law
@given(data=st.data())
def test_dual_value_is_minus_cost_times_conjugate(case, data):
    y, _, g = data.draw(pairs(case))
    inner = 0.5 * g + 0.5 * np.clip(0, *case.loss.domain(y))  # away from the ends
    value = case.loss.dual_value(y, COSTS, -COSTS * inner)
    expected = -COSTS * case.loss.conjugate(y, inner)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-12)


@every_loss
@law
@given(data=st.data())
def test_local_row_has_the_slope_and_the_bend_of_the_dual_value(case, data):
    y, _, g = data.draw(pairs(case))
    lower, upper = (np.clip(end, -1, 1) for end in case.loss.domain(y))
    inside = np.where(np.clip(g, lower, upper) < lower / 2 + upper / 2, 0.25, 0.75)
    beta = -COSTS * (lower + inside * (upper - lower))
    row = case.loss.local_row(y, COSTS, beta)
    step = 1e-3 * COSTS * (upper - lower)
    down, here, up = (case.loss.dual_value(y, COSTS, beta + k * step) for k in (-1, 0, 1))
    moved = (step > 0) & (np.abs(beta) > 2 * step)  # away from the kink of a tube
    slope = (row.q - row.ridge * beta - row.eps * np.sign(beta)) * 2 * step
    bend = -row.ridge * step**2
    rounding = 1e-14 * (1 + np.abs(here))
    assert np.all(np.abs(up - down - slope)[moved] <= (1e-3 * np.abs(slope) + rounding)[moved])
    assert np.all(np.abs(up + down - 2 * here - bend)[moved] <= (rounding - 1e-2 * bend)[moved])


@every_loss
@law
@given(data=st.data())
def test_dual_value_is_minus_infinity_just_outside_the_box(case, data):
    y = data.draw(targets(case))
    lower, upper = case.loss.domain(y)
    for end, away in ((-COSTS * upper, -np.inf), (-COSTS * lower, np.inf)):
        finite = np.isfinite(end)
        at, beyond = np.where(finite, end, 0), np.where(finite, np.nextafter(end, away), 0)
        assert np.all(np.isfinite(case.loss.dual_value(y, COSTS, at)))
        assert np.all(case.loss.dual_value(y, COSTS, beyond)[finite] == -np.inf)


@every_loss
def test_dual_value_is_finite_for_every_clipped_beta(case):
    """Dividing beta by -c again would leave [-tau, 1 - tau] in one draw of sixteen."""
    rng = np.random.default_rng(3)
    for _ in range(1000):
        y = rng.choice([-1.0, 1.0], N) if case.loss.margin else rng.normal(size=N)
        c = 10 ** rng.uniform(-4, 4, N)
        lower, upper = case.loss.domain(y)
        beta = np.clip(rng.normal(size=N) * 3 * c, -c * upper, -c * lower)
        h = 10 ** rng.uniform(-4, 4, N)
        assert np.all(np.isfinite(case.loss.dual_value(y, c, beta)))
        prox = case.loss.dual_prox(y, c, rng.normal(size=N) * 1e3, h)
        assert np.all(np.isfinite(case.loss.dual_value(y, c, prox)))


@every_loss
@law
@given(data=st.data())
def test_prox_beats_every_other_beta(case, data):
    y = data.draw(targets(case))
    c, h, size = (data.draw(magnitudes(-3, 3)) for _ in range(3))
    v = size * np.resize([1.0, -1.0], N)

    def objective(beta):
        return h / 2 * (beta - v) ** 2 - case.loss.dual_value(y, c, beta)

    beta = case.loss.dual_prox(y, c, v, h)
    best = objective(beta)
    assert np.all(np.isfinite(best))
    slack = 1e-12 * (np.abs(best) + h / 2 * v**2 + np.abs(v * y) + np.abs(y * beta))
    relative = np.concatenate([np.linspace(-3, 3, 61), 1 + np.geomspace(1e-6, 1, 20)])
    share = np.concatenate([relative, 2 - relative])[:, np.newaxis]
    for others in (beta * share, beta + share * c, beta + share / h, share * v):
        assert np.all(best <= objective(others) + slack)


@every_row
@law
@given(data=st.data())
def test_prox_of_a_row_meets_the_optimality_condition_at_extremes(case, data):
    y = data.draw(targets(case))
    c, h = data.draw(magnitudes(-8, 8)), data.draw(magnitudes(-8, 8))
    v = data.draw(magnitudes(-8, 8)) * np.resize([1.0, -1.0], N)
    row, beta = case.loss.row(y, c), case.loss.dual_prox(y, c, v, h)
    pull = h * (v - beta) + row.q - row.ridge * beta
    noise = 1e-13 * (h * (np.abs(v) + np.abs(beta)) + np.abs(row.q) + row.ridge * np.abs(beta))
    up, down = np.where(beta >= 0, row.eps, -row.eps), np.where(beta > 0, row.eps, -row.eps)
    assert np.all((row.lower <= beta) & (beta <= row.upper))
    assert np.all((pull <= up + noise) | (beta == row.upper))
    assert np.all((pull >= down - noise) | (beta == row.lower))


def _force(loss, alpha, w, c, h):
    """The derivative of the prox objective in alpha = y beta, in 60 digits."""
    alpha, w, c, h = (Decimal(float(x)) for x in (alpha, w, c, h))
    if isinstance(loss, Logistic):
        return h * (alpha - w) + (alpha / (c - alpha)).ln()
    q = Decimal(loss.q)
    return h * (alpha - w) - 1 + (alpha / (c * q)) ** (1 / (q - 1))


@pytest.mark.parametrize(
    "loss", [PowerHinge(1.01), PowerHinge(1.5), PowerHinge(4), PowerHinge(10), Logistic()], ids=repr
)
def test_curved_prox_brackets_the_root_at_extremes(loss):
    rng = np.random.default_rng(11)
    n = 300
    y, sign = rng.choice([-1.0, 1.0], n), rng.choice([-1.0, 1.0, 1.0], n)
    c, h = 10 ** rng.uniform(-12, 12, n), 10 ** rng.uniform(-12, 12, n)
    w = sign * c * 10 ** rng.uniform(-5, 5, n)
    alpha = y * loss.dual_prox(y, c, y * w, h)
    assert np.all(alpha >= 0)
    # where h w cancels against 1, or is a large logit, its own rounding is amplified
    inner = (alpha > 1e-290) & (alpha < c if isinstance(loss, Logistic) else True)
    assert inner.sum() > n / 3
    with localcontext() as context:
        context.prec = 60
        for a, wi, ci, hi in zip(alpha[inner], w[inner], c[inner], h[inner], strict=True):
            cells = 8 * 2.3e-16 * (1 + _amplification(loss, a, wi, ci, hi))
            assert _force(loss, a * (1 - cells), wi, ci, hi) < 0
            above = a * (1 + cells)
            assert above >= ci * isinstance(loss, Logistic) > 0 or (
                _force(loss, above, wi, ci, hi) > 0
            )


def _amplification(loss, alpha, w, c, h):
    """Relative change of the root for a relative change of h w, or of 1 + h w."""
    if isinstance(loss, Logistic):
        return abs(h * w) / (h * alpha + 1 / (1 - min(alpha / c, 1 - 1e-16)))
    t = (alpha / (c * loss.q)) ** (1 / (loss.q - 1))
    return (1 + abs(h * w)) / (h * alpha + t / (loss.q - 1))


def test_curved_prox_is_zero_where_the_power_hinge_is_inactive():
    beta = PowerHinge(3).dual_prox(np.array([1.0]), np.ones(1), np.array([-2.0]), np.ones(1))
    assert beta[0] == 0


def test_curved_prox_underflows_quietly():
    y, c, h = np.ones(2), np.ones(2), np.ones(2)
    v = np.array([-1 + 1e-15, -1e9])
    assert np.all(PowerHinge(25).dual_prox(y, c, v, h) == 0)
    assert np.array_equal(Logistic().dual_prox(y, c, np.array([-1e9, 1e9]), h), [0, 1])


def test_logistic_prox_does_not_step_over_the_inflection():
    c, h, v = np.array([967104672072.2349]), np.array([318719431418.4888]), np.array([1873222.25])
    assert Logistic().dual_prox(np.ones(1), c, v, h) == pytest.approx(v, rel=1e-12)


@pytest.mark.parametrize("loss", [PowerHinge(1.01), PowerHinge(50.0), Logistic()], ids=repr)
@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e6])
@pytest.mark.parametrize("cost", [1e-9, 1.0, 1e9])
def test_a_local_row_is_finite_at_extremes(loss, size, cost):
    row = loss.local_row(np.ones(1), np.full(1, cost), np.full(1, size))
    assert np.isfinite(row.q).all()
    assert np.isfinite(row.ridge).all()
