import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

import kernelqp as kq
from kernelqp import kernel_names
from kernelqp.errors import KernelError, ParameterError
from kernelqp.gram import Gram
from kernelqp.kernel_algebra import Power, Product, Scaled, Sum, exp, normalize, power_series
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
from kernelqp.repaired import Repaired

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Z = rng.normal(size=(7, 4))
k1, k2 = RBF(0.3), Polynomial(2, 0.3, 0.5)
K1, K2 = k1(X, Z), k2(X, Z)
one, two = np.sum(X * X, axis=1), np.sum(Z * Z, axis=1)

VALUES = [
    (k1 + k2, K1 + K2),
    (k1 * k2, K1 * K2),
    (2.5 * k1, 2.5 * K1),
    (k1 * 3, 3.0 * K1),
    (np.float64(2.0) * k1, 2.0 * K1),
    (k2**3, K2**3),
    (exp(k2), np.exp(K2)),
    (power_series(k2, [0.5, 0, 2, 1]), 0.5 + 2 * K2**2 + K2**3),
    (power_series(k2, (1.5,)), np.full_like(K2, 1.5)),
    (normalize(Linear()), X @ Z.T / np.sqrt(np.outer(one, two))),
    ((k1 + 2.0 * k2) ** 2 * exp(k1), (K1 + 2 * K2) ** 2 * np.exp(K1)),
    (normalize(k2 * k1), K1 * K2 / np.sqrt(np.outer(k2.diagonal(X), k2.diagonal(Z)))),
    (Sigmoid(0.3) + k1, np.tanh(0.3 * X @ Z.T) + K1),
    (2.0 * CallableKernel(lambda A, B: A @ B.T), 2.0 * X @ Z.T),
]
COMPOSED = [kernel for kernel, _ in VALUES]


@pytest.mark.parametrize(("kernel", "wanted"), VALUES, ids=map(repr, COMPOSED))
def test_values_are_those_of_the_formula(kernel, wanted):
    assert_allclose(kernel(X, Z), wanted, rtol=1e-12)
    assert_allclose(kernel(X), kernel(X, X.copy()), rtol=1e-10, atol=1e-13)
    assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X)), rtol=1e-12)


@pytest.mark.parametrize("kernel", COMPOSED, ids=repr)
def test_a_composition_follows_the_protocol_and_is_exactly_symmetric(kernel):
    before = X.copy()
    assert isinstance(kernel, Kernel)
    assert kernel_names.resolve(kernel) is kernel
    assert kernel.bind(X) == kernel
    assert hash(kernel.bind(X)) == hash(kernel)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(X, before)


@pytest.mark.parametrize("kernel", [k for k in COMPOSED if k.psd], ids=repr)
@pytest.mark.parametrize("d", [1, 4])
def test_what_is_psd_by_construction_is_psd_when_measured(kernel, d):
    for seed in range(5):
        points = np.random.default_rng(seed).normal(size=(25, d))
        values = np.linalg.eigvalsh(kernel(points))
        assert values[0] >= -1e-12 * values[-1]


def test_definiteness_is_carried_only_where_every_part_is_psd():
    bad = Sigmoid(0.3)
    good = [k1 + k2, k1 * k2, 2.0 * k1, k1**2, exp(k1), power_series(k1, [0, 1]), normalize(k1)]
    assert all(kernel.psd for kernel in good)
    poor = [bad + k1, k1 + bad, k1 * bad, 2.0 * bad, bad**2, exp(bad), normalize(bad)]
    poor += [power_series(bad, [1, 1]), Polynomial(2, 1.0, -1.0) + k1]
    assert not any(kernel.psd for kernel in poor)


def test_what_is_not_psd_by_construction_is_measured_and_refused():
    line = np.linspace(-2, 2, 12)[:, None]
    bad = Sigmoid(1.0, -1.0)
    with pytest.raises(KernelError, match=r"kernel Linear\(\) \+ Sigmoid.*not positive semidef"):
        Gram.of(Linear() + bad, line)
    assert Gram.of(1e3 * RBF(50.0) + bad, line).psd_by_construction is False


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
def test_the_gaussian_is_the_normalised_exponential(gamma):
    kernel = normalize(exp(2 * gamma * Linear()))
    assert_allclose(kernel(X), RBF(gamma)(X), rtol=0, atol=1e-12)
    assert_allclose(kernel(X, Z), RBF(gamma)(X, Z), rtol=0, atol=1e-12)


