"""What every loss must know about itself, and the one home of what they share.

A loss ℓ(y, p) is convex in the prediction p. Four faces of the same function are used in the
package: its value (primal), its conjugate ℓ*(y, g) in the slope g (dual), the ends of its
subdifferential (sets and certificates), and, when ℓ is piecewise linear-quadratic, one row of
the kernel QP in β = −c·g:

    −c·ℓ*(y, −β/c) = q·β − ε·|β| − ½·ridge·β²   for lower ≤ β ≤ upper, else −inf

Slopes g are derivatives in p, also for margin losses, which are functions of z = y·p; there
s = −y·g ≥ 0 is the slope of the penalty.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kernelqp._types import Indices, Matrix, Vector
from kernelqp.arrays import freeze
from kernelqp.errors import ParameterError

if TYPE_CHECKING:
    import cvxpy as cp

Expression: TypeAlias = "cp.Expression"
Form: TypeAlias = "tuple[cp.Expression, list[cp.Constraint]]"
Parameter: TypeAlias = float | Vector


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Rows of the kernel QP in β: what a piecewise linear-quadratic loss adds to the dual.

        maximise  q·β − ε·|β| − ½·ridge·β²   over  lower ≤ β ≤ upper

    Parameters
    ----------
    q : Vector, shape (n,), units [y]
        Linear gain.
    eps : Vector, shape (n,), units [y]
        Price of |β|, at least 0.
    ridge : Vector, shape (n,), units [p]/[β]
        Added to the diagonal of K, at least 0.
    lower, upper : Vector, shape (n,), units [β]
        The box, its ends possibly infinite, with 0 inside.

    Source
    ------
    The case analysis of ℓ* for each loss; the fields are read-only copies.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelqp.losses import Hinge
    >>> row = Hinge().row(np.array([1.0, -1.0]), np.array([2.0, 2.0]))
    >>> row.lower, row.upper
    (array([ 0., -2.]), array([2., 0.]))
    >>> row.value(np.array([0.5, 0.5]))
    array([ 0.5, -inf])
    """

    q: Vector
    eps: Vector
    ridge: Vector
    lower: Vector
    upper: Vector

    def __post_init__(self) -> None:
        for field in fields(self):
            kept = np.array(getattr(self, field.name), dtype=np.float64)
            freeze(kept)
            object.__setattr__(self, field.name, kept)

    def value(self, beta: Vector) -> Vector:
        """Gain of each β, −inf outside the box; the ends compare exactly."""
        gain = times(beta, self.q - self.ridge * beta / 2) - self.eps * np.abs(beta)
        return np.where((self.lower <= beta) & (beta <= self.upper), gain, -np.inf)

    @property
    def ends(self) -> bool:
        """Whether every row has an end of its box or a kink: else there are no sets to settle."""
        return bool((np.isfinite(self.lower) | np.isfinite(self.upper) | (self.eps > 0)).all())

    def take(self, rows: Indices) -> "Row":
        """Return a selection of the rows."""
        return Row(*(getattr(self, field.name)[rows] for field in fields(self)))

    def prox(self, v: Vector, h: Vector) -> Vector:
        """Maximise the gain minus ½·h·(β − v)² over β, in closed form."""
        return np.clip(soft(h * v + self.q, self.eps) / (h + self.ridge), self.lower, self.upper)


