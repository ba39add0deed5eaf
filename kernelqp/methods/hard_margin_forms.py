"""The hard margin as a page: what every method that looks for a separating plane states."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kernelqp import description
from kernelqp.description import (
    HALF,
    ONE,
    TWO,
    ZERO,
    Description,
    Operation,
    relation,
)
from kernelqp.errors import ParameterError
from kernelqp.fenchel import Program
from kernelqp.formulation import Formulation
from kernelqp.methods.base import (
    MARGIN_BALANCE,
    SIGNS,
    Machine,
    dual_margin_gain,
    meanings,
    row,
    scalar,
    stated_form,
)
from kernelqp.methods.margin_page import HARD_FORMS, MarginPage
from kernelqp.statement import Statement

if TYPE_CHECKING:
    from kernelqp.kernels import Kernel


class HardMarginForms:
    """min 1/2 ‖f‖² with every margin at least 1, its dual, and the form of maximum margin."""

    kernel: Kernel | Any
    intercept: str

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX; see the method's own."""
        form = stated_form(self.kernel, form, HARD_FORMS)
        meaning = (*meanings(self.kernel, self.intercept), SIGNS)
        if form == "max_margin":
            form = stated_form(self.kernel, "auto", HARD_FORMS)
            primal = self._described_max_margin(Machine.of(self.kernel, self.intercept, form))
            meaning += (("the dual's value is ", ONE / (TWO * scalar("M") ** TWO)),)
        else:
            machine = Machine.of(self.kernel, self.intercept, form)
            margin = relation(row("y") * machine.values, ">=", ONE)
            constraints = {"margin": margin, **machine.extra}
            objective = HALF * machine.norm2
            primal = description.Program("minimise", machine.unknowns, objective, constraints)
        return Description(type(self).__name__, primal, self._described_dual(), meaning)

    def _described_max_margin(self, machine: Machine) -> description.Program:
        """Return the machine with ‖f‖ <= 1 and the largest margin M."""
        M = scalar("M")
        constraints = {
            "margin": relation(row("y") * machine.values, ">=", M),
            "norm": relation(Operation("root", (machine.norm2,)), "<=", ONE),
            **machine.extra,
        }
        return description.Program("maximise", (*machine.unknowns, M), M, constraints)

    def _described_dual(self) -> description.Program:
        constraints = {"lower": relation(row("alpha"), ">=", ZERO)}
        if self.intercept == "free":
            constraints["balance"] = MARGIN_BALANCE
        gain = dual_margin_gain(self.intercept)
        return description.Program("maximise", (scalar("alpha"),), gain, constraints)

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features), "coefficients", or "max_margin"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        if form == "max_margin":
            page = MarginPage.read_data(self, X, y, sample_weight, "auto", None)
            page = replace(page, unit_norm=True)
            return Formulation(Statement(partial(self._state_max_margin, page), {}), page)
        page = MarginPage.read_data(self, X, y, sample_weight, form, None)
        return Formulation(Statement(partial(self._state_primal, page), {}), page)

    def _state_primal(self, page: MarginPage) -> Program:
        variables, norm2, values, extra = page.machine()
        constraints = {"margin": cp.multiply(page.data.targets, values) >= 1, **extra}
        problem = cp.Problem(cp.Minimize(0.5 * norm2), list(constraints.values()))
        return Program(problem, variables, constraints, {})

    def _state_max_margin(self, page: MarginPage) -> Program:
        """State the machine with ‖f‖ <= 1 and the largest margin M."""
        variables, _, values, extra = page.machine()
        M = variables["M"] = cp.Variable(name="M")
        constraints = {
            "margin": cp.multiply(page.data.targets, values) >= M,
            "norm": page.norm(variables) <= 1,
            **extra,
        }
        problem = cp.Problem(cp.Maximize(M), list(constraints.values()))
        return Program(problem, variables, constraints, {})

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        page = MarginPage.read_data(self, X, y, sample_weight, "dual", None)
        return Formulation(Statement(partial(self._state_dual, page), {}), page)

    def _state_dual(self, page: MarginPage) -> Program:
        alpha = cp.Variable(page.data.targets.size, name="alpha")
        constraints = {"lower": alpha >= 0}
        if self.intercept == "free":
            constraints["balance"] = page.data.targets @ alpha == 0
        objective = cp.Maximize(cp.sum(alpha) - 0.5 * page.dual_norm2(page.signed(alpha)))
        problem = cp.Problem(objective, list(constraints.values()))
        return Program(problem, {"alpha": alpha}, constraints, {})