def test_the_polynomial_kernel_is_a_power_and_a_power_series():
    wanted = Polynomial(3, 0.5, 1.0)(X, Z)
    linear = 0.5 * Linear()
    assert_allclose(power_series(linear, [1, 3, 3, 1])(X, Z), wanted, rtol=1e-9)
    assert_allclose(((linear + power_series(linear, [1.0])) ** 3)(X, Z), wanted, rtol=1e-12)


def test_normalised_values_are_1_on_the_diagonal_and_0_at_points_of_length_0():
    points = np.r_[X, np.zeros((2, 4))]
    kernel = normalize(Linear())
    K = kernel(points)
    assert_array_equal(np.diagonal(K), np.r_[np.ones(30), 0.0, 0.0])
    assert_array_equal(kernel.diagonal(points), np.diagonal(K))
    assert_array_equal(K[30:], 0.0)
    assert_array_equal(kernel(Z, points)[:, 30:], 0.0)
    assert_array_equal(kernel(points, Z)[30:], 0.0)


def test_a_normalised_kernel_has_no_number_where_the_length_has_none():
    far = np.array([[1.0], [30.0]])
    kernel = normalize(exp(Linear()))
    assert np.isnan(kernel(far)).tolist() == [[False, True], [True, True]]
    assert np.isnan(kernel(far[1:], far[:1])).all()  # not exp(30)/inf = 0
    negative = normalize(Sigmoid(1.0, -2.0))
    assert np.isnan(negative(far[:1])).all()
    assert np.isnan(negative.diagonal(far[:1])).all()


def test_normalising_does_not_overflow_before_it_must():
    large = normalize(Polynomial(2, 1.0, 0.0))(np.array([[1e60], [2e60]]))
    assert_allclose(large, np.ones((2, 2)), rtol=1e-14)


def test_overflow_is_silent_here_and_an_error_in_gram():
    far = np.array([[1e3], [-1e3]])
    assert exp(Linear())(far).tolist() == [[np.inf, 0.0], [0.0, np.inf]]
    assert np.isinf(((1e300 * Linear()) ** 2)(far)).all()
    assert power_series(exp(Linear()), [1, 1, 0])(far).tolist() == [[np.inf, 1.0], [1.0, np.inf]]
    with pytest.raises(KernelError, match=r"kernel exp\(Linear\(\)\) is not finite"):
        Gram.of(exp(Linear()), far)


@pytest.mark.parametrize(
    "make",
    [
        lambda k: k + k2,
        lambda k: k2 * k,
        lambda k: 3.0 * k,
        lambda k: k**2,
        exp,
        normalize,
        lambda k: power_series(k, [1, 1]),
        lambda k: normalize(exp(k + k2)) * k,
    ],
    ids=["sum", "product", "multiple", "power", "exp", "normalize", "series", "nested"],
)
def test_binding_reaches_every_part(make):
    unbound, bound = make(RBF()), make(RBF().bind(X))
    assert unbound != bound
    assert unbound.bind(X) == bound
    assert_array_equal(unbound.bind(X)(X, Z), bound(X, Z))
    with pytest.raises(KernelError, match=r"bind\(X_train\)"):
        unbound(X)


def test_explicit_features_of_multiples_and_sums():
    assert_array_equal((4.0 * Linear()).features(X), 2.0 * X)
    both = Linear() + 4.0 * Linear()
    assert_array_equal(both.features(X), np.hstack([X, 2.0 * X]))
    for kernel in (both, 3.0 * both, 0.5 * Linear()):
        F, G = kernel.features(X), kernel.features(Z)
        assert_allclose(F @ G.T, kernel(X, Z), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + k1,
        k1 + Linear(),
        2.0 * k1,
        Linear() * Linear(),
        Linear() ** 1,
        exp(Linear()),
        power_series(Linear(), [0, 1]),
        normalize(Linear()),
    ],
    ids=repr,
)
def test_other_compositions_have_no_explicit_features(kernel):
    assert kernel.features(X) is None


