"""Margin losses whose conjugate is not linear-quadratic: no kernel-QP row, a prox by Newton.

As in `margin`, z = y·p, s = −y·g and α = y·β = c·s.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy.special import expit, wrightomega, xlogy

from kernelqp._types import Vector
from kernelqp.losses.base import (
    Expression,
    Form,
    Row,
    RowWise,
    check_parameter,
    full,
    times,
    turned,
    within,
)

# Newton converges quadratically: the step after one of this relative size would be rounding
_SETTLED = 1e-12
_NEWTON_STEPS = 100
_LARGE = 300.0  # e^300 squared is still a number
_TINY, _ULP = 1e-30, float(np.finfo(np.float64).epsneg)


@dataclass(frozen=True, slots=True, eq=False)
class PowerHinge(RowWise):
    """A power of the hinge; q = 2 is SquaredHinge and q → 1 is Hinge.

        ℓ(y, p)  = (1 − z)₊^q,  z = y·p
        ℓ*(y, g) = −s + (q − 1)·(s/q)^(q/(q − 1))   for s = −y·g ≥ 0, else +inf
        ∂ℓ(y, p) = {−q·y·(1 − z)₊^(q − 1)}

    Parameters
    ----------
    q : float, dimensionless
        The power, above 1; one for all rows.

    Raises
    ------
    ParameterError
        If q is not finite, not a scalar, or not above 1.

    Source
    ------
    Cortes & Vapnik (1995), Machine Learning 20, 273-297, appendix, where q is any power.

    Examples
    --------
    >>> import numpy as np
    >>> PowerHinge(3.0).value(np.array([1.0, -1.0]), np.array([0.5, 1.0]))
    array([0.125, 8.   ])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = False
    zero_beyond_margin: ClassVar[bool] = True
    q: float

    def __post_init__(self) -> None:
        check_parameter(self, "q", lambda q: q > 1, "q > 1", "q=1.5", per_row=False)

    def value(self, y: Vector, p: Vector) -> Vector:
        """(1 − z)₊^q."""
        return _power(np.maximum(1 - y * p, 0.0), self.q)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """−s + (q − 1)·(s/q)^(q/(q − 1)) for s ≥ 0, the power taken in logarithms."""
        s = -y * g
        with np.errstate(over="ignore"):
            power = np.exp(self.q / (self.q - 1) * _log_ratio(np.maximum(s, 0.0), self.q))
        return within((self.q - 1) * power - s, s, 0.0, np.inf)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Return s = q·(1 − z)₊^(q − 1) turned by −y, twice."""
        slope = -self.q * y * _power(np.maximum(1 - y * p, 0.0), self.q - 1) + 0.0
        return slope, slope.copy()

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s."""
        return turned(y, full(y, -np.inf), full(y, 0.0))

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """Bregman divergence of t^q from (s/q)^(1/(q − 1)) to (1 − z)₊, plus s·(z − 1)₊."""
        z, s = y * p, np.maximum(-y * g, 0.0)
        spare = times(s, np.maximum(z - 1, 0.0))
        return within(_bregman(np.maximum(1 - z, 0.0), s, self.q) + spare, -y * g, 0.0, np.inf)

    def row(self, y: Vector, c: Vector) -> None:  # noqa: ARG002
        """There is none."""
        return

    def local_row(self, y: Vector, c: Vector, beta: Vector) -> Row:
        """Second-order model of the gain at β = y·α: slope 1 − t and bend t/((q − 1)·α)."""
        log_t = _log_ratio(np.maximum(y * beta, 0.0) / c, self.q) / (self.q - 1)
        log_t = np.clip(log_t, np.log(_SETTLED), _LARGE)  # a model needs no more range than a step
        bend = (2 - self.q) * log_t - np.log((self.q - 1) * self.q * c)
        t, ridge = np.exp(log_t), np.exp(np.clip(bend, -_LARGE, _LARGE))
        zero = np.zeros_like(ridge)
        inf = full(y, np.inf)
        lower, upper = np.where(y > 0, zero, -inf), np.where(y > 0, inf, zero)
        return Row(y * (1 - t) + ridge * beta, zero, ridge, lower, upper)

    def dual_value(self, y: Vector, c: Vector, beta: Vector) -> Vector:
        """α − c·(q − 1)·(α/(c·q))^(q/(q − 1)) for α = y·β ≥ 0."""
        alpha = y * beta
        with np.errstate(over="ignore"):
            s = np.maximum(alpha, 0.0) / c
            power = np.exp(self.q / (self.q - 1) * _log_ratio(s, self.q))
            gain = alpha - c * (self.q - 1) * power
        return np.where(alpha >= 0, gain, -np.inf)

    def dual_prox(self, y: Vector, c: Vector, v: Vector, h: Vector) -> Vector:
        """Solve t + h·c·s = 1 + h·y·v, s = q·t^(q − 1), in logarithms."""
        with np.errstate(over="ignore"):
            gain, slope = 1 + h * (y * v), h * c * self.q
        active = gain > 0
        ratio = _power_root(np.where(active, gain, 1.0), slope, self.q - 1)
        return np.where(active, y * c * self.q * ratio, 0.0)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """(1 − z)₊^q."""
        import cvxpy as cp

        return power_expr(cp.pos(1 - cp.multiply(y, p)), self.q), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """−s + (q − 1)·(s/q)^(q/(q − 1)), 0 ≤ s."""
        import cvxpy as cp

        s = -cp.multiply(y, g)
        return (self.q - 1) * power_expr(s / self.q, self.q / (self.q - 1)) - s, [s >= 0]


