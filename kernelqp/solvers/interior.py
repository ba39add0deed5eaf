"""A primal-dual interior point method for the kernel QP, dense or on a thin factor.

    minimise    1/2 β'(K + ridge) β − q'β + ε'|β|
    subject to  lower <= β <= upper,   B'β = d

Every row is one variable x >= 0 counted from a finite end of its box, or two, β = x⁺ − x⁻, where ε
prices both directions. β is carried along: near 0 it would lose its figures to x, which is counted
from an end of size C. A step solves (K + G) Δβ + B Δθ = r with G diagonal: for K = F F' in the
weights w = F'β, O(n r²), for a dense K by Cholesky, O(n³).

Source: Mehrotra (1992), SIAM J. Optim. 2(4), 575-601; Ferris & Munson (2002), Interior-point
methods for massive support vector machines, SIAM J. Optim. 13(3), 783-804.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from kernelqp.columns import side_by_side, weighted_gram
from kernelqp.solvers.interior_state import BACK, Split, State, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Matrix, Vector
    from kernelqp.gram import Gram
    from kernelqp.losses import Row
    from kernelqp.solvers.watch import Watch

STEPS = 60
TARGET = 1e-13  # of the objective: the complementarity that is left
NOTHING = 1e-20  # of the first complementarity, where the objective is 0
SMALL = 1e-14  # of a multiplier: the stationarity that is left, if it falls so far
STUCK = 1e-8  # a step shorter than this makes no headway
LAST = 1e3  # times the complementarity that is enough: where the last steps begin
LOST = 2.0  # times what the best of them lacks: a step that lacks more has lost its figures


def interior_point(
    gram: Gram,
    row: Row,
    basis: Matrix,
    price: Vector,
    watch: Watch | None = None,
    target: float = TARGET,
    start: Vector | None = None,
) -> tuple[Vector, Vector, Vector | None]:
    """Return (β, θ, w) near the optimum of the kernel QP, β strictly inside its box.

    Parameters
    ----------
    gram : Gram
        K or its factor, n rows.
    row : Row
        The kernel-QP rows; every row has a finite end, or a price ε.
    basis, price : Matrix (n, m), Vector (m,)
        B and d.
    watch : Watch, optional
        May end the run.
    target : float
        Of the objective: the complementarity that is left; no less than ``TARGET``.
    start : Vector, optional
        A w that may be near the optimum; of use where rows have two ends and there is no θ.

    Returns
    -------
    beta, theta, weights
        The weights w are None for a dense K. They are computed by themselves: F'β loses to
        cancellation what w holds.
    """
    split, system, target = Split.of(row), system_of(gram, basis, price), max(target, TARGET)
    centre = State.centre(split, system.unknowns, gram)
    best, near = centre, None
    if start is not None and _is_plain(system, row):
        near = centre.near(split, system, start)
    for state in (centre,) if near is None else (near, centre):
        best, done = _run(split, system, row, state, watch, target)
        if done:
            break
    theta, weights = system.position(best.u)
    return np.clip(best.beta, row.lower, row.upper), theta, weights


def _is_plain(system: Thin | Dense, row: Row) -> bool:
    """Whether it is one of features alone, whose rows have two ends and no ridge."""
    ends = np.isfinite(row.lower) & np.isfinite(row.upper)
    alone = isinstance(system, Thin) and not system.price.size
    return alone and bool(ends.all()) and not row.ridge.any()


def _run(  # the problem, its form, and where to begin and to end
    split: Split,
    system: Thin | Dense,
    row: Row,
    state: State,
    watch: Watch | None,
    target: float,
) -> tuple[State, bool]:
    """Return the best of the last states, and whether it is at its target."""
    size, best, least = np.inf, state, np.inf
    for _ in range(STEPS):
        beta = state.beta
        if watch is not None:
            watch.look(np.clip(beta, row.lower, row.upper), better=watch.best is None)
        pull = system.predictions(beta, state.u) + row.ridge * beta
        off = split.price + split.gather(pull) - state.z + state.v
        before, size = size, float(np.abs(off).max(initial=0.0))
        small = SMALL * (target / TARGET) * state.size
        settled = size <= small or size > 0.5 * before
        value = float(row.q @ beta - row.eps @ np.abs(beta) - 0.5 * beta @ pull)
        mu = state.mu
        left = mu * state.complements
        residual = system.residual(beta, state.u)
        enough = max(target * abs(value), NOTHING * state.start)
        lacking = left + float(np.abs(off) @ state.x + np.abs(residual) @ np.abs(state.u))
        if left > LAST * enough:
            best = state
        elif not lacking > LOST * least:  # the last steps may lose more figures than they win
            best, least = state, min(least, lacking)
        if settled and left <= enough:
            return best, True
        try:
            newton = Newton(system, row.ridge, split, state, off, residual)
        except np.linalg.LinAlgError:  # no figures are left: the certificate says what it is
            break
        xz, wv = state.x * state.z, state.w * state.v
        guess = newton.step(-xz, -wv)
        sigma = (max(state.mu_after(guess, state.longest(guess)), 0.0) / mu) ** 3
        dx, _, dz, dv, _ = guess
        aim = sigma * mu
        step = newton.step(aim - xz - dx * dz, aim * state.bounded - wv + dx * dv)
        t = min(1.0, BACK * state.longest(step))
        state = state.moved(step, t)
        if t < STUCK:
            break
    return best, False


Solver: TypeAlias = "Callable[[Vector, Vector], tuple[Vector, Vector]]"


class Newton:
    """The linear system of one round, factorised once for its two right-hand sides.

        P Δx + S'B Δθ − Δz + Δv = −off        z Δx + x Δz = rz
        B'S Δx = −residual                    −v Δx + w Δv = rv

    with P = S'(K + ridge) S. Δz, Δv and, with W = z/x + v/w and 1/h = S W⁻¹ S', Δx are eliminated.
    """

    def __init__(  # the system, and where it stands
        self,
        system: Thin | Dense,
        ridge: Vector,
        split: Split,
        state: State,
        off: Vector,
        residual: Vector,
    ) -> None:
        self._split, self._state, self._off, self._residual = split, state, off, residual
        self._weight = state.z / state.x + state.v / state.w
        one_each = split.row.size == split.base.size
        self._h = self._weight if one_each else 1.0 / split.scatter(1.0 / self._weight)
        self._solve = system.solver(ridge + self._h)

    def step(self, rz: Vector, rv: Vector) -> Step:
        """Return (Δx, Δu, Δz, Δv, Δβ)."""
        state, split = self._state, self._split
        r = rz / state.x - rv / state.w - self._off
        pushed = self._h * split.scatter(split.sign * r / self._weight)
        dbeta, du = self._solve(pushed, self._residual)
        dx = split.share(dbeta, r, pushed, self._weight, self._h)
        dv = (rv + state.v * dx) / state.w
        return dx, du, (rz - state.z * dx) / state.x, dv, split.scatter(split.sign * dx)


@dataclass(frozen=True, eq=False, slots=True)
class Thin:
    """K = F F' through u = (w, θ), with X = (F, B) and w = F'β an equation of its own.

    (X'G⁻¹X + diag(1, 0)) Δu = X'G⁻¹ pushed + residual,  Δβ = G⁻¹(pushed − X Δu).
    """

    design: Matrix
    price: Vector
    rank: int

    @property
    def unknowns(self) -> int:
        """The length of u."""
        return int(self.design.shape[1])

    def position(self, u: Vector) -> tuple[Vector, Vector]:
        """Return θ and w."""
        return u[self.rank :], u[: self.rank]

    def predictions(self, beta: Vector, u: Vector) -> Vector:  # noqa: ARG002  # w stands for β
        """Return F w + B θ."""
        return np.asarray(self.design @ u)

    def residual(self, beta: Vector, u: Vector) -> Vector:
        """Return (F'β − w, B'β − d)."""
        found = self.design.T @ beta
        found[: self.rank] -= u[: self.rank]
        found[self.rank :] -= self.price
        return np.asarray(found)

    def solver(self, diagonal: Vector) -> Solver:
        """Factorise X'G⁻¹X + diag(1, 0)."""
        weights = 1.0 / diagonal
        inner = weighted_gram(self.design, weights)
        inner.flat[: self.rank * (len(inner) + 1) : len(inner) + 1] += 1.0
        factor = _cholesky(inner)

        def solve(pushed: Vector, residual: Vector) -> tuple[Vector, Vector]:
            du = factor(self.design.T @ (weights * pushed) + residual)
            return (pushed - self.design @ du) / diagonal, du

        return solve


@dataclass(frozen=True, eq=False, slots=True)
class Dense:
    """K itself through u = θ: (K + G) Δβ + B Δθ = pushed, B'Δβ = −residual."""

    matrix: Matrix
    basis: Matrix
    price: Vector

    @property
    def unknowns(self) -> int:
        """The length of u."""
        return int(self.price.size)

    def position(self, u: Vector) -> tuple[Vector, None]:
        """Return θ; there are no weights."""
        return u, None

    def predictions(self, beta: Vector, u: Vector) -> Vector:
        """Return K β + B θ."""
        return np.asarray(self.matrix @ beta + self.basis @ u)

    def residual(self, beta: Vector, u: Vector) -> Vector:  # noqa: ARG002  # θ is free
        """Return B'β − d."""
        return np.asarray(self.basis.T @ beta - self.price)

    def solver(self, diagonal: Vector) -> Solver:
        """Factorise K + G, and the Schur complement of B."""
        matrix = self.matrix.copy()
        matrix[np.diag_indices(len(matrix))] += diagonal
        cholesky = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        basis = self.basis
        inverse = scipy.linalg.cho_solve(cholesky, basis, check_finite=False)
        schur = np.linalg.pinv(basis.T @ inverse)

        def solve(pushed: Vector, residual: Vector) -> tuple[Vector, Vector]:
            du = schur @ (inverse.T @ pushed + residual)
            return scipy.linalg.cho_solve(cholesky, pushed - basis @ du, check_finite=False), du

        return solve


def _cholesky(matrix: Matrix) -> Callable[[Matrix], Matrix]:
    """Factorise a symmetric matrix, which is written over, and return what solves with it.

    Raises
    ------
    LinAlgError
        If it is not positive definite to its last figures.
    """
    lower, info = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"not positive definite at row {info}")
    return lambda b: np.asarray(lapack.dpotrs(lower, b, lower=1)[0]).reshape(b.shape)


def system_of(gram: Gram, basis: Matrix, price: Vector) -> Thin | Dense:
    """Return the cheaper of the two."""
    factor = gram.factor
    if factor is None or factor.shape[1] > gram.n:
        return Dense(gram.dense_matrix(), basis, price)
    return Thin(side_by_side(factor, basis), price, factor.shape[1])
