"""Logistic regression on data as they come: degenerate, in odd formats, at both ends of C."""

from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import kernelqp as kq
from kernelqp.losses import Logistic
from tests.cases.runs import IMPLICIT, certified, every_form, every_implicit_form

near = pytest.approx
RNG = np.random.default_rng(8)
X = RNG.normal(size=(30, 2)) + np.resize([[0.7], [-0.7]], (30, 1))
Y = np.resize([1, -1], 30)
LOG2 = np.log(2.0)
FORMATS = {
    "list": lambda A: A.tolist(),
    "float32": lambda A: A.astype(np.float32),
    "int": lambda A: A.astype(int),
    "frame": lambda A: pd.DataFrame(A, columns=["a", "b"]),
    "sparse": scipy.sparse.csr_array,
    "fortran": np.asfortranarray,
}


class TestFormats:
    """One problem in every container gives one solution."""

    @pytest.mark.parametrize("name", FORMATS)
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_one_solution(self, name, kernel):
        rows = np.round(4 * X)  # whole numbers are exact in every type
        method = kq.LogisticRegression(C=0.5, kernel=kernel)
        plain, s = certified(method, rows, Y), certified(method, FORMATS[name](rows), Y)
        assert s.value == near(plain.value, rel=1e-12)
        found = s.predict_proba(FORMATS[name](rows[:5]))
        assert found == near(plain.predict_proba(rows[:5]), abs=1e-10)

    @pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
    @pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
    def test_large_sparse_features_stay_sparse(self, shape, intercept):
        A = scipy.sparse.random_array(shape, density=0.02, format="csr", rng=RNG)
        y = np.where(A @ RNG.normal(size=shape[1]) + 0.2 * RNG.normal(size=shape[0]) > 0, 1, -1)
        method = kq.LogisticRegression(C=2.0, intercept=intercept)
        s, t = certified(method, A, y), certified(method, A.toarray(), y)
        assert s.value == near(t.value, rel=1e-9)
        assert s.weights == near(t.weights, abs=1e-6)

    def test_a_precomputed_matrix(self):
        kernel = kq.RBF(gamma=0.5)
        s = certified(kq.LogisticRegression(kernel=kernel), X, Y)
        t = certified(kq.LogisticRegression(kernel="precomputed"), kernel(X), Y)
        assert t.value == near(s.value, rel=1e-12)
        assert t.predict_proba(kernel(X[:3], X)) == near(s.predict_proba(X[:3]), abs=1e-10)

    def test_a_column_of_labels_and_of_weights(self):
        s = certified(kq.LogisticRegression(), X, Y[:, None], np.ones((30, 1)))
        assert s.value == near(certified(kq.LogisticRegression(), X, Y).value, rel=1e-12)
        assert s.alpha.shape == (30,)


class TestDegenerate:
    """What has no direction gets no weight, and the intercept gets the log odds."""

    @every_form
    @pytest.mark.parametrize("place", [0.0, 3.0, -1e6])
    def test_one_place_for_all_rows(self, form, place):
        y = np.array([1, 1, 1, -1])
        s = certified(kq.LogisticRegression(C=10.0), np.full((4, 2), place), y, form=form)
        assert s.weights == near([0.0, 0.0], abs=1e-9)
        assert s.predict_proba([[place, place]])[0] == near([0.25, 0.75])
        assert s.value == near(10 * (3 * np.log(4 / 3) + np.log(4)), rel=1e-12)

    @every_implicit_form
    @pytest.mark.parametrize("gamma", ["scale", 1e-300, 1e300])
    def test_a_gamma_that_sees_nothing_or_only_the_row_itself(self, form, gamma):
        method = kq.LogisticRegression(kernel=kq.RBF(gamma=gamma))
        s = certified(method, X, Y, form=form)
        assert np.isfinite(s.predict_log_proba(X)).all()

    @every_form
    def test_opposite_labels_on_every_point(self, form):
        rows = np.repeat(X, 2, axis=0)
        s = certified(kq.LogisticRegression(C=3.0), rows, np.resize([1, -1], 60), form=form)
        assert s.value == near(60 * 3.0 * LOG2, rel=1e-12)
        assert s.weights == near([0.0, 0.0], abs=1e-9)

    @every_form
    def test_a_feature_of_constants_and_a_doubled_one(self, form):
        s = certified(kq.LogisticRegression(C=2.0), X, Y, form=form)
        more = np.c_[X, np.full(30, 7.0)]
        t = certified(kq.LogisticRegression(C=2.0), more, Y, form=form)
        assert t.value == near(s.value, rel=1e-10)
        assert t.weights == near(np.r_[s.weights, 0.0], abs=1e-8)
        split = certified(kq.LogisticRegression(C=2.0), np.c_[X, X] / np.sqrt(2), Y, form=form)
        assert split.value == near(s.value, rel=1e-10)
        assert split.weights[:2] == near(split.weights[2:], abs=1e-8)

    @every_form
    @pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
    def test_two_rows(self, form, intercept):
        method = kq.LogisticRegression(C=1.0, intercept=intercept)
        s = certified(method, [[-1.0], [1.0]], ["a", "b"], form=form)
        assert s.weights == near([0.6748316143], rel=1e-9)
        assert s.intercept == near(0.0, abs=1e-12)
        low, high = s.intercept_interval
        assert low <= s.intercept <= high
        assert high - low < 1e-6


class TestEndsOfC:
    """From no say of the data to no say of the penalty."""

    @pytest.mark.parametrize("C", [1e-300, 1e-9, 1e-6])
    @pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_a_tiny_C_leaves_the_log_odds(self, C, intercept, kernel):
        y = np.where(np.arange(30) % 3 == 0, 1, -1)
        s = certified(kq.LogisticRegression(C, kernel, intercept), X, y)
        share = 1 / 3 if intercept == "free" else 0.5
        assert s.predict_proba(X)[:, 1] == near(share, abs=1e-4)
        entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
        assert s.value == near(C * 30 * entropy, rel=1e-3)

    @pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
    @pytest.mark.parametrize("form", IMPLICIT)
    def test_a_huge_C_on_separable_rows_grows_as_a_logarithm(self, C, form):
        kernel = kq.RBF(gamma=1.0)
        s = certified(kq.LogisticRegression(C, kernel), X, Y, form=form)
        assert (s.predict(X) == Y).all()
        hard = kq.HardMarginSVM(kernel=kernel).solve(X, Y)
        margins = Y * s.decision_function(X)
        assert margins.min() < np.log(C) + 5
        # no f of margins m is shorter than m times the hard margin's
        assert s.value >= margins.min() ** 2 * hard.value * (1 - 1e-6)

    @pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
    def test_the_entropy_keeps_its_figures_where_c_is_large(self, C):
        """c − α rounds what log((c − α)/c) is made of; c times that was an error of 1e-4."""
        alpha = np.array([1e-3, 1.0, 10.0, 0.3 * C, C - 7.0])
        found = Logistic().dual_value(np.ones(5), np.full(5, C), alpha)
        with localcontext() as context:
            context.prec = 60
            c = Decimal(C)
            for a, value in zip(map(Decimal, alpha.tolist()), found, strict=True):
                exact = -a * (a / c).ln() - (c - a) * ((c - a) / c).ln()
                assert value == near(float(exact), rel=1e-14)
