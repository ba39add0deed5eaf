"""Several threads at one page, or at pages of their own: the answers of one thread."""

import copy
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kernelqp as kq
from tests.test_engine_options import SLOW

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = np.sign(X[:, 0] + RNG.normal(size=150))
THREADS = 6


def together(call, times=THREADS):
    """Call from several threads that begin at once."""
    begin = threading.Barrier(times)

    def one(k):
        begin.wait(timeout=60)
        return call(k)

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(one, range(times)))


def test_a_page_solved_by_many_has_one_answer():
    svm = kq.SoftMarginSVM(C=3.0, kernel="rbf")
    value = svm.solve(*SLOW).value
    for _ in range(3):
        page = svm.dual(*SLOW)  # nobody has looked at it, no row of K is there
        found = together(lambda _, page=page: page.solve(solver="native"))
        assert [s.value for s in found] == pytest.approx([value] * THREADS, rel=1e-9)
        assert all(s.certificate.certified for s in found)
        assert page.problem.value == pytest.approx(value, rel=1e-9)


def test_a_page_that_many_look_at_for_the_first_time_shows_them_the_same():
    for _ in range(5):
        page = kq.SoftMarginSVM(C=3.0, kernel="rbf").dual(X, Y)
        solution = page.solve()
        seen = together(lambda _, page=page: page.problem.value)
        assert seen == pytest.approx([solution.value] * THREADS)
        assert page.problem.value == pytest.approx(solution.value)
    for _ in range(3):
        solution = kq.SoftMarginSVM(C=3.0, kernel="rbf").solve(X, Y)
        assert all(together(lambda _, s=solution: kq.check_kkt(s).holds))


def test_sets_that_many_look_at_for_the_first_time_are_found():
    for _ in range(5):
        solution = kq.SoftMarginSVM(C=3.0, kernel="rbf").solve(X, Y)
        first, *others = together(lambda _, s=solution: s.support)
        assert all(other is first for other in others)


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
def test_cvxpys_solvers_in_threads_leave_standard_output_alone(solver):
    before = sys.stdout
    values = together(
        lambda _: kq.SoftMarginSVM(C=1.0, kernel="rbf").solve(X, Y, solver=solver).value
    )
    assert sys.stdout is before
    assert not sys.stdout.closed
    assert values == pytest.approx([values[0]] * THREADS, rel=1e-6)


def test_a_copy_of_a_page_has_a_lock_of_its_own():
    page = kq.SoftMarginSVM(C=3.0, kernel="rbf").dual(X, Y)
    copied = copy.deepcopy(page)
    with page._statement.lock, ThreadPoolExecutor(1) as pool:
        assert pool.submit(copied.solve).result(timeout=60).certificate.certified


def test_a_tol_below_rounding_is_not_asked_of_anybody_else(monkeypatch):
    from kernelqp import solve

    asked = []
    monkeypatch.setattr(solve, "run", lambda *args: asked.append(args))
    solution = kq.SoftMarginSVM(C=3.0, kernel="rbf").solve(X, Y, tol=1e-15)
    assert solution.status is kq.Status.NOT_CERTIFIED
    assert solution.certificate.relative_gap < 1e-10
    assert "both known to" in str(solution.certificate)
    assert not asked
