"""Long work shows itself on a terminal, after a second, and nowhere else."""

import io
import time
from contextlib import redirect_stderr

import pytest

from kernelqp import progress as module
from kernelqp.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("total", [1, 3])
def test_it_appears_after_the_delay_and_shows_the_note(monkeypatch, total):
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with redirect_stderr(screen), Progress("work", total=total) as shown:
        waited = time.monotonic() + 20.0
        while shown._display is None and time.monotonic() < waited:
            time.sleep(0.01)
        shown.say("the note")
        shown.step()
    text = screen.getvalue()
    assert "work" in text
    assert "the note" in text
    assert ("1/3" in text) == (total == 3)


def test_short_work_shows_nothing():
    screen = Terminal()
    with redirect_stderr(screen), Progress("work") as shown:
        shown.say("the note")
        shown.step()
    assert screen.getvalue() == ""


def test_it_does_not_appear_after_the_end(monkeypatch):
    """The timer may fire as the work ends, and be importing rich."""
    monkeypatch.setattr(module, "DELAY", 1e6)
    screen = Terminal()
    with redirect_stderr(screen):
        with Progress("work") as shown:
            pass
        assert shown._timer is not None
        assert shown._timer.finished.is_set()
        shown._appear()
    assert shown._display is None
    assert screen.getvalue() == ""


def test_elsewhere_it_is_silent(monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0.0)
    stream = io.StringIO()
    with redirect_stderr(stream), Progress("work") as shown:
        time.sleep(0.05)
        shown.say("the note")
    assert stream.getvalue() == ""
