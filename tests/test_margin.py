"""The margin: its own page, the identity with the multipliers, distances, and separability."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import kernelqp as kq

IRIS = load_iris()
TWO = IRIS.target < 2
SQUARE = ([[1, 1], [1, -1], [-1, 1], [-1, -1]], [-1, 1, 1, -1])


def iris():
    return IRIS.data[TWO], IRIS.target[TWO]


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_maximum_margin_page_is_the_same_machine(kernel, intercept):
    X, y = iris()
    method = kq.HardMarginSVM(kernel=kernel, intercept=intercept)
    page = method.primal(X, y, form="max_margin")
    solution = page.solve()
    dual = method.dual(X, y).solve()
    assert solution.certificate.certified
    assert solution.value == pytest.approx(dual.value, rel=1e-6)
    assert page.problem.value == pytest.approx(solution.geometric_margin, rel=1e-6)
    assert page.problem.value == pytest.approx(1 / math.sqrt(2 * solution.value), rel=1e-6)
    assert page.variables["M"].value == pytest.approx(solution.geometric_margin, rel=1e-6)
    assert kq.check_kkt(solution).holds
    assert kq.check_kkt(page).holds


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_the_maximum_margin_page_solved_literally(intercept):
    X, y = iris()
    page = kq.HardMarginSVM(intercept=intercept).primal(X, y, form="max_margin")
    margin = page.problem.solve(solver="CLARABEL")
    solution = page.solution()
    assert solution.certificate.certified
    assert solution.geometric_margin == pytest.approx(margin, rel=1e-6)
    assert page.constraints["margin"].dual_value.sum() == pytest.approx(1.0, rel=1e-6)
    assert page.constraints["norm"].dual_value == pytest.approx(margin, rel=1e-5)


@pytest.mark.parametrize("form", ["weights", "coefficients", "max_margin", "dual"])
def test_margin_squared_is_one_over_the_sum_of_the_multipliers(form):
    X, y = iris()
    s = kq.HardMarginSVM().solve(X, y, form=form)
    assert s.geometric_margin**2 * s.alpha.sum() == pytest.approx(1.0, rel=1e-6)
    assert s.geometric_margin**2 * 2 * s.value == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_distances_are_those_of_the_plane(form):
    X, y = iris()
    s = kq.HardMarginSVM().solve(X, y, form=form)
    by_hand = np.abs(X @ s.weights + s.intercept) / np.linalg.norm(s.weights)
    np.testing.assert_allclose(s.distances, by_hand, rtol=1e-9)
    assert s.distances.min() == pytest.approx(s.geometric_margin, rel=1e-6)
    np.testing.assert_allclose(s.distances[s.support.elbow], s.geometric_margin, rtol=1e-6)


def test_a_row_of_weight_0_has_no_distance():
    X, y = [[0.0], [1.0], [9.0], [3.0], [4.0], [-5.0]], [-1, -1, -1, 1, 1, 1]
    s = kq.SoftMarginSVM(C=10).solve(X, y, sample_weight=[1, 1, 0, 1, 1, 0])
    assert np.isnan(s.distances).tolist() == [False, False, True, False, False, True]
    np.testing.assert_allclose(s.distances[[0, 1, 3, 4]], [2, 1, 1, 2], rtol=1e-6)


REFERENCE = {
    "iris": (*iris(), 0.7480579265, 0.8175557693, 3),
    "wine": (
        StandardScaler().fit_transform(load_wine().data),
        load_wine().target == 0,
        2.281681223,
        0.4681203467,
        12,
    ),
    "digits 0-1": (
        load_digits(n_class=2).data / 16,
        load_digits(n_class=2).target,
        1.352506155,
        0.6080165169,
        19,
    ),
    "breast cancer": (
        StandardScaler().fit_transform(load_breast_cancer().data),
        load_breast_cancer().target,
        255157.8785,
        0.001399846807,
        29,
    ),
}


@pytest.mark.parametrize("form", ["weights", "max_margin", "dual"])
@pytest.mark.parametrize("name", REFERENCE)
def test_hard_margins_of_real_data(name, form):
    X, y, value, margin, count = REFERENCE[name]
    s = kq.HardMarginSVM().solve(X, y, form=form)
    assert s.certificate.certified
    assert s.value == pytest.approx(value, rel=1e-6)
    assert s.geometric_margin == pytest.approx(margin, rel=1e-6)
    assert len(s.support.support_vectors) == count
    assert kq.check_kkt(s).holds


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (IRIS.data[50:], IRIS.target[50:]),
        (load_digits().data / 16, load_digits().target == 8),
        SQUARE,
        ([[0.0], [0.0]], [0, 1]),
    ],
    ids=["versicolor-virginica", "digits 8", "xor", "one point twice"],
)
def test_data_that_no_plane_separates(X, y):
    answer = kq.separable(X, y)
    assert answer.separable is False
    assert not answer
    assert answer.margin == 0.0
    weights = answer.proof.weights
    X, y = np.asarray(X, float), np.asarray(y)
    assert (weights >= 0).all()
    means = [weights[y == label] @ X[y == label] for label in np.unique(y)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-12)


def test_separable_data_have_a_plane():
    answer = kq.separable(*SQUARE, kernel=kq.Polynomial(2, 1, 1))
    assert answer
    assert answer.margin == pytest.approx(math.sqrt(2), rel=1e-6)
    assert answer.proof is None
    assert answer.plane.predict(SQUARE[0]).tolist() == SQUARE[1]


@pytest.mark.parametrize("stamp", [1.0, 1e9, 1e18])
def test_a_feature_that_tells_the_classes_apart_is_not_lost_beside_a_large_one(stamp):
    rng = np.random.default_rng(0)
    y = np.resize([0, 1], 40)
    X = np.c_[stamp * rng.uniform(1, 2, 40), y]
    assert kq.separable(X, y).separable is not False
    near = kq.separable([[0.0], [1e-8], [1.0]], [-1, 1, 1])
    assert near.separable is not False


def test_separability_that_double_precision_cannot_tell_is_said_to_be_so():
    X, y = [[1e9, 0], [-2e9, 0], [3e9, 0], [0, 1], [1.5e9, 1], [-2.5e9, 1]], [0, 0, 0, 1, 1, 1]
    answer = kq.separable(X, y)
    assert answer.separable is not False
    assert answer.proof is None


# --- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("names", [(-1, 1), ("a", "b")])
def test_a_class_weight_bounds_its_own_class(form, names):
    """Exchanged, the bounds would leave w = 0 and the value 50."""
    X, y = [[0.0], [9.0], [8.0]], [names[0], names[0], names[1]]
    svm = kq.SoftMarginSVM(C=50, class_weight={names[0]: 0.5, names[1]: 1.0})
    s = svm.solve(X, y, form=form)
    assert s.value == pytest.approx(56.28125, rel=1e-6)
    np.testing.assert_allclose(s.weights, [0.25], rtol=1e-6)
    assert s.intercept == pytest.approx(-1.0, abs=1e-6)
    np.testing.assert_allclose(s.alpha, [3.15625, 25, 28.15625], rtol=1e-6)
    assert s.support.elbow.tolist() == [0, 2]
    same = kq.SoftMarginSVM(C=50).solve(X, y, sample_weight=[0.5, 0.5, 1.0], form=form)
    assert same.value == pytest.approx(s.value, rel=1e-9)


@pytest.mark.parametrize("power", [1, 2, 1.5])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_integer_weights_are_repeated_rows(kernel, power):
    rng = np.random.default_rng(4)
    X, times = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=40) > 0, "yes", "no")
    kernel = kernel if kernel == "linear" else kq.RBF(gamma=0.4)
    svm = kq.SoftMarginSVM(C=2.0, kernel=kernel, slack_power=power)
    weighted = svm.solve(X, y, sample_weight=times, tol=1e-9)
    repeated = svm.solve(np.repeat(X, times, axis=0), np.repeat(y, times), tol=1e-9)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    f, g = weighted.decision_function(X), repeated.decision_function(X)
    np.testing.assert_allclose(f, g, atol=1e-8 * np.abs(f).max())


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_weight_0_are_as_if_deleted(sparse):
    from scipy.sparse import csr_array

    X, y = np.array([[0.0], [1.0], [9.0], [3.0], [4.0], [-5.0]]), [-1, -1, -1, 1, 1, 1]
    weights = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    for form in ("weights", "coefficients", "dual"):
        s = kq.SoftMarginSVM(C=10).solve(csr_array(X) if sparse else X, y, weights, form=form)
        assert s.value == pytest.approx(0.5, rel=1e-6)
        np.testing.assert_allclose(s.alpha, [0, 0.5, 0, 0.5, 0, 0], atol=1e-6)
        assert s.support.support_vectors.tolist() == [1, 3]
        np.testing.assert_allclose(s.decision_function(X), [-2, -1, 7, 1, 2, -7], atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ([1, -0.5, 1, 1], r"sample_weight.*negative|sample_weight.*>= 0.*1"),
        ([1, math.nan, 1, 1], "sample_weight"),
        ([1, math.inf, 1, 1], "sample_weight"),
        ([1, 1, 1], "sample_weight"),
        ([0, 0, 0, 0], "sample_weight"),
        ([0, 0, 1, 1], "sample_weight"),
    ],
)
def test_weights_that_cannot_be_are_refused_by_name(weights, match):
    for method in (kq.SoftMarginSVM(), kq.HardMarginSVM()):
        with pytest.raises(kq.InputError, match=match):
            method.solve([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], sample_weight=weights)