def test_a_float32_part_keeps_its_rounding_known():
    points = rng.normal(size=(80, 2))
    single = CallableKernel(lambda A, B: (A @ B.T).astype(np.float32))
    for kernel in (single + RBF(1e-3), RBF(1e-3) * single, normalize(single), 2.0 * single):
        assert kernel(points).dtype == np.float32
        assert kernel(points, points[:3]).dtype == np.float32
        assert Gram.of(kernel, points).repair == "none"  # as float64, rounding would be indefinite


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *[
            (lambda bad=bad: bad * k1, ["scale", "> 0", repr(bad)])
            for bad in (0.0, -1.0, np.nan, np.inf, True, 10**400)
        ],
        *[
            (lambda bad=bad: k1**bad, ["power", ">= 1", repr(bad)])
            for bad in (0, -1, 2.0, np.nan, True)
        ],
        *[
            (lambda bad=bad: power_series(k1, bad), words)
            for bad, words in [
                ([1, -0.5], ["coefficients[1]", ">= 0", "-0.5"]),
                ([np.nan], ["coefficients[0]", "nan"]),
                ([1, np.inf], ["coefficients[1]", "inf"]),
                (["1"], ["coefficients[0]", "'1'"]),
                ([0, 0.0], ["coefficients", "> 0", "(0.0, 0.0)"]),
                ([], ["coefficients", "> 0"]),
                (2.0, ["coefficients", "sequence", "2.0"]),
                ("12", ["coefficients", "sequence", "'12'"]),
            ]
        ],
    ],
)
def test_a_number_out_of_range_is_named(make, words):
    with pytest.raises(ParameterError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: k1 + "rbf",
        lambda: "rbf" + k1,
        lambda: k1 * "rbf",
        lambda: k1 + 1.0,
        lambda: k1 + (lambda A, B: A @ B.T),
        lambda: k1 + Linear,
        lambda: k1 * Linear,
        lambda: k1 ** "2",
        lambda: k1**k2,
        lambda: np.ones(2) * k1,
        lambda: k1 * np.ones(2),
        lambda: k1 * 1j,
    ],
    ids=range(12),
)
def test_an_operator_takes_kernels_and_numbers_only(make):
    with pytest.raises(TypeError, match=r"operand|concatenate|multiply"):
        make()


def test_functions_take_names_tables_and_callables():
    def product(A, B):
        return A @ B.T

    assert exp("linear") == exp(Linear())
    assert normalize("rbf") == normalize(RBF())
    assert power_series({"name": "rbf", "gamma": 1}, [1, 1]) == power_series(RBF(1.0), (1.0, 1.0))
    assert_allclose(exp(product)(X, Z), np.exp(X @ Z.T))
    for function in (exp, normalize, lambda k: power_series(k, [1])):
        with pytest.raises(KernelError, match="did you mean 'rbf'"):
            function("rbff")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Precomputed(), ["Precomputed()", "K1 + K2", "yourself"]),
        (Repaired(Precomputed()), ["Precomputed()", "yourself"]),
        (Repaired(Sigmoid(1.0)), ["Repaired", "Repair the result", "Repaired(k1 + k2, 'clip')"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "make",
    [
        lambda k: k + k1,
        lambda k: k1 + k,
        lambda k: k + k,
        lambda k: k * k1,
        lambda k: 2.0 * k,
        lambda k: k**2,
        exp,
        normalize,
        lambda k: power_series(k, [1]),
    ],
    ids=["left", "right", "both", "product", "multiple", "power", "exp", "normalize", "series"],
)
def test_a_matrix_and_a_repair_take_no_part(make, kernel, words):
    with pytest.raises(KernelError) as caught:
        make(kernel)
    for word in words:
        assert word in str(caught.value)


def test_the_result_can_be_repaired():
    line = np.linspace(-2, 2, 12)[:, None]
    gram = Gram.of(Repaired(Linear() + Sigmoid(1.0, -1.0), "clip"), line)
    assert gram.repair == "clip"


def test_compositions_are_equal_by_value():
    assert k1 + k2 == Sum(RBF(0.3), Polynomial(2, 0.3, 0.5))
    assert k1 + k2 != k2 + k1
    assert k1 * k2 == Product(k1, k2) != k1 + k2
    assert k1 * 2 == 2.0 * k1 == Scaled(2.0, k1)
    assert k1 ** np.int64(2) == Power(k1, 2)
    assert len({power_series(k1, [1, 2]), power_series(k1, np.array([1.0, 2.0]))}) == 1
    assert power_series(k1, [1, 2]) != power_series(k1, [1, 3])
    assert pickle.loads(pickle.dumps(exp(k1 + k2))) == exp(k1 + k2)


a, b, c = RBF(1.0), Laplacian(2.0), Linear()


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (a + b + c, "RBF(gamma=1.0) + Laplacian(gamma=2.0) + Linear()"),
        (a + (b + c), "RBF(gamma=1.0) + (Laplacian(gamma=2.0) + Linear())"),
        ((a + b) * c, "(RBF(gamma=1.0) + Laplacian(gamma=2.0)) * Linear()"),
        (a * (b * c), "RBF(gamma=1.0) * (Laplacian(gamma=2.0) * Linear())"),
        (2.0 * (a * b), "2.0 * (RBF(gamma=1.0) * Laplacian(gamma=2.0))"),
        (2.0 * a * b, "2.0 * RBF(gamma=1.0) * Laplacian(gamma=2.0)"),
        (a * (2.0 * b), "RBF(gamma=1.0) * (2.0 * Laplacian(gamma=2.0))"),
        ((2.0 * c) ** 3, "(2.0 * Linear()) ** 3"),
        (2.0 * c**3, "2.0 * Linear() ** 3"),
        ((c**2) ** 3, "(Linear() ** 2) ** 3"),
        (exp(a + b) ** 2, "exp(RBF(gamma=1.0) + Laplacian(gamma=2.0)) ** 2"),
        (normalize(c) + power_series(c, [1, 0.5]), None),
    ],
)
def test_the_words_of_a_composition_are_its_expression(kernel, text):
    assert eval(repr(kernel)) == kernel
    assert text is None or repr(kernel) == text


