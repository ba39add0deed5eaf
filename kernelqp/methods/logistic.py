"""Logistic regression with kernels: its page, primal and dual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp import description
from kernelqp.data import classification_data
from kernelqp.description import HALF, ONE, Description, Formula, Operation, number, total
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.losses import Logistic
from kernelqp.methods.base import (
    INTERCEPTS,
    MARGIN_BALANCE,
    SIGNS,
    Machine,
    Method,
    dual_margin_norm2,
    meanings,
    one_of,
    positive_or_inf,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.logistic_page import LogisticPage, UnpenalizedLogisticPage
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.data import ClassWeight
    from kernelqp.kernels import Kernel
    from kernelqp.methods.page import KernelPage

FORMS = ("weights", "coefficients")


@dataclass(frozen=True)
class LogisticRegression(Method):
    """Logistic regression, linear or with a kernel.

        primal   minimise   1/2 ‖f‖² + C Σ s_i log(1 + exp(−y_i (f(x_i) + b)))

        dual     maximise   −Σ (α_i log(α_i/(C s_i)) + (C s_i − α_i) log((C s_i − α_i)/(C s_i)))
                            − 1/2 Σ α_i α_j y_i y_j k(x_i, x_j)
                 subject to balance:  Σ α_i y_i = 0

    whose first line is the entropy of C s_i coins, and keeps 0 <= α_i <= C s_i by itself. At the
    optimum α_i = C s_i/(1 + exp(z_i)), z_i = y_i (f(x_i) + b): a row counts by how unlikely its own
    label is. A penalised intercept adds b²/2 to the primal and replaces ``balance`` by k + 1;
    without an intercept both go.

    ``solve`` uses Newton's method, in weights or in rows, whichever are fewer.

    Parameters
    ----------
    C : float
        The price of a unit of loss, > 0. C = inf is no penalty: Σ s_i log(1 + exp(−y_i (w'x_i +
        b))) alone, by its primal in weights; of all optimal w the shortest. b is free there, for
        b²/2 is nothing beside an endless C.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" or "none".
    class_weight : dict, "balanced" or None
        Factors of the weights by original label; "balanced" gives each class half of the sum of
        the sample weights.

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Notes
    -----
    Without a penalty, classes that a plane separates, rows on the plane itself allowed, have no
    optimum: the result is :class:`kernelqp.Infeasible` with status NOT_ATTAINED and the direction.

    Source
    ------
    Keerthi, Duan, Shevade & Poo (2005), A fast dual algorithm for kernel logistic regression,
    Machine Learning 61, 151-165.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.LogisticRegression(C=1.0).solve([[-1.0], [1.0]], ["no", "yes"])
    >>> print(f"{s.value:.6f} {s.weights[0]:.6f} {s.predict_proba([[1.0]]).round(4).tolist()}")
    1.050914 0.674832 [[0.3374, 0.6626]]
    >>> kq.LogisticRegression(C=float("inf")).solve([[-1.0], [1.0]], ["no", "yes"]).status.name
    'NOT_ATTAINED'
    """

    C: float = 1.0
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "C", positive_or_inf("C", self.C))
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))
        if isinstance(self.class_weight, Mapping):
            set_(self, "class_weight", dict(self.class_weight))

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with C in place.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", or "auto", which is what ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or needs explicit features that the kernel has not; so does
            C = inf.

        Source
        ------
        Keerthi, Duan, Shevade & Poo (2005), Machine Learning 61, 151-165.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.LogisticRegression(C=10).describe().text.split("dual")[0].rstrip())
        LogisticRegression
        primal: minimise over w, b
                1/2 ‖w‖² + 10 Σ_i s_i log(1 + exp(−y_i (w'x_i + b)))
        """
        form = stated_form(self.kernel, form, FORMS)
        if math.isinf(self.C):
            return self._describe_unpenalized(form)
        machine = Machine.of(self.kernel, self.intercept, form)
        objective = HALF * machine.norm2 + number(self.C) * described_loss(machine)
        primal = description.Program("minimise", machine.unknowns, objective, machine.extra)
        return self._described(primal, self._described_dual(), self.intercept)

    def _described_dual(self) -> description.Program:
        alpha, most = row("alpha"), number(self.C) * row("s")
        rest = most - alpha
        entropy = alpha * log(alpha / most) + rest * log(rest / most)
        gain = -total("i", entropy) - HALF * dual_margin_norm2(self.intercept)
        constraints = {"balance": MARGIN_BALANCE} if self.intercept == "free" else {}
        return description.Program("maximise", (scalar("alpha"),), gain, constraints)

    def _describe_unpenalized(self, form: str) -> Description:
        """Return the loss alone, whose page knows no b²."""
        if form != "weights":
            raise ParameterError(
                f"C=inf is no penalty: it needs explicit features and the primal in weights; "
                f"got {self.kernel!r}, form {form!r}"
            )
        free = "none" if self.intercept == "none" else "free"
        machine = Machine.of(self.kernel, free, form)
        primal = description.Program("minimise", machine.unknowns, described_loss(machine), {})
        return self._described(primal, description.NoDual("C=inf bounds no multiplier"), free)

    def _described(
        self,
        primal: description.Program,
        dual: description.Program | description.NoDual,
        intercept: str,
    ) -> Description:
        C = ("C = inf: there is no penalty",) if math.isinf(self.C) else ("C = ", number(self.C))
        class_weight = "none" if self.class_weight is None else repr(self.class_weight)
        factor = "" if self.class_weight is None else " times the class weight"
        weights = (row("s"), f" is the sample weight{factor}; class weights: {class_weight}")
        remarks = (C, *meanings(self.kernel, intercept), weights, SIGNS)
        return Description(type(self).__name__, primal, dual, remarks)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        if math.isinf(self.C):
            return self._unpenalized(X, y, sample_weight, form)
        page = LogisticPage.read_data(self, X, y, sample_weight, form, 1.0)
        return Formulation(Statement(partial(self._state_primal, page), {"C": self.C}), page)

    def _state_primal(self, page: LogisticPage, C: cp.Parameter) -> Program:
        variables, norm2, values, extra = page.machine()
        objective = cp.Minimize(0.5 * norm2 + C * logistic_loss(page, values))
        problem = cp.Problem(objective, list(extra.values()))
        return Program(problem, variables, extra, {"C": C})

    def _unpenalized(self, X: Any, y: Any, sample_weight: Any, form: str) -> Formulation:
        """Return the loss without a penalty."""
        page = UnpenalizedLogisticPage.read_rows(
            self,
            form,
            FORMS,
            lambda square, _: classification_data(
                X, y, sample_weight, self.class_weight, square, keep_sparse=False
            ),
        ).with_loss(Logistic(), "C=inf")
        return Formulation(Statement(partial(self._state_unpenalized, page), {}), page)

    def _state_unpenalized(self, page: UnpenalizedLogisticPage) -> Program:
        variables, _, values, _ = page.machine()
        problem = cp.Problem(cp.Minimize(logistic_loss(page, values)))
        return Program(problem, variables, {}, {})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        if math.isinf(self.C):
            raise ParameterError(
                "C=inf is stated by its primal in weights alone, with explicit features: "
                "the dual's α are at most C s; use primal() (--form primal), or a finite C"
            )
        page = LogisticPage.read_data(self, X, y, sample_weight, "dual", 1.0)
        return Formulation(Statement(partial(self._state_dual, page), {"C": self.C}), page)

    def _state_dual(self, page: LogisticPage, C: cp.Parameter) -> Program:
        alpha, most = cp.Variable(page.n, name="alpha"), C * page.data.weights
        entropy = cp.sum(cp.rel_entr(alpha, most) + cp.rel_entr(most - alpha, most))
        gain = -entropy - 0.5 * page.dual_norm2(page.signed(alpha))
        free = self.intercept == "free"
        constraints = {"balance": page.data.targets @ alpha == 0} if free else {}
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"C": C})


def logistic_loss(page: KernelPage, values: cp.Expression) -> cp.Expression:
    """Return Σ s_i log(1 + exp(−y_i (f(x_i) + b)))."""
    return page.data.weights @ cp.logistic(-cp.multiply(page.data.targets, values))


def described_loss(machine: Machine) -> Formula:
    """Return Σ s_i log(1 + exp(−y_i (f(x_i) + b)))."""
    odds = Operation("exp", (-(row("y") * machine.values),))
    return total("i", row("s") * log(ONE + odds))


def log(formula: Formula) -> Formula:
    """Return its logarithm."""
    return Operation("log", (formula,))
