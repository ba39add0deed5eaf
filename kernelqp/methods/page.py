"""What the pages of all methods share: f + b on paper, and how it maps to the engine.

The rows as they were read, the kernel bound to them, its Gram; the variables w or β, and b; the
penalised intercept as a feature of constant 1; prediction at new rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import cvxpy as cp
import numpy as np

from kernelqp.cross_gram import cross_gram
from kernelqp.data import Data, read_new_features
from kernelqp.errors import ParameterError
from kernelqp.fenchel import constant, square_norm
from kernelqp.gram_on import gram_on
from kernelqp.kernels import Linear
from kernelqp.offset import Offset
from kernelqp.repaired import is_precomputed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelqp._types import Indices, Vector
    from kernelqp.formulation import Point
    from kernelqp.gram import Gram
    from kernelqp.kernels import Kernel
    from kernelqp.risk import Function, RegularizedRisk


@dataclass(frozen=True, eq=False)
class KernelPage:
    """f + b on paper for one method and one data set.

    ``form`` is "weights", "coefficients", "dual" or a form of the method's own; ``gram`` the kernel
    on the rows in use, without the penalised intercept's constant.
    """

    method: Any
    data: Data
    kernel: Kernel
    gram: Gram
    form: str
    penalised: ClassVar[bool] = True

    @classmethod
    def read_rows(
        cls, method: Any, form: str, allowed: tuple[str, ...], read: Callable[[bool, bool], Data]
    ) -> Self:
        """Read the rows by ``read(square, keep_sparse)``, bind the kernel and settle the form.

        Sparse features stay sparse for a linear kernel.
        """
        data = read(is_precomputed(method.kernel), isinstance(method.kernel, Linear))
        kernel = method.kernel.bind(data.X)
        gram = gram_on(kernel, data.X, data.precision, few=method.few_support_vectors)
        if form == "auto":
            form = "weights" if gram.factor is not None else "coefficients"
        if form == "weights" and gram.factor is None:
            raise ParameterError(
                f"form 'weights' needs explicit features, and {kernel!r} has none: "
                f"use form='coefficients' or the dual"
            )
        if form not in (*allowed, "dual"):
            names = ", ".join(map(repr, ("auto", *allowed)))
            raise ParameterError(f"form must be one of {names}; got {form!r}")
        return cls(replace(method, kernel=kernel), data, kernel, gram, form)

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

    @property
    def n(self) -> int:
        """The number of rows in use."""
        return int(self.data.targets.size)

    @cached_property
    def engine_gram(self) -> Gram:
        """The kernel of the engine: k + 1 where the intercept is penalised."""
        return self.gram.plus_constant() if self.intercept == "penalized" else self.gram

    @property
    def offset(self) -> Offset:
        """The engine's offset: one column of ones where the intercept is free."""
        return Offset.free(self.n) if self.intercept == "free" else Offset.none(self.n)

    def method_at(self, parameters: Mapping[str, float]) -> Any:
        """Return the method with the parameters' current values."""
        own = {k: v for k, v in parameters.items() if getattr(self.method, k, v) != v}
        return replace(self.method, **own) if own else self.method

    def scale(self, parameters: Mapping[str, float]) -> float:  # noqa: ARG002
        """Return the page's value over the engine's."""
        return 1.0

    # --- the page in cvxpy -----------------------------------------------------------------

    def machine(
        self,
    ) -> tuple[dict[str, cp.Variable], cp.Expression, cp.Expression, dict[str, Any]]:
        """Return the variables, ‖f‖² (with b² where penalised), f(x) + b, and extra constraints."""
        factor, n = self.gram.factor, self.n
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

    def dual_norm2(self, beta: cp.Expression) -> cp.Expression:
        """Return ‖f_β‖² = Σ_ij β_i β_j k(x_i, x_j), with (Σ β)² where the intercept is penalised.

        β are the coefficients of f: of a margin method y α, as :meth:`signed` writes them.
        """
        norm2 = square_norm(self.gram, beta)
        return norm2 + cp.square(cp.sum(beta)) if self.intercept == "penalized" else norm2

    def signed(self, alpha: cp.Expression) -> cp.Expression:
        """Return y α, the coefficients of f that the dual variables of a margin method give."""
        return cp.multiply(self.data.targets, alpha)

    def norm(self, variables: Mapping[str, cp.Variable]) -> cp.Expression:
        """Return ‖f‖, with b in it where penalised."""
        factor = constant(self.gram.thin_factor().T)
        f = variables["w"] if "w" in variables else factor @ variables["beta"]
        return cp.norm(cp.hstack([f, variables["b"]]) if self.intercept == "penalized" else f)

    # --- the map -----------------------------------------------------------------------------

    def function_of(self, risk: RegularizedRisk, values: Mapping[str, Any]) -> Function:
        """Return the f that w, or β, says; a penalised b is the weight of the constant."""
        if "w" not in values:
            return risk.function(beta=given(values["beta"]))
        w = given(values["w"])
        if self.intercept == "penalized":
            w = np.r_[w, given(values["b"])]
        return risk.function(weights=w)

    def slack_values(self, risk: Any, point: Point) -> dict[str, Vector]:  # noqa: ARG002
        """Return the slack variables at f and b, as small as these allow, by name: here none."""
        return {}

    def scatter(self, values: Vector) -> Vector:
        """Put one value per row of the engine at the caller's rows."""
        return self.data.scatter(values)

    def callers(self, rows: Indices) -> Indices:
        """Return the caller's rows of rows of the engine."""
        return self.data.rows[rows]

    def machine_values(self, point: Point) -> dict[str, Any]:
        """Return w or β, and b."""
        if self.form == "weights":
            return {"w": self.weights(point), "b": self.b(point)}
        return {"beta": point.function.coefficients, "b": self.b(point)}

    def b(self, point: Point) -> float:
        """Return the intercept: θ where free, the weight of the constant where penalised."""
        if self.intercept == "free":
            return float(point.theta[0])
        if self.intercept == "none":
            return 0.0
        w = point.function.weights
        return float(point.function.coefficients.sum() if w is None else w[-1])

    def weights(self, point: Point) -> Vector:
        """Return w, shape (d,), without the penalised intercept."""
        w = point.function.weights
        if w is None:
            w = self.engine_gram.weights(point.function.coefficients)
        return w[: w.size - (self.intercept == "penalized")]

    def shown_function(self, point: Point) -> tuple[dict[str, Any], dict[str, str]]:
        """Return β, w and b as a Solution shows them, and why w is absent where it is."""
        b, function = self.b(point), point.function
        beta = point.beta if function.beta is None else function.beta
        shown: dict[str, Any] = {"beta": self.data.scatter(beta), "intercept": b}
        if self.intercept != "free":
            shown["intercept_interval"] = (b, b)
        if self.gram.factor is None:
            return shown, {
                "weights": f"{self.kernel!r} has no explicit features; f is written in beta"
            }
        return shown | {"weights": self.weights(point)}, {}

    def decision_function(self, point: Point, X_new: Any) -> Vector:
        """Return f(x) + b at new rows, about the mean of the rows where that keeps figures."""
        b, data = self.b(point), self.data
        if self.gram.factor is not None:
            return self.plane(X_new, self.weights(point), b)
        K = cross_gram(self.kernel, X_new, data.X, data.rows, data.n, data.feature_names)
        return np.asarray(K @ point.function.coefficients + b)

    def plane(self, X_new: Any, w: Vector, b: float) -> Vector:
        """Return w'φ(x) + b at new rows."""
        assert self.gram.factor is not None  # there are explicit features
        sparse = self.gram.is_sparse
        X = read_new_features(
            X_new, self.data.X.shape[1], self.data.feature_names, keep_sparse=sparse
        )
        features: Any = self.kernel.features(X)
        if sparse:
            return np.asarray(features @ w + b)
        centre = self.gram.factor.mean(axis=0)
        return np.asarray((features - centre) @ w + (b + float(centre @ w)))


def bound_multipliers(
    value: Vector, low: Vector, high: Vector, slope: Vector, unit: Vector
) -> tuple[Vector, Vector]:
    """Return the multipliers of low <= value and of value <= high: the slope that points out.

    One that its own slack outweighs, in ``unit`` of the slope, is 0, not rounding.
    """
    lower, upper = np.maximum(-slope, 0.0), np.maximum(slope, 0.0)
    lower[(value - low) * unit > lower] = 0.0
    upper[(high - value) * unit > upper] = 0.0
    return lower, upper


def flat(value: Any) -> Vector | None:
    """Return a cvxpy value as a vector in column order; its shape may be (), (1,) or (n,)."""
    return None if value is None else np.ravel(np.asarray(value, dtype=np.float64), order="F")


def given(value: Any) -> Vector:
    """Return the value of a variable that has one."""
    found = flat(value)
    assert found is not None  # Formulation.read has checked every variable
    return found
