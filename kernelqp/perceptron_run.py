"""The perceptron, row by row: a mistake adds y_i k(x_i, ·) to f.

f = Σ y_i m_i k(x_i, ·) with m_i the mistakes made on row i. A row is a mistake where
y_i f(x_i) <= 0; f = 0 makes one on every row. A value that is rounding of the sum it comes from is
0, so that weights and counts, which sum in another order, make the same mistakes.

Source: Rosenblatt (1958), The perceptron, Psychological Review 65(6), 386-408; Freund & Schapire
(1999), Large margin classification using the perceptron algorithm, Machine Learning 37, 277-296.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.arrays import EPS
from kernelqp.growing import growing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelqp._types import Vector
    from kernelqp.risk import RegularizedRisk

ROUNDING = 8.0 * EPS  # of a sum of few terms


class PerceptronRun:
    """The state of the algorithm: the mistakes so far, row by row.

    Parameters
    ----------
    risk : RegularizedRisk
        A hard margin without an offset.
    in_weights : bool
        Whether f is kept in the weights of explicit features, not by its values at the rows.
    """

    def __init__(self, risk: RegularizedRisk, *, in_weights: bool = True) -> None:
        self.risk, self.counts = risk, np.zeros(risk.n, dtype=np.int64)
        self.mistakes = 0
        self._f, self._signs = growing(risk.gram, in_weights=in_weights), risk.targets.tolist()
        roots = np.sqrt(np.maximum(risk.gram.diagonal, 0.0))
        # |f(x_i)| <= mistakes · largest · √K_ii: its rounding is eps times that, or less
        self._most = (ROUNDING * float(roots.max()) * roots).tolist()

    def visit(self, order: Iterable[int]) -> list[bool]:
        """Take rows one by one, learn from every mistake, and return where they were made."""
        return [self._visit(i) for i in order]

    def _visit(self, i: int) -> bool:
        if not self._is_mistake(i, self._signs[i] * self._f.at_row(i)):
            return False
        self.counts[i] += 1
        self.mistakes += 1
        self._f.add_row(i, self._signs[i])
        return True

    def _is_mistake(self, i: int, z: float) -> bool:
        """Return whether z = y f(x_i) is at most 0, or rounding of the terms it is the sum of."""
        if not 0.0 < z <= self.mistakes * self._most[i]:
            return z <= 0.0
        return z <= ROUNDING * math.sqrt(self.mistakes) * self._size_of_terms(i)

    def _size_of_terms(self, i: int) -> float:
        """Return Σ_j m_j |k(x_i, x_j)|, of features with the sizes of their products."""
        gram, row = self.risk.gram, np.array([i])
        if gram.factor is None:
            return float((np.abs(gram.submatrix(row, np.arange(gram.n))) @ self.counts)[0])
        return float((np.abs(gram.inputs[row]) @ (np.abs(gram.inputs).T @ self.counts))[0])

    def beta(self) -> Vector:
        """Return the coefficients of f, shape (n,)."""
        return np.asarray(self.risk.targets * self.counts)

    def separates(self) -> bool:
        """Return whether no row would be a mistake now."""
        z = (self.risk.targets * self._f.at(slice(None))).tolist()
        return not any(self._is_mistake(i, value) for i, value in enumerate(z))
