"""Sequential minimal optimisation: the rough start of the active set.

    maximise  q'β − ε'|β| − 1/2 β'(K + ridge) β    lower <= β <= upper,  B'β = d

With the slope G = q − (K + ridge) β, a step moves the pair that violates the conditions most: in
one column of B the row that gains most by rising and the one that gains most by falling; without a
column the single row that gains most. Every step keeps B'β, stays in the box and raises the gain.

Only rows of K that are there move. When they are settled to a share of what all rows violate, those
that violate most are asked for: rows that never violate never cost a row of K.

Source: Platt (1998), Fast training of SVMs using SMO; Keerthi, Shevade, Bhattacharyya & Murthy
(2001), Improvements to Platt's SMO algorithm, Neural Computation 13, 637-649; for some of the rows
at a time Joachims (1999), Making large-scale SVM learning practical.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import daxpy

if TYPE_CHECKING:
    from kernelqp._types import Mask, Vector
    from kernelqp.solvers.kernel_qp import KernelQP, Position

SETTLED = 0.3  # of what all rows violate: how far those that are there settle before more are
WATCHED = 256  # steps between two looks at the clock
SMALL = 1e-12  # of the kernel's diagonal: the least curvature of a step


class Ends:
    """What is added to G for the slope of a rise and of a fall; infinite for rows that cannot."""

    def __init__(self, qp: KernelQP, at: Position) -> None:
        row, beta = qp.row, at.beta
        self._lower, self._upper, self._eps = qp.numbers[:3]
        self.up = np.where(beta < row.upper, np.where(beta >= 0, -row.eps, row.eps), -np.inf)
        self.down = np.where(beta > row.lower, np.where(beta > 0, -row.eps, row.eps), np.inf)

    def only(self, rows: Mask) -> Ends:
        """Return the same for some of the rows; the others stay where they are."""
        some = copy(self)
        some.up, some.down = np.where(rows, self.up, -np.inf), np.where(rows, self.down, np.inf)
        return some

    def update(self, i: int, beta: float) -> None:
        """Take the new value of one row."""
        eps = self._eps[i]
        self.up[i] = (-eps if beta >= 0 else eps) if beta < self._upper[i] else -np.inf
        self.down[i] = (-eps if beta > 0 else eps) if beta > self._lower[i] else np.inf

    def room_up(self, i: int, beta: float) -> float:
        """Return how far β_i can rise on its piece."""
        return (self._upper[i] if beta >= 0 or not self._eps[i] else 0.0) - beta

    def room_down(self, i: int, beta: float) -> float:
        """Return how far β_i can fall on its piece."""
        return beta - (self._lower[i] if beta <= 0 or not self._eps[i] else 0.0)


def descend(qp: KernelQP, at: Position, stop: float, most: int) -> float:
    """Move rows in place until none violates by more than ``stop``; return the violation."""
    while True:
        ends = Ends(qp, at)
        worst, by_row = violations(qp, at, ends)
        if not worst > stop or most <= 0:
            return worst
        more = qp.kernel.fetch(by_row, at.beta)
        steps = _settle(qp, at, ends, max(stop, SETTLED * worst) if more else stop, most)
        most -= steps
        if not more and not steps:  # as far as it goes
            return worst


def violations(qp: KernelQP, at: Position, ends: Ends) -> tuple[float, Vector]:
    """Return what the worst pair, or row, violates, and what every row does at its best offset."""
    rise, fall = at.slope + ends.up, at.slope + ends.down
    if not qp.groups:
        by_row = np.maximum(rise, -fall)
        return max(float(by_row.max(initial=0.0)), 0.0), by_row
    worst, by_row = 0.0, np.full(qp.n, -np.inf)
    for group in qp.groups:
        top, bottom = float(rise[group].max()), float(fall[group].min())
        if np.isfinite(top - bottom):
            middle = 0.5 * (top + bottom)
            worst = max(worst, top - bottom)
            by_row[group] = np.maximum(rise[group] - middle, middle - fall[group])
    return worst, by_row


def _settle(qp: KernelQP, at: Position, ends: Ends, stop: float, most: int) -> int:
    """Move rows that may move until none violates by more than ``stop``; return the steps."""
    movable = qp.kernel.movable
    if not qp.groups:
        return _single(qp, at, ends.only(movable), stop, most)
    steps = 0
    for k in range(len(qp.groups)):
        rows = movable & (qp.basis[:, k] != 0)
        steps += _pairs(qp, at, ends.only(rows), stop, most - steps)
    return steps


def _pairs(qp: KernelQP, at: Position, ends: Ends, stop: float, most: int) -> int:
    """Move pairs of the rows of one column; return the number of steps.

    What :class:`Ends` does for a row is written out, for there are many steps of a few rows each.
    """
    G, beta, n = at.slope, at.beta, qp.n
    up, down, buffer = ends.up, ends.down, np.empty(n)
    lower, upper, eps, ridge, diagonal = qp.numbers
    block, place = qp.kernel.there
    for step in range(most):
        if step % WATCHED == 0:
            qp.watch.look(beta)
        np.add(G, up, buffer)
        i = int(buffer.argmax())
        best = buffer.item(i)
        np.add(G, down, buffer)
        j = int(buffer.argmin())
        violation = best - buffer.item(j)
        if not stop < violation < np.inf:
            return step
        row_i = block[place[i]] if place[i] >= 0 else qp.kernel.passing(i)
        row_j = block[place[j]] if place[j] >= 0 else qp.kernel.passing(j)
        both = diagonal[i] + diagonal[j]
        bend = max(both - 2.0 * row_i.item(j) + ridge[i] + ridge[j], SMALL * both)
        beta_i, beta_j, kink_i, kink_j = beta.item(i), beta.item(j), eps[i], eps[j]
        end_i = upper[i] if beta_i >= 0 or not kink_i else 0.0
        end_j = lower[j] if beta_j <= 0 or not kink_j else 0.0
        room_i, room_j = end_i - beta_i, beta_j - end_j
        t = min(violation / bend if bend > 0 else np.inf, room_i, room_j)
        if t == np.inf:  # nothing bends and nothing ends: the optimum is at infinity
            return step
        # an end that is reached is met exactly
        beta_i = beta[i] = end_i if t == room_i else beta_i + t
        beta_j = beta[j] = end_j if t == room_j else beta_j - t
        daxpy(row_i, G, n, -t)
        daxpy(row_j, G, n, t)
        if ridge[i] or ridge[j]:
            G[i] -= ridge[i] * t
            G[j] += ridge[j] * t
        up[i] = (-kink_i if beta_i >= 0 else kink_i) if beta_i < upper[i] else -np.inf
        down[i] = (-kink_i if beta_i > 0 else kink_i) if beta_i > lower[i] else np.inf
        up[j] = (-kink_j if beta_j >= 0 else kink_j) if beta_j < upper[j] else -np.inf
        down[j] = (-kink_j if beta_j > 0 else kink_j) if beta_j > lower[j] else np.inf
    return most


def _single(qp: KernelQP, at: Position, ends: Ends, stop: float, most: int) -> int:
    """Move one row at a time, where no column ties them."""
    G, beta = at.slope, at.beta
    bend = np.maximum(qp.diagonal + qp.row.ridge, SMALL * float(qp.diagonal.max(initial=0.0)))
    if not bend.all():
        return 0
    buffer, ridge = np.empty(qp.n), qp.numbers[3]
    block, place = qp.kernel.there
    for step in range(most):
        if step % WATCHED == 0:
            qp.watch.look(beta)
        np.add(G, ends.up, buffer)
        i = int(buffer.argmax())
        rise = buffer.item(i)
        np.add(G, ends.down, buffer)
        j = int(buffer.argmin())
        fall = -buffer.item(j)
        if not max(rise, fall) > stop:
            return step
        if rise >= fall:
            k, t = i, min(rise / bend[i], ends.room_up(i, beta.item(i)))
        else:
            k, t = j, -min(fall / bend[j], ends.room_down(j, beta.item(j)))
        beta[k] += t
        daxpy(block[place[k]] if place[k] >= 0 else qp.kernel.passing(k), G, a=-t)
        G[k] -= ridge[k] * t
        ends.update(k, beta.item(k))
    return most
