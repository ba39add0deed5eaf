"""What is left of a Gram matrix once no product is asked for: the sizes of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelqp.gram import Gram

if TYPE_CHECKING:
    from kernelqp._types import Vector


@dataclass(frozen=True, eq=False, repr=False)
class DiagonalGram(Gram):
    """A Gram of which K_ii alone is kept, ``entries`` of shape (n,)."""

    entries: Vector | None = None

    @classmethod
    def of_gram(cls, gram: Gram) -> DiagonalGram:
        """Return the diagonal of a Gram, which may then be forgotten."""
        return cls(None, None, gram.psd_by_construction, entries=gram.diagonal)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.diagonal.size)

    @property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        return np.asarray(self.entries)
