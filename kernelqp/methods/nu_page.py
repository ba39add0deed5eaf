"""The map between the page of a ν-SVM, or of one class, and the engine.

The value of a page equals the engine's. With z = y (f + b) − ρ, the c of its row s/S (one class:
y = 1, b = 0 and c = s/(ν S)), the map of the page's names:

    weights        w, b, ρ, ξ = max(0, −z)     margin: α        slack: c − α
    coefficients   β, b, ρ, ξ                  the same         intercept: y'α − b (penalised)
    dual           α = y β                     lower: z₊        upper: (−z)₊
                                               balance: b       sum: −ρ
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.data import classification_data, decode, read_features, regression_data
from kernelqp.errors import ParameterError
from kernelqp.formulation import Point, Written
from kernelqp.methods.base import positive
from kernelqp.methods.page import KernelPage, bound_multipliers, flat, given
from kernelqp.nu_risks import (
    LIMIT,
    largest_nu,
    margin_risk,
    offsets,
    one_class_risk,
    shares,
    shift_and_width,
)
from kernelqp.support import margin_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk

FORMS = ("weights", "coefficients")
TOGETHER = "where it is not unique, rho moves with it, and no interval is computed"


def share(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless 0 < value <= 1."""
    number = positive(name, value)
    if number > 1:
        raise ParameterError(f"{name} must be a number > 0 and at most 1; got {value!r}")
    return number


