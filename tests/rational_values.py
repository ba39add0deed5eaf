"""P and D in rational arithmetic, from the entries of K as they are stored."""

from fractions import Fraction

import numpy as np

from kernelqp import losses


def fractions(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


def per_row(value, n):
    return fractions(np.broadcast_to(value, n))


def product(K, beta, *, centred):
    """Return K β, or H K H β, of rational numbers."""
    n = len(beta)
    mean = sum(beta) / n if centred else Fraction(0)
    f = [sum(a * (b - mean) for a, b in zip(row, beta, strict=True)) for row in K]
    mean = sum(f) / n if centred else Fraction(0)
    return [value - mean for value in f]


def positive(value):
    return max(value, Fraction(0))


def lost(loss, y, p):
    """Return ℓ(y, p) row by row."""
    z = [a * b for a, b in zip(y, p, strict=True)]
    r = [b - a for a, b in zip(y, p, strict=True)]
    if isinstance(loss, losses.Hinge):
        return [positive(1 - v) for v in z]
    if isinstance(loss, losses.SquaredHinge):
        return [positive(1 - v) ** 2 for v in z]
    if isinstance(loss, losses.Pinball):
        tau = per_row(loss.tau, len(y))
        return [t * positive(-v) + (1 - t) * positive(v) for t, v in zip(tau, r, strict=True)]
    if isinstance(loss, losses.Huber):
        ends = [min(abs(v), d) for v, d in zip(r, per_row(loss.delta, len(y)), strict=True)]
        return [m * (abs(v) - m / 2) for m, v in zip(ends, r, strict=True)]
    excess = [positive(abs(v) - e) for v, e in zip(r, per_row(loss.epsilon, len(y)), strict=True)]
    squared = isinstance(loss, losses.SquaredEpsilonInsensitive)
    return [v**2 for v in excess] if squared else excess


def rational_values(risk, stored, verdict):
    """Return P and D of the points of a verdict on a risk with at most a free intercept.

    ``stored`` is the Gram whose entries count: the one before centring, where there was one.
    """
    free = risk.offset.is_intercept
    K = [fractions(row) for row in stored.dense_matrix()]
    y, costs = fractions(risk.targets), fractions(risk.costs)
    theta = fractions(verdict.theta)[0] if free else Fraction(0)

    beta = fractions(verdict.function.coefficients)
    f = product(K, beta, centred=free)
    primal = sum(a * b for a, b in zip(f, beta, strict=True)) / 2
    rows = lost(risk.loss, y, [value + theta for value in f])
    primal += sum(c * v for c, v in zip(costs, rows, strict=True))

    beta = fractions(verdict.dual.coefficients)
    f = product(K, beta, centred=free)
    row = risk.row
    dual = sum(
        q * b - e * abs(b) - r * b * b / 2 - b * p / 2
        for q, e, r, b, p in zip(
            fractions(row.q), fractions(row.eps), fractions(row.ridge), beta, f, strict=True
        )
    )
    return primal, dual
