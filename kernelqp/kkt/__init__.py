"""The KKT report of any solved cvxpy problem, from its own numbers alone.

Read in this order: `report` (what is handed out), `lagrangian` (which multiplier goes where),
`sweep` (gradients and the sizes of their terms), `scales` (what a residual is compared with),
`stationarity` (the three ways), `check` (all of it in order).
"""

from kernelqp.kkt.check import check_problem
from kernelqp.kkt.lagrangian import Lagrangian, lagrangian
from kernelqp.kkt.report import Condition, KKTReport

__all__ = ["Condition", "KKTReport", "Lagrangian", "check_problem", "lagrangian"]