@dataclass(frozen=True, slots=True, eq=False)
class Logistic(RowWise):
    """The logistic loss, in nats.

        ℓ(y, p)  = log(1 + exp(−z)),  z = y·p
        ℓ*(y, g) = s·log s + (1 − s)·log(1 − s)   for 0 ≤ s = −y·g ≤ 1, else +inf
        ∂ℓ(y, p) = {−y/(1 + exp(z))}

    Source
    ------
    Keerthi, Duan, Shevade & Poo (2005), Machine Learning 61, 151-165.

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().value(np.array([1.0, -1.0]), np.array([0.0, 0.0]))
    array([0.69314718, 0.69314718])
    """

    margin: ClassVar[bool] = True
    piecewise_linear: ClassVar[bool] = False
    falls_for_ever: ClassVar[bool] = True

    def value(self, y: Vector, p: Vector) -> Vector:
        """log(1 + exp(−z)), without overflow."""
        return np.logaddexp(0.0, -y * p)

    def conjugate(self, y: Vector, g: Vector) -> Vector:
        """Negative entropy of s for 0 ≤ s ≤ 1."""
        s = np.clip(-y * g, 0.0, 1.0)
        return within(xlogy(s, s) + (1 - s) * np.log1p(-s * (s < 1)), -y * g, 0.0, 1.0)

    def slopes(self, y: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Return s = 1/(1 + exp(z)) turned by −y, twice."""
        slope = -y * expit(-y * p)
        return slope, slope.copy()

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """0 ≤ s ≤ 1."""
        return turned(y, full(y, -1.0), full(y, 0.0))

    def residual(self, y: Vector, p: Vector, g: Vector) -> Vector:
        """Kullback-Leibler divergence of s from 1/(1 + exp(z))."""
        z, s = y * p, np.clip(-y * g, 0.0, 1.0)
        fitted = _divergence(s, expit(-z), -np.logaddexp(0.0, z))
        fitted += _divergence(1 - s, expit(z), -np.logaddexp(0.0, -z))
        return within(fitted, -y * g, 0.0, 1.0)

    def row(self, y: Vector, c: Vector) -> None:  # noqa: ARG002
        """There is none."""
        return

    def local_row(self, y: Vector, c: Vector, beta: Vector) -> Row:
        """Second-order model at β = y·c·s: slope log((1 − s)/s), bend 1/(c·s·(1 − s))."""
        s = np.clip(y * beta / c, _TINY, 1 - _ULP)
        ridge = 1 / (c * s * (1 - s))
        zero = np.zeros_like(ridge)
        lower, upper = np.where(y > 0, zero, -c), np.where(y > 0, c, zero)
        return Row(y * (np.log1p(-s) - np.log(s)) + ridge * beta, zero, ridge, lower, upper)

    def dual_value(self, y: Vector, c: Vector, beta: Vector) -> Vector:
        """−α·log(α/c) − (c − α)·log((c − α)/c) for 0 ≤ α = y·β ≤ c."""
        alpha = np.clip(y * beta, 0.0, c)
        small = np.minimum(alpha, c - alpha)  # of the other, 1 − small/c loses what c restores
        gain = -xlogy(small, small / c) - (c - small) * np.log1p(-small / c)
        return np.where((y * beta >= 0) & (y * beta <= c), gain, -np.inf)

    def dual_prox(self, y: Vector, c: Vector, v: Vector, h: Vector) -> Vector:
        """Solve m + h·c/(1 + exp(−m)) = h·y·v, turned so that m ≤ 0."""
        w = y * v
        beyond = w > c / 2
        size = c * _sigmoid_root(h * np.where(beyond, c - w, w), h * c)
        return y * np.where(beyond, c - size, size)

    def value_expr(self, y: Vector, p: Expression) -> Form:
        """log(1 + exp(−z))."""
        import cvxpy as cp

        return cp.logistic(-cp.multiply(y, p)), []

    def conjugate_expr(self, y: Vector, g: Expression) -> Form:
        """Negative entropy of s, 0 ≤ s ≤ 1."""
        import cvxpy as cp

        s = -cp.multiply(y, g)
        return -cp.entr(s) - cp.entr(1 - s), [s >= 0, s <= 1]


def _power(u: Vector, q: float) -> Vector:
    """u^q for u ≥ 0, infinite without a warning where it overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.power(u, q))


