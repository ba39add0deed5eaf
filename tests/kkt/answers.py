"""Answers of a problem as data: read them, change them, write them back as a solver would."""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution

DEFAULT = {
    "CLARABEL": {},
    "ECOS": {},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 200_000},
    "OSQP": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 200_000},
}
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def solve(problem, solver="CLARABEL", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate" is what the report is about
        problem.solve(solver=solver, **options)
    return problem


@dataclass
class Answer:
    primal: dict
    dual: dict

    @classmethod
    def of(cls, problem):
        return cls(
            {v.id: np.array(v.value) for v in problem.variables()},
            {c.id: [np.array(d.value) for d in c.dual_variables] for c in problem.constraints},
        )

    def scaled(self, move=1.0, multiply=1.0):
        return Answer(
            {k: move * x for k, x in self.primal.items()},
            {k: [multiply * d for d in parts] for k, parts in self.dual.items()},
        )

    def write(self, problem):
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
        new = cp.SOC(*args, axis=old.axis) if isinstance(old, cp.SOC) else type(old)(*args)
        for variable, source in zip(new.dual_variables, old.dual_variables, strict=True):
            variable.save_value(np.asarray(source.value) * currency / row)
        constraints.append(new)
    objective = type(problem.objective)(currency * problem.objective.expr.tree_copy(swap))
    scaled = cp.Problem(objective, constraints)
    values = {u.id: np.asarray(v.value) / unit for v, u in fresh.items()}
    scaled.unpack(Solution("optimal", 0.0, values, {}, {}))
    return scaled
