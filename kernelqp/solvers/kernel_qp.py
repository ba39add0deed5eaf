"""The kernel QP as our own solvers hold it: rows of K on demand, the box, the columns of B.

maximise  q'β − ε'|β| − 1/2 β'(K + ridge) β    lower <= β <= upper,  B'β = d
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from kernelqp.block_gram import BlockGram
from kernelqp.centred_gram import CentredGram
from kernelqp.row_store import RowStore
from kernelqp.solvers.watch import Watch

if TYPE_CHECKING:
    from kernelqp._types import Indices, Mask, Matrix, Vector
    from kernelqp.gram import Gram
    from kernelqp.losses import Row
    from kernelqp.risk import RegularizedRisk


BATCH = 64  # rows of K that are computed at a time at first
GROWS = 4  # later one in so many of those that are there


class KernelRows:
    """Rows of K; those of a kernel that is never formed are computed as they are asked for."""

    def __init__(self, gram: Gram) -> None:
        # a column of ones takes what centring does: the rows of K serve as they are
        self._blocks = gram if isinstance(gram, BlockGram) else None
        raw = gram.base if isinstance(gram, CentredGram) else gram
        self._whole = None if self._blocks else RowStore.whole(raw.dense_matrix())
        self.diagonal = self._blocks.raw_diagonal if self._blocks else raw.diagonal
        self.means = np.zeros(raw.n)  # Σ a_j k(x_i, x_j) of the origin that K is centred about
        if isinstance(gram, CentredGram):
            self.means = gram.means
        elif self._blocks:
            self.means = self._blocks.shift[0]

    @property
    def _store(self) -> RowStore:
        return self._blocks.store if self._blocks else cast("RowStore", self._whole)

    @property
    def there(self) -> tuple[Matrix, list[int]]:
        """The rows that are there, and the place of each."""
        store = self._store
        return store.block, store.place.tolist()

    def passing(self, i: int) -> Vector:
        """Return K_i of a row that there is no room for, shape (n,)."""
        return cast("BlockGram", self._blocks).raw_row(i)

    @property
    def held(self) -> Mask:
        """Which rows are there."""
        return np.asarray(self._store.place >= 0)

    @property
    def movable(self) -> Mask:
        """Which rows may move: those that are there, and all once there is no room for more."""
        return self.held | (self._store.free == 0)

    @property
    def fits(self) -> bool:
        """Whether all of K may be formed."""
        return self._blocks is None or self._blocks.fits

    def fetch(self, priority: Vector, beta: Vector) -> bool:
        """Compute rows of the highest priority > 0; return whether there were any, and room.

        Where there is none, rows without a multiplier make it, once they violate nothing.
        """
        store = self._store
        if self._blocks is None or store.filled == len(priority):
            return False
        size = max(BATCH, store.filled // GROWS)
        wanted = np.flatnonzero((store.place < 0) & (priority > 0))
        if store.free < min(size, wanted.size):
            self._blocks.drop(np.flatnonzero((store.place >= 0) & (beta == 0) & (priority <= 0)))
        if not wanted.size or not store.free:
            return False
        if wanted.size > size:
            wanted = np.sort(wanted[np.argpartition(-priority[wanted], size)[:size]])
        self._blocks.keep(wanted)
        return True

    def block(self, rows: Indices, columns: Indices, out: Matrix | None = None) -> Matrix:
        """Return K of some rows and columns, as a new matrix or in ``out``."""
        if self._blocks is not None:
            self._blocks.keep(rows)
            return self._blocks.raw_block(rows, columns, out)
        return self._store.picked(rows, columns, out)

    def triangle(self, rows: Indices, out: Matrix) -> None:
        """Write K of some rows and the same columns; below the diagonal it may stay as it was."""
        if self._blocks is not None:
            self._blocks.keep(rows)
        if self._store.missing(rows).size:
            self.block(rows, rows, out)
        else:
            self._store.triangle(rows, out)

    def of(self, beta: Vector) -> Vector:
        """Return K β, shape (n,): whoever judges this β will ask for it again."""
        if self._blocks is not None:
            return self._blocks.raw_matvec(beta)
        support = np.flatnonzero(beta)
        return self._store.product(support, beta[support])

    def product(self, rows: Indices, values: Vector) -> Vector:
        """Return Σ_j K_j values_j over some rows, shape (n,)."""
        if self._blocks is not None:
            return self._blocks.raw_product(rows, values)
        return self._store.product(rows, values)


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
    watch: Watch = field(default_factory=Watch)

    @classmethod
    def of(cls, risk: RegularizedRisk, watch: Watch | None = None) -> KernelQP | None:
        """Return the problem of a risk; None where it has no rows, or other columns."""
        row = risk.row
        basis = risk.offset.basis
        used = basis != 0
        if row is None or not ((basis == 1.0) | ~used).all() or (used.sum(axis=1) > 1).any():
            return None
        if basis.shape[1] and not used.any(axis=1).all():
            return None
        groups = tuple(np.flatnonzero(column) for column in used.T)
        kernel = KernelRows(risk.gram)
        return cls(kernel, row, groups, risk.offset.price, watch or Watch())

    @property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        return self.kernel.diagonal

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.row.q.size)

    @cached_property
    def numbers(self) -> tuple[list[float], ...]:
        """Lower, upper, eps, ridge and K_ii as plain numbers, for steps of one row or two."""
        row = self.row
        arrays = row.lower, row.upper, row.eps, row.ridge, self.diagonal
        return tuple(array.tolist() for array in arrays)

    @cached_property
    def basis(self) -> Matrix:
        """B, shape (n, m)."""
        found = np.zeros((self.n, len(self.groups)))
        for k, group in enumerate(self.groups):
            found[group, k] = 1.0
        return found

    def at(self, beta: Vector) -> Position:
        """Return β with its slope, computed anew."""
        slope = self.row.q - self.row.ridge * beta
        return Position(beta.copy(), slope - self.kernel.of(beta) if beta.any() else slope)

    def offset(self, beta: Vector, theta: Vector) -> Vector:
        """Return θ of the risk, whose kernel may be centred, for that of the rows of K."""
        return np.asarray(theta + self.kernel.means @ beta)
