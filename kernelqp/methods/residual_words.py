"""Primal and dual of a regression with slacks as text and LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp import description
from kernelqp.description import HALF, TWO, ZERO, Description, decimals, number, relation, total
from kernelqp.methods.base import Machine, gram, meanings, row, scalar, stated_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp.description import Formula, Piece
    from kernelqp.methods.slacks import Slacks


def describe_residuals(
    method: Any, slacks: Slacks, parameters: Mapping[str, float], form: str
) -> Description:
    """Return the description of a method; ``parameters`` are shown beside C."""
    bare = bool(np.isinf(method.C))
    form = stated_form(method.kernel, form, ("weights", "coefficients"))
    intercept = "free" if bare and method.intercept != "none" else method.intercept
    machine = Machine.of(method.kernel, intercept, form)
    unknowns, constraints, cost = slacks.describe(machine.values)
    objective = cost if bare else HALF * machine.norm2 + number(method.C) * cost
    primal = description.Program(
        "minimise",
        (*machine.unknowns, *unknowns),
        objective,
        constraints if bare else constraints | dict(machine.extra),
    )
    no_penalty = (relation(scalar("C"), "=", INFINITY), " is no penalty")
    named: tuple[Piece, ...] = no_penalty if bare else (_equals("C", method.C),)
    for name, value in parameters.items():
        named = (*named, ", ", _equals(name, value))
    remarks = (
        named,
        *meanings(method.kernel, intercept),
        (row("s"), " is the sample weight"),
    )
    dual: Any = description.NoDual("without a penalty f is no combination of kernels")
    if not bare:
        dual = _dual(method, slacks)
    return Description(type(method).__name__, primal, dual, remarks)


INFINITY = description.Symbol("∞", r"\infty", "", lambda point: np.inf)  # noqa: ARG005


def _equals(name: str, value: float) -> Formula:
    return relation(scalar(name), "=", number(value))


def _dual(method: Any, slacks: Slacks) -> description.Program:
    """Return the dual in α, or in α and α*."""
    names = ("alpha", "alpha_star") if slacks.split else ("alpha",)
    beta_i: Formula = row("alpha")
    beta_j: Formula = row("alpha", "j")
    if slacks.split:
        beta_i, beta_j = beta_i - row("alpha_star"), beta_j - row("alpha_star", "j")
    gain = total("i", row("y") * beta_i)
    if slacks.epsilon:
        gain = gain - number(slacks.epsilon) * total("i", row("alpha") + row("alpha_star"))
    gain = gain - HALF * total("ij", beta_i * beta_j * gram(method.intercept))
    if slacks.curvature():
        over = number(decimals(method.C) / decimals(slacks.curvature()))
        bent = (
            row("alpha") ** TWO + row("alpha_star") ** TWO if slacks.split else row("alpha") ** TWO
        )
        gain = gain - total("i", bent / (over * row("s")))
    return description.Program(
        "maximise", tuple(map(scalar, names)), gain, _box(method, slacks, names, beta_i)
    )


def _box(method: Any, slacks: Slacks, names: tuple[str, ...], beta: Formula) -> dict[str, Formula]:
    constraints: dict[str, Formula] = {}
    (low, high), C = slacks.decimal_box(), decimals(method.C)
    for name in names:
        star = name.removeprefix("alpha")
        least = -(number(low * C) * row("s")) if low else ZERO
        constraints[f"lower{star}"] = relation(row(name), ">=", least)
        if high is not None:
            constraints[f"upper{star}"] = relation(row(name), "<=", number(high * C) * row("s"))
    if method.intercept == "free":
        constraints["balance"] = relation(total("i", beta), "=", ZERO)
    return constraints
