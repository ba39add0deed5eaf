"""The page of a method without a penalty: all of f is an offset, spanned by explicit features.

    minimise  Σ s_i ℓ(y_i, w'x_i + b)

The engine's problem has K = 0 and B an orthogonal basis of the span of (1, X), so that features
that coincide or are constant are no special case; of the optimal w the shortest is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.linalg

from kernelqp.certificate import Candidate
from kernelqp.data import decode
from kernelqp.errors import ParameterError
from kernelqp.formulation import Point, Written
from kernelqp.gram import Gram
from kernelqp.methods.page import KernelPage, flat, given
from kernelqp.offset import Offset
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Matrix, Vector
    from kernelqp.losses import Loss


@dataclass(frozen=True, eq=False)
class UnpenalizedPage(KernelPage):
    """The map between w, b and the offset that stands for both; ``loss`` is the engine's."""

    loss: Loss | None = None
    penalised: ClassVar[bool] = False

    def with_loss(self, loss: Loss, parameter: str) -> Self:
        """Return the page of a loss; ParameterError unless f is written in weights."""
        if self.form != "weights":
            raise ParameterError(
                f"{parameter} is no penalty: it needs explicit features and the primal in weights; "
                f"got {self.kernel!r}, form {self.form!r}"
            )
        return replace(self, loss=loss)

    @cached_property
    def _features(self) -> Matrix:
        """The features, about their means where an intercept takes those."""
        features = self.gram.factor
        assert features is not None  # checked
        return features if self.intercept == "none" else features - features.mean(axis=0)

    @cached_property
    def _span(self) -> Offset:
        """The offset of everything that the features, and the intercept, can say."""
        if self.intercept == "none":
            return Offset.spanned(self._features, constant=False)
        ones = np.ones((self.n, 1))
        return Offset.spanned(np.hstack([ones, self._features]), constant=True)

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:  # noqa: ARG002
        """Return the engine's problem."""
        assert self.loss is not None  # every method gives one
        nothing = Gram.from_factor(np.zeros((self.n, 1)))
        return RegularizedRisk(nothing, self.data.targets, self.data.weights, self.loss, self._span)

    def read(
        self,
        risk: RegularizedRisk,
        values: Mapping[str, Any],
        multipliers: Mapping[str, Any],  # noqa: ARG002  # there are none
    ) -> Candidate:
        """Return the offset that says what w and b say."""
        b = flat(values.get("b"))
        assert self.gram.factor is not None  # checked
        p = self.gram.factor @ given(values["w"]) + (0.0 if b is None else b)
        theta = risk.offset.basis.T @ p / self.n
        return Candidate(function=risk.function(weights=np.zeros(1)), theta=theta)

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:  # noqa: ARG002
        """Return w and b."""
        w, b = self._plane(point)
        return Written({"w": w, "b": b}, {})

    def _plane(self, point: Point) -> tuple[Vector, float]:
        """Return the shortest w, and b, that say what the offset says."""
        p, features = self._span.basis @ point.theta, self.gram.factor
        assert features is not None  # checked
        if self.intercept == "none":
            return np.asarray(scipy.linalg.lstsq(features, p)[0]), 0.0
        w = np.asarray(scipy.linalg.lstsq(self._features, p - p.mean())[0])
        return w, float(p.mean() - features.mean(axis=0) @ w)

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return w, b and the multipliers."""
        w, b = self._plane(point)
        fitted = risk.predictions(point.function, point.theta)
        shown: dict[str, Any] = {
            "weights": w,
            "intercept": b,
            "residuals": self.data.scatter(self.data.targets - fitted, fill=np.nan),
        }
        if self.data.classes is not None:
            shown["classes"] = self.data.classes
        return shown, {"beta": "without a penalty f is no combination of kernels: see weights"}

    def decision_function(self, point: Point, X_new: Any) -> Vector:
        """Return w'x + b at new rows, about the mean of the rows."""
        w, b = self._plane(point)
        return self.plane(X_new, w, b)

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return w'x + b, or the label that it predicts."""
        values = self.decision_function(point, X_new)
        return values if self.data.classes is None else decode(values, self.data.classes)
