"""The Gram matrix in blocks: the same numbers as the whole one, and only the columns needed."""

import numpy as np
import pytest

from kernelqp import RBF, Gram, Laplacian, Polynomial, RegularizedRisk, Sigmoid
from kernelqp.block_gram import ORIGIN, BlockGram
from kernelqp.errors import KernelError, ParameterError
from kernelqp.losses import Hinge
from kernelqp.scales import rounding_of_bounds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3)) + 5.0
KERNELS = [RBF(gamma=0.3), Laplacian(gamma=0.2), Polynomial(2, 0.1, 1.0)]


@pytest.fixture(params=KERNELS, ids=lambda k: type(k).__name__)
def kernel(request):
    return request.param


def about(K, rows):
    """K about the mean of some rows."""
    a = np.zeros(len(K))
    a[rows] = 1.0 / len(rows)
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), a)
    return H @ K @ H.T


def same(gram, K):
    rows, cols = np.array([3, 9, 140]), np.array([0, 9])
    close = {"rtol": 1e-11, "atol": 1e-11 * np.abs(K).max()}
    for support in (2, 40, 150):
        beta = np.zeros(len(K))
        beta[RNG.permutation(len(K))[:support]] = RNG.normal(size=support)
        np.testing.assert_allclose(gram.matvec(beta), K @ beta, **close)
        assert gram.norm2(beta) == pytest.approx(beta @ K @ beta, rel=1e-9, abs=close["atol"])
    np.testing.assert_allclose(gram.diagonal, np.diag(K), **close)
    np.testing.assert_allclose(gram.submatrix(rows, cols), K[np.ix_(rows, cols)], **close)
    np.testing.assert_allclose(gram.dense_matrix(), K, **close)
    assert (gram.row_bounds * (1 + 1e-12) >= np.abs(K).sum(axis=1)).all()
    assert gram.n == len(K)


@pytest.mark.parametrize("columns", [150, 20, 0], ids=["all kept", "some kept", "none kept"])
def test_the_same_numbers_as_the_whole_matrix(kernel, columns):
    gram, K = BlockGram.on(kernel, X, memory=8 * len(X) * columns), kernel(X)
    same(gram, K)
    assert gram.store.block.nbytes <= 8 * len(X) * columns
    centred = gram.centred()
    assert centred.origin.size == ORIGIN
    same(centred, about(K, centred.origin))


def test_of_few_rows_the_origin_is_the_mean_of_all(kernel):
    rows = X[: ORIGIN // 2]
    centred = BlockGram.on(kernel, rows).centred()
    whole = Gram.of(kernel, rows).centred().dense_matrix()
    np.testing.assert_allclose(centred.dense_matrix(), whole, atol=1e-10 * np.abs(whole).max())


def test_only_the_columns_of_the_support_are_computed():
    class Counting(RBF):
        seen = 0

        def against(self, Z):
            write = super().against(Z)

            def counted(A, out):
                type(self).seen += out.size
                write(A, out)

            return counted

    gram, beta = BlockGram.on(Counting(gamma=0.3), X), np.zeros(150)
    beta[[4, 7]] = 1.0
    for _ in range(3):
        gram.matvec(beta)
    assert Counting.seen == 2 * 150
    beta[9] = -1.0
    gram.matvec(beta)
    assert Counting.seen == 3 * 150


def test_of_rows_is_the_gram_of_them(kernel):
    rows = np.array([1, 5, 8])
    part = BlockGram.on(kernel, X).of_rows(rows, memory=2**20)
    np.testing.assert_allclose(part.dense_matrix(), kernel(X[rows]), rtol=1e-14)


def test_what_needs_the_whole_matrix_forms_it(kernel):
    gram, whole = BlockGram.on(kernel, X), Gram.of(kernel, X)
    for one, other in (
        (gram.scaled(2.0), whole.scaled(2.0)),
        (gram.plus_constant(0.5), whole.plus_constant(0.5)),
    ):
        np.testing.assert_allclose(one.dense_matrix(), other.dense_matrix(), rtol=1e-12)
    F, columns = gram.thin_factor(), RNG.normal(size=(150, 2))
    np.testing.assert_allclose(F @ F.T, whole.dense_matrix(), rtol=1e-8)
    np.testing.assert_allclose(gram.matvec(columns), whole.matvec(columns), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [np.full((100, 2), 1e3), np.zeros((30, 1))], ids=["far", "0"])
def test_a_constant_kernel_is_exactly_0_when_centred(rows, kernel):
    centred = BlockGram.on(kernel, rows).centred()
    assert centred.diagonal.max() == 0.0
    assert not centred.matvec(np.ones(len(rows))).any()


def test_a_kernel_that_has_to_be_measured_is_refused():
    with pytest.raises(ParameterError, match="not PSD by construction"):
        BlockGram.on(Sigmoid(gamma=1.0), X)


def test_overflow_is_an_error_that_names_the_kernel():
    gram = BlockGram.on(Polynomial(300, 10.0, 1.0), X)
    with pytest.raises(KernelError, match="is not finite"):
        gram.matvec(np.ones(150))


@pytest.mark.parametrize("memory", [0, 10**8], ids=["computed again", "kept"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(3, 1.0, 0.5)], ids=repr)
def test_the_size_of_products_is_that_of_their_terms(kernel, memory, monkeypatch):
    monkeypatch.setattr("kernelqp.block_gram.CHUNK", 8 * 3 * 70)  # several rows at a time
    near, K = X - 5.0, kernel(X - 5.0)
    beta = RNG.normal(size=len(near)) * (np.arange(len(near)) % 2)
    size = np.abs(beta) @ np.abs(K) @ np.abs(beta)
    gram = BlockGram.on(kernel, near, memory)
    for some in (gram, gram.centred()):
        assert some.size_of_products(beta) == pytest.approx(size, rel=1e-12)
        assert some.size_of_products(np.zeros_like(beta)) == 0.0
    loss, labels = Hinge(), np.sign(near[:, 0])
    risk = RegularizedRisk(gram, labels, 1.0, loss, "free").centred
    rough, close = (rounding_of_bounds(risk, risk.function(beta), closely=c) for c in (False, True))
    assert 2.0**-52 * size < close < rough
