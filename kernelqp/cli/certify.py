"""`kernelqp certify MODEL DATA`: a model file of LIBSVM, or one saved by skops, with its data."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from kernelqp.certify import certify
from kernelqp.errors import InputError
from kernelqp.foreign import LibsvmModel

if TYPE_CHECKING:
    from pathlib import Path

    from kernelqp.model_certificate import ModelCertificate


def certify_files(
    model: Path,
    data: Path,
    target: str | None,
    C: float | None,
    epsilon: float | None,
    tol: float,
    nu: float | None = None,
) -> ModelCertificate:
    """Load a model and its data and bound how far it is from its optimum."""
    X, y = load_data(data, target)
    return certify(load_model(model, C, epsilon, nu), X, y, tol=tol)


def load_model(path: Path, C: float | None, epsilon: float | None, nu: float | None = None) -> Any:
    """Load a model: skops for *.skops (it runs no code of the file), else a LIBSVM text model.

    Raises
    ------
    InputError
        If the file is missing, holds types that are not trusted, or cannot be read.
    """
    if path.suffix in (".pkl", ".pickle", ".joblib"):
        raise InputError(
            f"{path}: a pickle runs code as it loads and is not opened; save the model with skops"
        )
    if path.suffix != ".skops":
        return LibsvmModel.load(path, C, epsilon, nu)
    if not (C is None and epsilon is None and nu is None):
        raise InputError(
            f"{path}: -c, -p and -n are for LIBSVM's files; a skops model holds its own C, epsilon "
            f"and nu: leave them out"
        )
    try:
        import skops.io
    except ImportError:
        raise InputError(f"{path}: models of skops need it installed: pip install skops") from None
    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    try:
        return skops.io.load(path)
    except Exception as error:  # skops raises a type of its own for what it does not trust
        raise InputError(f"{path} cannot be loaded safely: {error}") from error


def load_data(path: Path, target: str | None) -> tuple[Any, Any]:
    """Load svmlight text, or a CSV with a header line and a target column.

    Raises
    ------
    InputError
        If the file is missing or cannot be read, or a CSV's target is not named.
    """
    if not path.is_file():
        raise InputError(f"there is no data file {path}")
    try:
        if path.suffix != ".csv":
            X, y = load_svmlight_file(str(path))
            return X.toarray(), y
        with path.open(newline="", encoding="utf-8-sig") as file:
            names, *rows = [row for row in csv.reader(file) if row]
        if target not in names:
            asked = "" if target is None else f", not {target}"
            raise InputError(
                f"{path} has the columns {', '.join(names)}{asked}: name one with --target"
            )
        table = np.array(rows, dtype=str)
        labels = table[:, names.index(target)]
        X = np.delete(table, names.index(target), axis=1).astype(np.float64)
        return X, _numbers(labels)
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {error}") from error


def _numbers(values: Any) -> Any:
    """Return text as whole numbers or numbers where all of it is."""
    for kind in (np.int64, np.float64):
        try:
            return values.astype(kind)
        except ValueError:
            continue
    return values
