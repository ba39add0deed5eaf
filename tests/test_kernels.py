import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise

from kernelqp import kernel_names
from kernelqp.errors import KernelError, ParameterError
from kernelqp.kernels import (
    RBF,
    CallableKernel,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Z = rng.normal(size=(7, 4))


def product(A, B):
    return A @ B.T


PAIRS = [
    (Linear(), pairwise.linear_kernel, {}),
    (
        Polynomial(3, 0.3, 0.5),
        pairwise.polynomial_kernel,
        {"degree": 3, "gamma": 0.3, "coef0": 0.5},
    ),
    (RBF(gamma=0.3), pairwise.rbf_kernel, {"gamma": 0.3}),
    (RBF(sigma=2.0), pairwise.rbf_kernel, {"gamma": 1 / 8}),
    (Laplacian(0.3), pairwise.laplacian_kernel, {"gamma": 0.3}),
    (Sigmoid(0.3, -0.5), pairwise.sigmoid_kernel, {"gamma": 0.3, "coef0": -0.5}),
    (CallableKernel(product), pairwise.linear_kernel, {}),
]
KERNELS = [kernel for kernel, _, _ in PAIRS]


@pytest.mark.parametrize(("kernel", "function", "parameters"), PAIRS, ids=map(repr, KERNELS))
def test_values_are_those_of_scikit_learn(kernel, function, parameters):
    assert_allclose(kernel(X, Z), function(X, Z, **parameters), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel(X), function(X, **parameters), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X)), rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_follows_the_protocol_and_leaves_X_alone(kernel):
    before, before_Z = X.copy(), Z.copy()
    assert isinstance(kernel, Kernel)
    assert kernel_names.resolve(kernel) is kernel
    assert kernel.bind(X) == kernel
    assert hash(kernel) == hash(kernel.bind(X))
    kernel(X), kernel(X, Z), kernel.diagonal(X)
    assert_array_equal(X, before)
    assert_array_equal(Z, before_Z)
    features = kernel.features(X)
    if features is not None:
        assert_allclose(features @ features.T, kernel(X))


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.3)], ids=repr)
def test_duplicates_give_exactly_equal_rows_and_the_matrix_is_symmetric(kernel):
    K = kernel(np.r_[X, X])
    assert_array_equal(K[:30], K[30:])
    assert_array_equal(K, K.T)
    assert_array_equal(np.diagonal(K), 1.0)


@pytest.mark.parametrize("kernel", [RBF(), Laplacian()], ids=repr)
def test_distances_do_not_cancel_far_from_the_origin(kernel):
    kernel = kernel.bind(X)
    assert_allclose(kernel(X + 1e6), kernel(X), atol=1e-9)


def test_scale_makes_RBF_independent_of_the_unit_of_X():
    for t in (10.0, 0.1, 1e-6):
        assert_allclose(RBF().bind(t * X)(t * X), RBF().bind(X)(X), rtol=1e-12)


def test_small_integers_do_not_wrap_and_float32_is_read_exactly():
    small = np.array([[200], [100]], dtype=np.uint8)
    for kernel in (Linear(), Polynomial(2, 1.0), Sigmoid(1e-4), RBF(1e-4), Laplacian(1e-2)):
        assert_array_equal(kernel(small), kernel(small.astype(float)))
        assert_array_equal(kernel.diagonal(small), kernel.diagonal(small.astype(float)))
    single = (X + 1e6).astype(np.float32)
    assert_array_equal(RBF(1.0)(single), RBF(1.0)(single.astype(float)))
    assert Linear()(small).tolist() == [[40000.0, 20000.0], [20000.0, 10000.0]]


def test_gamma_scale_is_that_of_SVC_and_1_for_constant_features():
    X2 = np.array([[0.0, 0.0], [2.0, 4.0]])
    for name in ("scale", None):
        assert RBF(gamma=name).bind(X2).gamma == 1 / 5.5
    assert Polynomial(gamma="auto").bind(X2).gamma == 0.5
    for constant in (0.0, 0.1, 3.0, 1e200):  # the variance of a constant 0.1 is not exactly 0
        assert RBF().bind(np.full((3, 2), constant)).gamma == 1.0


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_a_variance_beyond_floating_point_is_an_error_that_says_so(size):
    with pytest.raises(KernelError, match=r"gamma.*scale the features"):
        RBF().bind(np.array([[0.0], [size]]))


@pytest.mark.parametrize("gamma", [1e-300, 1e-20, 1.0, 1e300])
def test_constant_features_give_ones_for_any_gamma(gamma):
    assert_array_equal(RBF(gamma)(np.full((4, 2), 3.0)), 1.0)


def test_a_huge_gamma_gives_the_identity():
    assert_array_equal(RBF(1e6)(np.array([[0.0], [1.0], [2.0], [3.0]])), np.eye(4))


