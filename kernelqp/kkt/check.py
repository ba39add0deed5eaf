"""KKT report of any solved cvxpy problem."""

import math
from collections.abc import Mapping

import cvxpy as cp
import numpy as np

from kernelqp.errors import InputError
from kernelqp.kkt.attributes import JUDGED_ATTRIBUTES, attributes, outside, value_of
from kernelqp.kkt.lagrangian import Lagrangian, Term, lagrangian
from kernelqp.kkt.report import (
    COMPLEMENTARITY,
    DUAL,
    KINDS,
    NOT_JUDGED,
    PRIMAL,
    PROOF,
    STATIONARITY,
    Condition,
    KKTReport,
    Place,
    judge,
    not_judged,
)
from kernelqp.kkt.scales import Scales, scales_of
from kernelqp.kkt.stationarity import judge_stationarity
from kernelqp.kkt.sweep import Gradient, GradientError, Sweep, flat, quiet

NUMBERS = (int, float, np.floating, np.integer)
PRIMAL_ATTRIBUTES = JUDGED_ATTRIBUTES - {"boolean", "integer"}
SAME_VALUE = 1e-9  # of the size of the objective; beyond, the answer was changed since the solve


@quiet()
def check_problem(
    problem: cp.Problem, tol: float = 1e-6, names: Mapping[int, str] | None = None
) -> KKTReport:
    """Judge the KKT conditions of a solved problem by its own constraints and multipliers.

        primal feasibility   x in the set of each constraint           violation
        dual feasibility     lam >= 0, or in the dual cone             dual violation
        complementarity      Σ |lam_i g_i(x)| = 0
        stationarity         0 in ∂_x L(x, lam)

    Each residual is compared with tol times a scale made of the terms that cancel in it, so
    units and repeated rows do not change the verdict. Nothing is taken from the solver but the
    numbers: its status is not looked at. The values of the problem are not changed.

    Parameters
    ----------
    problem : cvxpy.Problem
        Solved by cvxpy, or written back with `problem.unpack`.
    tol : float, default 1e-6
        Relative tolerance, dimensionless, > 0.
    names : mapping of constraint id to str, optional
        What to call the constraints; by default their label, else "constraint 0", ...

    Returns
    -------
    KKTReport
        Conditions that cannot be judged say why, and then the report does not hold.

    Raises
    ------
    InputError
        If `problem` is no cvxpy.Problem, or `tol` no positive finite number.

    Source
    ------
    Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(name="x")
    >>> cap = x <= 1
    >>> problem = cp.Problem(cp.Minimize((x - 3) ** 2), [cap])
    >>> value = problem.solve(solver="CLARABEL")
    >>> report = check_problem(problem, names={cap.id: "cap"})
    >>> report.holds, [condition.name for condition in report.conditions]  # doctest: +ELLIPSIS
    (True, ['primal feasibility: cap', ..., 'complementarity: cap', 'stationarity: x'])
    """
    tol = _checked(problem, tol)
    reason = _unreadable(problem)
    if reason:
        return _nothing_judged(reason, tol)
    found, sweep = lagrangian(problem, names), Sweep()
    try:
        gradient: dict[cp.Variable, Gradient] | str = _gradient(found, problem, sweep)
        scales = scales_of(found, sweep, None if isinstance(gradient, str) else gradient, tol)
    except GradientError as error:
        return _nothing_judged(f"a constraint or the objective has no scale here: {error}", tol)
    if not _unchanged(problem, scales):
        reason = "the values were changed since the solve (problem.value != objective.value)"
        return _nothing_judged(reason, tol)
    conditions = [*_primal(found, problem, scales, tol), *_multipliers(found, scales, tol)]
    blocked = _not_convex(problem) or found.missing
    if blocked:
        conditions.append(not_judged("stationarity", STATIONARITY, blocked))
    else:
        conditions += judge_stationarity(found, gradient, scales, tol)
    conditions.sort(key=lambda condition: KINDS.index(condition.kind))
    return KKTReport(tuple(_without_scale(c, scales) for c in conditions), tol)


def _checked(problem: object, tol: object) -> float:
    """Refuse what is no problem and what is no tolerance."""
    if not isinstance(problem, cp.Problem):
        msg = f"problem must be a solved cvxpy.Problem; got {type(problem).__name__}."
        raise InputError(msg)
    if isinstance(tol, NUMBERS) and not isinstance(tol, bool) and math.isfinite(tol) and tol > 0:
        return float(tol)
    msg = f"tol must be a positive finite number; got {tol!r}. The default is 1e-6."
    raise InputError(msg)


def _unreadable(problem: cp.Problem) -> str:
    """Why there are no numbers to judge; empty if there are."""
    variables = problem.variables()
    if problem.value is None or any(value_of(v) is None for v in variables):
        return f"no values (status {problem.status}): solve the problem first"
    if any(v.is_complex() for v in variables) or any(c.is_complex() for c in problem.constraints):
        return "complex variables or constraints"
    unjudged = {name for v in variables for name in attributes(v)} - JUDGED_ATTRIBUTES
    if unjudged:
        return f"variables with attribute {', '.join(sorted(unjudged))}"
    if any(p.value is None for p in problem.parameters()):
        return "a parameter without a value"
    values = [problem.value, problem.objective.value, *map(value_of, variables)]
    values += [dual.value for c in problem.constraints for dual in c.dual_variables]
    if not all(np.isfinite(flat(n)).all() for n in values if n is not None):
        return "an infinite or NaN value"
    return ""


