"""Answers of a problem as data: read them, change them, write them back as a solver would."""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.solution import Solution

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
TIGHTENED = {  # a solver that is not named has no tolerances cvxpy hands on
    "CLARABEL": TIGHT,
    "ECOS": {"abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10},
    "HIGHS": {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    "OSQP": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 200_000},
    "SCS": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000},
}


def solve(problem, solver="CLARABEL", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate" is what the report is about
        problem.solve(solver=solver, **options)
    return problem


def solved_by_all(build, options):
    """Yield (solver, problem) for every installed solver that takes this class of problem."""
    for solver in cp.installed_solvers():
        problem = build()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # cvxpy multiplies infinite bounds with 0
                problem.get_problem_data(solver)
        except cp.error.SolverError:  # cvxpy: the solver has no such cone
            continue
        yield solver, solve(problem, solver, **options.get(solver, {}))


def _dense(variable):
    sparse = variable.sparse_idx is not None
    value = variable.value_sparse if sparse else variable.value
    return value.toarray() if sp.issparse(value) else np.array(value)


def by_kind(report, kind):
    return [c for c in report.conditions if c.kind == kind]


def reasons(report):
    return [str(c.where) for c in report.conditions if c.holds is None]


@dataclass
class Answer:
    primal: dict
    dual: dict

    @classmethod
    def of(cls, problem):
        return cls(
            {v.id: _dense(v) for v in problem.variables()},
            {c.id: [np.array(d.value) for d in c.dual_variables] for c in problem.constraints},
        )

    def scaled(self, move=1.0, multiply=1.0):
        return Answer(
            {k: move * x for k, x in self.primal.items()},
            {k: [multiply * d for d in parts] for k, parts in self.dual.items()},
        )

    def write(self, problem):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Reading from a sparse CVXPY expression")
            problem.unpack(Solution("optimal", 0.0, self.primal, {}, {}))
        for constraint in problem.constraints:
            for variable, value in zip(
                constraint.dual_variables, self.dual[constraint.id], strict=True
            ):
                variable.save_value(value)
        return problem

    @property
    def has_multipliers(self):
        return sum(np.abs(d).sum() for parts in self.dual.values() for d in parts) > 1e-6


def in_units(problem, unit, currency, row):
    """The same solved problem with x in other units, f0 in another currency, scaled rows."""
    fresh = {v: cp.Variable(v.shape, name=v.name()) for v in problem.variables()}
    swap = {id(v): unit * u for v, u in fresh.items()}
    constraints = []
    for old in problem.constraints:
        args = [row * arg.tree_copy(swap) for arg in old.args]
        new = old.copy(args)
        for variable, source in zip(new.dual_variables, old.dual_variables, strict=True):
            variable.save_value(np.asarray(source.value) * currency / row)
        constraints.append(new)
    objective = type(problem.objective)(currency * problem.objective.expr.tree_copy(swap))
    scaled = cp.Problem(objective, constraints)
    values = {u.id: np.asarray(v.value) / unit for v, u in fresh.items()}
    scaled.unpack(Solution("optimal", 0.0, values, {}, {}))
    return scaled
