"""The monotone root: to the last bit on steps, and in few calls on what is continuous."""

import math

import numpy as np
import pytest

from kernelqp.roots import monotone_root


def bisected(g, low, high):
    """The least t found by halving alone."""
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (low, middle) if g(middle) >= 0 else (middle, high)
    return high


class Counted:
    def __init__(self, g):
        self.g, self.calls = g, 0

    def __call__(self, t):
        self.calls += 1
        return float(self.g(t))


def problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    kinks = np.sort(rng.normal(size=n) * 10.0 ** rng.integers(-3, 4))
    w = rng.random(n)
    return kinks, w, rng.random() * w.sum(), float(rng.normal())


def enclosing(kinks):
    reach = 2 * float(np.abs(kinks).max()) + 1e7
    return -reach, reach


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("known", [True, False])
def test_a_step_is_found_to_the_last_bit(seed, known):
    kinks, w, level, start = problem(seed)
    g = Counted(lambda t: w @ (t > kinks) - level)
    size = float(np.abs(kinks).max())
    root = monotone_root(g, start, 1.0, kinks if known else None, size)
    assert root == bisected(g.g, *enclosing(kinks))
    assert g.g(root) >= 0 > g.g(np.nextafter(root, -math.inf))


def test_known_steps_need_few_calls():
    counts = {True: [], False: []}
    for seed in range(40):
        kinks, w, level, start = problem(seed)
        for known, calls in counts.items():
            g = Counted(lambda t, k=kinks, v=w, a=level: v @ (t > k) - a)
            monotone_root(g, start, 1.0, kinks if known else None, float(np.abs(kinks).max()))
            calls.append(g.calls)
    assert np.median(counts[True]) <= 20 < np.median(counts[False])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    "shape",
    [lambda u: np.clip(u, 0.0, 0.3), np.arctan, lambda u: u + np.exp(np.minimum(u, 50.0)) - 1.0],
    ids=["clipped", "arctan", "exponential"],
)
def test_a_continuous_function_is_solved_by_secants(shape, seed):
    kinks, w, level, start = problem(seed)
    top = w @ shape(1e9 - kinks) if np.isfinite(w @ shape(1e9 - kinks)) else 1.0
    g = Counted(lambda t: w @ shape(t - kinks) - min(level, 0.3 * top))
    root = monotone_root(g, start, 1.0)
    assert root == pytest.approx(bisected(g.g, *enclosing(kinks)), rel=1e-12, abs=1e-12)
    assert g.calls <= 80


def test_where_there_is_no_root_the_last_step_is_returned():
    assert monotone_root(lambda _: -1.0, 0.0, 1.0) > 1e15
    assert monotone_root(lambda _: 1.0, 0.0, 1.0) < -1e15
    assert monotone_root(lambda _: 1.0, 0.0, 1.0, np.array([0.0, 1.0])) < -1e15


def test_a_step_at_0_is_found_without_counting_down_to_the_smallest_number():
    g = Counted(lambda t: -1.0 if t < 0 else 1.0)
    assert monotone_root(g, 3.0, 1.0) == 0.0
    assert g.calls <= 130
    root = Counted(np.cbrt)
    assert monotone_root(root, 3.0, 1.0) == pytest.approx(0.0, abs=1e-29)
    assert root.calls <= 250


def test_a_root_beyond_the_kinks_or_at_their_ends():
    kinks = np.array([0.5, 1.0, 2.0])
    for at in kinks:
        g = Counted(lambda t, at=at: -1.0 if t < at else 1.0)
        assert monotone_root(g, 9.0, 1.0, kinks, 2.0) == at
        assert g.calls <= 20
    assert monotone_root(lambda t: t - 5.0, 0.0, 1.0, kinks, 2.0) == 5.0
    assert monotone_root(lambda t: t + 5.0, 0.0, 1.0, kinks, 2.0) == -5.0


def test_coinciding_kinks_are_one_step():
    kinks = np.zeros(5)
    assert monotone_root(lambda t: -1.0 if t < 0 else 1.0, 3.0, 1.0, kinks) == 0.0
