import time
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelqp as kq
from kernelqp.cross_gram import cross_gram
from kernelqp.data import classification_data, regression_data
from kernelqp.errors import DataError, KernelError, ParameterError
from kernelqp.gram import Gram
from kernelqp.kernels import (
    RBF,
    CallableKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

rng = np.random.default_rng(0)
X = rng.normal(loc=[5.0, 0.0, -2.0], size=(40, 3))
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]
SIGMOID_X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
SIGMOID = Sigmoid(gamma=1.0, constant=-1.0)  # smallest eigenvalue -0.7864599

GRAMS = {
    "factor": Gram.of(Linear(), X),
    "wide factor": Gram.from_factor(rng.normal(size=(4, 9))),
    "RBF": Gram.of(RBF(0.3), X),
    "Laplacian": Gram.of(Laplacian(0.3), X),
    "polynomial": Gram.of(Polynomial(2, 0.1, 1.0), X),
    "callable": Gram.of(CallableKernel(lambda A, B: A @ B.T), X),
    "rank one": Gram.dense([[4.0, -2.0], [-2.0, 1.0]]),
    "zero": Gram.dense(np.zeros((3, 3))),
    "one": Gram.dense([[2.0]]),
    "repaired": Gram.of(SIGMOID, SIGMOID_X, repair="clip"),
}
each_gram = pytest.mark.parametrize("gram", GRAMS.values(), ids=GRAMS)


def scale(gram):
    return max(float(np.abs(gram.dense_matrix()).max()), 1e-300)


# -- linear algebra ------------------------------------------------------------------------------


def test_features_that_were_read_before_are_not_copied():
    F = rng.normal(size=(5, 2))
    assert np.shares_memory(Gram.of_features(F).factor, F)
    assert not np.shares_memory(Gram.from_factor(F).factor, F)
    with pytest.raises(KernelError, match="F is not finite: overflow"):
        Gram.of_features(np.full((2, 2), 1e200))


@each_gram
def test_every_operation_agrees_with_the_dense_matrix(gram):
    K, n = gram.dense_matrix(), gram.n
    a, b = rng.normal(size=n), rng.normal(size=n)
    tight = {"rtol": 1e-12, "atol": 1e-12 * n * scale(gram)}
    assert K.shape == (n, n)
    assert_array_equal(K, K.T)
    assert_allclose(gram.matvec(a), K @ a, **tight)
    assert_allclose(gram.matvec(np.c_[a, b]), K @ np.c_[a, b], **tight)
    assert_allclose(gram.inner(a, b), a @ K @ b, **tight)
    assert_allclose(gram.norm2(a), a @ K @ a, **tight)
    assert_allclose(gram.diagonal, np.diagonal(K), **tight)
    assert_allclose(gram.mean_diagonal, np.trace(K) / n, **tight)
    rows, cols = np.arange(n)[::2], np.arange(n)[:3]
    assert_allclose(gram.submatrix(rows), K[rows][:, rows], **tight)
    assert_allclose(gram.submatrix(rows, cols), K[rows][:, cols], **tight)
    assert_allclose(gram.scaled(2.5).dense_matrix(), 2.5 * K, **tight)
    assert_allclose(gram.plus_constant(4.0).dense_matrix(), K + 4.0, atol=1e-12 * (4 + scale(gram)))


@each_gram
def test_row_bounds_majorise(gram):
    K, h = gram.dense_matrix(), gram.row_bounds
    tiny = 1e-13 * gram.n * scale(gram)
    assert (h >= np.abs(K).sum(axis=1) - tiny).all()
    assert np.linalg.eigvalsh(np.diag(h) - K)[0] >= -tiny


@each_gram
def test_centring_is_H_K_H(gram):
    H = np.eye(gram.n) - 1.0 / gram.n
    centred = gram.centred()
    assert centred is gram.centred()
    assert (centred.factor is None) == (gram.factor is None)
    K = centred.dense_matrix()
    assert_allclose(K, H @ gram.dense_matrix() @ H, atol=1e-13 * gram.n * scale(gram))
    assert_array_equal(K, K.T)
    assert_allclose(centred.matvec(np.ones(gram.n)), 0.0, atol=1e-13 * gram.n**2 * scale(gram))


@each_gram
def test_the_thin_factor_reproduces_K(gram):
    F = gram.thin_factor()
    assert F is gram.thin_factor()
    assert F.shape[0] == gram.n
    assert F.shape[1] >= 1
    assert_allclose(F @ F.T, gram.dense_matrix(), atol=1e-12 * gram.n * scale(gram))


