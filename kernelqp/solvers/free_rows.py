"""The system of the free rows, factorised once while few of them change.

With A = K_EE + ridge_E factorised for rows E, rows P that have come since and rows Q that have gone
border it:

    [A      K_EP            I_Q] [x_E]   [b_E]
    [K_PE   K_PP + ridge_P  0  ] [x_P] = [b_P]      μ holds x_Q at 0
    [I_Q'   0               0  ] [μ  ]   [0  ]

so that a change of few rows costs their columns through the factor and a small Schur complement.

Source: Gill, Murray, Saunders & Wright (1990), A Schur-complement method for sparse quadratic
programming, in Reliable Numerical Computation, 113-138.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.linalg import lapack

from kernelqp.threads import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelqp._types import Indices, Matrix
    from kernelqp.solvers.kernel_qp import KernelQP

    Solve: TypeAlias = Callable[[Matrix], Matrix]

FEW = 8  # of so many rows one may have come or gone: more are factorised anew
JITTERS = (1e-15, 1e-13, 1e-11)  # of the trace: what a singular matrix is given on its diagonal


@dataclass(eq=False, slots=True)
class Factor:
    """A = K_EE + ridge_E, and a jitter, by Cholesky."""

    rows: Indices
    lower: Matrix

    def solve(self, b: Matrix) -> Matrix:
        """Return A⁻¹ b."""
        return np.asarray(lapack.dpotrs(self.lower, b, lower=1)[0]).reshape(b.shape)

    def forth(self, b: Matrix) -> Matrix:
        """Return L⁻¹ b, with A = L L'."""
        with ONE_THREAD.lifted(0.5 * self.rows.size * b.size):
            return np.asarray(lapack.dtrtrs(self.lower, b, lower=1)[0]).reshape(b.shape)

    def back(self, b: Matrix) -> Matrix:
        """Return L'⁻¹ b."""
        return np.asarray(lapack.dtrtrs(self.lower, b, lower=1, trans=1)[0]).reshape(b.shape)


class FreeRows:
    """Solves (K_FF + ridge_F) x = b for one set F of free rows after another."""

    def __init__(self, qp: KernelQP) -> None:
        self._qp = qp
        self._last: Factor | None = None
        self._room = np.empty(0)  # one piece of memory for every factor

    def solvers(self, rows: Indices) -> Iterator[Solve]:
        """Yield ways to solve, each surer than the one before.

        By the factor of an earlier set where few rows have changed; by a new one; with jitters.
        """
        if self._last is not None:
            change = Change.between(self._last.rows, rows, self._qp.n)
            if FEW * change.size <= self._last.rows.size:
                bordered = _bordered(self._qp, self._last, change)
                if bordered is not None:
                    yield bordered
        for jitter in (0.0, *JITTERS):
            self._last = self._factorised(rows, jitter)
            if self._last is not None:
                yield self._last.solve

    def _factorised(self, rows: Indices, jitter: float) -> Factor | None:
        """Return the factor of a set; None where it is not positive definite."""
        size, unit = rows.size, float(self._qp.diagonal.mean())
        if self._room.size < size**2:
            self._room = np.empty(int(1.1 * size**2))
        matrix = self._room[: size**2].reshape(size, size)
        self._qp.kernel.triangle(rows, matrix)
        matrix.flat[:: size + 1] += self._qp.row.ridge[rows] + jitter * size * unit
        with ONE_THREAD.lifted(size**3 / 6):
            lower, info = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        return Factor(rows, lower) if info == 0 else None


@dataclass(frozen=True, eq=False, slots=True)
class Change:
    """What sets one set of rows apart from an old one, as places in the old and in the new."""

    old_stay: Indices
    gone: Indices
    new_stay: Indices
    come: Indices
    rows: Indices

    @classmethod
    def between(cls, old: Indices, new: Indices, n: int) -> Change:
        """Return the change of one sorted set of n rows to another."""
        before, after = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        before[old] = after[new] = True
        stays, stayed = after[old], before[new]
        places = np.flatnonzero(stays), np.flatnonzero(~stays)
        return cls(*places, np.flatnonzero(stayed), np.flatnonzero(~stayed), new)

    @property
    def size(self) -> int:
        """How many rows have come or gone."""
        return int(self.come.size + self.gone.size)


def _bordered(qp: KernelQP, factor: Factor, change: Change) -> Solve | None:
    """Return the solver of a set by the factor of another; None where the border is singular."""
    old, come = factor.rows, change.rows[change.come]
    p, q = change.come.size, change.gone.size
    if p + q == 0:
        return factor.solve
    border = np.zeros((old.size, p + q), order="F")
    border[:, :p] = qp.kernel.block(come, old).T
    border[change.gone, p + np.arange(q)] = 1.0
    through = factor.forth(border)
    schur = -through.T @ through
    schur[:p, :p] += qp.kernel.block(come, come)
    schur[np.arange(p), np.arange(p)] += qp.row.ridge[come]
    lu, pivots, info = lapack.dgetrf(schur)
    if info != 0 or not np.isfinite(lu).all():
        return None

    def solve(b: Matrix) -> Matrix:
        right = np.zeros((old.size, *b.shape[1:]))
        right[change.old_stay] = b[change.new_stay]
        alone = factor.forth(right)
        left = -through.T @ alone
        left[:p] += b[change.come]
        outer = np.asarray(lapack.dgetrs(lu, pivots, left)[0]).reshape(left.shape)
        x = np.empty_like(b)
        x[change.new_stay] = factor.back(alone - through @ outer)[change.old_stay]
        x[change.come] = outer[:p]
        return x

    return solve
