r"""What a method states, as trees of symbols that are read as text, as LaTeX and as numbers.

    formula.text          1/2 ‖w‖² + 10 Σ_i s_i ξ_i
    formula.latex         \frac{1}{2} \|w\|^2 + 10 \sum_{i} s_i \xi_i
    formula.at(point)     the number at w, s and ξ

One tree says all three (`RULES`), and the page is laid out once for both scripts, so that they
cannot drift apart. A quantity of row i is a column of numbers, one of row j a line of them;
k(x_i, x_j) is the matrix, and a sum keeps the axes that are not its own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from kernelqp import kernel_algebra as algebra
from kernelqp import kernels
from kernelqp.kernel_parameters import numeric_gamma

Point: TypeAlias = Mapping[str, Any]
Piece: TypeAlias = "str | Formula"
Line: TypeAlias = tuple[int, tuple[Piece, ...]]

RELATION, SUM, TOTAL, PRODUCT, POWER, ATOM = range(6)  # what binds less stands in parentheses


@dataclass(frozen=True)
class Rule:
    """How an operation is written and computed; parts below ``least`` are grouped."""

    binds: int
    text: str
    latex: str
    least: tuple[int, ...]
    compute: Callable[..., Any]
    latex_least: tuple[int, ...] = ()  # where braces or a bar do the work


def _total(rows: str) -> Rule:
    axes = tuple("ij".index(row) for row in rows)
    text, latex = f"Σ_{rows} {{0}}", rf"\sum_{{{{{','.join(rows)}}}}} {{0}}"
    return Rule(TOTAL, text, latex, (TOTAL,), lambda a: np.sum(a, axis=axes, keepdims=True))


def _cosine(K: Any) -> Any:
    return K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))


WHOLE, FLAT, CHAIN = (RELATION,), (SUM, SUM), (SUM, TOTAL)
RULES: Mapping[str, Rule] = {
    ">=": Rule(RELATION, "{0} >= {1}", r"{0} \geq {1}", FLAT, lambda a, b: b - a),
    "<=": Rule(RELATION, "{0} <= {1}", r"{0} \leq {1}", FLAT, operator.sub),
    "=": Rule(RELATION, "{0} = {1}", "{0} = {1}", FLAT, operator.sub),
    "+": Rule(SUM, "{0} + {1}", "{0} + {1}", CHAIN, operator.add),
    "-": Rule(SUM, "{0} − {1}", "{0} - {1}", CHAIN, operator.sub),
    "minus": Rule(SUM, "−{0}", "-{0}", (TOTAL,), operator.neg),
    "*": Rule(PRODUCT, "{0} {1}", "{0} {1}", (PRODUCT, TOTAL), operator.mul),
    "/": Rule(PRODUCT, "{0}/{1}", r"\frac{{{0}}}{{{1}}}", (PRODUCT, POWER), operator.truediv, FLAT),
    "^": Rule(POWER, "{0}^{1}", "{0}^{{{1}}}", (ATOM, ATOM), operator.pow, (ATOM, SUM)),
    "square": Rule(POWER, "{0}²", "{0}^2", (ATOM,), np.square),
    "i": _total("i"),
    "j": _total("j"),
    "ij": _total("ij"),
    "exp": Rule(ATOM, "exp({0})", r"\exp\left({0}\right)", WHOLE, np.exp),
    "log": Rule(ATOM, "log({0})", r"\log\left({0}\right)", WHOLE, np.log),
    "tanh": Rule(ATOM, "tanh({0})", r"\tanh\left({0}\right)", WHOLE, np.tanh),
    "root": Rule(ATOM, "√({0})", r"\sqrt{{{0}}}", WHOLE, np.sqrt),
    "cosine": Rule(ATOM, "normalize({0})", r"\mathrm{{normalize}}\left({0}\right)", WHOLE, _cosine),
}


class Formula:
    """A number, a symbol, or an operation on formulas; Python's operators build it."""

    text: str
    latex: str

    @property
    def binds(self) -> int:
        """How tightly it holds together, RELATION to ATOM."""
        return ATOM

    @property
    def rows(self) -> frozenset[str]:
        """The rows, i and j, that it is stated for."""
        return frozenset()

    def at(self, point: Point) -> Any:
        """Return the number at a point, a mapping of names to arrays."""
        raise NotImplementedError

    def __add__(self, other: Formula) -> Formula:
        return Operation("+", (self, other))

    def __sub__(self, other: Formula) -> Formula:
        return Operation("-", (self, other))

    def __neg__(self) -> Formula:
        return Operation("minus", (self,))

    def __mul__(self, other: Formula) -> Formula:
        return other if self == ONE else Operation("*", (self, other))

    def __truediv__(self, other: Formula) -> Formula:
        return Operation("/", (self, other))

    def __pow__(self, power: Formula) -> Formula:
        if power in (ONE, TWO):
            return self if power == ONE else Operation("square", (self,))
        return Operation("^", (self, power))