def test_the_thin_factor_has_the_rank_of_K():
    assert GRAMS["rank one"].thin_factor().shape == (2, 1)
    assert GRAMS["zero"].thin_factor().shape == (3, 1)
    assert GRAMS["callable"].thin_factor().shape == (40, 3)
    assert GRAMS["polynomial"].thin_factor().shape == (40, 10)  # monomials up to degree 2 in 3
    assert GRAMS["wide factor"].thin_factor().shape == (4, 9)


def test_a_factor_is_kept_and_gives_weights_and_a_dense_matrix_has_none():
    gram = Gram.of(Linear(), X)
    assert_array_equal(gram.factor, X)
    beta = rng.normal(size=40)
    assert_allclose(gram.weights(beta), X.T @ beta)
    with pytest.raises(KernelError, match="explicit features"):
        GRAMS["RBF"].weights(beta)


def test_norm2_is_never_negative():
    gram = GRAMS["rank one"]
    assert gram.norm2(np.array([1.0, 2.0])) == 0.0
    assert gram.norm2(np.array([0.1, 0.2]) * (1 + 1e-15)) >= 0.0


@pytest.mark.parametrize("value", [0.1, 3.0, 1 / 3, 1e17])
@pytest.mark.parametrize("n", [1, 3, 7, 1000])
def test_constant_features_and_constant_matrices_centre_to_exactly_zero(value, n):
    F = np.c_[np.full(n, value), np.arange(n)]
    assert_array_equal(Gram.from_factor(F).centred().factor[:, 0], 0.0)
    assert_array_equal(Gram.dense(np.full((n, n), value), psd=True).centred().K, 0.0)


def test_centring_keeps_accuracy_far_from_the_origin():
    near, far = Gram.from_factor(X).centred(), Gram.from_factor(X + 1e6).centred()
    assert_allclose(far.factor, near.factor, atol=1e-9)
    assert np.abs(far.factor.sum(axis=0)).max() < 1e-12


def test_members_are_read_only_and_independent_of_the_caller():
    K, F = np.eye(3), np.ones((3, 2))
    dense, factor = Gram.dense(K), Gram.from_factor(F)
    K[0, 0] = F[0, 0] = 9.0
    assert dense.K[0, 0] == factor.factor[0, 0] == 1.0
    for array in (dense.K, factor.factor, dense.diagonal, dense.row_bounds, dense.thin_factor()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    own = np.eye(3)
    Gram.of(Precomputed(), own)
    own[0, 0] = 2.0  # the flag of the caller's array is untouched


def test_scaling_needs_a_positive_number_and_a_constant_a_nonnegative_one():
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="t must be"):
            GRAMS["RBF"].scaled(bad)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="c must be"):
            GRAMS["RBF"].plus_constant(bad)


# -- what is refused, what is let through --------------------------------------------------------


@pytest.mark.parametrize("repair", [None, "clip", "shift"])
def test_rounding_size_negatives_pass_in_silence(repair):
    for K in ([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]], [[4.0, -2.0], [-2.0, 1.0]], [[0.0]]):
        gram = Gram.dense(K, repair=repair)
        assert (gram.repair, gram.repair_size) == ("none", 0.0)
        assert_array_equal(gram.K, K)
        assert abs(gram.min_eigenvalue) < 1e-14


