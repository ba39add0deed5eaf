"""The ν problems as regularised risks: ρ and ε are offsets with a price.

Every row is moved by one column alone, so that each θ_k, and each balance, is a problem of one
dimension. With shares s_i/S, S = Σ s_i:

    ν-SVM, free b    p = f + b − ρ for y = 1, f + b + ρ for y = −1;  loss (−y p)₊ at costs s/S
                     θ = (b − ρ, b + ρ),  d = (ν/2, −ν/2):  either class gets ν/2 of Σ α
    without free b   p = f − y ρ;  θ = −ρ on the column y,  d = ν
    one class        p = f − ρ;  loss (−p)₊ at costs s/(ν S);  θ = −ρ on the column 1,  d = 1
    ν-SVR, free b    2n rows, p⁺ = f + b + ε with (y − p⁺)₊ and p⁻ = f + b − ε with (p⁻ − y)₊ at
                     costs C s/S;  θ = (b + ε, b − ε),  d = (C ν/2, −C ν/2)
    without free b   θ = ε on the column (1, −1),  d = C ν

Source: Schölkopf, Smola, Williamson & Bartlett (2000), New support vector algorithms, Neural
Computation 12(5), 1207-1245; Chang & Lin (2001), Training ν-support vector classifiers, Neural
Computation 13(9), 2119-2147.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from kernelqp.block_gram import BlockGram
from kernelqp.gram import Gram
from kernelqp.losses import Perceptron, Pinball
from kernelqp.offset import Offset
from kernelqp.risk import RegularizedRisk

if TYPE_CHECKING:
    from kernelqp._types import Vector

LIMIT = 1e-12  # relative: shares are sums of weights, known to rounding only


def shares(weights: Vector) -> Vector:
    """Return s_i/S."""
    return np.asarray(weights / weights.sum())


def largest_nu(signs: Vector, weights: Vector, *, free: bool) -> float:
    """Return the largest ν that Σ α = ν, 0 <= α_i <= s_i/S can reach, with y'α = 0 where free.

    Either class has to give ν/2 there, so that it is 2 min(S₊, S₋)/S; else 1.
    """
    if not free:
        return 1.0
    positive, total = float(weights[signs > 0].sum()), float(weights.sum())
    return 2.0 * min(positive, total - positive) / total


def margin_risk(
    gram: Gram, signs: Vector, weights: Vector, nu: float, *, free: bool
) -> RegularizedRisk:
    """Return the engine's problem of a ν-SVM."""
    if free:
        basis = np.column_stack([signs > 0, signs < 0]).astype(np.float64)
        offset = Offset(basis, np.array([0.5 * nu, -0.5 * nu]), np.ones(2))
    else:
        offset = Offset(signs[:, None], np.array([nu]), None)
    return RegularizedRisk(gram, signs, shares(weights), Perceptron(), offset)


def one_class_risk(gram: Gram, weights: Vector, nu: float) -> RegularizedRisk:
    """Return the engine's problem of one class."""
    offset = Offset(np.ones((gram.n, 1)), np.ones(1), np.ones(1))
    return RegularizedRisk(gram, np.ones(gram.n), shares(weights) / nu, Perceptron(), offset)


def regression_risk(  # every argument is a part of the problem
    gram: Gram, targets: Vector, weights: Vector, C: float, nu: float, *, free: bool
) -> RegularizedRisk:
    """Return the engine's problem of a ν-SVR: the rows above the tube, then those below."""
    n = gram.n
    above = np.repeat([1.0, 0.0], n)
    if free:
        price = 0.5 * C * nu
        basis = np.column_stack([above, 1.0 - above])
        offset = Offset(basis, np.array([price, -price]), np.ones(2))
    else:
        offset = Offset((2.0 * above - 1.0)[:, None], np.array([C * nu]), None)
    return RegularizedRisk(
        doubled(gram),
        np.tile(targets, 2),
        np.tile(C * shares(weights), 2),
        Pinball(above),
        offset,
    )


def middle(targets: Vector) -> float:
    """Return the middle of the targets, about which a free b is counted: it keeps their figures."""
    return 0.5 * float(targets.min() + targets.max())


def doubled(gram: Gram) -> Gram:
    """Return the Gram of the same rows twice."""
    if isinstance(gram, BlockGram) and gram.kernel is not None and gram.X is not None:
        return BlockGram.on(gram.kernel, np.vstack([gram.X, gram.X]), gram.memory)
    if gram.factor is None:
        return Gram.dense(np.tile(gram.dense_matrix(), (2, 2)), psd=True)
    stack = scipy.sparse.vstack if gram.is_sparse else np.vstack
    return Gram.from_factor(stack([gram.factor, gram.factor]))


def folded(values: Vector) -> Vector:
    """Return, of the rows of a ν-SVR, the sum over the two that stand for one."""
    return np.asarray(values.reshape(2, -1).sum(axis=0))


def shift_and_width(theta: Vector, *, free: bool) -> tuple[float, float]:
    """Return (b, ρ) of a ν-SVM, (0, ρ) of one class; (b, −ε) of a ν-SVR."""
    if free:
        return 0.5 * float(theta[0] + theta[1]), 0.5 * float(theta[1] - theta[0])
    return 0.0, -float(theta[0])


def offsets(b: float, width: float, *, free: bool) -> Vector:
    """Return θ from (b, ρ), or (b, −ε): the inverse of :func:`shift_and_width`."""
    return np.array([b - width, b + width]) if free else np.array([-width])


def best_epsilon(residuals: Vector, weights: Vector, nu: float) -> float:
    """Return the smallest ε >= 0 that minimises ν ε + Σ s_i/S (|r_i| − ε)₊.

    At most a share ν of the weight lies outside the tube.
    """
    order = np.argsort(-np.abs(residuals))
    outside = np.cumsum(shares(weights)[order])
    k = int(np.searchsorted(outside, nu * (1.0 + LIMIT), side="right"))
    return float(np.abs(residuals)[order[k]]) if k < residuals.size else 0.0
