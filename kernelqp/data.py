"""X, y and weights as they come, read once into float64 rows that are in use.

The caller may hold lists, pandas, scipy sparse, integers, strings or read-only views. What leaves
this module is plain: `Data`, a frozen record of copies, so nothing of the caller's is changed and
no later change by the caller matters. Rows of weight 0 leave the problem here; `Data.rows` keeps
the caller's numbering. The greater of two labels is +1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelqp._types import Indices, Matrix, Vector
from kernelqp.arrays import (
    EPS,
    as_array,
    check_finite,
    column,
    freeze,
    precision_of,
    real_numbers,
    sparse_rows,
    stays_sparse,
)
from kernelqp.errors import DataError, ParameterError

ClassWeight = Mapping[Any, float] | str | None


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Two classes as signs; the greater label is +1.

    `classes`, shape (2,), holds the two original values, sorted, in their own dtype; `signs`, shape
    (n,), is -1.0 for `classes[0]` and +1.0 for `classes[1]`.

    Examples
    --------
    >>> labels = read_labels(["spam", "ham", "spam"])
    >>> labels.classes.tolist(), labels.signs
    (['ham', 'spam'], array([ 1., -1.,  1.]))
    """

    classes: NDArray[Any]
    signs: Vector

    def __post_init__(self) -> None:
        freeze(self.classes, self.signs)

    def decode(self, f: Vector) -> NDArray[Any]:
        """Original labels of decision values `f`; see `decode`."""
        return decode(f, self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The rows in use (weight > 0) of one data set; all arrays are read-only.

    Parameters
    ----------
    X : Matrix, shape (m, d)
        Features of the rows in use; the kernel matrix, shape (m, m), if that was given.
    targets : Vector, shape (m,)
        Signs -1.0 / +1.0, or regression targets, units [y].
    weights : Vector, shape (m,)
        Sample weight times class weight, dimensionless, > 0.
    rows : Indices, shape (m,)
        The caller's position of each row in use, increasing.
    n : int
        Number of rows the caller gave; m <= n.
    classes : array of shape (2,), or None
        The original labels, sorted; None for regression.
    feature_names : tuple of str, or None
        Column names of a DataFrame.
    precision : float
        Unit roundoff of a precomputed matrix: one of float32 is PSD to float32 rounding only.
    """

    X: Matrix
    targets: Vector
    weights: Vector
    rows: Indices
    n: int
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    precision: float = EPS

    def __post_init__(self) -> None:
        freeze(self.X, self.targets, self.weights, self.rows)

    def scatter(self, values: Vector, fill: float = 0.0) -> Vector:
        """Put one value per row in use at the caller's rows, `fill` elsewhere; shape (n,)."""
        out = np.full(self.n, fill, dtype=np.float64)
        out[self.rows] = values
        return out


def read_features(
    X: object, *, name: str = "X", keep_sparse: bool = False
) -> tuple[Matrix, tuple[str, ...] | None]:
    """Read X as a new C-contiguous float64 matrix, shape (n, d), with its column names.

    Lists, NumPy arrays of any real dtype and layout, DataFrames and scipy sparse matrices are
    accepted. Sparse ones are made dense, unless `keep_sparse` and they are large and mostly zeros:
    then a CSR array is returned. Column names are those of a DataFrame if all are strings.

    Raises
    ------
    DataError
        If X is not 2-D, is empty, holds something else than real numbers, or is not finite.

    Examples
    --------
    >>> read_features([[200], [100]])
    (array([[200.],
           [100.]]), None)
    """
    if keep_sparse and stays_sparse(X):
        return sparse_rows(X, name), None
    values = real_numbers(X, name)
    if values.ndim != 2:
        raise DataError(
            f"{name} must be 2-D; got shape {values.shape}: use {name}.reshape(-1, 1) for one "
            f"feature, {name}.reshape(1, -1) for one row"
        )
    if values.size == 0:
        raise DataError(f"{name} is empty: got shape {values.shape}, wanted rows and features")
    check_finite(values, name)
    columns = tuple(getattr(X, "columns", ()))
    return values, columns if columns and all(isinstance(c, str) for c in columns) else None


def read_new_features(
    X: object, d: int, feature_names: tuple[str, ...] | None = None, *, keep_sparse: bool = False
) -> Matrix:
    """Read X to predict on: `d` features, and the same column names when both sides have them.

    Raises DataError as `read_features`, and if the features are not those of the fit.
    """
    values, names = read_features(X, keep_sparse=keep_sparse)
    if values.shape[1] != d:
        raise DataError(f"X has {values.shape[1]} features, the model was fitted on {d}")
    if names is not None and feature_names is not None and names != feature_names:
        raise DataError(
            f"X has the columns {list(names)}, the model was fitted on {list(feature_names)}: "
            "give the same columns in the same order"
        )
    return values


def read_labels(y: object) -> Labels:
    """Read two classes: any two values of one kind (numbers, strings, booleans, categories ...).

    Raises
    ------
    DataError
        If y is not one column, has a missing value, mixes text and numbers, or does not hold
        exactly two classes.
    """
    values = _label_values(y)
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise DataError(f"y has labels that cannot be sorted: {error}") from error
    _check_two_classes(classes, len(values))
    return Labels(classes, np.where(codes == 1, 1.0, -1.0))


def decode(f: Vector, classes: NDArray[Any]) -> NDArray[Any]:
    """Labels of decision values: f > 0 gives the greater class, f <= 0 (a tie too) the smaller.

    Examples
    --------
    >>> decode(np.array([-2.0, 0.0, 1.0]), np.array(["a", "b"])).tolist()
    ['a', 'a', 'b']
    """
    return classes[(np.asarray(f) > 0).astype(np.intp)]


def read_targets(y: object) -> Vector:
    """Read finite real targets, shape (n,) or (n, 1), as a new Vector, units [y].

    Raises DataError if y is anything else.
    """
    values = column(real_numbers(y, "y"), "y")
    check_finite(values, "y")
    return values


def read_weights(sample_weight: object, n: int) -> Vector:
    """Read sample weights, shape (n,), finite, >= 0, not all 0; None gives ones.

    Raises DataError, with the first bad row.
    """
    if sample_weight is None:
        return np.ones(n)
    values, name = real_numbers(sample_weight, "sample_weight"), "sample_weight"
    if values.shape not in {(n,), (n, 1)}:
        raise DataError(f"{name} must have shape ({n},), one for each y; got {values.shape}")
    values = values.ravel()
    check_finite(values, name)
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        found = f"{float(values[row])!r} at row {row}"
        raise DataError(f"{name} must not be negative; got {found}: use 0 to leave a row out")
    if not values.any():
        raise DataError(f"{name} is 0 on every row: at least one must be positive")
    return values


def class_weights(class_weight: ClassWeight, labels: Labels, sample_weight: Vector) -> Vector:
    """Factor of each row, shape (n,), from the weights of its class.

        None: 1        mapping: its value, 1 if missing        "balanced": S / (2 S_class)

    with S the sum of sample weights, S_class that of the row's class. Keys are original labels.

    Raises
    ------
    ParameterError
        If `class_weight` is none of these, has an unknown key, or a value not finite and > 0.
    DataError
        If every row of a class has weight 0.
    """
    positive = labels.signs > 0
    shares = np.array([sample_weight[~positive].sum(), sample_weight[positive].sum()])
    if not shares.all():
        empty = labels.classes.tolist()[int(np.argmin(shares))]
        raise DataError(f"sample_weight is 0 on all of class {empty!r}: y needs two classes")
    if class_weight is None:
        factors = np.ones(2)
    elif isinstance(class_weight, Mapping):
        factors = _factors_by_label(class_weight, labels.classes.tolist())
    elif class_weight == "balanced":
        factors = shares.sum() / (2.0 * shares)
    else:
        raise ParameterError(f"class_weight must be None, 'balanced' or dict: {class_weight!r}")
    return factors[positive.astype(np.intp)]


def classification_data(
    X: object,
    y: object,
    sample_weight: object = None,
    class_weight: ClassWeight = None,
    square: bool = False,
    keep_sparse: bool = False,
) -> Data:
    """Read data of two classes; `square=True` when X is a precomputed kernel matrix.

    `keep_sparse=True` leaves a large X that is mostly zeros a CSR array.

    Raises
    ------
    DataError, ParameterError
        As the readers of this module, and if the lengths of X and y differ.

    Examples
    --------
    >>> data = classification_data([[0], [9], [3]], ["a", "a", "b"], sample_weight=[1, 0, 2])
    >>> data.rows, data.targets, data.weights, data.scatter(data.weights)
    (array([0, 2]), array([-1.,  1.]), array([1., 2.]), array([1., 0., 2.]))
    """
    labels = read_labels(y)
    weights = read_weights(sample_weight, len(labels.signs))
    weights = weights * class_weights(class_weight, labels, weights)
    return _rows_in_use(X, labels.signs, weights, square, labels.classes, keep_sparse)


def regression_data(
    X: object,
    y: object,
    sample_weight: object = None,
    square: bool = False,
    keep_sparse: bool = False,
) -> Data:
    """Read data with real targets; `square=True` when X is a precomputed kernel matrix.

    Raises as `classification_data`.
    """
    targets = read_targets(y)
    weights = read_weights(sample_weight, len(targets))
    return _rows_in_use(X, targets, weights, square, None, keep_sparse)


def _rows_in_use(
    X: object,
    targets: Vector,
    weights: Vector,
    square: bool,
    classes: NDArray[Any] | None,
    keep_sparse: bool,
) -> Data:
    """Read X, or the kernel matrix K, and drop the rows (of K also the columns) of weight 0."""
    name, n = "K" if square else "X", len(targets)
    values, names = read_features(X, name=name, keep_sparse=keep_sparse)
    if square and values.shape[0] != values.shape[1]:
        raise DataError(f"K (precomputed kernel) must have shape (n, n); got {values.shape}")
    if values.shape[0] != n:
        raise DataError(f"{name} has {values.shape[0]} rows, y has {n}: give one target per row")
    rows = np.flatnonzero(weights)
    if len(rows) < n:
        values = values[np.ix_(rows, rows)] if square else values[rows]
    precision = precision_of(X) if square else EPS
    names = None if square else names
    return Data(values, targets[rows], weights[rows], rows, n, classes, names, precision)


def _label_values(y: object) -> NDArray[Any]:
    """One column of labels with no missing value, all text or none."""
    listed = not hasattr(y, "dtype") and not hasattr(y, "to_numpy")
    # np.asarray([1, "a"]) is text in silence, so lists go through objects
    values = column(as_array(np.array(y, dtype=object) if listed else y, "y"), "y")
    if values.dtype.kind == "O":
        values = _from_objects(values, listed)
    kind = values.dtype.kind
    bad = ~np.isfinite(values) if kind in "fcmM" else values != values  # noqa: PLR0124
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"y must be finite; got {values[row].item()!r} at row {row}: drop the row")
    return values


