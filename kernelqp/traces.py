"""What an algorithm did, draw by draw, in the caller's rows; and the draws that it may be given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelqp._types import Indices, Mask, Matrix, Vector
    from kernelqp.data import Data
    from kernelqp.risk import RegularizedRisk


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """What an algorithm did and where it ended; rows are the caller's.

    Attributes
    ----------
    indices : Indices, shape (m,)
        The rows in the order in which they were taken.
    acted : Mask, shape (m,)
        Which of them changed f: violations of Pegasos, mistakes of the perceptron.
    counts : integers, shape (n,)
        How often each row did.
    beta : Vector, shape (n,)
        The coefficients of f at the end.
    weights : Vector, shape (d,), or None
        f in weights, where features are explicit.
    intercept : float
        b, the weight of the constant 1; 0.0 without.
    values : Vector, shape (n,)
        f(x_i) + b at the end; NaN for rows of weight 0.
    """

    indices: Indices
    acted: Mask
    counts: NDArray[np.int64]
    beta: Vector
    weights: Vector | None
    intercept: float
    values: Vector


@dataclass(frozen=True, eq=False, slots=True)
class PegasosTrace(Trace):
    """A run of Pegasos.

    Attributes
    ----------
    steps : Indices, shape (m,)
        The step t, from 1, of every draw: rows of one batch share it.
    beta_by_step : Matrix, shape (T, n), or None
        The coefficients after every step, if they were recorded.
    weights_by_step : Matrix, shape (T, d), or None
        The weights after every step, likewise, where features are explicit.
    """

    steps: Indices
    beta_by_step: Matrix | None
    weights_by_step: Matrix | None


@dataclass(frozen=True, eq=False, slots=True)
class PerceptronTrace(Trace):
    """A run of the perceptron; f = Σ y_i counts_i k(x_i, ·).

    Attributes
    ----------
    mistakes : int
        How many were made in all.
    separated : bool
        Whether f at the end classifies every row rightly, none at 0.
    """

    mistakes: int
    separated: bool


def end_of(page: Any, risk: Any, beta: Vector, counts: Any) -> dict[str, Any]:
    """Return the fields of a Trace that say where an algorithm ended."""
    data, penalized, gram = page.data, page.intercept == "penalized", risk.gram
    weights = None if gram.factor is None else gram.weights(beta)
    return {
        "counts": in_rows(data, counts),
        "beta": data.scatter(beta),
        "weights": weights[:-1] if weights is not None and penalized else weights,
        "intercept": float(beta.sum()) if penalized else 0.0,
        "values": data.scatter(gram.matvec(beta), fill=np.nan),
    }


def in_rows(data: Data, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts of the rows in use in the caller's rows."""
    found = np.zeros(data.n, dtype=np.int64)
    found[data.rows] = counts
    return found


def read_indices(indices: Any, data: Data, dimensions: tuple[int, ...]) -> Indices:
    """Return draws of the caller's rows, shape (T,) or (T, k), as positions among the rows in use.

    Raises
    ------
    DataError
        If they are no whole numbers of that shape, or name a row that is not there or has weight 0.
    """
    found = np.asarray(indices)
    if found.dtype.kind not in "iu" or found.ndim not in dimensions or found.size == 0:
        shapes = " or ".join({1: "(T,)", 2: "(T, k)"}[d] for d in dimensions)
        raise DataError(
            f"indices must be row numbers of shape {shapes}, T >= 1; got {found.dtype} "
            f"of shape {found.shape}"
        )
    outside = (found < 0) | (found >= data.n)
    if outside.any():
        raise DataError(
            f"indices must be row numbers from 0 to {data.n - 1}; got {found[outside][0]}"
        )
    at = np.full(data.n, -1)
    at[data.rows] = np.arange(data.rows.size)
    if (at[found] < 0).any():
        raise DataError(
            f"indices hold row {found[at[found] < 0][0]}, whose weight is 0: leave it out"
        )
    return np.asarray(at[found])


def in_weights(risk: RegularizedRisk, form: str) -> bool:
    """Return whether a run in "weights", "counts" or "auto" keeps weights.

    Raises
    ------
    ParameterError
        If the form is another, or "weights" where the kernel has no explicit features.
    """
    if form not in ("auto", "weights", "counts"):
        raise ParameterError(f"form must be 'auto', 'weights' or 'counts'; got {form!r}")
    explicit = risk.gram.factor is not None
    if form == "weights" and not explicit:
        raise ParameterError("form 'weights' needs explicit features: use form='counts'")
    return explicit and form != "counts"
