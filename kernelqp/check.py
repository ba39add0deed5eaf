"""`check_kkt` for whatever can be checked: a Solution, a Formulation, a solved cvxpy problem."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp.errors import InputError, NotCertified
from kernelqp.formulation import Formulation
from kernelqp.kkt import KKTReport, check_problem
from kernelqp.solution import Infeasible, Solution

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_kkt(target: Any, tol: float = 1e-6) -> KKTReport:
    """Report the KKT conditions of a result, each with value, scale and tolerance.

    Stationarity is decided by the gradient of the Lagrangian where it is small, which proves it;
    else, as at a kink the gradient is one subgradient of many, by how far the Lagrangian falls near
    the point, which is of second order in the gradient and is called evidence. What cannot be
    judged (integer variables, no multipliers, values changed since the solve ...) says so, and a
    report with such a condition does not hold.

    Parameters
    ----------
    target : Solution, Formulation or cvxpy.Problem
        A Solution is judged at its repaired point, a Formulation or a problem at the values and
        multipliers of its last solve.
    tol : float
        Relative tolerance of every condition.

    Raises
    ------
    InputError
        If ``target`` is something else, or tol is not a positive number.

    Source
    ------
    Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3.

    Examples
    --------
    >>> import kernelqp as kq
    >>> s = kq.SoftMarginSVM(C=10).solve([[1.0], [3.0]], [-1, 1])
    >>> kq.check_kkt(s).holds
    True
    """
    if isinstance(target, Solution):
        with repaired_point(target) as formulation:
            return _check_formulation(formulation, tol)
    if isinstance(target, Formulation):
        return _check_formulation(target, tol)
    if isinstance(target, Infeasible):
        raise InputError(f"there is no point to check: {target}")
    return check_problem(target, tol)


def assert_kkt(target: Any, tol: float = 1e-6) -> None:
    """Raise unless every KKT condition is judged and holds.

    Parameters
    ----------
    target, tol
        As for :func:`check_kkt`.

    Raises
    ------
    NotCertified
        With the report as its message.
    InputError
        As :func:`check_kkt`.
    """
    report = check_kkt(target, tol)
    if not report.holds:
        raise NotCertified(f"the KKT conditions do not hold at tol = {tol:g}:\n{report}")


def _check_formulation(formulation: Formulation, tol: float) -> KKTReport:
    names = {constraint.id: name for name, constraint in formulation.constraints.items()}
    return check_problem(formulation.problem, tol, names)


@contextlib.contextmanager
def repaired_point(solution: Solution) -> Iterator[Formulation]:
    """Show the solution's page at its repaired point, and put everything back afterwards."""
    formulation, point, parameters = solution.origin
    problem = formulation.problem
    own = [*problem.parameters(), *formulation.parameters.values()]
    given = [p for p in own if not isinstance(p, cp.CallbackParam)]
    before = [(p, p.value) for p in given]
    held = [(v, v.value) for v in problem.variables()]
    duals = [(v, v.value) for c in problem.constraints for v in c.dual_variables]
    state = (problem._value, problem._status, problem._solution)  # cvxpy has no setter
    try:
        for name, value in parameters.items():
            formulation.parameters[name].value = value
        formulation.show(point)
        yield formulation
    finally:
        for parameter, value in before:
            parameter.value = value
        for variable, value in (*held, *duals):
            variable.save_value(value)
        problem._value, problem._status, problem._solution = state
