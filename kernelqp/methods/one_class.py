"""The one-class support vector machine: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import cvxpy as cp

from kernelqp import description
from kernelqp.description import HALF, ONE, ZERO, Description, decimals, number, relation, total
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import (
    SHARE_OF_WEIGHT,
    Machine,
    Method,
    gram,
    meanings,
    over_weight,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.nu_page import FORMS, OneClassPage, share
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel
    from kernelqp.solution import Infeasible, Solution


@dataclass(frozen=True)
class OneClassSVM(Method):
    """One-class SVM: the region that holds all but the share ν of the rows.

        primal   minimise   1/2 ‖f‖² − ρ + 1/(ν S) Σ s_i ξ_i                          S = Σ s_i
                 subject to margin:  f(x_i) >= ρ − ξ_i,    slack:  ξ_i >= 0

        dual     maximise   −1/2 Σ α_i α_j k(x_i, x_j)
                 subject to lower:  α_i >= 0,   upper:  α_i <= s_i/(ν S),   sum:  Σ α_i = 1

    At most the share ν of the weight lies outside, f < ρ, and at least ν in support vectors.
    ``decision_function`` is f − ρ and ``intercept`` −ρ; ``predict`` says +1 where f > ρ, else −1.
    y has no part in it: ``primal``, ``dual`` and ``solve`` take X alone, and ignore a y.

    Parameters
    ----------
    nu : float
        0 < nu <= 1; at 1 every α_i is at its bound, and f is the mean of the rows.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "none": ρ is what is compared with f. A free intercept would be ρ a second time.

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Source
    ------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson (2001), Estimating the support of a
    high-dimensional distribution, Neural Computation 13(7), 1443-1471.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.OneClassSVM(nu=0.4).solve([[1.0], [2.0], [3.0], [6.0]])
    >>> print(f"{s.value:.4f} {s.rho:.4f} {s.alpha.round(4)}")
    -0.9453 2.7500 [0.625 0.375 0.    0.   ]
    >>> s.predict([[1.9], [2.1]]).tolist()
    [-1, 1]
    """

    few_support_vectors: ClassVar[bool] = True
    nu: float = 0.5
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", share("nu", self.nu))
        if self.intercept != "none":
            raise ParameterError(
                f"intercept must be 'none'; got {self.intercept!r}: in OneClassSVM rho is what f "
                f"is compared with, and there is no other intercept"
            )
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
        Schölkopf, Platt, Shawe-Taylor, Smola & Williamson (2001), Neural Computation 13(7).

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.OneClassSVM(nu=0.2).describe())
        OneClassSVM
        primal: minimise over w, ρ, ξ
                1/2 ‖w‖² − ρ + 5/S Σ_i s_i ξ_i
            subject to
                margin: w'x_i >= ρ − ξ_i  for every i
                slack: ξ_i >= 0  for every i
        dual: maximise over α
                −1/2 Σ_ij α_i α_j k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
                upper: α_i <= 5 s_i/S  for every i
                sum: Σ_i α_i = 1
        where
            ν = 0.2
            there is no intercept
            k(x, z) = x'z
            s_i is the sample weight, S the sum of all
        """
        form = stated_form(self.kernel, form, FORMS)
        machine, xi, alpha = Machine.of(self.kernel, "none", form), row("xi"), row("alpha")
        rho, price = scalar("rho"), 1 / decimals(self.nu)
        objective = HALF * machine.norm2 - rho + over_weight(price) * total("i", row("s") * xi)
        constraints = {
            "margin": relation(machine.values, ">=", rho - xi),
            "slack": relation(xi, ">=", ZERO),
        }
        unknowns = (*machine.unknowns, rho, scalar("xi"))
        primal = description.Program("minimise", unknowns, objective, constraints)
        bounds = {
            "lower": relation(alpha, ">=", ZERO),
            "upper": relation(alpha, "<=", over_weight(price, row("s"))),
            "sum": relation(total("i", alpha), "=", ONE),
        }
        pairs = total("ij", alpha * row("alpha", "j") * gram("none"))
        dual = description.Program("maximise", (scalar("alpha"),), -(HALF * pairs), bounds)
        said = (relation(scalar("nu"), "=", number(self.nu)),)
        remarks = (said, *meanings(self.kernel, "none"), SHARE_OF_WEIGHT)
        return Description(type(self).__name__, primal, dual, remarks)

    def primal(
        self, X: Any, y: Any = None, sample_weight: Any = None, form: str = "auto"
    ) -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"; y is ignored."""
        del y
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = OneClassPage.read_rows_alone(self, X, sample_weight, form)
        return Formulation(Statement(partial(self._state_primal, page), {"nu": self.nu}), page)

    def _state_primal(self, page: OneClassPage, nu: cp.Parameter) -> Program:
        inverse = cp.CallbackParam(lambda: 1.0 / float(nu.value), nonneg=True)
        variables, norm2, values, _ = page.machine()
        rho = variables["rho"] = cp.Variable(name="rho")
        xi = variables["xi"] = cp.Variable(page.n, name="xi")
        constraints = {"margin": values >= rho - xi, "slack": xi >= 0}
        objective = cp.Minimize(0.5 * norm2 - rho + inverse * (page.costs @ xi))
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"nu": nu})

    def dual(self, X: Any, y: Any = None, sample_weight: Any = None) -> Formulation:
        """Return the dual in α; y is ignored."""
        del y
        page = OneClassPage.read_rows_alone(self, X, sample_weight, "dual")
        return Formulation(Statement(partial(self._state_dual, page), {"nu": self.nu}), page)

    def _state_dual(self, page: OneClassPage, nu: cp.Parameter) -> Program:
        inverse = cp.CallbackParam(lambda: 1.0 / float(nu.value), nonneg=True)
        alpha = cp.Variable(page.n, name="alpha")
        constraints = {
            "lower": alpha >= 0,
            "upper": alpha <= inverse * page.costs,
            "sum": cp.sum(alpha) == 1,
        }
        gain = cp.Maximize(-0.5 * page.dual_norm2(page.signed(alpha)))
        problem = cp.Problem(gain, list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"nu": nu})

    def solve(  # the rest is as for every method
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        form: str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        **options: Any,
    ) -> Solution | Infeasible:
        """Solve and certify as :meth:`kernelqp.methods.base.Method.solve` does.

        Parameters
        ----------
        y
            Ignored.
        """
        return super().solve(X, y, sample_weight, form, solver, tol, **options)
