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
from cvxpy.atoms.elementwise.elementwise import Elementwise
from scipy.sparse import issparse

from kernelqp.columns import dense
from kernelqp.errors import SolverFailed
from kernelqp.kkt.lagrangian import flat, lagrangian
from kernelqp.losses import Hinge
from kernelqp.offset import Offset
from kernelqp.repair import EPS, domain_of, feasible, settle
from kernelqp.solvers.cvxpy import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import RegularizedRisk

IN_CLOSED_FORM = ("f", "b", "xi")  # slopes in any other variable leave no bound by arithmetic
BELIEVABLE = 1e9  # times the size of a problem: nobody looks for an answer beyond


@dataclass(frozen=True, eq=False, slots=True)
class LagrangianBound:
    """A two-sided bound on the optimum of a constrained page, in the method's unit.

    Attributes
    ----------
    primal_value, dual_value : float
        P, the objective at the answer, and D, the Lagrangian bound, −inf where none could be made.
        The constraints hold to tol, not exactly, so P may lie below D by as much.
    gap, relative_gap, tol : float
        P − D, |P − D| over max(|P|, |D|), and what it was compared with.
    feasible : bool
        Whether every constraint holds to tol of its own scale: without that P bounds nothing.
    by_inner_solve : bool
        Whether D was found by minimising the Lagrangian near the answer, which kinks and variables
        of one's own need; else it is arithmetic on the multipliers.
    certified : bool
        feasible, and relative_gap <= tol.
    """

    primal_value: float
    dual_value: float
    gap: float
    relative_gap: float
    tol: float
    feasible: bool
    by_inner_solve: bool
    certified: bool

    @classmethod
    def of(
        cls,
        primal: float,
        dual: float,
        tol: float,
        *,
        feasible: bool,
        by_inner_solve: bool = False,
        scale: float = 0.0,
    ) -> LagrangianBound:
        """Return the bound of two values; ``scale`` is that of a problem whose optimum is 0."""
        finite = math.isfinite(primal) and math.isfinite(dual)
        scale = max(abs(primal), abs(dual), scale)
        relative = (abs(primal - dual) / scale if scale else 0.0) if finite else math.inf
        certified = feasible and relative <= tol
        gap, parts = primal - dual, (tol, feasible, by_inner_solve, bool(certified))
        return cls(primal, dual, gap, relative, *parts)

    def __str__(self) -> str:
        word = "certified" if self.certified else "not certified"
        return (
            f"{word}: optimum >= {self.dual_value:.10g} by Lagrange, {self.primal_value:.10g} at "
            f"the answer, relative gap {self.relative_gap:.1e} (tol {self.tol:.0e}, of the "
            "constraints too)"
            + (", by an inner solve" if self.by_inner_solve else "")
            + ("" if self.feasible else ", a constraint is violated")
        )


@dataclass(frozen=True, eq=False, slots=True)
class Pull:
    """The linear bound of the user's share of the Lagrangian at the answer.

        U >= u + slopes["f"]'v + slopes["b"] b + slopes["xi"]'ξ

    v are the coordinates that f is written in, w or β. ``others`` is the size of the slopes in all
    other variables: unless it is 0 there is no bound.
    """

    u: float
    slopes: Mapping[str, Vector]
    others: float

    def over(self, scale: float) -> Pull:
        """Return the same in the unit of the engine's objective."""
        slopes = {name: slope / scale for name, slope in self.slopes.items()}
        return Pull(self.u / scale, slopes, self.others / scale)


def pull_of(
    constraints: Sequence[cp.Constraint], variables: Mapping[str, cp.Variable]
) -> Pull | None:
    """Return the linear bound of Σ λ g at the current values, λ moved into its dual cones.

    None where a multiplier is missing or an expression has no gradient that can be trusted.
    """
    roles = {id(v): "f" if name in ("w", "beta") else name for name, v in variables.items()}
    slopes = {roles[id(v)]: np.zeros(v.size) for v in variables.values()}
    u = others = 0.0
    pieces = valid_pieces(constraints)
    if pieces is None or any(_broadcasts(expression) for expression, _ in pieces):
        return None
    for expression, multiplier in pieces:
        u += float(multiplier @ flat(expression.value))
        gradients = _gradients(expression)
        if gradients is None:
            return None
        for variable, jacobian in gradients.items():
            slope = _slope(jacobian, multiplier)
            u -= float(slope @ flat(variable.value))
            if id(variable) in roles:
                slopes[roles[id(variable)]] += slope
            else:
                others += float(np.abs(slope).sum())
    return Pull(u, slopes, others)


