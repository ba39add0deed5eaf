"""A problem on paper: the cvxpy problem with its names, and its map to the engine.

A `Formulation` holds what the textbook shows (variables, constraints and parameters by name) and a
`Page`, which says what the names mean: the risk at the current parameter values, the candidate that
the current variables and multipliers claim, and the values of all of them at a point of the engine.
The cvxpy problem is built when it is first looked at (`kernelqp.statement`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from cvxpy import settings

from kernelqp.errors import InputError
from kernelqp.statement import Statement, same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import cvxpy as cp

    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.certificate import Candidate, Verdict
    from kernelqp.constrained import ConstrainedFormulation
    from kernelqp.data import Data
    from kernelqp.errors import Status
    from kernelqp.risk import Function
    from kernelqp.solution import Infeasible, Solution


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """A point of the engine in the page's coordinates: β, f and θ, none of them checked."""

    beta: Vector
    function: Function
    theta: Vector


@dataclass(frozen=True, eq=False, slots=True)
class Written:
    """Values for every variable and multipliers for every constraint of a page, by name."""

    variables: Mapping[str, Any]
    multipliers: Mapping[str, Any]


class Page(Protocol):
    """What the names on a page mean; one implementation a family of methods."""

    @property
    def side(self) -> str:
        """Which side of the duality the page shows: primal or dual."""

    @property
    def in_coefficients(self) -> bool:
        """Whether a primal page writes f in β even where features are explicit."""

    @property
    def penalised(self) -> bool:
        """Whether f has a penalty; without one all of it is an offset."""

    @property
    def data(self) -> Data | None:
        """The rows; None for a risk stated without data."""

    def scatter(self, values: Vector) -> Vector:
        """Put one value per row of the engine at the caller's rows."""

    def callers(self, rows: Indices) -> Indices:
        """Return the caller's rows of rows of the engine."""

    def method_at(self, parameters: Mapping[str, float]) -> Any:
        """Return the method with these parameter values."""

    def risk(self, parameters: Mapping[str, float]) -> Any:
        """Return the engine's problem at these parameter values: a RegularizedRisk or BallRisk."""

    def scale(self, parameters: Mapping[str, float]) -> float:
        """Return the page's value over the engine's, > 0."""

    def read(
        self, risk: Any, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return what the variables and multipliers claim, in the page's coordinates."""

    def fill(self, risk: Any, point: Point) -> Written:
        """Return the values of every variable and multiplier at a point."""

    def slack_values(self, risk: Any, point: Point) -> dict[str, Vector]:
        """Return the slack variables at f and b, as small as these allow, by name."""

    def attributes(self, risk: Any, point: Point) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a Solution shows of a point, and why other names are absent."""

    def decision_function(self, point: Point, X_new: Any) -> Matrix:
        """Return f(x) + b at new rows."""

    def predict(self, point: Point, X_new: Any) -> Any:
        """Return the predicted labels, or targets, at new rows."""


class Formulation:
    """A convex program for one method and one data set, ready to read, change and solve.

    Attributes
    ----------
    problem : cvxpy.Problem
        The page itself; ``problem.solve(solver=...)`` solves it literally. It is built when it, or
        one of the names below, is first looked at: our own solvers do without.
    variables, constraints, parameters : mapping of str to cvxpy objects
        By the textbook's names.

    Examples
    --------
    >>> import kernelqp as kq
    >>> dual = kq.SoftMarginSVM(C=10).dual([[1.0], [3.0]], [-1, 1])
    >>> sorted(dual.constraints)
    ['balance', 'lower', 'upper']
    >>> solution = dual.solve()
    >>> print(f"{solution.value:.6f} {dual.constraints['balance'].dual_value.item():.4f}")
    0.500000 -2.0000
    """

    def __init__(self, statement: Statement, page: Page) -> None:
        self._statement = statement
        self._page = page
        self.twins: dict[Any, Any] = {}  # compiled once, solved again at other parameter values

    @property
    def problem(self) -> cp.Problem:
        """The cvxpy problem."""
        return self._statement.program.problem

    @property
    def variables(self) -> Mapping[str, cp.Variable]:
        """The variables by name."""
        return self._statement.program.variables

    @property
    def constraints(self) -> Mapping[str, cp.Constraint]:
        """The constraints by name; their ``dual_value`` is the multiplier."""
        return self._statement.program.constraints

    @property
    def parameters(self) -> Mapping[str, cp.Parameter]:
        """The parameters by name; set ``.value`` and solve again, nothing is compiled twice."""
        return self._statement.program.parameters

    @property
    def page(self) -> Page:
        """The map between this page and the engine."""
        return self._page

    @property
    def side(self) -> str:
        """Which side of the duality this is: "primal" or "dual"."""
        return self._page.side

    @property
    def method(self) -> Any:
        """The method at the current parameter values."""
        return self._page.method_at(self.parameter_values())

    def risk(self) -> Any:
        """Return the engine's problem at the current parameter values."""
        return self._page.risk(self.parameter_values())

    def parameter_values(self) -> dict[str, float]:
        """Return the current parameter values by name.

        Raises
        ------
        InputError
            If a parameter has no value, or one that is not a finite number.
        """
        values = {}
        for name, held in self._statement.parameter_values().items():
            value = math.nan if held is None else float(np.asarray(held))
            if not math.isfinite(value):
                raise InputError(
                    f"parameter {name} must be a finite number; got {held!r}: "
                    f"set parameters[{name!r}].value"
                )
            values[name] = value
        return values

    def solve(
        self, solver: str = "auto", tol: float = 1e-6, **options: Any
    ) -> Solution | Infeasible:
        """Solve in dimensionless units, write the raw answer to this page, repair and certify.

        One thread at a time: another that asks this page waits; pages of their own do not.

        Parameters
        ----------
        solver : str
            "auto", "native" (our own), or the name of a solver that cvxpy has installed.
        tol : float
            The relative gap that counts as certified.
        **options
            For our own solvers ``start``, ``time_limit`` and ``memory``, as below. Others are
            passed on to cvxpy's solver, in its own words (``max_iter=50``).
        start : Solution
            An earlier solution of the same method: with another C or other weights, of fewer or
            more rows, known again by their features. Its sets are tried first.
        time_limit : float
            Seconds after which the best answer so far is certified and returned, as
            Status.LIMIT if that is not enough; reading the data and certifying come on top. No
            other solver takes over from ours where it is given.
            Ctrl-C does the same while our solver runs; a second one is Python's own.
        memory : int or str
            Bytes of rows of K that are kept: 2_000_000_000, "4GB" (unless said otherwise),
            "512MiB". Those beyond are computed again. A bound stays with this page.

        Raises
        ------
        InputError
            If tol or a parameter is out of range.
        SolverError
            If the solver is not installed, or failed without an answer.
        """
        from kernelqp.solve import solve_formulation  # knows solvers, this file does not

        with self._statement.lock:
            return solve_formulation(self, solver=solver, tol=tol, **options)

    def solution(self, tol: float = 1e-6) -> Solution:
        """Certify the values that the variables have now, whoever put them there."""
        from kernelqp.solve import certify_current

        with self._statement.lock:
            return certify_current(self, tol=tol)

    def adopt(self, verdict: Verdict, status: Status, solver: str, seconds: float) -> Solution:
        """Return what an algorithm of its own reached, and write it to this page.

        Parameters
        ----------
        verdict : Verdict
            The point and its certificate, for :meth:`risk` at the current parameter values.
        status, solver, seconds
            As the Solution is to show them.
        """
        from kernelqp.solve import adopt_verdict

        return adopt_verdict(self, verdict, status, solver, seconds)

    def read(self, risk: Any) -> Candidate:
        """Return what the current variables and multipliers claim.

        Raises
        ------
        InputError
            If a variable has no value yet.
        """
        values = {name: variable.value for name, variable in self.variables.items()}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            said = self.problem.status
            found = f"the problem's status is {said!r}" if said else "nothing was solved yet"
            raise InputError(
                f"variable {missing[0]} has no value, {found}: call solve() here, which judges for "
                f"itself, or problem.solve()"
            )
        duals = {name: constraint.dual_value for name, constraint in self.constraints.items()}
        return self._page.read(risk, values, duals)

    def write(
        self,
        written: Written | Callable[[Any], Written],
        status: str = settings.OPTIMAL,
        risk: Any = None,
    ) -> None:
        """Write values, multipliers and cvxpy's status to the page, as after a solve.

        ``written`` may be a function of :meth:`risk`, which is ``risk`` where that is at hand. A
        page that nobody has looked at yet is filled when it is built: only then is the function
        called, with the risk at the parameter values of now, stated again lest it be kept.
        """
        if isinstance(written, Written):
            fill = partial(same, written)
        elif self._statement.built and risk is not None:
            fill = partial(written, risk)
        else:
            fill = partial(_at, self._page, self.parameter_values(), written)
        self._statement.write(fill, status)

    def show(self, point: Any) -> None:
        """Write a point of the engine to the page."""
        self.write(partial(filled, self._page, point))

    def with_constraints(self, constraints: Any) -> ConstrainedFormulation:
        """Return this primal with your own constraints on its variables.

        Parameters
        ----------
        constraints : iterable of cvxpy constraints, or mapping of str to them
            Convex, in this page's variables and any of your own. Names show in the KKT report and
            in ``shadow_prices``; an iterable's are "constraint k".

        Returns
        -------
        ConstrainedFormulation
            Solved as this one. Its solution has no ``alpha`` and no Fenchel certificate: the
            representer theorem is gone. It has ``kkt``, the report of the problem, a Lagrangian
            bound as its ``certificate``, and ``shadow_prices``: the multiplier of each constraint,
            how fast the optimum falls as an inequality is relaxed.

        Raises
        ------
        InputError
            If the page is a dual, or a constraint cannot be used.

        Examples
        --------
        >>> import kernelqp as kq
        >>> page = kq.SoftMarginSVM(C=10).primal([[1.0, 0], [3.0, 1.0]], [-1, 1])
        >>> positive = page.with_constraints({"w <= 0.5": page.variables["w"] <= 0.5})
        >>> s = positive.solve()
        >>> s.certificate.certified, (s.weights.round(6) + 0.0).tolist()
        (True, [0.5, 0.5])
        """
        from kernelqp.constrained import constrained  # knows solvers, this file does not

        return constrained(self, constraints)

    def __repr__(self) -> str:
        return f"<Formulation: {self.side} of {self.method!r}>"


def filled(page: Page, point: Point, risk: Any) -> Written:
    """Return the values of every variable and multiplier of a page at a point of a risk."""
    return page.fill(risk, point)


def _at(page: Page, parameters: Mapping[str, float], fill: Callable[[Any], Written]) -> Written:
    """Return a function of the risk at these parameter values."""
    return fill(page.risk(parameters))
