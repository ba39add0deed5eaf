"""Where an interior point method stands: x >= 0, the multipliers, and where it starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.linalg

if TYPE_CHECKING:
    from kernelqp._types import Indices, Mask, Vector
    from kernelqp.gram import Gram
    from kernelqp.losses import Row

BACK = 0.995  # of the way to the boundary
AIMS = 10.0 ** -np.arange(1.0, 6.0)  # of the complementarity of the middle: what is tried near u
NEAR = 0.1  # of the gap in the middle: what a start has to leave less of

Step: TypeAlias = "tuple[Vector, Vector, Vector, Vector, Vector]"


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """β = base + S x, x >= 0: the row, the sign, the price and the bound of every variable."""

    base: Vector
    row: Indices
    sign: Vector
    price: Vector
    upper: Vector
    both: Mask  # whether the row has two variables

    @classmethod
    def of(cls, row: Row) -> Split:
        """Split the rows with ε; count the others from an end that is finite."""
        two, n = row.eps > 0, row.q.size
        from_low = np.isfinite(row.lower)
        base = np.where(two, 0.0, np.where(from_low, row.lower, row.upper))
        sign = np.where(two | from_low, 1.0, -1.0)
        width = np.where(two, row.upper, row.upper - row.lower)
        split, everyone = np.flatnonzero(two), np.arange(n)
        signs = np.r_[sign, -np.ones(split.size)]
        rows = np.r_[everyone, split]
        return cls(
            base,
            rows,
            signs,
            row.eps[rows] - signs * row.q[rows],
            np.r_[width, -row.lower[split]],
            two[rows],
        )

    def beta(self, x: Vector) -> Vector:
        """Return base + S x."""
        return np.asarray(self.base + self.scatter(self.sign * x))

    def gather(self, values: Vector) -> Vector:
        """Return S' values."""
        if self.row.size == self.base.size:  # a variable a row, in order
            return self.sign * values
        return self.sign * values[self.row]

    def scatter(self, values: Vector) -> Vector:
        """Return the sum over the variables of every row."""
        n = self.base.size
        if self.row.size == n:
            return values
        if self.row.size == 2 * n:  # two variables a row, in order
            return values[:n] + values[n:]
        return np.asarray(np.bincount(self.row, values, self.base.size), dtype=np.float64)

    def share(self, dbeta: Vector, r: Vector, pushed: Vector, weight: Vector, h: Vector) -> Vector:
        """Return Δx: of a row with two variables the part of each, of another Δβ itself."""
        dx = self.gather(dbeta)
        if self.row.size == self.base.size:
            return dx
        part = (h[self.row] * dx + (r - self.gather(pushed))) / weight
        return np.where(self.both, part, dx)


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """x and its multiplier z, the slack w = upper − x and its multiplier v, and u.

    β is base + S x to more figures. Where there is no upper bound w is 1 and v is 0, and the factor
    ``bounded`` is 0, elsewhere 1. ``complements`` is how many products x z and w v there are,
    ``start`` their first mean, ``size`` the size of a multiplier.
    """

    x: Vector
    z: Vector
    w: Vector
    v: Vector
    u: Vector
    beta: Vector
    bounded: Vector
    complements: int
    start: float
    size: float

    @classmethod
    def centre(cls, split: Split, unknowns: int, gram: Gram) -> State:
        """Return the middle of the box with equal multipliers.

        They are of the size of the prices; without any, of that of the predictions.
        """
        bounded = np.isfinite(split.upper)
        unit = float(split.upper[bounded].mean()) if bounded.any() else 1.0
        x = np.where(bounded, 0.5 * split.upper, 0.5 * unit)
        size = float(np.abs(split.price).max(initial=0.0))
        size = size or float(gram.row_bounds.max(initial=0.0)) * 0.5 * unit or 1.0
        w = np.where(bounded, x, 1.0)
        z = np.full(x.size, size)
        return cls(
            x,
            z,
            w,
            z * bounded,
            np.zeros(unknowns),
            split.beta(x),
            bounded.astype(np.float64),
            int(x.size + bounded.sum()),
            0.5 * unit * size,
            size,
        )

    def near(self, split: Split, system: Any, u: Vector) -> State | None:
        """Return a start whose gradient is that at u; None where it is not near the optimum there.

        z − v is the gradient g, and with x z = w v = μ the distance of x from its nearer end is
        2 μ c/(|g| c + 2 μ + √((g c)² + 4 μ²)), c the upper bound. The gap that a μ leaves is no
        more than N μ + 1/2 ‖F'β − w‖², N how many products there are.
        """
        g = split.price + split.gather(system.predictions(self.beta, u))
        left = np.inf
        for mu in (AIMS * self.mu).tolist():
            state = self._on_path(split, u, g, mu)
            off = float(scipy.linalg.norm(system.residual(state.beta, u)))  # no square overflows
            gap = self.complements * mu + 0.5 * off * off
            if gap > left:
                break
            left = gap
        if not left < NEAR * self.complements * self.mu:
            return None
        return self._on_path(split, u, g, left / self.complements)

    def _on_path(self, split: Split, u: Vector, g: Vector, mu: float) -> State:
        """Return x with x z = w v = mu and z − v = g, every x between two ends."""
        c = split.upper
        pull = np.abs(g) * c
        gap = 2.0 * mu * (c / (pull + 2.0 * mu + np.hypot(pull, 2.0 * mu)))
        x, w = np.where(g >= 0, gap, c - gap), np.where(g >= 0, c - gap, gap)
        return replace(self, x=x, w=w, z=mu / x, v=mu / w, u=u, beta=split.beta(x))

    @property
    def mu(self) -> float:
        """The mean of x z and of w v."""
        return float(self.x @ self.z + self.w @ self.v) / self.complements

    def mu_after(self, step: Step, t: float) -> float:
        """Return ``mu`` at the end of t times a step that aims at 0: x dz + z dx = −x z."""
        dx, _, dz, dv, _ = step
        t = min(t, 1.0)
        second = float(dx @ dz - dx @ dv)  # dv is 0 where there is no w
        return (1.0 - t) * self.mu + t * t * second / self.complements

    def moved(self, step: Step, t: float) -> State:
        """Return the state after t times a step."""
        dx, du, dz, dv, dbeta = step
        return replace(
            self,
            x=self.x + t * dx,
            z=self.z + t * dz,
            w=self.w - (t * self.bounded) * dx,
            v=self.v + t * dv,
            u=self.u + t * du,
            beta=self.beta + t * dbeta,
        )

    def longest(self, step: Step) -> float:
        """Return the longest t at which nothing turns negative, 1/BACK at most."""
        dx, _, dz, dv, _ = step
        with np.errstate(all="ignore"):  # v and dv are 0 where there is no w
            shares = np.fmin(dx / self.x, dz / self.z)
            shares = np.fmin(shares, np.fmin(-self.bounded * dx / self.w, dv / self.v))
        return -1.0 / min(float(np.fmin.reduce(shares)), -BACK)
