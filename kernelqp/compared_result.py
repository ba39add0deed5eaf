"""One line of a comparison: what a result claims, its KKT conditions by kind, and its sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelqp.kkt.report import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelqp.kkt import KKTReport
    from kernelqp.solution import Solution

SETS = ("elbow", "left", "right")


@dataclass(frozen=True, slots=True, eq=False)
class ComparedResult:
    """One line of the table; what a method does not have, or nobody could judge, is None.

    Attributes
    ----------
    form, solver, status : str
        The form that was solved, by whom, and the name of its status.
    value, lower, upper, relative_gap : float
        The value, and the bounds that the result itself carries.
    kkt : dict of str to float or None
        Of every kind of KKT condition the worst residual over its scale; None if one of that kind
        was not judged.
    kkt_holds : bool
        Whether every condition was judged and holds.
    support_vectors, elbow, left, right : int or None
        The sizes of the sets. The last three are None where no row could be placed.
    seconds : float
    judgement : str
        "optimal": within tol of the optimum. "wrong": the bounds of the others exclude it. "open":
        the bounds of all together are too wide to tell.
    """

    form: str
    solver: str
    status: str
    value: float
    lower: float
    upper: float
    relative_gap: float
    kkt: dict[str, float | None]
    kkt_holds: bool
    support_vectors: int | None
    elbow: int | None
    left: int | None
    right: int | None
    seconds: float
    judgement: str

    @classmethod
    def of(cls, solution: Solution, report: KKTReport, judgement: str) -> ComparedResult:
        """Collect the line of a result."""
        certificate = solution.certificate
        support = getattr(solution, "support", None)
        sizes = {name: len(getattr(support, name)) for name in SETS} if support is not None else {}
        placed = sizes if any(sizes.values()) else dict.fromkeys(SETS)
        return cls(
            form=form_of(solution),
            solver=solution.solver,
            status=solution.status.name,
            value=solution.value,
            lower=certificate.dual_value,
            upper=certificate.primal_value,
            relative_gap=certificate.relative_gap,
            kkt={kind: worst_of(report, kind) for kind in KINDS},
            kkt_holds=report.holds,
            support_vectors=None if support is None else len(support.support_vectors),
            seconds=solution.seconds,
            judgement=judgement,
            **placed,
        )


def form_of(solution: Solution) -> str:
    """Return the form that was solved: "dual", "weights", "coefficients", ..., or the side."""
    formulation = solution.origin[0]
    return str(getattr(formulation.page, "form", formulation.side))


def worst_of(report: KKTReport, kind: str) -> float | None:
    """Return the largest residual over its scale among the conditions of a kind.

    None if one of them was not judged, 0 if the problem has none of that kind.
    """
    conditions = [condition for condition in report.conditions if condition.kind == kind]
    if any(condition.holds is None for condition in conditions):
        return None
    return max((condition.ratio * report.tol for condition in conditions), default=0.0)


HEAD = (
    *("form", "solver", "value", "gap", "primal", "dual", "compl.", "station."),
    *("support", "elbow", "left", "right", "seconds", "status", "judged"),
)


def _cells(result: ComparedResult) -> tuple[str, ...]:
    kkt = ("?" if v is None else f"{v:.0e}" for v in result.kkt.values())
    sizes = (result.support_vectors, result.elbow, result.left, result.right)
    return (
        *(result.form, result.solver, f"{result.value:.10g}", f"{result.relative_gap:.0e}"),
        *kkt,
        *("-" if size is None else str(size) for size in sizes),
        *(f"{result.seconds:.2g}", result.status, result.judgement),
    )


def aligned(results: Sequence[ComparedResult]) -> list[str]:
    """Return the head and a line for each result, names to the left and numbers to the right."""
    rows = [HEAD, *map(_cells, results)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    left = {HEAD.index(name) for name in ("form", "solver", "status", "judged")}
    return [
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
