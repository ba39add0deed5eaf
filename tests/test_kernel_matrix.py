"""Kernel values in tiles: k(X, Z) as it is written into place, and K in full, exactly symmetric."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

import kernelqp as kq
from kernelqp import kernel_matrix
from kernelqp.errors import KernelError
from kernelqp.kernel_algebra import exp, normalize, power_series
from kernelqp.kernel_matrix import (
    HIGH,
    NEAR,
    SMALL,
    STRIP,
    TILE,
    WIDE,
    RowsOf,
    mirror,
    symmetric_matrix,
)
from kernelqp.kernels import CallableKernel

RBF, LAPLACIAN = kq.RBF(gamma=0.3), kq.Laplacian(gamma=0.2)
LINEAR, CUBIC = kq.Linear(), kq.Polynomial(3, 0.2, 1.0)
PSD = [
    LINEAR,
    RBF,
    LAPLACIAN,
    CUBIC,
    RBF + CUBIC,
    RBF * LAPLACIAN,
    2.5 * RBF,
    RBF**2,
    exp(RBF),
    power_series(RBF, [0.5, 0.0, 2.0]),
    normalize(CUBIC),
    normalize((RBF + 2.0 * LAPLACIAN) ** 2 * exp(RBF)),
]
ALL = [*PSD, kq.Sigmoid(0.1, 0.2), CallableKernel(lambda A, B: A @ B.T), 2.0 * kq.Sigmoid(0.1)]
SHAPES = [(1, 1), (7, 30), (3, 1000), (1000, 3), (SMALL, SMALL), (SMALL + 1, SMALL + 1), (700, 400)]
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(1200, 4))


def by_differences(kernel, X, Z):
    """Return a Gaussian's or a Laplacian's values from differences of coordinates."""
    metric = "sqeuclidean" if isinstance(kernel, kq.RBF) else "cityblock"
    return np.exp(-kernel.gamma * cdist(X, Z, metric))


# --- what writes k(X, Z) -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_what_is_written_is_what_is_returned(kernel, shape):
    X, Z = POINTS[: shape[0]], POINTS[-shape[1] :]
    write, out = kernel.against(Z), np.full(shape, np.nan)
    before = X.copy(), Z.copy()
    write(X, out)
    assert_allclose(out, kernel(X, Z), rtol=1e-13, atol=1e-15)
    part = np.full((shape[0] + 2, shape[1] + 3), np.nan)  # a tile of something larger
    write(X, part[1:-1, 2:-1])
    assert_allclose(part[1:-1, 2:-1], out, rtol=1e-13, atol=1e-15)
    assert np.isnan(part).sum() == part.size - out.size
    assert_array_equal(X, before[0])
    assert_array_equal(Z, before[1])


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_one_X_after_another_is_written(kernel):
    write = kernel.against(POINTS[:300])
    for size in (1, 400, 20):
        X, out = POINTS[-size:], np.empty((size, 300))
        write(X, out)
        assert_allclose(out, kernel(X, POINTS[:300]), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("shift", [0.0, 100.0, 1e6], ids=["near", "100", "far"])
@pytest.mark.parametrize("kernel", [RBF, LAPLACIAN], ids=repr)
def test_distances_do_not_cancel_far_from_the_origin(kernel, shift, shape):
    X, Z = POINTS[: shape[0]] + shift, POINTS[-shape[1] :] + shift
    out = np.empty(shape)
    kernel.against(Z)(X, out)
    wanted = by_differences(kernel, X, Z)
    assert_allclose(out, wanted, rtol=1e-12)
    assert_allclose(kernel(X, Z), wanted, rtol=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_one_point_far_out_costs_the_others_no_figures(far):
    X = POINTS.copy()
    X[17] *= far
    out = np.empty((1200, 1200))
    RBF.against(X)(X, out)
    assert_allclose(out, by_differences(RBF, X, X), rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_many_points_near_one_another_are_products_wherever_they_are(monkeypatch, shift):
    def differences(*_):
        raise AssertionError("several times slower")

    wanted = by_differences(RBF, POINTS + shift, POINTS + shift)
    monkeypatch.setattr(kernel_matrix, "cdist", differences)
    assert_allclose(RBF(POINTS + shift), wanted, rtol=1e-12)
    with pytest.raises(AssertionError, match="slower"):
        RBF(1e3 * POINTS)


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 2.0])
def test_on_both_sides_of_where_products_are_given_up_figures_are_kept(share):
    radius2 = np.einsum("ij,ij->i", POINTS - POINTS.mean(axis=0), POINTS - POINTS.mean(axis=0))
    kernel = kq.RBF(gamma=share * NEAR / (2.0 * radius2.max()))
    assert_allclose(kernel(POINTS), by_differences(kernel, POINTS, POINTS), rtol=2e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize("shape", [(30, 7), (700, 400)], ids=str)
def test_float32_and_integers_are_read_exactly(kernel, shape):
    for dtype in (np.float32, np.int8):
        X = (10.0 * POINTS[: shape[0]]).astype(dtype)
        Z = (10.0 * POINTS[-shape[1] :]).astype(dtype)
        out, wanted = np.empty(shape), np.empty(shape)
        kernel.against(Z)(X, out)
        kernel.against(Z.astype(float))(X.astype(float), wanted)
        assert_array_equal(out, wanted)


def test_a_kernel_of_single_precision_is_written_in_double():
    single = 2.0 * CallableKernel(lambda A, B: (A @ B.T).astype(np.float32))
    out = np.empty((20, 10))
    single.against(POINTS[:10])(POINTS[:20], out)
    K = single(POINTS[:20], POINTS[:10])
    assert K.dtype == np.float32
    assert_array_equal(out, K)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("kernel", [RBF, LAPLACIAN, kq.RBF(gamma=1e4)], ids=repr)
def test_duplicates_among_few_points_are_exactly_so(kernel, shift):
    X = np.repeat(POINTS[: SMALL // 4], 4, axis=0) + shift
    out = np.empty((SMALL, SMALL))
    kernel.against(X)(X, out)
    assert_array_equal(out[::4], out[1::4])
    assert_array_equal(out[:, ::4], out[:, 3::4])
    assert_array_equal(out[np.arange(0, SMALL, 4), np.arange(2, SMALL, 4)], 1.0)
    assert_array_equal(out, out.T)


def test_duplicates_among_many_points_are_so_to_rounding_and_never_above_1():
    X = np.repeat(POINTS[:300], 2, axis=0)
    out = np.empty((600, 600))
    RBF.against(X)(X, out)
    assert_allclose(out[::2], out[1::2], rtol=1e-13)
    assert out.max() <= 1.0


@pytest.mark.parametrize("size", [1e160, 1e308])
def test_points_whose_squares_overflow_are_infinitely_far(size):
    X = np.array([[1.0], [-1.0]]) * size
    for Z in (X, np.r_[X, np.zeros((400, 1))]):
        out = np.empty((2, len(Z)))
        RBF.against(Z)(X, out)
        assert_array_equal(out[:, :2], np.eye(2))


# --- K in full -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, SMALL, SMALL + 1, TILE, TILE + 1, 1200])
@pytest.mark.parametrize("kernel", [RBF, LAPLACIAN, CUBIC, normalize(RBF + CUBIC)], ids=repr)
def test_the_symmetric_matrix_is_that_of_the_kernel(kernel, n):
    X = POINTS[:n]
    K, room = symmetric_matrix(kernel, X), np.full((n, n), np.nan)
    assert_array_equal(K, K.T)
    assert_allclose(K, kernel(X), rtol=1e-12, atol=1e-14)
    assert symmetric_matrix(kernel, X, room) is room
    assert_array_equal(np.diagonal(room), kernel.diagonal(X))
    assert_allclose(room, K, rtol=1e-12, atol=1e-14)
    assert_array_equal(room, room.T)


@pytest.mark.parametrize("n", [2, HIGH + 1, 700, WIDE + 10])
@pytest.mark.parametrize("kernel", [RBF, CUBIC, RBF * LAPLACIAN], ids=repr)
def test_rows_are_those_of_the_kernel_with_its_diagonal(kernel, n):
    X = np.tile(POINTS, (2, 1))[:n]
    rows = np.random.default_rng(n).permutation(n)[: HIGH + 20]
    out = np.full((rows.size, n), np.nan)
    RowsOf(kernel, X).fill(rows, out)
    assert_allclose(out, kernel(X[rows], X), rtol=1e-12, atol=1e-14)
    assert_array_equal(out[np.arange(rows.size), rows], kernel.diagonal(X[rows]))


def test_an_overflow_in_a_tile_names_the_kernel():
    X = POINTS.copy()
    X[1100] = 1e200
    with pytest.raises(KernelError, match=r"Polynomial\(degree=3.*is not finite"):
        symmetric_matrix(CUBIC, X)
    with pytest.raises(KernelError, match=r"Polynomial\(degree=3.*is not finite"):
        RowsOf(CUBIC, X).fill(np.arange(3), np.empty((3, 1200)))


@pytest.mark.parametrize("n", [0, 1, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 5])
def test_what_is_above_the_diagonal_is_mirrored(n):
    K = np.random.default_rng(n).normal(size=(n, n))
    wanted = np.triu(K) + np.triu(K, 1).T
    mirror(K)
    assert_array_equal(K, wanted)
