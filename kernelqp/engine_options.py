"""What a caller may ask of our own solvers: where to start, for how long, with how much memory."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from kernelqp.block_gram import ORIGIN, BlockGram
from kernelqp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelqp.gram import Gram

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{name}i": 1024**power for power, name in enumerate("kmgt", start=1)}


@dataclass(frozen=True, eq=False)
class EngineOptions:
    """The options of ``solver="native"``; ``start`` is an earlier Solution."""

    start: Any = None
    time_limit: float = math.inf
    memory: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> EngineOptions:
        """Read the options.

        Raises
        ------
        ParameterError
            If there is no such option, or a value cannot be used.
        """
        names = option_names()
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(
                f"the native solver has no option {unknown[0]!r}; it takes {', '.join(names)}"
            )
        limit, memory = given.get("time_limit"), given.get("memory")
        return cls(
            given.get("start"),
            math.inf if limit is None else _seconds(limit),
            None if memory is None else bytes_of(memory),
        )

    def limit(self, gram: Gram) -> None:
        """Bound the rows of K that a Gram keeps.

        Raises
        ------
        ParameterError
            If that leaves room for fewer rows than a start needs.
        """
        if self.memory is None or not isinstance(gram, BlockGram):
            return
        least = 8 * gram.n * min(ORIGIN, gram.n)
        if self.memory < least:
            raise ParameterError(
                f"memory must hold {min(ORIGIN, gram.n)} rows of K, {least} bytes for {gram.n} "
                f"rows; got {self.memory} bytes"
            )
        gram.limit(self.memory)


def option_names() -> tuple[str, ...]:
    """Return the names of the options."""
    return tuple(field.name for field in fields(EngineOptions))


def bytes_of(memory: Any) -> int:
    """Return a size such as "4GB", "512 MiB" or a number of bytes as a number of bytes.

    Raises
    ------
    ParameterError
        If it is no such size.

    Examples
    --------
    >>> bytes_of("4GB"), bytes_of("0.5 MiB"), bytes_of(2_000)
    (4000000000, 524288, 2000)
    """
    if isinstance(memory, int | float) and memory is not True and 1 <= memory < math.inf:
        return int(float(memory))
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", str(memory).lower())
    try:
        size = float(found[1]) * UNITS[found[2]] if found and not isinstance(memory, bool) else 0.0
    except (ValueError, KeyError):
        size = 0.0
    if not size >= 1:
        raise ParameterError(
            f"memory must be a number of bytes, or a size in kB, MB, GB, TB, KiB ... TiB such as "
            f"'4GB'; got {memory!r}"
        )
    return int(size)


def _seconds(limit: Any) -> float:
    number = isinstance(limit, numbers.Real) and not isinstance(limit, bool)
    if not number or not float(limit) > 0:
        raise ParameterError(f"time_limit must be a number of seconds > 0; got {limit!r}")
    return float(limit)
