"""The ball-constrained risk as cvxpy problems, and the map of their names.

primal   w or β, θ, p    prediction: β of the dual    norm: μ = ‖f_β‖
dual     β               balance: θ
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.engine_page import EnginePage, flat
from kernelqp.fenchel import Program, constant
from kernelqp.formulation import Formulation, Point, Written
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp.ball import BallRisk
    from kernelqp.gram import Gram


def norm_of(gram: Gram, x: cp.Expression, *, in_weights: bool = False) -> cp.Expression:
    """Return ‖f‖ of f in weights x, or in coefficients x, through a factor of K."""
    return cp.norm(x if in_weights else constant(gram.thin_factor().T) @ x)


def ball_primal(ball: BallRisk) -> Formulation:
    """Return (P) of a ball as a formulation that can be solved and certified."""
    return Formulation(Statement(partial(primal_program, ball), {}), BallPage(ball, "primal"))


def ball_dual(ball: BallRisk) -> Formulation:
    """Return (D) of a ball as a formulation that can be solved and certified."""
    return Formulation(Statement(partial(dual_program, ball), {}), BallPage(ball, "dual"))


def primal_program(ball: BallRisk) -> Program:
    """State (P) in w where the features are explicit, in β otherwise."""
    risk, gram = ball.risk, ball.risk.gram
    p = cp.Variable(risk.n, name="p")
    in_weights = gram.factor is not None
    f = (
        cp.Variable(gram.inputs.shape[1], name="w")
        if in_weights
        else cp.Variable(risk.n, name="beta")
    )
    values = constant(gram.inputs if in_weights else gram.dense_matrix()) @ f
    variables, priced = {f.name(): f, "p": p}, 0.0
    if risk.offset.price.size:
        theta = variables["theta"] = cp.Variable(risk.offset.price.size, name="theta")
        values, priced = values + risk.offset.basis @ theta, risk.offset.price @ theta
    lost, domain = risk.loss.value_expr(risk.targets, p)
    constraints: dict[str, Any] = {
        "prediction": p == values,
        "norm": norm_of(gram, f, in_weights=in_weights) <= ball.radius,
    } | {f"domain {k}": constraint for k, constraint in enumerate(domain)}
    objective = cp.Minimize(priced + cp.sum(cp.multiply(risk.costs, lost)))
    problem = cp.Problem(objective, list(constraints.values()))
    return Program(problem, variables, constraints, {})


def dual_program(ball: BallRisk) -> Program:
    """State (D) in β."""
    risk = ball.risk
    beta = cp.Variable(risk.n, name="beta")
    conjugate, domain = risk.loss.conjugate_expr(risk.targets, cp.multiply(-1.0 / risk.costs, beta))
    constraints: dict[str, Any] = {f"domain {k}": c for k, c in enumerate(domain)}
    if risk.offset.price.size:
        constraints["balance"] = risk.offset.basis.T @ beta == risk.offset.price
    gain = -cp.sum(cp.multiply(risk.costs, conjugate)) - ball.radius * norm_of(risk.gram, beta)
    problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
    return Program(problem, {"beta": beta}, constraints, {})


@dataclass(frozen=True, eq=False, slots=True)
class BallPage(EnginePage):
    """The map of (P) or (D) to their own ball."""

    def read(
        self, risk: BallRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate: the multiplier of ``prediction`` is β, that of ``balance`` θ."""
        if self.side == "dual":
            return Candidate(beta=flat(values["beta"]), theta=flat(multipliers.get("balance")))
        function = risk.risk.function(beta=flat(values.get("beta")), weights=flat(values.get("w")))
        theta = flat(values.get("theta", np.zeros(0)))
        return Candidate(beta=flat(multipliers["prediction"]), function=function, theta=theta)

    def fill(self, risk: BallRisk, point: Point) -> Written:
        """Return every variable, and the multipliers that name an engine quantity."""
        if self.side == "dual":
            return Written({"beta": point.beta}, {"balance": point.theta})
        values = {
            "w": point.function.weights,
            "beta": point.function.beta,
            "theta": point.theta,
            "p": risk.risk.predictions(point.function, point.theta),
        }
        length = math.sqrt(risk.risk.gram.norm2(point.beta))
        return Written(values, {"prediction": point.beta, "norm": length})

    def attributes(self, risk: BallRisk, point: Point) -> tuple[dict[str, Any], dict[str, str]]:
        """Return β of the dual, the multiplier of the ball, and w where there is one."""
        shown: dict[str, Any] = {
            "beta": point.beta,
            "multiplier": math.sqrt(risk.risk.gram.norm2(point.beta)),
        }
        if point.function.weights is not None:
            shown["weights"] = point.function.weights
        if risk.offset.is_intercept:
            shown["intercept"] = float(point.theta[0])
        return shown, {"weights": "this form is written in beta", "classes": "a risk has no labels"}
