"""Several results of one problem side by side: do they agree, and what does it mean if not.

    D_i <= optimum <= P_i for every result i     so     max D_i <= optimum <= min P_i

A value outside the bounds of the others is wrong, whatever its solver said. Values inside tight
bounds are all optimal, and where their multipliers or intercepts differ, the optimum is not unique:
f is (the objective is strictly convex in it), β and b need not be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.check import check_kkt, repaired_point
from kernelqp.columns import dense
from kernelqp.compared_result import ComparedResult, aligned, form_of
from kernelqp.errors import InputError
from kernelqp.tolerance import check_tol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelqp._types import Vector
    from kernelqp.kkt import KKTReport
    from kernelqp.solution import Solution

OPTIMAL, WRONG, OPEN = "optimal", "wrong", "open"
ROUNDING = 1e-12  # of targets: a spread below it says nothing


@dataclass(frozen=True, eq=False)
class Comparison:
    """An agreement table.

    Attributes
    ----------
    solutions : tuple of Solution
        In the order in which they came.
    tol : float
        Relative tolerance of the agreement.
    lower, upper : float
        The best bounds of all: max D <= optimum <= min P.
    wrong : tuple of int
        The positions of the results whose values lie outside these bounds.
    agree : bool
        Whether none is wrong and all values are within tol of the optimum.
    same_multipliers, same_intercept : bool
        Whether α (β where there is none) and b of the certified results agree too, to √tol of
        their size. Where values agree and these do not, the optimum is not unique: all are right.
    intercept_interval : tuple of float, or None
        The widest interval of optimal intercepts that a certified result carries, None where b is
        unique: it shows that b is free even where the results agree in it.
    """

    solutions: tuple[Solution, ...]
    tol: float
    lower: float
    upper: float
    wrong: tuple[int, ...]
    agree: bool
    same_multipliers: bool
    same_intercept: bool
    intercept_interval: tuple[float, float] | None

    @property
    def unique(self) -> bool:
        """Whether nothing here shows that β or b is not unique."""
        return self.same_multipliers and self.same_intercept and self.intercept_interval is None

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.wrong:
            return f"the values disagree: {self._wrong_ones()}"
        if not self.agree:
            return (
                f"the results leave the optimum open, {self._bounds()}: no value is shown to be "
                f"wrong and not all are shown to be right; ask for a smaller tol"
            )
        if self.same_multipliers and self.same_intercept:
            return f"all results agree{self._free_intercept()}"
        differ = {"multipliers": self.same_multipliers, "intercepts": self.same_intercept}
        what = " and the ".join(name for name, same in differ.items() if not same)
        return (
            f"the values agree and the {what} differ: the optimum is not unique, all are optimal"
            f"{self._free_intercept()}"
        )

    @cached_property
    def kkt(self) -> tuple[KKTReport, ...]:
        """The KKT report of each result, at the tolerance of the comparison."""
        return tuple(check_kkt(solution, self.tol) for solution in self.solutions)

    @cached_property
    def results(self) -> tuple[ComparedResult, ...]:
        """The lines of the table."""
        return tuple(
            ComparedResult.of(solution, report, self.judgement(k))
            for k, (solution, report) in enumerate(zip(self.solutions, self.kkt, strict=True))
        )

    def judgement(self, k: int) -> str:
        """Return "optimal", "wrong" or "open" for result k."""
        if k in self.wrong:
            return WRONG
        return OPTIMAL if self.upper - self.lower <= 2.0 * self._slack else OPEN

    def name(self, k: int) -> str:
        """Return what result k is called: its form and solver, and its place where these repeat."""
        names = [f"{_titled(s)} by {s.solver}" for s in self.solutions]
        place = f" (result {k + 1})" if names.count(names[k]) > 1 else ""
        return f"the {names[k]}{place}"

    def __str__(self) -> str:
        return "\n".join([*aligned(self.results), self._bounds(), self.verdict])

    @property
    def _slack(self) -> float:
        return self.tol * _common_unit(self.solutions)

    def _bounds(self) -> str:
        return f"{self.lower:.10g} <= optimum <= {self.upper:.10g}"

    def _wrong_ones(self) -> str:
        found = []
        for k in self.wrong:
            value = self.solutions[k].value
            side = "above" if value > self.upper else "below"
            why = f"{value:.10g} is {side} {self._bounds()}"
            if self.lower - self._slack <= value <= self.upper + self._slack:
                why = "its certificate is not that of its point"
            found.append(f"{self.name(k)} is wrong, {why}")
        rest = len(self.solutions) - len(self.wrong)
        ending = ("", "; the other is not excluded", "; the others agree")[min(rest, 2)]
        if len(self.wrong) == len(self.solutions):
            ending = ": the certificates contradict each other"
        return "; ".join(found) + ending

    def _free_intercept(self) -> str:
        if self.intercept_interval is None:
            return ""
        low, high = self.intercept_interval
        return f"; the intercept is not unique: any from {low:.6g} to {high:.6g} is optimal"


def compare(solutions: Iterable[Solution] | Solution, tol: float = 1e-6) -> Comparison:
    """Compare results of the same problem by value, certificate, KKT conditions and sets.

    Parameters
    ----------
    solutions : iterable of Solution
        Of one method on one data set, by any forms and solvers.
    tol : float
        Relative tolerance of the agreement, in the unit of ``certificate.relative_gap``.

    Returns
    -------
    Comparison
        Printed, it is the table; ``verdict`` is its last line, ``wrong`` says which results the
        bounds of the others exclude.

    Raises
    ------
    InputError
        If there is no result, one is not a Solution, they are not of one problem, or tol is not a
        positive number.

    Examples
    --------
    >>> import kernelqp as kq
    >>> svm, X, y = kq.SoftMarginSVM(C=10), [[1.0], [1.0], [-1.0]], [1, 1, -1]
    >>> print(kq.compare([svm.primal(X, y).solve(), svm.dual(X, y).solve()]).agree)
    True

    A run that is stopped early is named:

    >>> moons = kq.load_problem("moons")
    >>> stopped = moons.solve(form="dual", solver="CLARABEL", max_iter=3)
    >>> found = kq.compare([moons.solve(form="dual", solver="native"), stopped])
    >>> found.wrong, found.verdict[:51]
    ((1,), 'the values disagree: the dual by CLARABEL is wrong,')
    """
    check_tol(tol)
    one = hasattr(solutions, "certificate")
    found: tuple[Any, ...] = (solutions,) if one else tuple(solutions)  # type: ignore[arg-type]  # else several
    _refuse_strangers(found)
    claimed = [_bounds_of(s.certificate) for s in found]
    slack = tol * _common_unit(found)
    lower, upper = _joint(claimed)
    proved = claimed
    if lower > upper + slack:  # a certificate is not that of its point: judge the points anew
        proved = [_bounds_again(s, tol) for s in found]
        lower, upper = _joint(proved)
    wrong = tuple(
        k
        for k, s in enumerate(found)
        if not lower - slack <= s.value <= upper + slack
        or claimed[k][0] > upper + slack
        or claimed[k][1] < lower - slack
    )
    values = [s.value for s in found]
    agree = not wrong and max(values) - min(values) <= 2.0 * slack and upper - lower <= 2.0 * slack
    right = [s for k, s in enumerate(found) if k not in wrong and _is_tight(s, tol)]
    centre, size = _origin_and_unit(found[0])
    intercepts = [np.atleast_1d(s.intercept) - centre for s in right if hasattr(s, "intercept")]
    return Comparison(
        found,
        tol,
        lower,
        upper,
        wrong,
        bool(agree),
        _close(_multipliers(right), tol),
        _close(intercepts, tol, unit=size),
        _widest([getattr(s, "intercept_interval", None) for s in right], math.sqrt(tol) * size),
    )


def _titled(solution: Solution) -> str:
    form, side = form_of(solution), solution.origin[0].side
    return side if form == side else f"{side} ({form})"


def unit_of_gap(certificate: Any) -> float:
    """Return what ``relative_gap`` is relative to, so that an optimum of 0 has a unit too."""
    width = abs(certificate.gap) + getattr(certificate, "rounding", 0.0)
    if math.isfinite(width) and certificate.relative_gap > 0:
        return float(width / certificate.relative_gap)
    sizes = [abs(v) for v in (certificate.primal_value, certificate.dual_value)]
    return max([v for v in sizes if math.isfinite(v)], default=0.0)


def _common_unit(solutions: Sequence[Solution]) -> float:
    """Return the unit of the tightest bounds; a certificate without one has no say."""
    units = [unit_of_gap(s.certificate) for s in solutions]
    return min([unit for unit in units if unit > 0], default=0.0)


# --- what is compared -----------------------------------------------------------------------------


def _refuse_strangers(found: tuple[Any, ...]) -> None:
    if not found:
        raise InputError("compare needs at least one Solution; got none")
    for solution in found:
        if not (hasattr(solution, "certificate") and hasattr(solution, "origin")):
            raise InputError(f"compare takes Solutions; got {type(solution).__name__}: {solution}")
        if not _same_problem(found[0], solution):
            raise InputError(
                f"compare takes results of one problem; got other data, other constraints, or "
                f"{found[0].method!r} and {solution.method!r}"
            )


def _same_problem(a: Solution, b: Solution) -> bool:
    """Whether two results are of the same method, parameter values, rows, labels and weights."""
    one, other = a.origin[0], b.origin[0]
    if one is other:
        return bool(a.method == b.method)
    if any(hasattr(s.certificate, "feasible") for s in (a, b)):  # constraints of the user's own
        return False
    left, right = one.page.data, other.page.data
    if left is None or right is None:
        return a.method is b.method
    pairs = ((left.X, right.X), (left.targets, right.targets), (left.weights, right.weights))
    return a.method == b.method and all(np.array_equal(dense(x), dense(z)) for x, z in pairs)


def _bounds_of(certificate: Any) -> tuple[float, float]:
    """Return (D, P); the value of a point that is not feasible bounds nothing."""
    feasible = getattr(certificate, "feasible", True)
    return certificate.dual_value, certificate.primal_value if feasible else math.inf


def _bounds_again(solution: Solution, tol: float) -> tuple[float, float]:
    """Return (D, P) of the solution's own point, whatever its certificate says."""
    with repaired_point(solution) as formulation:
        return _bounds_of(formulation.solution(tol).certificate)


