"""Regularised least squares (kernel ridge regression): its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from kernelqp import description
from kernelqp.description import (
    HALF,
    TWO,
    ZERO,
    Description,
    Formula,
    Symbol,
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
from kernelqp.losses import HalfSquared
from kernelqp.methods.base import (
    INTERCEPTS,
    Machine,
    Method,
    gram,
    grid,
    meanings,
    not_negative,
    one_of,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.regression_page import LeastSquaresPage, real_or_labels
from kernelqp.methods.unpenalized_page import UnpenalizedPage
from kernelqp.ridge_path import RidgePath, Spectrum, ridge_path
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel
    from kernelqp.methods.page import KernelPage


@dataclass(frozen=True)
class RegularizedLeastSquares(Method):
    """Regularised least squares: ridge regression, kernel ridge, RLS classification.

        primal   minimise   1/2 Σ s_i (y_i − f(x_i) − b)² + λ/2 ‖f‖²

        dual     maximise   λ (Σ α_i y_i − 1/2 Σ α_i α_j k(x_i, x_j) − λ/2 Σ α_i²/s_i)
                 subject to balance:  Σ α_i = 0

    With weights 1 the dual is λ/2 G(α), G(α) = −α'(K + λ I) α + 2 α'y, and its solution
    α = (K + λ I)⁻¹ y where there is no intercept; f = Σ α_j k(x_j, ·). A penalised intercept adds
    λ b²/2 to the primal and replaces ``balance`` by k + 1; without an intercept both go.

    ``solve`` factorises the smaller of the primal (features) and dual (rows) systems, and says
    which in ``solver``.

    Parameters
    ----------
    lam : float
        λ >= 0, finite. 0 needs explicit features: of all least-squares solutions the shortest w.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVC.
    intercept : str
        "free", "penalized" or "none".

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Notes
    -----
    Targets that are text or booleans of two kinds are labels, −1 and +1, and ``predict`` returns
    labels: regularised least-squares classification.

    Source
    ------
    Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables;
    Rifkin, Yeo & Poggio (2003), Regularized least-squares classification.

    Examples
    --------
    >>> import kernelqp as kq
    >>> ridge = kq.RegularizedLeastSquares(lam=1.0, intercept="none")
    >>> s = ridge.solve([[0.0], [1.0], [3.0], [4.0]], [1.0, 2.0, 2.0, 4.0])
    >>> print(f"{s.weights[0]:.6f} {s.value:.6f} {s.solver}")
    0.888889 1.833333 Cholesky, primal 1 x 1
    """

    lam: float = 1.0
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "lam", not_negative("lam", self.lam))
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with λ in place.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", or "auto", which is what ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or needs explicit features that the kernel has not; so does
            λ = 0.

        Source
        ------
        Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.RegularizedLeastSquares(lam=3).describe())
        RegularizedLeastSquares
        primal: minimise over w, b
                1/2 Σ_i s_i (y_i − (w'x_i + b))² + 1.5 ‖w‖²
        dual: maximise over α
                3 (Σ_i α_i y_i − 1/2 Σ_ij α_i α_j k(x_i, x_j) − 1.5 Σ_i α_i²/s_i)
            subject to
                balance: Σ_i α_i = 0
        where
            λ = 3
            b is a free intercept: it costs nothing
            k(x, z) = x'z
            s_i is the sample weight
        """
        form = stated_form(self.kernel, form, ("weights", "coefficients"))
        if self.lam == 0:
            return self._describe_unpenalized(form)
        machine, lam = Machine.of(self.kernel, self.intercept, form), number(self.lam)
        half = number(decimals(self.lam) / 2)
        objective = described_residuals(machine) + half * machine.norm2
        primal = description.Program("minimise", machine.unknowns, objective, machine.extra)
        alpha, constraints = row("alpha"), {}
        pairs = total("ij", alpha * row("alpha", "j") * gram(self.intercept))
        weighed = half * total("i", alpha**TWO / row("s"))
        gain = lam * (total("i", alpha * row("y")) - HALF * pairs - weighed)
        if self.intercept == "free":
            constraints["balance"] = relation(total("i", alpha), "=", ZERO)
        dual = description.Program("maximise", (scalar("alpha"),), gain, constraints)
        return self._described(primal, dual)

    def _describe_unpenalized(self, form: str) -> Description:
        """Return least squares without a penalty, whose pages know no b²."""
        if form != "weights":
            raise ParameterError(
                f"lam=0 is no penalty: it needs explicit features and the primal in weights; "
                f"got {self.kernel!r}, form {form!r}"
            )
        free = "none" if self.intercept == "none" else "free"
        machine = Machine.of(self.kernel, free, form)
        cost = described_residuals(machine)
        primal = description.Program("minimise", machine.unknowns, cost, {})
        return self._described(
            primal, description.NoDual("lam=0 leaves no multipliers in units of 1/lam"), free
        )

    def _described(
        self,
        primal: description.Program,
        dual: description.Program | description.NoDual,
        intercept: str = "",
    ) -> Description:
        lam = (relation(Symbol("λ", r"\lambda", "", lambda p: p["lam"]), "=", number(self.lam)),)
        meaning = meanings(self.kernel, intercept or self.intercept)
        remarks = (lam, *meaning, (row("s"), " is the sample weight"))
        return Description(type(self).__name__, primal, dual, remarks)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        if self.lam == 0:
            return self._unpenalized(X, y, sample_weight, form)
        page = LeastSquaresPage.read_data(self, X, y, sample_weight, form)
        return Formulation(Statement(partial(self._state_primal, page), {"lam": self.lam}), page)

    def _state_primal(self, page: LeastSquaresPage, lam: cp.Parameter) -> Program:
        variables, norm2, values, extra = page.machine()
        objective = cp.Minimize(squared_residuals(page, values) + 0.5 * lam * norm2)
        problem = cp.Problem(objective, list(extra.values()))
        return Program(problem, variables, extra, {"lam": lam})

    def _unpenalized(self, X: Any, y: Any, sample_weight: Any, form: str) -> Formulation:
        """Return least squares without a penalty."""
        page = UnpenalizedPage.read_rows(
            self,
            form,
            ("weights", "coefficients"),
            lambda square, _: real_or_labels(X, y, sample_weight, square, keep_sparse=False),
        ).with_loss(HalfSquared(), "lam=0")
        return Formulation(Statement(partial(self._state_unpenalized, page), {}), page)

    def _state_unpenalized(self, page: UnpenalizedPage) -> Program:
        variables, _, values, _ = page.machine()
        problem = cp.Problem(cp.Minimize(squared_residuals(page, values)))
        return Program(problem, variables, {}, {})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        if self.lam == 0:
            raise ParameterError(
                "lam=0 is stated by its primal in weights alone, with explicit features: "
                "the dual's α are in units of 1/lam; use primal() (--form primal), or lam > 0"
            )
        page = LeastSquaresPage.read_data(self, X, y, sample_weight, "dual")
        return Formulation(Statement(partial(self._state_dual, page), {"lam": self.lam}), page)

    def _state_dual(self, page: LeastSquaresPage, lam: cp.Parameter) -> Program:
        alpha = cp.Variable(page.n, name="alpha")
        norm2 = page.dual_norm2(alpha)
        share = cp.multiply(1.0 / np.sqrt(page.data.weights), lam * alpha)  # λ²α²/s, affine in λ
        gain = lam * (page.data.targets @ alpha) - 0.5 * lam * norm2 - 0.5 * cp.sum_squares(share)
        constraints = {"balance": cp.sum(alpha) == 0} if self.intercept == "free" else {}
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"lam": lam})

    def radius(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return ‖f‖ of the solution: the R of :class:`ConstrainedRidge` with the same one."""
        if self.lam == 0:
            raise ParameterError("lam=0 leaves ‖f‖ open where features coincide: use lam > 0")
        page = LeastSquaresPage.read_data(self, X, y, sample_weight, "auto")
        data, free = page.data, self.intercept == "free"
        spectrum = Spectrum.of(page.engine_gram, data.targets, data.weights, free=free)
        return spectrum.length(self.lam)

    def path(self, X: Any, y: Any, lams: Any, sample_weight: Any = None) -> RidgePath:
        """Return every λ of ``lams`` at once: coefficients, leave-one-out residuals, GCV.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`solve`.
        lams : array, shape (L,)
            λ >= 0, in any order; 0 needs explicit features.

        Raises
        ------
        ParameterError
            If a λ is negative or not finite, or 0 without explicit features.

        Examples
        --------
        >>> import kernelqp as kq
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> path = kq.RegularizedLeastSquares().path(X, y, [0.01, 0.1, 1.0])
        >>> path.best().lam, path.effective_degrees_of_freedom.round(2).tolist()
        (0.01, [10.25, 8.64, 4.94])
        """
        values = grid("lams", lams)
        page = LeastSquaresPage.read_data(self, X, y, sample_weight, "auto")
        if page.gram.factor is None and not values.all():
            raise ParameterError("lams holds 0, which needs explicit features: use lam > 0")
        data, gram, free = page.data, page.engine_gram, self.intercept == "free"
        found = ridge_path(self, gram, data.targets, data.weights, values, free=free)
        return found.in_rows(data, penalized=self.intercept == "penalized")


def squared_residuals(page: KernelPage, values: cp.Expression) -> cp.Expression:
    """Return 1/2 Σ s_i (y_i − f(x_i) − b)²."""
    residuals = cp.multiply(np.sqrt(page.data.weights), page.data.targets - values)
    return 0.5 * cp.sum_squares(residuals)


def described_residuals(machine: Machine) -> Formula:
    """Return 1/2 Σ s_i (y_i − f(x_i) − b)²."""
    return HALF * total("i", row("s") * (row("y") - machine.values) ** TWO)
