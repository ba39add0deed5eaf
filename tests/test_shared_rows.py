"""What solves share: rows of K that a start brings, K once it is formed, threads of BLAS."""

import copy
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests.test_engine_options import SLOW, svm


def correct_rows(gram):
    """Whether every row that is kept is that of the kernel."""
    K, store = gram._kernel(gram._rows), gram.store
    kept = np.flatnonzero(store.place >= 0)
    return np.allclose(store.block[store.place[kept]], K[kept], rtol=0, atol=1e-10)


def test_a_start_keeps_its_own_rows_whatever_its_follower_does():
    first, second, third = svm(1.0).dual(*SLOW), svm(2.0).dual(*SLOW), svm(30.0).dual(*SLOW)
    start = first.solve()
    second.solve(start=start)
    assert second.problem.status == "optimal"  # K as a whole
    third.solve(start=start, memory=8 * 1500 * 1499)
    for page in (first, second, third):
        assert correct_rows(page.page.gram)
        again = page.solve(solver="native")
        assert again.value == pytest.approx(page.solution().value, rel=1e-9)
    assert first.solve().value == pytest.approx(start.value, rel=1e-12)


def test_a_bound_holds_for_what_a_start_brings():
    rows = 100
    small, page = svm().dual(*SLOW), svm().dual(*SLOW)
    start = small.solve(memory=8 * 1500 * rows)
    page.solve(start=start)
    assert page.page.gram.store.block.shape[0] == 1500
    assert page.problem.status == "optimal"
    page.solve(memory=8 * 1500 * rows)
    assert page.page.gram.store.block.shape[0] == rows
    assert page.page.gram.kept.whole is None


def test_an_interrupted_forming_leaves_no_wrong_rows(monkeypatch):
    import kernelqp.block_gram as module

    page = svm().dual(*SLOW)
    value = page.solve().value

    def cut(kernel, X, room=None):
        room[:] = np.nan
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "symmetric_matrix", cut)
    with pytest.raises(KeyboardInterrupt):
        page.page.gram.dense_matrix()
    monkeypatch.undo()
    assert page.solve().value == pytest.approx(value, rel=1e-12)


def test_solves_in_threads_from_one_start_leave_everything_as_it_was():
    start = svm(1.0).solve(*SLOW)
    before = [pool["num_threads"] for pool in threadpool_info()]
    values = {}

    def run(C):
        values[C] = svm(C).solve(*SLOW, start=start).value

    threads = [threading.Thread(target=run, args=(C,)) for C in (0.5, 2.0, 30.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    assert correct_rows(start.origin[0].page.gram)
    for C, value in values.items():
        assert value == pytest.approx(svm(C).solve(*SLOW).value, rel=1e-9)
    assert len(values) == 3


def test_a_solution_of_many_rows_is_copied_without_its_rows_of_k():
    solution = svm().solve(*SLOW)
    copied = copy.deepcopy(solution)
    assert copied.origin[0].page.gram.kept.store is None
    np.testing.assert_allclose(
        copied.decision_function(SLOW[0][:5]), solution.decision_function(SLOW[0][:5])
    )