@dataclass(frozen=True)
class Number(Formula):
    """A number >= 0 in decimals, or as a fraction: 10, 0.1, 1/2, 17/7."""

    value: Fraction

    @property
    def _decimal(self) -> Decimal | None:
        """Its decimals; None where 1/2 or 17/7 reads better."""
        decimal = Decimal(self.value.numerator) / Decimal(self.value.denominator)
        ends = Fraction(decimal) == self.value and self.value != Fraction(1, 2)
        return decimal.normalize() if ends or self.value.denominator > 1000 else None

    @property
    def binds(self) -> int:
        """As a quotient where it is shown as one."""
        return PRODUCT if self._decimal is None else ATOM

    @property
    def text(self) -> str:  # type: ignore[override]
        """The number in full, as text."""
        if self._decimal is None:
            return str(self.value)
        plain = 1e-4 <= self.value < 1e16 or not self.value
        return f"{self._decimal:{'f' if plain else '.17g'}}"

    @property
    def latex(self) -> str:  # type: ignore[override]
        """The number in full, in LaTeX."""
        if self._decimal is None:
            return rf"\frac{{{self.value.numerator}}}{{{self.value.denominator}}}"
        shown = re.sub(r"e([+-]\d+)", lambda m: rf" \times 10^{{{int(m[1])}}}", self.text)
        return shown.removeprefix(r"1 \times ")

    def at(self, point: Point) -> Any:  # noqa: ARG002
        """Return it as a float."""
        return float(self.value)


def number(value: float | Fraction) -> Formula:
    """Return the formula of a finite number, in the decimals that Python shows."""
    exact = decimals(value)
    return Number(exact) if exact >= 0 else -Number(-exact)


def decimals(value: float | Fraction) -> Fraction:
    """Return the number that Python shows, exactly: 1/10 for 0.1.

    Examples
    --------
    >>> decimals(1.7) / (decimals(1.7) - 1)
    Fraction(17, 7)
    """
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


ZERO, ONE, TWO = Number(Fraction(0)), Number(Fraction(1)), Number(Fraction(2))
HALF = Number(Fraction(1, 2))


@dataclass(frozen=True)
class Symbol(Formula):
    """A symbol in both scripts, the rows in its subscript, and how it is read at a point."""

    text: str
    latex: str
    subscript: str
    read: Callable[[Point], Any] = field(compare=False, repr=False)

    @property
    def binds(self) -> int:
        """As a product where it is one: x'z."""
        return PRODUCT if "'" in self.text else ATOM

    @property
    def rows(self) -> frozenset[str]:
        """The rows in its subscript."""
        return frozenset(self.subscript)

    def at(self, point: Point) -> Any:
        """Return what it stands for at a point."""
        return self.read(point)


