"""The explicit feature map of the polynomial kernel: equal to the kernel, and refused in time."""

from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kernelqp as kq
from kernelqp.errors import ParameterError
from kernelqp.kernels import Linear, Polynomial
from kernelqp.polynomial_features import polynomial_features

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Z = rng.normal(size=(7, 4))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_the_feature_map_has_the_polynomial_kernel(degree, constant, d):
    kernel = Polynomial(degree, 0.7, constant)
    F, G = kernel.feature_map(X[:, :d]), kernel.feature_map(Z[:, :d])
    wanted = kernel(X[:, :d], Z[:, :d])
    assert_allclose(F @ G.T, wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))
    assert F.shape == (30, comb(d + degree - (constant == 0), degree))


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_features_are_the_weighted_monomials_in_lexicographic_order(constant):
    x = np.array([2.0, 3.0, 5.0])
    u = [1.0, *x] if constant else list(x)
    wanted = []
    for word in combinations_with_replacement(range(len(u)), 4):
        weight = factorial(4) / prod(factorial(word.count(i)) for i in set(word))
        wanted.append(sqrt(weight) * prod(u[i] for i in word))
    got = Polynomial(4, 1.0, constant).feature_map(x[None, :])[0]
    assert_allclose(got, wanted, rtol=1e-14)


def test_the_XOR_features_are_those_of_the_textbook():
    points = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    phi = Polynomial(degree=2, gamma=1, constant=1).feature_map(points)
    root = np.sqrt(2.0)
    x1, x2 = points.T
    wanted = [np.ones(4), root * x1, root * x2, x1**2, root * x1 * x2, x2**2]
    assert_allclose(phi, np.column_stack(wanted), rtol=1e-15)
    assert_allclose(phi @ phi.T, Polynomial(2, 1.0, 1.0)(points), rtol=1e-14)
    w = kq.HardMarginSVM(kernel=Linear()).solve(phi, [-1, 1, 1, -1]).weights
    assert_allclose(w, [0, 0, 0, 0, -1 / root, 0], atol=1e-5)


def test_a_feature_map_reads_integers_as_numbers():
    small = np.array([[200], [100]], dtype=np.uint8)
    kernel = Polynomial(2, 1.0)
    assert kernel.feature_map(small).tolist() == [[40000.0], [10000.0]]


def test_the_default_form_of_a_polynomial_kernel_has_no_explicit_features():
    assert Polynomial(2, 1.0, 1.0).features(X) is None


def test_a_feature_map_that_cannot_be_is_refused():
    with pytest.raises(ParameterError, match=r"constant must be >= 0.*-1\.0"):
        Polynomial(2, 1.0, -1.0).feature_map(X)
    bound = Polynomial(2).bind(X)
    np.testing.assert_allclose(Polynomial(2).feature_map(X), bound.feature_map(X))
    with pytest.raises(ParameterError, match="2-D"):
        polynomial_features(np.ones(3), 2, 1.0, 1.0)
    wide = np.ones((1, 1412))  # C(1414, 2) = 998,991 and C(1415, 2) = 1,000,405
    assert polynomial_features(wide, 2, 1.0, 1.0).shape == (1, 998_991)
    assert polynomial_features(np.ones((1, 1413)), 2, 1.0, 0.0).shape == (1, 998_991)
    with pytest.raises(ParameterError, match=r"1000405 monomials"):
        polynomial_features(np.ones((1, 1413)), 2, 1.0, 1.0)


def test_a_high_degree_in_few_dimensions_is_no_burden():
    x = np.array([[0.6, 0.5]])
    phi = Polynomial(200, 1.0, 0.0).feature_map(x)
    assert_allclose(phi @ phi.T, [[0.61**200]], rtol=1e-11)


@pytest.mark.parametrize("bad", [{"degree": 1.5}, {"gamma": -1.0}, {"constant": np.nan}])
def test_features_of_a_polynomial_out_of_range_are_refused(bad):
    given = {"degree": 2, "gamma": 1.0, "constant": 1.0} | bad
    with pytest.raises(kq.InputError, match=next(iter(bad))):
        polynomial_features(np.ones((2, 2)), **given)
