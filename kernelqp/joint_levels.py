"""The joint problem of several quantile levels in arrays: cvxpy statement, units, and bounds.

    (P)  minimise    Σ_t (1/2 ‖f_t‖² + Σ_i c_i ρ_t(y_i − f_t(x_i) − b_t))
         subject to  f_t + b_t <= f_{t+1} + b_{t+1} at z_p
    (D)  maximise    Σ_t (y'β_t − 1/2 ‖g_t‖²)

with g_t = Σ_i β_ti k(x_i, ·) + Σ_p (μ_{t−1,p} − μ_tp) k(z_p, ·), over
c_i (τ_t − 1) <= β_ti <= c_i τ_t and μ >= 0, with Σ_i β_ti + Σ_p (μ_{t−1,p} − μ_tp) = 0 for a
free intercept. Every feasible pair bounds the optimum from both sides: the levels are raised where
they still cross, the multipliers are clipped and balanced.

Source: Takeuchi, Le, Sears & Smola (2006), JMLR 7, 1231-1264, section 4; the dual is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution

from kernelqp.crossings import least_crossing
from kernelqp.errors import SolverFailed
from kernelqp.fenchel import Program, constant, square_norm
from kernelqp.lagrange_bound import LagrangianBound
from kernelqp.repair import EPS

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.gram import Gram


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    """The joint problem in arrays: the rows in use come first, the points z_p are rows of ``gram``.

    ``offset`` says that every level has a free intercept.
    """

    gram: Gram
    y: Vector
    costs: Vector
    taus: Vector
    points: Indices
    offset: bool

    @property
    def n(self) -> int:
        """The number of rows with a target."""
        return int(self.y.size)

    def program(self) -> Program:
        """State (P) in cvxpy: w_t where features are explicit, else β_t; b_t, p_t, ξ_t and ξ*_t."""
        variables: dict[str, cp.Variable] = {}
        constraints: dict[str, cp.Constraint] = {}
        total: Any = 0.0
        factor = self.gram.factor
        matrix = self.gram.dense_matrix() if factor is None else factor
        for t, tau in enumerate(self.taus):
            f = cp.Variable(matrix.shape[1], name=f"{'beta' if factor is None else 'w'}_{t}")
            p, xi, xi_star = (
                cp.Variable(size, name=f"{name}_{t}")
                for name, size in (("p", self.gram.n), ("xi", self.n), ("xi_star", self.n))
            )
            variables |= {v.name(): v for v in (f, p, xi, xi_star)}
            values: Any = constant(matrix) @ f
            if self.offset:
                b = variables[f"b_{t}"] = cp.Variable(name=f"b_{t}")
                values = values + b
            norm2 = square_norm(self.gram, f) if factor is None else cp.sum_squares(f)
            total = total + 0.5 * norm2 + self.costs @ (tau * xi + (1.0 - tau) * xi_star)
            constraints |= {
                f"prediction_{t}": p == values,
                f"above_{t}": self.y - p[: self.n] <= xi,
                f"below_{t}": p[: self.n] - self.y <= xi_star,
                f"slack_{t}": xi >= 0,
                f"slack_star_{t}": xi_star >= 0,
            }
            if t:
                lower = variables[f"p_{t - 1}"]
                constraints[f"non_crossing_{t - 1}"] = lower[self.points] <= p[self.points]
        problem = cp.Problem(cp.Minimize(total), list(constraints.values()))
        return Program(problem, variables, constraints, {})

    @property
    def _unit(self) -> float:
        """The size of what is left."""
        return float(np.abs(self.y).mean()) or 1.0

    @property
    def multiplier_unit(self) -> float:
        """What a multiplier of 1 of the dimensionless problem is worth."""
        return self._unit / self._diagonal

    @property
    def scale(self) -> float:
        """What an optimum of 0 is judged by, as by one level: min(P at f = 0, s²/mean K_ii)."""
        y, T = self.y, len(self.taus)
        best = np.zeros(T)
        if self.offset:
            best = np.array([weighted_quantile(y, tau, self.costs) for tau in self.taus])
        null = self.primal_value(np.tile(best[:, None], self.gram.n), np.zeros(T))
        size2 = float(np.average(y**2, weights=self.costs))
        rounding = EPS * float(self.costs @ np.abs(y))
        return max(min(null, T * size2 / self._diagonal), rounding)

    @property
    def _diagonal(self) -> float:
        """The mean diagonal of K over the rows with a target: far points do not count."""
        return float(self._centred.diagonal[: self.n].mean()) or 1.0

    @property
    def _centred(self) -> Gram:
        return self.gram.centred() if self.offset else self.gram

    def relative(self) -> Levels:
        """Return the dimensionless problem: K centred and divided by its mean diagonal."""
        gram, k = self._centred, self._diagonal
        y = self.y / self._unit
        return replace(self, gram=gram.scaled(1.0 / k), y=y, costs=self.costs * k / self._unit)

    # --- bounds ----------------------------------------------------------------------------

    def primal_value(self, predictions: Matrix, norms2: Vector) -> float:
        """Return P at predictions (T, rows of the Gram) and ‖f_t‖²."""
        r = self.y - predictions[:, : self.n]
        tau = self.taus[:, None]
        lost = np.maximum(tau * r, (tau - 1.0) * r)
        return float(0.5 * norms2.sum() + (lost @ self.costs).sum())

    def _best(self, values: Matrix, b: Vector) -> Vector:
        """Return the better of two intercepts that cross nowhere: b, and each level's own best."""
        r = self.y - values[:, : self.n]
        pairs = zip(r, self.taus, strict=True)
        own = np.array([weighted_quantile(row, tau, self.costs) for row, tau in pairs])
        candidates = [start + self.raised(values + start[:, None]) for start in (b, own)]
        return min(candidates, key=lambda c: self.primal_value(values + c[:, None], 0.0 * c))

    def raised(self, predictions: Matrix) -> Vector:
        """Return what is added to every level, (T,), so that none crosses the one below."""
        lift, at = np.zeros(len(self.taus)), predictions[:, self.points]
        for t in range(1, len(self.taus)):
            short = at[t - 1] + lift[t - 1] - at[t]
            lift[t] = max(float(short.max(initial=0.0)), 0.0)
            while (at[t] + lift[t] < at[t - 1] + lift[t - 1]).any():  # by the rounding of the sum
                lift[t] = np.nextafter(lift[t], np.inf) + np.spacing(np.abs(at).max())
        return lift

    def coefficients(self, beta: Matrix, mu: Matrix) -> Matrix:
        """Return g_t in the rows of the Gram, shape (T, rows)."""
        found = np.zeros((len(self.taus), self.gram.n))
        found[:, : self.n] = beta
        for t in range(len(self.taus) - 1):
            np.add.at(found[t + 1], self.points, mu[t])
            np.add.at(found[t], self.points, -mu[t])
        return found

    def balanced(self, beta: Matrix, mu: Matrix) -> Matrix:
        """Return β in its box, and where intercepts are free with Σ g_t = 0."""
        low = self.costs * (self.taus[:, None] - 1.0)
        high = self.costs * self.taus[:, None]
        beta = np.clip(beta, low, high)
        if not self.offset:
            return beta
        wanted = -(self.coefficients(0.0 * beta, mu)).sum(axis=1)
        for t, want in enumerate(wanted):
            for _ in range(60):
                left = want - beta[t].sum()
                room = high[t] - beta[t] if left > 0 else beta[t] - low[t]
                if left == 0.0 or not room.any():
                    break
                inside = (beta[t] > low[t]) & (beta[t] < high[t])
                share = room * inside if (room * inside).any() else room
                move = min(abs(left) / share.sum(), 1.0) * share
                beta[t] = np.clip(beta[t] + np.sign(left) * move, low[t], high[t])
        return beta

    def answer(self, program: Program, tol: float) -> Answer:
        """Return the feasible points of the solved dimensionless program, and their bound."""
        unit = self.multiplier_unit
        count = range(len(self.taus))
        pairs = [
            [program.constraints[f"{name}_{t}"].dual_value for name in ("above", "below")]
            for t in count
        ]
        crossed = [program.constraints[f"non_crossing_{t}"].dual_value for t in count[:-1]]
        found = [value for pair in (*pairs, crossed) for value in pair]
        found += [variable.value for variable in program.variables.values()]
        if any(value is None or not np.isfinite(value).all() for value in found):
            raise SolverFailed(
                "the solver gave no numbers for the joint fit: scale the features and the points "
                "alike, or name another solver"
            )
        mu = np.maximum(unit * np.reshape(crossed, (len(count) - 1, self.points.size)), 0.0)
        beta = self.balanced(unit * np.array([above - below for above, below in pairs]), mu)
        shifts = [program.variables[f"b_{t}"].value for t in count] if self.offset else []
        solved = self.judged(beta, mu, self._unit * np.array(shifts), tol)
        nothing = self.judged(0.0 * beta, 0.0 * mu, np.zeros(len(shifts)), tol)  # f = 0, exactly
        return min(nothing, solved, key=lambda answer: answer.bound.primal_value)

    def judged(self, beta: Matrix, mu: Matrix, shifts: Vector, tol: float) -> Answer:
        """Return a feasible β and μ with the fits they stand for; b is that of a centred kernel."""
        g = self.coefficients(beta, mu)
        values = np.array([self.gram.matvec(row) for row in g])
        b = np.zeros(len(self.taus))
        if self.offset:
            b = self._best(values, shifts - values.mean(axis=1))
        p = values + b[:, None]
        crossed_by = float((p[:-1, self.points] - p[1:, self.points]).max(initial=0.0))
        primal = self.primal_value(p, np.einsum("ti,ti->t", g, values))
        bound = LagrangianBound.of(
            primal,
            self.dual_value(beta, mu),
            tol,
            feasible=crossed_by <= least_crossing(self.y, tol),
            scale=self.scale,
        )
        return Answer(beta, mu, g, b, p, bound)

    def shifted(self, middle: float) -> Levels:
        """Return the problem of targets larger by ``middle``."""
        return replace(self, y=self.y + middle)

    def write(self, page: Program, answer: Answer, middle: float) -> None:
        """Write values and multipliers of every level to the page of :meth:`shifted`."""
        values: dict[str, Any] = {}
        multipliers: dict[str, Any] = {}
        for t, tau in enumerate(self.taus):
            beta, g, r = answer.beta[t], answer.g[t], self.y - answer.p[t, : self.n]
            above, below = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
            f = {f"beta_{t}": g} if self.gram.factor is None else {f"w_{t}": self.gram.weights(g)}
            values |= f | {f"p_{t}": answer.p[t] + middle, f"b_{t}": answer.b[t] + middle}
            values |= {f"xi_{t}": np.maximum(r, 0.0), f"xi_star_{t}": np.maximum(-r, 0.0)}
            multipliers |= {
                f"prediction_{t}": g,
                f"above_{t}": above,
                f"below_{t}": below,
                f"slack_{t}": tau * self.costs - above,
                f"slack_star_{t}": (1.0 - tau) * self.costs - below,
            }
            if t:
                multipliers[f"non_crossing_{t - 1}"] = answer.mu[t - 1]
        variables = {v.id: np.reshape(values[n], v.shape) for n, v in page.variables.items()}
        duals = {c.id: np.reshape(multipliers[n], c.shape) for n, c in page.constraints.items()}
        page.problem.unpack(Solution(cp.OPTIMAL, np.nan, variables, duals, {}))

    def dual_value(self, beta: Matrix, mu: Matrix) -> float:
        """Return D; −inf where a level is not balanced."""
        g = self.coefficients(beta, mu)
        off, size = np.abs(g.sum(axis=1)), np.abs(g).sum(axis=1)
        if self.offset and (off > 1e-12 * np.maximum(size, self.costs.sum())).any():
            return -np.inf
        norms = sum(self.gram.norm2(row) for row in g)
        return float((beta @ self.y).sum() - 0.5 * norms)


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """A feasible point of both sides: β (T, n), μ (T − 1, m), g and p (T, rows), b (T,)."""

    beta: Matrix
    mu: Matrix
    g: Matrix
    b: Vector
    p: Matrix
    bound: LagrangianBound


def weighted_quantile(values: Vector, tau: float, weights: Vector) -> float:
    """Return the least value with at least τ of the weight at or below it."""
    return float(np.quantile(values, tau, weights=weights, method="inverted_cdf"))