def valid_pieces(constraints: Sequence[cp.Constraint]) -> list[tuple[cp.Expression, Vector]] | None:
    """Return the expressions of Σ λ g with multipliers in their dual cones; None without them."""
    share = lagrangian(cp.Problem(cp.Minimize(0), list(constraints)))
    if share.missing:
        return None
    pieces = []
    for term in share.terms:
        exact = not term.is_cone or isinstance(term.constraint, cp.SOC | cp.PSD)
        if not exact and np.max(term.dual_violation(), initial=0.0) > 0:
            return None  # the nearest point of these cones is found to a tolerance only
        pieces += list(zip(term.expressions, term.in_dual_cone(), strict=True))
    finite = all(np.isfinite(m).all() for _, m in pieces)
    return pieces if finite else None


def _gradients(expression: cp.Expression) -> dict[cp.Variable, Any] | None:
    """Return cvxpy's gradient, None at the edge of a domain or where an atom has none."""
    try:
        found = expression.grad
    except NotImplementedError:
        return None
    return None if any(jacobian is None for jacobian in found.values()) else dict(found)


def _broadcasts(expression: cp.Expression) -> bool:
    """Whether an elementwise atom repeats an argument: its gradient in cvxpy is wrong then."""
    here = isinstance(expression, Elementwise) and any(
        argument.shape != expression.shape and not argument.is_constant()
        for argument in expression.args
    )
    return here or any(_broadcasts(argument) for argument in expression.args)


def _slope(jacobian: Any, multiplier: Vector) -> Vector:
    """Return the gradient of m'e, shape (size of the variable,); cvxpy may give a bare number."""
    if np.ndim(jacobian) == 0 and not issparse(jacobian):
        return np.ravel(np.asarray(jacobian * multiplier))
    return np.ravel(np.asarray(jacobian @ multiplier))


def lower_bound(
    risk: RegularizedRisk, beta: Vector, pull: Pull | None, *, in_weights: bool
) -> float:
    """Return the bound of a β, clipped and balanced; −inf where the pull leaves none."""
    if pull is None or pull.others > 0 or not np.isfinite(beta).all():
        return -math.inf
    if any(slope.any() for name, slope in pull.slopes.items() if name not in IN_CLOSED_FORM):
        return -math.inf
    on_slack = pull.slopes.get("xi", np.zeros(1))
    if on_slack.any():  # a slope in ξ is a change of its price, where that is linear and the only
        costs = risk.costs + on_slack
        if not isinstance(risk.loss, Hinge) or (costs <= 0).any():
            return -math.inf
        risk = replace(risk, costs=costs)
    a, b = pull.slopes["f"], float(pull.slopes.get("b", np.zeros(1))[0])
    free = risk.offset.is_intercept
    if free:
        risk = replace(risk, offset=Offset(risk.offset.basis, np.array([b]), risk.offset.constant))
    elif in_weights and risk.gram.factor is not None:  # a penalised b is the weight of the constant
        a = np.r_[a, np.full(risk.gram.factor.shape[1] - a.size, b)]
    else:
        a = a + b  # and in coefficients the sum of β
    beta = np.clip(beta, *domain_of(risk))
    beta = settle(risk, beta) if free else beta
    if not feasible(risk, beta):
        return -math.inf
    gained = risk.gain(beta).sum()
    return float(gained - 0.5 * _length2(risk, beta, a, in_weights=in_weights) + pull.u)


def localised_bound(problem: cp.Problem) -> float:
    """Return min of L(x, λ) over |x − x*| <= 2 max(1, |x*|), by an inner solve; −inf without one.

    L is convex, so the loss beyond that box grows no faster than the distance. Values of the
    problem's variables are put back.
    """
    pieces = valid_pieces(problem.constraints)
    if pieces is None:
        return -math.inf
    variables = problem.variables()
    held = [(v, v.value) for v in variables]
    box = [
        cp.abs(v - value) <= 2.0 * max(1.0, float(np.abs(value).max(initial=0.0)))
        for v, value in held
    ]
    total = problem.objective.expr + sum(m @ cp.vec(e, order="F") for e, m in pieces)
    inner = cp.Problem(cp.Minimize(total), box)
    try:
        remark = run(inner, "CLARABEL", 1e-10, {})
        value = inner.value if remark.word in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) else None
    except SolverFailed:
        value = None
    for variable, before in held:
        variable.save_value(before)
    return -math.inf if value is None or not np.isfinite(value) else float(value)


