"""What long work says on a terminal while it runs; elsewhere it is silent.

The one place beside the commands that knows rich: a call from Python may take long as well.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

DELAY = 1.0  # seconds before anything is shown


class Progress:
    """A line on standard error that appears after a second, and goes when the work is done.

    Parameters
    ----------
    title : str
        What is being done.
    total : int
        Steps of the work; one step shows no bar.

    Examples
    --------
    >>> with Progress("certify", total=2) as progress:  # silent: this is no terminal
    ...     progress.say("first problem")
    ...     progress.step()
    """

    def __init__(self, title: str, total: int = 1) -> None:
        self._title, self._total, self._done, self._note = title, total, 0, ""
        self._display: Any = None
        self._task: Any = None
        self._ended, self._lock = False, threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(DELAY, self._appear)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *ended: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True  # the timer may have fired, and be importing rich
            if self._display is not None:
                self._display.stop()

    @property
    def visible(self) -> bool:
        """Whether somebody sees it."""
        return self._display is not None

    def say(self, note: str) -> None:
        """Show a note beside the title."""
        self._note = note
        self._refresh()

    def step(self) -> None:
        """Count one step as done."""
        self._done += 1
        self._refresh()

    def _appear(self) -> None:
        """Start the display; called by the timer."""
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Display

        columns = [SpinnerColumn(), TextColumn("{task.description}")]
        if self._total > 1:
            columns += [BarColumn(), TextColumn("{task.completed}/{task.total}")]
        with self._lock:
            if self._ended:
                return
            display = Display(
                *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
            )
            self._task = display.add_task(self._title, total=self._total)
            display.start()
            self._display = display
        self._refresh()

    def _refresh(self) -> None:
        with self._lock:
            if self._display is not None:
                text = f"{self._title}: {self._note}" if self._note else self._title
                self._display.update(self._task, completed=self._done, description=text)
