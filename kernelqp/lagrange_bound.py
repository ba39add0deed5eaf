"""A lower bound for a primal with the user's own constraints, from their multipliers.

With U(f, b) = Σ λ_k g_k(f, b) the share of the user's constraints in the Lagrangian, convex where
the multipliers are in their dual cones, and its linear bound U >= u + <a, f> + c b at the answer,

    optimum >= inf over f, b of 1/2 ‖f‖² + Σ c_i ℓ(y_i, p_i) + U
            >= max over β of −1/2 ‖f_β − a‖² − Σ c_i ℓ*(y_i, −β_i/c_i) + u        1'β = c

any β of which, clipped to its domain and balanced, gives a bound. Infeasible constraints are proved
so by multipliers too: Σ λ_k g_k(x) >= m − Σ |r| |x| > 0 for all |x| < m/Σ |r|.

Source: Boyd & Vandenberghe (2004), Convex Optimization, sections 5.1.3 and 5.8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
import scipy.linalg
from scipy.sparse import issparse

from kernelqp.errors import InputError
from kernelqp.kkt.lagrangian import flat, lagrangian
from kernelqp.repair import domain_of, settle
from kernelqp.risk import Offset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk


@dataclass(frozen=True, eq=False, slots=True)
class LagrangianBound:
    """A two-sided bound on the optimum of a constrained page, in the method's unit.

    Attributes
    ----------
    primal_value, dual_value : float
        The objective at the answer, and the Lagrangian bound; −inf where no bound could be made.
    gap, relative_gap, tol : float
        P − D, |P − D| over max(|P|, |D|), and what it was compared with.
    feasible : bool
        Whether every constraint holds to tol of its own scale: without that P bounds nothing.
    certified : bool
        feasible, and relative_gap <= tol.
    """

    primal_value: float
    dual_value: float
    gap: float
    relative_gap: float
    tol: float
    feasible: bool
    certified: bool

    @classmethod
    def of(cls, primal: float, dual: float, tol: float, *, feasible: bool) -> LagrangianBound:
        """Return the bound of two values."""
        finite = math.isfinite(primal) and math.isfinite(dual)
        scale = max(abs(primal), abs(dual))
        relative = (abs(primal - dual) / scale if scale else 0.0) if finite else math.inf
        certified = feasible and relative <= tol
        return cls(primal, dual, primal - dual, relative, tol, feasible, bool(certified))

    def __str__(self) -> str:
        word = "certified" if self.certified else "not certified"
        return (
            f"{word}: {self.dual_value:.10g} <= optimum <= {self.primal_value:.10g} by Lagrange, "
            f"relative gap {self.relative_gap:.1e} (tol {self.tol:.0e})"
            + ("" if self.feasible else ", a constraint is violated")
        )


@dataclass(frozen=True, eq=False, slots=True)
class Pull:
    """The linear bound of the user's share of the Lagrangian: u + slope_f'v + slope_b b.

    ``slope_f`` is in the coordinates that f is written in, w or β; ``others`` the slopes in all
    other variables, which no bound is made for unless they are 0.
    """

    u: float
    slope_f: Vector
    slope_b: float
    others: float


def pull_of(constraints: Sequence[cp.Constraint], variables: Mapping[str, cp.Variable]) -> Pull:
    """Return the linear bound of Σ λ g at the current values; multipliers are clipped to λ >= 0."""
    share = lagrangian(cp.Problem(cp.Minimize(0), list(constraints)))
    if share.missing:
        raise InputError(f"no multiplier: {share.missing}")
    named = {id(v): name for name, v in variables.items()}
    f_name = "w" if "w" in variables else "beta"
    slopes = {"f": np.zeros(variables[f_name].size), "b": np.zeros(1), "others": np.zeros(1)}
    u = share.value(clipped=True)
    for expression, multiplier in share.pieces(clipped=True):
        for variable, jacobian in expression.grad.items():
            slope = _slope(jacobian, multiplier)
            u -= float(slope @ flat(variable.value))
            name = named.get(id(variable), "others")
            key = {f_name: "f", "b": "b"}.get(name, "others")
            slopes[key] = slopes[key] + (slope if key != "others" else np.abs(slope).sum())
    return Pull(u, slopes["f"], float(slopes["b"][0]), float(slopes["others"][0]))


def _slope(jacobian: Any, multiplier: Vector) -> Vector:
    """Return the gradient of m'e, shape (size of the variable,); cvxpy may give a bare number."""
    product = jacobian * multiplier if np.ndim(jacobian) == 0 and not issparse(jacobian) else None
    return np.ravel(np.asarray(jacobian @ multiplier if product is None else product))


