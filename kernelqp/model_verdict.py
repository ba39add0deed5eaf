"""What the bounds of somebody else's model say, in words, with the remedy."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.columns import largest

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.foreign import Reading
    from kernelqp.judgement import Judgement


def verdict_of(judged: Judgement, blame: Vector) -> str:
    """Say what is proved; ``blame`` is the share of every row of the caller's in the gap."""
    if not judged.attained:
        return _not_attained(judged.scale * judged.primal)
    more = " Interrupted: more may be proved in more time." if judged.interrupted else ""
    return _verdict(judged, blame) + more


def _verdict(judged: Judgement, blame: Vector) -> str:
    lower, primal, gap = (judged.scale * v for v in (judged.proved, judged.primal, judged.gap))
    noise, tol = judged.scale * judged.noise, judged.tol
    converged, best, most = (
        judged.relative <= tol,
        judged.scale * judged.best + noise,
        primal + noise,
    )
    of_the_problem = converged and gap > 2.0 * tol * lower  # small beside its scale, not beside P
    much = up(gap) if lower <= 0 or of_the_problem else f"{up(100 * gap / lower)} %"
    above = f"the objective is at most {much} above the optimum"
    if converged:
        return f"Converged: {above} (between {lower:.10g} and {most:.10g})."
    carried, d = _carried(blame[np.unique(judged.rows)]), _digits(judged.relative)
    if judged.excess > tol:
        apart = max(d, _digits(abs(best - lower) / abs(best) if best else 0.0))
        ends = f"(between {lower:.{apart}g} and {best:.{apart}g}; the model is at {primal:.{d}g})"
        return f"Not converged: {above} {ends}; {carried}{judged.remedy}."
    ends = f"(between {lower:.{d}g} and {most:.{d}g})"
    return f"Not proved: {above} {ends}; {carried}{judged.remedy}."


def _digits(relative: float) -> int:
    """Return how many digits tell two values apart that differ by so much, six at least."""
    apart = 2 - math.floor(math.log10(relative)) if 0.0 < relative < math.inf else 0
    return min(max(apart, 6), 15)


def _carried(blame: Vector) -> str:
    """Say how many rows carry most of the gap; nothing where none does."""
    order = np.sort(blame)[::-1]
    total = float(order.sum())
    if not total > 0:
        return ""
    count = int(np.searchsorted(np.cumsum(order), 0.9 * total)) + 1
    samples = "1 sample carries" if count == 1 else f"{count} samples carry"
    return f"{samples} 90 % of what the rows lack; "


def up(value: float) -> str:
    """Return two significant digits, rounded up: "at most" has to stay true."""
    rounded = float(Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(value))
    return f"{rounded:.0f}" if 100 <= rounded < 1e6 else f"{rounded:.2g}"  # no "4.9e+02"


def _not_attained(primal: float) -> str:
    """Say that there is nothing to converge to."""
    return (
        f"No optimum is attained: a plane separates the classes, rows on it allowed, and without a "
        f"penalty the loss falls for ever along it (the model is at {primal:.6g}); fit with a "
        f"finite C."
    )


def remedy_of(reading: Reading) -> str:
    """Return what to do, with the size of the features where it is out of hand."""
    factor = reading.risk.gram.factor
    size = largest(factor) if factor is not None else math.nan
    words = " or ".join(reading.remedies)
    return f"{words} (max |x| is {size:.3g})" if size > 100 and "scale" in words else words
