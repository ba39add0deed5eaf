"""The map between the pages of logistic regression and the engine; values are equal.

With z = y (f + b) and σ(t) = 1/(1 + exp(−t)):

    weights        w, b     no constraints; α = C s σ(−z)
    coefficients   β, b     intercept: y'α − b (penalised)
    dual           α        balance: b

A probability is σ(±(f + b)): its logarithm is computed by itself, so that no margin is too large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, log_expit

from kernelqp.formulation import Written
from kernelqp.losses import Logistic
from kernelqp.methods.base import positive
from kernelqp.methods.margin_page import MarginPage
from kernelqp.methods.unpenalized_page import UnpenalizedPage
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Matrix, Vector
    from kernelqp.certificate import Candidate
    from kernelqp.formulation import Point
    from kernelqp.methods.page import KernelPage

NO_MARGIN = "the logistic loss knows no margin of 1: every row costs something"
ABSENT = dict.fromkeys(("slack", "geometric_margin"), NO_MARGIN)


@dataclass(frozen=True, eq=False)
class LogisticPage(MarginPage):
    """The page of logistic regression with a penalty."""

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem, the costs C s."""
        costs = positive("C", parameters["C"]) * self.data.weights
        return RegularizedRisk(self.engine_gram, self.data.targets, costs, Logistic(), self.offset)

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate; a primal has no multiplier a row, its β are slopes of the loss."""
        claimed = super().read(risk, values, multipliers)
        if claimed.function is None:
            return claimed
        theta = np.zeros(0) if claimed.theta is None else claimed.theta
        p = risk.predictions(claimed.function, theta)
        return replace(claimed, beta=-risk.costs * risk.loss.slopes(risk.targets, p)[0])

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:  # noqa: ARG002
        """Return every variable and multiplier of the page at a point of the engine."""
        if self.form == "dual":
            balance = {"balance": point.theta} if self.intercept == "free" else {}
            return Written({"alpha": self.data.targets * point.beta}, balance)
        variables, multipliers = self.machine_values(point), {}
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = point.beta.sum() - variables["b"]
        return Written(variables, multipliers)

    def slack_values(self, risk: RegularizedRisk, point: Point) -> dict[str, Vector]:  # noqa: ARG002
        """Return none: the loss is stated as it is."""
        return {}

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        shown, absent = self.shown_function(point)
        shown |= {
            "alpha": self.data.scatter(self.data.targets * point.beta),
            "classes": self.data.classes,
            "distances": self._distances(risk, point),
        }
        return shown | probabilities(self, point), absent | ABSENT


@dataclass(frozen=True, eq=False)
class UnpenalizedLogisticPage(UnpenalizedPage):
    """The page of logistic regression without a penalty, C = inf."""

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return w, b and the classes."""
        shown, absent = super().attributes(risk, point)
        shown.pop("residuals", None)
        without = absent | ABSENT | {"alpha": "without a penalty there is no dual page"}
        return shown | probabilities(self, point), without


def probabilities(page: KernelPage, point: Point) -> dict[str, Any]:
    """Return ``predict_proba`` and ``predict_log_proba`` of a solution, functions of new rows."""
    return {
        "predict_proba": partial(_both, expit, page, point),
        "predict_log_proba": partial(_both, log_expit, page, point),
    }


def _both(of: Any, page: KernelPage, point: Point, X: Any) -> Matrix:
    """Return a function of −(f + b) and of f + b, a column for each class in their order."""
    odds: Vector = page.decision_function(point, X)
    return np.column_stack([of(-odds), of(odds)])
