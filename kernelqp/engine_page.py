"""The page of a regularised risk itself: the engine's names, with an identity map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.errors import InputError
from kernelqp.formulation import Point, Written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Indices, Vector

NO_KERNEL = (
    "a risk is stated by its Gram matrix and has no kernel to see new rows with: use a method"
)


@dataclass(frozen=True, eq=False, slots=True)
class EnginePage:
    """The map of (P) or (D) of :mod:`kernelqp.fenchel` to their own risk."""

    stated: Any
    side: str
    data: None = None
    in_coefficients: bool = False
    penalised: bool = True

    def scatter(self, values: Vector) -> Vector:
        """Return the values: the engine's rows are the caller's."""
        return values

    def callers(self, rows: Indices) -> Indices:
        """Return the rows: the engine's are the caller's."""
        return rows

    def method_at(self, parameters: Mapping[str, float]) -> Any:  # noqa: ARG002
        """Return the risk: it is its own method."""
        return self.stated

    def risk(self, parameters: Mapping[str, float]) -> Any:  # noqa: ARG002
        """Return the risk."""
        return self.stated

    def scale(self, parameters: Mapping[str, float]) -> float:  # noqa: ARG002
        """Return 1: the page is the engine's own."""
        return 1.0

    def read(
        self, risk: Any, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate: the multiplier of ``prediction`` is β, that of ``balance`` θ."""
        if self.side == "dual":
            theta = multipliers.get("balance", np.zeros(0))
            return Candidate(beta=flat(values["beta"]), theta=flat(theta))
        beta, weights = flat(values.get("beta")), flat(values.get("w"))
        function = risk.function(beta=beta, weights=weights)
        return Candidate(
            beta=flat(multipliers["prediction"]),
            function=function,
            theta=flat(values.get("theta", np.zeros(0))),
        )

    def fill(self, risk: Any, point: Point) -> Written:
        """Return every variable, and the multipliers that name an engine quantity."""
        if self.side == "dual":
            return Written({"beta": point.beta}, {"balance": point.theta})
        values = {
            "w": point.function.weights,
            "beta": point.function.beta,
            "theta": point.theta,
            "p": risk.predictions(point.function, point.theta),
        }
        return Written(values, {"prediction": point.beta})

    def slack_values(self, risk: Any, point: Point) -> dict[str, Vector]:  # noqa: ARG002
        """Return none: the loss is stated as it is."""
        return {}

    def attributes(self, risk: Any, point: Point) -> tuple[dict[str, Any], dict[str, str]]:
        """Return β and, where there are any, the weights and the intercept."""
        shown: dict[str, Any] = {"beta": point.beta}
        if point.function.weights is not None:
            shown["weights"] = point.function.weights
        if risk.offset.is_intercept:
            shown["intercept"] = float(point.theta[0])
        return shown, {"weights": "this form is written in beta", "classes": "a risk has no labels"}

    def decision_function(self, point: Point, X_new: Any) -> Vector:  # noqa: ARG002
        """Raise: there is no kernel."""
        raise InputError(NO_KERNEL)

    def predict(self, point: Point, X_new: Any) -> Vector:  # noqa: ARG002
        """Raise: there is no kernel."""
        raise InputError(NO_KERNEL)


def flat(value: Any) -> Vector | None:
    """Return a cvxpy value as a vector in column order."""
    return None if value is None else np.ravel(np.asarray(value, dtype=np.float64), order="F")