@dataclass(frozen=True)
class Operation(Formula):
    """An operation of `RULES` on formulas."""

    name: str
    parts: tuple[Formula, ...]

    @property
    def rule(self) -> Rule:
        """How it is written and computed."""
        return RULES[self.name]

    @property
    def binds(self) -> int:
        """As its rule says; a product that ends in a sum over rows, as the sum."""
        ends_in_total = self.name == "*" and self.parts[-1].binds == TOTAL
        return TOTAL if ends_in_total else self.rule.binds

    @property
    def rows(self) -> frozenset[str]:
        """The rows of its parts but those that it sums over."""
        summed = frozenset(self.name) if self.rule.binds == TOTAL else frozenset()
        return frozenset[str]().union(*(part.rows for part in self.parts)) - summed

    @property
    def text(self) -> str:  # type: ignore[override]
        """The formula as text."""
        pairs = zip(self.parts, self.rule.least, strict=True)
        shown = [p.text if p.binds >= least else f"({p.text})" for p, least in pairs]
        return self.rule.text.format(*shown)

    @property
    def latex(self) -> str:  # type: ignore[override]
        """The formula in LaTeX."""
        pairs = zip(self.parts, self.rule.latex_least or self.rule.least, strict=True)
        shown = [p.latex if p.binds >= least else rf"\left({p.latex}\right)" for p, least in pairs]
        return self.rule.latex.format(*shown)

    def at(self, point: Point) -> Any:
        """Return the number; of a relation how far it is violated, left − right for =."""
        return self.rule.compute(*(part.at(point) for part in self.parts))


def total(rows: str, term: Formula) -> Formula:
    """Return the sum over rows "i", "j" or "ij"."""
    return Operation(rows, (term,))


def relation(left: Formula, sign: str, right: Formula) -> Formula:
    """Return ``left >= right``, ``left <= right`` or ``left = right``."""
    return Operation(sign, (left, right))


XZ = Symbol("x'z", r"x^\top z", "", lambda p: p["X"] @ p["X"].T)
SQUARE = Symbol("‖x − z‖²", r"\|x - z\|^2", "", lambda p: cdist(p["X"], p["X"], "sqeuclidean"))
LENGTH = Symbol("‖x − z‖_1", r"\|x - z\|_1", "", lambda p: cdist(p["X"], p["X"], "cityblock"))
SPREAD = Symbol("(d var X)", r"d\,\mathrm{var}X", "", lambda p: 1 / numeric_gamma("scale", p["X"]))
FEATURES = Symbol("d", "d", "", lambda p: p["X"].shape[1])


def _gamma(kernel: Any) -> Formula:
    if isinstance(kernel.gamma, float):
        return number(kernel.gamma)
    return ONE / (FEATURES if kernel.gamma == "auto" else SPREAD)


def _affine(kernel: Any) -> Formula:
    scaled, constant = _gamma(kernel) * XZ, number(abs(kernel.constant))
    if not kernel.constant:
        return scaled
    return scaled + constant if kernel.constant > 0 else scaled - constant


def _series(kernel: Any) -> Formula:
    inner, terms = kernel_formula(kernel.kernel), enumerate(kernel.coefficients)
    shown = [number(a) * inner ** number(j) if j else number(a) for j, a in terms if a]
    return reduce(operator.add, shown)


def kernel_formula(kernel: Any) -> Formula:
    """Return k(x, z), whose number is the matrix of the rows ``point["X"]`` with themselves.

    A kernel that has no formula (Precomputed, a callable, a repair) shows what it is called.
    """
    if type(kernel) in KERNELS:
        return KERNELS[type(kernel)](kernel)
    name = repr(kernel)
    return Symbol(f"{name}(x, z)", rf"\text{{{escaped(name)}}}(x, z)", "", lambda p: kernel(p["X"]))