def _joint(bounds: list[tuple[float, float]]) -> tuple[float, float]:
    return max(low for low, _ in bounds), min(high for _, high in bounds)


def _is_tight(solution: Solution, tol: float) -> bool:
    """Whether both sides of a result are optimal, so that its β and its b mean something."""
    return bool(solution.certificate.relative_gap <= max(tol, solution.certificate.tol))


def _multipliers(solutions: Sequence[Solution]) -> list[Vector]:
    """Return the dual variables α of the results that show them; β where none does.

    They are those of the rows in use: a row of weight 0 may be there or not.
    """
    shown = [_in_use(s, s.alpha) for s in solutions if hasattr(s, "alpha")]
    return shown or [_in_use(s, s.beta) for s in solutions if hasattr(s, "beta")]


def _in_use(solution: Solution, values: Vector) -> Vector:
    """Return the entries at the rows in use."""
    data = solution.origin[0].page.data
    return values if data is None else values[data.rows]


def _origin_and_unit(solution: Solution) -> tuple[float, float]:
    """Return what an intercept is measured from, and in which unit.

    That is 0 and the root mean square of the targets, 1 for labels. A free intercept moves with
    real targets: it is measured from their median, by their spread about it, so that nothing
    depends on where they lie. Where that is rounding, their size is the only unit there is.
    """
    page: Any = solution.origin[0].page
    if page.data is None:
        return 0.0, 1.0
    size = _mean_size(page.data.targets)
    if page.data.classes is not None or getattr(page, "intercept", "none") != "free":
        return 0.0, size
    centre = float(np.median(page.data.targets))
    spread = _mean_size(page.data.targets - centre)
    return centre, spread if spread > ROUNDING * size else size


def _mean_size(values: Vector) -> float:
    """Return the root mean square; values of any size."""
    most = float(np.abs(values).max(initial=0.0))
    return most * float(np.sqrt(np.mean(np.square(values / most)))) if most > 0 else 0.0


def _close(vectors: list[Vector], tol: float, unit: float = 0.0) -> bool:
    """Whether all equal the first to √tol of its size: values are off by the square."""
    first = vectors[0] if vectors else np.zeros(0)
    size = max(float(np.abs(first).max(initial=0.0)), unit)
    return all(bool(np.abs(v - first).max(initial=0.0) <= np.sqrt(tol) * size) for v in vectors)


def _widest(intervals: Sequence[Any], least: float) -> tuple[float, float] | None:
    """Return the widest of the intervals that are wider than ``least``."""
    wide = [
        (high - low, (low, high)) for low, high in filter(None, intervals) if high - low > least
    ]
    return max(wide)[1] if wide else None
