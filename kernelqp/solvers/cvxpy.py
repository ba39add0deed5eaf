"""Every solver that cvxpy has installed, through one table of what differs between them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp.errors import SolverError, SolverFailed, SolverNotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Capability:
    """What is special about one solver.

    Attributes
    ----------
    quadratic : bool
        Whether it takes x'Px in the objective; a factor of P is handed over otherwise.
    tolerances : tuple of str
        The options that hold a tolerance.
    loose, tight : float
        The part of tol that it is asked for first, and the tolerance that it is asked for when that
        was not enough: a first-order method pays for every figure, an interior point does not.
    limits : mapping
        A limit is always set: no solver may run for ever.
    """

    quadratic: bool
    tolerances: tuple[str, ...] = ()
    loose: float = 1e-2
    tight: float = 1e-12
    limits: dict[str, Any] = field(default_factory=dict)


_OSQP = {"max_iter": 50_000, "time_limit": 60.0, "polishing": True}
_SCS = {"max_iters": 50_000, "time_limit_secs": 60.0}
CAPABILITIES = {
    "CLARABEL": Capability(
        True, ("tol_gap_abs", "tol_gap_rel", "tol_feas"), limits={"max_iter": 200}
    ),
    "OSQP": Capability(True, ("eps_abs", "eps_rel"), 1.0, 1e-9, _OSQP),
    "SCS": Capability(True, ("eps_abs", "eps_rel"), 0.1, 1e-9, _SCS),
    "ECOS": Capability(
        False, ("abstol", "reltol", "feastol"), tight=1e-11, limits={"max_iters": 200}
    ),
    "PIQP": Capability(True, ("eps_abs", "eps_rel"), limits={"max_iter": 250}),
    "PROXQP": Capability(True, ("eps_abs", "eps_rel"), 1e-2, 1e-10, {"max_iter": 10_000}),
    "QOCO": Capability(True, ("abstol", "reltol"), tight=1e-11, limits={"max_iters": 200}),
    "DAQP": Capability(True, ("primal_tol", "dual_tol"), tight=1e-11),
    "HIGHS": Capability(True, limits={"time_limit": 60.0}),
}
UNKNOWN = Capability(False)

FOUND = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)


@dataclass(frozen=True, slots=True)
class Remark:
    """What the solver says of its run; the certificate decides whether it is so.

    ``word`` is cvxpy's status; ``seconds`` the time inside ``problem.solve``.
    """

    word: str
    seconds: float

    @property
    def at_limit(self) -> bool:
        """Whether the solver stopped at a limit."""
        return bool(self.word == cp.USER_LIMIT)


def resolve_solver(name: str) -> str:
    """Return the solver's name as cvxpy writes it.

    Raises
    ------
    SolverNotInstalled
        If cvxpy does not have it; the message lists what it has.
    """
    wanted = str(name).upper()
    installed = cp.installed_solvers()
    if wanted not in installed:
        known = sorted(set(installed) & set(CAPABILITIES))
        raise SolverNotInstalled(
            f"solver {name!r} is not installed; cvxpy has {', '.join(known)}: "
            f"choose one of them, or solver='auto'"
        )
    return wanted


def capability(name: str) -> Capability:
    """Return the table's entry; an unknown solver is given a factor and its own defaults."""
    return CAPABILITIES.get(name, UNKNOWN)


def run(problem: cp.Problem, solver: str, tolerance: float, options: dict[str, Any]) -> Remark:
    """Solve in place, silently; values and multipliers are left on the problem.

    Raises
    ------
    SolverFailed
        If the solver raised or cannot take this kind of problem.
    """
    known = capability(solver)
    settings = dict.fromkeys(known.tolerances, tolerance) | known.limits | options
    started = time.perf_counter()
    try:
        with SILENCE:
            problem.solve(solver=solver, **settings)
    except (cp.error.SolverError, cp.error.DCPError) as error:
        if _ended_without_answer(error):
            return Remark(cp.SOLVER_ERROR, time.perf_counter() - started)
        raise SolverFailed(_complaint(solver, options, error)) from error
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic of a compiled solver derives from BaseException
        raise SolverFailed(_complaint(solver, options, error)) from error
    return Remark(problem.status, time.perf_counter() - started)


def _complaint(solver: str, options: dict[str, Any], error: BaseException) -> str:
    """Return the message for what a solver raised; the caller's options are the first suspects."""
    said = str(error).rstrip(".")
    what = f"{solver} cannot solve this problem: {type(error).__name__}: {said}"
    if options:
        return f"{what}: are {', '.join(map(repr, options))} options of {solver}?"
    return f"{what}: try CLARABEL"


def _ended_without_answer(error: Exception) -> bool:
    """Whether cvxpy reports a run that failed, and not a problem the solver cannot take."""
    return "failed" in str(error) and "Try another solver" in str(error)


class Silence:
    """Sends standard output and warnings nowhere while any thread is inside: both are one for all.

    cvxpy's warnings say "may be inaccurate", and so does the status.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                with contextlib.ExitStack() as stack:
                    stack.enter_context(silent())
                    stack.enter_context(warnings.catch_warnings())
                    warnings.simplefilter("ignore")
                    self._stack = stack.pop_all()
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._stack.close()


SILENCE = Silence()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Send standard output nowhere, compiled code's included: OSQP and HiGHS print past Python."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no standard output to guard
        yield
        return
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).fflush(None)
            os.dup2(saved, 1)
            os.close(saved)


__all__ = [
    "CAPABILITIES",
    "Capability",
    "Remark",
    "SolverError",
    "capability",
    "resolve_solver",
    "run",
]
