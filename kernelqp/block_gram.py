"""The Gram matrix of a kernel that is never formed: columns are computed in blocks when needed.

A dual point has a multiplier on its support vectors only, so that K β needs their columns and no
others. The columns met first are kept up to a bound on memory; the rest are computed again.

With a free intercept any origin of the feature space serves. `centred` takes the mean of a few
rows, m = Σ a_j φ(x_j), which needs their columns, where the mean of all would need n²:

    k'(x, z) = k(x, z) − Σ a_j k(x_j, z) − Σ a_j k(x, x_j) + Σ a_i a_j k(x_i, x_j)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.arrays import EPS
from kernelqp.errors import ParameterError
from kernelqp.gram import Gram, check_finite

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.kernels import Kernel

MEMORY = 512 * 2**20  # bytes of columns that are kept
CHUNK = 32 * 2**20  # bytes of a block on its way
ORIGIN = 64  # rows whose mean is the origin after centring


@dataclass(eq=False, slots=True)
class Columns:
    """Columns of K in the order in which they came; ``place`` is −1 for one that is not kept."""

    block: Matrix
    place: Indices
    filled: int = 0

    @classmethod
    def room(cls, n: int, most: int) -> Columns:
        """Return room for ``most`` columns; memory is taken as they come."""
        return cls(np.empty((n, min(most, n)), order="F"), np.full(n, -1))

    @property
    def free(self) -> int:
        """How many more there is room for."""
        return int(self.block.shape[1]) - self.filled

    def add(self, columns: Indices) -> None:
        """Count columns that were written into the room that was free."""
        self.place[columns] = self.filled + np.arange(columns.size)
        self.filled += columns.size


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
    memory : int
        Bytes of columns that are kept.

    Raises
    ------
    ParameterError
        If the kernel is not PSD by construction: it has to be measured, and that needs all of K.

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
    memory: int = MEMORY
    _kept: dict[str, Columns] = field(default_factory=dict, repr=False)

    @classmethod
    def on(cls, kernel: Kernel, X: Matrix, memory: int = MEMORY) -> BlockGram:
        """Return the Gram of a kernel on the rows of X."""
        if not kernel.psd:
            raise ParameterError(f"{kernel!r} is not PSD by construction: use Gram.of")
        return cls(None, None, kernel=kernel, X=X, memory=memory)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._rows)

    @property
    def _rows(self) -> Matrix:
        assert self.X is not None  # set by ``on``
        return self.X

    def _raw(self, rows: Indices | slice, columns: Indices) -> Matrix:
        """k(x_i, x_j) before centring."""
        assert self.kernel is not None  # set by ``on``
        block = np.asarray(self.kernel(self._rows[rows], self._rows[columns]), dtype=np.float64)
        check_finite(block.sum(axis=1), f"kernel {self.kernel!r}")
        return block

    @cached_property
    def _shift(self) -> tuple[Vector, float]:
        """Σ a_j k(x_i, x_j) for every row i, and Σ a_i a_j k(x_i, x_j)."""
        if self.origin is None:
            return np.zeros(self.n), 0.0
        to_origin = self._product(self.origin, np.full(len(self.origin), 1.0 / len(self.origin)))
        return to_origin, float(to_origin[self.origin].mean())

    def _product(self, columns: Indices, values: Vector) -> Vector:
        """Σ_j k(x_i, x_j) values_j, block by block."""
        out = np.empty(self.n)
        for chunk in self._chunks(len(columns)):
            out[chunk] = self._raw(chunk, columns) @ values
        return out

    def _chunks(self, width: int) -> list[slice]:
        """Slices of rows whose blocks of ``width`` columns stay within CHUNK."""
        height = max(1, CHUNK // (8 * max(width, 1)))
        return [slice(i, i + height) for i in range(0, self.n, height)]

    @cached_property
    def _columns(self) -> Columns:
        """The columns kept so far; shared with what is centred from this."""
        if "columns" not in self._kept:
            self._kept["columns"] = Columns.room(self.n, self.memory // (8 * self.n))
        return self._kept["columns"]

    def _keep(self, columns: Indices) -> None:
        """Compute and keep columns that are not yet there, as many as memory allows."""
        kept = self._columns
        new = columns[kept.place[columns] < 0][: kept.free]
        if new.size:
            for chunk in self._chunks(new.size):
                kept.block[chunk, kept.filled : kept.filled + new.size] = self._raw(chunk, new)
            kept.add(new)

    def matvec(self, beta: Vector) -> Vector:
        """K beta, shape (n,) or (n, k) like beta."""
        if beta.ndim == 2:
            return np.column_stack([self.matvec(column) for column in beta.T])
        support = np.flatnonzero(beta)
        self._keep(support)
        kept = self._columns
        place = kept.place[support]
        at_kept = np.zeros(kept.filled)
        at_kept[place[place >= 0]] = beta[support[place >= 0]]
        raw, rest = kept.block[:, : kept.filled] @ at_kept, support[place < 0]
        if rest.size:
            raw = raw + self._product(rest, beta[rest])
        return self._moved(raw, float(beta.sum()))

    def _moved(self, raw: Vector, total: float) -> Vector:
        """K' β from K β and Σ β."""
        if self.origin is None:
            return raw
        to_origin, size = self._shift
        return raw - float(raw[self.origin].mean()) + (size - to_origin) * total

    def inner(self, a: Vector, b: Vector) -> float:
        """Inner product a' K b."""
        return float(a @ self.matvec(b))

    @cached_property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        assert self.kernel is not None  # set by ``on``
        to_origin, size = self._shift
        return np.maximum(self.kernel.diagonal(self._rows) - 2.0 * to_origin + size, 0.0)

    @cached_property
    def row_bounds(self) -> Vector:
        """√K_ii Σ_j √K_jj >= Σ_j |K_ij|, shape (n,)."""
        root = np.sqrt(self.diagonal)
        return np.asarray(root * root.sum())

    def submatrix(self, rows: Indices, cols: Indices | None = None) -> Matrix:
        """K[rows][:, cols] as a new dense matrix; `cols` are the same as `rows` when omitted."""
        columns = rows if cols is None else cols
        block = self._raw(rows, columns)
        to_origin, size = self._shift
        block -= to_origin[rows][:, None]
        block -= to_origin[columns]
        block += size
        return block

    def dense_matrix(self) -> Matrix:
        """K in full, at each call."""
        everyone = np.arange(self.n)
        return self.submatrix(everyone)

    def of_rows(self, rows: Indices, memory: int) -> BlockGram:
        """Return the Gram of some of the rows, about the kernel's own origin."""
        assert self.kernel is not None  # set by ``on``
        return BlockGram.on(self.kernel, self._rows[rows], memory)

    def whole(self) -> Gram:
        """Return K formed, as a Gram of its own."""
        return Gram.dense(self.dense_matrix(), psd=True)

    def scaled(self, t: float) -> Gram:
        """Return t K, formed."""
        return self.whole().scaled(t)

    def plus_constant(self, c: float = 1.0) -> Gram:
        """Return K + c 11', formed."""
        return self.whole().plus_constant(c)

    @cached_property
    def _thin_factor(self) -> Matrix:
        return self.whole().thin_factor()

    @cached_property
    def _centred(self) -> Gram:
        spread = np.linspace(0, self.n - 1, min(ORIGIN, self.n)).astype(np.intp)
        centred = replace(self, origin=spread)  # the kept columns are before centring: shared
        if centred.mean_diagonal <= 8 * EPS * np.abs(self.diagonal).max():  # a constant kernel
            return Gram.from_factor(np.zeros((self.n, 1)))
        return centred
