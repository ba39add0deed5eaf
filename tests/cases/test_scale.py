"""Multipliers far below and far above 1: no threshold has a unit of its own."""

import numpy as np
import pytest

import kernelqp as kq
from tests.cases.runs import certified, every_form, every_run, every_solver

near = pytest.approx
QUAD = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]])
SIGNS = np.array([1, 1, -1, -1])
LINE = np.array([[10.0], [11.0], [12.0], [13.0]])
HALVES = np.array([-1, -1, 1, 1])


class TestTinyC:
    """A cut at alpha > 1e-5 finds no support vector where each multiplier is C = 1e-7."""

    @pytest.mark.parametrize("C", [1e-4, 1e-7, 1e-10])
    @every_run
    def test_all_rows_carry(self, C, form, solver):
        s = certified(kq.SoftMarginSVM(C=C), QUAD, SIGNS, form=form, solver=solver)
        assert s.support.support_vectors.tolist() == [0, 1, 2, 3]
        assert s.alpha == near(np.full(4, C), rel=1e-6)
        assert s.weights == near([4 * C, 2 * C], rel=1e-6)
        assert s.value == near(4 * C - 10 * C**2, rel=1e-6)
        assert s.intercept_interval == near((-1 + 6 * C, 1 - 6 * C), rel=1e-6)
        assert abs(s.intercept) <= 1 - 6 * C + 1e-6

    @pytest.mark.parametrize("unit", [1e-4, 1e4, 1e7])
    @every_form
    def test_a_tiny_C_by_the_unit_of_the_features_is_an_ordinary_one(self, unit, form):
        X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), HALVES
        s = certified(kq.SoftMarginSVM(C=10.0 / unit**2), X * unit, y, form=form)
        assert s.value == near(0.5 / unit**2, rel=1e-6)
        assert s.support.support_vectors.tolist() == [1, 2]
        assert s.intercept == near(-2.0, rel=1e-6)

    @pytest.mark.parametrize("kernel", [kq.RBF(gamma=1.0), kq.Polynomial(3, 1.0, 1.0)])
    def test_other_kernels(self, kernel):
        s = certified(kq.SoftMarginSVM(C=1e-7, kernel=kernel), QUAD, SIGNS)
        assert s.support.support_vectors.tolist() == [0, 1, 2, 3]
        assert s.alpha == near(np.full(4, 1e-7), rel=1e-6)

    @every_form
    def test_tiny_weights_are_a_tiny_C(self, form):
        s = certified(kq.SoftMarginSVM(C=1.0), QUAD, SIGNS, np.full(4, 1e-7), form=form)
        assert s.support.support_vectors.tolist() == [0, 1, 2, 3]
        assert s.value == near(4e-7 - 1e-13, rel=1e-6)


