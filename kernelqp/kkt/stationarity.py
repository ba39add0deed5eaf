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

import cvxpy as cp
import numpy as np

from kernelqp.kkt.attributes import BOUND_ATTRIBUTES, SEMIDEFINITE, Slope, attributes, slope
from kernelqp.kkt.inner import INNER_FAILURES, smallest
from kernelqp.kkt.lagrangian import Lagrangian
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
    hiding = attributes(variable) & (BOUND_ATTRIBUTES | SEMIDEFINITE)
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
        eps, pieces = min(1e-8, max(tol / 100, 1e-11)), list(lagrangian.pieces(clipped=True))
        least = smallest(pieces, {v: rho / 2 for v, rho in radius.items()}, unit, eps, box=2.0)
    except INNER_FAILURES as error:
        reason = f"inner solve failed ({error}); {note}".replace("\n", " ")
        return not_judged(name, STATIONARITY, reason)
    gap = max(0.0, lagrangian.value(clipped=True) - least)
    where = f"Lagrangian gap, by an inner solve; {note}"
    return judge(
        name,
        STATIONARITY,
        gap + leftover(lagrangian),
        unit,
        tol,
        where,
        EVIDENCE,
        scales.objective_noise,
    )
