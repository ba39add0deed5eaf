"""The active set method for the kernel QP: the optimum from a rough start, as a rule exactly.

From there sets are changed until none changes. They may cycle from afar: then a thin factor of K
may know better, or the start is improved, and where that does not help the interior point method
takes over.

Source: Scheinberg (2006), An efficient implementation of an active set method for SVMs, JMLR 7,
2237-2257.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelqp.solvers.free_rows import FreeRows
from kernelqp.solvers.low_rank import near_by_factor
from kernelqp.solvers.sets import CLOSE, entering, piece_ends, refreshed, settle_sets, solve_free
from kernelqp.solvers.smo import SMALL, descend

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Indices, Vector
    from kernelqp.solvers.kernel_qp import KernelQP, Position

ROUGH = 0.025  # of the first violation: where the rough start ends
KINKED = 0.1  # of that where rows may stop at 0 as well: they turn for longer
FINER = 0.1  # of that: where it ends after the sets did not settle
STARTS = 4
FEW = 500  # rows that may change one at a time
FINE = 1e-10  # of the value: the gap of an answer that needs no sets


def active_set(qp: KernelQP, near: Vector | None = None) -> tuple[Vector, Vector] | None:
    """Return (β, θ) at which no row changes, or where K has low rank one as good; else None.

    ``near`` is a β in the box, not balanced, whose sets are tried first.
    """
    found = None if near is None else settle_sets(qp, qp.at(near), CLOSE)
    return found or from_start(qp, near, settle_by_factor)


def from_start(
    qp: KernelQP,
    near: Vector | None = None,
    otherwise: Callable[[KernelQP], tuple[Vector, Vector] | None] | None = None,
) -> tuple[Vector, Vector] | None:
    """Settle the sets of a rough start, from ``near`` if given, which is made finer in turn.

    ``otherwise`` is tried once, where the first start did not settle.
    """
    start = feasible_start(qp)
    if start is None:
        return None
    at = qp.at(start)
    size = _violation(qp, at)
    if size == 0.0:  # nothing to gain: the targets are all 0, say
        return settle_sets(qp, at)
    if not np.isfinite(size):
        return None
    at = at if near is None else qp.at(balanced(qp, near))
    stop = ROUGH * size * (KINKED if qp.row.eps.any() else 1.0)
    for _ in range(STARTS):
        descend(qp, at, stop, 20 * qp.n + 1000)
        found = settle_sets(qp, at.copy())
        if found is None and otherwise is not None:
            found, otherwise = otherwise(qp), None
        if found is not None:
            return found
        stop *= FINER
    return None


def settle_by_factor(qp: KernelQP) -> tuple[Vector, Vector] | None:
    """Settle the sets of what the interior point method finds on a thin factor, if K has one.

    Where they do not, as rows that are combinations of others have it, its own answer will do.
    """
    near = near_by_factor(qp) if qp.kernel.fits else None
    if near is None:
        return None
    found = settle_sets(qp, qp.at(snapped(qp, *near)))
    if found is not None:
        return found
    at = qp.at(near[0])
    value = abs(float(at.beta @ qp.row.q - np.abs(at.beta) @ qp.row.eps))
    size = value or 0.5 * float(at.beta**2 @ qp.diagonal)  # where nothing but K counts
    return near if gap_left(qp, at, near[1]) <= FINE * size else None


def settle_near(qp: KernelQP, beta: Vector, theta: Vector) -> tuple[Vector, Vector] | None:
    """Settle the sets of a point near the optimum, whose free rows are those well in their box."""
    found = settle_sets(qp, qp.at(snapped(qp, beta, theta)))
    return one_by_one(qp, qp.at(beta)) if found is None and qp.n <= FEW else found


def snapped(qp: KernelQP, beta: Vector, theta: Vector) -> Vector:
    """Return β with the rows that are not well in their box at its ends, or at 0."""
    row = qp.row
    slope = qp.at(beta).slope - qp.basis @ theta - np.sign(beta) * row.eps
    unit = np.maximum(qp.diagonal + row.ridge, SMALL * float(qp.diagonal.max(initial=0.0)))
    low = np.where((row.eps > 0) & (beta > 0), 0.0, row.lower)
    high = np.where((row.eps > 0) & (beta < 0), 0.0, row.upper)
    to_low = (beta - low) * unit <= np.maximum(-slope, 0.0)
    to_high = (high - beta) * unit <= np.maximum(slope, 0.0)
    return np.asarray(np.where(to_low, low, np.where(to_high, high, beta)))


def gap_left(qp: KernelQP, at: Position, theta: Vector) -> float:
    """Return Σ of what each row alone could gain at θ: P − D of a balanced β, in differences.

    Alone a row is best at b = sign(m) max(|m| − ε, 0)/ridge in its box, with m = q − K β − Bθ.
    """
    row, beta = qp.row, at.beta
    slope = at.slope - qp.basis @ theta
    m = slope + row.ridge * beta
    past = np.maximum(np.abs(m) - row.eps, 0.0)
    with np.errstate(all="ignore"):  # without a ridge it goes to its end, which may be infinite
        alone = np.where(past > 0, np.sign(m) * past / row.ridge, 0.0)
        best = np.clip(alone, row.lower, row.upper)
        move = best - beta
        gain = move * (slope - 0.5 * row.ridge * move) - row.eps * (np.abs(best) - np.abs(beta))
    return float(np.where(np.isfinite(best), gain, np.inf).sum())


def one_by_one(qp: KernelQP, at: Position) -> tuple[Vector, Vector] | None:
    """Change one row at a time from a feasible point, never losing: the primal active set method.

    Slower by far than many at a time, and without cycles but for ties: for few rows that are
    nearly the same, and prices that no figures are left for.
    """
    beta = at.beta
    piece = np.where(beta > 0, 1.0, np.where(beta < 0, -1.0, 0.0))
    free = (beta > qp.row.lower) & (beta < qp.row.upper) & ((qp.row.eps == 0) | (beta != 0))
    system = FreeRows(qp)
    for _ in range(10 * qp.n + 100):
        qp.watch.look(at.beta)
        rows, ahead = np.flatnonzero(free), at.copy()
        solution = solve_free(system, qp, ahead, rows, piece, exactly=True)
        if solution is None:
            return None
        theta, solved = solution
        t, blocking = _room(qp, at, ahead, rows, piece)
        if solved and t >= 1.0:
            enter, sides = entering(qp, ahead, theta, free)
            at = ahead
            if not enter.any():
                if refreshed(qp, at):
                    continue
                return at.beta, theta
            slope = np.abs(at.slope - qp.basis @ theta)
            i = int(np.argmax(np.where(enter, slope, -1.0)))
            free[i], piece[i] = True, sides[i]
        elif blocking < 0:
            return None
        else:
            upwards = int(ahead.beta[blocking] > at.beta[blocking])
            at.beta[rows] += t * (ahead.beta - at.beta)[rows]
            at.slope += t * (ahead.slope - at.slope)
            at.beta[blocking] = piece_ends(qp, np.array([blocking]), piece)[upwards][0]
            free[blocking] = False
    return None


def _room(
    qp: KernelQP, at: Position, ahead: Position, rows: Indices, piece: Vector
) -> tuple[float, int]:
    """Return the share of a step at which a free row meets an end, and that row; inf and −1."""
    move, beta = (ahead.beta - at.beta)[rows], at.beta[rows]
    low, high = piece_ends(qp, rows, piece)
    with np.errstate(all="ignore"):  # a step of next to nothing meets no end
        share = np.where(
            move > 0, (high - beta) / move, np.where(move < 0, (low - beta) / move, np.inf)
        )
    if not rows.size or not np.isfinite(share).any():
        return np.inf, -1
    k = int(np.nanargmin(share))
    return max(float(share[k]), 0.0), int(rows[k])


def feasible_start(qp: KernelQP) -> Vector | None:
    """Return 0, or where a column has a price, rows at their ends until they sum to it."""
    beta = np.zeros(qp.n)
    for group, price in zip(qp.groups, qp.price, strict=True):
        ends = qp.row.upper[group] if price > 0 else qp.row.lower[group]
        reached = np.minimum(np.cumsum(np.abs(ends)), abs(price))
        shares = np.minimum(np.diff(reached, prepend=0.0), np.abs(ends))
        beta[group] = np.sign(price) * shares
        if abs(beta[group].sum() - price) > 1e-9 * abs(price):
            return None
    return beta


def balanced(qp: KernelQP, beta: Vector) -> Vector:
    """Return a β in the box that is balanced, each row moved by the same share of its room."""
    beta = beta.copy()
    for group, price in zip(qp.groups, qp.price, strict=True):
        lack = float(price - beta[group].sum())
        ends = qp.row.upper[group] if lack > 0 else qp.row.lower[group]
        room = np.where(np.isfinite(ends), ends - beta[group], np.sign(lack) * np.abs(beta[group]))
        if (total := float(room.sum())) != 0.0:
            beta[group] += min(lack / total, 1.0) * room
    return beta


def _violation(qp: KernelQP, at: Position) -> float:
    """Return the size of the slopes that the start leaves, without their offset."""
    slope = at.slope
    if qp.groups:
        spread = [float(np.ptp(slope[group])) for group in qp.groups]
        return max(spread)
    return float(np.abs(slope).max(initial=0.0))
