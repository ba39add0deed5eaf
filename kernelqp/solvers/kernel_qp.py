"""The kernel QP as our own solvers hold it: rows of K on demand, the box, the columns of B.

maximise  q'β − ε'|β| − 1/2 β'(K + ridge) β    lower <= β <= upper,  B'β = d
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.centred_gram import CentredGram

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.gram import Gram
    from kernelqp.losses import Row
    from kernelqp.risk import RegularizedRisk


CHUNK = 64  # rows of K that are copied at a time


class KernelRows:
    """Rows of K; those of a kernel that is never formed are computed as they are asked for."""

    def __init__(self, gram: Gram) -> None:
        # a column of ones takes what centring does: the rows of K serve as they are
        raw = gram.base if isinstance(gram, CentredGram) else gram
        self._dense = raw.dense_matrix()
        self.diagonal = raw.diagonal
        self.means = gram.means if isinstance(gram, CentredGram) else np.zeros(raw.n)

    def row(self, i: int) -> Vector:
        """Return K_i, shape (n,)."""
        return np.asarray(self._dense[i])

    def block(self, rows: Indices) -> Matrix:
        """Return K of some rows with themselves, as a new matrix."""
        return np.asarray(self._dense[np.ix_(rows, rows)])

    def product(self, rows: Indices, values: Vector) -> Vector:
        """Return Σ_j K_j values_j over some rows, shape (n,)."""
        if 3 * rows.size > len(self._dense):
            whole = np.zeros(len(self._dense))
            whole[rows] = values
            return np.asarray(self._dense @ whole)
        found = np.zeros(len(self._dense))
        for start in range(0, rows.size, CHUNK):  # a copy that stays in the cache
            part = slice(start, start + CHUNK)
            found += values[part] @ self._dense[rows[part]]
        return found


@dataclass(eq=False, slots=True)
class Position:
    """β and the slope G = q − (K + ridge) β, which are moved together."""

    beta: Vector
    slope: Vector

    def copy(self) -> Position:
        """Return the same numbers in arrays of their own."""
        return Position(self.beta.copy(), self.slope.copy())


@dataclass(frozen=True, eq=False)
class KernelQP:
    """The problem: K by rows, the row data, and B as groups of rows with a column of ones each.

    ``groups`` is empty where there is no column; rows in no group are not tied.
    """

    kernel: KernelRows
    row: Row
    groups: tuple[Indices, ...]
    price: Vector

    @classmethod
    def of(cls, risk: RegularizedRisk) -> KernelQP | None:
        """Return the problem of a risk; None where it has no rows, or other columns."""
        row = risk.loss.row(risk.targets, risk.costs)
        basis = risk.offset.basis
        used = basis != 0
        if row is None or not ((basis == 1.0) | ~used).all() or (used.sum(axis=1) > 1).any():
            return None
        if basis.shape[1] and not used.any(axis=1).all():
            return None
        groups = tuple(np.flatnonzero(column) for column in used.T)
        kernel = KernelRows(risk.gram)
        return cls(kernel, row, groups, risk.offset.price)

    @property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        return self.kernel.diagonal

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.row.q.size)

    @cached_property
    def basis(self) -> Matrix:
        """B, shape (n, m)."""
        found = np.zeros((self.n, len(self.groups)))
        for k, group in enumerate(self.groups):
            found[group, k] = 1.0
        return found

    def at(self, beta: Vector) -> Position:
        """Return β with its slope, computed anew."""
        support = np.flatnonzero(beta)
        slope = self.row.q - self.row.ridge * beta
        if support.size:
            slope = slope - self.kernel.product(support, beta[support])
        return Position(beta.copy(), slope)

    def offset(self, beta: Vector, theta: Vector) -> Vector:
        """Return θ of the risk, whose kernel may be centred, for that of the rows of K."""
        return np.asarray(theta + self.kernel.means @ beta)
