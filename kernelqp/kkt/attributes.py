"""What the attributes of a cvxpy variable demand, and the multipliers they hide.

nonneg, nonpos, pos, neg and bounds are constraints without multipliers: with r the gradient of L,
r itself is the multiplier, so r >= 0 is asked for where only a lower bound exists, and r (x − l)
= 0. PSD asks for R >= 0 and <R, X> = 0 with R the symmetric part. diag and sparsity fix entries at
0, where the gradient may be anything.

Open sets (pos, neg) count as closed, as solvers take them.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kernelqp._types import Vector
from kernelqp.kkt.cones import Rows
from kernelqp.kkt.sweep import flat

BOUND_ATTRIBUTES = {"nonneg", "pos", "nonpos", "neg", "bounds"}
SEMIDEFINITE = {"PSD", "NSD"}
MATRIX_ATTRIBUTES = {"symmetric"} | SEMIDEFINITE
FIXING_ATTRIBUTES = {"diag", "sparsity"}
JUDGED_ATTRIBUTES = (
    BOUND_ATTRIBUTES | MATRIX_ATTRIBUTES | FIXING_ATTRIBUTES | {"boolean", "integer"}
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


def value_of(variable: cp.Variable) -> object:
    """Value without cvxpy's warning about sparse variables."""
    return variable.value_sparse if variable.sparse_idx is not None else variable.value


def bounds(variable: cp.Variable) -> tuple[Vector, Vector]:
    """Lower and upper bounds that attributes put on a variable, raveled; ±inf where none."""
    found, shape = attributes(variable), variable.shape
    lower, upper = np.full(variable.size, -np.inf), np.full(variable.size, np.inf)
    if "bounds" in found:
        lower, upper = (
            flat(np.broadcast_to(_dense(side), shape)) for side in variable.attributes["bounds"]
        )
    if found & {"nonneg", "pos"}:
        lower = np.maximum(lower, 0.0)
    if found & {"nonpos", "neg"}:
        upper = np.minimum(upper, 0.0)
    return lower, upper


def _dense(side: object) -> Rows:
    """One side of `bounds`: a number, an array, a sparse array or an expression."""
    value = getattr(side, "value", side)
    dense = value.toarray() if isinstance(value, sp.sparray | sp.spmatrix) else value
    return np.asarray(dense, dtype=float)


def is_cone(variable: cp.Variable) -> bool:
    """Whether the set of the attributes is a cone; a bound that is not 0 makes it none."""
    return all(set(np.abs(side)) <= {0.0, np.inf} for side in bounds(variable))


def outside(variable: cp.Variable) -> Vector:
    """How far each entry is outside its attributes' set; for PSD also the eigenvalue below 0."""
    x, (lower, upper) = flat(value_of(variable)), bounds(variable)
    found = attributes(variable)
    distance = np.maximum(np.maximum(lower - x, x - upper), 0.0)
    distance = np.maximum(distance, np.abs(x) * ~_free(variable))
    if found & MATRIX_ATTRIBUTES:
        X = _matrices(variable, x)
        distance = np.maximum(distance, np.abs(flat(X - np.swapaxes(X, -1, -2))))
        if found & SEMIDEFINITE:
            signed = X if "PSD" in found else -X
            lowest = np.linalg.eigvalsh((signed + np.swapaxes(signed, -1, -2)) / 2)[..., 0]
            distance = np.maximum(distance, -float(lowest.min()))
    return np.asarray(distance)


def _free(variable: cp.Variable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Entries that diag and sparsity leave free, raveled."""
    free = np.ones(variable.shape, dtype=bool)
    if "diag" in attributes(variable):
        free = np.eye(variable.shape[0], dtype=bool)
    if variable.sparse_idx is not None:
        free = np.zeros(variable.shape, dtype=bool)
        free[tuple(variable.sparse_idx)] = True
    return free.ravel(order="F")


def _matrices(variable: cp.Variable, x: Vector) -> Rows:
    return np.asarray(np.reshape(x, variable.shape, order="F"))


def slope(variable: cp.Variable, r: Vector, rho: float) -> Slope:
    """Gradient r of L over one variable, split by what its attributes allow."""
    found = attributes(variable)
    if found & SEMIDEFINITE:
        return _semidefinite_slope(variable, r, rho)
    if "symmetric" in found:
        R = _matrices(variable, r)
        r = flat((R + np.swapaxes(R, -1, -2)) / 2)
    r = r * _free(variable)
    x, (lower, upper) = flat(value_of(variable)), bounds(variable)
    down, up = np.maximum(r, 0.0), np.maximum(-r, 0.0)
    room_down, room_up = np.maximum(x - lower, 0.0), np.maximum(upper - x, 0.0)
    residual = down * np.isinf(lower) + up * np.isinf(upper)
    hidden = down[np.isfinite(lower)] @ room_down[np.isfinite(lower)]
    hidden += up[np.isfinite(upper)] @ room_up[np.isfinite(upper)]
    gap = down @ np.minimum(room_down, rho) + up @ np.minimum(room_up, rho)
    return Slope(residual, float(hidden), float(gap))


def _semidefinite_slope(variable: cp.Variable, r: Vector, rho: float) -> Slope:
    """PSD and NSD: r symmetrised, and its eigenvalues."""
    R, X = _matrices(variable, r), _matrices(variable, flat(value_of(variable)))
    R = (R + np.swapaxes(R, -1, -2)) / 2
    signed = R if "PSD" in attributes(variable) else -R
    wrong = np.maximum(0.0, -np.linalg.eigvalsh(signed)[..., 0])
    hidden = float(np.abs((R * X).sum(axis=(-2, -1))).sum())
    reach = variable.shape[-1] * (np.abs(X).max() + rho)
    return Slope(np.atleast_1d(wrong), hidden, hidden + float(wrong.sum()) * reach)
