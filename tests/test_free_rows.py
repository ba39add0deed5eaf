"""The system of the free rows, factorised once and bordered: the same x as a solve from scratch."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from kernelqp.losses.base import Row
from kernelqp.solvers.free_rows import FEW, JITTERS, Change, FreeRows
from kernelqp.solvers.kernel_qp import KernelQP, KernelRows

N = 60


class Counting(FreeRows):
    """Counts the sets that are factorised from scratch."""

    def __init__(self, qp):
        super().__init__(qp)
        self.factors = 0

    def _factorised(self, rows, jitter):
        self.factors += 1
        return super()._factorised(rows, jitter)


def program(K, ridge=0.0, gram=None):
    """Return a kernel QP of which the matrix alone matters here."""
    n = len(K)
    nothing, free = np.zeros(n), np.full(n, np.inf)
    row = Row(nothing, nothing, np.broadcast_to(ridge, n), -free, free)
    kernel = KernelRows(kq.Gram.dense(K, psd=True) if gram is None else gram)
    return KernelQP(kernel, row, (), np.zeros(0))


def definite(rng, n=N):
    """Return a positive definite matrix with a condition of about 1000."""
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    K = basis * 10.0 ** rng.uniform(-1.5, 1.5, n) @ basis.T
    return (K + K.T) / 2


def some(rng, size, n=N):
    return np.sort(rng.permutation(n)[:size])


def changed(rng, rows, come, gone, n=N):
    """Return the rows after some have come and some have gone."""
    new = rng.permutation(np.setdiff1d(np.arange(n), rows))[:come]
    return np.union1d(rng.permutation(rows)[gone:], new)


def system_matrix(qp, K, rows):
    return K[np.ix_(rows, rows)] + np.diag(qp.row.ridge[rows])


def assert_solves(solve, A, rng, tol=1e-10):
    for b in (rng.normal(size=len(A)), rng.normal(size=(len(A), 3)), np.ones((len(A), 1))):
        before = b.copy()
        x, wanted = solve(b), np.linalg.solve(A, b)
        assert x.shape == b.shape
        np.testing.assert_allclose(x, wanted, atol=tol * np.abs(wanted).max())
        np.testing.assert_array_equal(b, before)


@pytest.mark.parametrize("ridge", [0.0, 0.7], ids=["no ridge", "ridge"])
@pytest.mark.parametrize("size", [1, 2, 30, N])
def test_a_set_is_factorised_and_solved(size, ridge):
    rng = np.random.default_rng(size)
    K = definite(rng)
    qp = program(K, ridge * rng.uniform(0.5, 2.0, N))
    rows = some(rng, size)
    solve = next(FreeRows(qp).solvers(rows))
    assert_solves(solve, system_matrix(qp, K, rows), rng)


@pytest.mark.parametrize("ridge", [0.0, 0.7], ids=["no ridge", "ridge"])
@pytest.mark.parametrize(
    ("come", "gone"), [(1, 0), (0, 1), (1, 1), (4, 0), (0, 4), (2, 2)], ids=str
)
@pytest.mark.parametrize("seed", range(5))
def test_few_changes_border_the_factor(seed, come, gone, ridge):
    rng = np.random.default_rng(seed)
    K = definite(rng)
    qp = program(K, ridge * rng.uniform(0.5, 2.0, N))
    system, rows = Counting(qp), some(rng, 4 * FEW)
    next(system.solvers(rows))
    after = changed(rng, rows, come, gone)
    assert after.size == rows.size + come - gone
    assert_solves(next(system.solvers(after)), system_matrix(qp, K, after), rng)
    assert system.factors == 1


@pytest.mark.parametrize("seed", range(20))
def test_rows_come_and_go_for_many_rounds(seed):
    rng = np.random.default_rng(100 + seed)
    K = definite(rng)
    qp = program(K, rng.uniform(0.0, 1.0, N) * (seed % 2))
    system, rows = Counting(qp), some(rng, int(rng.integers(FEW, N - FEW)))
    for _ in range(25):
        assert_solves(next(system.solvers(rows)), system_matrix(qp, K, rows), rng)
        come, gone = rng.integers(0, 3, size=2)
        if rng.random() < 0.1:  # a jump
            come, gone = rng.integers(0, N // 2, size=2)
        rows = changed(rng, rows, come, min(gone, rows.size - 1))
    assert 1 < system.factors < 25


def test_the_same_rows_again_cost_nothing():
    rng = np.random.default_rng(0)
    K = definite(rng)
    qp = program(K)
    system, rows = Counting(qp), some(rng, 30)
    for _ in range(3):
        assert_solves(next(system.solvers(rows)), system_matrix(qp, K, rows), rng)
    assert system.factors == 1


def test_rows_that_left_and_came_back_are_as_before():
    rng = np.random.default_rng(0)
    K = definite(rng)
    qp = program(K)
    system, rows = Counting(qp), some(rng, 40)
    b = rng.normal(size=40)
    x = next(system.solvers(rows))(b)
    fewer = rows[2:]
    assert_solves(next(system.solvers(fewer)), system_matrix(qp, K, fewer), rng)
    np.testing.assert_array_equal(next(system.solvers(rows))(b), x)
    assert system.factors == 1


@pytest.mark.parametrize("share", [1, 4], ids=["all rows", "more than one in FEW"])
def test_many_changes_are_factorised_anew(share):
    rng = np.random.default_rng(1)
    K = definite(rng)
    qp = program(K)
    system, rows = Counting(qp), np.arange(24)
    next(system.solvers(rows))
    after = rows + 24 // share
    assert_solves(next(system.solvers(after)), system_matrix(qp, K, after), rng)
    assert system.factors == 2


def test_smaller_and_larger_sets_share_one_piece_of_memory():
    rng = np.random.default_rng(2)
    K = definite(rng)
    qp, system = program(K), None
    system = FreeRows(qp)
    for size in (5, 50, 7, 60, 20):
        rows = some(rng, size)
        assert_solves(next(system.solvers(rows)), system_matrix(qp, K, rows), rng)


def test_each_way_to_solve_is_right_as_it_is_yielded():
    """By the border, then anew, then with a little on the diagonal."""
    rng = np.random.default_rng(3)
    K = definite(rng)
    qp = program(K)
    system, rows = Counting(qp), some(rng, 40)
    next(system.solvers(rows))
    ways = 0
    for solve in system.solvers(rows[1:]):
        assert_solves(solve, system_matrix(qp, K, rows[1:]), rng, tol=1e-6)
        ways += 1
    assert ways == 1 + 1 + len(JITTERS)


# --- singular sets -------------------------------------------------------------------------------


def refined(solve, A, b, rounds=6):
    """Solve with refinement, as the active set does."""
    x = solve(b)
    for _ in range(rounds):
        x = x + solve(b - A @ x)
    return x


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rank", [1, 5, 20])
def test_a_singular_set_is_solved_with_a_jitter_where_that_can_be(rank, seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(N, rank))
    K = F @ F.T
    qp, rows = program((K + K.T) / 2), some(rng, 30)
    A = system_matrix(qp, K, rows)
    b = A @ rng.normal(size=30)
    left = [
        np.abs(A @ refined(solve, A, b) - b).max() / np.abs(b).max()
        for solve in FreeRows(qp).solvers(rows)
    ]
    assert min(left) <= 1e-12


def test_an_exact_duplicate_is_solved_with_a_jitter():
    K = np.kron(np.eye(4), np.ones((2, 2)))
    qp, rows = program(K), np.arange(8)
    system = Counting(qp)
    x = refined(next(system.solvers(rows)), K, np.ones(8))
    np.testing.assert_allclose(K @ x, 1.0, rtol=1e-12)
    assert system.factors > 1  # without a jitter there is no factor


def test_a_duplicate_that_comes_leaves_no_border_and_is_factorised_with_a_jitter():
    K = np.eye(40)
    K[0, 39] = K[39, 0] = 1.0
    qp = program(K)
    system, rows = Counting(qp), np.arange(39)
    next(system.solvers(rows))
    after = np.arange(40)
    x = refined(next(system.solvers(after)), K, np.ones(40))
    np.testing.assert_allclose(K @ x, 1.0, rtol=1e-12)
    assert system.factors > 2


def test_a_ridge_makes_duplicates_regular():
    rng = np.random.default_rng(4)
    K = np.kron(np.eye(20), np.ones((2, 2)))
    qp = program(K, rng.uniform(0.1, 1.0, 40))
    system, rows = Counting(qp), np.arange(0, 40, 2)
    for change in (rows, np.union1d(rows, [1, 3]), np.arange(40)):
        assert_solves(next(system.solvers(change)), system_matrix(qp, K, change), rng)
    assert system.factors == 2  # the first and the last


def test_a_kernel_of_zeros_has_no_way_to_be_solved():
    assert list(FreeRows(program(np.zeros((10, 10)))).solvers(np.arange(10))) == []


def test_after_a_set_that_could_not_be_factorised_the_next_is_solved():
    K = np.diag(np.r_[np.zeros(20), np.ones(20)])
    K[:20, :20] = -np.eye(20)  # not PSD: no jitter helps
    qp = program(K)
    system = FreeRows(qp)
    assert list(system.solvers(np.arange(10, 40))) == []
    rows = np.arange(20, 40)
    np.testing.assert_array_equal(next(system.solvers(rows))(np.ones(20)), np.ones(20))


# --- rows of K that are not formed ---------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 10, N], ids=["none kept", "some kept", "all kept"])
def test_blocks_of_a_kernel_that_is_never_formed_serve_as_well(kept):
    rng = np.random.default_rng(5)
    X, kernel = rng.normal(size=(N, 4)), kq.RBF(gamma=1.0)
    K = kernel(X)
    qp = program(K, 0.5, BlockGram.on(kernel, X, memory=8 * N * kept))
    system, rows = FreeRows(qp), some(rng, 30)
    for _ in range(8):
        assert_solves(next(system.solvers(rows)), system_matrix(qp, K, rows), rng)
        rows = changed(rng, rows, 2, 1)
    assert qp.kernel.held.sum() <= kept


@pytest.mark.parametrize(("size", "come", "gone"), [(20, 5, 3), (20, 0, 4), (20, 4, 0), (20, 0, 0)])
def test_a_change_says_who_stays_and_who_does_not(size, come, gone):
    rng = np.random.default_rng(size + come)
    old = some(rng, size)
    new = changed(rng, old, come, gone)
    change = Change.between(old, new, N)
    assert np.array_equal(old[change.old_stay], new[change.new_stay])
    assert np.array_equal(old[change.gone], np.setdiff1d(old, new))
    assert np.array_equal(new[change.come], np.setdiff1d(new, old))
    assert change.size == come + gone
