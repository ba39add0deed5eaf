"""What the pages of the margin methods share: f + b on paper, and the map to the engine.

The value of a page equals the engine's; the page that maximises M has M = 1/√(2 · the engine's).
The map of its names, with z = y (f + b):

    weights        w, b, ξ = max(0, 1 − z)     margin: α      slack: c − α (0 for q > 1)
    coefficients   β, b, ξ                     the same       intercept: y'α − b (penalised)
    max_margin     f/‖f‖, b/‖f‖, M = 1/‖f‖     margin: α/Σα   norm: ‖f‖/Σα = M
    dual           α = y β                     lower: (z − 1)₊ ...   upper: (1 − z)₊   balance: b
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.data import classification_data, decode
from kernelqp.formulation import Point, Written
from kernelqp.losses import HardMargin, Hinge, Loss, PowerHinge, SquaredHinge
from kernelqp.methods.base import positive
from kernelqp.methods.page import KernelPage, bound_multipliers, flat, given
from kernelqp.risk import RegularizedRisk
from kernelqp.support import margin_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector

HARD_FORMS = ("weights", "coefficients", "max_margin")


def loss_of(power: float | None) -> Loss:
    """Return the loss of ξ^power; None is the hard margin."""
    if power is None:
        return HardMargin()
    if power == 1:
        return Hinge()
    return SquaredHinge() if power == 2 else PowerHinge(power)


@dataclass(frozen=True, eq=False)
class MarginPage(KernelPage):
    """The map between a margin method's page and the engine.

    ``power`` is the power of the slack, None for a hard margin; ``unit_norm`` says that the page
    scales f to norm 1 and maximises the margin M.
    """

    power: float | None = None
    unit_norm: bool = False

    @classmethod
    def read_data(
        cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str, power: float | None
    ) -> Self:
        """Read X, y and the weights; a hard margin has no use for class weights."""
        class_weight = getattr(method, "class_weight", None)
        page = cls.read_rows(
            method,
            form,
            ("weights", "coefficients") if power is not None else HARD_FORMS,
            lambda square, sparse: classification_data(
                X, y, sample_weight, class_weight, square, sparse and power is not None
            ),
        )
        return replace(page, power=power)

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem; a hard margin ignores weights."""
        costs = np.ones(self.n)
        if self.power is not None:
            costs = positive("C", parameters["C"]) * self.data.weights
        return RegularizedRisk(
            self.engine_gram, self.data.targets, costs, loss_of(self.power), self.offset
        )

    # --- the map -----------------------------------------------------------------------------

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        y = self.data.targets
        if self.form == "dual":
            balance = flat(multipliers.get("balance"))
            signed = y * given(values["alpha"])
            return Candidate(beta=signed, theta=balance if self.intercept == "free" else None)
        b = flat(values.get("b"))
        function = self.function_of(risk, values)
        margin = flat(multipliers.get("margin"))
        beta = None if margin is None else y * margin
        theta = b if self.intercept == "free" else None
        if self.unit_norm and float(values["M"]) > 0:  # the engine's f has margin 1, and Σ α = 1/M²
            scale = 1.0 / float(values["M"])
            function, theta = function.scaled(scale), None if theta is None else scale * theta
            beta = None if beta is None else scale**2 * beta
        return Candidate(beta=beta, function=function, theta=theta)

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        y = self.data.targets
        if self.form == "dual":  # the page's f is that of α
            point = replace(point, function=risk.function(point.beta))
        alpha, z = y * point.beta, y * risk.predictions(point.function, point.theta)
        if self.form == "dual":
            return Written({"alpha": alpha}, self._dual_multipliers(risk, alpha, z, point))
        if self.unit_norm:
            return self._fill_unit_norm(alpha, z, point)
        variables = self.machine_values(point) | self.slack_values(risk, point)
        multipliers: dict[str, Any] = {"margin": alpha}
        if self.power is not None:  # for q > 1 the price of ξ alone keeps it >= 0
            multipliers["slack"] = risk.costs - alpha if self.power == 1 else np.zeros_like(alpha)
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = point.beta.sum() - variables["b"]
        return Written(variables, multipliers)

    def slack_values(self, risk: RegularizedRisk, point: Point) -> dict[str, Vector]:
        """Return ξ = max(0, 1 − z); a hard margin has none."""
        if self.power is None:
            return {}
        z = self.data.targets * risk.predictions(point.function, point.theta)
        return {"xi": np.maximum(0.0, 1.0 - z)}

    def _fill_unit_norm(self, alpha: Vector, z: Vector, point: Point) -> Written:
        """Return f/‖f‖, M = min z/‖f‖, and the multipliers: margin α/Σα, norm ‖f‖/Σα."""
        total, length = float(alpha.sum()) or 1.0, float(np.sqrt(point.function.norm2)) or 1.0
        values = {name: value / length for name, value in self.machine_values(point).items()}
        multipliers: dict[str, Any] = {"margin": alpha / total, "norm": length / total}
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = (point.beta.sum() - length * values["b"]) / total
        return Written(values | {"M": float(z.min()) / length}, multipliers)

    def _dual_multipliers(
        self, risk: RegularizedRisk, alpha: Vector, z: Vector, point: Point
    ) -> dict[str, Any]:
        """Return the multipliers of a point.

        lower is (z − 1 + ξ)₊ with ξ = (α/(c q))^(1/(q−1)), 0 for q = 1; upper is (1 − z)₊.
        """
        balance = {"balance": point.theta} if self.intercept == "free" else {}
        unit = margin_unit(risk.centred)
        if self.power in (None, 1):
            slack = np.zeros_like(z)
        else:
            paid = np.maximum(alpha, 0.0) / (risk.costs * self.power)
            slack = paid ** (1.0 / (self.power - 1.0))
        high = risk.costs if self.power == 1 else np.full_like(alpha, np.inf)
        lower, upper = bound_multipliers(alpha, np.zeros_like(alpha), high, 1.0 - z - slack, unit)
        if self.power != 1:
            return {"lower": lower, **balance}
        return {"lower": lower, "upper": upper, **balance}

    # --- what a solution shows -----------------------------------------------------------------

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        y, data, function = self.data.targets, self.data, point.function
        shown, absent = self.shown_function(point)
        shown |= {
            "alpha": data.scatter(y * point.beta),
            "geometric_margin": float(1.0 / np.sqrt(function.norm2))
            if function.norm2 > 0
            else np.inf,
            "classes": data.classes,
            "distances": self._distances(risk, point),
        }
        if self.power is None:
            absent["slack"] = "a hard margin allows none"
        else:
            z = y * risk.predictions(function, point.theta)
            shown["slack"] = data.scatter(np.maximum(0.0, 1.0 - z))
        if self.power == 1:  # of the NuSVM with the same plane
            shown["nu"] = float((y * point.beta).sum() / risk.costs.sum())
        else:
            absent["nu"] = "only slack to the power 1 has a nu"
        return shown, absent

    def _distances(self, risk: RegularizedRisk, point: Point) -> Vector:
        """Return |f(x_i) + b|/‖f‖ in the caller's rows; NaN for rows of weight 0."""
        length = np.sqrt(point.function.norm2)
        size = np.abs(risk.predictions(point.function, point.theta))
        away = np.divide(size, length, out=np.full_like(size, np.inf), where=length > 0)
        return self.data.scatter(away, fill=np.nan)

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return labels: the greater class where f + b > 0."""
        assert self.data.classes is not None  # classification data have classes
        return decode(self.decision_function(point, X_new), self.data.classes)
