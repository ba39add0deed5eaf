"""Several quantile levels of one data set: fitted one by one, or together without crossings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.crossings import Crossing, find_crossings, least_crossing
from kernelqp.data import read_targets, regression_data
from kernelqp.errors import ParameterError
from kernelqp.methods import QuantileRegression
from kernelqp.methods.base import between
from kernelqp.non_crossing import JointQuantiles, joint_quantiles
from kernelqp.progress import Progress
from kernelqp.repaired import is_precomputed
from kernelqp.solution import Solution
from kernelqp.tolerance import check_tol

if TYPE_CHECKING:
    from kernelqp._types import Matrix


@dataclass(frozen=True, eq=False, slots=True)
class Quantiles:
    """Fits of several levels, one by one.

    Attributes
    ----------
    taus : tuple of float
        Increasing.
    solutions : tuple of Solution
        One a level, each with its certificate.
    crossings : tuple of Crossing
        Where neighbouring levels cross at the training rows in use, the largest first.
    least : float
        The amount from which a crossing is one: tol of the mean distance of y from its median.
    value : float
        The sum of the values.
    """

    taus: tuple[float, ...]
    solutions: tuple[Solution, ...]
    crossings: tuple[Crossing, ...]
    least: float

    @property
    def value(self) -> float:
        """The sum of the values of the levels."""
        return float(sum(s.value for s in self.solutions))

    def predict(self, X: Any) -> Matrix:
        """Return the quantiles at new rows, shape (n_new, T), in the order of ``taus``."""
        return np.column_stack([s.predict(X) for s in self.solutions])

    def crossings_at(self, X: Any) -> tuple[Crossing, ...]:
        """Return where neighbouring levels cross at new rows, the largest first."""
        return find_crossings(self.taus, self.predict(X), self.least)


def quantiles(  # noqa: PLR0913  # by keyword, those of QuantileRegression and of solve
    X: Any,
    y: Any,
    taus: Any,
    *,
    C: float = 1.0,
    kernel: Any = "linear",
    intercept: str = "free",
    sample_weight: Any = None,
    non_crossing: Any = None,
    solver: str = "auto",
    tol: float = 1e-6,
) -> Quantiles | JointQuantiles:
    """Fit several quantile levels, and report where they cross or keep them from crossing.

    Levels fitted one by one are each right and need not be ordered. With ``non_crossing`` they are
    fitted together,

        minimise    Σ_t (1/2 ‖f_t‖² + C Σ_i s_i ρ_t(y_i − f_t(x_i) − b_t))
        subject to  f_t(z_p) + b_t <= f_{t+1}(z_p) + b_{t+1}   at chosen points z_p

    with ρ_t the check loss of level τ_t, at a value not below the sum of the separate ones.

    Parameters
    ----------
    X : array, shape (n, d), or (n, n) for a precomputed kernel
    y : array, shape (n,)
    taus : array, shape (T,)
        Levels in (0, 1), in any order, no two the same.
    C, kernel, intercept
        As for :class:`QuantileRegression`; C finite where ``non_crossing`` is given.
    sample_weight : array, shape (n,), optional
    non_crossing : None, "data" or array, shape (m, d)
        The points at which levels must not cross: nowhere, at the rows in use, or at these.
    solver : str
        As for ``solve``.
    tol : float
        The relative gap that counts as certified.

    Returns
    -------
    Quantiles or JointQuantiles
        The separate fits, or the joint one with the multiplier of every non-crossing constraint.

    Raises
    ------
    InputError
        If something passed in cannot be used.

    Source
    ------
    Takeuchi, Le, Sears & Smola (2006), Nonparametric quantile estimation, JMLR 7, 1231-1264,
    section 4.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0.0, 6.0, 1.5, 3.0, 2.6, 2.8]
    >>> apart = kq.quantiles(X, y, [0.1, 0.5, 0.9], C=1000)
    >>> worst = apart.crossings[0]
    >>> print(worst.lower, worst.upper, worst.row, round(worst.amount, 4))
    0.5 0.9 5 0.35
    >>> joint = kq.quantiles(X, y, [0.1, 0.5, 0.9], C=1000, non_crossing="data")
    >>> joint.crossings, joint.certificate.certified, joint.value >= apart.value
    ((), True, True)
    """
    levels = read_levels(taus)
    check_tol(tol)
    if non_crossing is not None:
        method = QuantileRegression(C, levels[0], kernel, intercept)
        data = regression_data(X, y, sample_weight, is_precomputed(method.kernel))
        return joint_quantiles(method, levels, data, non_crossing, solver, tol)
    solutions = []
    with Progress("quantiles", total=len(levels)) as progress:
        for tau in levels:
            progress.say(f"tau = {tau:g}")
            method = QuantileRegression(C, tau, kernel, intercept)
            found = method.solve(X, y, sample_weight, solver=solver, tol=tol)
            assert isinstance(found, Solution)  # every level has a fit
            solutions.append(found)
            progress.step()
    residuals = np.column_stack([s.residuals for s in solutions])
    used = ~np.isnan(residuals[:, 0])  # rows of weight 0 have none
    fitted = np.where(used[:, None], -residuals, 0.0)  # f + b = y − r: the y cancels in differences
    least = least_crossing(read_targets(y)[used], tol)
    return Quantiles(levels, tuple(solutions), find_crossings(levels, fitted, least), least)


def read_levels(taus: Any) -> tuple[float, ...]:
    """Return the levels in increasing order.

    Raises
    ------
    ParameterError
        If there is none, one is not in (0, 1), or two are the same.
    """
    try:
        given = np.ravel(np.asarray(taus, dtype=np.float64)).tolist()
    except (TypeError, ValueError):
        given = []
    if not given:
        raise ParameterError(f"taus must be a list of quantile levels in (0, 1); got {taus!r}")
    levels = tuple(sorted(between("taus", tau, 0.0, 1.0) for tau in given))
    if len(set(levels)) < len(levels):
        raise ParameterError(f"taus must differ from each other; got {taus!r}: drop the duplicates")
    return levels