def test_low_rank_and_smooth_kernels_are_measured_as_psd():
    points = np.r_[rng.normal(size=(30, 2)) * 40 + [60, 20], rng.normal(size=(30, 2)) * 40]
    assert abs(Gram.dense(points @ points.T).min_eigenvalue) < 1e-9
    line = np.linspace(0.0, 1.0, 80)[:, None]
    assert abs(Gram.dense(RBF(0.5)(line)).min_eigenvalue) < 1e-13


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_definiteness_is_judged_at_any_scale(size):
    K = size * (X @ X.T)
    assert Gram.dense(K).repair == "none"
    with pytest.raises(KernelError, match="eigenvalue"):
        Gram.dense(K - 1e-9 * size * np.eye(40))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gram.dense(INDEFINITE), ["K ", "-1,", "semidefinite", "'clip'", "'shift'"]),
        (
            lambda: Gram.of(SIGMOID, SIGMOID_X),
            ["kernel Sigmoid(gamma=1.0, constant=-1.0)", "smallest eigenvalue", "-0.78645"],
        ),
        (lambda: Gram.of(Precomputed(), np.array(INDEFINITE)), ["K is not positive semidefinite"]),
        (lambda: Gram.dense([[-1.0]]), ["smallest eigenvalue", "-1"]),
        (lambda: Gram.dense(np.diag([1.0, -1e-3]), name="gram"), ["gram is", "-0.001"]),
        (lambda: Gram.of(Polynomial(1, 1.0, -9.0), np.eye(2)), ["constant=-9.0", "eigenvalue"]),
    ],
    ids=range(6),
)
def test_an_indefinite_matrix_is_refused_with_its_smallest_eigenvalue(make, words):
    with pytest.raises(KernelError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_clip_puts_negative_eigenvalues_to_zero():
    gram = Gram.dense(INDEFINITE, repair="clip")
    assert_allclose(gram.K, [[1.5, 1.5], [1.5, 1.5]])
    assert_allclose([gram.repair_size, gram.min_eigenvalue], [1.0, -1.0])
    assert gram.repair == "clip"
    assert Gram.dense(gram.K).repair == "none"


def test_shift_adds_to_the_diagonal():
    gram = Gram.dense(INDEFINITE, repair="shift")
    assert_allclose(gram.K, [[2.0, 2.0], [2.0, 2.0]])
    assert_allclose([gram.repair_size, gram.min_eigenvalue], [1.0, -1.0])
    assert gram.repair == "shift"
    assert gram.centred().repair == "shift"
    assert Gram.dense(gram.K).repair == "none"


@pytest.mark.parametrize("bad", ["flip", True, 1.0])
def test_another_repair_is_refused(bad):
    for make in (lambda: Gram.dense(INDEFINITE, repair=bad), lambda: Gram.of(Linear(), X, bad)):
        with pytest.raises(ParameterError, match="repair must be 'clip', 'shift' or None"):
            make()


def test_the_smallest_eigenvalue_is_none_where_it_is_known_to_be_psd():
    assert GRAMS["RBF"].min_eigenvalue is None
    assert GRAMS["factor"].min_eigenvalue is None
    assert Gram.dense(INDEFINITE, psd=True).min_eigenvalue is None
    assert_allclose(Gram.dense([[2.0, 0.0], [0.0, 3.0]]).min_eigenvalue, 2.0)


def test_asymmetry_is_refused_beyond_rounding_and_removed_within():
    with pytest.raises(KernelError, match=r"K is not symmetric.*\(0, 1\).*0.5.*\(K \+ K.T\) / 2"):
        Gram.dense([[1.0, 0.5], [0.0, 1.0]])
    assert_array_equal(Gram.dense([[1.0, 0.5 + 1e-16], [0.5, 1.0]]).K, [[1.0, 0.5], [0.5, 1.0]])
    K = np.eye(600)
    K[599, 1] = 1e-3
    with pytest.raises(KernelError, match=r"\(1, 599\) and \(599, 1\)|\(599, 1\) and \(1, 599\)"):
        Gram.dense(K)


def test_float32_matrices_are_judged_by_float32_rounding():
    points = rng.normal(size=(200, 3)).astype(np.float32)
    K = points @ points.T
    assert np.linalg.eigvalsh(K.astype(float))[0] < -1e-7  # negative, by float32 rounding
    Gram.dense(K)
    Gram.of(CallableKernel(lambda *_: K), points.astype(float))
    data = regression_data(K, np.arange(200.0), square=True)
    Gram.of(Precomputed(), data.X, precision=data.precision)
    with pytest.raises(KernelError, match="eigenvalue"):
        Gram.dense(K.astype(float))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Gram.of(Polynomial(20, 1.0, 1.0), np.array([[1e20], [2e20], [-1e20]])),
            ["kernel Polynomial(degree=20, gamma=1.0, constant=1.0)", "overflow", "degree or"],
        ),
        (lambda: Gram.of(Linear(), np.array([[1.0], [1e200]])), ["kernel Linear()", "overflow"]),
        (
            lambda: Gram.of(CallableKernel(lambda A, B: A @ B.T * np.nan), X),
            ["kernel CallableKernel", "nan", "row 0"],
        ),
        (lambda: Gram.dense(np.full((2, 2), 1e308)), ["K is not finite", "row 0"]),
        (lambda: Gram.of(Precomputed(), np.ones((2, 3))), ["K must be square", "(2, 3)"]),
    ],
    ids=range(5),
)
def test_values_that_are_not_finite_blame_the_kernel(make, words):
    with pytest.raises(KernelError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
    assert not str(caught.value).startswith("X")


def test_a_nan_in_a_given_matrix_names_K():
    with pytest.raises(DataError, match="K must be finite; got nan at row 0, column 1"):
        Gram.dense([[1.0, np.nan], [np.nan, 1.0]])


def test_a_constant_kernel_and_an_identity_kernel_are_fine():
    constant = Gram.of(RBF(1e-300), np.full((4, 2), 3.0))
    assert_array_equal(constant.K, 1.0)
    assert_array_equal(constant.centred().K, 0.0)
    assert_array_equal(Gram.of(RBF(1e6), np.arange(4.0)[:, None]).K, np.eye(4))


def test_a_large_gram_and_its_centring_take_well_under_a_second():
    points = rng.normal(size=(1797, 64))
    start = time.perf_counter()
    gram = Gram.of(RBF(0.01), points).centred()
    assert time.perf_counter() - start < 5.0  # 0.5 s measured; room for a busy machine
    assert gram.n == 1797


# -- prediction ----------------------------------------------------------------------------------

K_TRAIN = np.array([[0, 0, 0, 0], [0, 1, 3, 4], [0, 3, 9, 12], [0, 4, 12, 16]])
K_TEST = [[0.0, 2.0, 6.0, 8.0], [0.0, 5.0, 15.0, 20.0]]


def test_the_cross_gram_of_a_precomputed_kernel_takes_the_columns_in_use():
    data = classification_data(K_TRAIN, [0, 0, 1, 1], [1, 0, 1, 1], square=True)
    K = cross_gram(Precomputed(), K_TEST, data.X, data.rows, data.n)
    assert_array_equal(K, [[0.0, 6.0, 8.0], [0.0, 15.0, 20.0]])


@pytest.mark.parametrize("bad", [np.transpose(K_TEST), np.eye(2), np.array(K_TEST)[:, :3]])
def test_a_test_matrix_of_another_shape_names_K_and_the_shape(bad):
    with pytest.raises(DataError, match=r"^K .*\(n_test, n_train\) = \(n_test, 4\)") as caught:
        cross_gram(Precomputed(), bad, K_TRAIN, np.arange(4), 4)
    assert str(bad.shape) in str(caught.value)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(2, 0.1, 1.0)], ids=repr)
