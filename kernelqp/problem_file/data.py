"""The [data] table of a problem file: rows of one source, two sides, standardised columns.

Every source gives X, y and weights. Then, in this order, rows whose label is in neither `positive`
nor `negative` are dropped, and the columns are standardised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.data import read_features, read_targets, read_weights
from kernelqp.errors import DataError
from kernelqp.problem_file.sources import Rows, from_file, from_generator, from_sklearn, inline
from kernelqp.problem_file.table import BOOLEAN, LIST, Table, shorten

if TYPE_CHECKING:
    from pathlib import Path

    from kernelqp._types import Matrix

SOURCES = {
    "X": ("X", "y"),
    "sklearn": ("sklearn",),
    "path": ("path", "target", "format"),
    "generator": ("generator",),
}
COMMON = ("standardize", "positive", "negative", "sample_weight")
CHOICE = "X and y, sklearn, path or generator"


def read_data(table: Table, folder: Path, square: bool = False) -> Rows:
    """Read the [data] table; paths are relative to ``folder``.

    Parameters
    ----------
    table : Table
        The [data] table.
    folder : Path
        Where the problem file lies.
    square : bool
        Whether X is a kernel matrix: rows are dropped with their columns, nothing is standardised.

    Raises
    ------
    ProblemFileError
        If the table, a file that it names, or the numbers in it cannot be used.
    """
    source = _source(table)
    readers = {"X": inline, "sklearn": from_sklearn, "generator": from_generator}
    rows = from_file(table, folder) if source == "path" else readers[source](table)
    with table.blamed("" if source == "X" else f"{source} = {shorten(table.values[source])}: "):
        rows = _checked(rows)
    rows = _two_sides(table, rows, square)
    if table.get("standardize", BOOLEAN, default=False):
        if square:
            raise table.error("standardize does not apply to a kernel matrix: remove it")
        rows = Rows(standardize(rows.X), rows.y, rows.sample_weight)
    for array in (rows.X, rows.y, rows.sample_weight):
        if array is not None:
            array.setflags(write=False)
    return rows


def standardize(X: Matrix) -> Matrix:
    """Return X with columns of mean 0 and n standard deviation 1; a constant column becomes 0.

    Examples
    --------
    >>> standardize(np.array([[1.0, 7.0], [3.0, 7.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    constant = X.min(axis=0) == X.max(axis=0)  # the deviation of a constant 0.1 is 1e-17, not 0
    centred = np.where(constant, 0.0, X - X.mean(axis=0))
    return np.asarray(centred / np.where(constant, 1.0, X.std(axis=0)))


def _source(table: Table) -> str:
    """Return the one source that the table names, and check that no key belongs to another."""
    table.allow(key for keys in (*SOURCES.values(), COMMON) for key in keys)
    found = [source for source in SOURCES if source in table.values]
    if not found:
        raise table.error(f"has no source of rows: give {CHOICE}")
    if len(found) > 1:
        raise table.error(f"has two sources, {found[0]} and {found[1]}: give only one of {CHOICE}")
    for key in table.values:
        if key not in (*SOURCES[found[0]], *COMMON):
            raise table.error(f"has {key}, which does not go with {found[0]}: remove one of them")
    return found[0]


def _checked(rows: Rows) -> Rows:
    """Return the rows if X is finite and everything has one length, or raise DataError."""
    X, _ = read_features(rows.X)
    if len(X) != len(rows.y):
        raise DataError(f"X has {len(X)} rows, y has {len(rows.y)}: give one target per row")
    if rows.y.dtype.kind == "f":
        read_targets(rows.y)
    if rows.sample_weight is not None:
        read_weights(rows.sample_weight, len(X))
    return Rows(X, rows.y, rows.sample_weight, rows.names)


def _two_sides(table: Table, rows: Rows, square: bool) -> Rows:
    """Keep the rows of two sides; labels stay if each side has one and the positive is greater."""
    if "positive" not in table.values and "negative" not in table.values:
        return rows
    positive, negative = _side(table, "positive", rows), _side(table, "negative", rows)
    present = list(dict.fromkeys(rows.y.tolist()))
    positive = positive or [label for label in present if label not in negative]
    negative = negative or [label for label in present if label not in positive]
    shared = [label for label in positive if label in negative]
    if shared or not positive or not negative:
        what = f"label {shared[0]!r} on both sides" if shared else "every label on one side"
        raise table.error(f"positive and negative put {what}: give disjoint lists of labels")
    signs = np.array([(y in positive) * 1 - (y in negative) * 1 for y in rows.y.tolist()])
    keep = np.flatnonzero(signs)
    kept = len(positive) == len(negative) == 1 and _greater(positive[0], negative[0])
    y = rows.y[keep] if kept else signs[keep]
    X = rows.X[np.ix_(keep, keep)] if square else rows.X[keep]
    weights = rows.sample_weight
    return Rows(X, y, None if weights is None else weights[keep])


def _side(table: Table, key: str, rows: Rows) -> list[Any]:
    """Return the labels of one side as y has them; an absent side is every other label."""
    listed = table.get(key, LIST, [])
    if key in table.values and not listed:
        raise table.error(f"{key} is empty: list the labels of that side, or remove the key")
    present = sorted(set(rows.y.tolist()), key=str)
    labels = [rows.names.index(v) if v in rows.names else v for v in listed]
    for given, label in zip(listed, labels, strict=True):
        if isinstance(given, list | dict) or label not in present:
            shown = ", ".join(map(repr, [*present[:10], *rows.names]))
            raise table.error(f"{key} has {given!r}, and no row has that label: use {shown}")
    return labels


def _greater(positive: Any, negative: Any) -> bool:
    return bool(positive > negative)  # labels of one column, so of one type
