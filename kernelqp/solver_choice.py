"""Which solvers are tried for a risk, and which of them an option is for."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any

from kernelqp.engine_options import EngineOptions, option_names
from kernelqp.errors import ParameterError
from kernelqp.solvers.cvxpy import resolve_solver
from kernelqp.solvers.native import NATIVE, takes

if TYPE_CHECKING:
    from kernelqp.risk import RegularizedRisk


def choose_solvers(risk: RegularizedRisk, solver: str) -> tuple[str, ...]:
    """Return the solvers to try.

    Our own solvers come first, for every loss that they take.
    """
    if str(solver).upper() == NATIVE:
        return (NATIVE,)
    if solver != "auto":
        return (resolve_solver(solver),)
    return (NATIVE, "CLARABEL") if takes(risk) else ("CLARABEL",)


def split_options(
    solvers: tuple[str, ...], solver: str, options: dict[str, Any]
) -> tuple[tuple[str, ...], EngineOptions, dict[str, Any]]:
    """Return the solvers that understand the options, what is for ours, and what is for cvxpy's."""
    if solvers == (NATIVE,):
        return solvers, EngineOptions.of(options), {}
    _check_names(solver, options)
    foreign = tuple(name for name in solvers if name != NATIVE)
    if solver != "auto" or not options:
        return solvers, EngineOptions(), options
    ours = {name: value for name, value in options.items() if name in option_names()}
    if not ours:  # they are cvxpy's
        return foreign, EngineOptions(), options
    if len(ours) < len(options):
        others = ", ".join(repr(name) for name in options if name not in ours)
        raise ParameterError(
            f"{', '.join(map(repr, ours))} are options of our own solvers and {others} of "
            f"cvxpy's: name the solver that is to have them"
        )
    own = EngineOptions.of(ours)
    if NATIVE not in solvers and (own.start is not None or own.memory is not None):
        raise ParameterError(
            f"start and memory are options of our own solvers, and none of them takes this loss, "
            f"which {foreign[0]} solves: leave them out"
        )
    limit = {"time_limit": own.time_limit} if math.isfinite(own.time_limit) else {}
    return solvers, own, limit


def _check_names(solver: str, options: dict[str, Any]) -> None:
    """Refuse options of ours for a solver of cvxpy, and names that are nearly those of ours."""
    for name in options:
        if solver != "auto" and name in {"start", "memory"}:
            raise ParameterError(
                f"{name} is an option of our own solvers, and {solver} has none such: leave it "
                f"out, or take solver='native' or 'auto'"
            )
        near = difflib.get_close_matches(name, option_names(), n=1, cutoff=0.9)
        if near and near[0] != name:
            raise ParameterError(f"there is no option {name!r}: did you mean {near[0]!r}?")
