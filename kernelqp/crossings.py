"""Where the fits of neighbouring quantile levels cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point at which the fit of a lower level lies above that of the next higher one.

    ``row`` is its number among the rows asked about, ``amount`` > 0 how far, in the unit of y.
    """

    lower: float
    upper: float
    row: int
    amount: float


def find_crossings(taus: tuple[float, ...], fitted: Matrix, least: float) -> tuple[Crossing, ...]:
    """Return where a column lies above the next one by more than ``least``, the largest first."""
    over = fitted[:, :-1] - fitted[:, 1:]
    rows, levels = np.nonzero(over > least)
    found = [
        Crossing(taus[t], taus[t + 1], int(i), float(over[i, t]))
        for i, t in zip(rows, levels, strict=True)
    ]
    return tuple(sorted(found, key=lambda crossing: -crossing.amount))


def least_crossing(y: Vector, tol: float) -> float:
    """Return what levels that touch may differ by: tol of the spread of y, rounding of its size."""
    spread = float(np.abs(y - np.median(y)).mean())
    return tol * spread + 1e-12 * float(np.abs(y).max())
