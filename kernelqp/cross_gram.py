"""The kernel between new points and the training rows, for prediction."""

import numpy as np

from kernelqp._types import Indices, Matrix
from kernelqp.data import read_features, read_new_features
from kernelqp.errors import DataError
from kernelqp.kernel_matrix import absolute_row_sums, check_finite
from kernelqp.kernels import Kernel
from kernelqp.repaired import is_precomputed


def cross_gram(
    kernel: Kernel,
    X_new: object,
    X_train: Matrix,
    rows: Indices,
    n: int,
    feature_names: tuple[str, ...] | None = None,
) -> Matrix:
    """k(new points, training rows in use), shape (n_new, m), units [k], for prediction.

    Parameters
    ----------
    kernel : Kernel
        Bound as at the fit.
    X_new : array-like, shape (n_new, d), or (n_new, n) for a precomputed kernel
        As the caller gave it.
    X_train : Matrix, shape (m, d)
        Training rows in use; not read for a precomputed kernel.
    rows : Indices, shape (m,)
        Their positions among the caller's training rows.
    n : int
        How many training rows the caller gave.
    feature_names : tuple of str, optional
        The training columns' names; a DataFrame with other names, or another order, is refused.

    Raises
    ------
    DataError
        If X_new cannot be read or has another number of columns than wanted.
    KernelError
        If a kernel value is not finite.

    Examples
    --------
    >>> from kernelqp.kernel_names import resolve
    >>> cross_gram(resolve("precomputed"), [[0, 2, 6, 8]], np.eye(2), np.array([1, 3]), 4)
    array([[2., 8.]])
    """
    if is_precomputed(kernel):
        K, _ = read_features(X_new, name="K")
        if K.shape[1] != n:
            raise DataError(
                f"K must have shape (n_test, n_train) = (n_test, {n}), one row for each new "
                f"point; got {K.shape}"
            )
        return K[:, rows]
    K = np.asarray(
        kernel(read_new_features(X_new, X_train.shape[1], feature_names), X_train), np.float64
    )
    check_finite(absolute_row_sums(K), f"kernel {kernel}")
    return K
