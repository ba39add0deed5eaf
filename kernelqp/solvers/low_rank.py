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
    from kernelqp.solvers.watch import Watch

LEFT = 1e-13  # of the trace: what a factor may leave
THIN = 8  # columns are at most one in so many of the rows
SEEN = 16  # columns by whose part of the trace it is told whether the rest can be taken in time
SURE = 4  # one in so many of the columns allowed: those before may be rows that stand alone


def near_by_factor(qp: KernelQP) -> tuple[Vector, Vector] | None:
    """Return (β, θ) near the optimum, by a thin factor of K; None where it has none."""
    factor = thin_factor(qp.kernel, qp.n // THIN, qp.watch)
    if factor is None:
        return None
    beta, theta, _ = interior_point(Gram.from_factor(factor), qp.row, qp.basis, qp.price, qp.watch)
    return beta, theta


def thin_factor(kernel: KernelRows, most: int, watch: Watch | None = None) -> Matrix | None:
    """Return F, shape (n, r), r <= most, by pivoted Cholesky; None where more columns are needed.

    It is given up where columns like the last ones cannot take the rest of the trace in time.
    """
    left = kernel.diagonal.astype(np.float64)
    n, traces = left.size, [float(left.sum())]
    columns, everyone = np.empty((most, n)), np.arange(n)
    while traces[-1] > LEFT * traces[0]:
        k = len(traces) - 1
        taken = traces[-1 - SEEN] - traces[-1] if k >= max(SEEN, most // SURE) else np.inf
        if k == most or (most - k) * taken < SEEN * traces[-1]:
            return None
        if watch is not None:
            watch.check()
        i = int(np.argmax(left))
        row = kernel.block(np.array([i]), everyone)[0] - columns[:k, i] @ columns[:k]
        columns[k] = row / math.sqrt(left[i])
        left = np.maximum(left - columns[k] ** 2, 0.0)
        left[i] = 0.0
        traces.append(float(left.sum()))
    rank = len(traces) - 1
    return np.ascontiguousarray(columns[:rank].T) if rank else np.zeros((n, 1))
