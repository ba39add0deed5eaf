"""How a residual is paid for on paper: slack variables, their prices, and the boxes of the dual.

With r = y − f(x) − b, ``Tube`` is a tube of half-width ε with a price on each side,

    above:  y_i − f(x_i) − b <= ε + ξ_i,    below:  f(x_i) + b − y_i <= ε + ξ*_i,    ξ, ξ* >= 0

at Σ s_i (a ξ_i^q + a* ξ*_i^q), and ``Bend`` is Huber's loss as a quadratic part u and a linear one,

    residual:  y_i − f(x_i) − b = u_i + ξ_i − ξ*_i,    ξ, ξ* >= 0

at Σ s_i (u_i²/2 + δ ξ_i + δ ξ*_i). The multipliers of a row, α − α*, are the engine's β.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import cvxpy as cp
import numpy as np

from kernelqp.description import (
    HALF,
    TWO,
    ZERO,
    Formula,
    decimals,
    number,
    relation,
    total,
)
from kernelqp.losses import EpsilonInsensitive, Huber, Pinball, SquaredEpsilonInsensitive
from kernelqp.methods.base import row, scalar
from kernelqp.methods.page import flat

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from kernelqp._types import Vector
    from kernelqp.description import Symbol
    from kernelqp.losses import Loss

Stated = tuple[dict[str, cp.Variable], dict[str, cp.Constraint], cp.Expression]
Described = tuple[tuple["Symbol", ...], dict[str, Formula], Formula]


class Slacks(Protocol):
    """The slack variables of one loss: stated in cvxpy, described, and filled at a point."""

    @property
    def split(self) -> bool:
        """Whether the dual is written in α and α*, >= 0, or in their difference alone."""

    @property
    def epsilon(self) -> float:
        """The price of α + α* in the dual."""

    @property
    def loss(self) -> Loss:
        """The engine's loss."""

    def state(self, y: Vector, weights: Vector, values: cp.Expression) -> Stated:
        """Return the variables, the constraints, and the cost at the price C = 1."""

    def describe(self, values: Formula) -> Described:
        """Return the unknowns, the constraints and the cost, as :meth:`state` does."""

    def values(self, r: Vector) -> dict[str, Vector]:
        """Return the slack variables at residuals r, shape (n,)."""

    def multipliers(self, costs: Vector, beta: Vector) -> dict[str, Vector]:
        """Return the multipliers of the constraints at β, shape (n,) each."""

    def claimed(self, multipliers: Mapping[str, Any]) -> Vector | None:
        """Return the β that multipliers claim; None where they have no value."""

    def curvature(self) -> float:
        """Return h of the price Σ h α_i²/(C s_i) in the dual; 0 for none."""

    def box(self) -> tuple[float, float]:
        """Return the ends of the box of α/(C s), of the unsplit α or of α and α* each."""

    def decimal_box(self) -> tuple[Fraction, Fraction | None]:
        """Return −low and high of the box in decimals, None for no upper end."""


