"""Newton's method for a smooth loss and a kernel: iteratively reweighted least squares in β.

P in f = Σ α_j k(x_j, ·) and θ. At p = K α + B θ let β = −c ℓ'(p), W = c ℓ''(p), r = β − α. A step
is

    (I + W K) Δα + W B Δθ = r,      B'Δα = d − B'α

and with A = I + W^(1/2) K W^(1/2), whose eigenvalues are at least 1, S = W^(1/2) A⁻¹ W^(1/2)

    Δα = r − S K r − S B Δθ,        (B'S B) Δθ = B'(r − S K r + α) − d

so that nothing is divided by a W that may be 0, and a singular K is no special case. One Cholesky
factorisation a step, O(n³); the line search is O(n) a point. In features that are fewer than the
rows, Newton's method in weights is cheaper, O(n r²) a step.

Source: Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, section 3.4;
Green & Yandell (1985), Semi-parametric generalized linear models, for the offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from kernelqp.errors import SolverFailed
from kernelqp.newton import (
    ENOUGH,
    MOST,
    STEPS,
    Line,
    damped,
    newton_primal,
    slopes_and_bends,
    stepped_dual,
)
from kernelqp.repair import best_offset, domain_of, lower_bound, settle, spread
from kernelqp.risk import Function
from kernelqp.solvers.watch import Watch

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import RegularizedRisk


def newton(
    risk: RegularizedRisk, watch: Watch | None = None
) -> tuple[Vector, Function | None, Vector, str]:
    """Return (β, f, θ) of a risk with a smooth loss, and in which variables it was found.

    Raises
    ------
    SolverFailed
        If a step is no number: the kernel, or the costs, are too large for one.

    Examples
    --------
    >>> import kernelqp as kq
    >>> gram = kq.Gram.dense(np.eye(2))
    >>> risk = kq.RegularizedRisk(gram, np.array([1.0, -1.0]), 1.0, kq.losses.Logistic())
    >>> beta, _, theta, how = newton(risk)
    >>> beta.round(6), how
    (array([ 0.401058, -0.401058]), 'Newton, 2 rows')
    """
    factor, columns = risk.gram.factor, risk.offset.price.size
    nothing = Function(np.zeros(risk.n), 0.0)
    theta = best_offset(risk, nothing, np.zeros(columns))
    if factor is None or factor.shape[1] + columns > risk.n:
        beta, theta = _in_rows(risk, risk.gram.dense_matrix(), theta, watch or Watch())
        function = None if factor is None else risk.function(weights=factor.T @ beta)
        return beta, function, theta, f"Newton, {risk.n} rows"
    start = risk.function(weights=np.zeros(factor.shape[1]))
    function, theta = newton_primal(risk, start, theta, each=None if watch is None else watch.look)
    beta = _better(risk, stepped_dual(risk, function, theta), risk.predictions(function, theta))
    return beta, function, theta, f"Newton, {factor.shape[1] + columns} weights"


def _in_rows(
    risk: RegularizedRisk, K: Matrix, theta: Vector, watch: Watch
) -> tuple[Vector, Vector]:
    """Return (β, θ) at the end of Newton's method from f = 0."""
    basis, price = risk.offset.basis, risk.offset.price
    alpha, f, damping = np.zeros(risk.n), np.zeros(risk.n), 0.0
    for _ in range(STEPS):
        watch.look(alpha)
        p = f + basis @ theta
        beta, bends = slopes_and_bends(risk, p)
        step, turn = _step(risk, K, bends + damping * risk.costs, alpha, beta - alpha)
        moved = K @ step
        if not (np.isfinite(moved).all() and np.isfinite(turn).all()):
            raise SolverFailed("Newton's method met no number: scale the features, or lower C")
        decrement = float((beta - alpha) @ moved + (basis.T @ beta - price) @ turn)
        value = 0.5 * alpha @ f + price @ theta + risk.costs @ risk.loss.value(risk.targets, p)
        slope, bend = float(alpha @ moved + price @ turn), float(step @ moved)
        line = Line(risk, p, moved + basis @ turn, slope, bend, decrement)
        done = not decrement > ENOUGH * abs(float(value))
        t = 1.0 if done and not damping else line.search()
        alpha, theta = alpha + t * step, theta + t * turn
        f = K @ alpha
        if (done and not damping) or (t == 0.0 and damping >= MOST):
            break
        damping = 0.0 if done else damped(damping, t)
    return _better(risk, alpha, f + basis @ theta), theta


def _step(
    risk: RegularizedRisk, K: Matrix, bends: Vector, alpha: Vector, r: Vector
) -> tuple[Vector, Vector]:
    """Return (Δα, Δθ) of the system above."""
    root, basis = np.sqrt(bends), risk.offset.basis
    A = K * root
    A *= root[:, None]
    A[np.diag_indices(risk.n)] += 1.0
    try:
        factor = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)  # A = A'
    except LinAlgError as error:
        raise SolverFailed(
            f"Newton's method cannot factorise I + W K ({error}): scale the features, or lower C"
        ) from error
    right = root[:, None] * np.column_stack([K @ r, basis])
    solved = root[:, None] * cho_solve(factor, right, check_finite=False)
    step, seen = r - solved[:, 0], solved[:, 1:]
    if not basis.shape[1]:
        return step, np.zeros(0)
    left = basis.T @ (step + alpha) - risk.offset.price
    turn = np.asarray(lstsq(basis.T @ seen, left, check_finite=False)[0])
    return step - seen @ turn, turn


def _better(risk: RegularizedRisk, beta: Vector, p: Vector) -> Vector:
    """Return the feasible one of the larger D: the β of the last step, or the slopes at p.

    They agree at the optimum. β is the more exact where W K is large, the slopes where it is small.
    """
    inside = np.clip(beta, *domain_of(risk))
    pair = [
        settle(risk, beta) if risk.offset.price.size == 1 else spread(risk, beta)
        for beta in (inside, slopes_and_bends(risk, p)[0])
    ]
    return max(pair, key=lambda beta: lower_bound(risk, risk.function(beta)))
