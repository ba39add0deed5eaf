"""Can a plane separate the classes? Answered with the margin, or with a proof that none can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelqp.attainment import NotAttained
from kernelqp.methods import HardMarginSVM
from kernelqp.solution import Infeasible

if TYPE_CHECKING:
    from kernelqp.lagrange_bound import Conflict
    from kernelqp.separation import SeparationProof
    from kernelqp.solution import Solution


@dataclass(frozen=True, eq=False, slots=True)
class Separability:
    """The answer of :func:`separable`; true where the classes are separable.

    Attributes
    ----------
    separable : bool or None
        None where the classes are so near to each other that double precision does not tell.
    margin : float
        The largest distance of the plane to the nearest row; 0.0 where there is no plane.
    plane : Solution or None
        The plane of that margin.
    proof : SeparationProof or None
        Convex weights on each class whose means meet.
    """

    separable: bool | None
    margin: float
    plane: Solution | None
    proof: SeparationProof | Conflict | None

    def __bool__(self) -> bool:
        return self.separable is True


def separable(X: Any, y: Any, kernel: Any = "linear", intercept: str = "free") -> Separability:
    """Find out whether a plane in the kernel's space separates two classes.

    Parameters
    ----------
    X : array, shape (n, d), or (n, n) for a precomputed kernel
    y : array, shape (n,)
        Two labels.
    kernel, intercept
        As for :class:`HardMarginSVM`.

    Raises
    ------
    InputError
        If X, y or the kernel cannot be used.

    Source
    ------
    Bennett & Bredensteiner (2000), Duality and geometry in SVM classifiers, ICML, 57-64.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [-1, 1, 1, -1]
    >>> bool(kq.separable(X, y)), bool(kq.separable(X, y, kernel=kq.Polynomial(2, 1, 1)))
    (False, True)
    >>> kq.separable(X, y).proof.weights.round(3).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    found = HardMarginSVM(kernel=kernel, intercept=intercept).solve(X, y)
    if isinstance(found, Infeasible):
        assert not isinstance(found.proof, NotAttained)  # the shortest f with margins of 1 exists
        return Separability(False, 0.0, None, found.proof)
    if found.certificate.primal_value < float("inf"):
        return Separability(True, found.geometric_margin, found, None)
    return Separability(None, 0.0, None, None)