def _length2(risk: RegularizedRisk, beta: Vector, a: Vector, *, in_weights: bool) -> float:
    """Return ‖f_β − a‖²; infinite where a is no function of the kernel's span."""
    if in_weights:
        return float(np.sum((risk.gram.weights(beta) - a) ** 2))
    factor = dense(risk.gram.thin_factor())  # K = F F', so a = K t = F (F't) and ‖a‖ = ‖F't‖
    inner = scipy.linalg.lstsq(factor, a)[0]
    if np.linalg.norm(factor @ inner - a) > 1e-9 * np.linalg.norm(a):
        return math.inf
    return float(np.sum((factor.T @ beta - inner) ** 2))


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
        No point whose dimensionless variables are all below it in size satisfies the constraints.
    """

    multipliers: Mapping[str, Vector]
    excess: float
    radius: float

    def __str__(self) -> str:
        clash = [name for name, m in self.multipliers.items() if np.abs(m).max(initial=0.0) > 1e-6]
        return (
            f"the constraints {', '.join(clash)} contradict each other: no point within "
            f"{self.radius:.0e} times the size of the problem satisfies them"
        )


def conflict(
    constraints: Mapping[str, cp.Constraint], units: Mapping[int, Vector]
) -> Conflict | None:
    """Return the proof that the saved multipliers give, None where they prove too little.

    ``units`` are the sizes that the entries of a variable, by its id, would have; 1 otherwise. The
    multipliers are refined first, so that their residual is rounding.
    """
    pieces = valid_pieces(list(constraints.values()))
    if pieces is None or not all(e.is_affine() for e, _ in pieces):
        return None
    rows, constants = _affine_rows([e for e, _ in pieces], units)
    saved = np.concatenate([m for _, m in pieces])
    lam = refined(rows, saved / (np.abs(saved).max(initial=0.0) or 1.0))
    if lam is None:
        return None
    excess, residual = float(lam @ constants), float(np.abs(lam @ rows).sum())
    noise = EPS * lam.size * float(np.abs(lam) @ np.abs(constants))
    radius = excess / residual if residual > 0 else math.inf
    if not (excess > noise and radius > BELIEVABLE):
        return None
    ends = np.cumsum([m.size for _, m in pieces])[:-1]
    parts = iter(np.split(lam, ends))
    held = {
        name: np.concatenate([next(parts) for _ in range(_parts(c))])
        for name, c in constraints.items()
    }
    return Conflict(held, excess, radius)


def _parts(constraint: cp.Constraint) -> int:
    """Return how many expressions a constraint puts into the Lagrangian."""
    cone = isinstance(constraint, cp.SOC | cp.PSD)
    return len(constraint.args) if cone else 1


def refined(rows: Matrix, lam: Vector) -> Vector | None:
    """Return multipliers with λ'rows = 0, by least squares; None if none are left.

    Those whose sign turns were too small to know it: they are 0, and the others refined again.
    """
    support = np.abs(lam) > 1e-7
    while support.any():
        change = scipy.linalg.lstsq(rows[support].T, -lam[support] @ rows[support])[0]
        better = np.zeros_like(lam)
        better[support] = lam[support] + change
        turned = better * lam < 0
        if not turned.any():
            return better
        support &= ~turned
    return None


def _affine_rows(
    expressions: Sequence[cp.Expression], units: Mapping[int, Vector]
) -> tuple[Matrix, Vector]:
    """Return the matrix, columns in the variables' units, and constants of affine expressions."""
    variables = list({v.id: v for e in expressions for v in e.variables()}.values())
    before = [(v, v.value) for v in variables]
    for variable in variables:
        variable.save_value(np.zeros(variable.shape))
    blocks, constants = [], []
    for expression in expressions:
        gradients = expression.grad
        row = [
            _dense(gradients[v], v.size, expression.size).T * units.get(v.id, np.ones(v.size))
            if v in gradients
            else np.zeros((expression.size, v.size))
            for v in variables
        ]
        blocks.append(np.hstack(row))
        constants.append(flat(expression.value))
    for variable, held in before:
        variable.save_value(held)
    return np.vstack(blocks), np.concatenate(constants)


def _dense(jacobian: Any, rows: int, columns: int) -> Matrix:
    """Return cvxpy's Jacobian, shape (size of the variable, size of the expression)."""
    full = jacobian.toarray() if issparse(jacobian) else np.asarray(jacobian, dtype=np.float64)
    return np.reshape(full, (rows, columns), order="F")
