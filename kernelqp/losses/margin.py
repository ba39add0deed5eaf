"""Losses of the margin z = y·p, with labels y in {−1, +1}: the ones with a kernel-QP row.

They are written in z and in s = −y·g ≥ 0, the slope of the penalty, so that labels appear only
where an interval is turned by y. A multiplier α = y·β = c·s.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelqp._types import Matrix, Vector
from kernelqp.losses.base import (
    Expression,
    Form,
    LinearQuadratic,
    Row,
    full,
    square,
    times,
    turned,
    within,
)


def _short(y: Vector, p: Vector) -> Vector:
    """How far the margin falls short of 1: (1 − z)₊."""
    return np.maximum(1 - y * p, 0.0)


def _spare(y: Vector, p: Vector) -> Vector:
    """How far the margin exceeds 1: (z − 1)₊."""
    return np.maximum(y * p - 1, 0.0)


def _cone(y: Vector, top: float) -> tuple[Vector, Vector]:
    """Return the slopes g with 0 ≤ s ≤ top."""
    return turned(y, full(y, -top), full(y, 0.0))


def _cone_row(y: Vector, c: Vector, top: float, ridge: Vector) -> Row:
    """Return a gain of y and the box 0 ≤ α ≤ c·top."""
    zero = full(y, 0.0)
    return Row(y, zero, ridge, *turned(y, zero, c * top))


def _cone_expr(y: Vector, g: Expression) -> Form:
    """Return s = −y·g and the constraint s ≥ 0."""
    import cvxpy as cp

    s = -cp.multiply(y, g)
    return s, [s >= 0]


@dataclass(frozen=True, slots=True, eq=False)
class Hinge(LinearQuadratic):
    """The hinge loss of the soft-margin SVM.

        ℓ(y, p)  = (1 − z)₊,  z = y·p
        ℓ*(y, g) = −s               for 0 ≤ s = −y·g ≤ 1, else +inf
        ∂ℓ(y, p) = {−y} if z < 1,  −y·[0, 1] if z = 1,  {0} if z > 1

    Source
    ------
    Cortes & Vapnik (1995), Machine Learning 20, 273-297.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = True
    zero_beyond_margin: ClassVar[bool] = True

    def value(self, y: Vector, p: Vector) -> Vector:
        """(1 − z)₊."""
        return _short(y, p)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """−s for 0 ≤ s ≤ 1."""
        return within(y * g, -y * g, 0.0, 1.0)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Step from s = 1 to s = 0 at z = 1."""
        z = y * p
        return turned(y, np.where(z <= 1, -1.0, 0.0), np.where(z < 1, -1.0, 0.0))

    def jumps(self, y: Vector) -> Matrix:
        """Z = 1."""
        return y[None, :]

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s ≤ 1."""
        return _cone(y, 1.0)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """(1 − s)·(1 − z)₊ + s·(z − 1)₊."""
        s = np.clip(-y * g, 0.0, 1.0)
        return within((1 - s) * _short(y, p) + s * _spare(y, p), -y * g, 0.0, 1.0)

    def row(self, y: Vector, c: Vector) -> Row:
        """0 ≤ α ≤ c."""
        return _cone_row(y, c, 1.0, full(y, 0.0))

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(1 − z)₊."""
        import cvxpy as cp

        return cp.pos(1 - cp.multiply(y, p)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """−s, 0 ≤ s ≤ 1."""
        s, sign = _cone_expr(y, g)
        return -s, [*sign, s <= 1]


@dataclass(frozen=True, slots=True, eq=False)
class HardMargin(LinearQuadratic):
    """The constraint z ≥ 1 of the hard-margin SVM, as a loss.

        ℓ(y, p)  = 0 if z ≥ 1, else +inf,  z = y·p
        ℓ*(y, g) = −s               for s = −y·g ≥ 0, else +inf
        ∂ℓ(y, p) = −y·[0, inf) if z = 1,  {0} if z > 1,  empty if z < 1

    Where z < 1 both ends of `slopes` are −inf·y: no finite slope lies between them.

    Source
    ------
    Boser, Guyon & Vapnik (1992), A training algorithm for optimal margin classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> HardMargin().value(np.array([1.0, 1.0]), np.array([0.5, 1.0]))
    array([inf,  0.])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = True
    hard: ClassVar[bool] = True

    def value(self, y: Vector, p: Vector) -> Vector:
        """0 where z ≥ 1, +inf elsewhere."""
        return np.where(y * p >= 1, 0.0, np.inf)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """−s for s ≥ 0."""
        return within(y * g, -y * g, 0.0, np.inf)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """0 where z > 1, a half-line where z = 1, nothing finite where z < 1."""
        z = y * p
        return turned(y, np.where(z <= 1, -np.inf, 0.0), np.where(z < 1, -np.inf, 0.0))

    def jumps(self, y: Vector) -> Matrix:
        """Z = 1."""
        return y[None, :]

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s."""
        return _cone(y, np.inf)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """s·(z − 1) where z ≥ 1."""
        s = np.maximum(-y * g, 0.0)
        return self.value(y, p) + within(times(s, _spare(y, p)), -y * g, 0.0, np.inf)

    def row(self, y: Vector, c: Vector) -> Row:
        """0 ≤ α, whatever the costs."""
        return _cone_row(y, c, np.inf, full(y, 0.0))

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """0, with z ≥ 1."""
        import cvxpy as cp

        return cp.Constant(full(y, 0.0)), [cp.multiply(y, p) >= 1]

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """−s, 0 ≤ s."""
        s, sign = _cone_expr(y, g)
        return -s, sign


@dataclass(frozen=True, slots=True, eq=False)
class SquaredHinge(LinearQuadratic):
    """The squared hinge loss, without a half.

        ℓ(y, p)  = (1 − z)₊²,  z = y·p
        ℓ*(y, g) = −s + ¼·s²        for s = −y·g ≥ 0, else +inf
        ∂ℓ(y, p) = {−2·y·(1 − z)₊}

    Source
    ------
    Cortes & Vapnik (1995), Machine Learning 20, 273-297, with power 2.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().value(np.array([1.0, -1.0]), np.array([0.5, 1.0]))
    array([0.25, 4.  ])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = False
    zero_beyond_margin: ClassVar[bool] = True

    def value(self, y: Vector, p: Vector) -> Vector:
        """(1 − z)₊²."""
        return square(_short(y, p))

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """−s + ¼·s² for s ≥ 0."""
        s = -y * g
        return within(times(s, s / 4 - 1), s, 0.0, np.inf)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Return s = 2·(1 − z)₊ turned by −y, twice."""
        slope = -2 * y * _short(y, p) + 0.0
        return slope, slope.copy()

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s."""
        return _cone(y, np.inf)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """((1 − z)₊ − ½·s)² + s·(z − 1)₊."""
        s = np.maximum(-y * g, 0.0)
        fitted = square(_short(y, p) - s / 2) + times(s, _spare(y, p))
        return within(fitted, -y * g, 0.0, np.inf)

    def row(self, y: Vector, c: Vector) -> Row:
        """Return a ridge of 1/(2c) and 0 ≤ α."""
        return _cone_row(y, c, np.inf, 0.5 / c)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(1 − z)₊²."""
        import cvxpy as cp

        return cp.square(cp.pos(1 - cp.multiply(y, p))), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """−s + ¼·s², 0 ≤ s."""
        import cvxpy as cp

        s, sign = _cone_expr(y, g)
        return -s + cp.square(s) / 4, sign


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron(LinearQuadratic):
    """The perceptron's loss, a hinge at 0: also the loss of ν-SVC and one-class problems.

        ℓ(y, p)  = (−z)₊,  z = y·p
        ℓ*(y, g) = 0                for 0 ≤ s = −y·g ≤ 1, else +inf
        ∂ℓ(y, p) = {−y} if z < 0,  −y·[0, 1] if z = 0,  {0} if z > 0

    Source
    ------
    Rosenblatt (1958), Psychological Review 65(6), 386-408; Schölkopf, Smola, Williamson &
    Bartlett (2000), Neural Computation 12, 1207-1245, where ρ enters as an offset.

    Examples
    --------
    >>> import numpy as np
    >>> Perceptron().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([0. , 0.5])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = True

    def value(self, y: Vector, p: Vector) -> Vector:
        """(−z)₊."""
        return np.maximum(-y * p, 0.0)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """0 for 0 ≤ s ≤ 1."""
        return within(full(y, 0.0), -y * g, 0.0, 1.0)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Step from s = 1 to s = 0 at z = 0."""
        z = y * p
        return turned(y, np.where(z <= 0, -1.0, 0.0), np.where(z < 0, -1.0, 0.0))

    def jumps(self, y: Vector) -> Matrix:
        """Z = 0."""
        return np.zeros((1, y.size))

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s ≤ 1."""
        return _cone(y, 1.0)

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """(1 − s)·(−z)₊ + s·z₊."""
        z, s = y * p, np.clip(-y * g, 0.0, 1.0)
        fitted = (1 - s) * np.maximum(-z, 0.0) + s * np.maximum(z, 0.0)
        return within(fitted, -y * g, 0.0, 1.0)

    def row(self, y: Vector, c: Vector) -> Row:
        """No gain, and 0 ≤ α ≤ c."""
        zero = full(y, 0.0)
        return Row(zero, zero, zero, *turned(y, zero, c))

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(−z)₊."""
        import cvxpy as cp

        return cp.neg(cp.multiply(y, p)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """0, 0 ≤ s ≤ 1."""
        import cvxpy as cp

        s, sign = _cone_expr(y, g)
        return cp.Constant(full(y, 0.0)), [*sign, s <= 1]
