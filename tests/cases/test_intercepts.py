"""The intercept: an interval when no row is free, its sign, and which rows may speak for it."""

import numpy as np
import pytest

import kernelqp as kq
from tests.cases.runs import certified, cost, every_form, every_solver, page

near = pytest.approx


class TestNoFreeRow:
    """Every multiplier at its bound: all b of an interval are optimal, their mean formula is not.

    Averaging y - w'x over the rows at the bound gives b = -0.55, outside [-1, -0.9].
    """

    X = np.array([[0.0], [1.0], [2.0], [19.0]])
    y = np.array([-1, -1, 1, 1])

    @every_form
    @every_solver
    def test_intercept_lies_in_the_interval_of_all_optima(self, form, solver):
        s = certified(kq.SoftMarginSVM(C=0.005), self.X, self.y, form=form, solver=solver)
        assert s.intercept_interval == near((-1.0, -0.9), abs=1e-6)
        assert -1.0 - 1e-6 <= s.intercept <= -0.9 + 1e-6
        assert s.value == near(0.015, rel=1e-6)
        assert s.weights == near([0.1], abs=1e-6)
        assert s.alpha == near(np.full(4, 0.005), rel=1e-6)
        assert cost(s.weights, s.intercept, self.X, self.y, 0.005) == near(0.015, rel=1e-6)
        assert s.support.support_vectors.tolist() == [0, 1, 2, 3]
        assert s.support.elbow.size == 0

    @pytest.mark.parametrize("C", [1e-9, 1e-5, 1e-3, 0.0052])
    @every_form
    def test_interval_follows_the_closed_form_in_C(self, C, form):
        s = certified(kq.SoftMarginSVM(C=C), self.X, self.y, form=form)
        assert s.value == near(4 * C - 200 * C**2, rel=1e-6)
        assert s.intercept_interval == near((-1.0, 1.0 - 380.0 * C), abs=1e-6)
        assert s.weights == near([20.0 * C], rel=1e-3)  # at 1e-9 w is 5e-8 of the value

    @every_form
    @pytest.mark.parametrize("shift", [-7.0, 100.0, 1e5])
    def test_a_shift_of_the_features_shifts_the_interval(self, form, shift):
        s = certified(kq.SoftMarginSVM(C=0.005), self.X + shift, self.y, form=form)
        moved = (-1.0 - 0.1 * shift, -0.9 - 0.1 * shift)
        assert s.intercept_interval == near(moved, rel=1e-6)
        assert moved[0] - 1e-6 * shift**0 <= s.intercept <= moved[1] + 1e-6
        assert s.value == near(0.015, rel=1e-6)

    @every_form
    @pytest.mark.parametrize("unit", [1e-3, 1e3])
    def test_the_unit_of_the_features_does_not_change_the_interval(self, form, unit):
        s = certified(kq.SoftMarginSVM(C=0.005 / unit**2), self.X * unit, self.y, form=form)
        assert s.intercept_interval == near((-1.0, -0.9), abs=1e-6)

    @every_form
    def test_the_other_labels_mirror_the_interval(self, form):
        s = certified(kq.SoftMarginSVM(C=0.005), self.X, -self.y, form=form)
        assert s.intercept_interval == near((0.9, 1.0), abs=1e-6)

    @pytest.mark.parametrize("kernel", [kq.Linear(), kq.RBF(gamma=0.5), kq.Polynomial(2, 1.0, 1.0)])
    @pytest.mark.parametrize("form", ["coefficients", "dual"])
    @pytest.mark.parametrize("seed", range(3))
    def test_balanced_classes_at_small_C_follow_the_closed_form(self, kernel, form, seed):
        X = np.random.default_rng(seed).normal(size=(12, 2))
        y = np.repeat([-1.0, 1.0], 6)
        C = 1e-3
        f = C * kernel.bind(X)(X) @ y
        s = certified(kq.SoftMarginSVM(C=C, kernel=kernel), X, y, form=form)
        low, high = (-1.0 - f[y < 0]).max(), (1.0 - f[y > 0]).min()
        assert low < high
        assert s.intercept_interval == near((low, high), abs=1e-6)
        assert low - 1e-6 <= s.intercept <= high + 1e-6
        assert s.alpha == near(np.full(12, C), rel=1e-6)

    def test_results_with_other_intercepts_agree_in_value(self):
        method = kq.SoftMarginSVM(C=0.005)
        found = [certified(method, self.X, self.y, form=form) for form in ("weights", "dual")]
        assert kq.compare(found).agree


