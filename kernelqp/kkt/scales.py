"""What a residual is compared with, so that neither units nor repeated rows change a verdict.

* objective: sum of |terms| of f0 at the answer (a constant that is merely added left out);
* constraint: max over rows of sum |A||x| + |const|; on a single variable also |A| times that
  variable's own scale;
* a variable's own scale: max|x|, and what its constraints say it could be, (sum |A||x| + |const|)
  / sum |A|, the largest over them: an average entry, so that yᵀα = 0 says as much about each α_i
  however many there are. |const| counts in active rows only: a bound nobody meets says
  nothing. Where no active row has a constant and x is noise beside it: objective / gradient;
* multipliers: max(|lam|, objective / (constraint scale · rows), but no more than what the gradient
  would notice);
* gradient: for each variable the largest sum of its |terms|, from the sweep.

Beside each scale stands the size of the data, inactive constants included. It never accepts
anything: it only tells an answer that is 0 but for noise from a wrong one.

|lhs| and |rhs| alone would refuse nearly every dual SVM (yᵀα = 0, ξ >= 0).
"""

from dataclasses import dataclass
from typing import NamedTuple

import cvxpy as cp
import numpy as np

from kernelqp._types import Vector
from kernelqp.kkt.lagrangian import Lagrangian, Term, flat
from kernelqp.kkt.sweep import Gradient, Sweep, degrees, is_affine_tree

