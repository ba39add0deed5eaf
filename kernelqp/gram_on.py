"""Which Gram the rows of a method get: features, K as a whole, or rows of K as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelqp.block_gram import BlockGram
from kernelqp.gram import Gram
from kernelqp.kernel_matrix import TILE
from kernelqp.repaired import Repaired, is_precomputed

if TYPE_CHECKING:
    from kernelqp._types import Matrix
    from kernelqp.kernels import Kernel

MEMORY = 4 * 10**9  # bytes of rows of K that are kept, unless a solve says otherwise
KEEPS = 1e-2  # of the largest k(x, x): what must be left of it about the mean of a few rows


def gram_on(kernel: Kernel, X: Matrix, precision: float, *, few: bool) -> Gram:
    """Return the Gram of a bound kernel on the rows X; ``few`` if few rows of K may do.

    A kernel whose values are nearly one constant keeps its figures only if K is centred as a whole.
    """
    small = not few or X.shape[0] <= TILE
    measured = not kernel.psd or is_precomputed(kernel) or isinstance(kernel, Repaired)
    if small or measured or kernel.features(X) is not None:
        return Gram.of(kernel, X, precision=precision)
    gram = BlockGram.on(kernel, X, MEMORY)
    keeps = gram.centred().mean_diagonal >= KEEPS * float(gram.diagonal.max())
    return gram if keeps else Gram.of(kernel, X, precision=precision)
