"""What a residual is compared with, so that neither units nor repeated rows change a verdict.

* objective: sum of |terms| of f0 at the answer (a constant that is merely added left out); of a
  quadratic program over a cone, whose optimum may be 0, at least L²/S with L and S the sizes of
  its linear and quadratic terms: four times what f0 can fall along the ray through x, however
  small x is, and 2 L at any optimum but 0;
* constraint: max over rows of sum |A||x| + |const|; on a single variable also |A| times that
  variable's own scale;
* a variable's own scale: max|x|, and what its constraints say it could be, (sum |A||x| + |const|)
  / sum |A|, the largest over them: an average entry, so that yᵀα = 0 says as much about each α_i
  however many there are. |const| counts in active rows only: a bound nobody meets says
  nothing. Where no active row has a constant and x is noise beside it: objective / gradient;
* multipliers: max(|lam|, objective / (constraint scale · rows), but no more than what the gradient
  would notice);
* gradient: for each variable the largest sum of its |terms|, from the sweep.

Beside each scale stands a noise, a share of the size of the data, inactive constants included. It
never accepts anything: it only tells an answer that is 0 but for noise from a wrong one.

|lhs| and |rhs| alone would refuse nearly every dual SVM (yᵀα = 0, ξ >= 0).
"""

from dataclasses import dataclass
from typing import NamedTuple

import cvxpy as cp
import numpy as np

from kernelqp._types import Vector
from kernelqp.kkt.attributes import is_cone, value_of
from kernelqp.kkt.cones import rows_of
from kernelqp.kkt.lagrangian import Lagrangian, Term
from kernelqp.kkt.sweep import Gradient, Sweep, degrees, flat, is_affine_tree, sizes_by_degree

