"""The soft-margin support vector machine: its page, primal and dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import cvxpy as cp

from kernelqp import description
from kernelqp.description import (
    HALF,
    ONE,
    TWO,
    ZERO,
    Description,
    decimals,
    number,
    relation,
    total,
)
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.losses.curved import power_expr
from kernelqp.methods.base import (
    INTERCEPTS,
    MARGIN_BALANCE,
    SIGNS,
    Machine,
    Method,
    at_least_one,
    dual_margin_gain,
    meanings,
    one_of,
    positive,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.margin_page import MarginPage
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.data import ClassWeight
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class SoftMarginSVM(Method):
    """Soft-margin SVM.

        primal   minimise   1/2 ‖f‖² + C Σ s_i ξ_i^q
                 subject to margin:  y_i (f(x_i) + b) >= 1 − ξ_i,    slack:  ξ_i >= 0

        dual     maximise   Σ α_i − 1/2 Σ α_i α_j y_i y_j k(x_i, x_j)
                 subject to lower:  α_i >= 0,   upper:  α_i <= C s_i,   balance:  Σ α_i y_i = 0

    for q = 1. For q > 1 the upper bound gives way to the price

        C Σ s_i (q − 1) (α_i/(C s_i q))^(q/(q−1)),   which is Σ α_i²/(4 C s_i) for q = 2.

    A penalised intercept adds b²/2 to the primal and replaces
    ``balance`` by k + 1; without an intercept both go.

    Parameters
    ----------
    C : float
        The price of a unit of slack, > 0 and finite.
    slack_power : float
        q >= 1.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" or "none".
    class_weight : dict, "balanced" or None
        Factors of the weights by original label; "balanced" gives each class half of the sum of
        the sample weights (scikit-learn's SVC counts rows instead).

    Raises
    ------
    ParameterError
        If a parameter is out of its range. C = inf is refused: use HardMarginSVM.

    Source
    ------
    Cortes & Vapnik (1995), Support-vector networks, Machine Learning 20, 273-297.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.SoftMarginSVM(C=10).solve([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> print(f"{s.value:.6f} {s.weights[0]:.4f} {s.intercept:.4f} {s.support.support_vectors}")
    0.500000 1.0000 -2.0000 [1 2]
    >>> s.predict([[1.9], [2.1]]).tolist()
    ['no', 'yes']
    """

    few_support_vectors: ClassVar[bool] = True
    C: float = 1.0
    slack_power: float = 1
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "C", positive("C", self.C, ": HardMarginSVM is the SVM without slack"))
        at_least_one("slack_power", self.slack_power)
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))
        if isinstance(self.class_weight, Mapping):
            set_(self, "class_weight", dict(self.class_weight))

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with the parameter values in place.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", or "auto", which is what ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or is "weights" where the kernel has no explicit features.

        Source
        ------
        Cortes & Vapnik (1995), Support-vector networks, Machine Learning 20, 273-297.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.SoftMarginSVM(C=10, kernel=kq.RBF(gamma=0.5), intercept="none").describe())
        SoftMarginSVM
        primal: minimise over β, ξ
                1/2 Σ_ij β_i β_j k(x_i, x_j) + 10 Σ_i s_i ξ_i
            subject to
                margin: y_i Σ_j β_j k(x_i, x_j) >= 1 − ξ_i  for every i
                slack: ξ_i >= 0  for every i
        dual: maximise over α
                Σ_i α_i − 1/2 Σ_ij α_i α_j y_i y_j k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
                upper: α_i <= 10 s_i  for every i
        where
            C = 10, slack power q = 1
            there is no intercept
            k(x, z) = exp(−1/2 ‖x − z‖²)
            s_i is the sample weight; class weights: none
            y_i is +1 for the greater label and -1 for the other
        """
        form = stated_form(self.kernel, form, ("weights", "coefficients"))
        machine, xi = Machine.of(self.kernel, self.intercept, form), row("xi")
        cost = number(self.C) * total("i", row("s") * xi ** number(self.slack_power))
        constraints = {
            "margin": relation(row("y") * machine.values, ">=", ONE - xi),
            "slack": relation(xi, ">=", ZERO),
            **machine.extra,
        }
        unknowns = (*machine.unknowns, scalar("xi"))
        primal = description.Program("minimise", unknowns, HALF * machine.norm2 + cost, constraints)
        class_weight = "none" if self.class_weight is None else repr(self.class_weight)
        factor = "" if self.class_weight is None else " times the class weight"
        parameters = (
            relation(scalar("C"), "=", number(self.C)),
            ", slack power ",
            relation(scalar("q"), "=", number(self.slack_power)),
        )
        weights = (row("s"), f" is the sample weight{factor}; class weights: {class_weight}")
        remarks = (parameters, *meanings(self.kernel, self.intercept), weights, SIGNS)
        return Description(type(self).__name__, primal, self._described_dual(), remarks)

    def _described_dual(self) -> description.Program:
        """Return the dual; its price of slack is Σ α_i²/(4 C s_i) for q = 2."""
        alpha, s = row("alpha"), row("s")
        C, q = decimals(self.C), decimals(self.slack_power)
        gain = dual_margin_gain(self.intercept)
        constraints = {"lower": relation(alpha, ">=", ZERO)}
        if q == 1:
            constraints["upper"] = relation(alpha, "<=", number(C) * s)
        elif q == 2:
            gain = gain - total("i", alpha**TWO / (number(4 * C) * s))
        else:
            share = (alpha / (number(q * C) * s)) ** number(q / (q - 1))
            gain = gain - number((q - 1) * C) * total("i", s * share)
        if self.intercept == "free":
            constraints["balance"] = MARGIN_BALANCE
        return description.Program("maximise", (scalar("alpha"),), gain, constraints)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = MarginPage.read_data(self, X, y, sample_weight, form, float(self.slack_power))
        return Formulation(Statement(partial(self._state_primal, page), {"C": self.C}), page)

    def _state_primal(self, page: MarginPage, C: cp.Parameter) -> Program:
        targets, weights = page.data.targets, page.data.weights
        variables, norm2, values, extra = page.machine()
        xi = variables["xi"] = cp.Variable(targets.size, name="xi")
        constraints = {
            "margin": cp.multiply(targets, values) >= 1 - xi,
            "slack": xi >= 0,
            **extra,
        }
        paid = xi if self.slack_power == 1 else power_expr(xi, float(self.slack_power))
        objective = cp.Minimize(0.5 * norm2 + C * (weights @ paid))
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"C": C})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = MarginPage.read_data(self, X, y, sample_weight, "dual", float(self.slack_power))
        return Formulation(Statement(partial(self._state_dual, page), {"C": self.C}), page)

    def _state_dual(self, page: MarginPage, C: cp.Parameter) -> Program:
        targets, weights, q = page.data.targets, page.data.weights, float(self.slack_power)
        alpha = cp.Variable(targets.size, name="alpha")
        constraints = {"lower": alpha >= 0}
        gain = cp.sum(alpha) - 0.5 * page.dual_norm2(page.signed(alpha))
        if q == 1:
            constraints["upper"] = alpha <= C * weights
        else:
            # C s (α/(C s q))^p with p = q/(q−1) as ((C s)^(−1/q) α/q)^p: affine in one parameter;
            # of max(α, 0), lest the power's own domain share the multiplier of ``lower``
            root = cp.CallbackParam(lambda: float(C.value) ** (-1.0 / q), nonneg=True)
            share = cp.multiply(weights ** (-1.0 / q) / q, root * alpha)
            gain = gain - (q - 1.0) * cp.sum(
                power_expr(share if q == 2 else cp.pos(share), q / (q - 1.0))
            )
        if self.intercept == "free":
            constraints["balance"] = targets @ alpha == 0
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"C": C})
