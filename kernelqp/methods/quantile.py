"""Kernel quantile regression: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import ParameterError
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import INTERCEPTS, Method, between, one_of, positive_or_inf
from kernelqp.methods.residual_page import residual_dual, residual_primal
from kernelqp.methods.residual_words import describe_residuals
from kernelqp.methods.slacks import Tube

if TYPE_CHECKING:
    from kernelqp.description import Description
    from kernelqp.formulation import Formulation
    from kernelqp.kernels import Kernel


@dataclass(frozen=True)
class QuantileRegression(Method):
    """Kernel quantile regression: f + b estimates the τ-quantile of y given x.

        primal   minimise   1/2 ‖f‖² + C Σ s_i (τ ξ_i + (1 − τ) ξ*_i)
                 subject to above:  y_i − f(x_i) − b <= ξ_i,     slack:       ξ_i >= 0
                            below:  f(x_i) + b − y_i <= ξ*_i,    slack_star:  ξ*_i >= 0

        dual     maximise   Σ α_i y_i − 1/2 Σ α_i α_j k(x_i, x_j)
                 subject to lower:  α_i >= C (τ − 1) s_i,    upper:  α_i <= C τ s_i,
                            balance:  Σ α_i = 0

    with f = Σ α_j k(x_j, ·). A penalised intercept adds b²/2 to the primal and replaces ``balance``
    by k + 1; without an intercept both go. With a free intercept a share of at most τ of the weight
    lies below the fit, and of at most 1 − τ above it.

    Several levels at once, their crossings and a joint fit without any: :func:`kernelqp.quantiles`.

    Parameters
    ----------
    C : float
        The price of a unit of check loss, > 0. ``inf`` means no penalty: linear quantile
        regression, with explicit features, primal only.
    tau : float
        τ, 0 < τ < 1.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default; a name takes the defaults of scikit-learn's SVR.
    intercept : str
        "free", "penalized" or "none".

    Raises
    ------
    ParameterError
        If a parameter is out of its range.

    Source
    ------
    Koenker & Bassett (1978), Econometrica 46(1), 33-50; Takeuchi, Le, Sears & Smola (2006),
    Nonparametric quantile estimation, JMLR 7, 1231-1264.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 2.0, 9.0, 5.0]
    >>> s = kq.QuantileRegression(C=float("inf"), tau=0.5).solve(X, y)
    >>> print(f"{s.value:.4f} {s.weights[0]:.4f} {s.intercept:.4f}")
    3.5000 1.0000 1.0000
    """

    C: float = 1.0
    tau: float = 0.5
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "C", positive_or_inf("C", self.C))
        set_(self, "tau", between("tau", self.tau, 0.0, 1.0))
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))

    @property
    def slacks(self) -> Tube:
        """How residuals are paid for."""
        return Tube(above=self.tau, below=1.0 - self.tau, split=False)

    def has_explicit_features(self) -> bool:
        """Whether f is written in weights; without a penalty it always is."""
        return super().has_explicit_features() or bool(np.isinf(self.C))

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        return residual_primal(self, self.slacks, X, y, sample_weight, form)

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α."""
        return residual_dual(self, self.slacks, X, y, sample_weight)

    def describe(self, form: str = "auto") -> Description:
        """Return primal and dual as text and LaTeX, with the parameter values in place.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", or "auto", which is what ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or needs explicit features that the kernel has not.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.QuantileRegression(C=10, tau=0.9).describe())
        QuantileRegression
        primal: minimise over w, b, ξ, ξ*
                1/2 ‖w‖² + 10 Σ_i s_i (0.9 ξ_i + 0.1 ξ*_i)
            subject to
                above: y_i − (w'x_i + b) <= ξ_i  for every i
                below: w'x_i + b − y_i <= ξ*_i  for every i
                slack: ξ_i >= 0  for every i
                slack_star: ξ*_i >= 0  for every i
        dual: maximise over α
                Σ_i y_i α_i − 1/2 Σ_ij α_i α_j k(x_i, x_j)
            subject to
                lower: α_i >= −s_i  for every i
                upper: α_i <= 9 s_i  for every i
                balance: Σ_i α_i = 0
        where
            C = 10, τ = 0.9
            b is a free intercept: it costs nothing
            k(x, z) = x'z
            s_i is the sample weight
        """
        return describe_residuals(self, self.slacks, {"tau": self.tau}, form)