def _from_objects(values: NDArray[Any], listed: bool) -> NDArray[Any]:
    """Labels held as objects: a native dtype, but text of an object array stays as it is."""
    items = values.tolist()
    for row, item in enumerate(items):
        if _is_missing(item):
            raise DataError(f"y has a missing value ({item!r}) at row {row}: drop the row")
    text = {(isinstance(item, str), isinstance(item, bytes)) for item in items}
    if len(text) > 1:
        raise DataError("y mixes text and other values: use labels of one type")
    return as_array(items, "y") if listed or text == {(False, False)} else values


def _is_missing(item: object) -> bool:
    try:
        return item is None or bool(item != item)  # noqa: PLR0124 - NaN differs from itself
    except (TypeError, ValueError):  # pandas.NA has no truth value, a list item none either
        return True


def _check_two_classes(classes: NDArray[Any], n: int) -> None:
    found = len(classes)
    if found == 2:
        return
    shown = ", ".join(map(repr, classes[:4].tolist())) + (", ..." if found > 4 else "")
    message = f"y must hold two classes; got {found} ({shown}) in {n} row{'s' * (n > 1)}: "
    if found < 2:
        raise DataError(message + "two are needed")
    if classes.dtype.kind == "f" and (classes % 1 != 0).any():
        raise DataError(message + "it looks continuous, so use a regression method")
    raise DataError(
        message + "one machine tells two classes apart: for more solve one "
        "problem for every class, that class against the rest"
    )


def _factors_by_label(class_weight: Mapping[Any, float], classes: list[Any]) -> Vector:
    unknown = [key for key in class_weight if key not in classes]
    if unknown:
        raise ParameterError(f"class_weight has the key {unknown[0]!r}; y has {classes}")
    factors = [class_weight.get(label, 1.0) for label in classes]
    for label, factor in zip(classes, factors, strict=True):
        if isinstance(factor, str | bool) or not 0 < factor < np.inf:
            raise ParameterError(f"class_weight[{label!r}] must be finite and > 0: {factor!r}")
    return np.array(factors, dtype=np.float64)
