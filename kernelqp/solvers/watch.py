"""What may end a run of our own solvers early, a time limit or Ctrl-C, and who hears of it."""

from __future__ import annotations

import math
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Vector

PAUSE = 0.5  # seconds between two reports
SHARE = 10  # a report may take one in so many seconds of the run


class HaltedError(Exception):
    """The run ends here; ``watch.best`` holds what there is."""


class Watch:
    """Ends a run at a time limit or at Ctrl-C, and keeps the best point met.

    The first Ctrl-C is remembered and ends the run where its numbers are whole; a second one is
    Python's own. One that came too late to end the run is raised as the watch is left.

    Parameters
    ----------
    limit : float
        Seconds.
    report : callable, optional
        Is given a feasible β now and then.
    """

    def __init__(
        self, limit: float = math.inf, report: Callable[[Vector], None] | None = None
    ) -> None:
        self.best: Vector | None = None
        self.halted = self._interrupted = False
        self._report, self._ends = report, time.perf_counter() + limit
        self._next = time.perf_counter() + PAUSE
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        self._restore()
        if self._interrupted and not self.halted and raised[0] is None:
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._interrupted = True
        self._restore()

    def _restore(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def look(self, beta: Vector, *, better: bool = True) -> None:
        """Keep a β in the box if it is better than those before it, report it, and check."""
        if better or self.best is None:
            self.best = beta.copy()
        now = time.perf_counter()
        if self._report is not None and now >= self._next:
            self._report(self.best)
            spent = time.perf_counter() - now
            self._next = now + spent + max(PAUSE, SHARE * spent)
        self.check()

    def check(self) -> None:
        """Raise HaltedError where the run has to end."""
        if self._interrupted:
            self.halt("Ctrl-C")
        if time.perf_counter() >= self._ends:
            self.halt("time limit")

    def halt(self, reason: str) -> NoReturn:
        """End the run with what there is."""
        self.halted = True
        raise HaltedError(reason)