ACTIVE = 1e-3  # a row is active when its slack is below this share of its terms
NEGLIGIBLE = 1e-6  # of objective / gradient, below which a variable is taken to be 0


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Scales of one problem at its current values.

    Attributes
    ----------
    objective : float
        Units of f0.
    variables : dict
        Own scale by variable, units of that variable; 0 where nothing is known.
    constraints, multipliers : list of float
        One per term of the Lagrangian.
    data : list of float
        Size of each constraint's data, inactive constants included.
    objective_data : float
        What the objective could be, by the size of the data.
    has_scale : bool
        False if the problem is homogeneous: the same in every unit, so nothing is small.
    """

    objective: float
    variables: dict[cp.Variable, float]
    constraints: list[float]
    multipliers: list[float]
    data: list[float]
    objective_data: float
    has_scale: bool


def scales_of(
    lagrangian: Lagrangian, sweep: Sweep, gradient: dict[cp.Variable, Gradient] | None
) -> Scales:
    """All scales, in the order in which they build on each other."""
    objective = float(np.sum(sweep.size(lagrangian.objective, offsets=False)))
    slopes = {v: float(np.max(g.size, initial=0.0)) for v, g in (gradient or {}).items()}
    rows = [_row_sizes(term, sweep) for term in lagrangian.terms]
    variables, data = _variables(lagrangian, sweep, gradient or {}, objective)
    largest = [float(np.max(size, initial=0.0)) for size in rows]
    constraints = [
        max(size, _by_variables(term, sweep, variables))
        for term, size in zip(lagrangian.terms, largest, strict=True)
    ]
    multipliers = [
        _multiplier(term, _ratio(objective, scale * size.size), sweep, slopes)
        for term, scale, size in zip(lagrangian.terms, constraints, rows, strict=True)
    ]
    return Scales(
        objective,
        variables,
        constraints,
        multipliers,
        [
            max(size, _by_variables(term, sweep, data))
            for term, size in zip(lagrangian.terms, largest, strict=True)
        ],
        max((size * data[v] for v, size in slopes.items()), default=0.0),
        _has_scale(lagrangian, sweep),
    )


def _row_sizes(term: Term, sweep: Sweep) -> Vector:
    """Size of each row of a constraint, or one size for each cone."""
    sizes = [sweep.size(expression) for expression in term.expressions]
    if isinstance(term.constraint, cp.SOC):
        shaped = np.reshape(sizes[1], term.constraint.args[1].shape, order="F")
        norms = np.linalg.norm(np.atleast_1d(shaped), axis=term.constraint.axis)
        return np.asarray(np.maximum(sizes[0], norms))
    if isinstance(term.constraint, cp.PSD):
        n = term.constraint.args[0].shape[0]
        return np.asarray(np.reshape(sizes[0], (n, -1), order="F").sum(axis=1))
    return np.asarray(np.max(sizes, axis=0))


def _variables(
    lagrangian: Lagrangian,
    sweep: Sweep,
    gradient: dict[cp.Variable, Gradient],
    objective: float,
) -> tuple[dict[cp.Variable, float], dict[cp.Variable, float]]:
    """Own scale of every variable, and what it could be by the size of the data."""
    found: dict[cp.Variable, float] = {}
    expressions = [lagrangian.objective, *(e for t in lagrangian.terms for e in t.expressions)]
    for variable in {v: None for e in expressions for v in e.variables()}:
        found[variable] = float(np.max(np.abs(flat(variable.value)), initial=0.0))
    data, anchored = dict(found), set()
    for implied in (i for term in lagrangian.terms for i in _implied(term, sweep)):
        variable = implied.variable
        found[variable] = max(found[variable], implied.scale)
        data[variable] = max(data[variable], implied.data)
        if implied.by_constant:
            anchored.add(variable)
    for variable in set(gradient) & set(found) - anchored:
        unit = _ratio(objective, float(gradient[variable].size.sum()))
        if found[variable] <= NEGLIGIBLE * unit:
            found[variable] = unit
    return found, {v: max(size, found[v]) for v, size in data.items()}


class Implied(NamedTuple):
    """What one constraint says about the size of one variable."""

    variable: cp.Variable
    scale: float
    data: float
    by_constant: bool


def _implied(term: Term, sweep: Sweep) -> list[Implied]:
    """Sizes of its variables that a constraint implies."""
    found: list[Implied] = []
    for expression in filter(is_affine_tree, term.expressions):
        affine = sweep.affine(expression)
        constant = np.abs(affine.constant)
        total = affine.linear_size + constant
        if not term.is_equality and not term.is_cone:
            constant = constant * (np.abs(flat(expression.value)) <= ACTIVE * total)
        scale = float(np.max(affine.linear_size + constant, initial=0.0))
        data = float(np.max(total, initial=0.0))
        for variable, jacobian in affine.jacobians.items():
            weight = float(abs(jacobian).sum(axis=0).max()) if jacobian.nnz else 0.0
            if weight > 0:
                by_constant = bool(constant.any())
                found.append(Implied(variable, scale / weight, data / weight, by_constant))
    return found


def _coefficients(term: Term, sweep: Sweep) -> dict[cp.Variable, float]:
    """Largest |coefficient| of each variable in an affine constraint."""
    found: dict[cp.Variable, float] = {}
    for expression in filter(is_affine_tree, term.expressions):
        for variable, jacobian in sweep.affine(expression).jacobians.items():
            largest = float(abs(jacobian).max()) if jacobian.nnz else 0.0
            found[variable] = max(found.get(variable, 0.0), largest)
    return {v: largest for v, largest in found.items() if largest > 0}


def _by_variables(term: Term, sweep: Sweep, variables: dict[cp.Variable, float]) -> float:
    """Return |A| times the own scale of the variables, where a constraint has no size of its own.

    That is a constraint on one variable (ξ >= 0), or on several without a constant (x <= t), where
    the smallest counts.
    """
    affine = [sweep.affine(e) for e in term.expressions if is_affine_tree(e)]
    coefficients = _coefficients(term, sweep)
    if len(coefficients) > 1 and any(a.constant.any() for a in affine):
        return 0.0
    return min((a * variables[v] for v, a in coefficients.items()), default=0.0)


def _ratio(size: float, unit: float) -> float:
    return size / unit if unit > 0 else 0.0


def _multiplier(term: Term, scale: float, sweep: Sweep, slopes: dict[cp.Variable, float]) -> float:
    """Size of the multipliers; `scale` is per row, so that repeated rows change nothing."""
    sizes = [np.max(np.abs(multiplier), initial=0.0) for multiplier in term.multipliers or ()]
    noticed = [slopes[v] / a for v, a in _coefficients(term, sweep).items() if v in slopes]
    return max(float(max(sizes, default=0.0)), min(scale, max(noticed, default=scale)))


def _has_scale(lagrangian: Lagrangian, sweep: Sweep) -> bool:
    """Whether objective and constraints hold more than one degree of homogeneity."""
    found = degrees(lagrangian.objective, sweep)
    for term in lagrangian.terms:
        for expression in term.expressions:
            if not is_affine_tree(expression):
                found |= degrees(expression, sweep) | {0.0}
            elif sweep.affine(expression).constant.any():
                found.add(0.0)
    return len(found) > 1