ACTIVE = 1e-3  # a row is active when its slack is below this share of its terms
NOISE = 1e-8  # of the size of the data, what solvers leave however small tol is
NEGLIGIBLE = 1e-6  # of objective / gradient, below which a variable is taken to be 0
NO_SCALE = "optimum 0 and no data: the problem is the same in every unit, so nothing is small"
NO_OBJECTIVE = "the objective is constant, so multipliers have no scale"


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
    noise, multiplier_noise : list of float
        Where a residual of a constraint, or of its multipliers, is 0 as far as can be told.
    objective_noise : float
        The same in units of f0.
    no_scale, no_primal_scale : str
        Why nothing is small, in the whole problem and among the constraints alone: where all terms
        are of one degree, the problem is the same in every unit. Empty where there are scales.
    """

    objective: float
    variables: dict[cp.Variable, float]
    constraints: list[float]
    multipliers: list[float]
    noise: list[float]
    multiplier_noise: list[float]
    objective_noise: float
    no_scale: str
    no_primal_scale: str


def scales_of(
    lagrangian: Lagrangian,
    sweep: Sweep,
    gradient: dict[cp.Variable, Gradient] | None,
    tol: float,
) -> Scales:
    """All scales, in the order in which they build on each other."""
    degree, rows_degree = _degrees(lagrangian, sweep)
    objective = float(np.sum(sweep.size(lagrangian.objective, offsets=False)))
    cone_qp = _cone_qp(lagrangian, sweep) if degree == {1.0, 2.0} and rows_degree <= {1.0} else 0.0
    objective, negligible = max(objective, cone_qp), np.inf if cone_qp else NEGLIGIBLE
    slopes = {v: float(np.max(g.size, initial=0.0)) for v, g in (gradient or {}).items()}
    variables, data = _variables(lagrangian, sweep, gradient or {}, objective, negligible)
    objective_data = max((size * data[v] for v, size in slopes.items()), default=0.0)
    here = _by_constraint(lagrangian, sweep, variables, slopes, objective)
    there = _by_constraint(lagrangian, sweep, data, slopes, objective_data)
    share = _noise(lagrangian, data, tol)
    same = NO_SCALE * (len(degree | rows_degree) < 2)
    return Scales(
        objective,
        variables,
        *here,
        [share * size for size in there[0]],
        [share * size for size in there[1]],
        share * objective_data,
        NO_OBJECTIVE if lagrangian.objective.is_constant() else same,
        same,
    )


def _by_constraint(
    lagrangian: Lagrangian,
    sweep: Sweep,
    variables: dict[cp.Variable, float],
    slopes: dict[cp.Variable, float],
    objective: float,
) -> tuple[list[float], list[float]]:
    """Scale of each constraint and of its multipliers, for variables and an objective so large."""
    constraints, multipliers = [], []
    for term in lagrangian.terms:
        rows = _row_sizes(term, sweep)
        scale = max(float(np.max(rows, initial=0.0)), _by_variables(term, sweep, variables))
        constraints.append(scale)
        per_row = _ratio(objective, scale * rows.size)
        multipliers.append(_multiplier(term, per_row, sweep, slopes))
    return constraints, multipliers


def _noise(lagrangian: Lagrangian, data: dict[cp.Variable, float], tol: float) -> float:
    """Share of the data that counts as 0: NOISE, or tol where f0 depends on nothing larger.

    Data are the size of an average entry, so they are compared with one.
    """
    variables = lagrangian.objective.variables()
    small = all(np.abs(flat(value_of(v))).mean() <= tol * data[v] for v in variables)
    return max(NOISE, tol) if small else NOISE


def _cone_qp(lagrangian: Lagrangian, sweep: Sweep) -> float:
    """L²/S, what a quadratic objective without constants can be along the ray through x."""
    sizes = sizes_by_degree(lagrangian.objective, sweep)
    linear, quadratic = (float(np.sum(sizes.get(degree, 0.0))) for degree in (1.0, 2.0))
    return linear * (linear / quadratic) if quadratic > 0 else 0.0


def _row_sizes(term: Term, sweep: Sweep) -> Vector:
    """Size of each row of a constraint, or one size for each cone."""
    sizes = [sweep.size(expression) for expression in term.expressions]
    shaped = [
        np.reshape(size, e.shape, order="F")
        for size, e in zip(sizes, term.expressions, strict=True)
    ]
    if isinstance(term.constraint, cp.PSD):
        return flat(shaped[0].sum(axis=-1))
    if not term.is_cone:
        return sizes[0]
    rows = rows_of(term.constraint, shaped)
    if isinstance(term.constraint, cp.SOC):
        return np.asarray(np.maximum(rows[:, 0], np.linalg.norm(rows[:, 1:], axis=1)))
    return np.asarray(rows.max(axis=1))


def _variables(
    lagrangian: Lagrangian,
    sweep: Sweep,
    gradient: dict[cp.Variable, Gradient],
    objective: float,
    negligible: float,
) -> tuple[dict[cp.Variable, float], dict[cp.Variable, float]]:
    """Own scale of every variable, and what it could be by the size of the data."""
    found: dict[cp.Variable, float] = {}
    expressions = [lagrangian.objective, *(e for t in lagrangian.terms for e in t.expressions)]
    for variable in {v: None for e in expressions for v in e.variables()}:
        found[variable] = float(np.max(np.abs(flat(value_of(variable))), initial=0.0))
    data, anchored = dict(found), set()
    for implied in (i for term in lagrangian.terms for i in _implied(term, sweep)):
        variable = implied.variable
        found[variable] = max(found[variable], implied.scale)
        data[variable] = max(data[variable], implied.data)
        if implied.by_constant:
            anchored.add(variable)
    for variable in set(gradient) & set(found) - anchored:
        unit = _ratio(objective, float(gradient[variable].size.sum()))
        if found[variable] <= negligible * unit:
            found[variable] = max(found[variable], unit)
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


def _degrees(lagrangian: Lagrangian, sweep: Sweep) -> tuple[set[float], set[float]]:
    """Degrees of homogeneity in the objective, and in the constraints and attributes."""
    found: set[float] = set()
    for expression in (e for term in lagrangian.terms for e in term.expressions):
        found |= degrees(expression, sweep)
        if not is_affine_tree(expression) or sweep.affine(expression).constant.any():
            found.add(0.0)
    expressions = [lagrangian.objective, *(e for t in lagrangian.terms for e in t.expressions)]
    for variable in {v for e in expressions for v in e.variables()}:
        if not is_cone(variable):
            found |= {0.0, 1.0}
    return degrees(lagrangian.objective, sweep), found
