"""The hard-margin support vector machine: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import INTERCEPTS, Method, one_of
from kernelqp.methods.hard_margin_forms import HardMarginForms

if TYPE_CHECKING:
    from kernelqp.description import Description
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class HardMarginSVM(HardMarginForms, Method):
    """Hard-margin SVM.

        primal   minimise   1/2 ‖f‖²      subject to margin:  y_i (f(x_i) + b) >= 1

        dual     maximise   Σ α_i − 1/2 Σ α_i α_j y_i y_j k(x_i, x_j)
                 subject to lower:  α_i >= 0,    balance:  Σ α_i y_i = 0

    The maximum margin form is the same machine: maximise M subject to margin: y_i (f(x_i) + b) >= M
    and norm: ‖f‖ <= 1, with M = 1/‖f‖ of the primal above. Its page shows M; a Solution's value
    stays 1/2 ‖f‖² = 1/(2 M²), and its ``geometric_margin`` is M.

    At the optimum margin² = 1/‖f‖² = 1/Σ α_i. Sample weights other than 0 have no effect. Data that
    no plane separates end as :class:`kernelqp.Infeasible` with a proof.

    Parameters
    ----------
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" or "none".

    Source
    ------
    Boser, Guyon & Vapnik (1992), A training algorithm for optimal margin classifiers, COLT 5,
    144-152.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
    >>> s = kq.HardMarginSVM().solve(X, y)
    >>> print(f"{s.value:.6f} {s.intercept:.4f} {s.geometric_margin:.6f}")
    1.000000 -1.0000 0.707107
    """

    few_support_vectors: ClassVar[bool] = True
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        one_of("intercept", self.intercept, INTERCEPTS)
        object.__setattr__(self, "kernel", resolve(self.kernel))

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", "max_margin", or "auto", as ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or is "weights" where the kernel has no explicit features.

        Source
        ------
        Boser, Guyon & Vapnik (1992), COLT 5, 144-152.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.HardMarginSVM().describe())
        HardMarginSVM
        primal: minimise over w, b
                1/2 ‖w‖²
            subject to
                margin: y_i (w'x_i + b) >= 1  for every i
        dual: maximise over α
                Σ_i α_i − 1/2 Σ_ij α_i α_j y_i y_j k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
                balance: Σ_i α_i y_i = 0
        where
            b is a free intercept: it costs nothing
            k(x, z) = x'z
            y_i is +1 for the greater label and -1 for the other
        """
        return super().describe(form)
