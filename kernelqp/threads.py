"""Which threads work: those of BLAS, or our own over tiles, not both at once in one solve."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    Tile = TypeVar("Tile")

MANY = 2e8  # multiplications that are worth waking a thread for
ALONE = 4000  # rows up to which one thread of BLAS is as fast: others have to be woken


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class OneThread:
    """Holds BLAS to one thread for the thread that asks first, until it leaves.

    Others that come while it is inside find BLAS as they want it, and leave it alone: the number of
    threads is one for the whole process, and only who has set it can set it back. When the first
    one leaves they may find BLAS with all its threads, which costs them time and nothing else.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._depth = 0  # how often the owner has come in
        self._limiter: Any = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._lock:
            if self._owner is None:
                self._limit()
                self._owner = me
            self._depth += self._owner == me

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            if self._owner != threading.get_ident():
                return
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._unlimit()

    def abandon(self) -> None:
        """Let go of what somebody holds who is not there any more: after a fork."""
        self._lock = threading.Lock()
        self._owner, self._depth = None, 0
        self._unlimit()

    def _limit(self) -> None:
        limiter = _blas().limit(limits=1)
        limiter.__enter__()
        self._limiter = limiter

    def _unlimit(self) -> None:
        limiter, self._limiter = self._limiter, None
        if limiter is not None:
            limiter.__exit__(None, None, None)

    @contextmanager
    def lifted(self, work: float) -> Iterator[None]:
        """Let BLAS have all its threads for a step of so many multiplications, if it is large."""
        lift = work >= MANY and self._owner == threading.get_ident()
        if lift:
            self._unlimit()
        try:
            yield
        finally:
            here = self._owner == threading.get_ident()  # an interrupt may have left this behind
            if lift and here and self._limiter is None:
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
    """Return threads that stay: to start one takes time."""
    return ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="kernelqp")


def _begin_anew() -> None:
    """Forget threads that a fork has left behind, and what one of them held."""
    _helpers.cache_clear()
    ONE_THREAD.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def on_all_cores(fill: Callable[[Tile], None], tiles: Iterable[Tile]) -> None:
    """Fill tiles in threads, each with BLAS to itself: its own threads would contend with them.

    The caller's thread takes part, so that a helper that is late holds nobody up, and does all the
    work where there are no helpers: the interpreter has none when it is about to end.
    """
    left = deque(tiles)

    def work() -> None:
        try:
            while True:
                try:
                    tile = left.popleft()
                except IndexError:
                    return
                fill(tile)
        except BaseException:
            left.clear()  # nobody begins another
            raise

    running: list[Future[None]] = []
    with ONE_THREAD:
        try:
            for _ in range(min(len(left), _cores()) - 1):
                with suppress(RuntimeError):
                    running.append(_helpers().submit(work))
            work()
        finally:
            left.clear()  # whatever has happened
            begun = [helper for helper in running if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
