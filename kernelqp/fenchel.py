"""The Fenchel primal and dual of any regularised risk as cvxpy problems, each stated once.

    (P)  min  λ/2 ‖f‖² + d'θ + Σ c_i ℓ(y_i, p_i)     p = μ f(x) + Bθ      f = K β or F w
    (D)  max  −κ/2 β'K β − Σ c_i ℓ*(y_i, −β_i / c_i)    B'β = d

λ, μ, κ are 1 on the page; the dimensionless twin moves the units into them. p is a variable, so
that the multiplier of its equation is β: a primal solve gives both sides of the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import cvxpy as cp
import scipy.sparse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Matrix, Vector
    from kernelqp.formulation import Formulation
    from kernelqp.gram import Gram
    from kernelqp.risk import RegularizedRisk

    Scalar: TypeAlias = float | cp.Parameter
    Price: TypeAlias = Vector | cp.Parameter


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A cvxpy problem with its variables, constraints and parameters by name."""

    problem: cp.Problem
    variables: Mapping[str, cp.Variable]
    constraints: Mapping[str, cp.Constraint]
    parameters: Mapping[str, cp.Parameter]


def constant(matrix: Matrix) -> cp.Constant:
    """Return a cvxpy constant that shares the memory of a read-only matrix.

    cvxpy copies an array, lest its owner change it, and takes a buffer as it is.
    """
    if scipy.sparse.issparse(matrix) or matrix.flags.writeable:
        return cp.Constant(matrix)
    return cp.Constant(memoryview(matrix))  # type: ignore[arg-type]  # arrays are buffers


def square_norm(gram: Gram, x: cp.Expression, *, quadratic: bool = True) -> cp.Expression:
    """Return x'K x.

    A dense K is known to be PSD from its Gram, so cvxpy need not test it (its ARPACK test fails on
    valid Grams and costs more than the solve). A solver without a quadratic objective makes cvxpy
    factorise K, which refuses valid Grams too: it gets the factor from the Gram.
    """
    if gram.factor is not None:
        return cp.sum_squares(constant(gram.factor.T) @ x)
    if quadratic:
        return cp.quad_form(x, cp.psd_wrap(constant(gram.dense_matrix())))
    return cp.sum_squares(constant(gram.thin_factor().T) @ x)


def primal_program(
    risk: RegularizedRisk,
    penalty: Scalar = 1.0,
    gain: Scalar = 1.0,
    price: Price | None = None,
    *,
    quadratic: bool = True,
) -> Program:
    """State (P) in w where the features are explicit, in β otherwise.

    ``price`` stands for that of the offset, to be set later.
    """
    gram, loss = risk.gram, risk.loss
    p = cp.Variable(risk.n, name="p")
    if gram.factor is not None:
        f = cp.Variable(gram.factor.shape[1], name="w")
        norm2, values = cp.sum_squares(f), constant(gram.factor) @ f
    else:
        f = cp.Variable(risk.n, name="beta")
        norm2, values = square_norm(gram, f, quadratic=quadratic), constant(gram.dense_matrix()) @ f
    variables = {f.name(): f, "p": p}
    prediction, priced = gain * values, 0.0
    if risk.offset.price.size:
        theta = variables["theta"] = cp.Variable(risk.offset.price.size, name="theta")
        prediction = prediction + risk.offset.basis @ theta
        priced = (risk.offset.price if price is None else price) @ theta
    lost, domain = loss.value_expr(risk.targets, p)
    constraints = {"prediction": p == prediction} | _numbered("domain", domain)
    objective = cp.Minimize(0.5 * penalty * norm2 + priced + cp.sum(cp.multiply(risk.costs, lost)))
    return Program(cp.Problem(objective, list(constraints.values())), variables, constraints, {})


def dual_program(
    risk: RegularizedRisk,
    curvature: Scalar = 1.0,
    price: Price | None = None,
    *,
    quadratic: bool = True,
) -> Program:
    """State (D) in β; ``price`` as for :func:`primal_program`."""
    beta = cp.Variable(risk.n, name="beta")
    norm2 = square_norm(risk.gram, beta, quadratic=quadratic)
    conjugate, domain = risk.loss.conjugate_expr(risk.targets, cp.multiply(-1.0 / risk.costs, beta))
    constraints = _numbered("domain", domain)
    if risk.offset.price.size:
        due = risk.offset.price if price is None else price
        constraints["balance"] = risk.offset.basis.T @ beta == due
    lost = cp.sum(cp.multiply(risk.costs, conjugate))
    objective = cp.Maximize(-lost - 0.5 * curvature * norm2)
    return Program(
        cp.Problem(objective, list(constraints.values())), {"beta": beta}, constraints, {}
    )


def primal_formulation(risk: RegularizedRisk) -> Formulation:
    """Return (P) of a risk as a formulation that can be solved and certified."""
    from kernelqp.engine_page import EnginePage  # a page of the risk itself
    from kernelqp.formulation import Formulation
    from kernelqp.statement import Statement

    return Formulation(Statement(partial(primal_program, risk), {}), EnginePage(risk, "primal"))


def dual_formulation(risk: RegularizedRisk) -> Formulation:
    """Return (D) of a risk as a formulation that can be solved and certified."""
    from kernelqp.engine_page import EnginePage
    from kernelqp.formulation import Formulation
    from kernelqp.statement import Statement

    return Formulation(Statement(partial(dual_program, risk), {}), EnginePage(risk, "dual"))


def _numbered(name: str, constraints: list[cp.Constraint]) -> dict[str, cp.Constraint]:
    """Name the constraints that bound a domain."""
    if len(constraints) == 1:
        return {name: constraints[0]}
    return {f"{name} {k}": constraint for k, constraint in enumerate(constraints)}