class TestHugeC:
    """A cut relative to C finds none either: the multipliers are 2 whatever C is."""

    @pytest.mark.parametrize("C", [2.5, 1e4, 1e6, 1e8, 1e12])
    @every_run
    def test_the_hard_margin_answer(self, C, form, solver):
        s = certified(kq.SoftMarginSVM(C=C), LINE, HALVES, form=form, solver=solver)
        assert s.value == near(2.0, rel=1e-6)
        assert s.weights == near([2.0], rel=1e-6)
        assert s.intercept == near(-23.0, rel=1e-6)
        assert s.alpha == near([0.0, 2.0, 2.0, 0.0], abs=1e-5)
        assert s.support.support_vectors.tolist() == [1, 2]
        assert s.decision_function(LINE) == near([-3.0, -1.0, 1.0, 3.0], rel=1e-5)

    @every_form
    @every_solver
    def test_hard_margin_itself(self, form, solver):
        s = certified(kq.HardMarginSVM(), LINE, HALVES, form=form, solver=solver)
        assert s.value == near(2.0, rel=1e-6)
        assert s.alpha == near([0.0, 2.0, 2.0, 0.0], abs=1e-5)
        assert s.geometric_margin == near(0.5, rel=1e-6)
        assert s.support.support_vectors.tolist() == [1, 2]

    @pytest.mark.parametrize("C", [10.0, 1e4, 1e8, 1e12])
    @every_run
    def test_classes_that_overlap_stay_a_soft_margin(self, C, form, solver):
        """About the middle, f = w x costs 4 - 2 w up to w = 2/3 and 2 + w beyond."""
        y = np.array([-1, 1, -1, 1])
        s = certified(kq.SoftMarginSVM(C=C), LINE, y, form=form, solver=solver)
        assert s.value == near(8 * C / 3 + 2 / 9, rel=1e-6)
        rounding = 8 * np.finfo(float).eps * C * (1.5**2)  # of f = sum beta k, with beta up to C
        expected = [-1.0, -1 / 3, 1 / 3, 1.0]
        assert s.decision_function(LINE) == near(expected, abs=1e-5 + rounding)
        assert s.support.support_vectors.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
    @pytest.mark.parametrize("C", [1e4, 1e10])
    def test_far_from_the_origin(self, C, shift):
        s = certified(kq.SoftMarginSVM(C=C), LINE + shift, HALVES)
        assert s.value == near(2.0, rel=1e-6)
        assert s.support.support_vectors.tolist() == [1, 2]

    @pytest.mark.parametrize("power", [2, 1.5, 3.0])
    @every_form
    def test_other_powers_of_the_slack(self, power, form):
        s = certified(kq.SoftMarginSVM(C=1e8, slack_power=power), LINE, HALVES, form=form)
        assert s.value == near(2.0, rel=1e-3)
        assert s.value <= 2.0 * (1 + 1e-6)
        assert s.support.support_vectors.tolist() == [1, 2]

    @pytest.mark.parametrize("kernel", [kq.RBF(gamma=0.5), kq.Polynomial(2, 1.0, 1.0)])
    @pytest.mark.parametrize("form", ["coefficients", "dual"])
    def test_other_kernels_meet_the_hard_margin(self, kernel, form):
        hard = certified(kq.HardMarginSVM(kernel=kernel), LINE, HALVES, form=form)
        soft = certified(kq.SoftMarginSVM(C=1e10, kernel=kernel), LINE, HALVES, form=form)
        assert soft.value == near(hard.value, rel=2e-6)
        assert soft.support.support_vectors.tolist() == hard.support.support_vectors.tolist()


class TestSmallIntegers:
    """200 * 200 in uint8 is 64; every number type means the same numbers."""

    X = np.array([[200], [100]])
    y = np.array([1, -1])

    @pytest.mark.parametrize(
        ("x_type", "y_type"),
        [
            ("uint8", "int8"),
            ("int16", "int64"),
            ("uint16", "float32"),
            ("int64", "bool"),
            ("float32", "uint8"),
            ("float64", "float16"),
        ],
    )
    @every_form
    def test_types_do_not_wrap_around(self, x_type, y_type, form):
        unsigned = y_type in ("bool", "uint8")
        y = ((self.y > 0) if unsigned else self.y).astype(y_type)
        s = certified(kq.SoftMarginSVM(C=10.0), self.X.astype(x_type), y, form=form)
        assert s.value == near(2e-4, rel=1e-6)
        assert s.weights == near([0.02], rel=1e-6)
        assert s.intercept == near(-3.0, rel=1e-6)
        assert s.alpha == near([2e-4, 2e-4], rel=1e-6)
        assert s.decision_function(self.X.astype(x_type)) == near([1.0, -1.0], abs=1e-6)

    @pytest.mark.parametrize("x_type", ["uint8", "int16", "float32"])
    @pytest.mark.parametrize("kernel", [kq.Polynomial(2, 1e-4, 1.0), kq.RBF(gamma=1e-4)])
    @pytest.mark.parametrize("form", ["coefficients", "dual"])
    def test_other_kernels(self, x_type, kernel, form):
        method = kq.SoftMarginSVM(C=10.0, kernel=kernel)
        small = certified(method, self.X.astype(x_type), self.y, form=form)
        wide = certified(method, self.X.astype(float), self.y, form=form)
        assert small.value == near(wide.value, rel=1e-12)
        new = np.array([[150], [20]])
        assert small.decision_function(new.astype(x_type)) == near(
            wide.decision_function(new.astype(float)), rel=1e-9
        )

    def test_a_precomputed_matrix_of_integers(self):
        K = np.array([[40000, 20000], [20000, 10000]], dtype=np.int32)
        s = certified(kq.SoftMarginSVM(C=10.0, kernel="precomputed"), K, self.y)
        assert s.value == near(2e-4, rel=1e-6)

    def test_integer_weights(self):
        weights = np.array([3, 3], dtype=np.uint8)
        s = certified(kq.SoftMarginSVM(C=1e-5), self.X, self.y, weights)
        assert s.alpha == near([3e-5, 3e-5], rel=1e-6)
