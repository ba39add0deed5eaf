"""Losses of the residual r = p − y without a tube: half squares, quantiles, Huber.

A parameter is a float or one value per row: ν-regression needs two levels of Pinball in one
problem. Fenchel-Young residuals are sums of non-negative terms, because ℓ + ℓ* − g·p loses
everything below the rounding of its terms.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelqp._types import Matrix, Vector
from kernelqp.losses.base import (
    Expression,
    Form,
    LinearQuadratic,
    Parameter,
    Row,
    check_parameter,
    excess,
    full,
    square,
    times,
    within,
)


@dataclass(frozen=True, slots=True, eq=False)
class HalfSquared(LinearQuadratic):
    """Half the squared residual, the loss of ridge regression.

        ℓ(y, p)  = ½·r²,  r = p − y
        ℓ*(y, g) = g·y + ½·g²      for every g
        ∂ℓ(y, p) = {r}

    Source
    ------
    Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables.

    Examples
    --------
    >>> import numpy as np
    >>> HalfSquared().value(np.array([1.0]), np.array([4.0]))
    array([4.5])
    """

    margin: ClassVar[bool] = False
    degree: ClassVar[int] = 2
    piecewise_linear: ClassVar[bool] = False

    def value(self, y: Vector, p: Vector) -> Vector:
        """½·r²."""
        return square(p - y) / 2

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """g·y + ½·g², finite everywhere."""
        return times(g, y + g / 2)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Return the residual, twice."""
        return p - y, p - y

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """All slopes."""
        return full(y, -np.inf), full(y, np.inf)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """½·(r − g)²."""
        return square(p - y - g) / 2

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a ridge of 1/c and no box."""
        return Row(y, full(y, 0.0), 1 / c, *self.domain(y))

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """½·r²."""
        import cvxpy as cp

        return cp.square(p - y) / 2, []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """g·y + ½·g²."""
        import cvxpy as cp

        return cp.multiply(y, g) + cp.square(g) / 2, []


@dataclass(frozen=True, slots=True, eq=False)
class Pinball(LinearQuadratic):
    """The check loss of the τ-quantile.

        ℓ(y, p)  = τ·(−r)₊ + (1 − τ)·r₊,  r = p − y
        ℓ*(y, g) = g·y             for −τ ≤ g ≤ 1 − τ, else +inf
        ∂ℓ(y, p) = {−τ} if r < 0,  [−τ, 1 − τ] if r = 0,  {1 − τ} if r > 0

    Parameters
    ----------
    tau : float or Vector, shape (n,), dimensionless
        Quantile level, 0 to 1. The ends are one-sided losses, which ν-regression is made of;
        as a quantile they are not useful, and the method of that name refuses them.

    Raises
    ------
    ParameterError
        If tau is outside [0, 1].

    Source
    ------
    Koenker & Bassett (1978), Econometrica 46(1), 33-50; signs are ours.

    Examples
    --------
    >>> import numpy as np
    >>> Pinball(0.25).value(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    array([0.25, 0.75])
    """

    margin: ClassVar[bool] = False
    degree: ClassVar[int] = 1
    piecewise_linear: ClassVar[bool] = True
    tau: Parameter

    def __post_init__(self) -> None:
        check_parameter(self, "tau", lambda t: (t >= 0) & (t <= 1), "0 <= tau <= 1", "tau=0.5")

    def value(self, y: Vector, p: Vector) -> Vector:
        """τ·(−r)₊ + (1 − τ)·r₊."""
        r = p - y
        return self.tau * np.maximum(-r, 0.0) + (1 - self.tau) * np.maximum(r, 0.0)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """g·y for −τ ≤ g ≤ 1 − τ."""
        return within(times(g, y), g, *self.domain(y))

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Step from −τ to 1 − τ at r = 0."""
        lower, upper = self.domain(y)
        return np.where(p > y, upper, lower), np.where(p < y, lower, upper)

    def jumps(self, y: Vector) -> Matrix:
        """R = 0."""
        return y[None, :]

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """−τ to 1 − τ."""
        return full(y, -self.tau), full(y, 1 - self.tau)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """(τ + g)·(−r)₊ + (1 − τ − g)·r₊."""
        r, (lower, upper) = p - y, self.domain(y)
        below, above = np.maximum(-r, 0.0), np.maximum(r, 0.0)
        inside = np.clip(g, lower, upper)
        return within((inside - lower) * below + (upper - inside) * above, g, lower, upper)

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a box from c·(τ − 1) to c·τ."""
        zero = full(y, 0.0)
        return Row(y, zero, zero, c * (self.tau - 1), c * self.tau)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """τ·(−r)₊ + (1 − τ)·r₊."""
        import cvxpy as cp

        lower, upper = self.domain(y)
        return cp.multiply(-lower, cp.neg(p - y)) + cp.multiply(upper, cp.pos(p - y)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """g·y, −τ ≤ g ≤ 1 − τ."""
        import cvxpy as cp

        lower, upper = self.domain(y)
        return cp.multiply(y, g), [g >= lower, g <= upper]


@dataclass(frozen=True, slots=True, eq=False)
class Huber(LinearQuadratic):
    """Huber's loss: half the square near 0, linear beyond δ; cvxpy's `huber` is twice this.

        ℓ(y, p)  = ½·r² if |r| ≤ δ,  δ·|r| − ½·δ² if |r| > δ,  r = p − y
        ℓ*(y, g) = g·y + ½·g²      for −δ ≤ g ≤ δ, else +inf
        ∂ℓ(y, p) = {min(max(r, −δ), δ)}

    Parameters
    ----------
    delta : float or Vector, shape (n,), units [y]
        Where the loss turns linear, above 0.

    Raises
    ------
    ParameterError
        If delta is not finite or not above 0.

    Source
    ------
    Huber (1964), Annals of Mathematical Statistics 35(1), 73-101.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(1.0).value(np.array([0.0, 0.0]), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    margin: ClassVar[bool] = False
    degree: ClassVar[int] = 2
    lengths: ClassVar[tuple[str, ...]] = ("delta",)
    piecewise_linear: ClassVar[bool] = False
    delta: Parameter

    def __post_init__(self) -> None:
        check_parameter(self, "delta", lambda d: d > 0, "delta > 0", "delta=1.35")

    def value(self, y: Vector, p: Vector) -> Vector:
        """m·(|r| − ½·m) with m = min(|r|, δ): both pieces in one."""
        size = np.abs(p - y)
        near = np.minimum(size, self.delta)
        return times(near, size - near / 2)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """g·y + ½·g² for |g| ≤ δ."""
        return within(times(g, y + g / 2), g, *self.domain(y))

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Return the clipped residual, twice."""
        slope = np.clip(p - y, *self.domain(y))
        return slope, slope.copy()

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """−δ to δ."""
        return full(y, -self.delta), full(y, self.delta)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """½·(clip(r, ±δ) − g)² + (δ − g·sign r)·(|r| − δ)₊."""
        r, (lower, upper) = p - y, self.domain(y)
        near = square(np.clip(r, lower, upper) - g) / 2
        far = times(upper - np.clip(g, lower, upper) * np.sign(r), excess(r, self.delta))
        return within(near + far, g, lower, upper)

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a ridge of 1/c and a box of half-width c·δ."""
        return Row(y, full(y, 0.0), 1 / c, -c * self.delta, c * self.delta)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """½·δ²·huber(r/δ): the atom takes one M only, so rows are scaled to M = 1."""
        import cvxpy as cp

        if isinstance(self.delta, float):
            return cp.huber(p - y, self.delta) / 2, []
        scaled = cp.multiply(1 / self.delta, p - y)
        return cp.multiply(square(self.delta) / 2, cp.huber(scaled, 1)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """g·y + ½·g², −δ ≤ g ≤ δ."""
        import cvxpy as cp

        lower, upper = self.domain(y)
        return cp.multiply(y, g) + cp.square(g) / 2, [g >= lower, g <= upper]
