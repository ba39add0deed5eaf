"""What every method does alike: primal, dual, and solve, which chooses between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kernelqp.arrays import length_of
from kernelqp.description import (
    ATOM,
    HALF,
    ONE,
    TWO,
    ZERO,
    Formula,
    Symbol,
    kernel_formula,
    number,
    relation,
    total,
)
from kernelqp.errors import ParameterError
from kernelqp.kernels import Linear
from kernelqp.threads import threads_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from kernelqp._types import Vector
    from kernelqp.description import Description, Piece, Point
    from kernelqp.formulation import Formulation
    from kernelqp.kernels import Kernel
    from kernelqp.solution import Infeasible, Solution

INTERCEPTS = ("free", "penalized", "none")


class Method:
    """A textbook method; subclasses state its primal and its dual."""

    kernel: Any
    few_support_vectors: ClassVar[bool] = False  # whether rows of K may never be asked for

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal as a cvxpy problem; the forms are the method's own."""
        raise NotImplementedError

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual as a cvxpy problem."""
        raise NotImplementedError

    def describe(self, form: str = "auto") -> Description:
        """Return the primal, in a form as for :meth:`primal`, and the dual as text and LaTeX."""
        raise NotImplementedError

    def has_explicit_features(self) -> bool:
        """Whether f can be written in weights w: the kernel has explicit features."""
        return explicit(self.kernel)

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
        """Solve and certify: the primal in weights where features are explicit, else the dual.

        Where our own solvers certify the answer, no cvxpy problem is built.

        Parameters
        ----------
        X : array, shape (n, d), or (n, n) for a precomputed kernel
        y : array, shape (n,)
        sample_weight : array, shape (n,), optional
            Rows of weight 0 leave the problem.
        form : str
            "auto", "primal", "dual", or a form of the primal ("weights", "coefficients").
        solver, tol, **options
            As for :meth:`kernelqp.formulation.Formulation.solve`.

        Raises
        ------
        InputError
            If something passed in cannot be used; never for what the data are.
        SolverError
            If the solver is not installed, or failed without an answer.
        """
        if form == "auto":
            form = "primal" if self.has_explicit_features() else "dual"
        with threads_for(length_of(X)):
            if form == "dual":
                formulation = self.dual(X, y, sample_weight)
            else:
                wanted = "auto" if form == "primal" else form
                formulation = self.primal(X, y, sample_weight, form=wanted)
            return formulation.solve(solver=solver, tol=tol, **options)


def positive(name: str, value: Any, remedy: str = "") -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and > 0.

    ``remedy`` is what to do instead of an infinite value.
    """
    number = _number(name, value)
    if not (number > 0 and math.isfinite(number)):
        hint = remedy if number == math.inf else ""
        raise ParameterError(f"{name} must be a finite number > 0; got {value!r}{hint}")
    return number


