"""The Gram matrix of a kernel that is not formed: rows of K are computed in blocks when needed.

A dual point has a multiplier on its support vectors only, so that K β needs their rows and no
others. The rows met first are kept up to a bound on memory; the rest are computed again.

With a free intercept any origin of the feature space serves. `centred` takes the mean of a few
rows, m = Σ a_j φ(x_j), which needs their rows of K, where the mean of all would need n²:

    k'(x, z) = k(x, z) − Σ a_j k(x_j, z) − Σ a_j k(x, x_j) + Σ a_i a_j k(x_i, x_j)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.arrays import EPS
from kernelqp.errors import ParameterError
from kernelqp.gram import Gram
from kernelqp.kernel_matrix import RowsOf, check_finite, mirror, symmetric_matrix
from kernelqp.row_store import Products, RowStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.kernels import Kernel

MEMORY = 512 * 2**20  # bytes of rows that are kept
CHUNK = 32 * 2**20  # bytes of a block on its way
ORIGIN = 32  # rows whose mean is the origin after centring


def spread_over(n: int, most: int = ORIGIN) -> Indices:
    """Return a few of n rows, spread over all."""
    few = min(most, n)
    return np.arange(few) * (n - 1) // max(few - 1, 1)


@dataclass(eq=False, slots=True)
class Kept:
    """What a kernel on its rows keeps, shared with what is centred from it."""

    memory: int
    store: RowStore | None = None
    whole: Matrix | None = None
    diagonal: Vector | None = None
    rows_of: RowsOf | None = None
    products: Products = field(default_factory=Products)


@dataclass(frozen=True, eq=False, repr=False)
class BlockGram(Gram):
    """K of a bound kernel on the rows of X, shape (n, n), PSD by construction, in blocks.

    Parameters
    ----------
    kernel : Kernel
        Bound, and PSD by construction.
    X : Matrix, shape (n, d)
        The rows.
    origin : Indices, or None
        The rows whose mean in feature space is the origin; None for the kernel's own origin.
    spread : Indices, or None
        Those whose mean it is after centring; None for a few that are spread over all.
    kept : Kept
        The rows of K that are kept, before centring, and the bytes that they may take.

    Raises
    ------
    ParameterError
        If the kernel is not PSD by construction: it has to be measured, and that needs all of K.
    KernelError
        If k(x, x) is not finite in a row; then, by Cauchy and Schwarz, no other entry is.

    Examples
    --------
    >>> from kernelqp.kernels import RBF
    >>> gram = BlockGram.on(RBF(gamma=0.5), np.array([[0.0], [1.0], [2.0]]))
    >>> gram.matvec(np.array([0.0, 1.0, 0.0])).round(4)
    array([0.6065, 1.    , 0.6065])
    """

    kernel: Kernel | None = None
    X: Matrix | None = None
    origin: Indices | None = None
    spread: Indices | None = None
    kept: Kept = field(default_factory=lambda: Kept(MEMORY), repr=False)

    @classmethod
    def on(cls, kernel: Kernel, X: Matrix, memory: int = MEMORY) -> BlockGram:
        """Return the Gram of a kernel on the rows of X."""
        if not kernel.psd:
            raise ParameterError(f"{kernel!r} is not PSD by construction: use Gram.of")
        return cls(None, None, kernel=kernel, X=X, kept=Kept(memory))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs; the rows of K are computed again there."""
        state = {k: v for k, v in self.__dict__.items() if k != "_centred_matrix"}
        return state | {"kept": Kept(self.memory)}

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._rows)

    @property
    def memory(self) -> int:
        """Bytes of rows that may be kept."""
        return self.kept.memory

    @property
    def _rows(self) -> Matrix:
        assert self.X is not None  # set by ``on``
        return self.X

    @property
    def _kernel(self) -> Kernel:
        assert self.kernel is not None  # set by ``on``
        return self.kernel

    @property
    def _rows_of(self) -> RowsOf:
        if self.kept.rows_of is None:
            self.kept.rows_of = RowsOf(self._kernel, self._rows)
        return self.kept.rows_of

    @cached_property
    def middle(self) -> Indices:
        """The rows whose mean is the origin after centring."""
        return spread_over(self.n) if self.spread is None else self.spread

    # --- rows before centring ------------------------------------------------------------------

    @property
    def store(self) -> RowStore:
        """The rows of K that are kept, before centring."""
        if self.kept.store is None:
            self.kept.store = RowStore.room(self.n, self.memory // (8 * self.n))
        return self.kept.store

    @property
    def fits(self) -> bool:
        """Whether all of K may be kept."""
        return 8 * self.n**2 <= self.memory

    def limit(self, memory: int) -> None:
        """Keep rows in so many bytes from now on; those beyond are dropped."""
        kept = self.kept
        kept.memory = memory
        if kept.whole is not None and not self.fits:
            kept.whole = kept.store = None
        if kept.whole is None:
            kept.store = self.store.copied(memory // (8 * self.n))

    def share(self, other: BlockGram) -> None:
        """Copy the rows that another Gram, of the same kernel on the same rows, has kept.

        A copy: each goes on to write rows of its own. K as a whole is read-only, and serves both.
        """
        kept, whole = self.kept, other.kept.whole
        if whole is not None and self.fits:
            kept.whole, kept.store = whole, RowStore.whole(whole)
        elif kept.whole is None:
            kept.store = other.store.copied(self.memory // (8 * self.n))

    def keep(self, rows: Indices) -> None:
        """Compute and keep rows that are not yet there, as many as memory allows."""
        store = self.store
        new = store.missing(rows)[: store.free]
        if new.size:
            self._rows_of.fill(new, store.block[store.filled :][: new.size])
            store.add(new)

    def keep_for(self, beta: Vector) -> None:
        """Compute and keep the rows that K β takes, centred or not, in one go; none if known."""
        if not self.kept.products.has(beta):
            self.keep(self.needed_for(beta))

    def needed_for(self, beta: Vector) -> Indices:
        """Return the rows that K β takes, centred or not."""
        return np.flatnonzero((beta != 0) | (self.mean_of_middle != 0))

    @cached_property
    def mean_of_middle(self) -> Vector:
        """The coefficients a of the origin after centring, shape (n,)."""
        a = np.zeros(self.n)
        a[self.middle] = 1.0 / self.middle.size
        return a

    def learn(self, beta: Vector, more: BlockGram, parts: Sequence[slice]) -> None:
        """Take K β from the Gram of more rows, which keeps those of β; these are its ``parts``."""
        there = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        rows = np.flatnonzero(beta)
        self.kept.products.add(beta, more.store.part_of_product(there[rows], beta[rows], parts))

    def drop(self, rows: Indices) -> None:
        """Keep some rows no longer."""
        if self.kept.whole is None:
            self.store.drop(rows)

    def raw_row(self, i: int) -> Vector:
        """Return K_i before centring, computed anew, shape (n,)."""
        row = np.empty((1, self.n))
        self._rows_of.fill(np.array([i]), row)
        return np.asarray(row[0])

    def raw_product(self, rows: Indices, values: Vector) -> Vector:
        """Return Σ_j K_j values_j before centring, shape (n,)."""
        self.keep(rows)
        kept = self.store.place[rows] >= 0
        found = self.store.product(rows[kept], values[kept])
        if not kept.all():
            found = found + self._passing(rows[~kept], values[~kept])
        return found

    def raw_block(self, rows: Indices, columns: Indices, out: Matrix | None = None) -> Matrix:
        """Return K of some rows and columns before centring, as a new matrix or in ``out``."""
        if not self.store.missing(rows).size:
            return self.store.picked(rows, columns, out)
        found = self._computed(rows, columns)
        if out is not None:
            out[:] = found
        return found

    def _passing(self, rows: Indices, values: Vector) -> Vector:
        """Σ_j K_j values_j of rows that there is no room for, block by block."""
        out, height = np.empty(self.n), max(1, CHUNK // (8 * rows.size))
        for start in range(0, self.n, height):
            chunk = slice(start, start + height)
            out[chunk] = self._computed(chunk, rows) @ values
        return out

    def _computed(self, rows: Indices | slice, columns: Indices) -> Matrix:
        block = np.asarray(self._kernel(self._rows[rows], self._rows[columns]), dtype=np.float64)
        check_finite(block.sum(axis=1), f"kernel {self.kernel!r}")
        return block

    # --- the Gram ------------------------------------------------------------------------------

    @cached_property
    def shift(self) -> tuple[Vector, float]:
        """Σ a_j k(x_i, x_j) for every row i, and Σ a_i a_j k(x_i, x_j)."""
        if self.origin is None:
            return np.zeros(self.n), 0.0
        to_origin = self.raw_matvec(self.mean_of_middle)
        return to_origin, float(to_origin[self.origin].mean())

    def value_at_origin(self, values: Vector) -> float:
        """Return what centring takes off an f of these values: its mean over the few rows."""
        return float(values[self.middle].mean())

    def matvec(self, beta: Vector) -> Vector:
        """K beta, shape (n,) or (n, k) like beta."""
        if beta.ndim == 2:
            return np.column_stack([self.matvec(column) for column in beta.T])
        raw = self.raw_matvec(beta)
        if self.origin is None:
            return raw
        to_origin, size = self.shift
        total = float(beta.sum())
        return raw - float(raw[self.origin].mean()) + (size - to_origin) * total

    def raw_matvec(self, beta: Vector) -> Vector:
        """Return K β before centring, shape (n,), read-only."""

        def computed(beta: Vector) -> Vector:
            support = np.flatnonzero(beta)
            return self.raw_product(support, beta[support])

        return self.kept.products.of(beta, computed)

    def inner(self, a: Vector, b: Vector) -> float:
        """Inner product a' K b."""
        return float(a @ self.matvec(b))

    def balanced(self, beta: Vector) -> Vector:
        """Return the β that sums to 0 with the same f: the origin has weight 1 in all."""
        if self.origin is None:
            return super().balanced(beta)
        found = beta.copy()
        found[self.origin] -= float(beta.sum()) / self.origin.size
        return found

    @property
    def raw_diagonal(self) -> Vector:
        """k(x_i, x_i) before centring, shape (n,)."""
        if self.kept.diagonal is None:
            diagonal = np.asarray(self._kernel.diagonal(self._rows), dtype=np.float64)
            check_finite(diagonal, f"kernel {self.kernel!r}")
            self.kept.diagonal = diagonal
        return self.kept.diagonal

    @cached_property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        to_origin, size = self.shift
        return np.maximum(self.raw_diagonal - 2.0 * to_origin + size, 0.0)

    @property
    def summed_diagonal(self) -> Vector:
        """K_ii before centring, which is what products are rounded by."""
        return self.raw_diagonal

    def size_of_products(self, beta: Vector) -> float:
        """|β|'|K||β| before centring, of the entries themselves: what β'K β is summed from."""
        support = np.flatnonzero(beta)
        size, height = np.abs(beta[support]), max(1, CHUNK // (8 * max(support.size, 1)))
        found = 0.0
        for start in range(0, support.size, height):
            part = slice(start, start + height)
            block = np.abs(self.raw_block(support[part], support))
            found += float(size[part] @ (block @ size))
        return found

    @cached_property
    def row_bounds(self) -> Vector:
        """√K_ii Σ_j √K_jj >= Σ_j |K_ij|, shape (n,)."""
        root = np.sqrt(self.diagonal)
        return np.asarray(root * root.sum())

    def submatrix(self, rows: Indices, cols: Indices | None = None) -> Matrix:
        """K[rows][:, cols] as a new dense matrix; exactly symmetric where `cols` are omitted."""
        columns = rows if cols is None else cols
        block = self.raw_block(rows, columns)
        to_origin, size = self.shift
        block -= to_origin[rows][:, None]
        block -= to_origin[columns]
        block += size
        if cols is None:  # centring rounds K_ij and K_ji apart
            mirror(block)
        return block

    def dense_matrix(self) -> Matrix:
        """K in full, exactly symmetric; kept, before centring where memory allows."""
        return self._formed() if self.origin is None else self._centred_matrix

    @cached_property
    def _centred_matrix(self) -> Matrix:
        to_origin, size = self.shift
        K = self._formed() - to_origin[:, None]
        K -= to_origin
        K += size
        mirror(K)
        K.setflags(write=False)
        return K

    def _formed(self) -> Matrix:
        """K before centring; its rows are kept where memory allows."""
        if self.kept.whole is not None:
            return self.kept.whole
        room = self.store.block if len(self.store.block) == self.n else None
        if room is not None:
            self.kept.store = None  # its rows are written over, should the forming be cut short
        K = symmetric_matrix(self._kernel, self._rows, room)
        K.setflags(write=False)
        if self.fits:
            self.kept.whole, self.kept.store = K, RowStore.whole(K)
            self.kept.rows_of = None  # it has done its work
        return K

    def of_rows(self, rows: Indices, memory: int, spread: Indices | None = None) -> BlockGram:
        """Return the Gram of some of the rows, about the kernel's own origin."""
        own, kept = self._rows[rows], Kept(memory)
        return BlockGram(None, None, kernel=self.kernel, X=own, spread=spread, kept=kept)

    def whole(self) -> Gram:
        """Return K formed, as a Gram of its own."""
        K = self.dense_matrix()
        K.setflags(write=False)
        return Gram(K, None)

    def scaled(self, t: float) -> Gram:
        """Return t K, formed."""
        return self.whole().scaled(t)

    def plus_constant(self, c: float = 1.0) -> Gram:
        """Return K + c 11'."""
        from kernelqp.kernel_algebra import power_series  # knows kernels, as does whoever calls

        return BlockGram.on(power_series(self._kernel, [c, 1.0]), self._rows, self.memory)

    @cached_property
    def _thin_factor(self) -> Matrix:
        return self.whole().thin_factor()

    @cached_property
    def _centred(self) -> Gram:
        centred = replace(self, origin=self.middle)  # the kept rows are before centring: shared
        if centred.mean_diagonal <= 8 * EPS * self.raw_diagonal.max():  # a constant kernel
            return Gram.from_factor(np.zeros((self.n, 1)))
        return centred
