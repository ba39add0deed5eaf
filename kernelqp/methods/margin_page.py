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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.cross_gram import cross_gram
from kernelqp.data import Data, classification_data, decode, read_new_features
from kernelqp.errors import ParameterError
from kernelqp.fenchel import constant, square_norm
from kernelqp.formulation import Point, Written
from kernelqp.gram import Gram
from kernelqp.losses import HardMargin, Hinge, Loss, PowerHinge, SquaredHinge
from kernelqp.methods.base import positive
from kernelqp.repaired import is_precomputed
from kernelqp.risk import Offset, RegularizedRisk
from kernelqp.support import margin_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector
    from kernelqp.kernels import Kernel


def loss_of(power: float | None) -> Loss:
    """Return the loss of ξ^power; None is the hard margin."""
    if power is None:
        return HardMargin()
    if power == 1:
        return Hinge()
    return SquaredHinge() if power == 2 else PowerHinge(power)


@dataclass(frozen=True, eq=False)
class MarginPage:
    """The map between a margin method's page and the engine.

    ``form`` is "weights", "coefficients" or "dual"; ``power`` the power of the slack, None for a
    hard margin; ``gram`` the kernel on the rows in use, without the penalised intercept's constant;
    ``unit_norm`` says that the page scales f to norm 1 and maximises the margin M.
    """

    method: Any
    data: Data
    kernel: Kernel
    gram: Gram
    form: str
    power: float | None
    unit_norm: bool = False

    @classmethod
    def read_data(
        cls, method: Any, X: Any, y: Any, sample_weight: Any, form: str, power: float | None
    ) -> MarginPage:
        """Read X, y and the weights; a hard margin has no use for class weights."""
        square = is_precomputed(method.kernel)
        class_weight = getattr(method, "class_weight", None)
        data = classification_data(X, y, sample_weight, class_weight, square=square)
        kernel = method.kernel.bind(data.X)
        gram = Gram.of(kernel, data.X, precision=data.precision)
        if form == "auto":
            form = "weights" if gram.factor is not None else "coefficients"
        if form == "weights" and gram.factor is None:
            raise ParameterError(
                f"form 'weights' needs explicit features, and {kernel!r} has none: "
                f"use form='coefficients' or the dual"
            )
        if form not in ("weights", "coefficients", "dual"):
            raise ParameterError(
                f"form must be 'auto', 'weights' or 'coefficients', or 'max_margin' for "
                f"HardMarginSVM; got {form!r}"
            )
        return cls(replace(method, kernel=kernel), data, kernel, gram, form, power)

    @property
    def side(self) -> str:
        """Which side of the duality the page shows."""
        return "dual" if self.form == "dual" else "primal"

    @property
    def in_coefficients(self) -> bool:
        """Whether f is written in β."""
        return self.form == "coefficients"

    @property
    def intercept(self) -> str:
        """How the intercept is treated: free, penalized or none."""
        return str(self.method.intercept)

    @cached_property
    def engine_gram(self) -> Gram:
        """The kernel of the engine: k + 1 where the intercept is penalised."""
        return self.gram.plus_constant() if self.intercept == "penalized" else self.gram

    def method_at(self, parameters: Mapping[str, float]) -> Any:
        """Return the method with the parameters' current values."""
        return replace(self.method, **{k: v for k, v in parameters.items() if k == "C"})

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem; a hard margin ignores weights."""
        n = self.data.targets.size
        costs = np.ones(n)
        if self.power is not None:
            costs = positive("C", parameters["C"]) * self.data.weights
        offset = Offset.free(n) if self.intercept == "free" else Offset.none(n)
        return RegularizedRisk(
            self.engine_gram, self.data.targets, costs, loss_of(self.power), offset
        )

    # --- the page in cvxpy -----------------------------------------------------------------

    def machine(
        self,
    ) -> tuple[dict[str, cp.Variable], cp.Expression, cp.Expression, dict[str, Any]]:
        """Return the variables, ‖f‖² (with b² where penalised), f(x) + b, and extra constraints."""
        factor, n = self.gram.factor, self.data.targets.size
        if self.form == "weights":
            assert factor is not None  # checked in read_data
            f = cp.Variable(factor.shape[1], name="w")
            norm2, values = cp.sum_squares(f), constant(factor) @ f
        else:
            f = cp.Variable(n, name="beta")
            norm2 = square_norm(self.gram, f)
            values = (
                constant(self.gram.dense_matrix()) @ f
                if factor is None
                else constant(factor) @ (constant(factor.T) @ f)
            )
        variables, extra = {f.name(): f}, {}
        if self.intercept != "none":
            b = variables["b"] = cp.Variable(name="b")
            values = values + b
        if self.intercept == "penalized":
            norm2 = norm2 + cp.square(b)
            if self.form == "coefficients":
                extra["intercept"] = b == cp.sum(f)
        return variables, norm2, values, extra

    def norm(self, variables: Mapping[str, cp.Variable]) -> cp.Expression:
        """Return ‖f‖, with b in it where penalised."""
        f = variables["w"] if "w" in variables else self.gram.thin_factor().T @ variables["beta"]
        return cp.norm(cp.hstack([f, variables["b"]]) if self.intercept == "penalized" else f)

    def dual_norm2(self, alpha: cp.Variable) -> cp.Expression:
        """Return Σ_ij α_i α_j y_i y_j k(x_i, x_j), with (y'α)² where the intercept is penalised."""
        signed = cp.multiply(self.data.targets, alpha)
        norm2 = square_norm(self.gram, signed)
        return norm2 + cp.square(cp.sum(signed)) if self.intercept == "penalized" else norm2

    # --- the map -----------------------------------------------------------------------------

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        y = self.data.targets
        if self.form == "dual":
            balance = _flat(multipliers.get("balance"))
            signed = y * _flat_or_raise(values["alpha"])
            return Candidate(beta=signed, theta=balance if self.intercept == "free" else None)
        b = _flat(values.get("b"))
        if self.form == "weights":
            w = _flat_or_raise(values["w"])
            penalized = self.intercept == "penalized" and b is not None
            function = risk.function(weights=np.r_[w, b] if penalized else w)
        else:
            function = risk.function(beta=_flat_or_raise(values["beta"]))
        margin = _flat(multipliers.get("margin"))
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
        slack = np.maximum(0.0, 1.0 - z)
        variables = self._machine_values(point) | {"xi": slack}
        multipliers: dict[str, Any] = {"margin": alpha}
        if self.power is not None:  # for q > 1 the price of ξ alone keeps it >= 0
            multipliers["slack"] = risk.costs - alpha if self.power == 1 else np.zeros_like(alpha)
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = point.beta.sum() - variables["b"]
        return Written(variables, multipliers)

    def _fill_unit_norm(self, alpha: Vector, z: Vector, point: Point) -> Written:
        """Return f/‖f‖, M = min z/‖f‖, and the multipliers: margin α/Σα, norm ‖f‖/Σα."""
        total, length = float(alpha.sum()) or 1.0, float(np.sqrt(point.function.norm2)) or 1.0
        values = {name: value / length for name, value in self._machine_values(point).items()}
        multipliers: dict[str, Any] = {"margin": alpha / total, "norm": length / total}
        if self.intercept == "penalized" and self.form == "coefficients":
            multipliers["intercept"] = (point.beta.sum() - length * values["b"]) / total
        return Written(values | {"M": float(z.min()) / length}, multipliers)

    def _machine_values(self, point: Point) -> dict[str, Any]:
        """Return w or β, and b."""
        if self.form == "weights":
            return {"w": self._weights(point), "b": self._b(point)}
        return {"beta": point.function.coefficients, "b": self._b(point)}

    def _dual_multipliers(
        self, risk: RegularizedRisk, alpha: Vector, z: Vector, point: Point
    ) -> dict[str, Any]:
        """Return the multipliers of a point; one that its own slack outweighs is 0, not rounding.

        lower is (z − 1 + ξ)₊ with ξ = (α/(c q))^(1/(q−1)), 0 for q = 1; upper is (1 − z)₊.
        """
        balance = {"balance": point.theta} if self.intercept == "free" else {}
        unit = margin_unit(risk.centred)
        if self.power in (None, 1):
            slack = np.zeros_like(z)
        else:
            paid = np.maximum(alpha, 0.0) / (risk.costs * self.power)
            slack = paid ** (1.0 / (self.power - 1.0))
        lower = np.maximum(z - 1.0 + slack, 0.0)
        lower[alpha * unit > lower] = 0.0
        if self.power != 1:
            return {"lower": lower, **balance}
        upper = np.maximum(1.0 - z, 0.0)
        upper[(risk.costs - alpha) * unit > upper] = 0.0
        return {"lower": lower, "upper": upper, **balance}

    def _b(self, point: Point) -> float:
        """Return the intercept: θ where free, the weight of the constant where penalised."""
        if self.intercept == "free":
            return float(point.theta[0])
        if self.intercept == "none":
            return 0.0
        w = point.function.weights
        return float(point.function.coefficients.sum() if w is None else w[-1])

    # --- what a solution shows -----------------------------------------------------------------

    def attributes(
        self, risk: RegularizedRisk, point: Point
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows, in the caller's rows, and why other names are absent."""
        y, data, b = self.data.targets, self.data, self._b(point)
        function = point.function
        beta = point.beta if function.beta is None else function.beta
        shown: dict[str, Any] = {
            "beta": data.scatter(beta),
            "alpha": data.scatter(y * point.beta),
            "intercept": b,
            "geometric_margin": float(1.0 / np.sqrt(function.norm2))
            if function.norm2 > 0
            else np.inf,
            "classes": data.classes,
            "distances": self._distances(risk, point),
        }
        absent: dict[str, str] = {}
        if self.intercept != "free":
            shown["intercept_interval"] = (b, b)
        if self.gram.factor is None:
            absent["weights"] = f"{self.kernel!r} has no explicit features; f is written in beta"
        else:
            shown["weights"] = self._weights(point)
        if self.power is None:
            absent["slack"] = "a hard margin allows none"
        else:
            z = y * risk.predictions(function, point.theta)
            shown["slack"] = data.scatter(np.maximum(0.0, 1.0 - z))
        return shown, absent

    def _distances(self, risk: RegularizedRisk, point: Point) -> Vector:
        """Return |f(x_i) + b|/‖f‖ in the caller's rows; NaN for rows of weight 0."""
        length = np.sqrt(point.function.norm2)
        size = np.abs(risk.predictions(point.function, point.theta))
        away = np.divide(size, length, out=np.full_like(size, np.inf), where=length > 0)
        return self.data.scatter(away, fill=np.nan)

    def _weights(self, point: Point) -> Vector:
        """Return w, shape (d,), without the penalised intercept."""
        w = point.function.weights
        if w is None:
            w = self.engine_gram.weights(point.function.coefficients)
        return w[: w.size - (self.intercept == "penalized")]

    def decision_function(self, point: Point, X_new: Any) -> Vector:
        """Return f(x) + b at new rows, about the mean of the rows where that keeps figures."""
        b = self._b(point)
        if self.gram.factor is not None:
            data = self.data
            X = read_new_features(X_new, data.X.shape[1], data.feature_names)
            w, centre = self._weights(point), self.gram.factor.mean(axis=0)
            features = self.kernel.features(X)
            return np.asarray((features - centre) @ w + (b + float(centre @ w)))
        beta = point.function.coefficients
        data = self.data
        K = cross_gram(self.kernel, X_new, data.X, data.rows, data.n, data.feature_names)
        return np.asarray(K @ beta + b)

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return labels: the greater class where f + b > 0."""
        assert self.data.classes is not None  # classification data have classes
        return decode(self.decision_function(point, X_new), self.data.classes)


def _flat(value: Any) -> Vector | None:
    """Return a cvxpy value as a vector in column order; its shape may be (), (1,) or (n,)."""
    return None if value is None else np.ravel(np.asarray(value, dtype=np.float64), order="F")


def _flat_or_raise(value: Any) -> Vector:
    flat = _flat(value)
    assert flat is not None  # Formulation.read has checked every variable
    return flat
