"""Which problem is meant: a regularised risk, its primal and its dual value.

    (P)  min over f, θ    1/2 ‖f‖² + d'θ + Σ c_i ℓ(y_i, p_i)             p = f(x) + Bθ
    (D)  max over β      −1/2 ‖β‖²_K − Σ c_i ℓ*(y_i, −β_i / c_i)         B'β = d

with f = Σ β_j k(x_j, ·). For any f, θ and any β in the domain with B'β = d,

    P − D = 1/2 ‖f − f_β‖² + Σ c_i FY_i >= 0

where FY is the loss's Fenchel-Young residual: weak duality, and the size of the gap row by row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from kernelqp.arrays import one_per_row
from kernelqp.columns import dense
from kernelqp.errors import DataError, InputError, ParameterError
from kernelqp.offset import Offset, offset_of

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.formulation import Formulation
    from kernelqp.gram import Gram
    from kernelqp.losses import Loss
    from kernelqp.losses.base import Row
    from kernelqp.solution import Infeasible, Solution


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function f of the kernel's space, seen from the training rows.

    ``values`` are f(x_i), shape (n,); ``norm2`` is ‖f‖². ``beta`` (n,) or ``weights`` (r,) say
    how f is written; both None for an f known by its values alone. ``by_values`` marks an f whose
    β belongs to another kernel (the one before centring): its values and norm are what holds.
    ``exact`` marks values of f_β to their last figure, and a norm to that of Σ |β_i f(x_i)|.
    """

    values: Vector
    norm2: float
    beta: Vector | None = None
    weights: Vector | None = None
    by_values: bool = False
    exact: bool = False

    @property
    def coefficients(self) -> Vector:
        """The β that f is written in.

        Raises
        ------
        InputError
            If it is written otherwise.
        """
        if self.beta is None:
            raise InputError("this function is written in weights or values; it has no beta")
        return self.beta

    def scaled(self, t: float) -> Function:
        """Return t f."""
        return Function(
            t * self.values,
            t * (t * self.norm2),  # t² alone may be lost to underflow
            None if self.beta is None else t * self.beta,
            None if self.weights is None else t * self.weights,
            self.by_values,
        )


class TwoSided:
    """A problem that states its primal and its dual, and is solved by either."""

    def primal(self) -> Formulation:
        """Return the primal as a cvxpy problem."""
        raise NotImplementedError

    def dual(self) -> Formulation:
        """Return the dual as a cvxpy problem."""
        raise NotImplementedError

    def solve(
        self, form: str = "dual", solver: str = "auto", tol: float = 1e-6
    ) -> Solution | Infeasible:
        """Solve one form and certify it."""
        if form not in ("primal", "dual"):
            raise ParameterError(f"form must be 'primal' or 'dual'; got {form!r}")
        chosen = self.primal() if form == "primal" else self.dual()
        return chosen.solve(solver=solver, tol=tol)


