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

from kernelqp.errors import ParameterError
from kernelqp.gram import Gram, check_finite

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.kernels import Kernel

MEMORY = 512 * 2**20  # bytes of columns that are kept
CHUNK = 32 * 2**20  # bytes of a block on its way
ORIGIN = 64  # rows whose mean is the origin after centring


@dataclass(frozen=True, eq=False)
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
    _kept: dict[str, Matrix] = field(default_factory=dict, repr=False)

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

    def _keep(self, columns: Indices) -> None:
        """Keep the first columns met, as many as memory allows."""
        columns = columns[: self.memory // (8 * self.n)]
        block = np.empty((self.n, len(columns)))
        for chunk in self._chunks(len(columns)):
            block[chunk] = self._raw(chunk, columns)
        place = np.full(self.n, -1)
        place[columns] = np.arange(len(columns))
        self._kept.update(block=block, place=place)

    def matvec(self, beta: Vector) -> Vector:
        """K beta, shape (n,)."""
        support = np.flatnonzero(beta)
        if "block" not in self._kept and support.size:
            self._keep(support)
        place = self._kept.get("place", np.full(self.n, -1))[support]
        known, rest = support[place >= 0], support[place < 0]
        raw = np.zeros(self.n)
        if known.size:
            at_kept = np.zeros(self._kept["block"].shape[1])
            at_kept[place[place >= 0]] = beta[known]
            raw = self._kept["block"] @ at_kept
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

    def of_rows(self, rows: Indices) -> BlockGram:
        """Return the Gram of some of the rows, about the kernel's own origin."""
        return BlockGram.on(self.kernel, self._rows[rows], self.memory)  # type: ignore[arg-type]

    @cached_property
    def _centred(self) -> Gram:
        spread = np.linspace(0, self.n - 1, min(ORIGIN, self.n)).astype(np.intp)
        return replace(self, origin=spread)  # the kept columns are before centring: shared