KERNELS: Mapping[type, Callable[[Any], Formula]] = {
    kernels.Linear: lambda k: XZ,  # noqa: ARG005
    kernels.Polynomial: lambda k: _affine(k) ** number(k.degree),
    kernels.Sigmoid: lambda k: Operation("tanh", (_affine(k),)),
    kernels.RBF: lambda k: Operation("exp", (-(_gamma(k) * SQUARE),)),
    kernels.Laplacian: lambda k: Operation("exp", (-(_gamma(k) * LENGTH),)),
    algebra.Sum: lambda k: kernel_formula(k.left) + kernel_formula(k.right),
    algebra.Product: lambda k: kernel_formula(k.left) * kernel_formula(k.right),
    algebra.Scaled: lambda k: number(k.scale) * kernel_formula(k.kernel),
    algebra.Power: lambda k: kernel_formula(k.kernel) ** number(k.power),
    algebra.Exponential: lambda k: Operation("exp", (kernel_formula(k.kernel),)),
    algebra.Normalized: lambda k: Operation("cosine", (kernel_formula(k.kernel),)),
    algebra.PowerSeries: _series,
}


def escaped(words: str) -> str:
    """Return words as the text of LaTeX takes them."""
    return re.sub(r"([{}_&%$#])", r"\\\1", words.replace("\\", "/"))


@dataclass(frozen=True)
class Program:
    """One side of a duality: an objective over unknowns, and constraints by name.

    ``objective.at(point)`` is its value, ``constraints[name].at(point)`` the violation by row.
    """

    sense: str
    unknowns: tuple[Symbol, ...]
    objective: Formula
    constraints: Mapping[str, Formula]

    def lines(self, side: str) -> tuple[Line, ...]:
        """Return the page, line by line."""
        over = [piece for symbol in self.unknowns for piece in (", ", symbol)][1:]
        bound: list[Line] = [
            (2, (f"{name}: ", formula, *(["  for every i"] if formula.rows else [])))
            for name, formula in self.constraints.items()
        ]
        head: list[Line] = [(0, (f"{side}: {self.sense} over ", *over)), (2, (self.objective,))]
        return (*head, *(((1, ("subject to",)), *bound) if bound else ()))


@dataclass(frozen=True)
class NoDual:
    """In place of a dual: why there is none."""

    reason: str

    def lines(self, side: str) -> tuple[Line, ...]:
        """Return one line."""
        return ((0, (f"{side}: none, {self.reason}",)),)


@dataclass(frozen=True, repr=False)
class Description:
    """What a method states with its parameter values: primal, dual, and what the symbols mean.

    ``text`` (also ``str()``) and ``latex`` are the same lines; a notebook shows the latter.
    """

    title: str
    primal: Program
    dual: Program | NoDual
    remarks: tuple[tuple[Piece, ...], ...]

    def lines(self) -> tuple[Line, ...]:
        """Return the page as lines of words and formulas, each with its depth."""
        sides = (*self.primal.lines("primal"), *self.dual.lines("dual"))
        where = ((1, remark) for remark in self.remarks)
        return ((0, (self.title,)), *sides, (0, ("where",)), *where)

    @property
    def text(self) -> str:
        """The page as plain text."""
        shown = (
            "    " * depth + "".join(p if isinstance(p, str) else p.text for p in pieces)
            for depth, pieces in self.lines()
        )
        return "\n".join(shown)

    @property
    def latex(self) -> str:
        r"""The page as a LaTeX display: \[ \begin{aligned} ... \end{aligned} \]."""
        return f"\\[\n{self._aligned}\n\\]"

    def _repr_latex_(self) -> str:
        return f"$$\n{self._aligned}\n$$"

    @property
    def _aligned(self) -> str:
        shown = (
            "&" + r"\quad " * depth + "".join(_in_latex(piece) for piece in pieces)
            for depth, pieces in self.lines()
        )
        return "\\begin{aligned}\n" + " \\\\\n".join(shown) + "\n\\end{aligned}"

    def __repr__(self) -> str:
        return self.text


def _in_latex(piece: Piece) -> str:
    return piece.latex if isinstance(piece, Formula) else rf"\text{{{escaped(piece)}}}"
