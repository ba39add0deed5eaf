"""The cvxpy program of a page, built when somebody first looks at it.

Until then a statement holds the values of the parameters and what was last written to the page, so
that a solver that needs no cvxpy builds nothing of it; from then on the cvxpy objects hold both.
"""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution as CvxpySolution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelqp.fenchel import Program
    from kernelqp.formulation import Written

Thing = TypeVar("Thing")


class PageLock:
    """Lets one thread at a time work on a page; a copy of the page has a lock of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[PageLock], tuple[()]]:
        return PageLock, ()


class Statement:
    """How a program is stated, and the program from when it is first asked for.

    Parameters
    ----------
    state : callable
        Returns the program, given its cvxpy parameters by name.
    parameters : mapping of str to float
        The values, >= 0, that these parameters start with.
    """

    def __init__(self, state: Callable[..., Program], parameters: Mapping[str, float]) -> None:
        self._state, self._given = state, dict(parameters)
        self.lock = PageLock()
        self._program: Program | None = None
        self._unwritten: tuple[Callable[[], Written], str] | None = None

    @classmethod
    def of(cls, program: Program) -> Statement:
        """Return the statement of a program that there is already."""
        statement = cls(partial(same, program), {})
        statement._program = program
        return statement

    @property
    def program(self) -> Program:
        """The program, with everything that was written to it."""
        if self._program is None:
            with self.lock:
                self._build()
        assert self._program is not None  # built just now, if not before
        return self._program

    def _build(self) -> None:
        """State the program, and write to it what waits, unless another thread has done so."""
        if self._program is not None:
            return
        program = self._state(
            **{
                name: cp.Parameter(nonneg=True, value=value, name=name)
                for name, value in self._given.items()
            }
        )
        if self._unwritten is not None:
            fill, status = self._unwritten
            write(program, fill(), status)
        self._program, self._unwritten = program, None  # at once, lest a Ctrl-C part them

    @property
    def built(self) -> bool:
        """Whether somebody has looked at the program."""
        return self._program is not None

    def parameter_values(self) -> Mapping[str, Any]:
        """Return what the parameters hold, by name; None where somebody took the value away."""
        if self._program is None:
            return self._given
        return {name: parameter.value for name, parameter in self._program.parameters.items()}

    def write(self, fill: Callable[[], Written], status: str) -> None:
        """Write what ``fill`` returns to the program: now, or when it is built."""
        with self.lock:
            if self._program is None:
                self._unwritten = (fill, status)
            else:
                write(self._program, fill(), status)


def write(program: Program, written: Written, status: str) -> None:
    """Write values, multipliers and cvxpy's status to a program, as after a solve."""
    variables = {
        variable.id: np.reshape(written.variables[name], variable.shape, order="F")
        for name, variable in program.variables.items()
    }
    multipliers = {
        constraint.id: np.reshape(written.multipliers[name], constraint.shape, order="F")
        for name, constraint in program.constraints.items()
        if name in written.multipliers
    }
    program.problem.unpack(CvxpySolution(status, math.nan, variables, multipliers, {}))


def same(thing: Thing) -> Thing:
    """Return it: what is known already, where a function is asked for."""
    return thing
