"""Arrays as they come: lists, frames, masked and sparse ones, read into float64 once."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from kernelqp.errors import DataError

EPS = float(np.finfo(np.float64).eps)
SPARSE = 0.2  # of the entries: a matrix with more of them is faster dense
LARGE = 100_000  # entries from which it matters


def precision_of(raw: object) -> float:
    """Return the unit roundoff of numbers as they come, at least that of float64."""
    dtype = np.dtype(raw.dtype if hasattr(raw, "dtype") else np.asarray(raw).dtype)
    return max(EPS, float(np.finfo(dtype).eps)) if dtype.kind == "f" else EPS


def length_of(X: Any) -> int:
    """Return the number of rows of something that has not been read yet; 0 if it does not say."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape and isinstance(shape[0], int):
        return shape[0]
    return len(X) if isinstance(X, list | tuple) else 0


def freeze(*arrays: Any) -> None:
    """Make arrays read-only; a sparse matrix has no such mark."""
    for array in arrays:
        if not scipy.sparse.issparse(array):
            array.setflags(write=False)


def as_array(raw: Any, name: str) -> NDArray[Any]:
    """Any array-like as an ndarray; sparse ones dense."""
    if raw is None:
        raise DataError(f"{name} is missing: got None")
    if scipy.sparse.issparse(raw):
        return np.asarray(raw.toarray())
    if np.ma.is_masked(raw):
        raise DataError(f"{name} has masked entries: fill or drop them")
    try:
        return np.asarray(raw)
    except ValueError as error:
        raise DataError(f"{name} is not a rectangular array: {error}") from error


def real_numbers(raw: object, name: str) -> NDArray[np.float64]:
    """Return a new C-contiguous float64 copy; text, dates and complex numbers are refused."""
    array = as_array(raw, name)
    text = array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)
    if array.dtype.kind not in "biufO" or text:
        found = "text" if text else f"dtype {array.dtype}"
        raise DataError(f"{name} must hold real numbers; got {found}: convert it first")
    try:
        with np.errstate(all="ignore"):
            return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must hold real numbers: {error}") from error


def check_finite(values: NDArray[np.float64], name: str) -> None:
    """Raise DataError that names the first entry that is not finite."""
    bad = ~np.isfinite(values)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), values.shape)
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), at, strict=False))
        raise DataError(
            f"{name} must be finite; got {float(values[at])!r} at {where}: "
            "drop such rows or fill the value in"
        )


def column(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return one column, shape (n,)."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"{name} must have shape (n,) or (n, 1); got shape {values.shape}")
    if values.size == 0:
        raise DataError(f"{name} is empty")
    return values


def stays_sparse(raw: Any) -> bool:
    """Whether a matrix is sparse, large and thin enough to be kept so."""
    if not scipy.sparse.issparse(raw) or raw.ndim != 2 or raw.dtype.kind not in "biuf":
        return False
    size = float(raw.shape[0]) * float(raw.shape[1])
    return bool(size >= LARGE and raw.nnz <= SPARSE * size)


def sparse_rows(raw: Any, name: str) -> Any:
    """Return a sparse matrix as a CSR array of float64, checked to be finite."""
    kept = scipy.sparse.csr_array(raw, dtype=np.float64, copy=True)
    kept.sum_duplicates()
    check_finite(kept.data[:, None], f"the entries of {name}")
    return kept


def one_per_row(value: Any, n: int, name: str) -> NDArray[np.float64]:
    """Return ``value`` as n finite floats, a scalar repeated."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise DataError(f"{name} must have shape ({n},) like the Gram matrix; got {array.shape}")
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite; row {int(np.argmin(np.isfinite(array)))} is not")
    return owned(array)


def owned(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array that nobody writes to: what is computed from it once stays true."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
