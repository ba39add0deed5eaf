"""The Lagrange dual function of a cvxpy problem, at any multipliers: a bound on its optimum."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kernelqp._types import Vector
from kernelqp.errors import InputError, SolverFailed
from kernelqp.kkt.attributes import JUDGED_ATTRIBUTES, attributes, value_of
from kernelqp.kkt.inner import INNER_FAILURES, smallest
from kernelqp.kkt.lagrangian import Lagrangian, Term, lagrangian
from kernelqp.kkt.sweep import flat, quiet

NEAR, FAR = 1e2, 1e4  # boxes, in units of each variable, between which a slope is measured
INNER_TOLERANCE = 1e-9

Multipliers = Mapping[Any, Any]  # a constraint, its id or its name -> one array, or a list


@quiet()
def dual_function(
    problem: cp.Problem, multipliers: Multipliers | None = None, tol: float = 1e-6
) -> float:
    """Lagrange dual function g(lam, nu): a bound on the optimal value.

        Minimize:   g(lam, nu) = inf over x of L(x, lam, nu)  <=  p*
        Maximize:   the supremum of f0 − Σ ...                >=  p*

    x runs over the sets of the variables' attributes and over the domain of L; the constraints
    count through their multipliers only. The problem need not be solved, and is not changed.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by cvxpy's rules (DCP).
    multipliers : mapping of constraint, constraint id or name to array, optional
        In cvxpy's signs and shapes (a list of arrays for cones with several arguments), as
        `constraint.dual_value` has them. Names are labels, else "constraint 0", ... Constraints
        that are not mentioned keep the multipliers of the last solve.
    tol : float, default 1e-6
        Relative size of what counts as rounding: multipliers that are outside their cone by tol
        times the largest of all are moved inside (the bound is that of the moved ones), and L is
        called unbounded only if it falls by more than tol per unit, both in the units of the last
        solve if there is one.

    Returns
    -------
    float
        −inf (Minimize) or +inf (Maximize) where L is unbounded: the bound then says nothing.

    Raises
    ------
    InputError
        For multipliers that are missing, unknown, not finite, of the wrong shape, or outside the
        dual cone, where they bound nothing; for integer, complex and non-DCP problems.
    SolverFailed
        If no inner solver finds the infimum.

    Source
    ------
    Boyd & Vandenberghe (2004), Convex Optimization, section 5.1.

    Examples
    --------
    A linear program, bounded by multipliers made up on paper, and by the best ones:

    >>> x = cp.Variable(2)
    >>> rows = x[0] + 2 * x[1] <= 4
    >>> problem = cp.Problem(cp.Maximize(x[0] + x[1]), [rows, x[0] <= 3, x >= 0])
    >>> names = ["constraint 0", "constraint 1", "constraint 2"]
    >>> round(dual_function(problem, dict(zip(names, [1.0, 0.0, [0.0, 1.0]]))), 6)
    4.0
    >>> round(dual_function(problem, dict(zip(names, [0.5, 0.5, [0.0, 0.0]]))), 6)
    3.5
    >>> value = problem.solve(solver="CLARABEL")
    >>> round(float(value), 6), round(dual_function(problem), 6)  # strong duality
    (3.5, 3.5)

    A quadratic program, g(lam) = lam − lam²/4:

    >>> x = cp.Variable()
    >>> floor = x >= 1
    >>> problem = cp.Problem(cp.Minimize(x**2), [floor])
    >>> [round(dual_function(problem, {floor: lam}), 6) for lam in (0.0, 1.0, 2.0, 3.0)]
    [0.0, 0.75, 1.0, 0.75]
    """
    _convex(problem)
    if not 0 < tol < math.inf:
        raise InputError(f"tol must be a positive finite number; got {tol!r}.")
    found = _inside(_given(lagrangian(problem), multipliers or {}), tol)
    try:
        return found.sign * _infimum(found, problem.variables(), tol)
    except INNER_FAILURES as error:
        raise SolverFailed(f"the infimum of the Lagrangian was not found: {error}") from error


def _convex(problem: object) -> None:
    """Refuse what has no Lagrange dual here."""
    if not isinstance(problem, cp.Problem):
        raise InputError(f"problem must be a cvxpy.Problem; got {type(problem).__name__}.")
    variables = problem.variables()
    if problem.is_mixed_integer():
        raise InputError("the problem has integer or boolean variables; relax them first.")
    if any(attributes(v) - JUDGED_ATTRIBUTES for v in variables) or any(
        c.is_complex() for c in problem.constraints
    ):
        raise InputError("the problem has complex variables or constraints; split them first.")
    if not problem.is_dcp():
        raise InputError("the problem is not convex by cvxpy's rules (DCP).")
    if any(p.value is None for p in problem.parameters()):
        raise InputError("a parameter has no value; set it first.")


def _given(saved: Lagrangian, multipliers: Multipliers) -> Lagrangian:
    """Put the given multipliers in place of the saved ones."""
    places = {key: k for k, t in enumerate(saved.terms) for key in (t.constraint.id, t.name)}
    terms = list(saved.terms)
    for key, value in multipliers.items():
        k = places.get(key.id if isinstance(key, Constraint) else key)
        if k is None:
            known = ", ".join(t.name for t in terms)
            raise InputError(f"no constraint {key}; the problem has {known or 'none'}.")
        terms[k] = _with(terms[k], value)
    for term in terms:
        if term.missing:
            raise InputError(f"{term.name}: {term.missing}; pass one, or solve the problem first.")
    return replace(saved, terms=tuple(terms))


def _with(term: Term, value: Any) -> Term:
    """Check the shapes of one constraint's multipliers, and put them in."""
    if term.missing.startswith("unknown"):
        raise InputError(f"{term.name}: {term.missing}.")
    many = len(term.expressions) > 1
    if many and not (isinstance(value, Sequence) and len(value) == len(term.expressions)):
        count = len(term.expressions)
        raise InputError(f"{term.name}: pass a list of {count} arrays, one for each argument.")
    parts = [np.asarray(part, dtype=float) for part in (value if many else [value])]
    for part, expression in zip(parts, term.expressions, strict=True):
        if part.shape != expression.shape and not part.size == expression.size == 1:
            shapes = f"got shape {part.shape}, the constraint has {expression.shape}"
            raise InputError(f"{term.name}: wrong shape of multipliers: {shapes}.")
        if not np.isfinite(part).all():
            raise InputError(f"{term.name}: multipliers must be finite.")
    return replace(term, multipliers=tuple(term.sign * flat(p) for p in parts), missing="")