def test_overflow_is_silent_here():
    far = np.array([[1e20], [2e20], [-1e20]])
    assert np.isinf(Polynomial(20, 1.0, 1.0)(far)).all()
    assert_array_equal(RBF(1.0)(far * 1e180), np.eye(3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *[
            (lambda kind=kind, bad=bad: kind(gamma=bad), ["gamma", "> 0", repr(bad)])
            for kind in (Polynomial, RBF, Laplacian, Sigmoid)
            for bad in (0.0, -1.0, np.nan, np.inf, "1", "wide", True, [1.0])
        ],
        *[
            (lambda bad=bad: Polynomial(degree=bad), ["degree", ">= 1", repr(bad)])
            for bad in (-2, 0, 2.0, 2.5, np.nan, "3", True)
        ],
        *[
            (lambda kind=kind, bad=bad: kind(constant=bad), ["constant", "finite", repr(bad)])
            for kind in (Polynomial, Sigmoid)
            for bad in (np.nan, np.inf, "1", False, None)
        ],
        *[
            (lambda bad=bad: RBF(sigma=bad), ["sigma", "> 0", repr(bad)])
            for bad in (0.0, -1.0, np.nan, "1")
        ],
        (lambda: RBF(sigma=1e-200), ["gamma", "inf"]),
        (lambda: RBF(gamma=1.0, sigma=1.0), ["gamma or sigma", "not both"]),
    ],
)
def test_a_parameter_out_of_range_is_named_at_construction(make, words):
    with pytest.raises(ParameterError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_parameters_become_plain_numbers():
    kernel = Polynomial(np.int64(2), np.float32(0.5), 1)
    assert repr(kernel) == "Polynomial(degree=2, gamma=0.5, constant=1.0)"
    assert repr(RBF(gamma=1 / 30)) == "RBF(gamma=0.03333333333333333)"
    assert repr(RBF()) == "RBF()"
    assert repr(Linear()) == "Linear()"
    assert repr(CallableKernel(product)) == "CallableKernel(product)"
    assert RBF(sigma=2.0) == RBF(gamma=0.125)


def test_an_unbound_kernel_says_how_to_bind_it():
    for kernel in (RBF(), Polynomial(), Laplacian(gamma="auto"), Sigmoid()):
        with pytest.raises(KernelError, match=r"bind\(X_train\)"):
            kernel(X)


def test_definiteness_is_known_by_construction_or_not():
    known = [Linear(), RBF(), Laplacian(), Polynomial(constant=0.0)]
    assert all(kernel.psd for kernel in known)
    unknown = [Sigmoid(), Precomputed(), CallableKernel(product), Polynomial(constant=-1.0)]
    assert not any(kernel.psd for kernel in unknown)


def test_precomputed_gives_the_matrix_as_it_is():
    K = np.arange(4.0).reshape(2, 2)
    assert Precomputed()(K) is K
    assert Precomputed().diagonal(K).tolist() == [0.0, 3.0]
    assert Precomputed().features(K) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda A, _: A[0, 0],
        lambda A, _: A @ A.T,
        lambda A, B: (A @ B.T)[0],
        lambda A, B: (A @ B.T).astype(str),
        lambda a, b: float(a @ b),
        lambda A, _: A.fill(0.0),
    ],
    ids=["scalar", "not the cross", "vector", "text", "two points", "writes to X"],
)
def test_a_callable_must_take_two_matrices_and_give_a_matrix(function):
    X_read_only = X.copy()
    X_read_only.setflags(write=False)
    with pytest.raises(KernelError, match=r"kernel CallableKernel.*\(30, 7\)"):
        CallableKernel(function)(X_read_only, Z)


def test_a_callable_may_return_integers_or_float32_and_keeps_its_own_array():
    own = np.eye(30, dtype=np.float32)
    K = CallableKernel(lambda *_: own)(X)
    assert K.dtype == np.float32
    K[0, 0] = 7.0
    assert own[0, 0] == 1.0
    assert CallableKernel(lambda *_: np.eye(30, dtype=int))(X).dtype == np.float64


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=3, gamma=None, constant=0.0)),
        ("polynomial", Polynomial()),
        ("rbf", RBF()),
        ("sigmoid", Sigmoid()),
        ("laplacian", Laplacian()),
        ("precomputed", Precomputed()),
        (product, CallableKernel(product)),
        ({"name": "rbf", "sigma": 2}, RBF(gamma=0.125)),
        ({"name": "linear"}, Linear()),
        ({"name": "poly", "degree": 2, "gamma": 1, "constant": 1}, Polynomial(2, 1.0, 1.0)),
        ({"name": "sigmoid", "gamma": "scale"}, Sigmoid(gamma="scale")),
    ],
)
def test_a_kernel_is_found_from_a_name_a_table_or_a_callable(given, wanted):
    assert kernel_names.resolve(given) == wanted


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("rbff", ["'rbff'", "did you mean 'rbf'?", "linear", "precomputed"]),
        ("RBF", ["did you mean 'rbf'?"]),
        ("zzzz", ["'zzzz'", "unknown. Known: linear"]),
        (RBF, ["class", "RBF()"]),
        (None, ["None"]),
        (3.0, ["3.0"]),
        ({"gamma": 1.0}, ["None", "Known"]),
        ({"name": "rbff"}, ["did you mean"]),
        ({"name": "rbf", "degree": 2}, ["'rbf'", "'degree'", "['gamma', 'sigma']"]),
    ],
)
def test_an_unknown_kernel_is_named_with_the_known_ones(bad, words):
    with pytest.raises(KernelError, match=r"^kernel") as caught:
        kernel_names.resolve(bad)
    for word in words:
        assert word in str(caught.value)


def test_a_table_with_a_bad_value_names_the_parameter():
    with pytest.raises(ParameterError, match="gamma must be a finite number > 0"):
        kernel_names.from_mapping({"name": "rbf", "gamma": -1})


def test_every_name_has_a_kernel_of_the_protocol():
    assert all(isinstance(kind(), Kernel) for kind in kernel_names.NAMES.values())