def _not_convex(problem: cp.Problem) -> str:
    """Why KKT would not be enough for a global optimum; empty if it is."""
    if problem.is_mixed_integer():
        return "integer or boolean variables"
    return "" if problem.is_dcp() else "not a disciplined convex (DCP) problem"


def _gradient(
    found: Lagrangian, problem: cp.Problem, sweep: Sweep
) -> dict[cp.Variable, Gradient] | str:
    """Gradient of L, or the reason why there is none."""
    try:
        return sweep.gradient(list(found.pieces()), problem.variables())
    except GradientError as error:
        return str(error)


def _unchanged(problem: cp.Problem, scales: Scales) -> bool:
    """Whether problem.value still belongs to the variables' values."""
    now = float(problem.objective.value)
    size = max(scales.objective, abs(now), abs(problem.value))
    return bool(abs(now - problem.value) <= SAME_VALUE * size)


def _primal(found: Lagrangian, problem: cp.Problem, scales: Scales, tol: float) -> list[Condition]:
    """Primal feasibility of every constraint, and of every attribute."""
    rows = []
    for k, term in enumerate(found.terms):
        name, scale, noise = f"{PRIMAL}: {term.name}", scales.constraints[k], scales.noise[k]
        if term.missing.startswith("unknown"):
            rows.append(not_judged(name, PRIMAL, term.missing))
            continue
        rows.append(_distance(term, name, PRIMAL, scale, tol, noise))
    return rows + [
        _attribute_condition(v, scales.variables[v], tol)
        for v in problem.variables()
        if attributes(v) & PRIMAL_ATTRIBUTES
    ]


def _distance(
    term: Term, name: str, kind: str, scale: float, tol: float, noise: float
) -> Condition:
    """Distance of the constraint to its set, or of its multipliers to the dual cone."""
    value, place = _largest(term.violation() if kind == PRIMAL else term.dual_violation())
    return judge(name, kind, value, scale, tol, place, PROOF, noise)


def _attribute_condition(variable: cp.Variable, scale: float, tol: float) -> Condition:
    """Whether a value lies in the set its attributes describe."""
    shown = attributes(variable) & PRIMAL_ATTRIBUTES
    name = f"{PRIMAL}: {variable.name()} ({', '.join(sorted(shown))})"
    value, place = _largest(np.reshape(outside(variable), variable.shape, order="F"))
    return judge(name, PRIMAL, value, scale, tol, place, PROOF)


def _multipliers(found: Lagrangian, scales: Scales, tol: float) -> list[Condition]:
    """Dual feasibility and complementarity of every inequality and cone."""
    rows = []
    for k, term in enumerate(found.terms):
        if term.is_equality and not term.missing:
            continue
        names = (f"{DUAL}: {term.name}", f"{COMPLEMENTARITY}: {term.name}")
        if term.missing:
            kinds = (DUAL, COMPLEMENTARITY)
            rows += [not_judged(n, k, term.missing) for n, k in zip(names, kinds, strict=True)]
            continue
        rows += _multiplier_pair(k, term, names, scales, tol)
    return rows


def _multiplier_pair(
    k: int, term: Term, names: tuple[str, str], scales: Scales, tol: float
) -> list[Condition]:
    """Dual feasibility and complementarity of one constraint, the k-th."""
    products, (scale, noise) = np.abs(term.products()), (scales.objective, scales.objective_noise)
    total, at = float(products.sum()), _largest(products)[1]
    return [
        _distance(term, names[0], DUAL, scales.multipliers[k], tol, scales.multiplier_noise[k]),
        judge(names[1], COMPLEMENTARITY, total, scale, tol, at, PROOF, noise),
    ]


def _largest(residual: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, Place]:
    """Largest entry and its index: an int in a vector, a tuple in a matrix, () in a scalar."""
    if residual.size <= 1 or not residual.any():
        return abs(float(np.max(residual, initial=0.0))), ()
    index = np.unravel_index(int(np.argmax(residual)), residual.shape)
    place = tuple(int(i) for i in index)
    return float(residual[index]), place[0] if len(place) == 1 else place


def _without_scale(condition: Condition, scales: Scales) -> Condition:
    """Turn a refusal into "not judged" where the problem is the same in every unit."""
    reason = scales.no_primal_scale if condition.kind == PRIMAL else scales.no_scale
    if condition.holds is not False or not reason:
        return condition
    c = condition
    return Condition(c.name, c.kind, c.value, c.scale, c.tolerance, None, reason, NOT_JUDGED)


def _nothing_judged(reason: str, tol: float) -> KKTReport:
    """Report of a problem that offers no numbers to judge."""
    return KKTReport(tuple(not_judged(kind, kind, reason) for kind in KINDS), tol)
