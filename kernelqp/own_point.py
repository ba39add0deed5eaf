"""The bounds of an algorithm while it runs: P at its own point, the best D met, when to stop.

The reported f is the algorithm's and nothing else: it is not scaled, polished or replaced. D may
come from any dual point: from f's own coefficients moved into their box, and, once, from the search
that bounds other people's models (`kernelqp.bound_search`), whose kernel QP is nearly the optimum;
then the gap is what the algorithm's point lacks, and not what the bound lacks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.band import solve_cost
from kernelqp.bound_search import Search
from kernelqp.certificate import (
    certify_as_it_stands,
)
from kernelqp.repair import domain_of, lower_bound, repair_dual
from kernelqp.risk import Function
from kernelqp.scales import (
    gap_scale,
    relative_gap,
    rounding_of_bounds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelqp._types import Matrix, Vector
    from kernelqp.certificate import Verdict
    from kernelqp.progress import Progress
    from kernelqp.risk import RegularizedRisk

QUICK = 2e9  # multiplications of a kernel QP that is solved after the first look: about a second


def in_own_words(risk: RegularizedRisk, beta: Vector) -> Function:
    """Return f = Σ β_i k(x_i, ·), in weights as well where there are features."""
    if risk.gram.factor is None:
        return risk.function(beta)
    w = risk.gram.weights(beta)
    function = risk.function(weights=w)
    return Function(function.values, function.norm2, beta, w)


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """A point that was looked at: the step, P, f, and what the caller counted by then."""

    step: int
    primal: float
    function: Function
    counts: NDArray[np.int64]


class Looks:
    """The looks that are taken at a running algorithm for a problem without an offset.

    Parameters
    ----------
    risk : RegularizedRisk
    tol : float
        The relative gap that is good enough.
    progress : Progress
        Told the relative gap at every look.
    """

    def __init__(self, risk: RegularizedRisk, tol: float, progress: Progress) -> None:
        self.risk, self.tol = risk, tol
        self.best: Seen | None = None
        self._dual, self._lower = risk.function(np.zeros(risk.n)), 0.0  # D at 0, in every box
        self._scale, self._search = gap_scale(risk), Search(tol, progress)
        self._searched, self._progress = False, progress
        self._seen: list[tuple[float, float, float]] = []
        self._none = np.zeros(0)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search for a bound."""
        return self._search.interrupted

    def stop(self) -> None:
        """Search no further than a first bound: somebody waits."""
        self._search.interrupted = True

    @property
    def history(self) -> Matrix:
        """Step, P and the best D so far, a line a look, in the engine's unit."""
        return np.array(self._seen, dtype=np.float64).reshape(-1, 3)

    def look(self, beta: Vector, step: int, counts: NDArray[np.int64]) -> bool:
        """Take a look at f_β after a step; return whether its gap is at most tol."""
        risk, function = self.risk, in_own_words(self.risk, beta)
        primal = risk.primal_value(function, self._none)
        if self.best is None or primal < self.best.primal:
            self.best = Seen(step, primal, function, counts.copy())
        self._offer(self._dual_of(function))
        if not self._searched and solve_cost(risk.gram, risk.n) <= QUICK:
            self._tighten(function)
        self._seen.append((float(step), primal, self._lower))
        noise = rounding_of_bounds(risk, self._dual)
        gap = relative_gap(primal, self._lower, self._scale, noise)
        self._progress.say(f"relative gap at most {gap:.1e}")
        return gap <= self.tol

    def _dual_of(self, function: Function) -> Function:
        """Return a feasible dual point from f's own coefficients."""
        low, high = domain_of(self.risk)
        inside = np.clip(function.coefficients, low, high)
        moved = not np.array_equal(inside, function.coefficients)
        return repair_dual(self.risk, self.risk.function(inside) if moved else function, self._none)

    def _offer(self, dual: Function) -> None:
        """Keep a dual point if its D is the largest so far."""
        value = lower_bound(self.risk, dual)
        if value > self._lower:
            self._dual, self._lower = dual, value

    def _tighten(self, function: Function) -> None:
        """Search for a better dual point from f: once, and not where there are no bounds."""
        self._searched = True
        self._offer(self._search.run(self.risk, self._dual, function, self._none).dual)

    def verdict(self, function: Function) -> Verdict:
        """Judge f as it stands; where the bound is too wide it is searched for."""
        primal = self.risk.primal_value(function, self._none)
        wide = relative_gap(primal, self._lower, self._scale) > self.tol
        if wide and not self._searched and math.isfinite(primal):
            self._tighten(function)
        return certify_as_it_stands(self.risk, function, self._dual, self.tol)
