"""What a reader of somebody else's model returns: a risk and a candidate, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.data import read_features, read_targets, read_weights
from kernelqp.errors import DataError, InputError

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.certificate import Candidate
    from kernelqp.risk import RegularizedRisk


OUTSIDE = 1e-5  # relative: how far a dual coefficient, maybe printed, is let out of its bounds


class UnreadableModel(InputError):
    """A model that cannot be certified; the message names it and the reason."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """One convex problem that a model claims to have solved.

    Attributes
    ----------
    name : str
        The model, and which of its problems: "SVC" or "SVC: 0 against 1".
    objective : str
        The exact objective in the library's own convention.
    risk : RegularizedRisk
        The engine's problem, on the rows that take part.
    candidate : Candidate
        What the model holds, in the risk's coordinates.
    scale : float
        The library's objective over the engine's.
    rows : Indices
        The caller's row of every row of the risk; some problems take a row twice.
    remedies : tuple of str
        What this library offers to get nearer: "raise max_iter".
    """

    name: str
    objective: str
    risk: RegularizedRisk
    candidate: Candidate
    scale: float
    rows: Indices
    remedies: tuple[str, ...] = ("raise max_iter", "lower tol")

    def __post_init__(self) -> None:
        f = self.candidate.function
        check_numbers(self.name, self.candidate.beta, self.candidate.theta)
        if f is not None:
            check_numbers(self.name, f.values, f.norm2)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """X, weights and the caller's numbering of the rows of positive weight."""

    X: Matrix
    weights: Vector
    index: Indices
    n: int

    @classmethod
    def read(cls, model: Any, X: Any, sample_weight: Any, *, keep_sparse: bool = False) -> Rows:
        """Read X as the model knows it, and the weights; a sparse X stays so if asked.

        Raises
        ------
        InputError
            If X has other features than the model was fitted on.
        """
        values, names = read_features(X, keep_sparse=keep_sparse)
        known = getattr(model, "feature_names_in_", None)
        if known is not None and names is not None and list(known) != list(names):
            raise DataError(
                f"X has the columns {', '.join(names)}, the model was fitted on "
                f"{', '.join(map(str, known))}: pass the columns of the fit, in their order"
            )
        wanted = getattr(model, "n_features_in_", values.shape[1])
        if values.shape[1] != wanted:
            raise DataError(
                f"X has {values.shape[1]} features, the model was fitted on {wanted}: "
                f"pass the data of the fit"
            )
        n = int(values.shape[0])
        weights = read_weights(sample_weight, n)
        index = np.flatnonzero(weights > 0)
        if index.size < n:
            values, weights = values[index], weights[index]
        return cls(values, weights, index, n)

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return float(self.weights.max(initial=0.0))

    def targets(self, y: Any) -> Vector:
        """Return regression targets of the rows in use."""
        _check_given(y)
        values = read_targets(y)
        self._check_length(values)
        return values[self.index]

    def labels(self, model: Any, y: Any) -> Indices:
        """Return the class of every row in use, as a position in ``model.classes_``.

        Raises
        ------
        InputError
            If a label is none of the model's.
        """
        _check_given(y)
        if np.ndim(y) > 1 and np.size(y) != self.n:
            raise DataError(f"y must have shape ({self.n},), one label a row; got {np.shape(y)}")
        classes = np.asarray(model.classes_)
        try:
            values = np.ravel(np.asarray(y))
            present, places = np.unique(values, return_inverse=True)
            if np.array_equal(present, classes) and len(values) == self.n:
                return places[self.index]
            unknown = np.setdiff1d(present, classes)
        except (TypeError, ValueError) as error:
            raise DataError(f"y holds what cannot be compared with the labels: {error}") from error
        self._check_length(values)
        if unknown.size:
            raise DataError(
                f"y holds {unknown[:1].tolist()[0]!r}, the model was fitted on {classes.tolist()}: "
                f"pass the labels of the fit"
            )
        absent = np.setdiff1d(classes, present)
        if absent.size:
            raise DataError(
                f"y lacks the class {absent[:1].tolist()[0]!r} that the model was fitted on: "
                f"pass the labels of the fit"
            )
        return np.searchsorted(classes, values)[self.index]

    def _check_length(self, values: Any) -> None:
        if len(values) != self.n:
            raise DataError(
                f"X has {self.n} rows, y has {len(values)}: pass the X and y of the fit"
            )


def check_numbers(name: str, *values: Any) -> None:
    """Refuse numbers of a model that are not finite; what is None is not there.

    Raises
    ------
    UnreadableModel
        If one is not.
    """
    if not all(np.isfinite(value).all() for value in values if value is not None):
        raise UnreadableModel(
            f"{name} cannot be certified: its coefficients are not finite, or so large that its "
            f"objective is not: the fit has failed; fit it anew"
        )


def sum_of(model: Any, sample_weight: Any) -> str:
    """Return "sum", and "sum s" where rows have a weight s, their own or that of their class."""
    weighted = sample_weight is not None or getattr(model, "class_weight", None) is not None
    return "sum s" if weighted else "sum"


def _check_given(y: Any) -> None:
    if y is None:
        raise DataError("y is missing: pass the y of the fit")


def fitted(model: Any, attribute: str) -> Any:
    """Return a fitted attribute.

    Raises
    ------
    UnreadableModel
        If the model was not fitted.
    """
    if not hasattr(model, attribute):
        raise UnreadableModel(f"{type(model).__name__} was not fitted: call fit first")
    return getattr(model, attribute)


def refuse(model: Any, reason: str) -> UnreadableModel:
    """Return the error that refuses a model by name and reason."""
    return UnreadableModel(f"{type(model).__name__} cannot be certified: {reason}")
