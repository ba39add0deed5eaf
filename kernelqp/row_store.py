"""Rows of K that were computed, kept up to a bound on memory, and products that were asked for.

Memory is taken as rows come: of a large room that is never filled nothing is used.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.threads import on_all_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelqp._types import Indices, Matrix, Vector

PART, WIDE = 64, 2048  # rows and columns that are copied at a time: a copy that stays in the cache
LARGE = 8 * 10**6  # entries of a product that is worth a second thread
SHORT = 2**18  # entries of rows that are picked from in one go: they stay in the cache
SPARSE = 3  # one row in so many: fewer are picked for a product, more are passed over whole
PRODUCTS = 5  # the origin, the page, its centred twin, the point as it came and as it was repaired


@dataclass(eq=False, slots=True)
class RowStore:
    """Rows of K in the order in which they came; ``place`` is −1 for one that is not kept."""

    block: Matrix
    place: Indices
    filled: int = 0

    @classmethod
    def room(cls, n: int, most: int) -> RowStore:
        """Return room for ``most`` rows of n entries."""
        return cls(np.empty((min(most, n), n)), np.full(n, -1))

    @classmethod
    def whole(cls, K: Matrix) -> RowStore:
        """Return all rows of a matrix that is there."""
        return cls(K, np.arange(len(K)), len(K))

    def copied(self, most: int) -> RowStore:
        """Return a store of its own with room for ``most`` rows and the first of these in it."""
        filled = min(self.filled, most)
        copy = RowStore.room(self.place.size, most)
        copy.block[:filled] = self.block[:filled]
        copy.place = np.where(self.place < filled, self.place, -1)
        copy.filled = filled
        return copy

    @property
    def free(self) -> int:
        """How many more there is room for."""
        return len(self.block) - self.filled

    def missing(self, rows: Indices) -> Indices:
        """Return those of some rows that are not kept."""
        return rows[self.place[rows] < 0]

    def add(self, rows: Indices) -> None:
        """Count rows that were written into the room that was free."""
        self.place[rows] = self.filled + np.arange(rows.size)
        self.filled += rows.size

    def drop(self, rows: Indices) -> None:
        """Make room by rows that are not needed any more."""
        self.place[rows] = -1
        stay = np.flatnonzero(self.place >= 0)
        stay = stay[np.argsort(self.place[stay])]
        for k, row in enumerate(stay):  # forwards, so that none is written over before it moved
            if self.place[row] != k:
                self.block[k] = self.block[self.place[row]]
                self.place[row] = k
        self.filled = stay.size

    def picked(self, rows: Indices, columns: Indices, out: Matrix | None = None) -> Matrix:
        """Return some columns of rows that are kept, as a new matrix or in ``out``."""
        found = np.empty((rows.size, columns.size)) if out is None else out
        if rows.size * self.place.size <= SHORT:
            return np.take(self.block[self.place[rows]], columns, axis=1, out=found, mode="clip")
        for line, place in zip(found, self.place[rows], strict=True):
            np.take(self.block[place], columns, out=line, mode="clip")  # clip: without a buffer
        return found

    def triangle(self, rows: Indices, out: Matrix) -> None:
        """Write K of rows that are kept and the same columns, on and above the diagonal or all."""
        if rows.size * self.place.size <= SHORT:
            self.picked(rows, rows, out)
            return
        for k, place in enumerate(self.place[rows]):
            np.take(self.block[place], rows[k:], out=out[k, k:], mode="clip")

    def product(self, rows: Indices, values: Vector) -> Vector:
        """Return Σ_j K_j values_j over rows that are kept, shape (n,)."""
        place = self.place[rows]
        if SPARSE * rows.size > self.filled:
            spread = np.zeros(self.filled)
            spread[place] = values
            return np.asarray(spread @ self.block[: self.filled])
        found = np.zeros(self.block.shape[1])

        def fill(columns: slice) -> None:
            for start in range(0, rows.size, PART):
                part = slice(start, start + PART)
                found[columns] += values[part] @ self.block[place[part], columns]

        wide = WIDE if rows.size * found.size >= LARGE else found.size
        on_all_cores(fill, [slice(j, j + wide) for j in range(0, found.size, wide)])
        return found

    def part_of_product(self, rows: Indices, values: Vector, parts: Sequence[slice]) -> Vector:
        """Return ranges of Σ_j K_j values_j over rows that are kept, one behind the other."""
        place = self.place[rows]
        return np.concatenate([values @ self.block[place, part] for part in parts])


@dataclass(eq=False, slots=True)
class Products:
    """The last products K β: the same β is asked about by whoever judges it, and again."""

    known: deque[tuple[Vector, Vector]] = field(default_factory=lambda: deque(maxlen=PRODUCTS))

    def has(self, beta: Vector) -> bool:
        """Whether K β is one of them."""
        return any(np.array_equal(seen, beta) for seen, _ in self.known)

    def of(self, beta: Vector, compute: Callable[[Vector], Vector]) -> Vector:
        """Return K β, read-only: one of the last, or ``compute(beta)``."""
        for seen, product in self.known:
            if np.array_equal(seen, beta):
                return product
        product = compute(beta)
        self.add(beta, product)
        return product

    def add(self, beta: Vector, product: Vector) -> None:
        """Remember K β, which becomes read-only."""
        product.setflags(write=False)
        self.known.appendleft((beta.copy(), product))
