"""Which multiplier of a cvxpy problem goes where in its Lagrangian.

    L = ±f0 + Σ lamᵀ(lhs − rhs)   for lhs <= rhs, lam >= 0
            + Σ nuᵀ(lhs − rhs)    for lhs == rhs
            − Σ <dual, args>      for cones; SOC: ‖l_X‖ <= l_t

f0 enters as −f0 under Maximize, and the multipliers keep the signs cvxpy gives them. This sign
table exists here only; the tests hold it against every kind of constraint.

Source: Boyd & Vandenberghe (2004), Convex Optimization, sections 5.1 and 5.9.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.constraints.cones import Cone
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.zero import Equality, Zero

from kernelqp._types import Vector
from kernelqp.errors import InputError
from kernelqp.kkt import cones
from kernelqp.kkt.sweep import GradientError, Sweep, flat, quiet

__all__ = ["Lagrangian", "Term", "flat", "lagrangian"]

CONES = cp.SOC | cp.PSD | cp.ExpCone | cp.PowCone3D | cp.PowConeND
JUDGED = Inequality | NonNeg | NonPos | Equality | Zero | CONES


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A constraint with its share of the Lagrangian, Σ multiplierᵀ expression over its parts.

    Attributes
    ----------
    name : str
        What the report calls the constraint.
    constraint : cvxpy constraint
    expressions : tuple of cvxpy.Expression
        The parts: lhs − rhs, or the arguments of a cone.
    multipliers : tuple of Vector, or None
        One vector per part, in the sign it has in L, raveled in "F" order.
    missing : str
        Why `multipliers` is None; empty otherwise.
    """

    name: str
    constraint: Constraint
    expressions: tuple[cp.Expression, ...]
    multipliers: tuple[Vector, ...] | None
    missing: str

    @property
    def is_equality(self) -> bool:
        """Equalities have multipliers of either sign and nothing complementary."""
        return isinstance(self.constraint, Equality | Zero)

    @property
    def is_cone(self) -> bool:
        """Second-order, semidefinite, exponential and power cones."""
        return isinstance(self.constraint, Cone)

    @property
    def sign(self) -> float:
        """Sign in L of what cvxpy calls the dual value."""
        return -1.0 if self.is_cone or isinstance(self.constraint, NonNeg) else 1.0

    def duals(self) -> list[cones.Rows]:
        """Multipliers as cvxpy has them: its signs, its shapes."""
        pairs = zip(self.multipliers or (), self.expressions, strict=True)
        return [self.sign * np.reshape(m, e.shape, order="F") for m, e in pairs]

    def violation(self) -> Vector:
        """Distance to the constraint's set, per row or per cone."""
        if self.is_cone:
            return cones.distance(self.constraint, self._values(), dual=False)
        return np.asarray(self.constraint.residual, dtype=float)

    def dual_violation(self) -> Vector:
        """Distance of the multipliers to the dual cone, per row or per cone."""
        if self.is_cone:
            return cones.distance(self.constraint, self.duals(), dual=True)
        return np.asarray(np.maximum(-self.duals()[0], 0.0))

    def products(self) -> Vector:
        """Multiplier times residual, with L's sign, one number per row or per cone."""
        if self.is_cone:
            return self.sign * cones.products(self.constraint, self.duals(), self._values())
        return np.asarray(self.sign * self.duals()[0] * self._values()[0])

    def in_dual_cone(self) -> tuple[Vector, ...]:
        """Multipliers moved to the nearest ones of the right sign or in the dual cone."""
        if self.is_equality or self.multipliers is None:
            return self.multipliers or ()
        if not self.is_cone:
            return (self.sign * np.maximum(self.sign * self.multipliers[0], 0.0),)
        return tuple(
            -flat(part) for part in cones.nearest(self.constraint, self.duals(), dual=True)
        )

    def _values(self) -> list[cones.Rows]:
        """Return the current values of the parts."""
        return [np.reshape(flat(e.value), e.shape, order="F") for e in self.expressions]

    def __str__(self) -> str:
        if self.is_cone:
            kind = type(self.constraint).__name__
            return f"- <{self.name}, {kind}({', '.join(map(str, self.expressions))})>"
        if isinstance(self.constraint, Inequality | Equality):
            lhs, rhs = self.constraint.args
            return f"+ <{self.name}, {lhs} - ({rhs})>"
        return f"{'-' if self.sign < 0 else '+'} <{self.name}, {self.expressions[0]}>"