@dataclass(frozen=True, eq=False)
class NuPage(KernelPage):
    """The map of a ν-SVM."""

    @classmethod
    def read_data(cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str) -> NuPage:
        """Read X, y and the weights; ParameterError if ν is too large for them."""
        page = cls.read_rows(
            method,
            form,
            FORMS,
            lambda square, sparse: classification_data(X, y, sample_weight, None, square, sparse),
        )
        page.reachable(method.nu)
        return page

    @property
    def free(self) -> bool:
        """Whether there is a free intercept."""
        return self.intercept == "free"

    @property
    def signs(self) -> Vector:
        """Y, shape (n,)."""
        return self.data.targets

    @property
    def costs(self) -> Vector:
        """s/S, the price of slack at ν's current place in the objective."""
        return shares(self.data.weights)

    def reachable(self, nu: float) -> float:
        """Return ν, no more than the data admit; ParameterError where it is beyond rounding."""
        nu, most = share("nu", nu), largest_nu(self.signs, self.data.weights, free=self.free)
        if nu > most * (1.0 + LIMIT):
            assert self.data.classes is not None  # classification data have classes
            light = float(self.data.weights @ self.signs) < 0
            label = self.data.classes.tolist()[int(light)]
            raise ParameterError(
                f"nu = {nu!r} is too large: class {label!r} holds {0.5 * most:.6g} of the weight, "
                f"and with a free intercept either class has to hold nu/2; nu can be at most "
                f"{most!r} on these data"
            )
        return min(nu, most)

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem."""
        nu = self.reachable(parameters["nu"])
        return margin_risk(
            self.engine_gram, self.data.targets, self.data.weights, nu, free=self.free
        )

    # --- the map -----------------------------------------------------------------------------

    def b(self, point: Point) -> float:
        """Return the intercept, which shares θ with ρ where it is free."""
        return shift_and_width(point.theta, free=True)[0] if self.free else super().b(point)

    def rho(self, point: Point) -> float:
        """Return ρ."""
        return shift_and_width(point.theta, free=self.free)[1]

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        y, free = self.signs, self.free
        if self.form == "dual":
            total, balance = flat(multipliers.get("sum")), flat(multipliers.get("balance"))
            known = total is not None and not (free and balance is None)
            b = float(balance[0]) if free and balance is not None else 0.0
            theta = offsets(b, -float(total[0]), free=free) if known and total is not None else None
            return Candidate(beta=y * given(values["alpha"]), theta=theta)
        b = float(given(values["b"])[0]) if "b" in values else 0.0
        function = self.function_of(risk, values)
        margin = flat(multipliers.get("margin"))
        theta = offsets(b, float(given(values["rho"])[0]), free=free)
        return Candidate(
            beta=None if margin is None else y * margin, function=function, theta=theta
        )

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        if self.form == "dual":  # the page's f is that of α
            point = replace(point, function=risk.function(point.beta))
        alpha = self.signs * point.beta
        z = self.signs * risk.predictions(point.function, point.theta)
        if self.form == "dual":
            return Written({"alpha": alpha}, self._dual_multipliers(risk, alpha, z, point))
        values = self.machine_values(point)
        variables = values | {"rho": self.rho(point), "xi": np.maximum(0.0, -z)}
        multipliers: dict[str, Any] = {"margin": alpha, "slack": risk.costs - alpha}
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = point.beta.sum() - values["b"]
        return Written(variables, multipliers)

    def _dual_multipliers(
        self, risk: RegularizedRisk, alpha: Vector, z: Vector, point: Point
    ) -> dict[str, Any]:
        """Return the multipliers of a point; one that its own slack outweighs is 0."""
        ends = (np.zeros_like(alpha), risk.costs)
        lower, upper = bound_multipliers(alpha, *ends, -z, margin_unit(risk.centred))
        found: dict[str, Any] = {"lower": lower, "upper": upper, "sum": -self.rho(point)}
        return found | ({"balance": self.b(point)} if self.free else {})

    # --- what a solution shows -----------------------------------------------------------------

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        data, rho, length = self.data, self.rho(point), float(np.sqrt(point.function.norm2))
        shown, absent = self.shown_function(point)
        values = self.signs * risk.predictions(point.function, point.theta) + rho  # y (f + b)
        away = np.abs(values - rho) if data.classes is None else np.abs(values)
        shown |= {
            "alpha": data.scatter(self.signs * point.beta),
            "rho": rho,
            "slack": data.scatter(np.maximum(0.0, rho - values)),
            "geometric_margin": rho / length if length > 0 else np.inf,
            "distances": data.scatter(
                away / length if length > 0 else np.full(self.n, np.inf), fill=np.nan
            ),
        }
        return self._with_soft_margin(shown, absent)

    def _with_soft_margin(
        self, shown: dict[str, Any], absent: dict[str, str]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Add the classes, and the C of the SoftMarginSVM with the same plane, f/ρ and b/ρ."""
        if self.free:
            absent["intercept_interval"] = TOGETHER
        total = shown["rho"] * float(self.data.weights.sum())
        if total > 0 and np.isfinite(1.0 / total):
            shown["C"] = 1.0 / total
        else:
            absent["C"] = "rho is 0: no soft margin has this plane"
        return shown | {"classes": self.data.classes}, absent

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return labels: the greater class where f + b > 0."""
        assert self.data.classes is not None  # classification data have classes
        return decode(self.decision_function(point, X_new), self.data.classes)


@dataclass(frozen=True, eq=False)
class OneClassPage(NuPage):
    """The map of one class: y = 1, and −ρ takes the place of an intercept."""

    @classmethod
    def read_rows_alone(cls, method: Any, X: Any, sample_weight: Any, form: str) -> OneClassPage:
        """Read X and the weights."""
        n = int(read_features(X, keep_sparse=True)[0].shape[0])
        return cls.read_rows(
            method,
            form,
            FORMS,
            lambda square, sparse: regression_data(X, np.ones(n), sample_weight, square, sparse),
        )

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem."""
        return one_class_risk(self.gram, self.data.weights, share("nu", parameters["nu"]))

    def b(self, point: Point) -> float:
        """Return −ρ, what is added to f."""
        return -self.rho(point)

    def _with_soft_margin(
        self, shown: dict[str, Any], absent: dict[str, str]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Say what one class has not."""
        del shown["intercept_interval"]
        return shown, absent | {
            "intercept_interval": "the intercept is -rho, and no interval of it is computed",
            "C": "one class has no soft margin",
            "classes": "there is one class: predict says +1 inside and -1 outside",
        }

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return +1 where f > ρ and −1 elsewhere."""
        return np.where(self.decision_function(point, X_new) > 0, 1, -1)
