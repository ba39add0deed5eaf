"""Three ways to judge whether x* minimises L(·, lam*).

1. The gradient of L is small: a proof, L being convex.
2. It is not, or does not exist: the localised Lagrangian gap, plus what complementarity leaves,

       L(x*, lam*) − min { L(x, lam*) : |x − x*| <= rho, x in its attribute set } + Σ |lam_k g_k|

   judged against the objective. By convexity any subgradient r bounds it from above by
   Σ |r_i| rho (one-sided where an attribute bounds x); if that bound is small already, this too
   is a proof, and free. Otherwise an inner solve finds the minimum: evidence.
3. Otherwise not judged.

A kink's `.grad` is one arbitrary subgradient, so a large one is no violation: hence way 2. rho is
twice the own scale of each variable (1 where nothing is known): a box of 2 max|x*| alone would
close around a variable that happens to be 0, and then anything passes.

Source: Boyd & Vandenberghe (2004), Convex Optimization, sections 5.5.3 and 3.1.3.
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from kernelqp._types import Vector
from kernelqp.kkt.lagrangian import Lagrangian, flat
from kernelqp.kkt.report import (
    COMPLEMENTARITY,
    EVIDENCE,
    PROOF,
    STATIONARITY,
    Condition,
    judge,
    not_judged,
)
from kernelqp.kkt.scales import Scales
from kernelqp.kkt.sweep import Gradient

BOUND_ATTRIBUTES = {"nonneg", "pos", "nonpos", "neg", "bounds"}
MATRIX_ATTRIBUTES = {"symmetric", "PSD", "NSD"}
INNER_SOLVERS = (
    ("CLARABEL", ("tol_gap_abs", "tol_gap_rel", "tol_feas")),
    ("SCS", ("eps_abs", "eps_rel")),
)
INNER_FAILURES = (  # of the solver, of DCP, and of atoms that cannot be copied, such as perspective
    cp.error.SolverError,
    cp.error.DCPError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """The gradient of L over one variable, as the variable's own set sees it.

    Attributes
    ----------
    residual : Vector
        What no attribute excuses, one number per entry.
    hidden : float
        Σ |r x|: complementarity of the multiplier an attribute hides, units of the objective.
    gap : float
        Upper bound on the localised gap over this variable, units of the objective.
    """

    residual: Vector
    hidden: float
    gap: float


def attributes(variable: cp.Variable) -> set[str]:
    """Names of the attributes that are set."""
    return {
        name
        for name, value in variable.attributes.items()
        if value is not None and value is not False
    }


def bounds(variable: cp.Variable) -> tuple[Vector, Vector]:
    """Lower and upper bounds that attributes put on a variable, raveled; ±inf where none."""
    found, shape = attributes(variable), variable.shape
    lower, upper = np.full(variable.size, -np.inf), np.full(variable.size, np.inf)
    if "bounds" in found:
        low, high = (getattr(side, "value", side) for side in variable.attributes["bounds"])
        lower, upper = (flat(np.broadcast_to(side, shape)) for side in (low, high))
    if found & {"nonneg", "pos"}:
        lower = np.maximum(lower, 0.0)
    if found & {"nonpos", "neg"}:
        upper = np.minimum(upper, 0.0)
    return lower, upper


def slope(variable: cp.Variable, r: Vector, rho: float) -> Slope:
    """Gradient r of L over one variable, split by what its attributes allow."""
    if attributes(variable) & MATRIX_ATTRIBUTES:
        return _matrix_slope(variable, r, rho)
    x, (lower, upper) = flat(variable.value), bounds(variable)
    down, up = np.maximum(r, 0.0), np.maximum(-r, 0.0)
    room_down, room_up = np.maximum(x - lower, 0.0), np.maximum(upper - x, 0.0)
    residual = down * np.isinf(lower) + up * np.isinf(upper)
    hidden = down[np.isfinite(lower)] @ room_down[np.isfinite(lower)]
    hidden += up[np.isfinite(upper)] @ room_up[np.isfinite(upper)]
    gap = down @ np.minimum(room_down, rho) + up @ np.minimum(room_up, rho)
    return Slope(residual, float(hidden), float(gap))


def _matrix_slope(variable: cp.Variable, r: Vector, rho: float) -> Slope:
    """Do the same for symmetric, PSD and NSD variables: r symmetrised, and its eigenvalues."""
    n = variable.shape[0]
    R = np.reshape(r, (n, n), order="F")
    R, X = (R + R.T) / 2, np.reshape(flat(variable.value), (n, n), order="F")
    found = attributes(variable)
    if "symmetric" in found:
        return Slope(flat(np.abs(R)), 0.0, float(np.abs(R).sum() * rho))
    signed = R if "PSD" in found else -R
    wrong = max(0.0, -float(np.linalg.eigvalsh(signed)[0]))
    hidden = abs(float(np.sum(R * X)))
    return Slope(np.array([wrong]), hidden, hidden + wrong * n * (np.abs(X).max() + rho))


def judge_stationarity(
    lagrangian: Lagrangian,
    gradient: dict[cp.Variable, Gradient] | str,
    scales: Scales,
    tol: float,
) -> list[Condition]:
    """Stationarity of every variable, by the first of the three ways that decides.

    `gradient` is the reason where there is none.
    """
    radius = {v: 2 * scale if scale > 0 else 1.0 for v, scale in scales.variables.items()}
    if isinstance(gradient, str):
        return [_gap_condition(lagrangian, list(radius), radius, scales, tol, gradient)]
    slopes = {v: slope(v, g.value, radius[v]) for v, g in gradient.items()}
    rows = {v: _by_gradient(v, slopes[v], gradient[v], scales, tol) for v in slopes}
    failed = [v for v, found in rows.items() if not all(c.holds for c in found)]
    passed = [c for found in rows.values() if all(c.holds for c in found) for c in found]
    if not failed:
        return passed
    left = leftover(lagrangian) + sum(s.gap for s in slopes.values())
    steepest = max((c for v in failed for c in rows[v]), key=lambda c: c.ratio)
    note = f"gradient of {steepest.name.split(': ')[1]}: {steepest.value:.1e}"
    if left <= tol * scales.objective:
        where = f"Lagrangian gap, bounded by the gradient; {note}"
        name = _names(failed)
        return [*passed, judge(name, STATIONARITY, left, scales.objective, tol, where, PROOF)]
    return [*passed, _gap_condition(lagrangian, failed, radius, scales, tol, note)]


def _by_gradient(
    variable: cp.Variable, found: Slope, gradient: Gradient, scales: Scales, tol: float
) -> list[Condition]:
    """Way 1: the gradient, and the complementarity of the multiplier an attribute hides."""
    name, scale = variable.name(), float(np.max(gradient.size, initial=0.0))
    place = int(np.argmax(found.residual)) if found.residual.size == variable.size > 1 else ()
    value = float(np.max(found.residual, initial=0.0))
    rows = [judge(f"stationarity: {name}", STATIONARITY, value, scale, tol, place, PROOF)]
    hiding = attributes(variable) & (BOUND_ATTRIBUTES | {"PSD", "NSD"})
    if hiding:
        title = f"complementarity: {name} ({', '.join(sorted(hiding))})"
        where = "multiplier hidden by the attribute"
        rows.append(
            judge(title, COMPLEMENTARITY, found.hidden, scales.objective, tol, where, PROOF)
        )
    return rows


def leftover(lagrangian: Lagrangian) -> float:
    """Σ |lam_k g_k| over all constraints, in units of the objective."""
    return float(sum(np.abs(term.products()).sum() for term in lagrangian.terms))


def _names(variables: list[cp.Variable]) -> str:
    return "stationarity: " + ", ".join(v.name() for v in variables)


def _gap_condition(
    lagrangian: Lagrangian,
    variables: list[cp.Variable],
    radius: dict[cp.Variable, float],
    scales: Scales,
    tol: float,
    note: str,
) -> Condition:
    """Way 2: the localised Lagrangian gap, by an inner solve."""
    name, unit = _names(variables), scales.objective
    if not unit > 0:
        return not_judged(name, STATIONARITY, f"the objective is 0, so it has no scale; {note}")
    try:
        smallest = _inner_minimum(lagrangian, radius, unit, tol)
    except INNER_FAILURES as error:
        reason = f"inner solve failed ({error}); {note}".replace("\n", " ")
        return not_judged(name, STATIONARITY, reason)
    gap = max(0.0, lagrangian.value(clipped=True) - smallest)
    where = f"Lagrangian gap, by an inner solve; {note}"
    return judge(
        name,
        STATIONARITY,
        gap + leftover(lagrangian),
        unit,
        tol,
        where,
        EVIDENCE,
        scales.objective_data,
    )


def _inner_minimum(
    lagrangian: Lagrangian, radius: dict[cp.Variable, float], unit: float, tol: float
) -> float:
    """Smallest L over the box, in the user's units.

    The tree is copied onto fresh variables x = (rho / 2) · u, so the user's values are not
    touched and the solver sees numbers near 1 whatever the units.
    """
    fresh = {v: _fresh(v, rho / 2) for v, rho in radius.items()}
    swap = {id(v): (rho / 2) * fresh[v] for v, rho in radius.items()}
    objective = sum(
        (m / unit) @ cp.vec(e.tree_copy(swap), order="F")
        for e, m in lagrangian.pieces(clipped=True)
        if not e.is_constant()
    )
    fixed = sum(m @ flat(e.value) for e, m in lagrangian.pieces(clipped=True) if e.is_constant())
    box = [cp.abs(u - v.value / (radius[v] / 2)) <= 2 for v, u in fresh.items()]
    problem = cp.Problem(cp.Minimize(objective), box)
    return float(fixed) + unit * _solve_tightly(problem, min(1e-8, max(tol / 100, 1e-11)))


def _solve_tightly(problem: cp.Problem, eps: float) -> float:
    """Optimal value from the first inner solver that gives one; the last error otherwise."""
    last: Exception = cp.error.SolverError("no inner solver is installed")
    for solver, options in INNER_SOLVERS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problem.solve(solver=solver, **dict.fromkeys(options, eps))
        except (cp.error.SolverError, ValueError) as error:
            last = error
            continue
        if problem.status in cp.settings.SOLUTION_PRESENT and np.isfinite(problem.value):
            return float(problem.value)
        last = cp.error.SolverError(f"{solver}: {problem.status}")
    raise last


def _fresh(variable: cp.Variable, scale: float) -> cp.Variable:
    """Make a variable u with the attributes of x = scale · u."""
    kept = {name: variable.attributes[name] for name in attributes(variable)}
    if "bounds" in kept:
        kept["bounds"] = [
            np.reshape(side / scale, variable.shape, "F") for side in bounds(variable)
        ]
    return cp.Variable(variable.shape, **kept)