@dataclass(frozen=True, slots=True, eq=False)
class Lagrangian:
    """The Lagrangian of a problem with its multipliers fixed: a convex function of the variables.

    `str` shows it term by term, each constraint under its name:

    >>> x = cp.Variable(name="x")
    >>> problem = cp.Problem(cp.Maximize(-x), [x >= 1])
    >>> print(lagrangian(problem, {problem.constraints[0].id: "floor"}))
    L = -(-x) + <floor, 1.0 - (x)>

    Attributes
    ----------
    sign : float
        +1 under Minimize, −1 under Maximize.
    objective : cvxpy.Expression
        f0, as the user wrote it.
    terms : tuple of Term
        One for each constraint, in the problem's order.
    """

    sign: float
    objective: cp.Expression
    terms: tuple[Term, ...]

    @property
    def missing(self) -> str:
        """Why L cannot be written down; empty if it can."""
        return next((f"{t.name}: {t.missing}" for t in self.terms if t.missing), "")

    def pieces(self, *, clipped: bool = False) -> Iterator[tuple[cp.Expression, Vector]]:
        """Yield every expression of L with its coefficient; `clipped` drops negative lam."""
        yield self.objective, np.array([self.sign])
        for term in self.terms:
            moved = clipped and not term.is_cone
            multipliers = term.in_dual_cone() if moved else term.multipliers or ()
            yield from zip(term.expressions, multipliers, strict=False)

    @quiet()
    def value(self, *, clipped: bool = False) -> float:
        """L at the current values of the variables, in units of the objective.

        Raises
        ------
        InputError
            If a multiplier or a value is missing.
        """
        self._complete(values=True)
        return float(sum(m @ flat(e.value) for e, m in self.pieces(clipped=clipped)))

    @property
    def expression(self) -> cp.Expression:
        """L as a cvxpy expression in the problem's own variables; InputError as for `value`."""
        self._complete(values=False)
        return sum(m @ cp.vec(e, order="F") for e, m in self.pieces())

    @quiet()
    def gradient(self) -> dict[cp.Variable, cones.Rows]:
        """∂L/∂x at the current values, by variable and in its shape; at a kink one subgradient.

        Raises
        ------
        InputError
            If a multiplier or a value is missing, or there is no gradient here.
        """
        self._complete(values=True)
        pieces = list(self.pieces())
        variables = list({v: None for e, _ in pieces for v in e.variables()})
        try:
            found = Sweep().gradient(pieces, variables)
        except GradientError as error:
            raise InputError(f"the Lagrangian has no gradient here: {error}") from error
        return {v: np.reshape(g.value, v.shape, order="F") for v, g in found.items()}

    def _complete(self, *, values: bool) -> None:
        """Refuse to be evaluated without multipliers, or without values."""
        if self.missing:
            raise InputError(f"the Lagrangian needs every multiplier; {self.missing}.")
        if values and any(e.value is None for e, _ in self.pieces()):
            raise InputError("a variable or parameter has no value: solve the problem first.")

    def __str__(self) -> str:
        f0 = str(self.objective) if self.sign > 0 else f"-({self.objective})"
        return " ".join([f"L = {f0}", *map(str, self.terms)])


def lagrangian(problem: cp.Problem, names: Mapping[int, str] | None = None) -> Lagrangian:
    """Lagrangian of a solved problem, with the multipliers in cvxpy's signs.

        L(x, lam, nu) = ±f0(x) + Σ lamᵀ(lhs − rhs) + Σ nuᵀ(lhs − rhs) − Σ <dual, args of a cone>

    f0 enters as −f0 under Maximize. Attributes of variables (nonneg, bounds, PSD) are no
    constraints and have no multipliers: x stays in their sets.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem that was solved.
    names : mapping of constraint id to str, optional
        What to call the constraints; by default their label, else "constraint 0", ...

    Raises
    ------
    InputError
        If `problem` is no cvxpy.Problem.

    Source
    ------
    Boyd & Vandenberghe (2004), Convex Optimization, section 5.1.1.

    Examples
    --------
    >>> x = cp.Variable(name="x")
    >>> problem = cp.Problem(cp.Minimize(x**2), [x >= 1])
    >>> value = problem.solve(solver="CLARABEL")
    >>> L = lagrangian(problem)
    >>> round(L.value(), 6)  # equals the optimal value, by complementarity
    1.0
    >>> bool(abs(L.gradient()[x]) < 1e-6)  # and is stationary there
    True
    """
    if not isinstance(problem, cp.Problem):
        raise InputError(f"problem must be a cvxpy.Problem; got {type(problem).__name__}.")
    given = names or {}
    terms = [
        _term(c, given.get(c.id) or getattr(c, "label", None) or f"constraint {k}")
        for k, c in enumerate(problem.constraints)
    ]
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    return Lagrangian(sign, problem.objective.expr, tuple(terms))


def _term(constraint: Constraint, name: str) -> Term:
    """One constraint with its multipliers; the sign table of the module docstring."""
    if not isinstance(constraint, JUDGED):
        reason = f"unknown cone {type(constraint).__name__}"
        return Term(name, constraint, tuple(constraint.args), None, reason)
    cone = isinstance(constraint, Cone)
    expressions = tuple(constraint.args) if cone else (constraint.expr,)
    empty = Term(name, constraint, expressions, None, "the solver left no multiplier")
    values = [dual.value for dual in constraint.dual_variables]
    if any(value is None for value in values):
        return empty
    return Term(name, constraint, expressions, tuple(empty.sign * flat(v) for v in values), "")