@runtime_checkable
class Loss(Protocol):
    """A convex loss of one row; every method takes and returns arrays of shape (n,).

    Parameters of a loss are floats, or arrays of shape (n,) with one value per row. Outside a
    domain the answer is +inf (−inf in a gain), never NaN and never a warning. For margin losses
    y must be −1 or +1.

    Attributes
    ----------
    margin : bool
        Whether ℓ is a function of the margin z = y·p, with labels y in {−1, +1}.
    piecewise_linear : bool
        Whether ℓ is piecewise linear, so that rows split into elbow, left and right.
    hard : bool
        Whether ℓ is 0 or +inf, so that its cost means nothing.
    zero_beyond_margin : bool
        Whether ℓ is finite, and 0 exactly for z ≥ 1: separable data cost nothing at a large C.
    degree : int
        The k of ℓ(u·y, u·p) = u^k·ℓ'(y, p) with ℓ' = ``in_unit(u)``; 0 for a margin loss.
    lengths : tuple of str
        The parameters that are in the unit of y.
    falls_for_ever : bool
        Whether ℓ falls in z without end: separable data have no best f without a penalty.

    Examples
    --------
    >>> from kernelqp.losses import Hinge, Loss
    >>> isinstance(Hinge(), Loss)
    True
    """

    margin: ClassVar[bool]
    piecewise_linear: ClassVar[bool]
    hard: ClassVar[bool]
    zero_beyond_margin: ClassVar[bool]
    degree: ClassVar[int]
    lengths: ClassVar[tuple[str, ...]]
    falls_for_ever: ClassVar[bool]

    def value(self, y: Vector, p: Vector) -> Vector:
        """ℓ(y, p)."""
        ...

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """ℓ*(y, g) = sup over p of g·p − ℓ(y, p), +inf outside the domain."""
        ...

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Lower and upper end of the subdifferential of ℓ(y, ·) at p, possibly infinite."""
        ...

    def jumps(self, y: Vector) -> Matrix:
        """Predictions at which the slope jumps, shape (k, n): k of them in every row."""
        ...

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """Lower and upper end of {g : ℓ*(y, g) < inf}; finite ends belong to it."""
        ...

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """ℓ(y, p) + ℓ*(y, g) − g·p ≥ 0, as a sum of non-negative terms."""
        ...

    def row(self, y: Vector, c: Vector) -> Row | None:
        """Return the kernel-QP rows at costs c > 0, or None where ℓ* is not linear-quadratic."""
        ...

    def local_row(self, y: Vector, c: Vector, beta: Vector) -> Row:
        """Return the linear-quadratic model of −c·ℓ*(y, −β/c), exact to second order at β."""
        ...

    def dual_value(self, y: Vector, c: Vector, beta: Vector) -> Vector:
        """−c·ℓ*(y, −β/c), −inf outside; β on the end of its box is inside, exactly."""
        ...

    def dual_prox(self, y: Vector, c: Vector, v: Vector, h: Vector) -> Vector:
        """Minimise ½·h·(β − v)² + c·ℓ*(y, −β/c) over β, for h > 0 and c > 0."""
        ...

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """ℓ(y, p) as a convex cvxpy expression of shape (n,), with the constraints on p."""
        ...

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """ℓ*(y, g) as a convex cvxpy expression of shape (n,), with the constraints on g."""
        ...

    def in_unit(self, unit: float) -> Self:
        """Return the loss of targets and predictions divided by a unit, up to unit^degree."""
        ...

    def take(self, rows: Indices) -> Self:
        """Return the loss of a selection of rows: per-row parameters follow, scalars stay."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowWise:
    """What follows from the parameters alone, once for every loss."""

    hard: ClassVar[bool] = False
    zero_beyond_margin: ClassVar[bool] = False
    degree: ClassVar[int] = 0
    lengths: ClassVar[tuple[str, ...]] = ()
    falls_for_ever: ClassVar[bool] = False

    def jumps(self, y: Vector) -> Matrix:
        """None: the slope is continuous."""
        return np.empty((0, y.size))

    def in_unit(self, unit: float) -> Self:
        """Divide the parameters that are in the unit of y."""
        values = {name: getattr(self, name) / unit for name in self.lengths}
        return replace(self, **values) if values else self

    def take(self, rows: Indices) -> Self:
        """Select the per-row parameters; a loss of scalars only is returned as it is."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        chosen = {name: v[rows] for name, v in values.items() if isinstance(v, np.ndarray)}
        return replace(self, **chosen) if chosen else self


@dataclass(frozen=True, slots=True, eq=False)
class LinearQuadratic(RowWise):
    """A loss with a kernel-QP row: the dual value and the prox follow from the row."""

    def row(self, y: Vector, c: Vector) -> Row:
        """Return the kernel-QP rows; each loss states its own."""
        raise NotImplementedError

    def local_row(self, y: Vector, c: Vector, beta: Vector) -> Row:  # noqa: ARG002
        """Return the row: the gain is linear-quadratic everywhere."""
        return self.row(y, c)

    def dual_value(self, y: Vector, c: Vector, beta: Vector) -> Vector:
        """Evaluate the row at β itself: dividing by c could leave the domain by a rounding."""
        return self.row(y, c).value(beta)

    def dual_prox(self, y: Vector, c: Vector, v: Vector, h: Vector) -> Vector:
        """Soft-threshold, shrink and clip."""
        return self.row(y, c).prox(v, h)


def full(y: Vector, a: Parameter) -> Vector:
    """Return one value per row, as floats."""
    return np.full(np.shape(y), a, dtype=np.float64)


def soft(a: Vector, eps: Vector) -> Vector:
    """Soft threshold: the a moved towards 0 by eps, and 0 within eps.

    Examples
    --------
    >>> soft(np.array([3.0, -0.5]), np.array([1.0, 1.0]))
    array([2., 0.])
    """
    return np.maximum(a - eps, 0.0) - np.maximum(-a - eps, 0.0)


def times(a: Vector, b: Vector) -> Vector:
    """a·b, infinite without a warning where it overflows."""
    with np.errstate(over="ignore"):
        return a * b


def turned(y: Vector, lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Return the interval y·[lower, upper] for labels y, its ends in order.

    Examples
    --------
    >>> turned(np.array([1.0, -1.0]), np.array([0.0, 0.0]), np.array([2.0, 2.0]))
    (array([ 0., -2.]), array([2., 0.]))
    """
    # + 0.0 turns −0.0 into 0.0
    return np.where(y > 0, lower, -upper) + 0.0, np.where(y > 0, upper, -lower) + 0.0


