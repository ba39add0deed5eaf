"""Threads over tiles: every tile once, no thread left at work, BLAS as it was before."""

import os
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from scipy.linalg import lapack  # noqa: F401  # its BLAS is one of those that are held
from threadpoolctl import threadpool_info, threadpool_limits

from kernelqp import threads
from kernelqp.threads import MANY, OneThread, on_all_cores

FORKED = """
import os
import numpy as np, kernelqp as kq

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
svm = kq.SoftMarginSVM(kernel="rbf")
value = svm.solve(X, y).value  # the parent's threads are there
child = os.fork()
if child == 0:
    os._exit(0 if svm.solve(X, y).value == value else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(autouse=True)
def two_blas_threads():
    """BLAS that has something to lose, whatever the machine and its environment say."""
    most = max(blas_threads())
    set_by_a_thread_of_its_own(2)
    if set(blas_threads()) == {1}:
        pytest.skip("this BLAS has one thread only")
    yield
    set_by_a_thread_of_its_own(most)


def set_by_a_thread_of_its_own(number):
    """Whoever sets the number of threads controls it as long as it lives."""
    thread = threading.Thread(target=threadpool_limits, args=(number, "blas"))
    thread.start()
    thread.join()


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores, whatever the machine has, and helpers of this test's own."""
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    threads._helpers.cache_clear()
    yield
    threads._helpers.cache_clear()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100])
def test_every_tile_is_filled_once(two_cores, size):
    filled = Counter()
    before = blas_threads()
    on_all_cores(lambda tile: filled.update([tile]), range(size))
    assert filled == Counter(range(size))
    assert blas_threads() == before


def test_a_helper_takes_part_and_blas_has_one_thread(two_cores):
    seen, both = set(), threading.Barrier(2)

    def fill(_):
        both.wait(timeout=30)  # only a second thread lets the first one pass
        seen.add(threading.get_ident())
        assert set(blas_threads()) == {1}

    on_all_cores(fill, range(2))
    assert len(seen) == 2


@pytest.mark.parametrize("helper_fails", [True, False])
def test_an_error_ends_the_work_when_no_thread_is_at_it_any_more(two_cores, helper_fails):
    caller, started, running = threading.get_ident(), threading.Barrier(2), Counter()

    def fill(tile):
        if tile < 2:
            started.wait(timeout=30)
        running["now"] += 1
        try:
            if (threading.get_ident() != caller) == helper_fails:
                raise ValueError(tile)
            time.sleep(0.01)
        finally:
            running["now"] -= 1

    before = blas_threads()
    with pytest.raises(ValueError, match=r"\d"):
        on_all_cores(fill, range(1000))
    assert running["now"] == 0
    assert blas_threads() == before


def test_tiles_may_have_tiles_of_their_own(two_cores):
    filled, both = Counter(), threading.Barrier(2)

    def fill(tile):
        both.wait(timeout=30)  # the only helper has its hands full
        on_all_cores(lambda inner: filled.update([(tile, inner)]), range(5))

    on_all_cores(fill, range(2))
    assert filled == Counter((tile, inner) for tile in range(2) for inner in range(5))


def test_the_limit_is_lifted_for_a_large_step_of_the_only_one_inside():
    one, before = OneThread(), blas_threads()
    with one, one:
        assert set(blas_threads()) == {1}
        with one.lifted(MANY - 1):
            assert set(blas_threads()) == {1}
        with one.lifted(MANY):
            assert blas_threads() == before
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with one.lifted(MANY):  # nobody has asked for a limit
        assert blas_threads() == before
    assert blas_threads() == before


def test_a_step_that_ends_after_its_owner_has_left_sets_no_limit():
    one, before = OneThread(), blas_threads()
    with one:
        step = one.lifted(MANY)
        step.__enter__()
    step.__exit__(None, None, None)  # as an interrupt may have it
    assert blas_threads() == before
    with one:
        step = one.lifted(MANY)
        step.__enter__()
    with one:
        step.__exit__(None, None, None)
    assert blas_threads() == before


def test_whoever_comes_second_leaves_blas_as_it_is():
    one, inside, done, before = OneThread(), threading.Event(), threading.Event(), blas_threads()

    def first():
        with one:
            inside.set()
            done.wait(timeout=30)

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(timeout=30)
    with one:
        with one.lifted(MANY):
            assert set(blas_threads()) == {1}
        done.set()
        thread.join()
        assert blas_threads() == before
        with one:  # now the only one
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
    assert blas_threads() == before


def test_threads_take_turns():
    one, before = OneThread(), blas_threads()

    def turn():
        with one:
            assert set(blas_threads()) == {1}

    for _ in range(3):
        thread = threading.Thread(target=turn)
        thread.start()
        thread.join()
        assert blas_threads() == before
        turn()
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_the_child_of_a_fork_has_threads_of_its_own():
    run = subprocess.run([sys.executable, "-c", FORKED], timeout=120, check=False)
    assert run.returncode == 0


def test_a_product_in_tiles_is_the_product(two_cores):
    from kernelqp.row_store import RowStore

    rng = np.random.default_rng(0)
    store = RowStore.whole(rng.normal(size=(300, 5000)))
    store.place = np.r_[store.place, np.full(4700, -1)]
    rows = rng.permutation(300)[:70]
    values = rng.normal(size=70)
    assert np.allclose(store.product(rows, values), values @ store.block[rows], rtol=1e-13)


LATE = """
import threading, atexit
import numpy as np, kernelqp as kq

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1200, 3)), rng.integers(0, 2, 1200)

def solve():
    print(kq.SoftMarginSVM(C=10.0, kernel="rbf").solve(X, y).status.name, flush=True)

atexit.register(solve)
threading.Thread(target=solve).start()
"""


def test_a_solve_after_the_main_thread_has_ended_does_without_helpers():
    run = subprocess.run(
        [sys.executable, "-c", LATE], timeout=120, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == ["CERTIFIED", "CERTIFIED"]


class Broken:
    """Helpers of which the second cannot be had."""

    def __init__(self, error):
        self._error, self._real = error, threads.ThreadPoolExecutor(1)

    def submit(self, work):
        if self._error is None:
            self._error = KeyboardInterrupt
            return self._real.submit(work)
        raise self._error


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_an_interrupt_while_helpers_are_called_leaves_none_at_work(monkeypatch, error):
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    helpers = Broken(error)
    monkeypatch.setattr(threads, "_helpers", lambda: helpers)
    filled, before = Counter(), blas_threads()

    def fill(tile):
        time.sleep(0.005)
        filled.update([tile])

    with pytest.raises(KeyboardInterrupt):
        on_all_cores(fill, range(200))
    done = filled.total()
    time.sleep(0.05)
    assert filled.total() == done < 200
    assert blas_threads() == before


def test_where_no_helper_can_be_had_the_caller_does_all(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    helpers = Broken(RuntimeError)
    monkeypatch.setattr(threads, "_helpers", lambda: helpers)
    filled = Counter()
    on_all_cores(lambda tile: filled.update([tile]), range(20))
    assert filled == Counter(range(20))


def test_an_interrupt_on_the_way_in_leaves_the_door_as_it_was(monkeypatch):
    one, before = OneThread(), blas_threads()

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_blas", interrupted)
    with pytest.raises(KeyboardInterrupt), one:
        pass
    monkeypatch.undo()
    with one:
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_what_a_fork_finds_held_is_let_go_of():
    before = blas_threads()
    with threads.ONE_THREAD:
        threads._begin_anew()  # as in the child of a fork
        assert blas_threads() == before
        with threads.ONE_THREAD:
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
    assert blas_threads() == before
