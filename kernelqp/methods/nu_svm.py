"""The ν support vector machine: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import cvxpy as cp

from kernelqp import description
from kernelqp.description import HALF, ZERO, Description, number, relation, total
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import (
    INTERCEPTS,
    MARGIN_BALANCE,
    SHARE_OF_WEIGHT,
    SIGNS,
    Machine,
    Method,
    dual_margin_norm2,
    meanings,
    one_of,
    over_weight,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.nu_page import FORMS, NuPage, share
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class NuSVM(Method):
    """Support vector machine with ν in place of C: the share of rows inside the margin.

        primal   minimise   1/2 ‖f‖² − ν ρ + 1/S Σ s_i ξ_i                            S = Σ s_i
                 subject to margin:  y_i (f(x_i) + b) >= ρ − ξ_i,    slack:  ξ_i >= 0

        dual     maximise   −1/2 Σ α_i α_j y_i y_j k(x_i, x_j)
                 subject to lower:  α_i >= 0,   upper:  α_i <= s_i/S,
                            balance:  Σ α_i y_i = 0,   sum:  Σ α_i = ν

    At most the share ν of the weight lies inside the margin, and at least ν in support vectors.
    ρ >= 0 need not be asked for: at the optimum ν ρ >= 1/2 ‖f‖² (Chang & Lin 2001). A penalised
    intercept adds b²/2 to the primal and replaces ``balance`` by k + 1; without one both go.

    The solution with ρ > 0 is that of SoftMarginSVM(C = 1/(ρ S)) times ρ; ``C`` of a solution is
    that number, and ``nu`` of a solution of SoftMarginSVM leads back.

    Parameters
    ----------
    nu : float
        0 < nu <= 1. With a free intercept either class has to give half of it, so that the data
        admit nu <= 2 min(S₊, S₋)/S, the shares of the weight of the two classes.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" or "none".

    Raises
    ------
    ParameterError
        If a parameter is out of its range; from ``primal``, ``dual`` and ``solve`` if nu is more
        than the data admit, with the largest that they do.

    Source
    ------
    Schölkopf, Smola, Williamson & Bartlett (2000), New support vector algorithms, Neural
    Computation 12(5), 1207-1245.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.NuSVM(nu=0.6).solve([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> print(f"{s.value:.6f} {s.weights[0]:.4f} {s.intercept:.4f} {s.rho:.4f} {s.C:.4f}")
    -0.245000 0.7000 -1.4000 1.4000 0.1786
    >>> s.predict([[1.9], [2.1]]).tolist()
    ['no', 'yes']
    """

    few_support_vectors: ClassVar[bool] = True
    nu: float = 0.5
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", share("nu", self.nu))
        one_of("intercept", self.intercept, INTERCEPTS)
        object.__setattr__(self, "kernel", resolve(self.kernel))

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
        Schölkopf, Smola, Williamson & Bartlett (2000), Neural Computation 12(5), 1207-1245.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.NuSVM(nu=0.2, kernel=kq.RBF(gamma=0.5), intercept="none").describe())
        NuSVM
        primal: minimise over β, ρ, ξ
                1/2 Σ_ij β_i β_j k(x_i, x_j) − 0.2 ρ + 1/S Σ_i s_i ξ_i
            subject to
                margin: y_i Σ_j β_j k(x_i, x_j) >= ρ − ξ_i  for every i
                slack: ξ_i >= 0  for every i
        dual: maximise over α
                −1/2 Σ_ij α_i α_j y_i y_j k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
                upper: α_i <= s_i/S  for every i
                sum: Σ_i α_i = 0.2
        where
            ν = 0.2
            there is no intercept
            k(x, z) = exp(−1/2 ‖x − z‖²)
            s_i is the sample weight, S the sum of all
            y_i is +1 for the greater label and -1 for the other
        """
        form = stated_form(self.kernel, form, FORMS)
        machine, xi, alpha = Machine.of(self.kernel, self.intercept, form), row("xi"), row("alpha")
        rho, nu = scalar("rho"), number(self.nu)
        cost = over_weight(Fraction(1)) * total("i", row("s") * xi)
        constraints = {
            "margin": relation(row("y") * machine.values, ">=", rho - xi),
            "slack": relation(xi, ">=", ZERO),
            **machine.extra,
        }
        unknowns = (*machine.unknowns, rho, scalar("xi"))
        objective = HALF * machine.norm2 - nu * rho + cost
        primal = description.Program("minimise", unknowns, objective, constraints)
        bounds = {
            "lower": relation(alpha, ">=", ZERO),
            "upper": relation(alpha, "<=", over_weight(Fraction(1), row("s"))),
        }
        if self.intercept == "free":
            bounds["balance"] = MARGIN_BALANCE
        bounds["sum"] = relation(total("i", alpha), "=", nu)
        gain = -(HALF * dual_margin_norm2(self.intercept))
        dual = description.Program("maximise", (scalar("alpha"),), gain, bounds)
        said = (relation(scalar("nu"), "=", nu),)
        remarks = (said, *meanings(self.kernel, self.intercept), SHARE_OF_WEIGHT, SIGNS)
        return Description(type(self).__name__, primal, dual, remarks)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = NuPage.read_data(self, X, y, sample_weight, form)
        return Formulation(Statement(partial(self._state_primal, page), {"nu": self.nu}), page)

    def _state_primal(self, page: NuPage, nu: cp.Parameter) -> Program:
        variables, norm2, values, extra = page.machine()
        rho = variables["rho"] = cp.Variable(name="rho")
        xi = variables["xi"] = cp.Variable(page.n, name="xi")
        constraints = {
            "margin": cp.multiply(page.signs, values) >= rho - xi,
            "slack": xi >= 0,
            **extra,
        }
        objective = cp.Minimize(0.5 * norm2 - nu * rho + page.costs @ xi)
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"nu": nu})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = NuPage.read_data(self, X, y, sample_weight, "dual")
        return Formulation(Statement(partial(self._state_dual, page), {"nu": self.nu}), page)

    def _state_dual(self, page: NuPage, nu: cp.Parameter) -> Program:
        alpha = cp.Variable(page.n, name="alpha")
        constraints = {"lower": alpha >= 0, "upper": alpha <= page.costs}
        if self.intercept == "free":
            constraints["balance"] = page.signs @ alpha == 0
        constraints["sum"] = cp.sum(alpha) == nu
        problem = cp.Problem(
            cp.Maximize(-0.5 * page.dual_norm2(page.signed(alpha))), list(constraints.values())
        )
        return Program(problem, {"alpha": alpha}, constraints, {"nu": nu})
