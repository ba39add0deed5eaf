"""The map between the page of a least-squares method and the engine.

With residuals r = y − f(x) − b and the unit λ of the objective (value = λ · the engine's):

    weights        w, b            no constraints; β = s r/λ
    coefficients   β, b            intercept: λ(Σ α − b) (penalised)
    dual           α = s r/λ       balance: λ b
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.data import Data, classification_data, decode, regression_data
from kernelqp.errors import ParameterError
from kernelqp.formulation import Point, Written
from kernelqp.losses import HalfSquared
from kernelqp.methods.page import KernelPage, flat, given
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_MARGIN = "a regression has no margin"
ABSENT = dict.fromkeys(("slack", "geometric_margin", "distances"), NO_MARGIN)


def real_or_labels(X: Any, y: Any, sample_weight: Any, square: bool, keep_sparse: bool) -> Data:
    """Read real targets, or two labels that are text or booleans as −1 and +1."""
    kinds = {type(v) for v in np.ravel(np.asarray(y, dtype=object))}
    if kinds and all(issubclass(kind, str | bytes | bool | np.bool_) for kind in kinds):
        return classification_data(X, y, sample_weight, None, square, keep_sparse)
    return regression_data(X, y, sample_weight, square, keep_sparse)


@dataclass(frozen=True, eq=False)
class LeastSquaresPage(KernelPage):
    """The page of regularised least squares, λ > 0."""

    @classmethod
    def read_data(
        cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str
    ) -> LeastSquaresPage:
        """Read X, y and the weights."""
        return cls.read_rows(
            method,
            form,
            ("weights", "coefficients"),
            lambda square, sparse: real_or_labels(X, y, sample_weight, square, sparse),
        )

    def scale(self, parameters: Mapping[str, float]) -> float:
        """Return λ."""
        return parameters["lam"]

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem, the costs s/λ."""
        lam = parameters["lam"]
        if not lam > 0:
            raise ParameterError(
                f"lam must be > 0 on this page; got {lam!r}: lam=0 is a page of its own, "
                f"RegularizedLeastSquares(lam=0).primal(X, y)"
            )
        with np.errstate(over="ignore"):
            costs = self.data.weights / lam
        if not np.isfinite(costs).all():
            raise ParameterError(f"lam = {lam!r} is too small: 1/lam is no number; use lam=0")
        return RegularizedRisk(
            self.engine_gram, self.data.targets, costs, HalfSquared(), self.offset
        )

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        free = self.intercept == "free"
        if self.form == "dual":
            lam, balance = self._lam(risk), flat(multipliers.get("balance"))
            theta = balance / lam if free and balance is not None else None
            return Candidate(beta=given(values["alpha"]), theta=theta)
        b = flat(values.get("b"))
        function = self.function_of(risk, values)
        theta = b if free else None
        found = np.zeros(0) if theta is None else theta
        beta = risk.costs * (self.data.targets - risk.predictions(function, found))
        return Candidate(beta=beta, function=function, theta=theta)

    def _lam(self, risk: RegularizedRisk) -> float:
        return float(self.data.weights[0] / risk.costs[0])

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        lam = self._lam(risk)
        if self.form == "dual":
            balance = {"balance": lam * point.theta} if self.intercept == "free" else {}
            return Written({"alpha": point.beta}, balance)
        values, multipliers = self.machine_values(point), {}
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = lam * (point.beta.sum() - values["b"])
        return Written(values, multipliers)

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        shown, absent = self.shown_function(point)
        fitted = risk.predictions(point.function, point.theta)
        shown["alpha"] = self.data.scatter(point.beta)
        shown["residuals"] = self.data.scatter(self.data.targets - fitted, fill=np.nan)
        if self.data.classes is None:
            return shown, absent | ABSENT | {"classes": "the targets are real numbers"}
        return shown | {"classes": self.data.classes}, absent | ABSENT

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return f(x) + b, or the label that it predicts."""
        values = self.decision_function(point, X_new)
        return values if self.data.classes is None else decode(values, self.data.classes)
