"""What w and b of a linear model stand for: features, and an intercept with a price or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.columns import dense, side_by_side
from kernelqp.foreign.reading import Reading, Rows, UnreadableModel, refuse
from kernelqp.gram import Gram
from kernelqp.offset import Offset
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.losses import Loss

LIBLINEAR = ("raise max_iter", "lower tol", "scale the features")


@dataclass(frozen=True, eq=False, slots=True)
class Design:
    """The features of f(x) = w'x + b and the place of b, the same in all problems of a model.

    ``constant`` is the t of a penalised b, whose penalty is (b/t)²/2: the weight of a feature that
    is t in every row. None leaves b to the offset.
    """

    gram: Gram
    offset: Offset
    index: Indices
    constant: float | None

    @classmethod
    def of(cls, rows: Rows, intercept: float | str) -> Design:
        """Return that of an intercept that is "free", "none", or the t of a penalised one."""
        n, free = int(rows.X.shape[0]), intercept == "free"
        offset = Offset.free(n) if free else Offset.none(n)
        if isinstance(intercept, str):
            return cls(Gram.of_features(rows.X), offset, rows.index, None)
        features = side_by_side(rows.X, np.full((n, 1), intercept))
        return cls(Gram.of_features(features), offset, rows.index, float(intercept))

    def point(self, name: str, w: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the weights and θ of w and b.

        Raises
        ------
        UnreadableModel
            If w is for more features or fewer.
        """
        check_width(name, w, self.gram.inputs.shape[1] - (self.constant is not None))
        if self.constant is not None:
            return np.append(w, b / self.constant), np.zeros(0)
        return w, np.array([b]) if self.offset.is_intercept else np.zeros(0)


def linear_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    name: str,
    objective: str,
    design: Design,
    targets: Vector,
    costs: Vector,
    loss: Loss,
    w: Vector,
    b: float,
    scale: float = 1.0,
    remedies: tuple[str, ...] = LIBLINEAR,
) -> Reading:
    """Return the reading of f(x) = w'x + b."""
    weights, theta = design.point(name, w, b)
    risk = RegularizedRisk(design.gram, targets, costs, loss, design.offset)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by name
        function, theta = risk.to_centred(risk.function(weights=weights), theta)
    candidate = Candidate(function=function, theta=theta)
    return Reading(name, objective, risk, candidate, scale, design.index, remedies)


def unpenalised_reading(  # noqa: PLR0913, PLR0917  # every argument is a part of the problem
    model: Any,
    name: str,
    objective: str,
    rows: Rows,
    targets: Vector,
    costs: Vector,
    loss: Loss,
    w: Vector,
    b: float,
    remedies: tuple[str, ...],
) -> Reading:
    """Return the reading of f(x) = w'x + b without a penalty: all of f is an offset.

    Raises
    ------
    UnreadableModel
        If the offset cannot say what the model predicts, to the figures that count.
    """
    check_width(name, w, int(rows.X.shape[1]))
    X, n = dense(rows.X), int(rows.X.shape[0])
    columns = np.column_stack([np.ones(n), X - X.mean(axis=0)]) if model.fit_intercept else X
    offset = Offset.spanned(columns, constant=bool(model.fit_intercept))
    risk = RegularizedRisk(Gram.from_factor(np.zeros((n, 1))), targets, costs, loss, offset)
    p = X @ w + b
    theta = offset.basis.T @ p / n
    if np.abs(offset.basis @ theta - p).max() > 1e-7 * np.abs(p).max():
        raise refuse(
            model,
            "its predictions are lost to rounding in features of such sizes; fit scaled ones",
        )
    function, theta = risk.to_centred(risk.function(weights=np.zeros(1)), theta)
    candidate = Candidate(function=function, theta=theta)
    return Reading(name, objective, risk, candidate, 1.0, rows.index, remedies)


def check_width(name: str, w: Vector, d: int) -> None:
    """Refuse weights for other features than the d of X.

    Raises
    ------
    UnreadableModel
        If there are more or fewer of them.
    """
    if w.size != d:
        raise UnreadableModel(
            f"{name} cannot be certified: its coef_ has {w.size} entries, X has {d} features; "
            f"pass the model as it was fitted"
        )
