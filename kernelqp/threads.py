"""Which threads work: those of BLAS, or our own over tiles, never both at once."""

from __future__ import annotations

import os
import threading
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


class OneThread:
    """Holds BLAS to one thread while anybody asks for it; the last to leave restores the rest."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


ONE_THREAD = OneThread()


def threads_for(n: int) -> AbstractContextManager[Any]:
    """Return a context in which BLAS works on n rows: in one thread where these are few.

    A thread that waits for a core holds the others up, on a machine that has something else to do.
    """
    return ONE_THREAD if n <= ALONE else nullcontext()


def _cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def on_all_cores(fill: Callable[[Tile], None], tiles: list[Tile]) -> None:
    """Fill tiles in threads, each with BLAS to itself: its own threads would contend with them."""
    if len(tiles) < FEW:
        for tile in tiles:
            fill(tile)
        return
    with ONE_THREAD, ThreadPoolExecutor(_cores()) as pool:
        list(pool.map(fill, tiles))
