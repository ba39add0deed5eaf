"""A start for our own solvers from an earlier solution: other costs, other rows, other weights.

Rows are known again by their features, wherever they stand now. A row at an end of its box then is
at that end now; the others keep their β; new rows start at 0.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.block_gram import BlockGram
from kernelqp.errors import ParameterError
from kernelqp.repaired import is_precomputed
from kernelqp.solution import Solution

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.formulation import Formulation
    from kernelqp.risk import RegularizedRisk

AT_END = 1e-12  # of the box: as near to its end as rounding leaves a row


def starting_beta(formulation: Formulation, risk: RegularizedRisk, start: Any) -> Vector:
    """Return β of an earlier solution for a risk, not balanced, and share its rows of K.

    Raises
    ------
    ParameterError
        If it is no Solution of the same method, its rows cannot be known again, or the loss has no
        kernel QP: Newton's method starts from 0.
    """
    if not isinstance(start, Solution) or type(start.method) is not type(formulation.method):
        raise ParameterError(
            f"start must be a Solution of {type(formulation.method).__name__}; got "
            f"{type(getattr(start, 'method', start)).__name__}"
        )
    earlier, point, parameters = start.origin
    before = earlier.page.risk(parameters)
    old = before.row
    new = risk.row
    if old is None or new is None:
        raise ParameterError(f"start is for losses with a kernel QP, and {risk.loss!r} has none")
    _share(before.gram, risk.gram)
    origin = _rows_before(earlier.page, formulation.page, before.n, risk.n)
    known, origin = origin >= 0, np.maximum(origin, 0)
    beta, lower, upper = point.beta[origin], old.lower[origin], old.upper[origin]
    with np.errstate(invalid="ignore"):  # inf − inf of a box without ends
        rounding = AT_END * np.maximum(np.abs(lower), np.abs(upper))
        high, low = beta >= upper - rounding, beta <= lower + rounding
    ends = (upper > 0) & high, (lower < 0) & low  # 0 is an end that needs no moving
    moved = np.where(ends[0], new.upper, np.where(ends[1], new.lower, beta))
    moved = np.where(np.isfinite(moved), moved, beta)
    return np.asarray(np.where(known, np.clip(moved, new.lower, new.upper), 0.0))


def _share(before: Any, now: Any) -> None:
    """Let a Gram on the same rows have the rows of K that another has computed."""
    blocks = isinstance(before, BlockGram) and isinstance(now, BlockGram)
    if blocks and before.kernel == now.kernel and np.array_equal(before.X, now.X):
        now.share(before)


def _rows_before(before: Any, now: Any, size: int, wanted: int) -> Indices:
    """Return where each row of the engine stood before, −1 for a new one."""
    if before.data is None or now.data is None or is_precomputed(now.kernel):
        if size != wanted:
            raise ParameterError(
                f"start has {size} rows and the problem {wanted}: without features rows are known "
                f"by their place, so there must be as many"
            )
        return np.arange(size)
    rows = _matched(before.data.X, now.data.X)
    times = wanted // rows.size  # a ν-SVR has every row twice
    step = size // times
    return np.concatenate([np.where(rows < 0, -1, rows + k * step) for k in range(times)])


def _matched(old: Matrix, new: Matrix) -> Indices:
    """Return the place of each new row among the old ones; equal rows in their order."""
    places: dict[bytes, list[int]] = defaultdict(list)
    for i, key in reversed(list(enumerate(_keys(old)))):
        places[key].append(i)
    return np.array([places[key].pop() if places.get(key) else -1 for key in _keys(new)])


def _keys(X: Any) -> list[bytes]:
    """Return the rows as bytes, −0 as 0."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        rows.sort_indices()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in ends]
    return [row.tobytes() for row in np.asarray(X) + 0.0]
