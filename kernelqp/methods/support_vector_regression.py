"""Support vector regression with four losses: its page, primal and dual."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kernelqp.errors import ParameterError
from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import (
    INTERCEPTS,
    Method,
    not_negative,
    one_of,
    positive,
    positive_or_inf,
)
from kernelqp.methods.residual_page import residual_dual, residual_primal
from kernelqp.methods.residual_words import describe_residuals
from kernelqp.methods.slacks import Bend, Tube

if TYPE_CHECKING:
    from kernelqp.description import Description
    from kernelqp.formulation import Formulation
    from kernelqp.kernels import Kernel
    from kernelqp.methods.slacks import Slacks

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "absolute")


@dataclass(frozen=True)
class SupportVectorRegression(Method):
    """Support vector regression (SVR).

        primal   minimise   1/2 ‖f‖² + C Σ s_i (ξ_i + ξ*_i)
                 subject to above:  y_i − f(x_i) − b <= ε + ξ_i,     slack:       ξ_i >= 0
                            below:  f(x_i) + b − y_i <= ε + ξ*_i,    slack_star:  ξ*_i >= 0

        dual     maximise   Σ y_i (α_i − α*_i) − ε Σ (α_i + α*_i)
                            − 1/2 Σ (α_i − α*_i)(α_j − α*_j) k(x_i, x_j)
                 subject to lower:  α_i >= 0,    lower_star:  α*_i >= 0,
                            upper:  α_i <= C s_i,    upper_star:  α*_i <= C s_i,
                            balance:  Σ (α_i − α*_i) = 0

    with f = Σ (α_j − α*_j) k(x_j, ·), and α_i α*_i = 0 at the optimum. The losses:

        epsilon_insensitive           (|r| − ε)₊, as above
        squared_epsilon_insensitive   (|r| − ε)₊²: ξ² and ξ*² in the primal; in the dual the upper
                                      bounds give way to − Σ (α_i² + α*_i²)/(4 C s_i)
        absolute                      |r|: ε = 0
        huber                         r²/2 up to δ, δ |r| − δ²/2 beyond: r = u + ξ − ξ* at the price
                                      u²/2 + δ (ξ + ξ*); the dual in α alone, |α_i| <= C δ s_i, with
                                      − Σ α_i²/(2 C s_i) in the place of ε

    A penalised intercept adds b²/2 to the primal and replaces ``balance`` by k + 1; without an
    intercept both go.

    Parameters
    ----------
    C : float
        The price of a unit of loss, > 0. ``inf`` means no penalty: explicit features, primal only.
    epsilon : float
        ε >= 0, the half-width of the tube, in the unit of y; not used by "absolute" and "huber".
    loss : str
        "epsilon_insensitive", "squared_epsilon_insensitive", "huber" or "absolute".
    delta : float
        δ > 0 of "huber", in the unit of y.
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
    Smola & Schölkopf (2004), A tutorial on support vector regression, Statistics and Computing 14,
    199-222; Huber (1964), Annals of Mathematical Statistics 35(1), 73-101.

    Examples
    --------
    >>> import kernelqp as kq
    >>> svr = kq.SupportVectorRegression(C=0.2, epsilon=0.5)
    >>> s = svr.solve([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 3.0, 3.0])
    >>> print(f"{s.value:.6f} {s.weights[0]:.4f} {s.intercept:.4f} {s.alpha.round(4)}")
    0.488889 0.6667 0.5000 [-0.1556 -0.2     0.2     0.1556]
    """

    few_support_vectors: ClassVar[bool] = True
    C: float = 1.0
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    delta: float = 1.35
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "free"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "C", positive_or_inf("C", self.C))
        set_(self, "epsilon", not_negative("epsilon", self.epsilon))
        one_of("loss", self.loss, LOSSES)
        set_(self, "delta", positive("delta", self.delta))
        one_of("intercept", self.intercept, INTERCEPTS)
        set_(self, "kernel", resolve(self.kernel))

    @property
    def slacks(self) -> Slacks:
        """How residuals are paid for."""
        if self.loss == "huber":
            return Bend(self.delta)
        epsilon = 0.0 if self.loss == "absolute" else self.epsilon
        return Tube(epsilon, power=2 if self.loss.startswith("squared") else 1)

    def has_explicit_features(self) -> bool:
        """Whether f is written in weights; without a penalty it always is."""
        return super().has_explicit_features() or bool(np.isinf(self.C))

    def primal(self, X: Any, y: Any, sample_weight: Any = None, form: str = "auto") -> Formulation:
        """Return the primal in "weights" (explicit features) or "coefficients"."""
        if form == "dual":
            raise ParameterError("form 'dual' is no primal: call dual()")
        return residual_primal(self, self.slacks, X, y, sample_weight, form)

    def dual(self, X: Any, y: Any, sample_weight: Any = None) -> Formulation:
        """Return the dual in α and α*, of Huber's loss in α alone."""
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
        >>> print(kq.SupportVectorRegression(loss="huber", C=3, intercept="none").describe())
        SupportVectorRegression
        primal: minimise over w, u, ξ, ξ*
                1/2 ‖w‖² + 3 Σ_i s_i (1/2 u_i² + 1.35 ξ_i + 1.35 ξ*_i)
            subject to
                residual: y_i − w'x_i = u_i + ξ_i − ξ*_i  for every i
                slack: ξ_i >= 0  for every i
                slack_star: ξ*_i >= 0  for every i
        dual: maximise over α
                Σ_i y_i α_i − 1/2 Σ_ij α_i α_j k(x_i, x_j) − Σ_i α_i²/(6 s_i)
            subject to
                lower: α_i >= −4.05 s_i  for every i
                upper: α_i <= 4.05 s_i  for every i
        where
            C = 3, δ = 1.35
            there is no intercept
            k(x, z) = x'z
            s_i is the sample weight
        """
        shown = {"epsilon": self.epsilon} if self.loss.endswith("insensitive") else {}
        if self.loss == "huber":
            shown = {"delta": self.delta}
        return describe_residuals(self, self.slacks, shown, form)
