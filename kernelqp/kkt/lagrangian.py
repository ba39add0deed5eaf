"""Which multiplier of a cvxpy problem goes where in its Lagrangian.

    L = ±f0 + Σ lamᵀ(lhs − rhs)   for lhs <= rhs, lam >= 0
            + Σ nuᵀ(lhs − rhs)    for lhs == rhs
            − Σ <dual, args>      for cones; SOC: ‖l_X‖ <= l_t

f0 enters as −f0 under Maximize, and the multipliers keep the signs cvxpy gives them. This sign
table exists here only; the tests hold it against every kind of constraint.

Source: Boyd & Vandenberghe (2004), Convex Optimization, sections 5.1 and 5.9.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints.cones import Cone
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.zero import Equality, Zero

from kernelqp._types import Vector

CONES = cp.SOC | cp.PSD | cp.ExpCone
JUDGED = Inequality | NonNeg | NonPos | Equality | Zero | CONES


def flat(value: object) -> Vector:
    """Ravel in cvxpy's "F" order; shapes (), (1,) and sparse matrices alike."""
    dense = value.toarray() if isinstance(value, sp.sparray | sp.spmatrix) else value
    return np.asarray(dense, dtype=float).ravel(order="F")


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
    def is_projected_by_solver(self) -> bool:
        """Whether cvxpy finds the distance to this cone with an inner solve."""
        return isinstance(self.constraint, cp.ExpCone)

    def violation(self) -> Vector:
        """Residual of the constraint as cvxpy has it: distance to its set, per row or per cone."""
        return _residual(self.constraint)

    def dual_violation(self) -> Vector:
        """Dual residual as cvxpy has it: distance of the multipliers to the dual cone."""
        if self.is_cone:
            return _residual(self.constraint._dual_cone())
        return np.asarray(np.maximum(-np.asarray(self.constraint.dual_value, dtype=float), 0.0))

    def products(self) -> Vector:
        """Multiplier times residual, with L's sign, one number per row or per cone."""
        pairs = zip(self.multipliers or (), self.expressions, strict=True)
        parts = [multiplier * flat(expression.value) for multiplier, expression in pairs]
        if isinstance(self.constraint, cp.SOC):
            count, rows = parts[0].size, np.reshape(parts[1], self.constraint.args[1].shape, "F")
            rows = rows.T if self.constraint.axis == 0 and rows.ndim == 2 else rows
            return np.asarray(parts[0] + np.reshape(rows, (count, -1)).sum(axis=1))
        if isinstance(self.constraint, cp.PSD):
            return np.array([parts[0].sum()])
        return np.asarray(np.sum(parts, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Lagrangian:
    """The Lagrangian of a problem at the multipliers its last solve left behind.

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
            for expression, multiplier in zip(
                term.expressions, term.multipliers or (), strict=False
            ):
                yield expression, _clip(term, multiplier) if clipped else multiplier

    def value(self, *, clipped: bool = False) -> float:
        """L at the current values, in units of the objective."""
        return float(sum(m @ flat(e.value) for e, m in self.pieces(clipped=clipped)))

    @property
    def expression(self) -> cp.Expression:
        """L as a cvxpy expression in the problem's own variables."""
        return sum(m @ cp.vec(e, order="F") for e, m in self.pieces())


def _residual(constraint: Constraint) -> Vector:
    """Distance to a constraint's set; where cvxpy asks a solver, in units near 1."""
    if not isinstance(constraint, cp.ExpCone):
        with np.errstate(all="ignore"):
            return np.asarray(constraint.residual, dtype=float)
    values = [np.asarray(arg.value, dtype=float) for arg in constraint.args]
    unit = max(float(np.abs(value).max()) for value in values) or 1.0
    scaled = constraint.copy([cp.Constant(value / unit) for value in values])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(unit * scaled.residual, dtype=float)


def _clip(term: Term, multiplier: Vector) -> Vector:
    """Multipliers of inequalities without the wrong sign, so that L stays convex."""
    if term.is_equality or term.is_cone:
        return multiplier
    if isinstance(term.constraint, NonNeg):
        return np.minimum(multiplier, 0.0)
    return np.maximum(multiplier, 0.0)


def lagrangian(problem: cp.Problem, names: Mapping[int, str] | None = None) -> Lagrangian:
    """Lagrangian of a solved problem, with the multipliers in cvxpy's signs.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem that was solved.
    names : mapping of constraint id to str, optional
        What to call the constraints; by default their label, else "constraint 0", ...

    Source
    ------
    Boyd & Vandenberghe (2004), Convex Optimization, section 5.1.1.

    Examples
    --------
    >>> x = cp.Variable()
    >>> problem = cp.Problem(cp.Minimize(x**2), [x >= 1])
    >>> value = problem.solve(solver="CLARABEL")
    >>> round(lagrangian(problem).value(), 6)  # equals the optimal value, by complementarity
    1.0
    """
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
    values = [dual.value for dual in constraint.dual_variables]
    if any(value is None for value in values):
        return Term(name, constraint, expressions, None, "the solver left no multiplier")
    sign = -1.0 if cone or isinstance(constraint, NonNeg) else 1.0
    return Term(name, constraint, expressions, tuple(sign * flat(v) for v in values), "")