def _inside(found: Lagrangian, tol: float) -> Lagrangian:
    """Refuse multipliers outside their cone, and move what is outside by rounding."""
    sizes = [np.max(np.abs(m), initial=0.0) for t in found.terms for m in t.multipliers or ()]
    rounding = tol * max(sizes, default=0.0)
    for term in found.terms:
        worst = 0.0 if term.is_equality else float(np.max(term.dual_violation(), initial=0.0))
        if worst > rounding:
            want = "in the dual cone" if term.is_cone else ">= 0"
            problem = f"outside by {worst:.2g}, so they bound nothing"
            raise InputError(f"{term.name}: multipliers must be {want}; they are {problem}.")
    terms = tuple(replace(t, multipliers=t.in_dual_cone()) for t in found.terms)
    return replace(found, terms=terms)


def _infimum(found: Lagrangian, variables: list[cp.Variable], tol: float) -> float:
    """Infimum of L; −inf where it falls without end by more than rounding.

    Multipliers from a solver leave slopes of 1e-9 along which L "falls without end": those are
    told from true ones by the slope between two boxes, and then the value in the smaller counts.
    """
    pieces: list[tuple[cp.Expression, Vector]] = list(found.pieces())
    units = {v: _unit(v) for v in variables}
    size = max((_size(e, m) for e, m in pieces), default=0.0) or 1.0
    least = smallest(pieces, units, size, INNER_TOLERANCE)
    if least > -math.inf:
        return least
    near, far = (
        smallest(pieces, units, size, INNER_TOLERANCE, box, centred=False) for box in (NEAR, FAR)
    )
    return -math.inf if (near - far) / (FAR - NEAR) > tol * size else near


def _unit(variable: cp.Variable) -> float:
    """Largest |entry| of the last solve, or 1."""
    value = value_of(variable)
    largest = 0.0 if value is None else float(np.max(np.abs(flat(value)), initial=0.0))
    return largest if largest > 0 and math.isfinite(largest) else 1.0


def _size(expression: cp.Expression, coefficient: Vector) -> float:
    """Size of one term of L at the last solve's values; 0 where there are none."""
    if expression.is_constant() or expression.value is None:
        return 0.0
    size = float(np.abs(coefficient) @ np.abs(flat(expression.value)))
    return size if math.isfinite(size) else 0.0
