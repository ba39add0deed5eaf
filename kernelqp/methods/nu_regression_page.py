"""The map between the page of a ν-SVR and the engine, whose rows are the page's twice.

The value of the page equals the engine's. Row i stands for y_i above the tube and, n rows later,
below it; with r = y − f − b, c = C s/S and α, α* the parts of β = α − α*:

    weights        w, b, ε,                above: α          slack: c − α
                   ξ = (r − ε)₊,           below: α*         slack_star: c − α*
                   ξ* = (−r − ε)₊
    coefficients   β, b, ε, ξ, ξ*          the same          intercept: Σ β − b (penalised)
    dual           α, α*                   lower: (ε − r)₊   lower_star: (ε + r)₊
                                           upper: (r − ε)₊   upper_star: (−r − ε)₊
                                           balance: b        sum: ε
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.data import regression_data
from kernelqp.formulation import Point, Written
from kernelqp.methods.base import positive
from kernelqp.methods.nu_page import FORMS, TOGETHER, share
from kernelqp.methods.page import KernelPage, bound_multipliers, flat, given
from kernelqp.methods.regression_page import ABSENT
from kernelqp.nu_risks import (
    folded,
    middle,
    offsets,
    regression_risk,
    shares,
    shift_and_width,
)
from kernelqp.risk import Function
from kernelqp.support import margin_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Indices, Vector
    from kernelqp.risk import RegularizedRisk


@dataclass(frozen=True, eq=False)
class NuRegressionPage(KernelPage):
    """The map of a ν-SVR."""

    @classmethod
    def read_data(
        cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str
    ) -> NuRegressionPage:
        """Read X, y and the weights."""
        return cls.read_rows(
            method,
            form,
            FORMS,
            lambda square, sparse: regression_data(X, y, sample_weight, square, sparse),
        )

    @property
    def free(self) -> bool:
        """Whether there is a free intercept."""
        return self.intercept == "free"

    @property
    def shares(self) -> Vector:
        """s/S, the part of C that a row may spend on either side."""
        return shares(self.data.weights)

    @cached_property
    def shift(self) -> float:
        """What is taken off y, and off a free b, in the engine."""
        return middle(self.data.targets) if self.free else 0.0

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem on twice the rows."""
        return regression_risk(
            self.engine_gram,
            self.data.targets - self.shift,
            self.data.weights,
            positive("C", parameters["C"]),
            share("nu", parameters["nu"]),
            free=self.free,
        )

    # --- the map -----------------------------------------------------------------------------

    def once(self, point: Point) -> Point:
        """Return a point of the engine with every row of the page once."""
        f = point.function
        beta = None if f.beta is None else folded(f.beta)
        function = Function(f.values[: self.n], f.norm2, beta, f.weights, f.by_values)
        return replace(point, beta=folded(point.beta), function=function)

    def b(self, point: Point) -> float:
        """Return the intercept, which shares θ with ε where it is free."""
        if not self.free:
            return super().b(point)
        return self.shift + shift_and_width(point.theta, free=True)[0]

    def epsilon(self, point: Point) -> float:
        """Return ε; 0 where rounding, or at ν = 1 the choice among many, left it below."""
        return max(-shift_and_width(point.theta, free=self.free)[1], 0.0)

    def residuals(self, point: Point) -> Vector:
        """Return y − f(x) − b of every row."""
        targets, f = self.data.targets - self.shift, point.function.values[: self.n]
        b = shift_and_width(point.theta, free=True)[0] if self.free else 0.0  # else a part of f
        return np.asarray(targets - f - b)

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        free = self.free
        if self.form == "dual":
            total, balance = flat(multipliers.get("sum")), flat(multipliers.get("balance"))
            theta = None
            if total is not None and (balance is not None or not free):
                b = 0.0 if balance is None else float(balance[0])
                theta = offsets(b - self.shift, -float(total[0]), free=free)
            beta = np.r_[given(values["alpha"]), -given(values["alpha_star"])]
            return Candidate(beta=beta, theta=theta)
        b = float(given(values["b"])[0]) if "b" in values else 0.0
        if self.form == "coefficients":  # of β on either copy of a row f sees the sum
            half = 0.5 * given(values["beta"])
            values = {**values, "beta": np.r_[half, half]}
        function = self.function_of(risk, values)
        theta = offsets(b - self.shift, -float(given(values["epsilon"])[0]), free=free)
        above, below = flat(multipliers.get("above")), flat(multipliers.get("below"))
        known = above is not None and below is not None
        beta = np.r_[above, -below] if known and below is not None else None
        return Candidate(beta=beta, function=function, theta=theta)

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        if self.form == "dual":  # the page's f is that of α and α*
            point = replace(point, function=risk.function(point.beta))
        alpha, alpha_star = point.beta[: self.n], -point.beta[self.n :]
        r, epsilon = self.residuals(point), self.epsilon(point)
        if self.form == "dual":
            values = {"alpha": alpha, "alpha_star": alpha_star}
            return Written(values, self._dual_multipliers(risk, values, point))
        once = self.once(point)
        values = self.machine_values(once)
        variables = values | {
            "epsilon": epsilon,
            "xi": np.maximum(r - epsilon, 0.0),
            "xi_star": np.maximum(-r - epsilon, 0.0),
        }
        costs = risk.costs[: self.n]
        multipliers: dict[str, Any] = {
            "above": alpha,
            "below": alpha_star,
            "slack": costs - alpha,
            "slack_star": costs - alpha_star,
        }
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = once.beta.sum() - values["b"]
        return Written(variables, multipliers)

    def _dual_multipliers(
        self, risk: RegularizedRisk, values: Mapping[str, Vector], point: Point
    ) -> dict[str, Any]:
        """Return the multipliers of a point; one that its own slack outweighs is 0."""
        r, n = self.residuals(point), self.n
        epsilon = -shift_and_width(point.theta, free=self.free)[1]  # of either sign: an equation's
        unit, costs = margin_unit(risk.centred)[:n], risk.costs[:n]
        found: dict[str, Any] = {"sum": epsilon}
        for star, side in (("", r), ("_star", -r)):
            spent = values[f"alpha{star}"]
            ends = (np.zeros_like(spent), costs)
            lower, upper = bound_multipliers(spent, *ends, side - epsilon, unit)
            found |= {f"lower{star}": lower, f"upper{star}": upper}
        return found | ({"balance": self.b(point)} if self.free else {})

    # --- what a solution shows -----------------------------------------------------------------

    def scatter(self, values: Vector) -> Vector:
        """Put one value per row of the engine at the caller's rows, the two of a row as a sum."""
        return self.data.scatter(folded(values))

    def callers(self, rows: Indices) -> Indices:
        """Return the caller's rows of rows of the engine."""
        return self.data.rows[np.unique(rows % self.n)]

    def attributes(
        self,
        risk: RegularizedRisk,  # noqa: ARG002  # the page knows its rows
        point: Point,
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        r, epsilon, once = self.residuals(point), self.epsilon(point), self.once(point)
        shown, absent = self.shown_function(once)
        if self.free:
            absent["intercept_interval"] = TOGETHER.replace("rho", "epsilon")
        shown |= {
            "alpha": self.data.scatter(once.beta),
            "residuals": self.data.scatter(r, fill=np.nan),
            "epsilon": epsilon,
            "slack": self.data.scatter(np.maximum(np.abs(r) - epsilon, 0.0)),
        }
        without = {name: why for name, why in ABSENT.items() if name not in shown}
        return shown, absent | without | {"classes": "the targets are real numbers"}

    def decision_function(self, point: Point, X_new: Any) -> Vector:
        """Return f(x) + b at new rows."""
        return super().decision_function(self.once(point), X_new)

    def predict(self, point: Point, X_new: Any) -> Vector:
        """Return f(x) + b at new rows."""
        return self.decision_function(point, X_new)
