"""The root of a monotone function of one variable, to the last bit.

The functions here are continuous (a majorised step, the best scale), or step at known places (the
slope of a piecewise linear objective). The bracket is moved by a secant, by a step of twice its
length from the nearer end, which crosses the root of a continuous function and closes the bracket
from the other side, and by halving where these did not; known steps are found by halving their
list.

Source: Alefeld, Potra & Shi (1995), Algorithm 748, ACM Trans. Math. Softw. 21(3), 327-344.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernelqp._types import Vector

EPS = float(np.finfo(np.float64).eps)
Real = Callable[[float], float]
NEARBY = 4  # kinks away from the start that are tried first
TINY = 1e-30  # of the size of t: what is left of a bracket around 0
GROWTH = 16.0  # of the steps that enclose the root


@dataclass(slots=True)
class Bracket:
    """low < root <= high with g(low) < 0 <= g(high)."""

    low: float
    high: float
    below: float
    above: float
    tiny: float

    @property
    def middle(self) -> float:
        """The midpoint."""
        return 0.5 * (self.low + self.high)

    @property
    def closed(self) -> bool:
        """Whether no number lies between the ends, or none of any size."""
        return self.middle in (self.low, self.high) or self.high - self.low <= self.tiny

    def take(self, t: float, value: float) -> bool:
        """Move an end to t; return whether g has the same value at t as there: a step."""
        if value >= 0.0:
            same, self.high, self.above = value == self.above, t, value
        else:
            same, self.low, self.below = value == self.below, t, value
        return same

    def secant(self, reach: float) -> float:
        """Return the point at ``reach`` times the secant's step from the nearer end."""
        width = self.high - self.low
        share = -self.below / (self.above - self.below)  # of the width, from the left
        if share <= 0.5:
            return self.low + reach * share * width
        return self.high - reach * (1.0 - share) * width


def monotone_root(
    g: Real, start: float, scale: float, kinks: Vector | None = None, size: float = 0.0
) -> float:
    """Return the t where the nondecreasing g turns from negative to >= 0, to the last bit.

    Where g is 0 on an interval, any t of it.

    Parameters
    ----------
    g : callable
        Of one float.
    start : float
        Where the search begins; the closer, the fewer calls of g.
    scale : float
        The size of t; the first step is 1e-8 of it.
    kinks : Vector, sorted, optional
        Where g may step or bend; ``size`` is that of the numbers they were computed from, so that
        they are known to its rounding.

    Returns
    -------
    float
        A t with g(t) >= 0 next to one with g < 0, or with g(t) = 0; a bracket that never closes,
        where g keeps its sign, ends at the last step tried.

    Examples
    --------
    >>> monotone_root(lambda t: t**3 - 8.0, start=0.0, scale=1.0)
    2.0
    >>> monotone_root(lambda t: -1.0 if t < 0.1 else 1.0, start=5.0, scale=1.0)
    0.1
    """
    tiny = TINY * scale
    bracket = None if kinks is None or not kinks.size else _between(g, kinks, size, tiny, start)
    bracket = _enclose(g, start, scale, tiny) if bracket is None else bracket
    while not bracket.closed and bracket.above != 0.0:
        _narrow(g, bracket)
    around_zero = bracket.low < 0.0 < bracket.high
    return 0.0 if around_zero and g(0.0) >= 0.0 else bracket.high


def _between(g: Real, kinks: Vector, size: float, tiny: float, start: float) -> Bracket | None:
    """Return the bracket of two neighbouring kinks, or of one and its rounding; None outside.

    The search begins around ``start``, which is often next to the root, and goes on by halves.
    """
    width = 8.0 * EPS * max(size, float(np.abs(kinks[[0, -1]]).max()))
    past = {-1: -math.inf, len(kinks): math.inf}  # g just beyond a kink
    low, high = -1, len(kinks)
    at, step = min(int(np.searchsorted(kinks, start)), len(kinks) - 1), 1
    while high - low > 1:
        past[at] = g(kinks[at] + width)
        low, high = (low, at) if past[at] >= 0.0 else (at, high)
        open_end = step <= NEARBY and (low < 0 or high == len(kinks))
        near = (high - step if low < 0 else low + step) if open_end else (low + high) // 2
        at, step = min(max(near, low + 1), high - 1), 4 * step
    if high == len(kinks):
        return None
    left = float(kinks[low] + width) if low >= 0 else -math.inf
    edge = float(kinks[high] - width)
    value = g(edge) if edge > left else past[low]
    if value < 0.0:
        return Bracket(max(edge, left), float(kinks[high] + width), value, past[high], tiny)
    return Bracket(left, edge, past[low], value, tiny) if low >= 0 else None


def _enclose(g: Real, start: float, scale: float, tiny: float) -> Bracket:
    """Return a bracket, from steps that grow away from ``start``."""
    step, value = 1e-8 * scale, g(start)
    side = -1.0 if value >= 0.0 else 1.0
    t, near = start, value
    while math.isfinite(t) and step < 1e18 * scale:
        moved = t + side * step
        value = g(moved)
        if (value >= 0.0) != (near >= 0.0):
            low, high = sorted([(t, near), (moved, value)])
            return Bracket(low[0], high[0], low[1], high[1], tiny)
        t, near, step = moved, value, GROWTH * step
    return Bracket(t, t, near, near, tiny)


def _narrow(g: Real, bracket: Bracket) -> None:
    """Halve the bracket at least, by two secants and, where they did not, by its midpoint."""
    before = bracket.high - bracket.low
    for reach in (1.0, 2.0):
        t = bracket.secant(reach)
        if not bracket.low < t < bracket.high:
            break
        if bracket.take(t, g(t)) or bracket.above == 0.0:
            break
    if not bracket.high - bracket.low <= 0.5 * before and not bracket.closed:
        t = bracket.middle
        flat = bracket.take(t, g(t))
        while flat and not bracket.closed:  # a step function: nothing but halving finds its end
            t = bracket.middle
            flat = bracket.take(t, g(t))
