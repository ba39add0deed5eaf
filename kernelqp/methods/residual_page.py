"""The map between the page of a regression with slacks (`slacks.py`) and the engine.

weights        w, b, the slacks    their multipliers, with above − below or residual = β
coefficients   β, b, the slacks    the same       intercept: Σβ − b (penalised)
dual           α, or α and α*      lower, upper (and _star): how far the slope of the dual points
                                   out of the box     balance: b
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.data import regression_data
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation, Point, Written
from kernelqp.methods.base import positive
from kernelqp.methods.page import KernelPage, bound_multipliers, flat, given
from kernelqp.methods.regression_page import ABSENT
from kernelqp.methods.slacks import Tube
from kernelqp.methods.unpenalized_page import UnpenalizedPage
from kernelqp.risk import RegularizedRisk
from kernelqp.statement import Statement
from kernelqp.support import margin_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector
    from kernelqp.methods.slacks import Slacks

FORMS = ("weights", "coefficients")


@dataclass(frozen=True, eq=False)
class ResidualPage(KernelPage):
    """The page of a penalised regression, C finite; ``slacks`` says how residuals are paid for."""

    slacks: Slacks | None = None

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem."""
        assert self.slacks is not None  # every method gives them
        costs = positive("C", parameters["C"]) * self.data.weights
        return RegularizedRisk(
            self.engine_gram, self.data.targets, costs, self.slacks.loss, self.offset
        )

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        assert self.slacks is not None
        if self.form == "dual":
            beta = given(values["alpha"])
            if self.slacks.split:
                beta = beta - given(values["alpha_star"])
            balance = flat(multipliers.get("balance"))
            return Candidate(beta=beta, theta=balance if self.intercept == "free" else None)
        b = flat(values.get("b"))
        function = self.function_of(risk, values)
        claimed = self.slacks.claimed(multipliers)
        return Candidate(claimed, function, b if self.intercept == "free" else None)

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        assert self.slacks is not None
        if self.form == "dual":
            return self._fill_dual(risk, replace(point, function=risk.function(point.beta)))
        variables = self.machine_values(point) | self.slack_values(risk, point)
        multipliers: dict[str, Any] = self.slacks.multipliers(risk.costs, point.beta)
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = point.beta.sum() - variables["b"]
        return Written(variables, multipliers)

    def slack_values(self, risk: RegularizedRisk, point: Point) -> dict[str, Vector]:
        """Return ξ and ξ*, and for Huber's loss u, at the residuals of the point."""
        assert self.slacks is not None
        return self.slacks.values(self.data.targets - risk.predictions(point.function, point.theta))

    def _fill_dual(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return α (and α*) and the multipliers of their boxes."""
        assert self.slacks is not None
        r = self.data.targets - risk.predictions(point.function, point.theta)
        unit, (low, high) = margin_unit(risk.centred), self.slacks.box()
        multipliers: dict[str, Any] = {"balance": point.theta} if self.intercept == "free" else {}
        variables = {"alpha": point.beta}
        if self.slacks.split:
            variables = {
                "alpha": np.maximum(point.beta, 0.0),
                "alpha_star": np.maximum(-point.beta, 0.0),
            }
        for (name, value), sign in zip(variables.items(), (1.0, -1.0), strict=False):
            star = name.removeprefix("alpha")
            bend = 2.0 * self.slacks.curvature() / risk.costs
            slope = sign * r - self.slacks.epsilon - bend * value
            ends = (low * risk.costs, high * risk.costs)
            lower, upper = bound_multipliers(value, *ends, slope, unit)
            multipliers |= {f"lower{star}": lower}
            if np.isfinite(high):
                multipliers |= {f"upper{star}": upper}
        return Written(variables, multipliers)

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        shown, absent = self.shown_function(point)
        fitted = risk.predictions(point.function, point.theta)
        shown["alpha"] = self.data.scatter(point.beta)
        if isinstance(self.slacks, Tube) and self.slacks.split and self.slacks.power == 1:
            shown["nu"] = float(np.abs(point.beta).sum() / risk.costs.sum())
        shown["residuals"] = self.data.scatter(self.data.targets - fitted, fill=np.nan)
        return shown, absent | ABSENT | {"classes": "the targets are real numbers"}

    def predict(self, point: Point, X_new: Any) -> Vector:
        """Return f(x) + b."""
        return self.decision_function(point, X_new)


@dataclass(frozen=True, eq=False)
class UnpenalizedResidualPage(UnpenalizedPage):
    """The page of a regression without a penalty, C infinite."""

    slacks: Slacks | None = None

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        assert self.slacks is not None
        candidate = super().read(risk, values, multipliers)
        return replace(candidate, beta=self.slacks.claimed(multipliers))

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return w, b, the slacks and the multipliers."""
        assert self.slacks is not None
        plane = super().fill(risk, point).variables
        r = self.data.targets - risk.predictions(point.function, point.theta)
        multipliers = self.slacks.multipliers(risk.costs, point.beta)
        return Written({**plane, **self.slacks.values(r)}, multipliers)


def residual_primal(
    method: Any, slacks: Slacks, X: Any, y: Any, sample_weight: Any, form: str
) -> Formulation:
    """Return 1/2 ‖f‖² + C · cost over w or β, b and the slacks; the cost alone for C = inf."""

    def read(square: bool, sparse: bool) -> Any:
        penalised = bool(np.isfinite(method.C))
        return regression_data(X, y, sample_weight, square, sparse and penalised)

    if np.isinf(method.C):
        bare = UnpenalizedResidualPage.read_rows(method, form, FORMS, read)
        without = replace(bare.with_loss(slacks.loss, "C=inf"), slacks=slacks)
        return Formulation(Statement(partial(_state_unpenalized, without, slacks), {}), without)
    page = replace(ResidualPage.read_rows(method, form, FORMS, read), slacks=slacks)
    return Formulation(Statement(partial(_state_primal, page, slacks), {"C": method.C}), page)


def _state_primal(page: ResidualPage, slacks: Slacks, C: cp.Parameter) -> Program:
    variables, norm2, values, extra = page.machine()
    own, constraints, cost = slacks.state(page.data.targets, page.data.weights, values)
    constraints |= extra
    problem = cp.Problem(cp.Minimize(0.5 * norm2 + C * cost), list(constraints.values()))
    return Program(problem, variables | own, constraints, {"C": C})


def _state_unpenalized(page: UnpenalizedResidualPage, slacks: Slacks) -> Program:
    variables, _, values, _ = page.machine()
    own, constraints, cost = slacks.state(page.data.targets, page.data.weights, values)
    problem = cp.Problem(cp.Minimize(cost), list(constraints.values()))
    return Program(problem, variables | own, constraints, {})


def residual_dual(method: Any, slacks: Slacks, X: Any, y: Any, sample_weight: Any) -> Formulation:
    """Return the dual in α, or in α and α*."""
    if np.isinf(method.C):
        raise ParameterError(
            "C=inf is stated by its primal alone: without a penalty f is no combination of "
            "kernels; use primal() (--form primal), or a finite C"
        )
    page = ResidualPage.read_rows(
        method,
        "dual",
        FORMS,
        lambda square, sparse: regression_data(X, y, sample_weight, square, sparse),
    )
    page = replace(page, slacks=slacks)
    return Formulation(Statement(partial(_state_dual, page, slacks), {"C": method.C}), page)


def _state_dual(page: ResidualPage, slacks: Slacks, C: cp.Parameter) -> Program:
    weights = page.data.weights
    names = ("alpha", "alpha_star") if slacks.split else ("alpha",)
    variables = {name: cp.Variable(page.n, name=name) for name in names}
    alpha: Any = variables["alpha"]
    beta = alpha - variables["alpha_star"] if slacks.split else alpha
    gain = page.data.targets @ beta - 0.5 * page.dual_norm2(beta)
    if slacks.epsilon:
        gain = gain - slacks.epsilon * cp.sum(alpha + variables["alpha_star"])
    if slacks.curvature():
        root = cp.CallbackParam(lambda: float(C.value) ** -0.5, nonneg=True)
        share = np.sqrt(slacks.curvature() / weights)
        for variable in variables.values():
            gain = gain - cp.sum_squares(cp.multiply(share, root * variable))
    low, high = slacks.box()
    constraints: dict[str, Any] = {}
    for name, variable in variables.items():
        star = name.removeprefix("alpha")
        constraints[f"lower{star}"] = variable >= (low * C * weights if low else 0)
        if np.isfinite(high):
            constraints[f"upper{star}"] = variable <= high * C * weights
    if page.intercept == "free":
        constraints["balance"] = cp.sum(beta) == 0
    problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
    return Program(problem, variables, constraints, {"C": C})
