"""Rows of K that are kept, products that were asked for, and how few rows a solve asks for."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp import gram_on, row_store
from kernelqp.block_gram import ORIGIN, BlockGram
from kernelqp.row_store import PART, PRODUCTS, SPARSE, Products, RowStore

N = 300


class Counted(kq.RBF):
    """Counts the values of the kernel that are computed."""

    seen = 0

    def __call__(self, X, Z=None):
        K = super().__call__(X, Z)
        Counted.seen += K.size
        return K

    def against(self, Z):
        write = super().against(Z)

        def to(X, out):
            Counted.seen += out.size
            write(X, out)

        return to


@pytest.fixture
def counted():
    Counted.seen = 0
    return Counted(gamma=0.05)


def kernel_rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return kq.RBF(gamma=0.3), rng.normal(size=(n, 3)) + 5.0, rng


# --- rows ----------------------------------------------------------------------------------------


def filled_store(rng, kept, most=80):
    """Return a store that was filled in two parts, and the matrix."""
    A = rng.normal(size=(N, N))
    K, store = A @ A.T, RowStore.room(N, most)
    for part in np.array_split(kept, 2):
        store.block[store.filled :][: part.size] = K[part]
        store.add(part)
    return store, K


def test_a_store_knows_what_it_keeps():
    rng = np.random.default_rng(0)
    kept = rng.permutation(N)[:50]
    store, _ = filled_store(rng, kept)
    assert (store.filled, store.free) == (50, 30)
    asked = np.r_[kept[:3], np.setdiff1d(np.arange(N), kept)[:4]]
    np.testing.assert_array_equal(store.missing(asked), asked[3:])
    assert (store.place >= 0).sum() == 50


@pytest.mark.parametrize("size", [0, 1, 5, 17, 18, 50])  # few are picked, many passed over whole
def test_rows_that_are_kept_give_blocks_and_products(size):
    rng = np.random.default_rng(size)
    kept = rng.permutation(N)[:50]
    store, K = filled_store(rng, kept)
    rows, columns = rng.permutation(kept)[:size], rng.permutation(N)[:70]
    values = rng.normal(size=size)
    np.testing.assert_array_equal(store.picked(rows, columns), K[np.ix_(rows, columns)])
    room = np.full((size, 70), np.nan)
    assert store.picked(rows, columns, room) is room
    np.testing.assert_array_equal(room, K[np.ix_(rows, columns)])
    product = store.product(rows, values)
    np.testing.assert_allclose(product, values @ K[rows], atol=1e-11)
    assert not np.shares_memory(product, store.block)


@pytest.mark.parametrize("size", [PART, PART + 1, 80, 90])
def test_rows_that_are_picked_for_a_product_are_taken_in_parts(size):
    rng = np.random.default_rng(size)
    kept = rng.permutation(N)[: SPARSE * 90]
    store, K = filled_store(rng, kept, most=N)
    rows, values = rng.permutation(kept)[:size], rng.normal(size=size)
    np.testing.assert_allclose(store.product(rows, values), values @ K[rows], atol=1e-10)


def test_room_that_is_not_filled_is_never_read():
    rng = np.random.default_rng(1)
    kept = np.arange(10)
    store, K = filled_store(rng, kept)
    store.block[store.filled :] = np.nan
    np.testing.assert_allclose(store.product(kept, np.ones(10)), K[:10].sum(axis=0), atol=1e-11)


def test_a_whole_matrix_is_a_store_of_all_rows():
    K = np.arange(9.0).reshape(3, 3)
    store = RowStore.whole(K)
    assert (store.filled, store.free, store.missing(np.arange(3)).size) == (3, 0, 0)
    np.testing.assert_array_equal(store.product(np.array([2]), np.array([2.0])), 2.0 * K[2])


# --- products ------------------------------------------------------------------------------------


class Asked:
    """3 β, and how often it was computed."""

    def __init__(self):
        self.times, self.products = 0, Products()

    def __call__(self, beta):
        return self.products.of(beta, self.compute)

    def compute(self, beta):
        self.times += 1
        return 3.0 * beta


def test_a_product_that_is_asked_again_is_not_computed_and_another_is():
    asked, beta = Asked(), np.array([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(asked(beta.copy()), [3.0, 6.0])
    assert asked.times == 1
    near = np.array([1.0, np.nextafter(2.0, 3.0)])
    np.testing.assert_array_equal(asked(near), 3.0 * near)
    assert asked.times == 2
    asked(beta)
    assert asked.times == 2


def test_the_caller_can_change_neither_what_is_kept_nor_what_it_is_kept_under():
    asked, beta = Asked(), np.array([1.0, 2.0])
    found = asked(beta)
    with pytest.raises(ValueError, match="read-only"):
        found += 1.0
    beta[0] = 7.0  # the same array with other numbers
    np.testing.assert_array_equal(asked(beta), [21.0, 6.0])
    np.testing.assert_array_equal(asked(np.array([1.0, 2.0])), [3.0, 6.0])
    assert asked.times == 2


def test_the_last_few_are_known():
    asked = Asked()
    for k in range(PRODUCTS + 1):
        asked(np.array([float(k)]))
    for k in range(PRODUCTS, 0, -1):
        asked(np.array([float(k)]))
    assert asked.times == PRODUCTS + 1
    asked(np.zeros(1))  # the oldest has left
    assert asked.times == PRODUCTS + 2


def test_a_nan_is_never_taken_for_another():
    asked = Asked()
    asked(np.array([np.nan]))
    asked(np.array([np.nan]))
    assert asked.times == 2


@pytest.mark.parametrize("centred", [False, True])
def test_a_gram_computes_a_product_once_and_lends_it(counted, centred):
    _, X, rng = kernel_rows()
    gram = BlockGram.on(counted, X, memory=0)
    asked = gram.centred() if centred else gram
    beta = np.where(rng.random(N) < 0.1, rng.normal(size=N), 0.0)
    first, before = asked.matvec(beta).copy(), Counted.seen
    again = asked.matvec(beta.copy())
    assert Counted.seen == before
    np.testing.assert_array_equal(again, first)
    asked.matvec(2.0 * beta)
    assert Counted.seen > before


# --- on demand -----------------------------------------------------------------------------------


def two_clouds(n, apart=2.0):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, 5)) + apart * y[:, None], y


METHODS = {
    "free": lambda kernel: kq.SoftMarginSVM(C=1.0, kernel=kernel),
    "none": lambda kernel: kq.SoftMarginSVM(C=1.0, kernel=kernel, intercept="none"),
    "penalized": lambda kernel: kq.SoftMarginSVM(C=1.0, kernel=kernel, intercept="penalized"),
    "hard": lambda kernel: kq.HardMarginSVM(kernel=kernel),
}


@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
def test_rows_that_never_violate_never_cost_a_row_of_the_kernel(counted, make):
    X, y = two_clouds(2000)
    s = make(counted).solve(X, y)
    assert s.solver == "active set"
    assert s.certificate.relative_gap <= 1e-9
    assert s.support.support_vectors.size < 50
    assert Counted.seen <= 0.2 * 2000 * 2000
    seen = Counted.seen
    assert make(kq.RBF(gamma=0.05)).solve(X, y).value == pytest.approx(s.value, rel=1e-12)
    assert Counted.seen == seen  # the other kernel is not counted


def test_the_support_vectors_are_found_though_few_rows_are_seen(counted):
    X, y = two_clouds(400)
    s = kq.SoftMarginSVM(C=1.0, kernel=counted).solve(X, y)
    K = kq.RBF(gamma=0.05)(X)
    margins = y * (K @ s.beta + s.intercept)
    support = np.zeros(400, dtype=bool)
    support[s.support.support_vectors] = True
    assert (margins[~support] >= 1.0 - 1e-9).all()
    assert (margins[support] <= 1.0 + 1e-9).all()
    assert np.flatnonzero(s.beta).tolist() == s.support.support_vectors.tolist()


@pytest.mark.parametrize("room", [0, 1, 10, ORIGIN, 100, 150])
@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
def test_with_hardly_any_memory_the_answer_is_the_same(monkeypatch, make, room):
    X, y = two_clouds(400, apart=1.0 if make is not METHODS["hard"] else 2.0)
    wanted = make(kq.RBF(gamma=0.05)).solve(X, y)
    monkeypatch.setattr(gram_on, "MEMORY", 8 * 400 * room)
    monkeypatch.setattr(gram_on, "TILE", 0)
    page = make(kq.RBF(gamma=0.05)).dual(X, y)
    gram = page.risk().gram
    assert isinstance(gram, BlockGram)
    s = page.solve(solver="native")
    assert s.certificate.relative_gap <= 1e-9
    assert s.value == pytest.approx(wanted.value, rel=1e-10)
    np.testing.assert_allclose(s.beta, wanted.beta, atol=1e-7)
    assert s.support.support_vectors.tolist() == wanted.support.support_vectors.tolist()
    assert gram.kept.whole is None
    assert gram.store.filled <= room


def test_memory_that_is_taken_away_before_a_row_is_kept():
    kernel, X, rng = kernel_rows()
    gram, K = BlockGram.on(kernel, X), kernel(X)
    gram.kept.memory = 8 * N * 7
    beta = rng.normal(size=N)
    np.testing.assert_allclose(gram.matvec(beta), K @ beta, atol=1e-10)
    assert gram.store.block.shape == (7, N)
    assert gram.store.filled == 7


# --- the whole of K after some of it -------------------------------------------------------------


@pytest.mark.parametrize("kernel", [kq.RBF(gamma=0.3), kq.Laplacian(gamma=0.2)], ids=repr)
@pytest.mark.parametrize("room", [N, 20], ids=["kept", "not kept"])
@pytest.mark.parametrize("n", [N, 700])
def test_the_whole_matrix_after_rows_were_kept_is_exactly_symmetric(kernel, room, n):
    _, X, rng = kernel_rows(n)
    gram = BlockGram.on(kernel, X, memory=8 * n * (n if room == N else room))
    beta = np.zeros(n)
    beta[rng.permutation(n)[:9]] = rng.normal(size=9)
    before = gram.matvec(beta).copy()
    K = gram.dense_matrix()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    np.testing.assert_allclose(K, kernel(X), rtol=1e-12)
    assert not K.flags.writeable
    assert (gram.kept.whole is K) is (room == N)
    np.testing.assert_allclose(gram.matvec(beta), before, rtol=1e-12)
    np.testing.assert_allclose(gram.matvec(beta + 1.0), K @ (beta + 1.0), rtol=1e-12)
    rows = np.arange(0, n, 7)
    np.testing.assert_allclose(gram.submatrix(rows), K[np.ix_(rows, rows)], rtol=1e-12)


def test_the_whole_matrix_is_formed_once_and_shared_with_what_is_centred(counted):
    _, X, _ = kernel_rows()
    gram = BlockGram.on(counted, X)
    centred = gram.centred()
    centred.dense_matrix()
    before = Counted.seen
    K = gram.dense_matrix()
    H = np.eye(N)
    H[:, centred.origin] -= 1.0 / centred.origin.size
    np.testing.assert_allclose(centred.dense_matrix(), H @ K @ H.T, atol=1e-13)
    np.testing.assert_array_equal(centred.dense_matrix(), centred.dense_matrix().T)
    gram.matvec(np.ones(N))
    centred.matvec(np.ones(N))
    assert Counted.seen == before


@pytest.mark.parametrize("room", [N, 80, 0])
def test_balanced_keeps_the_function(room):
    kernel, X, rng = kernel_rows()
    centred = BlockGram.on(kernel, X, memory=8 * N * room).centred()
    for size in (1, 10, N):
        beta = np.zeros(N)
        beta[rng.permutation(N)[:size]] = rng.normal(size=size) + 1.0
        before = beta.copy()
        found = centred.balanced(beta)
        assert abs(found.sum()) <= 1e-13 * np.abs(beta).sum()
        np.testing.assert_allclose(centred.matvec(found), centred.matvec(beta), atol=1e-11)
        assert centred.norm2(found) == pytest.approx(centred.norm2(beta), rel=1e-10)
        np.testing.assert_array_equal(beta, before)
        # about its own origin the kernel gives the same function, but for a constant
        apart = kernel(X) @ found - centred.matvec(beta)
        assert np.ptp(apart) <= 1e-11


@pytest.mark.parametrize("short", [0, 10**6])
def test_a_triangle_is_that_of_the_block(short, monkeypatch):
    monkeypatch.setattr(row_store, "SHORT", short)
    rng = np.random.default_rng(0)
    store = RowStore.room(N, 50)
    kept = rng.permutation(N)[:50]
    store.block[:] = rng.normal(size=(50, N))
    store.add(kept)
    rows = np.sort(kept[:20])
    out = np.full((20, 20), np.nan)
    store.triangle(rows, out)
    above = np.triu_indices(20)
    assert np.array_equal(out[above], store.block[store.place[rows][:, None], rows][above])
    assert np.isnan(out[np.tril_indices(20, -1)]).all() == (short == 0)  # not read there