@dataclass(frozen=True, eq=False, repr=False)
class RegularizedRisk(TwoSided):
    """min 1/2 ‖f‖² + d'θ + Σ c_i ℓ(y_i, f(x_i) + (Bθ)_i).

    Parameters
    ----------
    gram : Gram
        The kernel on the n rows, dense or as a factor.
    targets : Vector, shape (n,)
        y: −1 and +1 for a margin loss, in the target's unit otherwise.
    costs : Vector, shape (n,), or float
        c > 0: what one unit of loss costs in row i.
    loss : Loss
        ℓ, one of :mod:`kernelqp.losses`.
    offset : Offset or str
        "free" (an intercept at no price), "none", or an :class:`Offset`.
    origin : float
        What has been taken off the targets: they are known to its rounding.

    Raises
    ------
    DataError
        If a shape does not fit or a target is not finite.
    ParameterError
        If a cost is not positive and finite, or the offset is unknown.

    Source
    ------
    Rifkin & Lippert (2007), Value regularization and Fenchel duality, JMLR 8, 441-479.

    Examples
    --------
    >>> import numpy as np, kernelqp as kq
    >>> K = kq.Gram.dense(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> risk = kq.RegularizedRisk(K, np.array([1.0, -1.0]), 10.0, kq.losses.Hinge())
    >>> beta = np.array([1.0, -1.0])
    >>> risk.dual_value(beta)
    1.0
    >>> float(risk.primal_value(risk.function(beta), np.zeros(1)))
    1.0
    """

    gram: Gram
    targets: Vector
    costs: Vector
    loss: Loss
    offset: Offset = "free"  # type: ignore[assignment]  # a name is replaced on construction
    origin: float = 0.0

    def __post_init__(self) -> None:
        n = self.gram.n
        set_ = object.__setattr__
        set_(self, "targets", one_per_row(self.targets, n, "targets"))
        set_(self, "costs", one_per_row(self.costs, n, "costs"))
        if not (self.costs > 0).all():
            raise ParameterError(
                f"costs must be positive; got {self.costs.min()!r}: drop rows that cost nothing"
            )
        set_(self, "offset", offset_of(self.offset, n))
        if self.loss.margin and not (np.abs(self.targets) == 1.0).all():
            raise DataError("targets of a margin loss must be -1 and +1; got other values")

    def __repr__(self) -> str:
        kind = (
            "dense kernel" if self.gram.factor is None else f"{self.gram.inputs.shape[1]} features"
        )
        columns = self.offset.basis.shape[1]
        offset = "free intercept" if self.offset.is_intercept else f"{columns} offsets"
        return f"<RegularizedRisk: {self.loss!r}, {self.n} rows, {kind}, {offset}>"

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.gram.n

    @cached_property
    def row(self) -> Row | None:
        """The rows of the kernel QP, None where the conjugate is not linear-quadratic."""
        return self.loss.row(self.targets, self.costs)

    @cached_property
    def slopes(self) -> tuple[Vector, Vector]:
        """The least and the greatest slope of ℓ in every row, shape (n,) each: the domain of ℓ*."""
        return self.loss.domain(self.targets)

    def local_row(self, beta: Vector) -> Row:
        """Return the rows of the kernel QP, or of its second-order model at β."""
        return self.row or self.loss.local_row(self.targets, self.costs, beta)

    def gain(self, beta: Vector) -> Vector:
        """Return −c ℓ*(y, −β/c), what every row adds to D, shape (n,); −inf outside the domain."""
        if self.row is not None:
            return self.row.value(beta)
        return self.loss.dual_value(self.targets, self.costs, beta)

    @cached_property
    def homogeneous(self) -> bool:
        """Whether Σ c ℓ(t p) = t Σ c ℓ(p) for t >= 0: then no prediction is large by itself.

        So it is where the loss is piecewise linear and its only kink in every row is at p = 0: that
        of a ν-SVM, and the check loss of targets that are all 0.
        """
        kinks = self.loss.jumps(self.targets)
        return self.loss.piecewise_linear and kinks.size > 0 and not kinks.any()

    @cached_property
    def centred(self) -> RegularizedRisk:
        """The same problem about the mean of the rows, when the offset holds a free constant.

        f − mean f has the same norm in the space of functions modulo constants, and a constant may
        be taken off y as well, so that P and D agree; what changes is θ. Distances between rows and
        between targets are what is left, which keeps every figure when they stand far from 0.
        """
        if self.centring is None:
            return self
        middle = self.middle
        return replace(
            self,
            gram=self.gram.centred(),
            targets=self.targets - middle,
            origin=self.origin + middle,
        )

    @cached_property
    def middle(self) -> float:
        """What :attr:`centred` takes off the targets of a regression: their median."""
        if not self.loss.degree > 0 or self.centring is None:
            return 0.0
        low, high = (self.n - 1) // 2, self.n // 2
        ordered = np.partition(self.targets, (low, high))
        return float(0.5 * ordered[low] + 0.5 * ordered[high])

    @property
    def centring(self) -> Vector | None:
        """The θ of the constant that :attr:`centred` moves f by; a sparse factor stays as it is."""
        return None if self.gram.is_sparse else self.offset.free_constant

    def function(
        self, beta: Vector | None = None, weights: Vector | None = None, *, exactly: bool = False
    ) -> Function:
        """Return f = Σ β_j k(x_j, ·), or f = w'φ for explicit features.

        ``exactly`` asks for values that are rounded once: those of a K that is stored, and is PSD
        to the last figure at this β.
        """
        if weights is not None:
            factor = self.gram.factor
            if factor is None:
                raise ParameterError(
                    "weights need explicit features; this Gram is dense: pass beta"
                )
            return Function(factor @ weights, float(weights @ weights), None, weights)
        if beta is None:
            raise ParameterError("a function needs beta or weights; got neither")
        values = self.gram.exact_matvec(beta) if exactly else None
        if values is not None and np.isfinite(beta @ values) and beta @ values >= 0.0:
            return Function(values, max(math.fsum(beta * values), 0.0), beta, exact=True)
        values = self.gram.matvec(beta)
        return Function(values, max(float(beta @ values), 0.0), beta, None)

    def in_coefficients(self, function: Function) -> Function:
        """Return an f in weights as Σ β_j k(x_j, ·), β of least norm; what no β gives is lost."""
        if function.weights is None:
            return function
        return self.function(scipy.linalg.lstsq(dense(self.gram.inputs).T, function.weights)[0])

    def to_centred(self, function: Function, theta: Vector) -> tuple[Function, Vector]:
        """Return (f, θ) of this problem as the point of :attr:`centred` with the same predictions.

        An f written in a β that is not balanced is kept by its values and its norm: it is no
        Σ β_j k_centred(x_j, ·).
        """
        constant = self.centring
        if constant is None:
            return function, theta
        mean = self.gram.value_at_origin(function.values)
        if function.weights is not None:
            moved = self.centred.function(weights=function.weights)
        else:
            moved = Function(function.values - mean, function.norm2, function.beta, by_values=True)
        return moved, theta + (mean - self.middle) * constant

    def from_centred(self, function: Function, theta: Vector) -> tuple[Function, Vector]:
        """Return a point of :attr:`centred`, in β or weights, as a point of this problem."""
        constant = self.centring
        if constant is None:
            return function, theta
        moved = self.function(function.beta, function.weights, exactly=function.exact)
        origin = float(moved.values.mean() - function.values.mean())
        return moved, theta + (self.middle - origin) * constant

    def predictions(self, function: Function, theta: Vector) -> Vector:
        """Return p = f(x) + Bθ, shape (n,)."""
        return np.asarray(function.values + self.offset.basis @ theta)

    def primal_value(self, function: Function, theta: Vector) -> float:
        """Return P at f and θ."""
        p = self.predictions(function, theta)
        lost = self.costs @ self.loss.value(self.targets, p)
        return float(0.5 * function.norm2 + self.offset.price @ theta + lost)

    def dual_value(self, beta: Vector | Function) -> float:
        """Return D at β, or at f_β: a lower bound on every P when B'β = d and K is PSD."""
        f = beta if isinstance(beta, Function) else self.function(beta)
        return float(self.gain(f.coefficients).sum() - 0.5 * f.norm2)

    def distance2(self, function: Function, dual: Function) -> float:
        """Return ‖f − f_β‖², from differences wherever f is written in β or in weights."""
        beta = dual.coefficients
        if function is dual:
            return 0.0
        if function.weights is not None:
            return float(np.sum((function.weights - self.gram.weights(beta)) ** 2))
        if function.beta is not None and not function.by_values:
            return max(self.gram.norm2(function.beta - beta), 0.0)
        cross = function.values @ beta
        return max(float(function.norm2 - 2.0 * cross + dual.norm2), 0.0)

    def primal(self) -> Formulation:
        """Return (P) as a cvxpy problem in w or β, θ and p."""
        from kernelqp.fenchel import primal_formulation  # the builder knows cvxpy, this file not

        return primal_formulation(self)

    def dual(self) -> Formulation:
        """Return (D) as a cvxpy problem in β."""
        from kernelqp.fenchel import dual_formulation

        return dual_formulation(self)
