"""Sums of products in twice the figures: for when rounding is all that is left to prove.

Every product is kept with what its rounding lost, and so is every partial sum; the result is
A'x rounded about once, where an ordinary product loses eps Σ |a_ij| |x_i|.

Source: Ogita, Rump & Oishi (2005), Accurate sum and dot product, SIAM Journal on Scientific
Computing 26(6), 1955-1988.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector

HALVES = 134217729.0  # 2^27 + 1: splits 53 binary figures into two times 26


def sum_of_rows(rows: Matrix, x: Vector) -> tuple[Vector, Vector]:
    """Return Σ x_i rows_i, shape (r,), and what it lacks: their sum has twice the figures.

    Examples
    --------
    >>> total, lost = sum_of_rows(np.array([[1e16], [1.0], [-1e16]]), np.ones(3))
    >>> total + lost
    array([1.])
    """
    total, lost = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # then it is not finite, which says so
        for i in np.flatnonzero(x):
            product, product_lost = _product(rows[i], x[i : i + 1])
            total, sum_lost = _sum(total, product)
            lost += sum_lost + product_lost
    return total, lost


def about_mean(total: Vector, lost: Vector) -> Vector:
    """Return what ``sum_of_rows`` gave about its mean, rounded once; NaN where it overflowed.

    Examples
    --------
    >>> about_mean(np.array([1e16, 1e16]), np.array([0.5, -0.5]))
    array([ 0.5, -0.5])
    """
    if not np.isfinite(total.sum() + lost.sum()):
        return np.full_like(total, np.nan)
    mean = math.fsum([*total, *lost]) / total.size
    left = math.fsum([*total, *lost, *np.full(total.size, -mean)]) / total.size
    return np.asarray((total - mean) + (lost - left))


def _product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return a b and what rounding took from it (Dekker)."""
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    product = a * b
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _sum(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return a + b and what rounding took from it (Knuth)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _halves(a: Vector) -> tuple[Vector, Vector]:
    """Return the first and the last 26 figures (Veltkamp)."""
    scaled = HALVES * a
    first = scaled - (scaled - a)
    return first, a - first
