"""Quantile levels fitted together so that they do not cross at chosen points.

The problem, its dual and its bounds are those of `joint_levels`.

Source: Takeuchi, Le, Sears & Smola (2006), JMLR 7, 1231-1264, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.cross_gram import cross_gram
from kernelqp.crossings import find_crossings, least_crossing
from kernelqp.data import Data, read_new_features
from kernelqp.errors import ParameterError
from kernelqp.gram import Gram
from kernelqp.joint_levels import Levels
from kernelqp.repaired import is_precomputed
from kernelqp.solvers.cvxpy import capability, resolve_solver, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    import cvxpy as cp

    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.crossings import Crossing
    from kernelqp.fenchel import Program
    from kernelqp.kernels import Kernel
    from kernelqp.lagrange_bound import LagrangianBound
    from kernelqp.methods import QuantileRegression


@dataclass(frozen=True, eq=False)
class JointQuantiles:
    """Quantile levels that do not cross at the chosen points.

    Attributes
    ----------
    taus : tuple of float
        Increasing.
    value : float
        The joint objective, at fits that cross at none of the points; without a free intercept,
        which may lift a level, by no more than ``least``.
    certificate : LagrangianBound
        The two-sided bound on the optimum of the joint problem.
    coefficients : array, shape (T, n + m)
        g_t over the rows in use and, where points of their own were given, these.
    intercepts : array, shape (T,)
    multipliers : array, shape (T − 1, m)
        μ >= 0 of every non-crossing constraint: how fast the optimum rises as the upper level has
        to stay further above the lower one.
    problem, variables, constraints
        The joint problem as cvxpy states it, solved; a name ends in the number of its level.
    """

    taus: tuple[float, ...]
    value: float
    certificate: LagrangianBound
    coefficients: Matrix
    intercepts: Vector
    multipliers: Matrix
    _program: Program = field(repr=False)
    _rows: Rows = field(repr=False)

    @property
    def problem(self) -> cp.Problem:
        """The joint problem."""
        return self._program.problem

    @property
    def variables(self) -> Mapping[str, cp.Variable]:
        """Its variables by name."""
        return self._program.variables

    @property
    def constraints(self) -> Mapping[str, cp.Constraint]:
        """Its constraints by name."""
        return self._program.constraints

    @property
    def least(self) -> float:
        """The amount from which a crossing is one: tol of the mean of |y − median|."""
        return least_crossing(self._rows.data.targets, self.certificate.tol)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where neighbouring levels cross by more than tol at the training rows.

        Those need not be among the points; a row of weight 0 is not looked at.
        """
        data = self._rows.data
        found = [self.variables[f"p_{t}"].value for t in range(len(self.taus))]
        used = len(data.rows)
        fitted = np.column_stack([data.scatter(p[:used]) for p in found])
        return find_crossings(self.taus, fitted, self.least)

    def predict(self, X: Any) -> Matrix:
        """Return the quantiles at new rows, shape (n_new, T), in the order of ``taus``."""
        return np.asarray(self._rows.cross(X) @ self.coefficients.T + self.intercepts)

    def crossings_at(self, X: Any) -> tuple[Crossing, ...]:
        """Return where neighbouring levels cross at new rows, the largest first."""
        return find_crossings(self.taus, self.predict(X), self.least)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows in use, the points of their own below them, and the kernel between them."""

    data: Data
    kernel: Kernel
    extra: Matrix
    points: Indices

    @classmethod
    def read(cls, method: QuantileRegression, data: Data, non_crossing: Any) -> Rows:
        """Return the rows with the points: "data" or an array of them."""
        kernel, n = method.kernel.bind(data.X), len(data.rows)
        if isinstance(non_crossing, str):
            if non_crossing != "data":
                raise ParameterError(
                    f"non_crossing must be None, 'data' or an array of points; got {non_crossing!r}"
                )
            return cls(data, kernel, data.X[:0], np.arange(n))
        if is_precomputed(kernel):
            raise ParameterError(
                "non_crossing must be 'data' for a precomputed kernel, which cannot see new points"
            )
        extra = read_new_features(non_crossing, data.X.shape[1], data.feature_names)
        return cls(data, kernel, extra, n + np.arange(len(extra)))

    def gram(self) -> Gram:
        """Return the kernel on all rows."""
        X = np.vstack([self.data.X, self.extra]) if len(self.extra) else self.data.X
        return Gram.of(self.kernel, X, precision=self.data.precision)

    def cross(self, X: Any) -> Matrix:
        """Return the kernel between new rows and all of these."""
        data = self.data
        K = cross_gram(self.kernel, X, data.X, data.rows, data.n, data.feature_names)
        if not len(self.extra):
            return K
        new = read_new_features(X, data.X.shape[1], data.feature_names)
        return np.hstack([K, np.asarray(self.kernel(new, self.extra))])


def joint_quantiles(
    method: QuantileRegression,
    taus: tuple[float, ...],
    data: Data,
    non_crossing: Any,
    solver: str,
    tol: float,
) -> JointQuantiles:
    """Solve the joint problem without units, bound its optimum, and write the answer to the page.

    Raises
    ------
    InputError
        If C is infinite, or the points cannot be used.
    """
    if np.isinf(method.C):
        raise ParameterError("C must be finite where non_crossing is given; got inf")
    rows = Rows.read(method, data, non_crossing)
    gram = rows.gram()
    if method.intercept == "penalized":
        gram = gram.plus_constant()
    costs, free = method.C * data.weights, method.intercept == "free"
    middle = float(np.median(data.targets)) if free else 0.0  # a free intercept takes it
    levels = Levels(gram, data.targets - middle, costs, np.array(taus), rows.points, free)
    program = levels.relative().program()
    name = "CLARABEL" if solver == "auto" else resolve_solver(solver)
    for tolerance in (1e-2 * tol, capability(name).tight):
        run(program.problem, name, tolerance, {})
        answer = levels.answer(program, tol)
        if answer.bound.certified:
            break
    page = levels.shifted(middle).program()
    levels.write(page, answer, middle)
    b = answer.b + middle
    if method.intercept == "penalized":
        b = answer.g.sum(axis=1)
    bound = answer.bound
    return JointQuantiles(taus, bound.primal_value, bound, answer.g, b, answer.mu, page, rows)
