"""Optima that are not unique, kernels that see nothing, and kernels that see only themselves."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.formulation import Written
from tests.cases.runs import (
    IMPLICIT,
    certified,
    every_form,
    every_implicit_form,
    every_implicit_run,
    every_run,
    every_solver,
    page,
)

near = pytest.approx


class TestDuplicates:
    """Two rows at one place share a multiplier in any proportion: compare f, never alpha."""

    X, y = np.array([[1.0], [1.0], [-1.0]]), np.array([1, 1, -1])

    @every_form
    @every_solver
    def test_what_is_unique_is_found(self, form, solver):
        s = certified(kq.SoftMarginSVM(C=10.0), self.X, self.y, form=form, solver=solver)
        assert s.value == near(0.5, rel=1e-6)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.intercept == near(0.0, abs=1e-6)
        assert s.alpha[:2].sum() == near(0.5, abs=1e-6)
        assert s.alpha[2] == near(0.5, abs=1e-6)

    @pytest.mark.parametrize("alpha", [[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    def test_every_share_is_certified_as_it_stands(self, alpha):
        dual = written_dual(self.X, self.y, alpha)
        s = dual.solution()
        assert s.certificate.certified
        assert s.value == near(0.5, rel=1e-12)
        assert s.alpha == near(np.array(alpha), abs=1e-12)
        assert kq.check_kkt(dual).holds

    @pytest.mark.parametrize("alpha", [[0.5, 0.5, 0.5], [0.25, 0.25, 0.25], [0.0, 0.0, 0.5]])
    def test_multipliers_off_balance_are_refused_as_they_stand(self, alpha):
        dual = written_dual(self.X, self.y, alpha)
        report = kq.check_kkt(dual)
        assert not report.holds
        assert any("balance" in c.name and c.holds is False for c in report.conditions)
        assert dual.solution().certificate.balance > 0.1

    @pytest.mark.parametrize("alpha", [[0.25, 0.0, 0.25], [0.5, 0.5, 1.0], [5.0, 5.0, 10.0]])
    def test_balanced_multipliers_off_the_optimum_are_refused_as_they_stand(self, alpha):
        assert not kq.check_kkt(written_dual(self.X, self.y, alpha)).holds

    @every_form
    @pytest.mark.parametrize("copies", [2, 7, 40])
    def test_many_copies(self, form, copies):
        X = np.repeat([[1.0], [-1.0]], [copies, 1], axis=0)
        y = np.repeat([1, -1], [copies, 1])
        s = certified(kq.SoftMarginSVM(C=10.0), X, y, form=form)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.alpha[:copies].sum() == near(0.5, abs=1e-6)

    @every_form
    def test_copies_of_both_classes_at_one_place_cost_two_each(self, form):
        X, y = np.full((6, 1), 3.0), np.array([1, -1, 1, -1, 1, -1])
        s = certified(kq.SoftMarginSVM(C=2.0), X, y, form=form)
        assert s.value == near(12.0, rel=1e-6)
        assert s.weights == near([0.0], abs=1e-6)

    def test_comparison_calls_other_shares_one_optimum(self):
        shares = ([0.5, 0.0, 0.5], [0.0, 0.5, 0.5])
        found = kq.compare([written_dual(self.X, self.y, a).solution() for a in shares])
        assert found.agree
        assert not found.same_multipliers


def written_dual(X, y, alpha):
    """The dual page with these multipliers and b = 0 written on it as a solver would."""
    dual = kq.SoftMarginSVM(C=10.0).dual(X, y)
    multipliers = {"balance": 0.0, "lower": np.zeros(3), "upper": np.zeros(3)}
    dual.write(Written({"alpha": np.array(alpha)}, multipliers))
    return dual


class TestConstantKernel:
    """One place for all rows: w = 0 and b is the majority; a variance of 0 is not divided by."""

    X, y = np.full((4, 2), 3.0), np.array([1, 1, 1, -1])

    @pytest.mark.parametrize("gamma", ["scale", 1.0, 1e-20, 1e-300])
    @every_implicit_run
    def test_majority(self, gamma, form, solver):
        method = kq.SoftMarginSVM(C=10.0, kernel=kq.RBF(gamma=gamma))
        s = certified(method, self.X, self.y, form=form, solver=solver)
        assert s.value == near(20.0, rel=1e-6)
        assert s.intercept == near(1.0, abs=1e-6)
        assert s.decision_function(self.X) == near(np.ones(4), abs=1e-6)
        assert s.alpha[3] == near(10.0, rel=1e-6)
        assert s.alpha[:3].sum() == near(10.0, rel=1e-6)

    @every_form
    @pytest.mark.parametrize("place", [0.0, 3.0, -1e6])
    def test_linear_kernel(self, form, place):
        s = certified(kq.SoftMarginSVM(C=10.0), np.full((4, 2), place), self.y, form=form)
        assert s.value == near(20.0, rel=1e-6)
        assert s.weights == near([0.0, 0.0], abs=1e-9)
        assert s.predict([[place, place]]).tolist() == [1]

    @pytest.mark.parametrize("name", ["rbf", "poly", "laplacian"])
    def test_named_kernels_with_their_defaults(self, name):
        s = certified(kq.SoftMarginSVM(C=10.0, kernel=name), self.X, self.y)
        assert s.value == near(20.0, rel=1e-6)

    @every_implicit_form
    def test_a_gamma_too_small_to_see_anything(self, form):
        X = np.arange(8.0)[:, None]
        y = np.array([1, 1, 1, 1, 1, -1, -1, -1])
        method = kq.SoftMarginSVM(C=10.0, kernel=kq.RBF(gamma=1e-300))
        assert certified(method, X, y, form=form).value == near(60.0, rel=1e-6)

    @every_implicit_form
    @pytest.mark.parametrize("unit", [1.0, 10.0, 0.1, 1e6, 1e-6])
    def test_scaled_gamma_follows_the_unit_of_the_features(self, form, unit):
        X, y = np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([-1, 1])
        s = certified(kq.SoftMarginSVM(C=10.0, kernel="rbf"), X * unit, y, form=form)
        assert s.method.kernel.gamma == near(1.0 / (2 * X.var()) / unit**2, rel=1e-12)
        assert s.method.kernel.gamma * unit**2 == near(1.0 / 5.5, rel=1e-12)
        assert s.decision_function(X * unit) == near([-1.0, 1.0], abs=1e-6)
        query = np.array([[0.5, 3.0]])
        reference = certified(kq.SoftMarginSVM(C=10.0, kernel="rbf"), X, y)
        assert s.decision_function(query * unit) == near(
            reference.decision_function(query), abs=1e-6
        )


class TestIdentityKernel:
    """K = I: above its largest multiplier C has no effect, below it the multipliers are shared."""

    X, y = np.arange(4.0)[:, None], np.array([1, 1, 1, -1])

    @pytest.mark.parametrize("C", [1.5, 2.0, 10.0, 1000.0, 1e6])
    @every_implicit_form
    def test_C_has_no_effect_above_the_largest_multiplier(self, C, form):
        s = certified(kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=1e6)), self.X, self.y, form=form)
        assert s.value == near(1.5, rel=1e-5)
        assert s.alpha == near([0.5, 0.5, 0.5, 1.5], rel=1e-5)
        assert s.intercept == near(0.5, rel=1e-5)
        assert s.decision_function(self.X) == near([1.0, 1.0, 1.0, -1.0], rel=1e-5)

    @pytest.mark.parametrize("C", [0.1, 0.5, 1.0, 1.4])
    @every_implicit_run
    def test_C_acts_below_it(self, C, form, solver):
        method = kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=1e6))
        s = certified(method, self.X, self.y, form=form, solver=solver)
        assert s.value == near(2 * C - 2 * C**2 / 3, rel=1e-5)
        assert s.alpha == near([C / 3, C / 3, C / 3, C], rel=1e-5)
        assert s.intercept == near(1.0 - C / 3, rel=1e-5)

    @pytest.mark.parametrize("n", [5, 60])
    @pytest.mark.parametrize("form", IMPLICIT)
    def test_any_number_of_rows(self, n, form):
        y = np.r_[np.ones(n - 1), -1.0]
        method = kq.SoftMarginSVM(C=1e3, kernel="precomputed")
        s = certified(method, np.eye(n), y, form=form)
        assert s.value == near(2.0 * (n - 1) / n, rel=1e-5)
        assert s.alpha[-1] == near(2.0 * (n - 1) / n, rel=1e-5)

    def test_without_an_intercept_every_row_stands_alone(self):
        method = kq.SoftMarginSVM(C=10.0, kernel=kq.RBF(gamma=1e6), intercept="none")
        s = certified(method, self.X, self.y)
        assert s.alpha == near(np.ones(4), rel=1e-6)
        assert s.value == near(2.0, rel=1e-6)


class TestSquaredSlack:
    """Squared slack has no upper bound and 1/(2C) on the diagonal; keeping alpha <= C gives 0.2."""

    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])

    @pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 30.0])
    @every_run
    def test_closed_form(self, C, form, solver):
        method = kq.SoftMarginSVM(C=C, slack_power=2)
        s = certified(method, self.X, self.y, form=form, solver=solver)
        assert s.value == near(2 * C / (1 + 4 * C), rel=1e-6)
        assert s.weights == near([4 * C / (1 + 4 * C)], rel=1e-5)
        assert s.alpha == near(np.full(2, 2 * C / (1 + 4 * C)), rel=1e-5)
        assert s.slack == near(np.full(2, 1 / (1 + 4 * C)), rel=1e-5)
        assert s.intercept == near(0.0, abs=1e-6)

    def test_multipliers_may_exceed_C(self):
        s = certified(kq.SoftMarginSVM(C=0.1, slack_power=2), self.X, self.y)
        assert s.alpha == near([1 / 7, 1 / 7], rel=1e-6)
        assert (s.alpha > 0.1).all()

    @pytest.mark.parametrize("power", [1.05, 1.5, 3.0, 5.0])
    @pytest.mark.parametrize("C", [0.1, 10.0])
    @every_form
    def test_other_powers_by_a_root_in_one_dimension(self, power, C, form):
        slack = root(lambda t: 2 * C * power * t ** (power - 1) - (1 - t))
        method = kq.SoftMarginSVM(C=C, slack_power=power)
        s = certified(method, self.X, self.y, form=form)
        assert s.value == near(0.5 * (1 - slack) ** 2 + 2 * C * slack**power, rel=1e-6)
        assert s.slack == near(np.full(2, slack), abs=1e-3)

    @every_form
    def test_weights_scale_the_diagonal_and_not_the_multiplier(self, form):
        method = kq.SoftMarginSVM(C=0.05, slack_power=2)
        s = certified(method, self.X, self.y, [2.0, 2.0], form=form)
        assert s.value == near(1 / 7, rel=1e-6)

    @every_form
    def test_labels_of_one_place_never_saturate(self, form):
        s = certified(kq.SoftMarginSVM(C=3.0, slack_power=2), [[1.0], [1.0]], self.y, form=form)
        assert s.value == near(6.0, rel=1e-6)
        assert s.alpha == near([6.0, 6.0], rel=1e-6)


def root(g):
    """The t in [0, 1] where the increasing g crosses 0, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if g(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


class TestRankDeficient:
    """A Gram of rank 2 has eigenvalues of rounding size below 0, and is convex all the same."""

    @staticmethod
    def clouds(n=30):
        rng = np.random.default_rng(3)
        right = rng.normal(size=(n, 2)) * 40.0 + [60.0, 20.0]
        left = rng.normal(size=(n, 2)) * 40.0 - [60.0, 20.0]
        return np.r_[right, left], np.repeat([1, -1], n)

    @every_form
    @every_solver
    def test_two_features_sixty_rows(self, form, solver):
        X, y = self.clouds()
        s = certified(kq.SoftMarginSVM(C=0.01), X, y, form=form, solver=solver)
        assert s.value == near(0.0881108341899, rel=1e-6)
        assert s.certificate.relative_gap <= 1e-7
        assert s.weights == near([0.0411034214, 0.0150075974], rel=1e-5)
        assert s.intercept == near(-0.1337749758609, rel=1e-5)
        assert s.support.support_vectors.size == 11
        assert np.isclose(s.alpha, 0.01, rtol=1e-6).sum() == 8

    @pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
    def test_the_literal_dual_of_a_dense_gram_is_convex(self, solver):
        X, y = self.clouds()
        dual = kq.SoftMarginSVM(C=0.01, kernel="precomputed").dual(X @ X.T, y)
        assert dual.problem.is_dcp()
        dual.problem.solve(solver=solver)
        assert dual.problem.value == near(0.0881108341899, rel=1e-2)

    @every_implicit_run
    def test_dense_and_factor_agree(self, form, solver):
        X, y = self.clouds()
        method = kq.SoftMarginSVM(C=0.01, kernel="precomputed")
        s = certified(method, X @ X.T, y, form=form, solver=solver)
        assert s.value == near(0.0881108341899, rel=1e-6)

    @every_implicit_form
    @every_solver
    def test_smooth_kernel_of_many_rows_on_an_interval(self, form, solver):
        X = np.linspace(0.0, 1.0, 80)[:, None]
        y = np.where(X.ravel() > 0.5, 1, -1)
        method = kq.SoftMarginSVM(C=10.0, kernel=kq.RBF(gamma=0.5))
        s = certified(method, X, y, form=form, solver=solver)
        assert s.value == near(128.154058473, rel=1e-6)

    @every_form
    @pytest.mark.parametrize("columns", [1, 3, 6])
    def test_copies_of_one_feature_share_its_weight(self, form, columns):
        X, y = self.clouds()
        one, n = certified(kq.SoftMarginSVM(C=0.01), X[:, :1], y), columns
        method = kq.SoftMarginSVM(C=0.01 / n)
        s = certified(method, np.repeat(X[:, :1], n, axis=1), y, form=form)
        assert n * s.value == near(one.value, rel=2e-6)
        assert s.weights == near(np.full(n, one.weights[0] / n), rel=1e-5)

    @pytest.mark.parametrize("kernel", [kq.Polynomial(2, 1e-3, 1.0), kq.Polynomial(1, 1.0, 1.0)])
    def test_forms_of_a_polynomial_of_low_rank_agree(self, kernel):
        X, y = self.clouds()
        method = kq.SoftMarginSVM(C=0.01, kernel=kernel)
        found = [certified(method, X, y, form=form) for form in IMPLICIT]
        assert kq.compare(found).agree
        assert found[0].value == near(found[1].value, rel=2e-6)

    def test_the_page_at_the_optimum_satisfies_the_kkt_conditions(self):
        X, y = self.clouds()
        for form in ("weights", "coefficients", "dual"):
            f = page(kq.SoftMarginSVM(C=0.01), X, y, form)
            assert kq.check_kkt(f.solve()).holds