def lower_bound(risk: RegularizedRisk, beta: Vector, pull: Pull, *, in_weights: bool) -> float:
    """Return the bound of a β, clipped and balanced; −inf where the pull leaves none."""
    if pull.others > 0 or not np.isfinite(beta).all():
        return -math.inf
    a, priced = pull.slope_f, risk
    if risk.offset.is_intercept:
        offset = Offset(risk.offset.basis, np.array([pull.slope_b]), risk.offset.constant)
        priced = replace(risk, offset=offset)
    elif pull.slope_b:  # a penalised b is the weight of the constant, or the sum of β
        a = np.r_[a, pull.slope_b] if in_weights else a + pull.slope_b
    elif in_weights and risk.gram.factor is not None:
        a = np.r_[a, np.zeros(risk.gram.factor.shape[1] - a.size)]
    beta = np.clip(beta, *domain_of(priced))
    if risk.offset.is_intercept:
        beta = settle(priced, beta)
    gained = risk.loss.dual_value(risk.targets, risk.costs, beta).sum()
    return float(gained - 0.5 * _length2(risk, beta, a, in_weights=in_weights) + pull.u)


def _length2(risk: RegularizedRisk, beta: Vector, a: Vector, *, in_weights: bool) -> float:
    """Return ‖f_β − a‖²; infinite where a is no function of the kernel's span."""
    if in_weights:
        return float(np.sum((risk.gram.weights(beta) - a) ** 2))
    factor = risk.gram.thin_factor()  # K = F F', so a = K t = F (F't) and ‖a‖ = ‖F't‖
    inner = scipy.linalg.lstsq(factor, a)[0]
    if np.linalg.norm(factor @ inner - a) > 1e-9 * np.linalg.norm(a):
        return math.inf
    return float(np.sum((factor.T @ beta - inner) ** 2))


def _at_zero(pieces: Sequence[tuple[cp.Expression, Vector]]) -> tuple[float, dict[int, Vector]]:
    """Return value and, by variable, slopes of an affine Σ m'e at 0; values are put back."""
    variables = {v.id: v for expression, _ in pieces for v in expression.variables()}
    before = [(v, v.value) for v in variables.values()]
    value, slopes = 0.0, {k: np.zeros(v.size) for k, v in variables.items()}
    for variable, _ in before:
        variable.save_value(np.zeros(variable.shape))
    for expression, multiplier in pieces:
        value += float(multiplier @ flat(expression.value))
        for variable, jacobian in expression.grad.items():
            slopes[variable.id] += _slope(jacobian, multiplier)
    for variable, held in before:
        variable.save_value(held)
    return value, slopes


@dataclass(frozen=True, eq=False, slots=True)
class Conflict:
    """Multipliers that prove a set of constraints infeasible.

    Attributes
    ----------
    multipliers : mapping of str to array
        By constraint; Σ λ_k g_k(x) is at least ``excess`` > 0 at x = 0.
    excess : float
        m of the module's formula.
    radius : float
        No point with every |x_j| below it satisfies the constraints.
    """

    multipliers: Mapping[str, Vector]
    excess: float
    radius: float

    def __str__(self) -> str:
        clash = [name for name, m in self.multipliers.items() if np.abs(m).max(initial=0.0) > 1e-6]
        return (
            f"the constraints {', '.join(clash)} contradict each other: "
            f"no point with every variable below {self.radius:.1e} in size satisfies them"
        )


def conflict(constraints: Mapping[str, cp.Constraint], believable: float) -> Conflict | None:
    """Return the proof that the saved multipliers give, None where they prove too little.

    ``believable`` is the size of variables beyond which nobody looks for a point.
    """
    share = lagrangian(cp.Problem(cp.Minimize(0), list(constraints.values())))
    if share.missing or not all(e.is_affine() for t in share.terms for e in t.expressions):
        return None
    pieces = list(share.pieces(clipped=True))
    scale = max((float(np.abs(m).max(initial=0.0)) for _, m in pieces), default=0.0) or 1.0
    excess, slopes = _at_zero(pieces)
    excess, residual = excess / scale, sum(float(np.abs(s).sum()) for s in slopes.values()) / scale
    radius = excess / residual if residual > 0 else math.inf
    if not (excess > 0 and radius > believable):
        return None
    held = {k: flat(c.dual_value) / scale for k, c in constraints.items()}
    return Conflict(held, excess, radius)
