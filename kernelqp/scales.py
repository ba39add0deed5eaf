"""What a gap is compared with, and what P and D are known to: rounding is no proof.

    relative gap = (|P − D| + rounding) / max(|P|, |D|, min(P at f = 0, s²/mean K_ii))

Source: Higham (2002), Accuracy and Stability of Numerical Algorithms, chapters 3 and 4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.block_gram import BlockGram
from kernelqp.repair import EPS, best_offset, imbalance, unit_of_predictions
from kernelqp.risk import Function

if TYPE_CHECKING:
    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk


NOTHING = 100.0  # roundings of the targets: what they cost is no more than 1e-3 of a problem


def gap_scale(risk: RegularizedRisk, least: float = -math.inf) -> float:
    """Return min(P at f = 0, s²/mean K_ii), the scale of a problem whose optimum is 0.

    s is the size of a target and the mean weighted by the costs; the same in every unit. P at f = 0
    is 0 in a homogeneous risk, which is judged by the second alone: see ``unit_of_predictions``.
    No less than 1e3 times what ``NOTHING`` roundings of the targets cost, in the loss's own power
    of their unit: all that there is where P at f = 0 is next to 0.
    ``least`` is a lower bound on P at f = 0, as any D is: it may save the search for its offset.
    """
    total = float(risk.costs.sum())
    mean = float(risk.costs @ risk.gram.diagonal) / total
    size = target_unit(risk)
    size2 = size * size  # infinite where a power would raise
    floor = size2 / mean if mean > 0 else math.inf
    if floor > least and not _without_scale(risk):  # there P at f = 0 is 0
        floor = min(null_value(risk), floor)
    floor = floor if math.isfinite(floor) else 0.0
    if risk.loss.hard:
        return floor
    unit = _root_mean_square(risk, risk.targets + risk.origin) if risk.origin else size
    moved = NOTHING * EPS * unit
    nothing = 1e3 * total * (moved * moved if risk.loss.degree == 2 else moved)
    return max(floor, min(nothing, unit * unit / mean) if mean > 0 else nothing)


def relative_gap(primal: float, dual: float, scale: float, noise: float = 0.0) -> float:
    """Return (|P − D| + noise) / max(|P|, |D|, scale); 0/0 is 0.

    ``noise`` is the rounding of P − D: a computed gap of 0 proves no more than that.
    """
    if not (math.isfinite(primal) and math.isfinite(dual)):
        return math.inf
    size = max(abs(primal), abs(dual), scale)
    return (abs(primal - dual) + noise) / size if size > 0.0 else 0.0


def rounding_of_bounds(risk: RegularizedRisk, dual: Function, *, closely: bool = False) -> float:
    """Return the rounding of D, eps (√m q + 4 Σ |β| (|q| + ε + ridge |β|/2)).

    q is the size of the sums in β'K β: (Σ |β_i| √K_ii)² for a dense K, before centring where K is
    stored, and Σ |β_i| √K_ii ‖f‖ for a factor, where ‖f‖ may be 0 by the rounding of F'β alone;
    errors of a sum of m terms grow as √m where they are independent (Higham & Mary 2019, SIAM J.
    Sci. Comput. 41, A2815), and m is n, and r where features are more. Of an exact f it is
    Σ |β_i f(x_i)|, without √m.
    ``closely`` asks for |β|'|K||β| of a kernel in blocks, which costs a product and is less.
    """
    beta = np.abs(dual.coefficients)
    if dual.exact:
        quadratic = float(beta @ _known_by(risk, dual))
    elif closely and isinstance(risk.gram, BlockGram):
        quadratic = math.sqrt(risk.n) * risk.gram.size_of_products(beta)
    else:
        size = float(beta @ np.sqrt(np.maximum(risk.gram.summed_diagonal, 0.0)))
        factor = risk.gram.factor
        if factor is None:
            quadratic = math.sqrt(risk.n) * size * size
        else:
            error = math.sqrt(max(factor.shape)) * size  # eps times that is lost in F'β
            quadratic = error * (math.sqrt(dual.norm2) + 0.5 * EPS * error)
    return EPS * float(quadratic + 4.0 * _size_of_gain(risk, dual.coefficients))


def _size_of_gain(risk: RegularizedRisk, beta: Vector) -> float:
    """Return Σ |β| (|q| + ε + ridge |β|/2), what −Σ c ℓ* is summed from; Σ c |ℓ*| of other losses.

    Rows of these that are outside their domain are left out: there the gain is −inf.
    """
    row, size = risk.row, np.abs(beta)
    if row is not None:
        return float(size @ (np.abs(row.q) + row.eps + 0.5 * row.ridge * size))
    terms = np.abs(risk.gain(beta))
    return float(terms[np.isfinite(terms)].sum())


def rounding_of_primal(
    risk: RegularizedRisk, primal: float, function: Function, theta: Vector, beta: Vector
) -> float:
    """Return the rounding of the sum that P is, 4 eps (1/2 ‖f‖² + |d|'|θ| + Σ c ℓ + more).

    Predictions are taken as they are computed: with several offsets, more is |β|'|B| |θ|, what
    those that cancel leave in predictions at the loss's slopes β. Of an exact f, whose products are
    not in the rounding of D, it has Σ |β_i f(x_i)| and what the last figure of a prediction costs.
    """
    priced = np.abs(risk.offset.price) @ np.abs(theta)
    lost = primal - 0.5 * function.norm2 - risk.offset.price @ theta
    size = 0.5 * function.norm2 + priced + abs(lost)
    if theta.size > 1:
        size += float(np.abs(beta) @ (np.abs(risk.offset.basis) @ np.abs(theta)))
    if function.exact:
        size += float(np.abs(beta) @ _known_by(risk, function))
        size += 0.5 * _worth_of_an_ulp(risk, function, theta)
    return 4.0 * EPS * float(size) if math.isfinite(size) else 0.0


def imbalance_at_price(risk: RegularizedRisk, dual: Function, theta: Vector) -> float:
    """Return |B'β − d|'|θ|: what D is known to where β is balanced to rounding."""
    if not theta.size:
        return 0.0
    return float(np.abs(imbalance(risk, dual.coefficients)) @ np.abs(theta))


def rounding_of_products(risk: RegularizedRisk, function: Function, theta: Vector) -> float:
    """Return what the rounding of K β may change Σ c ℓ by, eps √n √K_ii Σ |β_j| √K_jj a row."""
    if function.beta is None:
        return 0.0
    root = np.sqrt(np.maximum(risk.gram.summed_diagonal, 0.0))
    size = math.sqrt(risk.n) * root * float(np.abs(function.beta) @ root)
    return EPS * _worth(risk, risk.predictions(function, theta), size)


def _worth_of_an_ulp(risk: RegularizedRisk, function: Function, theta: Vector) -> float:
    """Return Σ c |ℓ'| s, s the size of p and y."""
    size = np.abs(risk.targets) + np.abs(risk.offset.basis) @ np.abs(theta)
    size += _known_by(risk, function)
    return _worth(risk, risk.predictions(function, theta), size)


def _worth(risk: RegularizedRisk, p: Vector, size: Vector) -> float:
    """Return Σ c |ℓ'| s, ℓ' the steepest slope within eps s of a prediction."""
    low = np.abs(risk.loss.slopes(risk.targets, p - EPS * size)[0])
    high = np.abs(risk.loss.slopes(risk.targets, p + EPS * size)[1])
    return float(risk.costs @ (size * np.maximum(low, high)))


def _known_by(risk: RegularizedRisk, function: Function) -> Vector:
    """Return |f(x_i)| + n eps √K_ii Σ |β_j| √K_jj: eps times that is what an exact f is known to.

    The second is what sums in twice the figures lose, of terms that are so much larger than f.
    """
    root = np.sqrt(np.maximum(risk.gram.summed_diagonal, 0.0))
    sums = root * float(np.abs(function.coefficients) @ root)
    return np.asarray(np.abs(function.values) + EPS * risk.n * sums)


def null_value(risk: RegularizedRisk) -> float:
    """Return P at f = 0 with the best offset; infinite for a hard margin.

    Where all of f is an offset, as without a penalty, that is the optimum: then at θ = 0.
    """
    zero = Function(np.zeros(risk.n), 0.0)
    if risk.loss.hard:
        return math.inf
    if not risk.gram.mean_diagonal and not risk.offset.price.any():
        return risk.primal_value(zero, np.zeros(risk.offset.price.size))
    return risk.primal_value(zero, best_offset(risk, zero, np.zeros(risk.offset.price.size)))


def target_unit(risk: RegularizedRisk) -> float:
    """Return the unit of a margin for labels, the weighted root mean square of y otherwise."""
    if risk.loss.margin or _without_scale(risk):
        return unit_of_predictions(risk)
    return _root_mean_square(risk, risk.targets)


def _root_mean_square(risk: RegularizedRisk, targets: Vector) -> float:
    """Return that of targets, weighted by the costs."""
    return math.sqrt(float(risk.costs @ targets**2 / risk.costs.sum()))


def _without_scale(risk: RegularizedRisk) -> bool:
    """Whether nothing but the price of the offset says how large f is."""
    return bool(risk.offset.price.any()) and risk.homogeneous