def positive_or_inf(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is > 0; inf may be."""
    number = _number(name, value)
    if not number > 0:
        raise ParameterError(f"{name} must be a number > 0, inf for no penalty; got {value!r}")
    return number


def not_negative(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and >= 0."""
    number = _number(name, value)
    if not (number >= 0 and math.isfinite(number)):
        raise ParameterError(f"{name} must be a finite number >= 0; got {value!r}")
    return number


def between(name: str, value: Any, low: float, high: float) -> float:
    """Return ``value`` as a float, or raise ParameterError unless low < value < high."""
    number = _number(name, value)
    if not low < number < high:
        raise ParameterError(f"{name} must lie between {low:g} and {high:g}; got {value!r}")
    return number


def at_least_one(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and >= 1."""
    number = _number(name, value)
    if not (number >= 1 and math.isfinite(number)):
        raise ParameterError(f"{name} must be a finite number >= 1; got {value!r}")
    return number


def grid(name: str, values: Any) -> Vector:
    """Return ``values`` as a vector of finite numbers >= 0, or raise ParameterError."""
    try:
        found = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([np.nan])
    good = np.isfinite(found) & (found >= 0)
    if found.ndim != 1 or found.size == 0 or not good.all():
        raise ParameterError(f"{name} must be a vector of finite numbers >= 0; got {values!r}")
    return found


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value``, or raise ParameterError unless it is one of the names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, names))}; got {value!r}")
    return value


def _number(name: str, value: Any) -> float:
    import numbers

    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(
            f"{name} must be a number; got {value!r} of type {type(value).__name__}"
        )
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(f"{name} is too large for a float; got {value!r}") from None


LETTERS = {
    "alpha": ("α", r"\alpha"),
    "alpha_star": ("α*", r"{\alpha^*}"),
    "beta": ("β", r"\beta"),
    "delta": ("δ", r"\delta"),
    "epsilon": ("ε", r"\epsilon"),
    "nu": ("ν", r"\nu"),
    "rho": ("ρ", r"\rho"),
    "tau": ("τ", r"\tau"),
    "xi": ("ξ", r"\xi"),
    "xi_star": ("ξ*", r"{\xi^*}"),
}


def scalar(name: str) -> Symbol:
    """Return the symbol of a number, or of a vector as a whole: b, M, w, α."""
    text, latex = LETTERS.get(name, (name, name))
    return Symbol(text, latex, "", lambda point: point[name])


def row(name: str, index: str = "i") -> Symbol:
    """Return the symbol of a vector at row i or j: α_i, y_j."""
    text, latex = LETTERS.get(name, (name, name))
    shape = (-1, 1) if index == "i" else (1, -1)
    return Symbol(
        f"{text}_{index}", f"{latex}_{index}", index, lambda point: np.reshape(point[name], shape)
    )


def gram(intercept: str) -> Formula:
    """Return k(x_i, x_j), and + 1 where the intercept is penalised."""
    shown = "k(x_i, x_j)"
    kernel = Symbol(shown, shown, "ij", lambda point: point["K"])
    return kernel + ONE if intercept == "penalized" else kernel


def _inner(point: Point) -> Any:
    return np.reshape(point["X"] @ point["w"], (-1, 1))


@dataclass(frozen=True)
class Machine:
    """f + b on paper: unknowns, ‖f‖² (with b² where penalised), f(x_i) + b, extra constraints.

    The names are those of :meth:`kernelqp.methods.page.KernelPage.machine`.
    """

    unknowns: tuple[Symbol, ...]
    norm2: Formula
    values: Formula
    extra: Mapping[str, Formula]

    @classmethod
    def of(cls, kernel: Kernel, intercept: str, form: str) -> Machine:
        """Return the machine in "weights" or "coefficients"."""
        extra: dict[str, Formula] = {}
        if form == "weights":
            plain = isinstance(kernel, Linear)
            text, latex = ("x_i", "x_i") if plain else ("φ(x_i)", r"\phi(x_i)")
            values: Formula = Symbol(f"w'{text}", rf"w^\top {latex}", "i", _inner)
            name = "w"
            norm2: Formula = Symbol("‖w‖²", r"\|w\|^2", "", lambda p: p["w"] @ p["w"])
        else:
            name, k, beta_j = "beta", gram("free"), row("beta", "j")
            values, norm2 = total("j", beta_j * k), total("ij", row("beta") * beta_j * k)
        if intercept == "none":
            return cls((scalar(name),), norm2, values, extra)
        b = scalar("b")
        if intercept == "penalized":
            norm2 = norm2 + b**TWO
            if form != "weights":
                extra["intercept"] = relation(b, "=", total("i", row("beta")))
        return cls((scalar(name), b), norm2, values + b, extra)


def explicit(kernel: Kernel) -> bool:
    """Whether a kernel has explicit features."""
    return kernel.features(np.zeros((1, 1))) is not None


def stated_form(kernel: Kernel, form: str, allowed: tuple[str, ...]) -> str:
    """Return the form that a description is asked for; "auto" is that of the page.

    Raises
    ------
    ParameterError
        If it is not allowed, or is "weights" where the kernel has no explicit features.
    """
    chosen = one_of("form", form, ("auto", *allowed))
    if chosen == "weights" and not explicit(kernel):
        raise ParameterError(
            f"form 'weights' needs explicit features, and {kernel!r} has none: "
            f"use form='coefficients'"
        )
    return ("weights" if explicit(kernel) else "coefficients") if chosen == "auto" else chosen


def meanings(kernel: Kernel, intercept: str) -> tuple[tuple[Piece, ...], ...]:
    """Return what a description says of the intercept and of the kernel."""
    symbol = Symbol("k(x, z)", "k(x, z)", "", lambda point: kernel.bind(point["X"])(point["X"]))
    said = {
        "free": (scalar("b"), " is a free intercept: it costs nothing"),
        "penalized": ("the intercept ", scalar("b"), " is penalised, as a feature of constant 1"),
        "none": ("there is no intercept",),
    }
    return said[intercept], (relation(symbol, "=", kernel_formula(kernel)),)


SIGNS: tuple[Piece, ...] = (row("y"), " is +1 for the greater label and -1 for the other")
MARGIN_BALANCE = relation(total("i", row("alpha") * row("y")), "=", ZERO)
WEIGHT = Symbol("S", "S", "", lambda point: np.sum(point["s"]))
SHARE_OF_WEIGHT: tuple[Piece, ...] = (
    row("s"),
    " is the sample weight, ",
    WEIGHT,
    " the sum of all",
)


def over_weight(value: Fraction, factor: Formula = ONE) -> Formula:
    """Return c/S, or c · factor/S, for c > 0; 3/(2 S) where c is shown as a fraction."""
    whole = number(value).binds == ATOM
    top, bottom = (value, 1) if whole else (value.numerator, value.denominator)
    over = number(top) if factor == ONE else number(top) * factor
    return over / (number(bottom) * WEIGHT)


def dual_margin_gain(intercept: str) -> Formula:
    """Return Σ α_i − 1/2 Σ α_i α_j y_i y_j k(x_i, x_j), with k + 1 for a penalised intercept."""
    return total("i", row("alpha")) - HALF * dual_margin_norm2(intercept)


def dual_margin_norm2(intercept: str) -> Formula:
    """Return Σ α_i α_j y_i y_j k(x_i, x_j), with k + 1 for a penalised intercept."""
    pairs = row("alpha") * row("alpha", "j") * row("y") * row("y", "j") * gram(intercept)
    return total("ij", pairs)


def whole_number(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int, or raise ParameterError unless it is whole and >= ``least``."""
    import numbers

    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number >= {least}; got {value!r}")
    return int(value)


def not_free(intercept: Any, remedy: str) -> str:
    """Return "none" or "penalized"; "free" is refused with the method that has it."""
    if intercept == "free":
        raise ParameterError(
            f"intercept='free' is not what this algorithm solves: take 'penalized' (a feature of "
            f"constant 1) or 'none', or {remedy}"
        )
    return one_of("intercept", intercept, ("penalized", "none"))


def no_options(options: Mapping[str, Any], who: str) -> None:
    """Raise ParameterError if there are options although no solver was named."""
    if options:
        names = ", ".join(map(repr, options))
        raise ParameterError(f"{who} takes no options; got {names}: name a solver to pass them to")
