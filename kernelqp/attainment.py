"""Is the infimum reached? Not where a direction without a price separates the classes.

A margin loss that falls for ever, as the logistic one, has no smallest value on data with a θ of

    y_i (Bθ)_i >= 0 in every row,  > 0 in one:     P falls along θ, which no penalty stops.

Such a θ exists for the free intercept of a single class and, without any penalty, for classes that
a plane separates, rows on the plane itself allowed (quasi-separable). By Stiemke's lemma there is
none if and only if some β with y β > 0 in every row has B'β = 0, and then an optimum exists.

Newton's method finds such a β, which counts if it is balanced well enough for what it says of θ.
Else a linear program proposes θ, to its own tolerance; it counts if every margin is verified in
floating point: > 0 beyond its rounding, or 0 within it.

Source: Albert & Anderson (1984), On the existence of maximum likelihood estimates in logistic
regression models, Biometrika 71(1), 1-10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from scipy.optimize import linprog

from kernelqp.newton import newton_primal, slopes_and_bends
from kernelqp.repair import EPS, imbalance, spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import RegularizedRisk

STEPS = 40  # of Newton's method: margins of 40 leave no multiplier above rounding
ON_THE_PLANE = (1e-12, 1e-9, 1e-6)  # of the largest margin: rows that may have a margin of 0


@dataclass(frozen=True, eq=False, slots=True)
class NotAttained:
    """A direction (w, b) along which the loss of no row grows and that of one falls for ever.

    Attributes
    ----------
    weights : Vector, shape (d,), or None
        w; None where only the intercept moves, or the problem has no features.
    intercept : float or None
        b; None for a problem without a page.
    margins : Vector, shape (n,)
        y (w'x + b): positive, or 0 to rounding; NaN for rows of weight 0.
    """

    weights: Vector | None
    intercept: float | None
    margins: Vector

    @property
    def separated(self) -> int:
        """The number of rows with a positive margin."""
        size = float(np.nanmax(np.abs(self.margins), initial=0.0))
        return int((self.margins > ON_THE_PLANE[0] * size).sum())

    def __str__(self) -> str:
        used = int(np.isfinite(self.margins).sum())
        on = used - self.separated
        how = "separable" if not on else f"quasi-separable ({on} rows on the plane itself)"
        remedy = "penalise the intercept" if self.weights is None else "use a finite C"
        return (
            f"the classes are {how}: along a direction with y (w'x + b) > 0 in {self.separated} "
            f"of {used} rows and < 0 in none the loss falls for ever, and no penalty stops it: "
            f"{remedy}"
        )


def separating_direction(risk: RegularizedRisk) -> Vector | None:
    """Return a verified θ along which P falls for ever, or None where an optimum exists.

    Examples
    --------
    >>> import kernelqp as kq
    >>> gram, y = kq.Gram.dense(np.eye(2)), np.array([1.0, 1.0])
    >>> separating_direction(kq.RegularizedRisk(gram, y, 1.0, kq.losses.Logistic()))
    array([1.])
    >>> y = np.array([1.0, -1.0])
    >>> separating_direction(kq.RegularizedRisk(gram, y, 1.0, kq.losses.Logistic()))
    """
    columns = risk.offset.price.size
    if not risk.loss.falls_for_ever or not columns or risk.offset.price.any():
        return None
    if columns > 1 and _balances_inside(risk):
        return None
    signed = risk.targets[:, None] * risk.offset.basis
    proposed = iter([np.ones(1), -np.ones(1)]) if columns == 1 else _proposed(signed)
    return next((theta for theta in proposed if _separates(signed, theta)), None)


def _balances_inside(risk: RegularizedRisk) -> bool:
    """Whether some β with y β >= 0 and B'β = δ, small, proves that nothing separates.

    Let z = y Bθ have 0 <= z <= 1 with 1 in some row, and σ be the least singular value of B. Then
    |θ| <= √n/σ and, with A = diag(y β), θ'B'A B θ = Σ y β z² <= Σ y β z = θ'δ <= |δ| √n/σ, so that
    1 <= max |B_i|² |θ|² <= max |B_i|² |δ| √n/σ over the least eigenvalue of B'A B.
    """
    factor, basis = risk.gram.factor, risk.offset.basis
    if factor is None:
        return False
    start = risk.function(weights=np.zeros(factor.shape[1]))
    function, theta = newton_primal(risk, start, np.zeros(basis.shape[1]), STEPS)
    beta = spread(risk, slopes_and_bends(risk, risk.predictions(function, theta))[0])
    left = np.abs(imbalance(risk, beta)) + EPS * (np.abs(basis).T @ np.abs(beta))
    weighed = basis.T @ (basis * (risk.targets * beta)[:, None])
    least, bent = (float(np.linalg.eigvalsh(M)[0]) for M in (basis.T @ basis, weighed))
    bent -= basis.shape[1] * EPS * float(np.trace(weighed))  # the rounding of an eigenvalue
    if not (least > 0 and bent > 0):
        return False
    largest2 = float(np.einsum("ij,ij->i", basis, basis).max())
    return bool(largest2 * np.linalg.norm(left) * np.sqrt(risk.n / least) < bent)


def _separates(signed: Matrix, theta: Vector) -> bool:
    """Whether every margin is positive or 0 to its rounding, and one is positive."""
    margins, size = signed @ theta, np.abs(signed) @ np.abs(theta)
    rounding = 4.0 * (theta.size + 1) * EPS * size
    return bool((margins >= -rounding).all() and (margins > rounding).any())


def _proposed(signed: Matrix) -> Iterator[Vector]:
    """Yield directions that may separate: with a margin of 1 everywhere, then in some rows.

    The second program's rows near the plane are put onto it, to the last figure.
    """
    n, columns = signed.shape
    free = [(None, None)] * columns
    strict = linprog(np.zeros(columns), -signed, -np.ones(n), bounds=free, method="highs")
    if strict.x is not None:
        yield strict.x
    bounded = np.vstack([-signed, signed])
    most = np.r_[np.zeros(n), np.ones(n)]
    found = linprog(-signed.sum(axis=0), bounded, most, bounds=free, method="highs")
    if found.x is None or -found.fun < 0.5:  # some margin is 1 where there is a direction
        return
    yield found.x
    margins = signed @ found.x
    for near in ON_THE_PLANE:
        on = np.abs(margins) <= near * np.abs(margins).max()
        yield _moved_onto(signed[on], found.x)


def _moved_onto(rows: Matrix, theta: Vector) -> Vector:
    """Return the θ nearest to ``theta`` with margins of 0 in these rows."""
    within = scipy.linalg.null_space(rows) if rows.size else np.eye(theta.size)
    return np.asarray(within @ (within.T @ theta))
