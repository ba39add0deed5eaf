"""What every method does alike: primal, dual, and solve, which chooses between them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelqp._types import Vector
    from kernelqp.formulation import Formulation
    from kernelqp.solution import Infeasible, Solution

INTERCEPTS = ("free", "penalized", "none")


class Method:
    """A textbook method; subclasses state its primal and its dual."""

    kernel: Any

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal as a cvxpy problem; the forms are the method's own."""
        raise NotImplementedError

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual as a cvxpy problem."""
        raise NotImplementedError

    def has_explicit_features(self) -> bool:
        """Whether f can be written in weights w."""
        raise NotImplementedError

    def solve(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        form: str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        **options: Any,
    ) -> Solution | Infeasible:
        """Solve and certify: the primal in weights where features are explicit, else the dual.

        Parameters
        ----------
        X : array, shape (n, d), or (n, n) for a precomputed kernel
        y : array, shape (n,)
        sample_weight : array, shape (n,), optional
            Rows of weight 0 leave the problem.
        form : str
            "auto", "primal", "dual", or a form of the primal ("weights", "coefficients").
        solver, tol, **options
            As for :meth:`kernelqp.formulation.Formulation.solve`.

        Raises
        ------
        InputError
            If something passed in cannot be used; never for what the data are.
        SolverError
            If the solver is not installed, or failed without an answer.
        """
        if form == "auto":
            form = "primal" if self.has_explicit_features() else "dual"
        if form == "dual":
            formulation = self.dual(X, y, sample_weight)
        else:
            wanted = "auto" if form == "primal" else form
            formulation = self.primal(X, y, sample_weight, form=wanted)
        return formulation.solve(solver=solver, tol=tol, **options)


def positive(name: str, value: Any, remedy: str = "") -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and > 0.

    ``remedy`` is what to do instead of an infinite value.
    """
    number = _number(name, value)
    if not (number > 0 and math.isfinite(number)):
        hint = remedy if number == math.inf else ""
        raise ParameterError(f"{name} must be a finite number > 0; got {value!r}{hint}")
    return number


def not_negative(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and >= 0."""
    number = _number(name, value)
    if not (number >= 0 and math.isfinite(number)):
        raise ParameterError(f"{name} must be a finite number >= 0; got {value!r}")
    return number


def at_least_one(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise ParameterError unless it is finite and >= 1."""
    number = _number(name, value)
    if not (number >= 1 and math.isfinite(number)):
        raise ParameterError(f"{name} must be a finite number >= 1; got {value!r}")
    return number


def grid(name: str, values: Any) -> Vector:
    """Return ``values`` as a vector of finite numbers >= 0, or raise ParameterError."""
    try:
        found = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([np.nan])
    good = np.isfinite(found) & (found >= 0)
    if found.ndim != 1 or found.size == 0 or not good.all():
        raise ParameterError(f"{name} must be a vector of finite numbers >= 0; got {values!r}")
    return found


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value``, or raise ParameterError unless it is one of the names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, names))}; got {value!r}")
    return value


def _number(name: str, value: Any) -> float:
    import numbers

    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(
            f"{name} must be a number; got {value!r} of type {type(value).__name__}"
        )
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(f"{name} is too large for a float; got {value!r}") from None
