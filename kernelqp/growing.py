"""f as an algorithm that takes one row after another builds it: in weights, or in coefficients.

f = Σ a_i k(x_i, ·)      weights: w = Σ a_i x_i, a value costs O(d), an addition O(d)
                         coefficients: f(x_1) ... f(x_n) are kept, a value costs O(1), an
                         addition O(n)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.gram import Gram


class Growing(Protocol):
    """What the algorithms ask of an f that grows from 0."""

    def at_row(self, i: int) -> float:
        """Return f(x_i)."""

    def add_row(self, i: int, amount: float) -> None:
        """Add ``amount`` k(x_i, ·)."""

    def at(self, rows: Indices | slice) -> Vector:
        """Return f at several rows."""

    def add(self, rows: Indices, amounts: Vector) -> None:
        """Add Σ amounts_i k(x_i, ·); a row may come twice."""

    def scale(self, t: float) -> None:
        """Multiply f by t."""

    def norm2(self) -> float:
        """Return ‖f‖²."""


def growing(gram: Gram, *, in_weights: bool) -> Growing:
    """Return f = 0 in the weights of explicit features, or in coefficients."""
    if not in_weights:
        return InCoefficients(gram.dense_matrix())
    return InSparseWeights(gram.inputs) if gram.is_sparse else InWeights(gram.inputs)


class InWeights:
    """f = w'x for dense features, shape (n, r)."""

    def __init__(self, features: Any) -> None:
        self.features, self.w = features, np.zeros(features.shape[1])

    def at_row(self, i: int) -> float:
        """Return w'x_i."""
        return float(self.features[i] @ self.w)

    def add_row(self, i: int, amount: float) -> None:
        """Add ``amount`` x_i."""
        self.w += amount * self.features[i]

    def at(self, rows: Indices | slice) -> Vector:
        """Return w'x at several rows."""
        return np.asarray(self.features[rows] @ self.w)

    def add(self, rows: Indices, amounts: Vector) -> None:
        """Add Σ amounts_i x_i."""
        self.w += self.features[rows].T @ amounts

    def scale(self, t: float) -> None:
        """Multiply w by t."""
        self.w *= t

    def norm2(self) -> float:
        """Return |w|²."""
        return float(self.w @ self.w)


class InSparseWeights(InWeights):
    """f = w'x for features in a CSR array: one row costs its entries that are not 0."""

    def __init__(self, features: Any) -> None:
        kept = scipy.sparse.csr_array(features)
        super().__init__(kept)
        ends = kept.indptr.tolist()
        self.parts = [slice(*pair) for pair in pairwise(ends)]
        self.columns, self.entries = kept.indices, kept.data

    def at_row(self, i: int) -> float:
        """Return w'x_i."""
        part = self.parts[i]
        return float(self.entries[part] @ self.w[self.columns[part]])

    def add_row(self, i: int, amount: float) -> None:
        """Add ``amount`` x_i."""
        part = self.parts[i]
        self.w[self.columns[part]] += amount * self.entries[part]


class InCoefficients:
    """f = Σ a_i k(x_i, ·), by its values at the rows."""

    def __init__(self, K: Any) -> None:
        self.K, self.a, self.values = K, np.zeros(len(K)), np.zeros(len(K))

    def at_row(self, i: int) -> float:
        """Return f(x_i)."""
        return float(self.values[i])

    def add_row(self, i: int, amount: float) -> None:
        """Add ``amount`` k(x_i, ·)."""
        self.a[i] += amount
        self.values += amount * self.K[i]

    def at(self, rows: Indices | slice) -> Vector:
        """Return f at several rows."""
        return np.asarray(self.values[rows])

    def add(self, rows: Indices, amounts: Vector) -> None:
        """Add Σ amounts_i k(x_i, ·)."""
        np.add.at(self.a, rows, amounts)
        self.values += amounts @ self.K[rows]

    def scale(self, t: float) -> None:
        """Multiply f by t."""
        self.a *= t
        self.values *= t

    def norm2(self) -> float:
        """Return a'K a."""
        return max(float(self.a @ self.values), 0.0)
