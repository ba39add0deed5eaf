"""The dimensionless twin: what a solver sees instead of raw units.

The kernel is centred when the intercept is free. With u the unit of a multiplier (the mean cost;
for a hard margin 1/k̄), k̄ the mean diagonal of K and κ = u k̄, the twin of

    (D)  is  max  q'v − ... − κ/2 v'K̂ v,   β = u v,  v in [0, 1] for a hinge, value in units of u;
    (P)  is  min  λ/2 ‖f_v‖² + Σ (c_i/u) ℓ(y_i, g f_v + Bθ),   f = g f_v,  λ = g²/u,

with K̂ = K/k̄, and the gain g = √min(1, κ) over √k̄ (weights) or k̄ (coefficients), so that λ k̄ is
at most 1. κ, λ, g and the price of an offset are cvxpy Parameters: another C or ν compiles nothing.
In raw units solvers fail on features far from the origin, and call answers at a tiny C "optimal"
that are not.

A homogeneous risk has no scale of its own: (f, θ) = κ (f', θ') gives κ times the same problem with
κ' = 1, which is what its twin solves; ``stretch`` is that κ, and 1 for every other risk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp.certificate import Candidate
from kernelqp.fenchel import Program, dual_program, primal_program

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk


def unit_of(risk: RegularizedRisk) -> float:
    """Return u, the unit of a multiplier: the mean cost, or 1/k̄ for a hard margin."""
    return 1.0 / size_of(risk) if risk.loss.hard else float(risk.costs.mean())


def size_of(risk: RegularizedRisk) -> float:
    """Return k̄, the mean diagonal of the kernel; 1 where the kernel is 0."""
    return risk.gram.mean_diagonal or 1.0


def stretch_of(risk: RegularizedRisk) -> float:
    """Return κ of a homogeneous risk, whose predictions have that size; 1 of any other."""
    return unit_of(risk) * size_of(risk) if risk.homogeneous else 1.0


def hardness(risk: RegularizedRisk) -> float:
    """Return κ = u k̄: 1 for a hard margin, large where the loss dominates the penalty."""
    return 1.0 if risk.homogeneous else unit_of(risk) * size_of(risk)


def gain_of(risk: RegularizedRisk, *, in_weights: bool) -> float:
    """Return g, what a variable near 1 is worth in weights or coefficients."""
    k = size_of(risk)
    return float(np.sqrt(min(1.0, hardness(risk))) / (np.sqrt(k) if in_weights else k))


@dataclass(frozen=True, eq=False, slots=True)
class Relative:
    """A problem with targets of size 1, about their median where an offset takes that.

    f, β and θ are in ``unit`` of those of the problem it came from, a power of 2; ``shift`` (m,) is
    what the offset says of the median. A margin loss stays as it is.
    """

    risk: RegularizedRisk
    unit: float
    shift: Vector

    @classmethod
    def of(cls, risk: RegularizedRisk) -> Relative:
        """Divide the targets, and with them the costs and the parameters of the loss."""
        loss, constant = risk.loss, risk.offset.free_constant
        if not loss.degree:
            return cls(risk, 1.0, 0.0 * risk.offset.price)
        middle = 0.0 if constant is None else float(np.median(risk.targets))
        size = float(np.abs(risk.targets - middle).mean())
        unit = 2.0 ** round(np.log2(size)) if size > 0 else 1.0
        relative = replace(
            risk,
            targets=(risk.targets - middle) / unit,
            costs=risk.costs * unit ** (loss.degree - 2),
            loss=loss.in_unit(unit),
            offset=replace(risk.offset, price=risk.offset.price / unit),
        )
        shift = 0.0 * risk.offset.price if constant is None else middle * constant
        return cls(relative, unit, shift)

    def restored(self, candidate: Candidate) -> Candidate:
        """Return a candidate of the relative problem as one of the problem itself."""
        beta, function, theta = candidate.beta, candidate.function, candidate.theta
        return Candidate(
            beta=None if beta is None else self.unit * beta,
            function=None if function is None else function.scaled(self.unit),
            theta=None if theta is None else self.unit * theta + self.shift,
        )


class Twin:
    """One compiled problem in dimensionless units, for one side and one kind of solver.

    Parameters
    ----------
    risk : RegularizedRisk
        The centred problem; later calls may change its costs by a common factor, and the price of
        its offset.
    side : str
        "primal" or "dual".
    quadratic : bool
        Whether the solver takes a quadratic objective.
    """

    def __init__(self, risk: RegularizedRisk, side: str, *, quadratic: bool) -> None:
        self.side = side
        self._curvature = cp.Parameter(nonneg=True, name="curvature")
        self._penalty = cp.Parameter(nonneg=True, name="penalty")
        self._gain = cp.Parameter(nonneg=True, name="gain")
        priced = bool(risk.offset.price.any())
        self._price = cp.Parameter(risk.offset.price.size, name="price") if priced else None
        # F F' meets its parameter only inside the solver, so F is brought to size here; a dense K
        # is compiled as its product with the parameter, and a scaled copy would only cost memory
        self._size = size_of(risk) if risk.gram.factor is not None or not quadratic else 1.0
        relative = replace(
            risk,
            gram=risk.gram if self._size == 1.0 else risk.gram.scaled(1.0 / self._size),
            costs=np.ones(risk.n) if risk.loss.hard else risk.costs / unit_of(risk),
        )
        self._program: Program = (
            dual_program(relative, self._curvature, self._price, quadratic=quadratic)
            if side == "dual"
            else primal_program(
                relative, self._penalty, self._gain, self._price, quadratic=quadratic
            )
        )
        self.set(risk)

    @property
    def problem(self) -> cp.Problem:
        """The cvxpy problem that a solver is given."""
        return self._program.problem

    def set(self, risk: RegularizedRisk) -> None:
        """Put the risk's units into the parameters."""
        size, in_weights = self._size, risk.gram.factor is not None
        self.unit, self.gain = unit_of(risk), gain_of(risk, in_weights=in_weights)
        self.stretch = stretch_of(risk)
        if self._price is not None:
            self._price.value = risk.offset.price / self.unit
        self._curvature.value = self.unit * size / self.stretch
        self._gain.value = self.gain * (np.sqrt(size) if in_weights else size)
        self._penalty.value = (
            self.gain**2 * (1.0 if in_weights else size) * self.stretch / self.unit
        )

    def candidate(self, risk: RegularizedRisk) -> Candidate | None:
        """Return what the solved twin claims about ``risk``, or None without finite numbers."""
        if any(v.value is None for v in self._program.variables.values()):
            return None
        found = self._dual_candidate() if self.side == "dual" else self._primal_candidate(risk)
        numbers = [
            found.beta,
            found.theta,
            None if found.function is None else found.function.values,
        ]
        given = [a for a in numbers if a is not None]
        return found if all(np.isfinite(a).all() for a in given) else None

    def _dual_candidate(self) -> Candidate:
        beta = self.unit * self._program.variables["beta"].value
        theta = self._multiplier("balance")
        return Candidate(beta=beta, theta=None if theta is None else self.stretch * theta)

    def _primal_candidate(self, risk: RegularizedRisk) -> Candidate:
        gain, values = self.stretch * self.gain, self._program.variables
        if risk.gram.factor is not None:
            function = risk.function(weights=gain * values["w"].value)
        else:
            beta = gain * values["beta"].value
            free = risk.offset.free_constant is not None  # then the kernel is centred
            function = risk.function(risk.gram.balanced(beta) if free else beta)
        multiplier = self._multiplier("prediction")
        beta = None if multiplier is None else self.unit * multiplier
        theta = self.stretch * values["theta"].value if "theta" in values else np.zeros(0)
        return Candidate(beta=beta, function=function, theta=theta)

    def _multiplier(self, name: str) -> Vector | None:
        """Return a constraint's multiplier; an empty one where there is no such constraint."""
        if name not in self._program.constraints:
            return np.zeros(0)
        value: Any = self._program.constraints[name].dual_value
        return None if value is None else np.ravel(np.asarray(value, dtype=np.float64), order="F")
