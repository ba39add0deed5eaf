"""Which threads work: those of BLAS, or our own over tiles, never both at once."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    Tile = TypeVar("Tile")

MANY = 2e8  # multiplications that are worth waking a thread for
ALONE = 4000  # rows up to which one thread of BLAS is as fast: others have to be woken


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class OneThread:
    """Holds BLAS to one thread while anybody asks for it; the last to leave restores the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: Counter[int] = Counter()  # how often each thread has come in
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit()
            self._inside[threading.get_ident()] += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside[threading.get_ident()] -= 1
            self._inside += Counter()  # forgets those that are out again
            if not self._inside:
                self._limiter.restore_original_limits()

    def _limit(self) -> None:
        self._limiter = _blas().limit(limits=1, user_api="blas")

    @contextmanager
    def lifted(self, work: float) -> Iterator[None]:
        """Let BLAS have all its threads for one step of so many multiplications, if these are many.

        Not where another thread counts on it.
        """
        with self._lock:
            lift = work >= MANY and list(self._inside) == [threading.get_ident()]
            if lift:
                self._limiter.restore_original_limits()
        try:
            yield
        finally:
            if lift:
                with self._lock:
                    self._limit()


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


@lru_cache(maxsize=1)
def _helpers() -> ThreadPoolExecutor:
    """Return threads that stay: one that has to be started costs as much as a tile."""
    return ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="kernelqp")


if hasattr(os, "register_at_fork"):  # the child of a fork has none of its parent's threads
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def on_all_cores(fill: Callable[[Tile], None], tiles: Iterable[Tile]) -> None:
    """Fill tiles in threads, each with BLAS to itself: its own threads would contend with them.

    The caller's thread takes part, so that a helper that is late holds nobody up.
    """
    left = deque(tiles)

    def work() -> None:
        while True:
            try:
                tile = left.popleft()
            except IndexError:
                return
            fill(tile)

    helpers = min(len(left), _cores()) - 1
    if helpers < 1:
        work()
        return
    with ONE_THREAD:
        running = [_helpers().submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            left.clear()  # after an error, or Ctrl-C, nobody begins another
            wait(running)
        for helper in running:
            helper.result()
