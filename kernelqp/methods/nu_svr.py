"""ν support vector regression: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import cvxpy as cp

from kernelqp import description
from kernelqp.description import HALF, ZERO, Description, decimals, number, relation, total
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import (
    INTERCEPTS,
    SHARE_OF_WEIGHT,
    Machine,
    Method,
    gram,
    meanings,
    one_of,
    over_weight,
    positive,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.nu_page import FORMS, share
from kernelqp.methods.nu_regression_page import NuRegressionPage
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.description import Formula
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class NuSVR(Method):
    """Support vector regression with ν in place of ε: the share of rows outside the tube.

        primal   minimise   1/2 ‖f‖² + C (ν ε + 1/S Σ s_i (ξ_i + ξ*_i))               S = Σ s_i
                 subject to above:  y_i − f(x_i) − b <= ε + ξ_i,     slack:       ξ_i >= 0
                            below:  f(x_i) + b − y_i <= ε + ξ*_i,    slack_star:  ξ*_i >= 0

        dual     maximise   Σ y_i β_i − 1/2 Σ β_i β_j k(x_i, x_j)                     β = α − α*
                 subject to lower, upper:  0 <= α_i <= C s_i/S,      balance:  Σ α_i − α*_i = 0
                            lower_star, upper_star:  the same of α*, sum:  Σ α_i + α*_i = C ν

    At most the share ν of the weight lies outside the tube, and at least ν in support vectors.
    ε >= 0 need not be asked for: with ν <= 1 a negative ε is never better than 0, for ν < 1 worse.
    A penalised intercept adds b²/2 to the primal and replaces ``balance`` by k + 1; without one
    both go.

    The solution is that of support vector regression with ``epsilon`` of the solution, where a row
    costs C s_i/S; the other way round ν = Σ |β_i|/(that C times S).

    Parameters
    ----------
    C : float
        The price of the mean slack, > 0 and finite: S times the C of scikit-learn's NuSVR.
    nu : float
        0 < nu <= 1.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVR.
    intercept : str
        "free", "penalized" or "none".

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Source
    ------
    Schölkopf, Smola, Williamson & Bartlett (2000), New support vector algorithms, Neural
    Computation 12(5), 1207-1245, section 2.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.NuSVR(C=100, nu=0.4).solve([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.8, 3.0])
    >>> print(f"{s.value:.4f} {s.weights[0]:.4f} {s.intercept:.4f} {s.epsilon:.4f}")
    6.4050 0.9000 0.1500 0.1500
    """

    few_support_vectors: ClassVar[bool] = True
    C: float = 1.0
    nu: float = 0.5
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", positive("C", self.C))
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
        >>> print(kq.NuSVR(C=10, nu=0.2, intercept="none").describe())
        NuSVR
        primal: minimise over w, ε, ξ, ξ*
                1/2 ‖w‖² + 2 ε + 10/S Σ_i s_i (ξ_i + ξ*_i)
            subject to
                above: y_i − w'x_i <= ε + ξ_i  for every i
                below: w'x_i − y_i <= ε + ξ*_i  for every i
                slack: ξ_i >= 0  for every i
                slack_star: ξ*_i >= 0  for every i
        dual: maximise over α, α*
                Σ_i y_i (α_i − α*_i) − 1/2 Σ_ij (α_i − α*_i) (α_j − α*_j) k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
                upper: α_i <= 10 s_i/S  for every i
                lower_star: α*_i >= 0  for every i
                upper_star: α*_i <= 10 s_i/S  for every i
                sum: Σ_i (α_i + α*_i) = 2
        where
            C = 10, ν = 0.2
            there is no intercept
            k(x, z) = x'z
            s_i is the sample weight, S the sum of all
        """
        form = stated_form(self.kernel, form, FORMS)
        machine, xi, star = Machine.of(self.kernel, self.intercept, form), row("xi"), row("xi_star")
        epsilon, C = scalar("epsilon"), number(self.C)
        spent = number(decimals(self.C) * decimals(self.nu))
        lost = over_weight(decimals(self.C)) * total("i", row("s") * (xi + star))
        constraints = {
            "above": relation(row("y") - machine.values, "<=", epsilon + xi),
            "below": relation(machine.values - row("y"), "<=", epsilon + star),
            "slack": relation(xi, ">=", ZERO),
            "slack_star": relation(star, ">=", ZERO),
            **machine.extra,
        }
        unknowns = (*machine.unknowns, epsilon, scalar("xi"), scalar("xi_star"))
        objective = HALF * machine.norm2 + spent * epsilon + lost
        primal = description.Program("minimise", unknowns, objective, constraints)
        said = (relation(scalar("C"), "=", C), ", ", relation(scalar("nu"), "=", number(self.nu)))
        remarks = (said, *meanings(self.kernel, self.intercept), SHARE_OF_WEIGHT)
        return Description(type(self).__name__, primal, self._described_dual(spent), remarks)

    def _described_dual(self, spent: Formula) -> description.Program:
        """Return the dual, with C ν as it is spent."""
        alpha, star = row("alpha"), row("alpha_star")
        beta, beta_j = alpha - star, row("alpha", "j") - row("alpha_star", "j")
        pairs = total("ij", beta * beta_j * gram(self.intercept))
        gain = total("i", row("y") * beta) - HALF * pairs
        most = over_weight(decimals(self.C), row("s"))
        constraints = {
            "lower": relation(alpha, ">=", ZERO),
            "upper": relation(alpha, "<=", most),
            "lower_star": relation(star, ">=", ZERO),
            "upper_star": relation(star, "<=", most),
        }
        if self.intercept == "free":
            constraints["balance"] = relation(total("i", beta), "=", ZERO)
        constraints["sum"] = relation(total("i", alpha + star), "=", spent)
        unknowns = (scalar("alpha"), scalar("alpha_star"))
        return description.Program("maximise", unknowns, gain, constraints)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = NuRegressionPage.read_data(self, X, y, sample_weight, form)
        parameters = {"C": self.C, "nu": self.nu}
        return Formulation(Statement(partial(self._state_primal, page), parameters), page)

    def _state_primal(self, page: NuRegressionPage, C: cp.Parameter, nu: cp.Parameter) -> Program:
        targets, spent = page.data.targets, product(C, nu)
        variables, norm2, values, extra = page.machine()
        epsilon = variables["epsilon"] = cp.Variable(name="epsilon")
        xi = variables["xi"] = cp.Variable(page.n, name="xi")
        star = variables["xi_star"] = cp.Variable(page.n, name="xi_star")
        constraints = {
            "above": targets - values <= epsilon + xi,
            "below": values - targets <= epsilon + star,
            "slack": xi >= 0,
            "slack_star": star >= 0,
            **extra,
        }
        lost = C * (page.shares @ (xi + star))
        objective = cp.Minimize(0.5 * norm2 + spent * epsilon + lost)
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"C": C, "nu": nu})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α and α*."""
        page = NuRegressionPage.read_data(self, X, y, sample_weight, "dual")
        parameters = {"C": self.C, "nu": self.nu}
        return Formulation(Statement(partial(self._state_dual, page), parameters), page)

    def _state_dual(self, page: NuRegressionPage, C: cp.Parameter, nu: cp.Parameter) -> Program:
        alpha = cp.Variable(page.n, name="alpha")
        star = cp.Variable(page.n, name="alpha_star")
        constraints = {
            "lower": alpha >= 0,
            "upper": alpha <= C * page.shares,
            "lower_star": star >= 0,
            "upper_star": star <= C * page.shares,
        }
        if self.intercept == "free":
            constraints["balance"] = cp.sum(alpha - star) == 0
        constraints["sum"] = cp.sum(alpha + star) == product(C, nu)
        gain = page.data.targets @ (alpha - star) - 0.5 * page.dual_norm2(alpha - star)
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        variables = {"alpha": alpha, "alpha_star": star}
        return Program(problem, variables, constraints, {"C": C, "nu": nu})


def product(C: cp.Parameter, nu: cp.Parameter) -> cp.CallbackParam:
    """Return C ν as one parameter, lest a product of two be compiled."""
    return cp.CallbackParam(lambda: float(C.value) * float(nu.value), nonneg=True)
