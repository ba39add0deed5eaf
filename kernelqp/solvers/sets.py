"""Sets of rows, free or fixed, that are changed many at a time until none changes.

Rows are free, or fixed at an end of their box or at the kink of ε at 0. The free rows E solve

    [K_EE + ridge_E   B_E] [Δβ_E]   [G_E − ε_E sgn]
    [B_E'             0  ] [θ   ] = [d − B'β      ]

and all rows are judged at that point: free rows beyond their piece are fixed at its end, fixed rows
whose slope points inwards are freed; this is Newton's method on the conditions of optimality. From
afar it may cycle.

Source: Hintermüller, Ito & Kunisch (2002), The primal-dual active set strategy as a semismooth
Newton method, SIAM J. Optim. 13(3), 865-888.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelqp.solvers.free_rows import FreeRows

if TYPE_CHECKING:
    from kernelqp._types import Indices, Mask, Matrix, Vector
    from kernelqp.solvers.free_rows import Solve
    from kernelqp.solvers.kernel_qp import KernelQP, Position

CLOSE = 0.75  # of the free rows of a start, if many: where more change it has the wrong sets
MANY = 500  # free rows from which CLOSE counts: the systems of fewer cost nothing
ROUNDS = 25
PATIENCE = 4  # rounds without fewer changes
REFINED = 6
DRIFTED = 1e-15  # of the sums in a slope: what steps may leave of rounding in it
SOLVED = 1e-12  # of the size of a slope: what a solved system leaves
ROUNDING = 1e-12  # of the size of a slope: what a fixed row may violate


def settle_sets(
    qp: KernelQP, at: Position, close: float | None = None
) -> tuple[Vector, Vector] | None:
    """Change sets until none changes; None where that takes too long.

    ``close`` is the share of the free rows that may change at first.
    """
    row, beta = qp.row, at.beta
    piece = np.where(beta > 0, 1.0, np.where(beta < 0, -1.0, 0.0))
    free = (beta > row.lower) & (beta < row.upper) & ((row.eps == 0) | (beta != 0))
    fewest, waited, exactly, system = qp.n + 1, 0, False, FreeRows(qp)
    for _ in range(ROUNDS):
        qp.watch.check()
        _open(qp, at, free, piece)
        solution = solve_free(system, qp, at, np.flatnonzero(free), piece, exactly=exactly)
        if solution is None:
            return None
        theta, solved = solution
        out = free & _beyond(qp, beta, piece)
        enter, sides = entering(qp, at, theta, free)
        enter &= solved
        changes = int(out.sum() + enter.sum())
        if changes == 0:
            if not solved:
                return None
            if exactly and not refreshed(qp, at):
                return beta, theta
            exactly = True
        waited = 0 if changes < fewest else waited + 1
        if waited > PATIENCE or (close is not None and changes > close * max(free.sum(), MANY)):
            return None
        close = None
        fewest = min(fewest, changes)
        _fix(qp, at, np.flatnonzero(out), piece)
        piece[enter] = sides[enter]
        free = (free & ~out) | enter
    return None


def _open(qp: KernelQP, at: Position, free: Mask, piece: Vector) -> None:
    """Free, in a column without a free row that lacks its price, the row that may move most."""
    row, beta = qp.row, at.beta
    for group, price in zip(qp.groups, qp.price, strict=True):
        lack = float(price - beta[group].sum())
        if free[group].any() or abs(lack) <= 1e-14 * float(np.abs(beta[group]).sum()):
            continue
        kink = row.eps[group] * np.where(beta[group] * lack >= 0, 1.0, -1.0)
        gain = np.sign(lack) * at.slope[group] - kink
        ends = row.upper[group] if lack > 0 else row.lower[group]
        i = group[int(np.argmax(np.where(beta[group] != ends, gain, -np.inf)))]
        free[i] = True
        piece[i] = np.sign(beta[i]) or np.sign(lack)


def refreshed(qp: KernelQP, at: Position) -> bool:
    """Compute the slope anew; return whether the steps have left more in it than rounding."""
    slope, root = qp.at(at.beta).slope, np.sqrt(qp.diagonal)
    known = np.sqrt(qp.n) * float(np.abs(at.beta) @ root) * float(root.max(initial=0.0))
    known += float(np.abs(slope).max(initial=0.0))
    drift = float(np.abs(slope - at.slope).max(initial=0.0))
    at.slope[:] = slope
    return bool(drift > DRIFTED * known)


def solve_free(
    system: FreeRows, qp: KernelQP, at: Position, rows: Indices, piece: Vector, *, exactly: bool
) -> tuple[Vector, bool] | None:
    """Move the free rows to the solution of their system; return θ, and whether it solves it.

    A singular matrix is given a little on its diagonal, which refinement makes up for; where its
    rows ask for what cannot be, the answer is a long way along what they cannot tell apart.
    ``exactly`` refines as far as that goes, else as far as the sets need.
    """
    if rows.size == 0:
        return _idle_offset(qp, at), True
    start, found = at.copy(), None
    for solve in system.solvers(rows):
        at.beta[:], at.slope[:] = start.beta, start.slope
        found = _refined(qp, at, rows, piece, solve, exactly=exactly)
        if found[1]:
            break
    return found


def _refined(
    qp: KernelQP, at: Position, rows: Indices, piece: Vector, solve: Solve, *, exactly: bool
) -> tuple[Vector, bool]:
    """Solve the system by its factor, and refine while that halves what is left."""
    row, basis = qp.row, qp.basis[rows]
    inner = solve(basis) if basis.size else basis
    empty = ~basis.any(axis=0)
    schur = basis.T @ inner
    schur[empty, empty] = 1.0
    theta = np.zeros(basis.shape[1])
    size, before = float(np.abs(at.slope).max(initial=0.0)), np.inf
    for _ in range(REFINED):
        left = at.slope[rows] - piece[rows] * row.eps[rows] - basis @ theta
        lack = np.where(empty, 0.0, qp.price - _column_sums(qp, at.beta))
        now = float(np.abs(left).max()) / size if size else 0.0
        enough = 1e-15 if exactly or not np.isfinite(before) else SOLVED
        if now <= enough or not now <= 0.5 * before:
            break
        before = now
        step = solve(left)
        if theta.size:
            change = _least_change(schur, basis.T @ step - lack)
            step, theta = step - inner @ change, theta + change
        at.beta[rows] += step
        at.slope -= qp.kernel.product(rows, step)
        at.slope[rows] -= row.ridge[rows] * step
    if empty.any():
        theta = np.where(empty, _idle_offset(qp, at), theta)
    return theta, now <= SOLVED


def _least_change(schur: Matrix, right: Vector) -> Vector:
    """Solve the system of the columns, with least norm where it is singular."""
    if schur.size == 1 and schur[0, 0] != 0.0:
        return np.asarray(right / schur[0, 0])
    return np.asarray(np.linalg.lstsq(schur, right)[0])


def _column_sums(qp: KernelQP, beta: Vector) -> Vector:
    return np.array([beta[group].sum() for group in qp.groups])


def _idle_offset(qp: KernelQP, at: Position) -> Vector:
    """Return θ in the middle of what the fixed rows allow, for a column without a free row."""
    row, beta = qp.row, at.beta
    up = np.where(beta < row.upper, at.slope - np.where(beta >= 0, row.eps, -row.eps), -np.inf)
    down = np.where(beta > row.lower, at.slope - np.where(beta > 0, row.eps, -row.eps), np.inf)
    found = []
    for group in qp.groups:
        ends = [float(up[group].max()), float(down[group].min())]
        finite = [end for end in ends if np.isfinite(end)]
        found.append(sum(finite) / len(finite) if finite else 0.0)
    return np.array(found)


def _beyond(qp: KernelQP, beta: Vector, piece: Vector) -> Mask:
    """Whether β has left the box, or with an ε the side of 0 that it is on."""
    row = qp.row
    turned = (row.eps > 0) & (beta * piece < 0)
    return np.asarray((beta < row.lower) | (beta > row.upper) | turned)


def entering(qp: KernelQP, at: Position, theta: Vector, free: Mask) -> tuple[Mask, Vector]:
    """Return the fixed rows whose slope points inwards, and the side that each moves to."""
    row, beta = qp.row, at.beta
    slope = at.slope - qp.basis @ theta if theta.size else at.slope
    rounding = ROUNDING * (np.abs(slope) + np.abs(row.q) + float(np.abs(theta).max(initial=0.0)))
    rise = slope - np.where(beta >= 0, row.eps, -row.eps)
    fall = slope - np.where(beta > 0, row.eps, -row.eps)
    up = ~free & (beta < row.upper) & (rise > rounding)
    down = ~free & (beta > row.lower) & (fall < -rounding)
    sides = np.where(up, np.where(beta >= 0, 1.0, -1.0), np.where(beta <= 0, -1.0, 1.0))
    return up | down, sides


def _fix(qp: KernelQP, at: Position, rows: Indices, piece: Vector) -> None:
    """Put rows on the end of their piece that they have passed."""
    if not rows.size:
        return
    row, beta = qp.row, at.beta[rows]
    moved = np.clip(beta, *piece_ends(qp, rows, piece))
    at.slope -= qp.kernel.product(rows, moved - beta)
    at.slope[rows] -= row.ridge[rows] * (moved - beta)
    at.beta[rows] = moved


def piece_ends(qp: KernelQP, rows: Indices, piece: Vector) -> tuple[Vector, Vector]:
    """Return the ends of the piece that rows are on."""
    priced = qp.row.eps[rows] > 0
    low = np.where(priced & (piece[rows] > 0), 0.0, qp.row.lower[rows])
    high = np.where(priced & (piece[rows] < 0), 0.0, qp.row.upper[rows])
    return low, high
