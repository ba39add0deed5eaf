"""The part of a prediction that carries no penalty: an intercept, or any other columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from kernelqp.arrays import owned
from kernelqp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Matrix, Vector

SPANNED = 1e-5  # of 1: how far columns may miss the constant that they are said to hold


@dataclass(frozen=True, eq=False, slots=True)
class Offset:
    """The part of a prediction that carries no penalty: Bθ, at the price d'θ.

    Parameters
    ----------
    basis : Matrix, shape (n, m)
        B, the value of every offset function at every row.
    price : Vector, shape (m,)
        d, what a unit of θ costs; 0 for an intercept.
    constant : Vector, shape (m,), or None
        The θ for which Bθ = 1 in every row, when there is one.
    """

    basis: Matrix
    price: Vector
    constant: Vector | None

    @classmethod
    def free(cls, n: int) -> Offset:
        """Return one column of ones at price 0: a free intercept."""
        return cls(np.ones((n, 1)), np.zeros(1), np.ones(1))

    @classmethod
    def none(cls, n: int) -> Offset:
        """Return no column: f passes through the origin of its space."""
        return cls(np.ones((n, 0)), np.zeros(0), None)

    @classmethod
    def spanned(cls, columns: Matrix, *, constant: bool) -> Offset:
        """Return the free offset of the functions that the columns span, in a basis of B'B = n I.

        ``constant`` says that 1 is one of them.
        """
        n, size = len(columns), np.abs(columns).max(axis=0, initial=0.0)
        u, s, _ = scipy.linalg.svd(columns / np.where(size > 0, size, 1.0), full_matrices=False)
        kept = s > max(columns.shape) * np.finfo(np.float64).eps * s.max(initial=0.0)
        basis = np.sqrt(n) * u[:, kept]
        return cls(basis, np.zeros(basis.shape[1]), basis.mean(axis=0) if constant else None)

    def __post_init__(self) -> None:
        _, m = np.shape(self.basis)
        if np.shape(self.price) != (m,):
            raise ParameterError(
                f"price must have shape ({m},) for {m} columns; got {self.price!r}"
            )
        for name in ("basis", "price", "constant"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, owned(np.asarray(value, dtype=np.float64)))
        if self.constant is not None and not _is_one(self.basis @ self.constant):
            raise ParameterError("constant must be the theta for which B theta is 1 in every row")

    @property
    def free_constant(self) -> Vector | None:
        """The θ of a constant that costs nothing, shape (m,): f may be centred against it."""
        priced = self.constant is None or float(self.price @ self.constant) != 0.0
        return None if priced else self.constant

    @property
    def is_intercept(self) -> bool:
        """Whether the offset is exactly one free intercept."""
        return self.basis.shape[1] == 1 and self.free_constant is not None

    @property
    def is_disjoint(self) -> bool:
        """Whether no row is moved by two columns: then each θ_k is a problem of its own."""
        return self.basis.shape[1] <= 1 or bool((np.count_nonzero(self.basis, axis=1) <= 1).all())


def _is_one(values: Vector) -> bool:
    """Whether every value is 1, to what columns may lose."""
    return bool((np.abs(values - 1.0) <= SPANNED).all())


def offset_of(value: object, n: int) -> Offset:
    """Return the offset that a name stands for."""
    if isinstance(value, Offset):
        if len(value.basis) != n:
            raise DataError(
                f"offset must have {n} rows like the Gram matrix; got {len(value.basis)}"
            )
        return value
    named: dict[object, Callable[[int], Offset]] = {"free": Offset.free, "none": Offset.none}
    if value not in named:
        raise ParameterError(f"offset must be 'free', 'none' or an Offset; got {value!r}")
    return named[value](n)
