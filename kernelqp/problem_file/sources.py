"""Where the rows of a problem file come from: itself, scikit-learn, or a file of numbers."""

from __future__ import annotations

import csv
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.data import read_features
from kernelqp.problem_file.table import (
    LIST,
    NUMBER,
    TABLE,
    TEXT,
    Table,
    is_kind,
    is_numbers,
    remedy,
    shorten,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from kernelqp._types import Matrix, Vector

SETS = ("breast_cancer", "diabetes", "digits", "iris", "wine")
GENERATORS = (
    "make_blobs",
    "make_circles",
    "make_classification",
    "make_friedman1",
    "make_friedman2",
    "make_friedman3",
    "make_gaussian_quantiles",
    "make_hastie_10_2",
    "make_moons",
    "make_regression",
    "make_s_curve",
    "make_sparse_uncorrelated",
    "make_swiss_roll",
)
FORMATS = ("csv", "svmlight")


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a source gave.

    ``X`` has shape (n, d), ``y`` (n,), ``sample_weight`` (n,) or is None; ``names`` are the texts
    that stand for the integer labels 0, 1, ... of a scikit-learn set.
    """

    X: Matrix
    y: NDArray[Any]
    sample_weight: Vector | None
    names: tuple[str, ...] = ()


def inline(table: Table) -> Rows:
    """Read X and y as they stand in the file."""
    X = table.need("X", LIST, "X = [[1, 1], [1, -1]]")
    y = table.need("y", LIST, "y = [1, -1]")
    if not X:
        raise table.error("X is empty: give at least one row")
    for i, row in enumerate(X):
        if not isinstance(row, list):
            raise table.error(
                f"X must be a list of rows; got {shorten(row)} at row {i}: write [[0], [1]] for "
                f"one feature"
            )
        if len(row) != len(X[0]):
            raise table.error(
                f"X has {len(row)} numbers in row {i} and {len(X[0])} in row 0: give every row "
                f"the same number"
            )
    with table.blamed():
        values, _ = read_features(X)
    return Rows(values, _labels(table, y), _weights(table))


def _labels(table: Table, y: list[Any]) -> NDArray[Any]:
    texts, numbers = all(is_kind(v, TEXT) for v in y), all(isinstance(v, int | float) for v in y)
    if not y or not (texts or numbers):
        raise table.error(f"y must be a list of numbers or of texts; got {shorten(y)}")
    return np.array(y)


def _weights(table: Table) -> Vector | None:
    listed = table.get("sample_weight", LIST)
    if listed is None:
        return None
    if not is_numbers(listed):
        raise table.error(f"sample_weight must be a list of finite numbers; got {shorten(listed)}")
    return np.array(listed, dtype=np.float64)


def from_sklearn(table: Table) -> Rows:
    """Load one of scikit-learn's own data sets."""
    name = table.get("sklearn", TEXT)
    if name not in SETS:
        raise table.error(f"sklearn = {name!r} is unknown: {remedy(name, SETS)}")
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    names = tuple(str(v) for v in getattr(bunch, "target_names", ()))
    return Rows(bunch.data, bunch.target, _weights(table), names)


def from_generator(table: Table) -> Rows:
    """Run one of scikit-learn's generators, with a seed, so that it is one problem."""
    from sklearn import datasets

    inner = Table(table.file, f"{table.name} generator", table.get("generator", TABLE))
    name = inner.need("name", TEXT, 'generator = { name = "make_moons", random_state = 0 }')
    if name not in GENERATORS:
        raise inner.error(f"name = {name!r} is unknown: {remedy(name, GENERATORS)}")
    make = getattr(datasets, name)
    allowed = [p for p in inspect.signature(make).parameters if not p.startswith("return")]
    inner.allow(["name", *allowed])
    if not is_kind(inner.values.get("random_state"), NUMBER):
        raise inner.error("lacks random_state, so every run would be another problem: add one")
    options = {key: value for key, value in inner.values.items() if key != "name"}
    if isinstance(options.get("n_samples"), list):
        options["n_samples"] = tuple(options["n_samples"])
    try:
        X, y = make(**options)[:2]
    except (TypeError, ValueError) as error:
        raise inner.error(f"cannot run {name}: {error}") from error
    return Rows(np.asarray(X), np.asarray(y), _weights(table))


def from_file(table: Table, folder: Path) -> Rows:
    """Read a csv or svmlight file whose path is relative to the folder."""
    path = folder / table.get("path", TEXT)
    form = table.get("format", TEXT, "csv")
    if form not in FORMATS:
        raise table.error(f"format = {form!r} is unknown: {remedy(form, FORMATS)}")
    if not path.is_file():
        raise table.error(f"path: there is no file {path}: paths are relative to the problem file")
    try:
        return _svmlight(table, path) if form == "svmlight" else _csv(table, path)
    except (UnicodeDecodeError, OSError) as error:
        raise table.error(f"path: {path} cannot be read as {form}: {error}") from error


def _svmlight(table: Table, path: Path) -> Rows:
    from sklearn.datasets import load_svmlight_file

    if "target" in table.values:
        raise table.error('has target, but svmlight puts it first in every line: remove "target"')
    try:
        X, y = load_svmlight_file(str(path))
    except ValueError as error:
        raise table.error(
            f"path: {path} is not svmlight: {error}: each line is 'label index:value ...'"
        ) from error
    return Rows(X.toarray(), y, _weights(table))


def _csv(table: Table, path: Path) -> Rows:
    """Read a csv file with a header line; sample_weight may name a column."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = [line for line in csv.reader(stream) if line]
    if len(lines) < 2:
        raise table.error(f"path: {path} needs a header line and at least one row")
    header = [name.strip() for name in lines[0]]
    for i, line in enumerate(lines[1:], start=1):
        if len(line) != len(header) or len(set(header)) < len(header):
            raise table.error(
                f"path: {path} row {i} has {len(line)} cells, the header has {len(header)} "
                f"names, {len(set(header))} of them different: give each column one name"
            )
    target = table.need("target", TEXT, f'target = "{header[-1]}", or format = "svmlight"')
    columns = {name: [line[j] for line in lines[1:]] for j, name in enumerate(header)}
    if target not in columns:
        raise table.error(f"target = {target!r} is no column of {path}: {remedy(target, header)}")
    y = _numbers_or_texts(columns.pop(target))
    weights = _weight_column(table, path, columns)
    if not columns:
        raise table.error(f"path: {path} has no column beside the target: it needs features")
    X = np.column_stack([_numbers(table, path, name, cells) for name, cells in columns.items()])
    return Rows(X, y, weights)


def _weight_column(table: Table, path: Path, columns: dict[str, list[str]]) -> Vector | None:
    name = table.values.get("sample_weight")
    if not isinstance(name, str):
        return _weights(table)
    if name not in columns:
        raise table.error(
            f"sample_weight = {name!r} is no column of {path}: {remedy(name, columns)}"
        )
    return _numbers(table, path, name, columns.pop(name))


def _numbers(table: Table, path: Path, name: str, cells: list[str]) -> Vector:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise table.error(
            f"path: {path} column {name!r}: {error}: every cell of it holds a number"
        ) from error


def _numbers_or_texts(cells: list[str]) -> NDArray[Any]:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array([cell.strip() for cell in cells])
