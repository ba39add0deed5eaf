"""A kernel matrix of low rank, as a linear kernel or a smooth one leaves it, by a thin factor.

Pivoted Cholesky takes the row of the largest diagonal that is left until nothing is:

    K = F F' + E,  E PSD,  trace E <= 1e-13 trace K

and the interior point method on F costs O(n r²) a step where that on K costs O(n³).

Source: Fine & Scheinberg (2001), Efficient SVM training using low-rank kernel representations,
JMLR 2, 243-264.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.gram import Gram
from kernelqp.solvers.interior import interior_point

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.solvers.kernel_qp import KernelQP, KernelRows

LEFT = 1e-13  # of the trace: what a factor may leave
THIN = 8  # columns are at most one in so many of the rows
SEEN, SHARE = 64, 4  # columns, or one in so many, after which it shows how fast the trace falls


def near_by_factor(qp: KernelQP) -> tuple[Vector, Vector] | None:
    """Return (β, θ) near the optimum, by a thin factor of K; None where it has none."""
    factor = thin_factor(qp.kernel, qp.n // THIN)
    if factor is None:
        return None
    beta, theta, _ = interior_point(Gram.from_factor(factor), qp.row, qp.basis, qp.price, qp.watch)
    return beta, theta


def thin_factor(kernel: KernelRows, most: int) -> Matrix | None:
    """Return F, shape (n, r), r <= most, by pivoted Cholesky; None where more columns are needed.

    It is given up as soon as the trace falls too slowly to end in time.
    """
    left = kernel.diagonal.astype(np.float64)
    n, whole = left.size, float(left.sum())
    columns, everyone = np.empty((most, n)), np.arange(n)
    for k in range(most):
        rest = float(left.sum()) / whole if whole > 0.0 else 0.0
        if rest <= LEFT:
            return np.ascontiguousarray(columns[: max(k, 1)].T) if k else np.zeros((n, 1))
        if k >= max(SEEN, most // SHARE) and k * math.log(LEFT) < most * math.log(rest):
            return None
        i = int(np.argmax(left))
        row = kernel.block(np.array([i]), everyone)[0] - columns[:k, i] @ columns[:k]
        columns[k] = row / math.sqrt(left[i])
        left = np.maximum(left - columns[k] ** 2, 0.0)
        left[i] = 0.0
    return None