@dataclass(frozen=True)
class Tube:
    """The two-sided slack of ε-insensitive, squared ε-insensitive, absolute and check losses.

    Parameters
    ----------
    epsilon : float
        ε >= 0, in the unit of y.
    above, below : float
        The price of a unit of slack of a row above and below the tube: τ and 1 − τ for a quantile.
    power : int
        q, 1 or 2.
    split : bool
        Whether the dual is written in α and α*.
    """

    epsilon: float = 0.0
    above: float = 1.0
    below: float = 1.0
    power: int = 1
    split: bool = True

    @property
    def loss(self) -> Loss:
        """The engine's loss."""
        if not self.split:
            return Pinball(self.above)
        kind = EpsilonInsensitive if self.power == 1 else SquaredEpsilonInsensitive
        return kind(self.epsilon)

    def state(self, y: Vector, weights: Vector, values: cp.Expression) -> Stated:
        """Return ξ and ξ*, the two sides of the tube, and Σ s (a ξ^q + a* ξ*^q)."""
        xi, xi_star = cp.Variable(y.size, name="xi"), cp.Variable(y.size, name="xi_star")
        constraints = {
            "above": y - values <= self.epsilon + xi,
            "below": values - y <= self.epsilon + xi_star,
            "slack": xi >= 0,
            "slack_star": xi_star >= 0,
        }
        paid = [xi, xi_star] if self.power == 1 else [cp.square(xi), cp.square(xi_star)]
        cost = weights @ (self.above * paid[0] + self.below * paid[1])
        return {"xi": xi, "xi_star": xi_star}, constraints, cost

    def describe(self, values: Formula) -> Described:
        """Return ξ and ξ*, the two sides of the tube, and Σ s (a ξ^q + a* ξ*^q)."""
        xi, xi_star, y, e = row("xi"), row("xi_star"), row("y"), number(self.epsilon)
        ends = [xi, xi_star] if not self.epsilon else [e + xi, e + xi_star]
        constraints = {
            "above": relation(y - values, "<=", ends[0]),
            "below": relation(values - y, "<=", ends[1]),
            "slack": relation(xi, ">=", ZERO),
            "slack_star": relation(xi_star, ">=", ZERO),
        }
        q = number(self.power)
        paid = number(self.above) * xi**q + number(self._below) * xi_star**q
        return (scalar("xi"), scalar("xi_star")), constraints, total("i", row("s") * paid)

    @property
    def _below(self) -> Fraction:
        """The price below, in the decimals of the one above: 0.1 for τ = 0.9."""
        return decimals(self.below) if self.split else 1 - decimals(self.above)

    def values(self, r: Vector) -> dict[str, Vector]:
        """Return ξ = (r − ε)₊ and ξ* = (−r − ε)₊."""
        return {
            "xi": np.maximum(r - self.epsilon, 0.0),
            "xi_star": np.maximum(-r - self.epsilon, 0.0),
        }

    def multipliers(self, costs: Vector, beta: Vector) -> dict[str, Vector]:
        """Return α = β₊ and α* = β₋; for q = 1 what is left of the prices keeps ξ, ξ* >= 0."""
        alpha, alpha_star = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        left = (costs * self.above - alpha, costs * self.below - alpha_star)
        if self.power != 1:  # the price of ξ² alone keeps ξ >= 0
            left = (np.zeros_like(beta), np.zeros_like(beta))
        return {"above": alpha, "below": alpha_star, "slack": left[0], "slack_star": left[1]}

    def claimed(self, multipliers: Mapping[str, Any]) -> Vector | None:
        """Return α − α*."""
        above, below = flat(multipliers.get("above")), flat(multipliers.get("below"))
        return None if above is None or below is None else above - below

    def curvature(self) -> float:
        """Return 1/4 for squares, 0 for q = 1."""
        return 0.0 if self.power == 1 else 0.25

    def box(self) -> tuple[float, float]:
        """Return [0, 1], no upper end for squares; [τ − 1, τ] of the unsplit α."""
        if not self.split:
            return -self.below, self.above
        return 0.0, 1.0 if self.power == 1 else np.inf

    def decimal_box(self) -> tuple[Fraction, Fraction | None]:
        """Return −low and high of the box in decimals."""
        low, high = self.box()
        ends = (decimals(-low) if self.split else self._below, decimals(self.above))
        return ends[0], ends[1] if np.isfinite(high) else None


@dataclass(frozen=True)
class Bend:
    """Huber's loss: u² / 2 up to δ, and a price of δ for what is beyond."""

    delta: float
    split: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    @property
    def loss(self) -> Loss:
        """The engine's loss."""
        return Huber(self.delta)

    def state(self, y: Vector, weights: Vector, values: cp.Expression) -> Stated:
        """Return u, ξ and ξ*, what they add up to, and Σ s (u²/2 + δ ξ + δ ξ*)."""
        names = ("u", "xi", "xi_star")
        u, xi, xi_star = (cp.Variable(y.size, name=name) for name in names)
        constraints = {
            "residual": y - values == u + xi - xi_star,
            "slack": xi >= 0,
            "slack_star": xi_star >= 0,
        }
        bent = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weights), u))
        cost = bent + self.delta * (weights @ (xi + xi_star))
        return dict(zip(names, (u, xi, xi_star), strict=True)), constraints, cost

    def describe(self, values: Formula) -> Described:
        """Return u, ξ and ξ*, what they add up to, and Σ s (u²/2 + δ ξ + δ ξ*)."""
        u, xi, xi_star, delta = row("u"), row("xi"), row("xi_star"), number(self.delta)
        constraints = {
            "residual": relation(row("y") - values, "=", u + xi - xi_star),
            "slack": relation(xi, ">=", ZERO),
            "slack_star": relation(xi_star, ">=", ZERO),
        }
        cost = total("i", row("s") * (HALF * u**TWO + delta * xi + delta * xi_star))
        return (scalar("u"), scalar("xi"), scalar("xi_star")), constraints, cost

    def values(self, r: Vector) -> dict[str, Vector]:
        """Return u = r clipped to ±δ, ξ = (r − δ)₊ and ξ* = (−r − δ)₊."""
        return {
            "u": np.clip(r, -self.delta, self.delta),
            "xi": np.maximum(r - self.delta, 0.0),
            "xi_star": np.maximum(-r - self.delta, 0.0),
        }

    def multipliers(self, costs: Vector, beta: Vector) -> dict[str, Vector]:
        """Return β, and what it leaves of the price δ C s."""
        left = costs * self.delta
        return {"residual": beta, "slack": left - beta, "slack_star": left + beta}

    def claimed(self, multipliers: Mapping[str, Any]) -> Vector | None:
        """Return the multiplier of ``residual``."""
        return flat(multipliers.get("residual"))

    def curvature(self) -> float:
        """Return 1/2."""
        return 0.5

    def box(self) -> tuple[float, float]:
        """Return [−δ, δ]."""
        return -self.delta, self.delta

    def decimal_box(self) -> tuple[Fraction, Fraction | None]:
        """Return δ and δ in decimals."""
        return decimals(self.delta), decimals(self.delta)
