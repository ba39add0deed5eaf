"""Kernels that are no kernels, that overflow, and matrices turned the wrong way round."""

import numpy as np
import pytest

import kernelqp as kq
from tests.cases.runs import certified, every_implicit_run, no_solver

near = pytest.approx
PRE = kq.Precomputed()


class TestIndefinite:
    """A matrix with a negative eigenvalue makes the dual non-convex: refuse it, and say how far."""

    REJECT = (
        ([[1.0, 2.0], [2.0, 1.0]], [1, -1], PRE, -1.0),
        (
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]],
            [1, 1, -1, -1],
            kq.Sigmoid(gamma=1.0, constant=-1.0),
            -0.7864599,
        ),
        (np.diag([1.0, 1.0, -1e-3]), [1, -1, 1], PRE, -1e-3),
        ([[0.0, 1.0], [1.0, 0.0]], [1, -1], PRE, -1.0),
        ([[-1.0, 0.0], [0.0, -1.0]], [1, -1], PRE, -1.0),
    )

    @pytest.mark.parametrize(("X", "y", "kernel", "smallest"), REJECT)
    @pytest.mark.parametrize("kind", [kq.SoftMarginSVM, kq.HardMarginSVM])
    @pytest.mark.parametrize("intercept", ["free", "none", "penalized"])
    @pytest.mark.parametrize("call", ["solve", "primal", "dual"])
    def test_message_holds_the_smallest_eigenvalue(
        self, X, y, kernel, smallest, kind, intercept, call, monkeypatch
    ):
        with no_solver(monkeypatch), pytest.raises(kq.InputError) as error:
            getattr(kind(kernel=kernel, intercept=intercept), call)(X, y)
        message = str(error.value)
        assert "kernel" in message
        assert "semidefinite" in message
        assert f"{smallest:.4g}"[:6] in message

    @pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
    def test_the_unit_of_the_kernel_does_not_matter(self, scale):
        K = scale * np.array([[1.0, 2.0], [2.0, 1.0]])
        with pytest.raises(kq.InputError, match="semidefinite"):
            kq.SoftMarginSVM(kernel=PRE).dual(K, [1, -1])

    @pytest.mark.parametrize("n", [20, 100])
    def test_a_small_negative_eigenvalue_among_many(self, n):
        rng = np.random.default_rng(n)
        vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
        values = np.r_[-1e-6, np.linspace(0.1, 1.0, n - 1)]
        K = (vectors * values) @ vectors.T
        with pytest.raises(
            kq.InputError, match=r"eigenvalue of the kernel matrix is -(1|1\.0\d*|9\.9\d*)e-0[67]"
        ):
            kq.SoftMarginSVM(kernel=PRE).dual(0.5 * (K + K.T), np.resize([1, -1], n))

    @pytest.mark.parametrize("shift", [1e-15, -1e-15, 1e-16])
    @every_implicit_run
    def test_rounding_below_0_passes_in_silence(self, shift, form, solver):
        K = np.array([[1.0, 1.0 + shift], [1.0 + shift, 1.0]])
        method = kq.SoftMarginSVM(C=1.0, kernel=PRE)
        s = certified(method, K, [1, -1], form=form, solver=solver)
        assert s.value == near(2.0, rel=1e-6)
        assert -1.0 - 1e-6 <= s.intercept <= 1.0 + 1e-6
        assert s.intercept_interval == near((-1.0, 1.0), abs=1e-6)

    @every_implicit_run
    def test_a_singular_matrix_is_a_kernel(self, form, solver):
        method = kq.SoftMarginSVM(C=1.0, kernel=PRE)
        s = certified(method, [[4.0, -2.0], [-2.0, 1.0]], [1, -1], form=form, solver=solver)
        assert s.value == near(2 / 9, rel=1e-6)

    def test_rounding_of_a_low_rank_matrix_passes(self):
        F = np.random.default_rng(0).normal(size=(60, 2)) * 300.0
        y = np.where(F[:, 0] + 50.0 * np.sin(np.arange(60)) > 0, 1, -1)
        K = F @ F.T
        assert np.linalg.eigvalsh(K)[0] < 0
        dense = certified(kq.SoftMarginSVM(C=1e-4, kernel=PRE), K, y)
        linear = certified(kq.SoftMarginSVM(C=1e-4), F, y)
        assert dense.value == near(linear.value, rel=2e-6)

    def test_a_matrix_that_is_not_symmetric_is_refused(self):
        with pytest.raises(kq.InputError, match="symmetric"):
            kq.SoftMarginSVM(kernel=PRE).dual([[1.0, 0.2], [0.1, 1.0]], [1, -1])