def _log_ratio(s: Vector, q: float) -> Vector:
    """log(s/q), −inf at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(s / q))


def _bregman(u: Vector, s: Vector, q: float) -> Vector:
    """u^q + (q − 1)·t^q − s·u for s = q·t^(q − 1), with u = t·e^x.

    It is t^q times e^(q·x) − 1 − q·(e^x − 1), in expm1 so that what is lost near x = 0 is no more
    than the rounding of x loses; the larger of u^q and t^q stands in front, so that nothing
    overflows early.
    """
    a = q - 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_u, log_t = np.log(u), _log_ratio(s, q) / a
        x = np.where(np.maximum(u, s) > 0, log_u - log_t, 0.0)
        below, above = np.minimum(x, 0.0), np.maximum(x, 0.0)
        left = np.exp(below) * np.expm1(a * below) - a * np.expm1(below)
        right = a * np.expm1(-q * above) - q * np.expm1(-a * above)
        shape = left + right  # one of them is 0
        return np.where(shape > 0, np.exp(q * np.where(x > 0, log_u, log_t)) * shape, 0.0)


def _divergence(x: Vector, y: Vector, log_y: Vector) -> Vector:
    """x·log(x/y) − x + y ≥ 0, from the relative difference of x and y where that is small."""
    d = np.divide(x - y, y, out=np.full(np.shape(x), np.inf), where=y > 0)
    close = np.clip(d, -0.5, 0.5)
    near = y * ((1 + close) * np.log1p(close) - close)
    far = xlogy(x, x) - x * log_y - x + y
    divergence: Vector = np.where(np.abs(d) < 0.5, near, far)
    return np.maximum(divergence, 0.0)


def _power_root(k: Vector, slope: Vector, a: float) -> Vector:
    """Solve r^(1/a) + slope·r = k for r > 0, with k > 0, slope > 0, a > 0.

    In ξ = log r the logarithm of the left side is convex and increasing with a slope between 1
    and 1/a, so Newton from an upper bound of the root falls to it; one step in r then removes the
    rounding of the logarithms.
    """
    log_k, log_slope = np.log(k), np.log(slope)
    xi = np.minimum(a * log_k, log_k - log_slope)
    for _ in range(_NEWTON_STEPS):
        excess = np.logaddexp(xi / a, log_slope + xi) - log_k
        share = expit(xi / a - log_slope - xi)
        step = excess / (share / a + (1 - share))
        xi = xi - step
        if np.all(np.abs(step) <= _SETTLED * np.maximum(np.abs(xi), 1.0)):
            break
    root: Vector = np.exp(xi)
    power, line = np.power(root, 1 / a), slope * root
    excess, growth = power + line - k, power / a + line
    polish: Vector = np.divide(excess, growth, out=np.zeros_like(root), where=root > 0)
    return root * (1 - polish)


def _sigmoid_root(b: Vector, slope: Vector) -> Vector:
    """expit(m) at the root of m + slope·expit(m) = b, for 2·b ≤ slope, which puts it at m ≤ 0.

    There the left side is convex. Replacing expit(m) by exp(m) gives a lower bound of the root in
    closed form (the Wright omega function); Newton rises once and then falls. Beyond 0 the left
    side is concave and a step may diverge, hence the bound.
    """
    m = b - np.real(wrightomega(np.log(slope) + b))
    for _ in range(_NEWTON_STEPS):
        s = expit(m)
        step = (m + slope * s - b) / (1 + slope * s * expit(-m))
        m = np.minimum(m - step, 0.0)
        if np.all(np.abs(step) <= _SETTLED * np.maximum(np.abs(m), 1.0)):
            break
    return np.asarray(expit(m))


def power_expr(x: Expression, exponent: float) -> Expression:
    """x^exponent as an exact cvxpy atom, by second-order cones where few of them do.

    cvxpy rounds other exponents to a fraction (below 1 + 1/2048 to 1, which is affine) and warns;
    `approx=False` is the power cone, which Clarabel and SCS know and ECOS does not.
    """
    import cvxpy as cp

    short = Fraction(exponent).limit_denominator(3)
    return cp.power(x, exponent, approx=float(short) == exponent and short <= 4)
