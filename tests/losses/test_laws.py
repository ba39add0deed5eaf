"""The laws of one-dimensional convex analysis, for every loss at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .strategies import CASES, N, finite_slopes, law, pairs, points

every_loss = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
ROUNDING = 1e-13


def _scale(loss, y, p, g):
    """The size of the terms of l + l* - g p, which bounds their rounding."""
    terms = np.abs([loss.value(y, p), loss.conjugate(y, g), g * p])
    return 1 + np.where(np.isfinite(terms), terms, 0).sum(axis=0)


@every_loss
@law
@given(data=st.data())
def test_slopes_are_ordered_and_inside_the_domain(case, data):
    y, p = data.draw(points(case))
    (low, high), (lower, upper) = case.loss.slopes(y, p), case.loss.domain(y)
    assert np.all((lower <= low) & (low <= high) & (high <= upper))
    assert low is not high
    assert all(end.shape == (N,) and end.dtype == np.float64 for end in (low, high, lower, upper))


@every_loss
@law
@given(data=st.data())
def test_fenchel_young_inequality_holds_for_every_slope_of_the_domain(case, data):
    y, p, g = data.draw(pairs(case))
    gap = case.loss.value(y, p) + case.loss.conjugate(y, g) - g * p
    assert np.all(gap >= -ROUNDING * _scale(case.loss, y, p, g))


@every_loss
@law
@given(data=st.data())
def test_fenchel_young_equality_holds_on_the_subdifferential(case, data):
    y, p = data.draw(points(case))
    loss = case.loss
    low, high = finite_slopes(loss, y, p)
    reached = np.isfinite(loss.value(y, p))  # a hard margin that is violated has no slope
    for g in (low, high, (low + high) / 2):
        gap = loss.value(y, p) + loss.conjugate(y, g) - g * p
        assert np.all(np.abs(gap)[reached] <= 10 * ROUNDING * _scale(loss, y, p, g)[reached])


@every_loss
@law
@given(data=st.data())
def test_a_loss_is_the_same_in_another_unit(case, data):
    y, p = data.draw(points(case))
    unit, loss = 4.0, case.loss
    if not loss.degree:  # labels have no unit
        assert loss.margin
        assert loss.in_unit(unit) is loss
        return
    found = unit**loss.degree * loss.in_unit(unit).value(y, p)
    np.testing.assert_allclose(found, loss.value(unit * y, unit * p), rtol=1e-12, atol=1e-12)


@every_loss
@law
@given(data=st.data())
def test_slopes_outside_the_subdifferential_leave_a_gap(case, data):
    y, p, _ = data.draw(pairs(case))
    loss = case.loss
    (low, high), (lower, upper) = loss.slopes(y, p), loss.domain(y)
    for g, inside in ((low - 0.25, low - 0.25 >= lower), (high + 0.25, high + 0.25 <= upper)):
        apart = inside & np.isfinite(g) & (np.abs(p) < 9) & (np.abs(g) < 9)
        moved = np.where(apart, g, np.clip(0, lower, upper))
        assert np.all(loss.residual(y, p, moved)[apart] > 0)


@every_loss
@law
@given(data=st.data())
def test_conjugate_is_finite_at_the_ends_of_the_domain_and_infinite_beyond(case, data):
    y, p = data.draw(points(case))
    for end, away in zip(case.loss.domain(y), (-np.inf, np.inf), strict=True):
        finite = np.isfinite(end)
        at, beyond = np.where(finite, end, away), np.nextafter(end, away)
        assert np.all(np.isfinite(case.loss.conjugate(y, np.where(finite, at, 0 * y))))
        assert np.all(case.loss.conjugate(y, np.where(finite, beyond, 0 * y))[finite] == np.inf)
        assert np.all(case.loss.residual(y, p, np.where(finite, beyond, 0))[finite] == np.inf)
        assert np.all(case.loss.conjugate(y, np.where(finite, np.nan, 0 * y))[finite] == np.inf)


@every_loss
@settings(max_examples=4)
@given(data=st.data())
def test_conjugate_is_the_supremum_on_a_fine_grid(case, data):
    y, p = data.draw(points(case))
    end = case.loss.domain(y)[0]
    low, high = finite_slopes(case.loss, y, p)
    kinks = np.array([np.broadcast_to(k, N) for k in case.kinks])
    for g in (low, high, np.where(np.isfinite(end), end, low)):
        for i in range(N):
            one, target = case.loss.take(np.array([i])), y[i : i + 1]
            exact = [*(target * kinks[:, i] if case.loss.margin else target + kinks[:, i]), p[i]]
            grid = np.concatenate([np.linspace(-40, 40, 16001), exact])
            best = np.max(g[i] * grid - one.value(np.full(grid.shape, target), grid))
            assert best == pytest.approx(one.conjugate(target, g[i : i + 1])[0], abs=1e-4)


@every_loss
@law
@given(data=st.data())
def test_residual_is_value_plus_conjugate_minus_product(case, data):
    y, p, g = data.draw(pairs(case))
    loss = case.loss
    naive = loss.value(y, p) + loss.conjugate(y, g) - g * p
    residual = loss.residual(y, p, g)
    finite = np.isfinite(naive)
    assert np.all(finite == np.isfinite(residual))
    assert np.all(residual >= 0)
    off = np.abs(residual[finite] - naive[finite])
    assert np.all(off <= 10 * ROUNDING * _scale(loss, y, p, g)[finite])


@every_loss
def test_residual_vanishes_at_optimal_pairs_where_the_naive_form_does_not(case):
    rng = np.random.default_rng(7)
    y = rng.choice([-1.0, 1.0], N) if case.loss.margin else rng.normal(size=N)
    worst, worst_naive = 0.0, 0.0
    for _ in range(200):
        p = rng.normal(size=N) * (4 if case.name == "logistic" else 30)  # 1 - s is rounded at 30
        p = y * np.maximum(y * p, 1) if case.name == "hard-margin" else p
        g = case.loss.slopes(y, p)[0]
        g = np.where(np.isfinite(g), g, 0)
        scale = _scale(case.loss, y, p, g)
        naive = case.loss.value(y, p) + case.loss.conjugate(y, g) - g * p
        worst_naive = max(worst_naive, np.max(np.abs(naive) / scale))
        worst = max(worst, np.max(case.loss.residual(y, p, g) / scale))
    assert worst <= 1e-25
    trivial = case.name in {"hard-margin", "perceptron"}
    assert trivial or worst < worst_naive * 1e-9


@every_loss
@law
@given(data=st.data())
def test_finite_differences_lie_between_neighbouring_slopes(case, data):
    y, p = data.draw(points(case))
    loss = case.loss
    for step in (1e-3, 0.5):
        left, right = loss.value(y, p), loss.value(y, p + step)
        both = np.isfinite(left) & np.isfinite(right)
        change = np.where(both, right, 0) - np.where(both, left, 0)
        noise = 1e-12 * (1 + np.abs(np.where(both, left, 0)))
        high, low = loss.slopes(y, p)[1], loss.slopes(y, p + step)[0]
        assert np.all((high * step <= change + noise)[both])
        assert np.all((change <= low * step + noise)[both])


def test_hard_margin_has_no_finite_slope_where_the_margin_is_violated():
    case = next(c for c in CASES if c.name == "hard-margin")
    y = np.array([1.0, -1.0])
    low, high = case.loss.slopes(y, np.array([0.5, 0.5]))
    assert np.array_equal(low, [-np.inf, np.inf])
    assert np.array_equal(high, [-np.inf, np.inf])


@every_loss
@law
@given(data=st.data())
def test_slopes_jump_where_they_say_and_nowhere_else(case, data):
    y, p = data.draw(points(case))
    loss, jumps = case.loss, case.loss.jumps(y)
    for at in jumps:
        low, high = loss.slopes(y, at)
        assert np.all(low < high)
    low, high = loss.slopes(y, p)
    elsewhere = ~(jumps == p).any(axis=0)
    reached = np.isfinite(loss.value(y, p))
    assert np.all((low == high)[elsewhere & reached])
