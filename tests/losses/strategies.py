"""The losses under test, and draws that land on their kinks and domain ends on purpose."""

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from kernelqp.losses import (
    EpsilonInsensitive,
    HalfSquared,
    HardMargin,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Perceptron,
    Pinball,
    PowerHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

N = 6  # rows of a draw; with so many in each, few draws are enough
law = settings(max_examples=20)
# dyadic, so that a drawn p lies on its kink exactly: y + epsilon - y == epsilon
_WIDTHS = np.array([0.0, 0.5, 0.25, 2.0, 1.0, 0.125])
_LEVELS = np.array([0.0, 1.0, 0.5, 0.25, 0.75, 0.125])
_DELTAS = np.array([0.5, 1.0, 0.25, 2.0, 3.0, 0.125])


@dataclass(frozen=True)
class Case:
    """One loss; `kinks` are values of z (margin) or r, one row of N for each kind of kink."""

    name: str
    loss: Loss
    kinks: tuple[object, ...] = ()


CASES = (
    Case("hinge", Hinge(), (1.0,)),
    Case("hard-margin", HardMargin(), (1.0,)),
    Case("squared-hinge", SquaredHinge(), (1.0,)),
    Case("power-1.01", PowerHinge(1.01), (1.0,)),
    Case("power-1.5", PowerHinge(1.5), (1.0,)),
    Case("power-3", PowerHinge(3.0), (1.0,)),
    Case("perceptron", Perceptron(), (0.0,)),
    Case("logistic", Logistic(), (0.0,)),
    Case("half-squared", HalfSquared(), (0.0,)),
    Case("epsilon", EpsilonInsensitive(0.5), (0.0, 0.5, -0.5)),
    Case("epsilon-0", EpsilonInsensitive(0), (0.0,)),
    Case("epsilon-rows", EpsilonInsensitive(_WIDTHS), (0.0, _WIDTHS, -_WIDTHS)),
    Case("squared-epsilon", SquaredEpsilonInsensitive(0.5), (0.0, 0.5, -0.5)),
    Case("squared-epsilon-rows", SquaredEpsilonInsensitive(_WIDTHS), (0.0, _WIDTHS, -_WIDTHS)),
    Case("pinball", Pinball(0.25), (0.0,)),
    Case("pinball-rows", Pinball(_LEVELS), (0.0,)),
    Case("huber", Huber(0.75), (0.0, 0.75, -0.75)),
    Case("huber-rows", Huber(_DELTAS), (0.0, _DELTAS, -_DELTAS)),
)
ROW_CASES = tuple(c for c in CASES if c.loss.row(np.ones(N), np.ones(N)) is not None)
CURVED_CASES = tuple(c for c in CASES if c not in ROW_CASES)


def _vector(elements):
    return st.lists(elements, min_size=N, max_size=N).map(np.array)


def _eighths(limit):
    return st.integers(-8 * limit, 8 * limit).map(lambda k: k / 8)


def targets(case):
    """Labels for a margin loss, multiples of 1/8 otherwise."""
    return _vector(st.sampled_from([-1.0, 1.0]) if case.loss.margin else _eighths(4))


@st.composite
def predictions(draw, case, y):
    """Per row a kink, a multiple of 1/8 or any float."""
    kind = draw(_vector(st.integers(0, len(case.kinks) + 1)))
    drawn = draw(_vector(st.floats(-8, 8) | _eighths(8)))
    kinks = np.array([np.broadcast_to(k, N) for k in case.kinks])
    offset = np.choose(kind % (len(kinks) + 1), [drawn, *kinks])
    return y * offset if case.loss.margin else y + offset


def finite_slopes(loss, y, p, reach=8.0):
    """The ends of the subdifferential at p, an infinite one cut to -reach or reach."""
    return tuple(np.where(np.isfinite(e), e, np.sign(e) * reach) for e in loss.slopes(y, p))


@st.composite
def slopes_inside(draw, loss, y, p, reach=8.0):
    """Per row an end of the domain, an end of the subdifferential at p, 0, or anything between."""
    lower, upper = (np.clip(end, -reach, reach) for end in loss.domain(y))
    low, high = (np.clip(end, lower, upper) for end in finite_slopes(loss, y, p))
    share = draw(_vector(st.floats(0, 1)))
    between = np.clip(lower + share * (upper - lower), lower, upper)
    zero = np.clip(np.zeros(N), lower, upper)
    return np.choose(draw(_vector(st.integers(0, 5))), [lower, upper, low, high, between, zero])


@st.composite
def points(draw, case):
    """(y, p): targets and predictions."""
    y = draw(targets(case))
    return y, draw(predictions(case, y))


@st.composite
def pairs(draw, case):
    """(y, p, g) with g in the domain."""
    y, p = draw(points(case))
    return y, p, draw(slopes_inside(case.loss, y, p))


def magnitudes(low, high):
    """Positive rows spread evenly over powers of ten."""
    return _vector(st.floats(low, high)).map(lambda e: 10.0**e)