def test_the_cross_gram_on_the_training_rows_is_the_gram(kernel):
    K = cross_gram(kernel, X.tolist(), X, np.arange(40), 40)
    assert_allclose(K, Gram.of(kernel, X).dense_matrix(), rtol=1e-13)


def test_new_points_are_checked():
    rows = np.arange(40)
    with pytest.raises(DataError, match="X has 2 features, the model was fitted on 3"):
        cross_gram(RBF(1.0), X[:, :2], X, rows, 40)
    with pytest.raises(DataError, match="X must be finite"):
        cross_gram(RBF(1.0), [[0.0, np.nan, 1.0]], X, rows, 40)
    with pytest.raises(DataError, match="K must be finite"):
        cross_gram(Precomputed(), [[np.inf] * 4], X, rows[:4], 4)
    with pytest.raises(KernelError, match=r"kernel Polynomial.*row 1"):
        cross_gram(Polynomial(9, 1.0), [[1.0] * 3, [1e99] * 3], X, rows, 40)


@pytest.mark.parametrize("repair", ["clip", "shift"])
def test_a_method_repairs_a_kernel_when_asked(repair):
    kernel = kq.Repaired(SIGMOID, repair)
    y = np.array([1, 1, -1, -1])
    solution = kq.SoftMarginSVM(C=2, kernel=kernel).solve(SIGMOID_X, y)
    want = Gram.of(SIGMOID, SIGMOID_X, repair=repair).K
    given = kq.SoftMarginSVM(C=2, kernel="precomputed").solve(want, y)
    assert solution.value == pytest.approx(given.value, rel=1e-9)
    with pytest.raises(KernelError, match=r"kq\.Repaired"):
        kq.SoftMarginSVM(C=2, kernel=SIGMOID).solve(SIGMOID_X, y)


def test_an_unknown_repair_is_refused():
    with pytest.raises(ParameterError, match="repair must be 'clip' or 'shift'; got 'flip'"):
        kq.Repaired("sigmoid", "flip")


@pytest.mark.parametrize("first", [1e8, 1e10])
def test_figures_do_not_hang_on_which_row_comes_first(first):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[0] = first
    centred = Gram.from_factor(X).centred().factor
    for i, j in ((1, 2), (7, 250)):
        exact = Fraction(X[i, 0]) - Fraction(X[j, 0])
        error = abs(Fraction(centred[i, 0]) - Fraction(centred[j, 0]) - exact)
        assert float(error) <= 4 * np.finfo(float).eps * first / len(X)
