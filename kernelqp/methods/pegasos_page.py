"""The map between Pegasos' page and the engine: λ is the unit of its objective.

With S = Σ s_i, costs c = s/(λ S), and z = y (f + b), the value is λ times the engine's and

    weights        w, b, ξ = max(0, 1 − z)   margin: λ α       slack: s/S − λ α
    coefficients   β, b, ξ                   the same          intercept: λ (y'α − b) (penalised)
    dual           α = y β                   lower: λ (z − 1)₊     upper, of λ α <= s/S: (1 − z)₊
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import ParameterError
from kernelqp.formulation import Written
from kernelqp.losses import Hinge
from kernelqp.methods.margin_page import MarginPage
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp._types import Vector
    from kernelqp.certificate import Candidate
    from kernelqp.formulation import Point

IN_LAM = {"primal": ("margin", "slack", "intercept"), "dual": ("lower",)}


@dataclass(frozen=True, eq=False)
class PegasosPage(MarginPage):
    """The page of λ/2 ‖f‖² + 1/S Σ s_i ξ_i."""

    @property
    def shares(self) -> Vector:
        """s_i/S, shape (n,): what a unit of slack costs."""
        return np.asarray(self.data.weights / self.data.weights.sum())

    def scale(self, parameters: Mapping[str, float]) -> float:
        """Return λ."""
        return parameters["lam"]

    def risk(self, parameters: Mapping[str, float]) -> RegularizedRisk:
        """Return the engine's problem, the costs s/(λ S)."""
        lam = parameters["lam"]
        if not lam > 0:
            raise ParameterError(
                f"lam must be > 0; got {lam!r}: without a penalty there is HardMarginSVM"
            )
        gram = self.engine_gram
        with np.errstate(over="ignore"):
            size2 = float(gram.diagonal.max()) / lam / lam  # ‖f‖² may grow to this
            costs = self.shares / lam
        if not (np.isfinite(costs).all() and costs.all() and np.isfinite(size2)):
            where = "small" if lam < 1 else "large"
            raise ParameterError(f"lam = {lam!r} is too {where} for these rows: 1/lam is no number")
        return RegularizedRisk(gram, self.data.targets, costs, Hinge(), self.offset)

    def read(
        self, risk: RegularizedRisk, values: Mapping[str, Any], multipliers: Mapping[str, Any]
    ) -> Candidate:
        """Return the candidate that variables and multipliers claim."""
        return super().read(risk, values, self._times(1.0 / self._lam(risk), multipliers))

    def fill(self, risk: RegularizedRisk, point: Point) -> Written:
        """Return every variable and multiplier of the page at a point of the engine."""
        written = super().fill(risk, point)
        return Written(written.variables, self._times(self._lam(risk), written.multipliers))

    def _times(self, factor: float, multipliers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the multipliers with those in the unit λ times a factor."""
        return {
            name: value if value is None or name not in IN_LAM[self.side] else factor * value
            for name, value in multipliers.items()
        }

    def _lam(self, risk: RegularizedRisk) -> float:
        return float(self.shares[0] / risk.costs[0])
