"""Pegasos: its page, primal and dual, and the stochastic subgradient descent that solves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp import description
from kernelqp.description import (
    ONE,
    ZERO,
    Description,
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
from kernelqp.methods.base import (
    SIGNS,
    Machine,
    Method,
    dual_margin_gain,
    meanings,
    no_options,
    not_free,
    one_of,
    positive,
    row,
    scalar,
    stated_form,
    whole_number,
)
from kernelqp.methods.pegasos_page import PegasosPage
from kernelqp.pegasos_run import FULL
from kernelqp.pegasos_solve import descend, trace
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.data import ClassWeight
    from kernelqp.kernels import Kernel
    from kernelqp.solution import Infeasible, Solution
    from kernelqp.traces import PegasosTrace


@dataclass(frozen=True)
class Pegasos(Method):
    """Soft-margin SVM by stochastic subgradient descent, with a certificate of what it reached.

        primal   minimise   λ/2 ‖f‖² + 1/S Σ s_i ξ_i                          S = Σ s_i
                 subject to margin:  y_i f(x_i) >= 1 − ξ_i,    slack:  ξ_i >= 0

        dual     maximise   λ (Σ α_i − 1/2 Σ α_i α_j y_i y_j k(x_i, x_j))
                 subject to lower:  α_i >= 0,    upper:  λ α_i <= s_i/S

    It is :class:`SoftMarginSVM` with C = 1/(λ S), its objective times λ. ``solve`` runs the
    algorithm: step t takes a batch of rows and a step of length 1/(λ t) down the subgradient,

        f ← (1 − 1/t) f + 1/(λ t) Σ B s_i/S y_i k(x_i, ·)     over its rows with y_i f(x_i) < 1

    with B = ⌈n/batch⌉ the number of batches in an epoch, n the rows whose weight is not 0; an epoch
    visits every row once in an order drawn anew. With weights 1, B s_i/S is B/n: 1/batch, the mean
    over the rows of the step, where batch divides n. Where it does not, the batches differ by one
    row and B/n is the same for all of them: so every row counts the same in an epoch, and after
    whole epochs λ α_i = s_i/S · (violations of i)/epochs is in the box of the dual. ``primal`` and
    ``dual`` are the exact problem for any solver, which ``solve`` takes as soon as a solver or a
    form is named.

    Parameters
    ----------
    lam : float
        λ > 0, finite.
    epochs : int
        Visits of every row, >= 1, after which it ends, if not at ``tol`` before.
    batch : int or "full"
        Rows of a step. "full" (or None) is the deterministic descent on all rows, whose epoch is
        one step.
    seed : int
        Of the orders; the same seed gives the same run.
    project : bool
        After every step, scale f into the ball ‖f‖ <= 1/√λ, which holds the optimum.
    average : bool
        Return the mean of f over all steps instead of the last f.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default. Explicit features are kept as weights, other kernels as
        coefficients.
    intercept : str
        "none", or "penalized": a feature of constant 1. A free intercept is not what the algorithm
        solves.
    class_weight : dict, "balanced" or None
        As in :class:`SoftMarginSVM`.

    Raises
    ------
    ParameterError
        If a parameter is out of its range; intercept="free" is.

    Notes
    -----
    The certificate is about the algorithm's own f: ``value`` and ``primal_value`` are its
    objective as it stands, ``weights`` and ``beta`` are its own. The lower bound may come from
    elsewhere: the counts of the algorithm, and once a kernel QP (``alpha`` is the dual point that
    it holds at). The bounds are looked at after every epoch, of few steps after every 16, and
    ``history`` has all looks. The run stops where the relative gap is at most ``tol``
    (CERTIFIED); after ``epochs``, or at Ctrl-C with the best f that was looked at, it is LIMIT.

    Source
    ------
    Shalev-Shwartz, Singer, Srebro & Cotter (2011), Pegasos: primal estimated sub-gradient solver
    for SVM, Mathematical Programming 127, 3-30.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[0.0, 1.0], [1.0, 2.0], [-1.0, 0.0], [-2.0, 1.0]], [1, 1, -1, -1]
    >>> s = kq.Pegasos(lam=0.1, epochs=1000).solve(X, y, tol=1e-3)
    >>> s.status.name, s.solver, bool(s.certificate.gap >= -s.certificate.rounding)
    ('CERTIFIED', 'Pegasos', True)
    """

    lam: float = 0.01
    epochs: int = 100
    batch: int | str | None = 1
    seed: int = 0
    project: bool = False
    average: bool = False
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "none"
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "lam", positive("lam", self.lam))
        set_(self, "epochs", whole_number("epochs", self.epochs, 1))
        set_(self, "seed", whole_number("seed", self.seed, 0))
        set_(self, "batch", FULL if self.batch is None else self.batch)
        if isinstance(self.batch, str):
            one_of("batch", self.batch, (FULL,))
        else:
            set_(self, "batch", whole_number("batch", self.batch, 1))
        for name in ("project", "average"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be a bool; got {getattr(self, name)!r}")
        not_free(self.intercept, "SoftMarginSVM(C=1/(lam n))")
        set_(self, "kernel", resolve(self.kernel))
        if isinstance(self.class_weight, Mapping):
            set_(self, "class_weight", dict(self.class_weight))

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with λ in place, and what the algorithm does.

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
        Shalev-Shwartz, Singer, Srebro & Cotter (2011), Mathematical Programming 127, 3-30.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.Pegasos(lam=0.1).describe())
        Pegasos
        primal: minimise over w, ξ
                0.05 ‖w‖² + (Σ_i s_i ξ_i)/(Σ_j s_j)
            subject to
                margin: y_i w'x_i >= 1 − ξ_i  for every i
                slack: ξ_i >= 0  for every i
        dual: maximise over α
                0.1 (Σ_i α_i − 1/2 Σ_ij α_i α_j y_i y_j k(x_i, x_j))
            subject to
                lower: α_i >= 0  for every i
                upper: 0.1 α_i <= s_i/(Σ_j s_j)  for every i
        where
            λ = 0.1
            there is no intercept
            k(x, z) = x'z
            s_i is the sample weight; class weights: none
            y_i is +1 for the greater label and -1 for the other
            the algorithm is stochastic subgradient descent: at most 100 epochs, 1 row a step
        """
        form = stated_form(self.kernel, form, ("weights", "coefficients"))
        machine, xi, alpha = Machine.of(self.kernel, self.intercept, form), row("xi"), row("alpha")
        lam, all_weights = number(self.lam), total("j", row("s", "j"))
        paid = total("i", row("s") * xi) / all_weights
        objective = number(decimals(self.lam) / 2) * machine.norm2 + paid
        constraints = {
            "margin": relation(row("y") * machine.values, ">=", ONE - xi),
            "slack": relation(xi, ">=", ZERO),
            **machine.extra,
        }
        unknowns = (*machine.unknowns, scalar("xi"))
        primal = description.Program("minimise", unknowns, objective, constraints)
        bounds = {
            "lower": relation(alpha, ">=", ZERO),
            "upper": relation(lam * alpha, "<=", row("s") / all_weights),
        }
        gain = lam * dual_margin_gain(self.intercept)
        dual = description.Program("maximise", (scalar("alpha"),), gain, bounds)
        return Description(type(self).__name__, primal, dual, self._remarks())

    def _remarks(self) -> tuple[tuple[description.Piece, ...], ...]:
        """Return what the symbols mean, and how the algorithm goes."""
        lam = relation(Symbol("λ", r"\lambda", "", lambda p: p["lam"]), "=", number(self.lam))
        class_weight = "none" if self.class_weight is None else repr(self.class_weight)
        factor = "" if self.class_weight is None else " times the class weight"
        weights = (row("s"), f" is the sample weight{factor}; class weights: {class_weight}")
        rows = "all rows" if self.batch == FULL else f"{self.batch} row{'s' * (self.batch != 1)}"
        ways = [f"at most {self.epochs} epochs", f"{rows} a step"]
        ways += ["projected onto the ball"] * self.project + ["averaged"] * self.average
        said = f"the algorithm is stochastic subgradient descent: {', '.join(ways)}"
        return ((lam,), *meanings(self.kernel, self.intercept), weights, SIGNS, (said,))

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        page = PegasosPage.read_data(self, X, y, sample_weight, form, 1.0)
        return Formulation(Statement(partial(self._state_primal, page), {"lam": self.lam}), page)

    def _state_primal(self, page: PegasosPage, lam: cp.Parameter) -> Program:
        variables, norm2, values, extra = page.machine()
        xi = variables["xi"] = cp.Variable(page.n, name="xi")
        constraints = {
            "margin": cp.multiply(page.data.targets, values) >= 1 - xi,
            "slack": xi >= 0,
            **extra,
        }
        objective = cp.Minimize(0.5 * lam * norm2 + page.shares @ xi)
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, variables, constraints, {"lam": lam})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = PegasosPage.read_data(self, X, y, sample_weight, "dual", 1.0)
        return Formulation(Statement(partial(self._state_dual, page), {"lam": self.lam}), page)

    def _state_dual(self, page: PegasosPage, lam: cp.Parameter) -> Program:
        alpha = cp.Variable(page.n, name="alpha")
        constraints = {"lower": alpha >= 0, "upper": lam * alpha <= page.shares}
        gain = lam * cp.sum(alpha) - 0.5 * lam * page.dual_norm2(page.signed(alpha))
        problem = cp.Problem(cp.Maximize(gain), list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {"lam": lam})

    def solve(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        form: str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        **options: Any,
    ) -> Solution | Infeasible:
        """Run the algorithm and certify its f; with a solver or a form, solve the page instead.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`SoftMarginSVM.solve`.
        form, solver, **options
            "auto" for both is the algorithm, which takes no options.
        tol : float
            The relative gap at which the algorithm stops.

        Raises
        ------
        InputError
            If something passed in cannot be used.
        SolverError
            If a solver was named and is not installed, or failed without an answer.
        """
        if form != "auto" or solver != "auto":
            return super().solve(X, y, sample_weight, form, solver, tol, **options)
        no_options(options, "Pegasos")
        return descend(self, self.primal(X, y, sample_weight), positive("tol", tol))

    def run(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        indices: Any = None,
        form: str = "auto",
        record: bool = False,
    ) -> PegasosTrace:
        """Run all epochs, or a given sequence of rows, and return what happened, draw by draw.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`solve`.
        indices : integers, shape (T,) or (T, k), optional
            The row, or the k rows, of every step; they take the place of ``epochs``, ``batch`` and
            ``seed``. There are no epochs then and B is n/k, so that B s_i/S is 1/k at weights 1:
            the B of ``batch=k`` where k divides n, less than its ⌈n/k⌉ where it does not.
        form : str
            "weights" (explicit features), "counts" (any kernel), or "auto", weights where possible.
        record : bool
            Keep the coefficients after every step, and the weights: T n and T d numbers.

        Raises
        ------
        InputError
            If something passed in cannot be used.

        Examples
        --------
        >>> import kernelqp as kq
        >>> pegasos = kq.Pegasos(lam=0.5)
        >>> trace = pegasos.run([[1, 2], [-1, 0]], [1, -1], indices=[0, 1, 0, 1, 0, 1])
        >>> trace.acted.astype(int).tolist(), trace.counts.tolist()
        ([1, 0, 0, 1, 0, 1], [1, 2])
        """
        page = PegasosPage.read_data(self, X, y, sample_weight, "auto", 1.0)
        return trace(self, page, page.risk({"lam": self.lam}), indices, form, record=record)
