"""A primal page with the user's own constraints: solved without units, bounded by Lagrange.

The representer theorem and the Fenchel dual do not know the new constraints, so the proof is that
of the problem itself: its KKT report, and a bound from its Lagrangian (`kernelqp.lagrange_bound`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution as CvxpySolution

from kernelqp.ball import BallRisk
from kernelqp.columns import dense
from kernelqp.errors import InputError, SolverFailed, Status
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation, Point
from kernelqp.kkt import KKTReport, check_problem
from kernelqp.lagrange_bound import (
    LagrangianBound,
    conflict,
    localised_bound,
    lower_bound,
    pull_of,
)
from kernelqp.solution import Infeasible, Solution
from kernelqp.solvers.cvxpy import Remark, capability, resolve_solver, run
from kernelqp.statement import Statement
from kernelqp.tolerance import check_tol
from kernelqp.twin import gain_of, unit_of

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk

BESIDE = "primal.problem.constraints in a cvxpy.Problem, solve that and ask check_kkt of it"
NO_REPRESENTER = "with constraints of your own f is no expansion in multipliers"


def constrained(base: Formulation, constraints: Any) -> ConstrainedFormulation:
    """Return a primal page with constraints added, checked.

    Raises
    ------
    InputError
        If the page is a dual or maximises the margin, or a constraint is none of cvxpy's, not
        convex, in none of the page's variables, or has a name that is taken.
    """
    _check_page(base)
    added = base.extra if isinstance(base, ConstrainedFormulation) else {}
    page = base.base if isinstance(base, ConstrainedFormulation) else base
    for name, constraint in _named(constraints, len(added)).items():
        if not isinstance(constraint, cp.constraints.constraint.Constraint):
            raise InputError(f"{name} must be a cvxpy constraint; got {constraint!r}")
        if not constraint.is_dcp():
            raise InputError(f"{name} is not convex by cvxpy's rules: {constraint}")
        unset = [p.name() for p in constraint.parameters() if p.value is None]
        if unset:
            raise InputError(f"{name} has a parameter without a value: {unset[0]}")
        if name in base.constraints:
            raise InputError(f"the name {name!r} is taken: the page has a constraint of that name")
        added = {**added, name: constraint}
    known = {v.id for v in page.variables.values()}
    if added and not known & {v.id for c in added.values() for v in c.variables()}:
        raise InputError("the constraints hold none of this page's variables: use page.variables")
    return ConstrainedFormulation(page, added)


def _check_page(base: Formulation) -> None:
    """Raise InputError where a page takes no constraints of the user's."""
    if base.side != "primal":
        raise InputError("constraints go on the primal: a dual's variables are multipliers")
    if isinstance(base.risk(), BallRisk):
        raise InputError(
            "a ball takes no constraints of your own: put them on RegularizedLeastSquares at the "
            "lam of this solution, or into primal.problem.constraints and solve that with cvxpy"
        )
    if base.risk().offset.price.any():
        raise InputError(
            f"a page with rho or epsilon takes no constraints of your own: put them beside {BESIDE}"
        )
    if not base.page.penalised:
        raise InputError(
            "constraints of your own need a penalty: use lam > 0, or a finite C; or put them "
            f"beside {BESIDE}"
        )
    if "M" in base.variables:
        raise InputError("constraints go on the form 'weights' or 'coefficients', not 'max_margin'")


def _named(constraints: Any, start: int) -> Mapping[str, Any]:
    """Return constraints by name; a single one, or an iterable, are numbered."""
    if isinstance(constraints, Mapping):
        return constraints
    if not isinstance(constraints, Iterable):
        constraints = [constraints]
    return {f"constraint {start + k}": c for k, c in enumerate(constraints)}