def test_a_composition_fits_and_predicts_as_the_same_kernel_of_SVC():
    points = rng.normal(size=(60, 2))
    y = np.where(points[:, 0] * points[:, 1] + 0.3 * points[:, 0] > 0, 1, -1)
    new = rng.normal(size=(40, 2))
    s = kq.SoftMarginSVM(C=2.0, kernel=RBF() + Linear()).solve(points, y)
    kernel = (RBF() + Linear()).bind(points)
    model = SVC(C=2.0, kernel=kernel, tol=1e-8).fit(points, y)
    assert s.certificate.certified
    assert s.method.kernel == kernel
    assert_allclose(s.decision_function(new), model.decision_function(new), atol=1e-4)
    assert_array_equal(s.predict(points), model.predict(points))


def test_a_scaled_kernel_is_a_scaled_C():
    y = np.where(X[:, 0] + 0.5 * Z[:, 0].mean() > 0, 1, -1)
    for kernel in (Linear(), RBF(0.3)):
        scaled = kq.SoftMarginSVM(C=1.0, kernel=2.0 * kernel).solve(X, y)
        plain = kq.SoftMarginSVM(C=2.0, kernel=kernel).solve(X, y)
        assert_allclose(scaled.value, plain.value / 2.0, rtol=1e-6)
        assert_allclose(scaled.decision_function(Z), plain.decision_function(Z), atol=1e-3)


def test_features_of_a_sum_give_weights_of_both():
    y = np.where(X[:, 0] > 0, 1, -1)
    s = kq.SoftMarginSVM(kernel=Linear() + 4.0 * Linear()).solve(X, y, form="weights")
    assert s.weights.shape == (8,)
    assert_allclose(s.weights[4:], 2.0 * s.weights[:4], atol=1e-4)
    same = kq.SoftMarginSVM(kernel=5.0 * Linear()).solve(X, y)
    assert_allclose(s.value, same.value, rtol=1e-6)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"name": "rbf", "gama": 1}, ["'gama': did you mean 'gamma'?", "['gamma', 'sigma']"]),
        ({"name": "poly", "Degree": 1}, ["did you mean 'degree'?"]),
        ({"name": "rbf", "width": 1}, ["'width'. Known: ['gamma', 'sigma']"]),
    ],
)
def test_an_unknown_parameter_of_a_table_is_named_with_the_nearest(table, words):
    with pytest.raises(KernelError) as caught:
        kernel_names.from_mapping(table)
    for word in words:
        assert word in str(caught.value)


def test_python_sums_kernels():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    total = sum([kq.RBF(gamma=1.0), kq.Linear(), kq.Linear()])
    np.testing.assert_allclose(total(rows), kq.RBF(gamma=1.0)(rows) + 2.0 * rows @ rows.T)
    with pytest.raises(TypeError):
        1 + kq.Linear()