class TestBoundRowsHaveNoSay:
    """Rows at the upper bound lie off the margin: b comes from the free rows 1 and 4 alone.

    The mean over all support vectors gives -0.625.
    """

    X = np.array([[-3.0], [-1.0], [2.0], [1.0], [3.0], [4.0]])
    y = np.array([-1, -1, -1, 1, 1, 1])
    alpha = np.array([0.0, 0.375, 1.0, 1.0, 0.375, 0.0])

    @every_form
    @every_solver
    def test_every_number_of_the_optimum(self, form, solver):
        s = certified(kq.SoftMarginSVM(C=1.0), self.X, self.y, form=form, solver=solver)
        assert s.value == near(2.625, rel=1e-6)
        assert s.weights == near([0.5], rel=1e-6)
        assert s.intercept == near(-0.5, abs=1e-6)
        assert s.intercept_interval == near((-0.5, -0.5), abs=1e-6)
        assert s.alpha == near(self.alpha, abs=1e-6)
        expected = [-2.0, -1.0, 0.5, 0.0, 1.0, 1.5]
        assert s.decision_function(self.X) == near(expected, abs=1e-6)

    @every_form
    def test_rows_take_their_roles(self, form):
        s = certified(kq.SoftMarginSVM(C=1.0), self.X, self.y, form=form)
        assert s.support.elbow.tolist() == [1, 4]
        assert s.support.left.tolist() == [2, 3]
        assert s.support.right.tolist() == [0, 5]
        assert s.support.support_vectors.tolist() == [1, 2, 3, 4]

    @every_form
    @pytest.mark.parametrize("seed", range(4))
    def test_the_order_of_the_rows_has_no_effect(self, form, seed):
        order = np.random.default_rng(seed).permutation(6)
        s = certified(kq.SoftMarginSVM(C=1.0), self.X[order], self.y[order], form=form)
        assert s.intercept == near(-0.5, abs=1e-6)
        assert s.alpha == near(self.alpha[order], abs=1e-6)

    @every_form
    @pytest.mark.parametrize("factor", [0.25, 3.0])
    def test_weights_stand_in_for_C(self, form, factor):
        weights = np.full(6, factor)
        method = kq.SoftMarginSVM(C=1.0 / factor)
        s = certified(method, self.X, self.y, weights, form=form)
        assert s.value == near(2.625, rel=1e-6)
        assert s.intercept == near(-0.5, abs=1e-6)

    @every_form
    @pytest.mark.parametrize("shift", [1e3, 1e6])
    def test_far_from_the_origin(self, form, shift):
        s = certified(kq.SoftMarginSVM(C=1.0), self.X + shift, self.y, form=form)
        assert s.value == near(2.625, rel=1e-6)
        assert s.intercept == near(-0.5 - 0.5 * shift, rel=1e-6)
        assert s.support.elbow.tolist() == [1, 4]


class TestSign:
    """b is plus the multiplier of the balance; the other sign puts f at (3, 5), not (-1, 1)."""

    X, y = np.array([[1.0], [3.0]]), np.array([-1, 1])

    @every_form
    @every_solver
    def test_free_rows_sit_on_their_margins(self, form, solver):
        s = certified(kq.SoftMarginSVM(C=10.0), self.X, self.y, form=form, solver=solver)
        assert s.decision_function(self.X) == near([-1.0, 1.0], abs=1e-6)
        assert s.intercept == near(-2.0, abs=1e-6)
        assert s.value == near(0.5, rel=1e-6)
        assert s.alpha == near([0.5, 0.5], abs=1e-6)

    @every_solver
    @pytest.mark.parametrize("method", [kq.SoftMarginSVM(C=10.0), kq.HardMarginSVM()])
    def test_the_balance_multiplier_on_the_page_is_the_intercept(self, solver, method):
        dual = method.dual(self.X, self.y)
        dual.solve(solver=solver)
        assert dual.constraints["balance"].dual_value == near(-2.0, abs=1e-3)

    @pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
    def test_a_literal_solve_has_the_same_sign(self, solver):
        dual = kq.SoftMarginSVM(C=10.0).dual(self.X, self.y)
        dual.problem.solve(solver=solver)
        assert dual.constraints["balance"].dual_value == near(-2.0, abs=1e-3)
        assert dual.solution().intercept == near(-2.0, abs=1e-3)

    @every_form
    @pytest.mark.parametrize("centre", [-40.0, -2.0, 0.0, 5.0, 1e4])
    def test_the_sign_holds_wherever_the_rows_are(self, form, centre):
        X = np.array([[centre - 1.0], [centre + 1.0]])
        s = certified(kq.SoftMarginSVM(C=10.0), X, self.y, form=form)
        assert s.intercept == near(-centre, rel=1e-6, abs=1e-6)
        assert s.decision_function(X) == near([-1.0, 1.0], abs=1e-6)

    @pytest.mark.parametrize("form", ["coefficients", "dual"])
    def test_the_wrong_sign_on_the_page_is_not_optimal(self, form):
        f = page(kq.SoftMarginSVM(C=10.0), self.X, self.y, form)
        f.solve()
        assert kq.check_kkt(f).holds
        if form == "dual":
            f.constraints["balance"].save_dual_value(2.0)
        else:
            f.variables["b"].value = 2.0
        assert not kq.check_kkt(f).holds


class TestMisclassifiedButOptimal:
    """Separable data with a small C: the optimum itself puts a row on the wrong side."""

    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([1, 1, -1])

    @every_form
    @every_solver
    def test_small_C(self, form, solver):
        s = certified(kq.SoftMarginSVM(C=1.0), self.X, self.y, form=form, solver=solver)
        assert s.value == near(1.75, rel=1e-6)
        assert s.weights == near([-0.5, -0.5], abs=1e-6)
        assert s.intercept == near(1.5, abs=1e-6)
        assert s.alpha == near([0.5, 0.5, 1.0], abs=1e-6)
        assert s.decision_function(self.X) == near([1.0, 1.0, 0.5], abs=1e-6)
        assert s.predict(self.X).tolist() == [1, 1, 1]
        assert s.support.left.tolist() == [2]
        assert s.support.elbow.tolist() == [0, 1]

    @every_form
    @pytest.mark.parametrize("C", [4.5, 10.0, 100.0, 1e4, 1e8])
    def test_large_C_is_the_hard_margin(self, form, C):
        s = certified(kq.SoftMarginSVM(C=C), self.X, self.y, form=form)
        assert s.value == near(4.0, rel=1e-6)
        assert s.weights == near([-2.0, -2.0], rel=1e-6)
        assert s.intercept == near(3.0, rel=1e-6)
        assert s.alpha == near([2.0, 2.0, 4.0], rel=1e-6)
        assert s.predict(self.X).tolist() == [1, 1, -1]
