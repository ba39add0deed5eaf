"""What is proved about a model that somebody else fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Vector
    from kernelqp.support import Support


@dataclass(frozen=True, eq=False, slots=True)
class ModelCertificate:
    """What is proved about one problem that a model claims to have solved.

    All values are in the unit of ``objective``, the library's own.

    Attributes
    ----------
    name, objective : str
        The model, and the exact objective that it minimises; s is the weight of a row, that of its
        class included.
    primal_value : float
        The objective at the model as it is, its predictions as they are computed: an upper bound on
        the optimum, to the rounding of its sum, which the verdict's interval has in it.
    dual_value : float
        A lower bound on the optimum, less what rounding may have added to it.
    best_value : float
        The objective at the best point met on the way: what the model could have reached, as far
        as was searched, which is no farther than it takes to call it converged; known to rounding.
    gap, relative_gap, tol : float
        primal_value − dual_value, in the objective's unit; over the largest of the two and the
        scale of the problem, which is that of f = 0 or of the kernel, whichever is smaller, and
        may be larger than both where a model fits its data well; and what that is compared with.
    complementarity : Vector, shape (n,)
        The share of every row in the gap; NaN for rows that do not take part. What they leave of it
        is 1/2 ‖f − f_β‖², no row's own: the model's f is not that of the dual point.
    support : Support
        The rows by role, their multipliers those of the dual point of ``dual_value``; what is in
        ``left`` and ``right`` is proved.
    certified : bool
        relative_gap <= tol.
    verdict : str
        In words, with the remedy.
    problems : sequence of ModelCertificate
        Every problem of a model of several; this one is the worst of them. Each has been judged;
        its report is made when it is first asked for.
    """

    name: str
    objective: str
    primal_value: float
    dual_value: float
    best_value: float
    gap: float
    relative_gap: float
    tol: float
    complementarity: Vector
    support: Support | None
    certified: bool
    verdict: str
    problems: Sequence[ModelCertificate] = ()

    def __str__(self) -> str:
        several = f" (the worst of {len(self.problems)})" if self.problems else ""
        return f"{self.name}{several}, {self.objective}\n{self.verdict}"


class Problems(Sequence[ModelCertificate]):
    """The certificates of several problems, each made when it is first asked for, and kept."""

    def __init__(self, makers: Sequence[Callable[[], ModelCertificate]]) -> None:
        self._kept: list[ModelCertificate | Callable[[], ModelCertificate]] = list(makers)

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, k: int) -> ModelCertificate: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[ModelCertificate, ...]: ...
    def __getitem__(self, k: int | slice) -> ModelCertificate | tuple[ModelCertificate, ...]:
        if isinstance(k, slice):
            return tuple(self[i] for i in range(*k.indices(len(self))))
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self)} problems; asked for number {k}")
        found = self._kept[k]
        if not isinstance(found, ModelCertificate):
            found = self._kept[k] = found()
        return found

    def __repr__(self) -> str:
        return f"<{len(self)} certificates>"
