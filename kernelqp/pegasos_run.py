"""Pegasos, step by step: stochastic subgradient descent on a soft margin.

In the engine's unit, min 1/2 ‖f‖² + Σ c_i max(0, 1 − z_i) with 1/λ = Σ c_i, the step of length
1/(λ t) on the rows A_t, one of the B batches of an epoch, is

    f_t = (1 − 1/t) f_{t−1} + (1/t) Σ B c_i y_i k(x_i, ·)     over i in A_t with z_i < 1

so that f_t = Σ y_i c_i share_i k(x_i, ·) with share_i = B count_i/t, counting violations. After
whole epochs t = B e and count_i <= e: every share is at most 1, and β_i = y_i c_i share_i lies in
the box of the dual, exactly. A projection onto the ball multiplies f, and with it the shares; an
average of f_1 ... f_t has the average of their shares.

Source: Shalev-Shwartz, Singer, Srebro & Cotter (2011), Pegasos: primal estimated sub-gradient
solver for SVM, Mathematical Programming 127, 3-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.growing import growing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Indices, Mask, Vector
    from kernelqp.risk import RegularizedRisk

FULL = "full"  # the batch of all rows
SMALL = 0.1  # of the common factor: below it, it is multiplied in, as sums would lose figures


def epochs_of(n: int, batch: int, seed: int, epochs: int) -> Iterator[list[Any]]:
    """Yield the batches of one epoch after another: every row once, in an order drawn anew.

    There are B = ⌈n/batch⌉ of them, their sizes differ by one at most; a batch of one row is its
    number, and the full batch is the rows as they are.
    """
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        if batch >= n:
            yield [slice(None)]
        elif batch == 1:
            yield rng.permutation(n).tolist()
        else:
            yield np.array_split(rng.permutation(n), batches(n, batch))


def batches(n: int, batch: int) -> int:
    """Return B, the number of batches in an epoch."""
    return math.ceil(n / batch)


@dataclass
class _Sums:
    """What the average of the shares needs: Σ over steps of factor_t/t, and what came too late.

    A share added at step τ takes part in the steps from τ on: added · (total − total before τ).
    """

    late: Vector
    done: Vector
    total: float = 0.0


class PegasosRun:
    """The state of the algorithm after t steps.

    Parameters
    ----------
    risk : RegularizedRisk
        Hinge loss without an offset.
    share : float
        B, the number of batches in an epoch: n over the rows of one step.
    project : bool
        Whether f is projected onto the ball of radius 1/√λ = √Σ c, which holds the optimum.
    average : bool
        Whether the average of all f_t is meant, not the last.
    in_weights : bool
        Whether the steps are taken in the weights of explicit features.
    """

    def __init__(
        self,
        risk: RegularizedRisk,
        share: float,
        *,
        project: bool = False,
        average: bool = False,
        in_weights: bool = True,
    ) -> None:
        n = risk.n
        self.risk, self.share, self.project, self.average = risk, share, project, average
        self.t, self.counts = 0, np.zeros(n, dtype=np.int64)
        self._f = growing(risk.gram, in_weights=in_weights)
        self._signed = risk.targets * risk.costs
        self._radius = math.sqrt(float(risk.costs.sum()))
        self._factor = 1.0  # f_t = factor/t times what has been added up
        self._added = np.zeros(n) if project or average else None
        self._sums = _Sums(np.zeros(n), np.zeros(n))
        self._signs, self._amounts = risk.targets.tolist(), (share * self._signed).tolist()

    def step(self, rows: Any) -> Mask:
        """Take one step on a row number, several, or all (a slice); return which rows violate."""
        self.t += 1
        hit = self._step_on_one(rows) if isinstance(rows, int) else self._step_on(rows)
        if self.project and hit.any():
            self._project()
        if self.average:
            self._sums.total += self._factor / self.t
        return hit

    def _step_on_one(self, i: int) -> Mask:
        """Take a step on one row: the common case, without arrays of one entry."""
        z = self._factor * self._signs[i] * self._f.at_row(i)
        if not (self.t == 1 or z < self.t - 1):  # y f(x) < 1, both sides times t − 1
            return _MISS
        self.counts[i] += 1
        self._f.add_row(i, self._amounts[i] / self._factor)
        if self._added is not None:
            self._note(np.array([i]))
        return _HIT

    def _step_on(self, rows: Indices | slice) -> Mask:
        z = self._factor * self.risk.targets[rows] * self._f.at(rows)
        hit = np.ones(z.size, dtype=bool) if self.t == 1 else np.asarray(z < self.t - 1)
        chosen = np.arange(self.risk.n)[rows][hit]
        np.add.at(self.counts, chosen, 1)
        self._f.add(chosen, self.share * self._signed[chosen] / self._factor)
        if self._added is not None:
            self._note(chosen)
        return hit

    def _note(self, rows: Indices) -> None:
        """Keep the shares that are added, where the counts do not tell them."""
        assert self._added is not None  # asked
        amount = self.share / self._factor
        np.add.at(self._added, rows, amount)
        np.add.at(self._sums.late, rows, amount * self._sums.total)

    def _project(self) -> None:
        """Scale f into the ball; a factor that has become small is multiplied in."""
        size = self._factor * math.sqrt(self._f.norm2())
        if size > self._radius * self.t:
            self._factor *= self._radius * self.t / size
        if self._factor < SMALL and self._added is not None:
            sums = self._sums
            done = sums.done + self._added * sums.total - sums.late
            self._sums = _Sums(np.zeros_like(done), done)
            self._added *= self._factor
            self._f.scale(self._factor)
            self._factor = 1.0

    def shares(self) -> Vector:
        """Return the shares of the rows, shape (n,): β_i = y_i c_i share_i."""
        if self._added is None:
            return np.asarray(self.share * self.counts / self.t)
        sums = self._sums
        if self.average:
            return (sums.done + self._added * sums.total - sums.late) / self.t
        return np.asarray(self._factor * self._added / self.t)

    def beta(self) -> Vector:
        """Return the coefficients of f, shape (n,)."""
        return np.asarray(self._signed * self.shares())


_HIT, _MISS = np.array([True]), np.array([False])
