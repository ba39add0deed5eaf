"""The KKT report of any solved cvxpy problem, from its own numbers alone.

Read in this order: `report` (what is handed out), `lagrangian` (which multiplier goes where),
`cones` (how far a point is from a cone), `attributes` (multipliers that variables hide), `sweep`
(gradients and the sizes of their terms), `scales` (what a residual is compared with),
`stationarity` (the three ways), `check` (all of it in order); `dual_function` and `stationarity`
share `inner`, which minimises a Lagrangian.
"""

from kernelqp.kkt.check import check_problem
from kernelqp.kkt.dual_function import dual_function
from kernelqp.kkt.lagrangian import Lagrangian, lagrangian
from kernelqp.kkt.report import Condition, KKTReport

__all__ = [
    "Condition",
    "KKTReport",
    "Lagrangian",
    "check_problem",
    "dual_function",
    "lagrangian",
]
