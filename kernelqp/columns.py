"""A few columns, dense or sparse: what the two kinds of arrays do by different names."""

from typing import Any, cast

import numpy as np
import scipy.sparse

from kernelqp._types import Matrix, Vector

BLOCK = 1024  # rows


def dense(A: Any) -> Matrix:
    """Return a matrix as a dense one."""
    return cast("Matrix", A.toarray() if scipy.sparse.issparse(A) else A)


def row_norms2(A: Any) -> Vector:
    """Return the squared norm of every row."""
    if scipy.sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return cast("Vector", np.einsum("ij,ij->i", A, A))


def side_by_side(A: Any, B: Matrix) -> Any:
    """Return the columns of A and of B as one matrix, sparse where A is; A itself without B."""
    if not B.shape[1]:
        return A
    if scipy.sparse.issparse(A):
        return scipy.sparse.hstack([A, scipy.sparse.csr_array(B)], format="csr")
    return np.hstack([A, B])


def weighted_rows(A: Any, weights: Vector) -> Any:
    """Return diag(weights) A."""
    if scipy.sparse.issparse(A):
        return scipy.sparse.diags_array(weights) @ A
    return A * weights[:, None]


def weighted_gram(A: Any, weights: Vector) -> Matrix:
    """Return A' diag(weights) A, weights >= 0, dense and exactly symmetric where A is dense.

    Block by block, so that the weighted rows stay in cache, and half of it is computed: H'H.
    """
    if scipy.sparse.issparse(A):
        return dense(A.T @ weighted_rows(A, weights))
    found = np.zeros((A.shape[1], A.shape[1]))
    for start in range(0, len(A), BLOCK):
        block = slice(start, start + BLOCK)
        half = A[block] * np.sqrt(weights[block, None])
        found += half.T @ half
    return found


def largest(A: Any) -> float:
    """Return the largest absolute value, 0 of an empty matrix."""
    values = A.data if scipy.sparse.issparse(A) else A
    return float(np.abs(values).max(initial=0.0))