class ConstrainedFormulation(Formulation):
    """A primal page with constraints added; see :meth:`Formulation.with_constraints`."""

    def __init__(self, base: Formulation, extra: Mapping[str, cp.Constraint]) -> None:
        everything = {**base.constraints, **extra}
        problem = cp.Problem(base.problem.objective, list(everything.values()))
        program = Program(problem, base.variables, everything, base.parameters)
        super().__init__(Statement.of(program), base.page)
        self.base, self.extra = base, dict(extra)

    def solve(
        self, solver: str = "auto", tol: float = 1e-6, **options: Any
    ) -> Solution | Infeasible:
        """Solve in dimensionless units and judge; as :meth:`Formulation.solve`.

        Raises
        ------
        SolverFailed
            If there is neither an answer nor a proof that there is none.
        """
        started = time.perf_counter()
        check_tol(tol)
        chosen = "CLARABEL" if solver == "auto" else resolve_solver(solver)
        known, best, word = capability(chosen), None, ""
        for tolerance in (known.loose * tol,) if options else (known.loose * tol, known.tight):
            try:
                scaled = Scaled(self)
                remark = scaled.run(chosen, tolerance, options)
            except SolverFailed:
                if best is None:
                    raise
                break
            word = remark.word
            if word in cp.settings.INF_OR_UNB and best is None:
                proof = conflict(scaled.constraints, scaled.units())
                if proof is not None:
                    return Infeasible(Status.INFEASIBLE, proof, time.perf_counter() - started)
            elif word in cp.settings.SOLUTION_PRESENT and scaled.has_values():
                scaled.store()
                found = self._judged(tol, chosen, started, at_limit=remark.at_limit)
                best = found if best is None else min(best, found, key=_badness)
                if best.certificate.certified:
                    break
        if best is None:
            raise SolverFailed(
                f"{chosen} ended with {word!r}, without an answer or a proof that there is none: "
                f"relax a constraint, or scale the features"
            )
        self.show(best.origin[1])
        return best

    def solution(self, tol: float = 1e-6) -> Solution:
        """Judge the values that the variables have now, whoever put them there."""
        check_tol(tol)
        if any(v.value is None for v in self.problem.variables()):
            raise InputError(
                f"the variables have no values; the problem's status is {self.problem.status!r}"
            )
        stats = self.problem.solver_stats
        name = "given" if stats is None else str(stats.solver_name)
        return self._judged(tol, name, time.perf_counter(), at_limit=False)

    def show(self, point: Any) -> None:
        """Put the values, multipliers and parameters that a point carries back on the page."""
        for parameter, value in point.parameters:
            parameter.value = value
        for variable, value in zip(self.problem.variables(), point.values, strict=True):
            variable.save_value(value)
        for variable, value in zip(duals(self.problem), point.multipliers, strict=True):
            variable.save_value(value)
        settle_status(self.problem, cp.OPTIMAL)

    def _judged(self, tol: float, solver: str, started: float, *, at_limit: bool) -> Solution:
        """Report the current values with the KKT conditions and the Lagrangian bound."""
        risk, names = self.risk(), {c.id: name for name, c in self.constraints.items()}
        report = check_problem(self.problem, tol, names)
        point = self.point(risk)
        bound = self._bound(risk, point, tol)
        shown, absent = self._attributes(risk, point, report)
        status = Status.LIMIT if at_limit else Status.NOT_CERTIFIED
        return Solution(
            value=bound.primal_value,
            status=Status.CERTIFIED if bound.certified else status,
            solver=solver,
            seconds=time.perf_counter() - started,
            method=self.method,
            certificate=bound,
            _shown=shown,
            _absent=absent,
            _formulation=self,
            _point=ConstrainedPoint.now(self.problem, point),
            _parameters=self.parameter_values(),
        )

    def point(self, risk: RegularizedRisk) -> Point:
        """Return the point that the page's values claim, whatever it is worth."""
        candidate = self.base.read(risk)
        assert candidate.function is not None  # a primal page reads a function
        beta = np.zeros(risk.n) if candidate.beta is None else candidate.beta
        theta = np.zeros(0) if candidate.theta is None else candidate.theta
        return Point(beta, candidate.function, theta)

    def _bound(self, risk: RegularizedRisk, point: Point, tol: float) -> LagrangianBound:
        """Bound the optimum from both sides; constraints are judged in dimensionless variables."""
        scaled = Scaled(self)
        scaled.load()
        conditions = check_problem(scaled.problem, tol).conditions
        feasible = all(c.holds for c in conditions if c.kind == "primal feasibility")
        primal = self._objective(risk, point)
        scale = self.base.page.scale(self.parameter_values())
        pull = pull_of(list(self.extra.values()), self.variables)
        pull = None if pull is None else pull.over(scale)
        lower = scale * lower_bound(risk, point.beta, pull, in_weights="w" in self.variables)
        bound = LagrangianBound.of(primal, lower, tol, feasible=feasible)
        if bound.certified or not feasible:
            return bound
        inner = max(lower, scaled.unit * localised_bound(scaled.problem))
        near = LagrangianBound.of(primal, inner, tol, feasible=feasible, by_inner_solve=True)
        return near if near.dual_value > lower else bound

    def _objective(self, risk: RegularizedRisk, point: Point) -> float:
        """Return the objective: of f and b where the slack is free to follow, else of the page."""
        if risk.loss.hard or self.binds_slack():
            return float(np.asarray(self.problem.objective.value))
        scale = self.base.page.scale(self.parameter_values())
        return scale * risk.primal_value(point.function, point.theta)

    def binds_slack(self) -> bool:
        """Whether a constraint of the user's holds a variable of the page beside f and b."""
        slack = {v.id for name, v in self.variables.items() if name not in ("w", "beta", "b")}
        return any(v.id in slack for c in self.extra.values() for v in c.variables())

    def _attributes(
        self, risk: RegularizedRisk, point: Point, report: KKTReport
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a page shows, less what rests on the representer theorem."""
        shown, absent = self.base.page.attributes(risk, point)
        gone = ["alpha", "support", "intercept_interval"]
        gone += [] if "beta" in self.variables else ["beta"]
        for name in gone:
            shown.pop(name, None)
            absent[name] = NO_REPRESENTER
        prices = {name: _copied(c.dual_value) for name, c in self.extra.items()}
        shown = {name: _copied(value) for name, value in shown.items()}
        return shown | {"kkt": report, "shadow_prices": prices}, absent

    def __repr__(self) -> str:
        return f"<Formulation: primal of {self.method!r} with {', '.join(self.extra)}>"


class Scaled:
    """The page in variables near 1, its objective in the unit of a multiplier.

    w or β are g times a variable, g as in :mod:`kernelqp.twin`, and b stands about the mean of the
    rows; all other variables are the page's own.
    """

    def __init__(self, page: ConstrainedFormulation) -> None:
        self.page, risk = page, page.risk()
        self.unit = unit_of(risk.centred) * page.base.page.scale(page.parameter_values())
        name = "w" if "w" in page.variables else "beta"
        self.outer, self.b = page.variables[name], page.variables.get("b")
        self.gain = gain_of(risk.centred, in_weights=name == "w")
        rows = dense(risk.gram.factor if name == "w" else risk.gram.dense_matrix())
        self.rows, self.free = rows, risk.offset.is_intercept
        self.inner, self.about = cp.Variable(self.outer.shape, name=name), cp.Variable(name="b")
        self.mean = self.gain * rows.mean(axis=0)
        seen: dict[int, cp.Expression] = {id(self.outer): self.gain * self.inner}
        if self.free:
            seen[id(self.b)] = self.about - self.mean @ self.inner
        self.constraints = {k: c.tree_copy(seen) for k, c in page.constraints.items()}
        objective = page.problem.objective.expr.tree_copy(seen) / self.unit
        self.problem = cp.Problem(cp.Minimize(objective), list(self.constraints.values()))

    def run(self, solver: str, tolerance: float, options: dict[str, Any]) -> Remark:
        """Solve."""
        return run(self.problem, solver, tolerance, options)

    def has_values(self) -> bool:
        """Whether the solver left a value for every variable."""
        return all(v.value is not None for v in self.problem.variables())

    def store(self) -> None:
        """Write values and multipliers to the page; slack that is free is as small as can be."""
        self.outer.save_value(self.gain * self.inner.value)
        if self.b is not None and self.free:
            self.b.save_value(np.asarray(self.about.value - self.mean @ self.inner.value))
        pairs = zip(duals(self.page.problem), duals(self.problem), strict=True)
        for variable, dual in pairs:
            variable.save_value(None if dual.value is None else self.unit * np.asarray(dual.value))
        if not self.page.binds_slack():
            risk = self.page.risk()
            for name, value in self.page.page.slack_values(risk, self.page.point(risk)).items():
                self.page.variables[name].save_value(value)
        settle_status(self.page.problem, self.problem.status)

    def load(self) -> None:
        """Read values and multipliers from the page."""
        self.inner.save_value(self.outer.value / self.gain)
        if self.b is not None and self.free:
            self.about.save_value(np.asarray(self.b.value + self.mean @ self.inner.value))
        pairs = zip(duals(self.page.problem), duals(self.problem), strict=True)
        for variable, dual in pairs:
            dual.save_value(None if variable.value is None else variable.value / self.unit)
        settle_status(self.problem, cp.OPTIMAL)

    def units(self) -> dict[int, Vector]:
        """Return the size of the entries of w: what moves f by 1 over the spread of its feature.

        Where no free intercept takes the mean of a feature, that is a part of its spread.
        """
        if self.outer.name() != "w":
            return {}
        rows = self.rows[:, : self.outer.size]  # without the constant of a penalised intercept
        spread = rows.std(axis=0) if self.free else np.sqrt(np.square(rows).mean(axis=0))
        largest = float(spread.max(initial=0.0)) or 1.0
        return {self.inner.id: 1.0 / (self.gain * np.maximum(spread, 1e-8 * largest))}


@dataclass(frozen=True, eq=False, slots=True)
class ConstrainedPoint:
    """A point of the page, with the values, multipliers and parameters it was judged at."""

    beta: Any
    function: Any
    theta: Any
    values: list[Any]
    multipliers: list[Any]
    parameters: list[tuple[cp.Parameter, Any]]

    @classmethod
    def now(cls, problem: cp.Problem, point: Point) -> ConstrainedPoint:
        """Copy what the page holds."""
        given = [p for p in problem.parameters() if not isinstance(p, cp.CallbackParam)]
        return cls(
            point.beta,
            point.function,
            point.theta,
            [_copied(v.value) for v in problem.variables()],
            [_copied(v.value) for v in duals(problem)],
            [(p, _copied(p.value)) for p in given],
        )


def duals(problem: cp.Problem) -> list[Any]:
    """Return the dual variables of a problem's constraints, in order."""
    return [
        variable for constraint in problem.constraints for variable in constraint.dual_variables
    ]


def settle_status(problem: cp.Problem, status: str) -> None:
    """Tell cvxpy that the current values are the answer."""
    values = {variable.id: variable.value for variable in problem.variables()}
    problem.unpack(CvxpySolution(status, math.nan, values, {}, {}))


def _badness(solution: Solution) -> tuple[bool, float]:
    """Order answers: feasible ones first, then by the gap."""
    return not solution.certificate.feasible, solution.certificate.relative_gap


def _copied(value: Any) -> Any:
    """Return a read-only copy of an array, or of a list of them; anything else as it is."""
    if isinstance(value, list):
        return [_copied(part) for part in value]
    if not isinstance(value, np.ndarray):
        return value
    value = value.copy()
    value.setflags(write=False)
    return value
