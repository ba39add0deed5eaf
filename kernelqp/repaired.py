"""A kernel whose training matrix is made positive semidefinite, because somebody asked."""

from dataclasses import dataclass
from typing import Any, Self

from kernelqp._types import Matrix, Vector
from kernelqp.errors import ParameterError
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Kernel, Precomputed


@dataclass(frozen=True, repr=False)
class Repaired(Kernel):
    """A kernel that is not PSD, with the repair of its training matrix K = V diag(λ) V'.

        "clip"    V diag(max(λ, 0)) V'
        "shift"   K − min(λ, 0) I

    The repair is that of the training matrix: at new points the kernel stays what it is. What was
    changed, and by how much, stands in ``Gram.repair`` and ``Gram.repair_size``.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel to repair.
    repair : str
        "clip" or "shift".

    Raises
    ------
    ParameterError
        If ``repair`` is something else.
    KernelError
        If there is no such kernel.

    Source
    ------
    Chen et al. (2009), Similarity-based classification, JMLR 10, 747-776, section 3.

    Examples
    --------
    >>> import kernelqp as kq
    >>> K, y = [[1.0, 2.0], [2.0, 1.0]], [1, -1]
    >>> svm = kq.SoftMarginSVM(kernel=kq.Repaired(kq.Precomputed(), "shift"))
    >>> print(f"{svm.solve(K, y).value:.4f}")
    2.0000
    """

    kernel: Kernel | Any
    repair: str = "clip"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", resolve(self.kernel))
        if self.repair not in ("clip", "shift"):
            raise ParameterError(f"repair must be 'clip' or 'shift'; got {self.repair!r}")

    def bind(self, X: Matrix) -> Self:
        """Bind the kernel."""
        return type(self)(self.kernel.bind(X), self.repair)

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """Return the kernel's own values."""
        values: Matrix = self.kernel(X, Z)
        return values

    def diagonal(self, X: Matrix) -> Vector:
        """Return the kernel's own diagonal."""
        values: Vector = self.kernel.diagonal(X)
        return values


def is_precomputed(kernel: Kernel) -> bool:
    """Whether X stands for the kernel matrix itself."""
    return isinstance(kernel.kernel if isinstance(kernel, Repaired) else kernel, Precomputed)
