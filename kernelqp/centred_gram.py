"""A dense Gram matrix about the mean of its rows, without a second matrix.

    K'_ij = K_ij − m_i − m_j + m      m_i the mean of row i, m that of all

Only for matrices that keep their figures so: those whose diagonal is not much larger than that of
K'. The matrix itself is formed where it is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.exact_sums import about_mean, sum_of_rows
from kernelqp.gram import Gram, centred_dense
from kernelqp.kernel_matrix import mirror

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector


KEEPS = 1e-2  # of the largest diagonal entry: what the centred one must have


@dataclass(frozen=True, eq=False, repr=False)
class CentredGram(Gram):
    """H K H of a dense Gram ``base``, in products."""

    base: Any = field(default=None)

    @classmethod
    def of_dense(cls, base: Gram) -> CentredGram:
        """Return H K H of a dense Gram."""
        return cls(None, None, base.psd_by_construction, base.repair, base.repair_size, base=base)

    @cached_property
    def means(self) -> Vector:
        """The mean of every row of K."""
        return np.asarray(self.base.dense_matrix().mean(axis=0))

    @cached_property
    def _formed(self) -> Gram:
        return Gram._with(self.base, centred_dense(self.base.dense_matrix()))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.base.n)

    @property
    def _array(self) -> Matrix:
        return self._formed.dense_matrix()

    def matvec(self, beta: Vector) -> Vector:
        """H K H beta, shape (n,) or (n, k) like beta."""
        if beta.ndim == 2:
            return np.column_stack([self.matvec(column) for column in beta.T])
        raw, total = self.base.matvec(beta), float(beta.sum())
        return np.asarray(raw - raw.mean() + (self.means.mean() - self.means) * total)

    def exact_matvec(self, beta: Vector) -> Vector | None:
        """H K H beta of the entries of K as they are, rounded about once if beta sums to 0."""
        found = about_mean(*sum_of_rows(self.base.dense_matrix(), beta))
        total = math.fsum(beta)
        return found - (total / self.n) * self._exact_sums if total else found

    @cached_property
    def _exact_sums(self) -> Vector:
        """The sums of the rows of K about their mean."""
        return about_mean(*sum_of_rows(self.base.dense_matrix(), np.ones(self.n)))

    def inner(self, a: Vector, b: Vector) -> float:
        """Inner product a' H K H b."""
        return float(a @ self.matvec(b))

    @property
    def summed_diagonal(self) -> Vector:
        """K_ii before centring, which is what sums are rounded by."""
        return np.asarray(self.base.diagonal)

    @cached_property
    def diagonal(self) -> Vector:
        """The diagonal, shape (n,)."""
        found = self.base.diagonal - 2.0 * self.means + self.means.mean()
        return np.asarray(np.maximum(found, 0.0))

    def submatrix(self, rows: Indices, cols: Indices | None = None) -> Matrix:
        """Return some rows and columns, as a new matrix; exactly symmetric without ``cols``."""
        columns = rows if cols is None else cols
        block: Matrix = self.base.submatrix(rows, columns)
        block -= self.means[rows][:, None]
        block -= self.means[columns] - self.means.mean()
        if cols is None:  # centring rounds K_ij and K_ji apart
            mirror(block)
        return block

    def dense_matrix(self) -> Matrix:
        """Return the matrix, formed once."""
        return self._array

    @cached_property
    def row_bounds(self) -> Vector:
        """A majorant of the rows' absolute sums; exact where the matrix has been formed."""
        return self._formed.row_bounds

    def centred(self) -> Gram:
        """Return the same: it is centred."""
        return self

    def scaled(self, t: float) -> Gram:
        """Return t H K H, formed."""
        return self._formed.scaled(t)

    def plus_constant(self, c: float = 1.0) -> Gram:
        """Return H K H + c 11', formed."""
        return self._formed.plus_constant(c)

    @cached_property
    def _thin_factor(self) -> Matrix:
        return self._formed.thin_factor()


@dataclass(frozen=True, eq=False, repr=False)
class FormedGram(Gram):
    """H K H as a matrix: its entries are known to the rounding of K, its exact products better."""

    products: Any = field(default=None)

    @property
    def summed_diagonal(self) -> Vector:
        """K_ii before centring, which is what entries are rounded by."""
        return np.asarray(self.products.summed_diagonal)

    def exact_matvec(self, beta: Vector) -> Vector | None:
        """H K H beta of the entries of K as they are, rounded about once if beta sums to 0."""
        return np.asarray(self.products.exact_matvec(beta))


def centred_gram(base: Gram) -> Gram:
    """Return the dense ``base`` about the mean of its rows, in products where they keep figures."""
    found = CentredGram.of_dense(base)
    if found.mean_diagonal >= KEEPS * float(base.diagonal.max(initial=0.0)):
        return found
    K = found.dense_matrix()
    return FormedGram(
        K, None, base.psd_by_construction, base.repair, base.repair_size, products=found
    )