def excess(r: Vector, epsilon: Parameter) -> Vector:
    """How far |r| exceeds ε, at least 0."""
    return np.maximum(np.abs(r) - epsilon, 0.0)


def square(a: Vector) -> Vector:
    """a², infinite without a warning where it overflows."""
    return times(a, a)


def within(value: Vector, a: Vector, lower: Parameter, upper: Parameter) -> Vector:
    """Keep the value where lower ≤ a ≤ upper, +inf elsewhere."""
    return np.where((lower <= a) & (a <= upper), value, np.inf)


def check_parameter(
    loss: object,
    name: str,
    admits: Callable[[Vector], NDArray[np.bool_]],
    allowed: str,
    example: str,
    *,
    per_row: bool = True,
) -> None:
    """Replace an attribute of a frozen loss by a float or a read-only array, or refuse it.

    Parameters
    ----------
    loss : object
        The loss under construction.
    name : str
        The attribute to check.
    admits : Callable
        Says elementwise whether a finite value is in range.
    allowed, example : str
        The range and a remedy, for the message.
    per_row : bool
        Whether an array of one value per row is admitted.

    Raises
    ------
    ParameterError
        If the value is not a real number or a vector of them, is not finite, or is out of range.
    """
    given = getattr(loss, name)
    try:
        array = np.array(given)
    except (ValueError, TypeError):
        array = np.array(None)
    numeric = array.dtype.kind in "iuf" and array.ndim <= per_row
    values = array.astype(np.float64) if numeric else np.array(np.nan)
    if not np.all(np.isfinite(values) & admits(values)):
        kind = "a finite number or one per row" if per_row else "one finite number"
        raise ParameterError(
            f"{type(loss).__name__}: {name} must be {kind}, {allowed}; got {given!r}. "
            f"Try {example}."
        )
    values.flags.writeable = False
    object.__setattr__(loss, name, values if values.ndim else float(values))