class TestOverflow:
    """Finite features, a kernel that is not: the message names the kernel, no solver is called."""

    X, y = np.array([[1e20], [2e20], [-1e20]]), [1, 1, -1]

    @pytest.mark.parametrize(
        "kernel",
        [
            kq.Polynomial(degree=20, gamma=1.0, constant=1.0),
            kq.Polynomial(degree=40, gamma=1.0),
            lambda A, B: np.exp(np.abs(A @ B.T)),
        ],
        ids=["poly 20", "poly 40", "callable"],
    )
    @pytest.mark.parametrize("call", ["solve", "primal", "dual"])
    @pytest.mark.parametrize("kind", [kq.SoftMarginSVM, kq.HardMarginSVM])
    def test_message_names_the_kernel(self, kernel, call, kind, monkeypatch):
        X = np.array([[1e20], [2e20], [-9e20]])
        with no_solver(monkeypatch), pytest.raises(kq.InputError) as error:
            getattr(kind(kernel=kernel), call)(X, self.y)
        message = str(error.value)
        assert message.startswith("kernel ")
        assert "finite" in message
        assert not message.startswith("X")

    def test_message_shows_the_degree(self):
        kernel = kq.Polynomial(degree=20, gamma=1.0, constant=1.0)
        with pytest.raises(kq.InputError, match="degree=20"):
            kq.SoftMarginSVM(kernel=kernel).dual(self.X, self.y)

    def test_linear_kernel_overflows_too(self):
        with pytest.raises(kq.InputError, match="kernel"):
            kq.SoftMarginSVM().dual([[1e200], [-1e200]], [1, -1])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    def test_features_that_are_not_finite_name_X_and_the_place(self, bad, kernel, monkeypatch):
        with no_solver(monkeypatch), pytest.raises(kq.InputError, match=r"^X .*row 1, column 0"):
            kq.SoftMarginSVM(kernel=kernel).solve([[1.0], [bad], [2.0]], self.y)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_matrix_that_is_not_finite_names_K(self, bad, monkeypatch):
        with no_solver(monkeypatch), pytest.raises(kq.InputError, match=r"^K "):
            kq.SoftMarginSVM(kernel=PRE).solve([[1.0, bad], [bad, 1.0]], [1, -1])

    def test_new_rows_that_are_not_finite_name_X(self):
        s = certified(kq.SoftMarginSVM(), [[0.0], [1.0]], [0, 1])
        with pytest.raises(kq.InputError, match=r"^X "):
            s.predict([[np.nan]])

    def test_new_rows_that_overflow_name_the_kernel(self):
        method = kq.SoftMarginSVM(kernel=kq.Polynomial(degree=20, gamma=1.0, constant=1.0))
        s = certified(method, [[0.0], [1.0]], [0, 1])
        with pytest.raises(kq.InputError, match="kernel"):
            s.predict([[1e200]])


class TestPrecomputed:
    """K of new rows is (n_test, n_train): transposed, against itself or cut short is an error."""

    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), [-1, -1, 1, 1]
    K = X @ X.T
    new = np.array([[2.0], [5.0]])

    @every_implicit_run
    def test_every_number_of_the_optimum(self, form, solver):
        method = kq.SoftMarginSVM(C=10.0, kernel=PRE)
        s = certified(method, self.K, self.y, form=form, solver=solver)
        assert s.value == near(0.5, rel=1e-6)
        assert s.intercept == near(-2.0, rel=1e-6)
        assert s.decision_function(self.K) == near([-2.0, -1.0, 1.0, 2.0], abs=1e-6)
        assert s.decision_function(self.new @ self.X.T) == near([0.0, 3.0], abs=1e-6)

    @pytest.mark.parametrize(
        "bad",
        [X @ new.T, new @ new.T, new @ X[:3].T, np.zeros((2, 5))],
        ids=["transposed", "itself", "cut", "wide"],
    )
    @pytest.mark.parametrize("call", ["predict", "decision_function"])
    def test_other_shapes_are_refused(self, bad, call):
        s = certified(kq.SoftMarginSVM(C=10.0, kernel=PRE), self.K, self.y)
        with pytest.raises(kq.InputError) as error:
            getattr(s, call)(bad)
        message = str(error.value)
        assert message.startswith("K ")
        assert "(n_test, n_train)" in message
        assert "4" in message

    @pytest.mark.parametrize("bad", [K[:, :3], K[:3], K[:3, :3]])
    @pytest.mark.parametrize("kind", [kq.SoftMarginSVM, kq.HardMarginSVM])
    def test_a_training_matrix_that_does_not_fit_is_refused(self, bad, kind, monkeypatch):
        with no_solver(monkeypatch), pytest.raises(kq.InputError, match=r"^K .*(\(n, n\)|rows)"):
            kind(kernel=PRE).solve(bad, self.y)

    def test_new_rows_keep_the_columns_of_rows_of_weight_0(self):
        """The caller's matrix has a column for each row the caller gave."""
        X = np.r_[self.X, [[100.0]]]
        s = certified(kq.SoftMarginSVM(C=10.0, kernel=PRE), X @ X.T, [*self.y, -1], [1, 1, 1, 1, 0])
        assert s.decision_function(self.new @ X.T) == near([0.0, 3.0], abs=1e-6)
        with pytest.raises(kq.InputError, match="5"):
            s.predict(self.new @ self.X.T)

    def test_explicit_features_are_refused_a_weights_form(self):
        with pytest.raises(kq.InputError, match="weights"):
            kq.SoftMarginSVM(kernel=PRE).primal(self.K, self.y, form="weights")
        s = certified(kq.SoftMarginSVM(kernel=PRE), self.K, self.y)
        with pytest.raises(AttributeError, match="explicit features"):
            _ = s.weights
