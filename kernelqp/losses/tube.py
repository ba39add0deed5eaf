"""Losses of the residual r = p − y that ignore a tube of half-width ε around the target."""

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


def _tube(r: Vector, g: Vector, epsilon: Parameter) -> Vector:
    """|g|·(ε − |r|)₊ + (|g|·|r| − g·r): the price of a slope inside the tube or of wrong sign."""
    room: Vector = np.maximum(epsilon - np.abs(r), 0.0)
    against: Vector = np.maximum(times(-g, r), 0.0)
    return times(np.abs(g), room) + 2 * against


@dataclass(frozen=True, slots=True, eq=False)
class EpsilonInsensitive(LinearQuadratic):
    """The ε-insensitive loss of support vector regression; ε = 0 is the absolute residual.

        ℓ(y, p)  = (|r| − ε)₊,  r = p − y
        ℓ*(y, g) = g·y + ε·|g|     for −1 ≤ g ≤ 1, else +inf
        ∂ℓ(y, p) = {0} if |r| < ε,  sign(r)·[0, 1] if |r| = ε,  {sign(r)} if |r| > ε

    (at ε = 0 = r the two intervals join to [−1, 1]).

    Parameters
    ----------
    epsilon : float or Vector, shape (n,), units [y]
        Half-width of the tube, at least 0.

    Raises
    ------
    ParameterError
        If epsilon is negative or not finite.

    Source
    ------
    Vapnik (1995), The Nature of Statistical Learning Theory, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(0.5).value(np.array([1.0, 1.0]), np.array([1.25, 3.0]))
    array([0. , 1.5])
    """

    margin: ClassVar[bool] = False
    degree: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ("epsilon",)
    piecewise_linear: ClassVar[bool] = True
    epsilon: Parameter

    def __post_init__(self) -> None:
        check_parameter(self, "epsilon", lambda e: e >= 0, "epsilon >= 0", "epsilon=0.1")

    def value(self, y: Vector, p: Vector) -> Vector:
        """(|r| − ε)₊."""
        return excess(p - y, self.epsilon)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """g·y + ε·|g| for |g| ≤ 1."""
        return within(times(g, y + self.epsilon * np.sign(g)), g, -1.0, 1.0)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Step from −1 to 0 at r = −ε and from 0 to 1 at r = ε."""
        r, e = p - y, self.epsilon
        return np.subtract(r > e, r <= -e, dtype=float), np.subtract(r >= e, r < -e, dtype=float)

    def jumps(self, y: Vector) -> Matrix:
        """R = ±ε."""
        return np.stack([y - self.epsilon, y + self.epsilon])

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """−1 to 1."""
        return full(y, -1.0), full(y, 1.0)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """(1 − |g|)·(|r| − ε)₊ + |g|·(ε − |r|)₊ + (|g|·|r| − g·r)."""
        r = p - y
        inside = np.minimum(np.maximum(g, -1.0), 1.0)
        fitted = (1 - np.abs(inside)) * excess(r, self.epsilon) + _tube(r, inside, self.epsilon)
        return within(fitted, g, -1.0, 1.0)

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a price ε and a box of half-width c."""
        return Row(y, full(y, self.epsilon), full(y, 0.0), -c, c)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(|r| − ε)₊."""
        import cvxpy as cp

        return cp.pos(cp.abs(p - y) - self.epsilon), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """g·y + ε·|g|, −1 ≤ g ≤ 1."""
        import cvxpy as cp

        price = cp.multiply(full(y, self.epsilon), cp.abs(g))
        return cp.multiply(y, g) + price, [g >= -1, g <= 1]


@dataclass(frozen=True, slots=True, eq=False)
class SquaredEpsilonInsensitive(LinearQuadratic):
    """The squared ε-insensitive loss, without a half.

        ℓ(y, p)  = (|r| − ε)₊²,  r = p − y
        ℓ*(y, g) = g·y + ε·|g| + ¼·g²      for every g
        ∂ℓ(y, p) = {2·sign(r)·(|r| − ε)₊}

    Parameters
    ----------
    epsilon : float or Vector, shape (n,), units [y]
        Half-width of the tube, at least 0.

    Raises
    ------
    ParameterError
        If epsilon is negative or not finite.

    Source
    ------
    Vapnik (1995), The Nature of Statistical Learning Theory, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(0.5).value(np.array([1.0, 1.0]), np.array([1.25, 3.0]))
    array([0.  , 2.25])
    """

    margin: ClassVar[bool] = False
    degree: ClassVar[int] = 2
    lengths: ClassVar[tuple[str, ...]] = ("epsilon",)
    piecewise_linear: ClassVar[bool] = False
    epsilon: Parameter

    def __post_init__(self) -> None:
        check_parameter(self, "epsilon", lambda e: e >= 0, "epsilon >= 0", "epsilon=0.1")

    def value(self, y: Vector, p: Vector) -> Vector:
        """(|r| − ε)₊²."""
        return square(excess(p - y, self.epsilon))

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """g·y + ε·|g| + ¼·g², finite everywhere."""
        return times(g, y + self.epsilon * np.sign(g) + g / 4)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Zero in the tube, then linear; both ends the same."""
        r = p - y
        slope = 2 * np.sign(r) * excess(r, self.epsilon)
        return slope, slope.copy()

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """All slopes."""
        return full(y, -np.inf), full(y, np.inf)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """((|r| − ε)₊ − ½·|g|)² + |g|·(ε − |r|)₊ + (|g|·|r| − g·r)."""
        r = p - y
        return square(excess(r, self.epsilon) - np.abs(g) / 2) + _tube(r, g, self.epsilon)

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a price ε, a ridge of 1/(2c), no box."""
        return Row(y, full(y, self.epsilon), 0.5 / c, *self.domain(y))

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(|r| − ε)₊²."""
        import cvxpy as cp

        return cp.square(cp.pos(cp.abs(p - y) - self.epsilon)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """g·y + ε·|g| + ¼·g²."""
        import cvxpy as cp

        price = cp.multiply(full(y, self.epsilon), cp.abs(g))
        return cp.multiply(y, g) + price + cp.square(g) / 4, []
