"""The records a check hands out: one condition per line, and the verdict over all of them."""

from dataclasses import dataclass
from typing import Final

PRIMAL: Final = "primal feasibility"
DUAL: Final = "dual feasibility"
COMPLEMENTARITY: Final = "complementarity"
STATIONARITY: Final = "stationarity"
KINDS: Final = (PRIMAL, DUAL, COMPLEMENTARITY, STATIONARITY)

PROOF: Final = "proof"
EVIDENCE: Final = "evidence"
NOT_JUDGED: Final = "not judged"

Place = int | tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One optimality condition: a residual, and what it is compared with.

    holds  =  value <= tolerance,   tolerance = tol · scale

    Attributes
    ----------
    name : str
        Kind and subject, for instance "dual feasibility: margin".
    kind : str
        "primal feasibility", "dual feasibility", "complementarity" or "stationarity".
    value : float
        The absolute residual, in the units of the problem: distance to the set (primal), of the
        multipliers to the dual cone (dual), sum |multiplier · residual| (complementarity), or the
        largest gradient entry or Lagrangian gap (stationarity); nan if not judged.
    scale : float
        Size of the terms that cancel in `value`, same units.
    tolerance : float
        tol · scale.
    holds : bool or None
        None means not judged: the numbers allow neither yes nor no.
    where : int, tuple of int, or str
        Index of the worst entry within the constraint or variable, what was measured, or the
        reason why nothing could be judged.
    evidence : str
        "proof" (follows from the numbers shown), "evidence" (rests on an inner solve), or
        "not judged".
    """

    name: str
    kind: str
    value: float
    scale: float
    tolerance: float
    holds: bool | None
    where: Place | str
    evidence: str

    @property
    def ratio(self) -> float:
        """Residual in units of its tolerance; above 1 it fails. Minus infinity if not judged."""
        if self.holds is None:
            return float("-inf")
        if self.value == 0:
            return 0.0
        return self.value / self.tolerance if self.tolerance > 0 else float("inf")


def judge(
    name: str,
    kind: str,
    value: float,
    scale: float,
    tol: float,
    where: Place | str,
    evidence: str,
    noise: float = 0.0,
) -> Condition:
    """Compare a residual with tol times its scale; exactly 0 needs no scale.

    Where residual and scale are both below the `noise`, the answer is 0 as far as can be told, and
    noise against noise gives neither yes nor no.
    """
    tolerance = tol * scale
    holds = value == 0 or value <= tolerance
    if not holds and max(value, scale) <= noise:
        reason = f"0 but for noise at the size of the data, so there is no scale ({value:.1e})"
        return Condition(name, kind, value, scale, tolerance, None, reason, NOT_JUDGED)
    return Condition(name, kind, value, scale, tolerance, holds, where, evidence)


def not_judged(name: str, kind: str, reason: str) -> Condition:
    """Record that a condition was not judged, and why."""
    nan = float("nan")
    return Condition(name, kind, nan, nan, nan, None, reason, NOT_JUDGED)


@dataclass(frozen=True, slots=True, eq=False)
class KKTReport:
    """All Karush-Kuhn-Tucker conditions of one solved problem, and the verdict.

    Attributes
    ----------
    conditions : tuple of Condition
        Primal feasibility, dual feasibility, complementarity, stationarity, in this order.
    tol : float
        Relative tolerance, dimensionless.
    """

    conditions: tuple[Condition, ...]
    tol: float

    @property
    def holds(self) -> bool:
        """Whether every condition was judged and holds."""
        return all(condition.holds is True for condition in self.conditions)

    @property
    def worst(self) -> Condition:
        """The condition with the largest residual in units of its tolerance."""
        return max(self.conditions, key=lambda condition: condition.ratio)

    @property
    def verdict(self) -> str:
        """One line: holds, does not hold, or not judged."""
        worst, at = self.worst, f"at tol = {self.tol:g}"
        if worst.holds is False:
            return f"KKT does not hold {at}: {worst.name} is {worst.ratio:.2g} times its tolerance"
        unknown = [condition for condition in self.conditions if condition.holds is None]
        if unknown:
            return f"KKT not judged {at}: {unknown[0].name}: {unknown[0].where}"
        basis = {condition.evidence for condition in self.conditions}
        word = "partly on evidence" if EVIDENCE in basis else "proved"
        return f"KKT holds {at} ({word}): worst is {worst.name}, {worst.ratio:.2g} of its tolerance"

    def __str__(self) -> str:
        head = ("condition", "value", "scale", "tolerance", "holds", "by", "where")
        rows = [head, *(_cells(condition) for condition in self.conditions)]
        widths = [max(len(row[j]) for row in rows) for j in range(len(head) - 1)]
        lines = [
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]])
            for row in rows
        ]
        return "\n".join([line.rstrip() for line in lines] + [self.verdict])


def _cells(condition: Condition) -> tuple[str, ...]:
    """One line of the table."""
    if condition.holds is None:
        return (condition.name, "-", "-", "-", "?", "-", f"not judged: {condition.where}")
    numbers = (condition.value, condition.scale, condition.tolerance)
    verdict = "yes" if condition.holds else "NO"
    return (
        condition.name,
        *(f"{number:.2e}" for number in numbers),
        verdict,
        condition.evidence,
        "" if condition.where == () else str(condition.where),
    )
