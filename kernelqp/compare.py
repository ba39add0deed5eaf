"""Several results of one problem side by side: do they agree, and what does it mean if not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.columns import dense
from kernelqp.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelqp._types import Vector
    from kernelqp.solution import Solution


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """An agreement table.

    Attributes
    ----------
    solutions : tuple of Solution
        In the order in which they came.
    lower, upper : float
        The best bounds of all: max D <= optimum <= min P.
    agree : bool
        Whether every value lies within its own tol of [lower, upper].
    same_multipliers, same_intercept : bool
        Whether β and b agree too. Where values agree and these do not, the optimum is not unique:
        both are right.
    """

    solutions: tuple[Solution, ...]
    lower: float
    upper: float
    agree: bool
    same_multipliers: bool
    same_intercept: bool

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.agree:
            return "the values disagree: at least one result is not optimal"
        if self.same_multipliers and self.same_intercept:
            return "all results agree"
        what = "intercepts" if self.same_multipliers else "multipliers"
        return f"the values agree and the {what} differ: the optimum is not unique, all are optimal"

    def __str__(self) -> str:
        width = max(10, *(len(s.solver) + 2 for s in self.solutions))
        head = (
            f"{'side':<8}{'solver':<{width}}{'value':>18}{'gap':>10}{'support':>9}{'seconds':>9}"
            f"  status"
        )
        rows = [_row(s, width) for s in self.solutions]
        return "\n".join(
            [head, *rows, f"{self.lower:.10g} <= optimum <= {self.upper:.10g}", self.verdict]
        )


def compare(solutions: Iterable[Solution], tol: float = 1e-6) -> Comparison:
    """Compare results of the same problem by value, certificate, multipliers and intercept.

    Parameters
    ----------
    solutions : iterable of Solution
        Of one method on one data set, by any forms and solvers.
    tol : float
        Relative tolerance of the agreement.

    Raises
    ------
    InputError
        If there is no result, one is not a Solution, or they are not of one problem.

    Examples
    --------
    >>> import kernelqp as kq
    >>> svm, X, y = kq.SoftMarginSVM(C=10), [[1.0], [1.0], [-1.0]], [1, 1, -1]
    >>> print(kq.compare([svm.primal(X, y).solve(), svm.dual(X, y).solve()]).agree)
    True
    """
    found = tuple(solutions)
    if not found:
        raise InputError("compare needs at least one Solution; got none")
    for solution in found:
        if not hasattr(solution, "certificate"):
            raise InputError(f"compare takes Solutions; got {type(solution).__name__}: {solution}")
        if not _same_problem(found[0], solution):
            raise InputError(
                f"compare takes results of one problem; got other data, or {found[0].method!r} "
                f"and {solution.method!r}"
            )
    lower = max(s.certificate.dual_value for s in found)
    upper = min(s.certificate.primal_value for s in found)
    scale = max(abs(lower), abs(upper), np.finfo(float).tiny)
    agree = all(lower - tol * scale <= s.value <= upper + tol * scale for s in found)
    return Comparison(
        found,
        lower,
        upper,
        bool(agree and lower <= upper + tol * scale),
        _close([getattr(s, "beta", np.zeros(1)) for s in found], tol),
        # an intercept is in the unit of a margin, which is 1
        _close([np.atleast_1d(getattr(s, "intercept", 0.0)) for s in found], tol, unit=1.0),
    )


def _same_problem(a: Solution, b: Solution) -> bool:
    """Whether two results are of the same method, parameter values, rows, labels and weights."""
    left, right = (s.origin[0].page.data for s in (a, b))
    if left is None or right is None:
        return a.method is b.method
    pairs = ((left.X, right.X), (left.targets, right.targets), (left.weights, right.weights))
    return a.method == b.method and all(np.array_equal(dense(x), dense(z)) for x, z in pairs)


def _close(vectors: list[Vector], tol: float, unit: float = 0.0) -> bool:
    """Whether all equal the first to √tol of its size: values are off by the square."""
    first = vectors[0]
    size = max(float(np.abs(first).max(initial=0.0)), unit)
    return all(bool(np.abs(v - first).max(initial=0.0) <= np.sqrt(tol) * size) for v in vectors)


def _row(s: Solution, width: int) -> str:
    support = getattr(s, "support", None)
    count = "" if support is None else str(len(support.support_vectors))
    side = s.origin[0].side
    return (
        f"{side:<8}{s.solver:<{width}}{s.value:>18.10g}{s.certificate.relative_gap:>10.1e}"
        f"{count:>9}{s.seconds:>9.2g}  {s.status.name}"
    )
