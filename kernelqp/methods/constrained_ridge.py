"""Ridge regression with a bound on the norm: its page, primal in two statements, and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp import description
from kernelqp.ball_page import norm_of
from kernelqp.description import (
    HALF,
    TWO,
    ZERO,
    Description,
    Formula,
    Symbol,
    number,
    relation,
    total,
)
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.ball_ridge_page import BallRidgePage
from kernelqp.methods.base import (
    INTERCEPTS,
    Machine,
    Method,
    gram,
    meanings,
    not_negative,
    one_of,
    row,
    scalar,
    stated_form,
)
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class ConstrainedRidge(Method):
    """Ridge regression as a constraint: least squares over the functions of norm at most R.

        primal   minimise   Σ s_i (y_i − f(x_i) − b)²
                 subject to norm:  ‖f‖ <= R

        or, with residuals as variables (form "residuals"),

                 minimise   Σ s_i ξ_i²
                 subject to norm:  ‖f‖ <= R,   residual:  y_i − f(x_i) − b = ξ_i

        dual     maximise   Σ α_i y_i − 1/4 Σ α_i²/s_i − R √(Σ α_i α_j k(x_i, x_j))
                 subject to balance:  Σ α_i = 0

    α_i = 2 s_i ξ_i are the multipliers of ``residual``, μ = √(α'K α) is that of ``norm``, and
    f = R f_α/μ. Where μ > 0 the ball binds, and the solution is that of ridge regression,
    Σ s r² + λ ‖f‖², with λ = μ/(2 R): the multiplier of ‖f‖² <= R². Where it does not bind, μ = 0.

    Parameters
    ----------
    radius : float
        R >= 0, finite.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" (then b² is in the norm) or "none".

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Source
    ------
    Mohri, Rostamizadeh & Talwalkar (2018), Foundations of Machine Learning, section 11.3.2.

    Examples
    --------
    >>> import kernelqp as kq
    >>> ridge = kq.ConstrainedRidge(radius=2.5, intercept="none")
    >>> s = ridge.solve([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    >>> print(f"{s.value:.6f} {s.weights.round(6)} {s.multiplier:.6f} {s.lam:.6f}")
    6.250000 [1.5 2. ] 5.000000 1.000000
    """

    radius: float
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "radius", not_negative("radius", self.radius))
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" or "coefficients", or with "residuals" as variables."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = BallRidgePage.read_data(self, X, y, sample_weight, form)
        parameters = {"radius": self.radius}
        return Formulation(Statement(partial(self._state_primal, page), parameters), page)

    def _state_primal(self, page: BallRidgePage, radius: cp.Parameter) -> Program:
        variables, _, values, extra = page.machine()
        root = np.sqrt(page.data.weights)
        constraints: dict[str, Any] = {"norm": page.norm(variables) <= radius, **extra}
        residuals = page.data.targets - values
        if page.stated_residuals:
            xi = variables["xi"] = cp.Variable(page.n, name="xi")
            constraints["residual"] = residuals == xi
            residuals = xi
        objective = cp.Minimize(cp.sum_squares(cp.multiply(root, residuals)))
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"radius": radius})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = BallRidgePage.read_data(self, X, y, sample_weight, "dual")
        parameters = {"radius": self.radius}
        return Formulation(Statement(partial(self._state_dual, page), parameters), page)

    def _state_dual(self, page: BallRidgePage, radius: cp.Parameter) -> Program:
        alpha = cp.Variable(page.n, name="alpha")
        share = cp.multiply(0.5 / np.sqrt(page.data.weights), alpha)
        length = norm_of(page.engine_gram, alpha)
        gain = page.data.targets @ alpha - cp.sum_squares(share) - radius * length
        constraints = {"balance": cp.sum(alpha) == 0} if self.intercept == "free" else {}
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"radius": radius})

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with R in place.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", "residuals", or "auto".

        Raises
        ------
        ParameterError
            If the form is unknown, or needs explicit features that the kernel has not.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.ConstrainedRidge(radius=2, intercept="none").describe("residuals"))
        ConstrainedRidge
        primal: minimise over w, ξ
                Σ_i s_i ξ_i²
            subject to
                norm: ‖w‖ <= 2
                residual: y_i − w'x_i = ξ_i  for every i
        dual: maximise over α
                Σ_i α_i y_i − 0.25 Σ_i α_i²/s_i − 2 (Σ_ij α_i α_j k(x_i, x_j))^(1/2)
        where
            R = 2
            there is no intercept
            k(x, z) = x'z
            s_i is the sample weight
        """
        named = form == "residuals"
        written = stated_form(self.kernel, "auto" if named else form, ("weights", "coefficients"))
        machine, R = Machine.of(self.kernel, self.intercept, written), number(self.radius)
        length: Formula = machine.norm2**HALF
        if written == "weights" and self.intercept != "penalized":
            length = Symbol("‖w‖", r"\|w\|", "", lambda p: np.linalg.norm(p["w"]))
        constraints = {"norm": relation(length, "<=", R), **machine.extra}
        missed: Formula = row("y") - machine.values
        unknowns = machine.unknowns
        if named:
            constraints["residual"] = relation(missed, "=", row("xi"))
            missed, unknowns = row("xi"), (*unknowns, scalar("xi"))
        cost = total("i", row("s") * missed**TWO)
        primal = description.Program("minimise", unknowns, cost, constraints)
        alpha, balance = row("alpha"), {}
        pairs = total("ij", alpha * row("alpha", "j") * gram(self.intercept))
        spread = number(Fraction(1, 4)) * total("i", alpha**TWO / row("s"))
        gain = total("i", alpha * row("y")) - spread - R * pairs**HALF
        if self.intercept == "free":
            balance["balance"] = relation(total("i", alpha), "=", ZERO)
        dual = description.Program("maximise", (scalar("alpha"),), gain, balance)
        radius = (relation(Symbol("R", "R", "", lambda p: p["radius"]), "=", R),)
        said = meanings(self.kernel, self.intercept)
        remarks = (radius, *said, (row("s"), " is the sample weight"))
        return Description(type(self).__name__, primal, dual, remarks)

    def lam(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return λ >= 0 of the ridge regression with the same solution, by the secular equation.

        ‖f_λ‖ = R; 0 where the ball does not bind, infinite for R = 0. With
        :meth:`RegularizedLeastSquares.radius` it goes both ways.

        Examples
        --------
        >>> import kernelqp as kq
        >>> X, y = [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0]
        >>> print(f"{kq.ConstrainedRidge(radius=2.5, intercept='none').lam(X, y):.9f}")
        1.000000000
        >>> print(f"{kq.RegularizedLeastSquares(lam=1.0, intercept='none').radius(X, y):.9f}")
        2.500000000
        """
        page = BallRidgePage.read_data(self, X, y, sample_weight, "auto")
        return page.secular(page.risk({"radius": self.radius}).centred)[0]
