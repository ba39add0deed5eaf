"""A primal page with the user's own constraints: solved without units, bounded by Lagrange.

The representer theorem and the Fenchel dual do not know the new constraints, so the proof is that
of the problem itself: its KKT report, and a bound from its Lagrangian (`kernelqp.lagrange_bound`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution as CvxpySolution

from kernelqp.errors import InputError, SolverFailed, Status
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation, Point
from kernelqp.kkt import check_problem
from kernelqp.lagrange_bound import LagrangianBound, conflict, lower_bound, pull_of
from kernelqp.solution import Infeasible, Solution
from kernelqp.solve import check_tol
from kernelqp.solvers.cvxpy import Remark, capability, resolve_solver, run
from kernelqp.twin import gain_of, unit_of

if TYPE_CHECKING:
    from kernelqp.kkt import KKTReport
    from kernelqp.risk import RegularizedRisk

NO_REPRESENTER = "with constraints of your own f is no expansion in multipliers"
BELIEVABLE = 1e6  # units of a variable: no answer is looked for beyond


def constrained(base: Formulation, constraints: Any) -> ConstrainedFormulation:
    """Return a primal page with constraints added, checked.

    Raises
    ------
    InputError
        If the page is a dual, or a constraint is none of cvxpy's, not convex, or has a name that
        is taken.
    """
    if base.side != "primal":
        raise InputError("constraints go on the primal: a dual's variables are multipliers")
    if "M" in base.variables:
        raise InputError("constraints go on the form 'weights' or 'coefficients', not 'max_margin'")
    if not isinstance(constraints, Mapping):
        constraints = {f"constraint {k}": c for k, c in enumerate(constraints)}
    for name, constraint in constraints.items():
        if not isinstance(constraint, cp.constraints.constraint.Constraint):
            raise InputError(f"{name} must be a cvxpy constraint; got {constraint!r}")
        if not constraint.is_dcp():
            raise InputError(f"{name} is not convex by cvxpy's rules: {constraint}")
        if name in base.constraints:
            raise InputError(f"the name {name!r} is taken: the page has a constraint of that name")
    return ConstrainedFormulation(base, dict(constraints))


class ConstrainedFormulation(Formulation):
    """A primal page with constraints added; see :meth:`Formulation.with_constraints`."""

    def __init__(self, base: Formulation, extra: Mapping[str, cp.Constraint]) -> None:
        everything = {**base.constraints, **extra}
        problem = cp.Problem(base.problem.objective, list(everything.values()))
        program = Program(problem, base.variables, everything, base.parameters)
        super().__init__(program, base.page)
        self.base, self.extra = base, dict(extra)

    def solve(
        self, solver: str = "auto", tol: float = 1e-6, **options: Any
    ) -> Solution | Infeasible:
        """Solve in dimensionless units and judge; as :meth:`Formulation.solve`."""
        started = time.perf_counter()
        check_tol(tol)
        chosen = "CLARABEL" if solver == "auto" else resolve_solver(solver)
        known, solution = capability(chosen), None
        for tolerance in (known.loose * tol,) if options else (known.loose * tol, known.tight):
            remark = self._run(chosen, tolerance, options)
            if remark.word in cp.settings.INF_OR_UNB:
                proof = conflict(self.constraints, BELIEVABLE)
                if proof is not None:
                    return Infeasible(Status.INFEASIBLE, proof, time.perf_counter() - started)
            elif self._has_values():
                solution = self._judged(tol, chosen, started, at_limit=remark.at_limit)
                if solution.certificate.certified:
                    break
        if solution is None:
            raise SolverFailed(
                f"{chosen} ended with {remark.word!r} and no answer or proof: try CLARABEL, or "
                f"relax a constraint"
            )
        return solution

    def solution(self, tol: float = 1e-6) -> Solution:
        """Judge the values that the variables have now, whoever put them there."""
        check_tol(tol)
        if not self._has_values():
            raise InputError(
                f"the variables have no values; the problem's status is {self.problem.status!r}"
            )
        stats = self.problem.solver_stats
        name = "given" if stats is None else str(stats.solver_name)
        return self._judged(tol, name, time.perf_counter(), at_limit=False)

    def show(self, point: Any) -> None:
        """Put the values and multipliers that a point carries back on the page."""
        for variable, value in zip(self.problem.variables(), point.values, strict=True):
            variable.save_value(value)
        for variable, value in zip(self._dual_variables(), point.multipliers, strict=True):
            variable.save_value(value)
        self._settle_status(cp.OPTIMAL)

    def _dual_variables(self) -> list[Any]:
        return _duals(self.problem.constraints)

    def _settle_status(self, status: str) -> None:
        """Tell cvxpy that the current values are the answer."""
        values = {variable.id: variable.value for variable in self.problem.variables()}
        self.problem.unpack(CvxpySolution(status, np.nan, values, {}, {}))

    def _has_values(self) -> bool:
        return all(v.value is not None for v in self.problem.variables())

    # --- in dimensionless units ---------------------------------------------------------------

    def _run(self, solver: str, tolerance: float, options: dict[str, Any]) -> Remark:
        """Solve the page with its variables in dimensionless units, and write the answer back."""
        risk = self.risk()
        unit, seen = unit_of(risk.centred), self._substitution(risk)
        scaled = {name: c.tree_copy(seen) for name, c in self.constraints.items()}
        objective = cp.Minimize(self.problem.objective.expr.tree_copy(seen) / unit)
        problem = cp.Problem(objective, list(scaled.values()))
        remark = run(problem, solver, tolerance, options)
        for variable in self.problem.variables():
            expression = seen.get(id(variable), variable)
            variable.save_value(None if expression.value is None else np.asarray(expression.value))
        pairs = zip(self._dual_variables(), _duals(scaled.values()), strict=True)
        for variable, dual in pairs:
            variable.save_value(None if dual.value is None else unit * np.asarray(dual.value))
        if problem.status in cp.settings.SOLUTION_PRESENT:
            self._shrink_slack()
            self._settle_status(problem.status)
        return remark

    def _substitution(self, risk: RegularizedRisk) -> dict[int, cp.Expression]:
        """Return w or β and b as affine expressions of variables near 1, b about the rows' mean."""
        name = "w" if "w" in self.variables else "beta"
        variable, b = self.variables[name], self.variables.get("b")
        gain = gain_of(risk.centred, in_weights=name == "w")
        inner = cp.Variable(variable.shape, name=name)
        seen: dict[int, cp.Expression] = {id(variable): gain * inner}
        if b is not None and risk.offset.is_intercept:
            mean = np.asarray(risk.gram.factor if name == "w" else risk.gram.dense_matrix()).mean(0)
            seen[id(b)] = cp.Variable(name="b") - (gain * mean) @ inner
        return seen

    def _shrink_slack(self) -> None:
        """Make the slack just as large as the margins need: 1 − ξ − y (f + b) <= 0."""
        xi = self.variables.get("xi")
        if xi is not None:
            short = xi.value + np.asarray(self.base.constraints["margin"].expr.value)
            xi.save_value(np.maximum(short, 0.0))

    # --- judging ------------------------------------------------------------------------------

    def _judged(self, tol: float, solver: str, started: float, *, at_limit: bool) -> Solution:
        """Report the current values with the KKT conditions and the Lagrangian bound."""
        risk, names = self.risk(), {c.id: name for name, c in self.constraints.items()}
        report = check_problem(self.problem, tol, names)
        candidate = self.base.read(risk)
        assert candidate.function is not None  # a primal page reads a function
        beta = np.zeros(risk.n) if candidate.beta is None else candidate.beta
        theta = np.zeros(0) if candidate.theta is None else candidate.theta
        bound = self._bound(risk, beta, report, tol)
        point = Point(beta, candidate.function, theta)
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
            _point=ConstrainedPoint(
                beta,
                candidate.function,
                theta,
                [variable.value for variable in self.problem.variables()],
                [variable.value for variable in self._dual_variables()],
            ),
            _parameters=self.parameter_values(),
        )

    def _bound(
        self, risk: RegularizedRisk, beta: Any, report: KKTReport, tol: float
    ) -> LagrangianBound:
        feasible = [c.holds for c in report.conditions if c.kind == "primal feasibility"]
        pull = pull_of(list(self.extra.values()), self.variables)
        lower = lower_bound(risk, beta, pull, in_weights="w" in self.variables)
        primal = float(np.asarray(self.problem.objective.value))
        return LagrangianBound.of(primal, lower, tol, feasible=all(feasible))

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
        prices = {name: constraint.dual_value for name, constraint in self.extra.items()}
        return shown | {"kkt": report, "shadow_prices": prices}, absent


@dataclass(frozen=True, eq=False, slots=True)
class ConstrainedPoint:
    """A point of the page, with the values and multipliers that it was judged at."""

    beta: Any
    function: Any
    theta: Any
    values: list[Any]
    multipliers: list[Any]


def _duals(constraints: Iterable[cp.Constraint]) -> list[Any]:
    """Return the dual variables of constraints, in order."""
    return [variable for constraint in constraints for variable in constraint.dual_variables]
