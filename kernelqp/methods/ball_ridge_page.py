"""The map between the page of ridge regression in a ball and the engine; values are equal.

    weights, coefficients    w or β, b          norm: μ    intercept: Σ α − μ b/R (penalised)
    residuals                ... and ξ          residual: α
    dual                     α                  balance: b

The engine's costs are 2 s with half squares; its β are α = 2 s r, and f = R f_α/μ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.arrays import EPS
from kernelqp.ball import BallRisk, certify_in_ball
from kernelqp.certificate import Candidate
from kernelqp.data import decode
from kernelqp.errors import ParameterError
from kernelqp.formulation import Point, Written
from kernelqp.losses import HalfSquared
from kernelqp.methods.page import KernelPage, flat, given
from kernelqp.methods.regression_page import ABSENT, real_or_labels
from kernelqp.ridge_path import Spectrum
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector
    from kernelqp.certificate import Verdict
    from kernelqp.risk import Function

FORMS = ("weights", "coefficients", "residuals")


@dataclass(frozen=True, eq=False)
class BallRidgePage(KernelPage):
    """The page of ridge regression in a ball; ``stated_residuals`` says that ξ are variables."""

    stated_residuals: bool = False

    @classmethod
    def read_data(cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str) -> BallRidgePage:
        """Read X, y and the weights."""
        residuals = form == "residuals"
        page = cls.read_rows(
            method,
            "auto" if residuals else form,
            FORMS,
            lambda square, sparse: real_or_labels(X, y, sample_weight, square, sparse),
        )
        return replace(page, stated_residuals=residuals)

    def risk(self, parameters: Mapping[str, float]) -> BallRisk:
        """Return the engine's problem: half squares at the costs 2 s in the ball."""
        radius = parameters["radius"]
        if radius < 0:
            raise ParameterError(f"radius must be >= 0; got {radius!r}")
        costs = 2.0 * self.data.weights
        risk = RegularizedRisk(
            self.engine_gram, self.data.targets, costs, HalfSquared(), self.offset
        )
        return BallRisk(risk, radius)

    def solve_in_ball(
        self, ball: BallRisk, solver: str, tol: float
    ) -> tuple[Candidate, Verdict, str, float]:
        """Solve by the secular equation, or by a solver that was named."""
        import time

        from kernelqp.ball_solve import solve_in_ball

        if solver != "auto":
            return solve_in_ball(ball, solver, tol)
        started = time.perf_counter()
        _, candidate = self.secular(ball)
        verdict = certify_in_ball(ball, candidate, tol)
        seconds = time.perf_counter() - started
        if verdict.certificate.certified:
            return candidate, verdict, "secular equation", seconds
        return solve_in_ball(ball, solver, tol)

    def secular(self, ball: BallRisk) -> tuple[float, Candidate]:
        """Return λ with ‖f_λ‖ = R, and the solution there; ``ball`` is centred."""
        risk, s = ball.risk, 0.5 * ball.risk.costs
        spectrum = Spectrum.of(risk.gram, risk.targets, s, free=self.intercept == "free")
        lam = spectrum.lam_of_length(ball.radius)
        beta, function = self._at(ball, spectrum, lam)
        return lam, Candidate(beta=beta, function=function)

    def _at(self, ball: BallRisk, spectrum: Spectrum, lam: float) -> tuple[Vector, Function]:
        """Return α and f of the spectrum at λ."""
        risk, root = ball.risk, np.sqrt(0.5 * ball.risk.costs)
        scaled = spectrum.residuals(lam)
        alpha = 2.0 * root * scaled
        if math.isinf(lam):
            return alpha, risk.function(np.zeros(risk.n))
        if spectrum.right is not None:
            return alpha, risk.function(weights=spectrum.right @ spectrum.weights_at(lam))
        if lam > 0:
            return alpha, risk.function(root * scaled / lam)
        return alpha, risk.function(root * (spectrum.U @ spectrum.solved(lam)))

    def read(
        self, risk: BallRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        free = self.intercept == "free"
        if self.form == "dual":
            balance = flat(multipliers.get("balance"))
            return Candidate(beta=given(values["alpha"]), theta=balance if free else None)
        b = flat(values.get("b"))
        function = self.function_of(risk.risk, values)
        theta = b if free else None
        found = np.zeros(0) if theta is None else theta
        beta = risk.risk.costs * (self.data.targets - risk.risk.predictions(function, found))
        return Candidate(beta=beta, function=function, theta=theta)

    def fill(self, risk: BallRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        if self.form == "dual":
            balance = {"balance": point.theta} if self.intercept == "free" else {}
            return Written({"alpha": point.beta}, balance)
        values, mu = self.machine_values(point), self._mu(risk, point)
        multipliers: dict[str, Any] = {"norm": mu}
        if self.stated_residuals:
            fitted = risk.risk.predictions(point.function, point.theta)
            values["xi"] = self.data.targets - fitted
            multipliers["residual"] = point.beta
        if self.intercept == "penalized" and self.form == "coefficients":
            total = point.beta.sum()  # and μ b/R is the same in the limit R = 0
            pull = mu / risk.radius * values["b"] if risk.radius > 0 else total
            multipliers["intercept"] = total - pull
        return Written(values, multipliers)

    def _mu(self, risk: BallRisk, point: Point) -> float:
        """Return μ = ‖f_α‖, about the mean of the rows where the intercept is free.

        It is 0 where it is no more than the rounding of a sum that cancels.
        """
        gram = risk.centred.risk.gram
        mu = math.sqrt(gram.norm2(point.beta))
        size = float(np.abs(point.beta) @ np.sqrt(np.maximum(gram.diagonal, 0.0)))
        return mu if mu > EPS * self.n * size else 0.0

    def attributes(self, risk: BallRisk, point: Point) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        shown, absent = self.shown_function(point)
        b, mu = shown["intercept"], self._mu(risk, point)
        if point.function.beta is None:  # f = R f_α/μ
            pull = risk.radius / mu if mu > 0 else 0.0
            shown["beta"] = self.data.scatter(pull * point.beta)
            if mu == 0 and risk.radius > 0:
                del shown["beta"]
                absent["beta"] = "the ball does not bind: f is no combination of the multipliers"
        fitted = risk.risk.predictions(point.function, point.theta)
        shown |= {
            "alpha": self.data.scatter(point.beta),
            "residuals": self.data.scatter(self.data.targets - fitted, fill=np.nan),
            "multiplier": mu,
            "lam": 0.5 * mu / risk.radius if risk.radius > 0 else math.inf,
            "intercept_interval": (b, b),
        }
        if self.data.classes is None:
            return shown, absent | ABSENT | {"classes": "the targets are real numbers"}
        return shown | {"classes": self.data.classes}, absent | ABSENT

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return f(x) + b, or the label that it predicts."""
        values = self.decision_function(point, X_new)
        return values if self.data.classes is None else decode(values, self.data.classes)
