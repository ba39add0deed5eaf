"""The problems of a classifier of several labels that LIBSVM fits one against one.

Its table of coefficients has a row less than there are labels: of the pair i < j the coefficients
of the rows of label i stand in row j − 1, those of label j in row i.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.block_gram import ORIGIN, BlockGram, spread_over
from kernelqp.gram import Gram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelqp._types import Indices, Matrix, Vector

WORTH = 2  # times the entries of K that pairs need by themselves: one tile for many is faster


def one(beta: Vector) -> float:  # noqa: ARG001  # of every β
    """Return 1."""
    return 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """Two labels by their numbers, their rows, +1 for the first of them, and β and b on these."""

    name: str
    first: int
    second: int
    chosen: Indices
    gram: Gram
    signs: Vector
    beta: Vector
    b: float


def one_against_one(  # every argument is a part of the problem
    gram: Gram,
    labels: Indices,
    names: Sequence[str],
    table: Matrix,
    shifts: Vector,
    factor: Callable[[Vector], float] = one,
) -> list[Pair]:
    """Return every pair of labels; ``table`` has a row less than there are ``names``, n columns.

    ``shifts`` has the b of every pair. The rows of the first label of a pair stand before those of
    the second. ``factor`` of a pair's β is what β is going to be multiplied by before K β is asked
    for.
    """
    if len(names) == 2:
        everyone, signs = np.arange(gram.n), np.where(labels == 0, 1.0, -1.0)
        return [Pair("", 0, 1, everyone, gram, signs, table[0], float(shifts[0]))]
    rows = [np.flatnonzero(labels == k) for k in range(len(names))]
    numbers = list(combinations(range(len(names)), 2))
    pairs = []
    for (i, j), b in zip(numbers, shifts, strict=True):
        chosen = np.concatenate([rows[i], rows[j]])
        beta = np.concatenate([table[j - 1, rows[i]], table[i, rows[j]]])
        signs = np.repeat([1.0, -1.0], [rows[i].size, rows[j].size])
        part = _part(gram, chosen, rows[i].size, len(numbers))
        name = f": {names[i]} against {names[j]}"
        pairs.append(Pair(name, i, j, chosen, part, signs, beta, float(b)))
    if isinstance(gram, BlockGram):
        _multiply_at_once(gram, rows, pairs, factor)
    return pairs


def _part(gram: Gram, chosen: Indices, first: int, parts: int) -> Gram:
    """Return the Gram of some of the rows, with its part of the memory.

    ``first`` of them are of one label. A few of each label are the origin after centring, the same
    ones in all its pairs.
    """
    if gram.factor is not None:
        return Gram.of_features(gram.factor[chosen])
    if isinstance(gram, BlockGram):
        few, other = (spread_over(n, ORIGIN // 2) for n in (first, chosen.size - first))
        middle = np.concatenate([few, first + other])
        return gram.of_rows(chosen, gram.memory // parts, middle)
    return Gram.dense(gram.submatrix(chosen), psd=True)


def _multiply_at_once(
    gram: BlockGram, rows: list[Indices], pairs: list[Pair], factor: Callable[[Vector], float]
) -> None:
    """Compute K β of all pairs and their origins where they share enough of the rows of K.

    These are taken label by label, so that the rows of a pair are two parts of each. Whatever more
    a pair comes to need it computes itself.
    """
    ends = np.cumsum([own.size for own in rows]).tolist()
    parts = [slice(end - own.size, end) for own, end in zip(rows, ends, strict=True)]
    needs = []
    for pair in pairs:
        if isinstance(pair.gram, BlockGram):
            own = (parts[pair.first], parts[pair.second])
            places = np.concatenate([np.arange(part.start, part.stop) for part in own])
            needs.append((pair.gram, pair.beta, own, places[pair.gram.needed_for(pair.beta)]))
    union = np.unique(np.concatenate([needed for *_, needed in needs]))
    alone = sum(part.n * needed.size for part, *_, needed in needs)
    if union.size * gram.n > min(WORTH * alone, gram.memory // 8):
        return
    by_label = gram.of_rows(np.concatenate(rows), gram.memory)
    by_label.keep(union)
    for part, beta, own, _ in needs:
        part.learn(factor(beta) * beta, by_label, own)
        part.learn(part.mean_of_middle, by_label, own)
