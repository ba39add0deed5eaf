"""The hard-margin support vector machine: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp import description
from kernelqp.description import (
    HALF,
    ONE,
    TWO,
    ZERO,
    Description,
    Operation,
    relation,
)
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernels import Linear, resolve
from kernelqp.methods.base import (
    INTERCEPTS,
    MARGIN_BALANCE,
    SIGNS,
    Machine,
    Method,
    dual_margin_gain,
    meanings,
    one_of,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.margin_page import HARD_FORMS, MarginPage

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
        form = stated_form(self.kernel, form, HARD_FORMS)
        meaning = (*meanings(self.kernel, self.intercept), SIGNS)
        if form == "max_margin":
            form = stated_form(self.kernel, "auto", HARD_FORMS)
            primal = self._described_max_margin(Machine.of(self.kernel, self.intercept, form))
            meaning += (("the dual's value is ", ONE / (TWO * scalar("M") ** TWO)),)
        else:
            machine = Machine.of(self.kernel, self.intercept, form)
            margin = relation(row("y") * machine.values, ">=", ONE)
            constraints = {"margin": margin, **machine.extra}
            objective = HALF * machine.norm2
            primal = description.Program("minimise", machine.unknowns, objective, constraints)
        return Description(type(self).__name__, primal, self._described_dual(), meaning)

    def _described_max_margin(self, machine: Machine) -> description.Program:
        """Return the machine with ‖f‖ <= 1 and the largest margin M."""
        M = scalar("M")
        constraints = {
            "margin": relation(row("y") * machine.values, ">=", M),
            "norm": relation(Operation("root", (machine.norm2,)), "<=", ONE),
            **machine.extra,
        }
        return description.Program("maximise", (*machine.unknowns, M), M, constraints)

    def _described_dual(self) -> description.Program:
        constraints = {"lower": relation(row("alpha"), ">=", ZERO)}
        if self.intercept == "free":
            constraints["balance"] = MARGIN_BALANCE
        gain = dual_margin_gain(self.intercept)
        return description.Program("maximise", (scalar("alpha"),), gain, constraints)

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
