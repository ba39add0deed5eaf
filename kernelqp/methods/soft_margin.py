"""The soft-margin support vector machine: its page, primal and dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernels import Linear, resolve
from kernelqp.losses.curved import power_expr
from kernelqp.methods.base import INTERCEPTS, Method, at_least_one, one_of, positive
from kernelqp.methods.margin_page import MarginPage

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

    def has_explicit_features(self) -> bool:
        """Whether f can be written in weights w."""
        return isinstance(self.kernel, Linear)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = MarginPage.read_data(self, X, y, sample_weight, form, float(self.slack_power))
        targets, weights = page.data.targets, page.data.weights
        C = cp.Parameter(nonneg=True, value=self.C, name="C")
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
        return Formulation(Program(problem, variables, constraints, {"C": C}), page)

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = MarginPage.read_data(self, X, y, sample_weight, "dual", float(self.slack_power))
        targets, weights, q = page.data.targets, page.data.weights, float(self.slack_power)
        C = cp.Parameter(nonneg=True, value=self.C, name="C")
        alpha = cp.Variable(targets.size, name="alpha")
        constraints = {"lower": alpha >= 0}
        gain = cp.sum(alpha) - 0.5 * page.dual_norm2(alpha)
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
        return Formulation(Program(problem, {"alpha": alpha}, constraints, {"C": C}), page)
