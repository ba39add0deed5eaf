"""Minimise a Lagrangian over its variables, without touching the problem it belongs to.

The tree is copied onto fresh variables x = unit · u that carry the same attributes, so the user's
values stay, and the solver sees numbers near 1 whatever the units.
"""

import warnings
from collections.abc import Iterable, Mapping

import cvxpy as cp
import numpy as np

from kernelqp._types import Vector
from kernelqp.kkt.attributes import attributes, bounds, value_of
from kernelqp.kkt.sweep import flat

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
ANSWERS = (*cp.settings.SOLUTION_PRESENT, cp.settings.UNBOUNDED)


def smallest(
    pieces: Iterable[tuple[cp.Expression, Vector]],
    units: Mapping[cp.Variable, float],
    size: float,
    eps: float,
    box: float = np.inf,
    *,
    centred: bool = True,
) -> float:
    """Smallest Σ coefficientᵀ expression over the variables' attribute sets; −inf if unbounded.

    Parameters
    ----------
    pieces : expressions with their coefficients
    units : unit of each variable
    size : float
        Unit of the sum.
    eps : float
        The solver's tolerance, relative to `size`.
    box : float, default inf
        How far from its value (from 0 if not `centred`) a variable may go, in its units.

    Raises
    ------
    cvxpy.error.SolverError
        If no solver finds a minimum; and what cvxpy raises on trees it cannot copy or solve.
    """
    fresh = {v: _fresh(v, unit) for v, unit in units.items()}
    swap = {id(v): unit * fresh[v] for v, unit in units.items()}
    varying = [(e, m) for e, m in pieces if not e.is_constant()]
    fixed = sum(float(m @ flat(e.value)) for e, m in pieces if e.is_constant())
    objective = sum((m / size) @ cp.vec(e.tree_copy(swap), order="F") for e, m in varying)
    walls = []
    if np.isfinite(box):
        centres = {v: flat(value_of(v)) / units[v] if centred else 0.0 for v in fresh}
        walls = [cp.abs(cp.vec(u, order="F") - centres[v]) <= box for v, u in fresh.items()]
    return fixed + size * _solve_tightly(cp.Problem(cp.Minimize(objective), walls), eps)


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
        if problem.status in ANSWERS and not np.isnan(problem.value):
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
