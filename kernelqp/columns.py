"""A few columns, dense or sparse: what the two kinds of arrays do by different names."""

from typing import Any, cast

import numpy as np
import scipy.sparse

from kernelqp._types import Matrix, Vector


def dense(A: Any) -> Matrix:
    """Return a matrix as a dense one."""
    return cast("Matrix", A.toarray() if scipy.sparse.issparse(A) else A)


def row_norms2(A: Any) -> Vector:
    """Return the squared norm of every row."""
    if scipy.sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return cast("Vector", np.einsum("ij,ij->i", A, A))


def side_by_side(A: Any, B: Matrix) -> Any:
    """Return the columns of A and of B as one matrix, sparse where A is."""
    if scipy.sparse.issparse(A):
        return scipy.sparse.hstack([A, scipy.sparse.csr_array(B)], format="csr")
    return np.hstack([A, B])


def weighted_rows(A: Any, weights: Vector) -> Any:
    """Return diag(weights) A."""
    if scipy.sparse.issparse(A):
        return scipy.sparse.diags_array(weights) @ A
    return A * weights[:, None]


def largest(A: Any) -> float:
    """Return the largest absolute value, 0 of an empty matrix."""
    values = A.data if scipy.sparse.issparse(A) else A
    return float(np.abs(values).max(initial=0.0))
