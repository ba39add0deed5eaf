"""The hard-margin support vector machine: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernels import Linear, resolve
from kernelqp.methods.base import INTERCEPTS, Method, one_of
from kernelqp.methods.margin_page import MarginPage

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class HardMarginSVM(Method):
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

    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        one_of("intercept", self.intercept, INTERCEPTS)
        object.__setattr__(self, "kernel", resolve(self.kernel))

    def has_explicit_features(self) -> bool:
        """Whether f can be written in weights w."""
        return isinstance(self.kernel, Linear)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features), "coefficients", or "max_margin"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        if form == "max_margin":
            return self._max_margin(MarginPage.read_data(self, X, y, sample_weight, "auto", None))
        page = MarginPage.read_data(self, X, y, sample_weight, form, None)
        variables, norm2, values, extra = page.machine()
        constraints = {"margin": cp.multiply(page.data.targets, values) >= 1, **extra}
        problem = cp.Problem(cp.Minimize(0.5 * norm2), list(constraints.values()))
        return Formulation(Program(problem, variables, constraints, {}), page)

    def _max_margin(self, page: MarginPage) -> Formulation:
        """State the machine with ‖f‖ <= 1 and the largest margin M."""
        page = replace(page, unit_norm=True)
        variables, _, values, extra = page.machine()
        M = variables["M"] = cp.Variable(name="M")
        constraints = {
            "margin": cp.multiply(page.data.targets, values) >= M,
            "norm": page.norm(variables) <= 1,
            **extra,
        }
        problem = cp.Problem(cp.Maximize(M), list(constraints.values()))
        return Formulation(Program(problem, variables, constraints, {}), page)

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = MarginPage.read_data(self, X, y, sample_weight, "dual", None)
        alpha = cp.Variable(page.data.targets.size, name="alpha")
        constraints = {"lower": alpha >= 0}
        if self.intercept == "free":
            constraints["balance"] = page.data.targets @ alpha == 0
        objective = cp.Maximize(cp.sum(alpha) - 0.5 * page.dual_norm2(alpha))
        problem = cp.Problem(objective, list(constraints.values()))
        return Formulation(Program(problem, {"alpha": alpha}, constraints, {}), page)
