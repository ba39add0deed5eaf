"""Which threads work: those of BLAS, or our own over tiles, never both at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Tile = TypeVar("Tile")

FEW = 4  # tiles that are not worth a thread
ALONE = 4000  # rows up to which one thread of BLAS is as fast: others have to be woken


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def threads_for(n: int) -> AbstractContextManager[Any]:
    """Return a context in which BLAS works on n rows: in one thread where these are few.

    A thread that waits for a core holds the others up, on a machine that has something else to do.
    """
    return _blas().limit(limits=1, user_api="blas") if n <= ALONE else nullcontext()


def on_all_cores(fill: Callable[[Tile], None], tiles: list[Tile]) -> None:
    """Fill tiles in threads, each with BLAS to itself: its own threads would contend with them."""
    if len(tiles) < FEW:
        for tile in tiles:
            fill(tile)
        return
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, tiles))
