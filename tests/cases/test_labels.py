"""What labels may be, what they mean, and what a prediction is."""

import numpy as np
import pandas as pd
import pytest

import kernelqp as kq
from tests.cases.runs import certified, every_run, no_solver

near = pytest.approx
X4 = np.array([[0.0], [1.0], [3.0], [4.0]])


class TestClassOrder:
    """The greater label is positive, whichever row comes first."""

    X = np.array([[3.0], [5.0], [0.0], [1.0]])
    y = np.array(["yes", "yes", "no", "no"])

    @pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 3, 0, 1], [3, 0, 2, 1], [2, 0, 3, 1]])
    @every_run
    def test_text_labels_in_any_order_of_rows(self, order, form, solver):
        method = kq.SoftMarginSVM(C=10.0)
        s = certified(method, self.X[order], self.y[order], form=form, solver=solver)
        assert list(s.classes) == ["no", "yes"]
        assert s.value == near(0.5, rel=1e-6)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.intercept == near(-2.0, rel=1e-6)
        assert s.alpha == near(np.array([0.5, 0.0, 0.0, 0.5])[order], abs=1e-6)
        assert s.decision_function(self.X) == near([1.0, 3.0, -2.0, -1.0], abs=1e-6)
        assert s.predict(self.X).tolist() == self.y.tolist()

    @pytest.mark.parametrize(
        "pair", [("no", "yes"), (0, 1), (-1, 1), (1, 2), (-3.5, 7.25), (False, True), ("1", "2")]
    )
    @pytest.mark.parametrize("form", ["weights", "dual"])
    def test_any_pair_of_labels_is_read_and_given_back(self, pair, form):
        y = np.array([pair[1], pair[1], pair[0], pair[0]])
        s = certified(kq.SoftMarginSVM(C=10.0), self.X, y, form=form)
        assert list(s.classes) == sorted(pair)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.predict(self.X).tolist() == y.tolist()

    def test_text_sorts_as_text(self):
        s = certified(kq.SoftMarginSVM(C=10.0), self.X, ["10", "10", "9", "9"])
        assert list(s.classes) == ["10", "9"]
        assert s.weights == near([-1.0], rel=1e-6)

    def test_categories_of_pandas(self):
        y = pd.Series(self.y, dtype="category")
        s = certified(kq.SoftMarginSVM(C=10.0), pd.DataFrame({"x": self.X.ravel()}), y)
        assert s.weights == near([1.0], rel=1e-6)
        assert list(s.predict(pd.DataFrame({"x": [9.0, -9.0]}))) == ["yes", "no"]

    @pytest.mark.parametrize("method", [kq.HardMarginSVM(), kq.SoftMarginSVM(C=10, slack_power=2)])
    def test_other_methods_share_the_rule(self, method):
        s = certified(method, self.X[::-1], self.y[::-1])
        assert s.predict(self.X).tolist() == self.y.tolist()
        assert s.weights[0] > 0


class TestZeroAndOne:
    """0 as the value of a label in the formula gives w = 0 and f = 1 everywhere."""

    @pytest.mark.parametrize(
        "y",
        [
            [0, 0, 1, 1],
            [False, False, True, True],
            np.array([0, 0, 1, 1], np.uint8),
            [0.0, 0, 1, 1],
        ],
        ids=["int", "bool", "uint8", "float"],
    )
    @every_run
    def test_zero_is_the_negative_class(self, y, form, solver):
        s = certified(kq.SoftMarginSVM(C=10.0), X4, y, form=form, solver=solver)
        assert s.value == near(0.5, rel=1e-6)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.intercept == near(-2.0, rel=1e-6)
        assert s.predict(X4).tolist() == list(y)
        assert list(s.classes) == [0, 1]

    def test_predictions_keep_the_type_of_the_labels(self):
        for y in (np.array([0, 0, 1, 1], np.int8), np.array([False, False, True, True])):
            s = certified(kq.SoftMarginSVM(C=10.0), X4, y)
            assert s.predict(X4).dtype == y.dtype


class TestColumn:
    """A column of labels against a row of predictions would broadcast to an n x n loss."""

    @every_run
    def test_column_is_a_vector(self, form, solver):
        y = np.array([[-1], [-1], [1], [1]])
        s = certified(kq.SoftMarginSVM(C=10.0), X4, y, form=form, solver=solver)
        assert s.value == near(0.5, rel=1e-6)
        assert s.weights == near([1.0], rel=1e-6)
        assert s.intercept == near(-2.0, rel=1e-6)
        assert s.alpha.shape == (4,)
        assert s.predict(X4).shape == (4,)

    def test_column_of_a_frame_and_of_weights(self):
        y = pd.DataFrame({"y": [-1, -1, 1, 1]})
        weights = np.array([[1.0], [2.0], [2.0], [1.0]])
        s = certified(kq.SoftMarginSVM(C=10.0), X4, y, weights)
        assert s.value == near(0.5, rel=1e-6)

    @pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
    def test_loss_on_the_page_has_n_rows(self, form):
        y = np.array([[-1], [-1], [1], [1]])
        method = kq.SoftMarginSVM(C=10.0)
        f = method.dual(X4, y) if form == "dual" else method.primal(X4, y, form=form)
        sizes = {c.shape for name, c in f.constraints.items() if name != "balance"}
        assert sizes == {(4,)}

    @pytest.mark.parametrize("y", [[[-1, -1, 1, 1]], [[-1, 1]] * 4])
    def test_rows_and_tables_are_refused(self, y):
        with pytest.raises(kq.InputError, match=r"\by\b"):
            kq.SoftMarginSVM().solve(X4, y)


class TestNotTwoClasses:
    """One class, one row, three classes and continuous targets end in one clear error."""

    BAD = (
        ([[0.0], [1.0], [2.0]], [1, 1, 1], "1"),
        ([[0.0], [1.0]], [-1, -1], "1"),
        ([[0.0]], [1], "1"),
        ([[0.0], [1.0], [2.0]], ["a", "a", "a"], "1"),
        ([[0.0], [1.0], [2.0]], [0.3, 1.7, 2.2], "3"),
        ([[0.0], [1.0], [2.0]], ["a", "b", "c"], "3"),
        ([[0.0], [1.0]], [True, True], "1"),
    )

    @pytest.mark.parametrize(("X", "y", "count"), BAD)
    @pytest.mark.parametrize("method", [kq.SoftMarginSVM(), kq.HardMarginSVM()])
    @pytest.mark.parametrize("call", ["solve", "primal", "dual"])
    def test_message_names_y_and_counts_the_classes(self, X, y, count, method, call, monkeypatch):
        with no_solver(monkeypatch), pytest.raises(kq.InputError) as error:
            getattr(method, call)(X, y)
        message = str(error.value)
        assert message.startswith("y ")
        assert "two" in message
        assert f"got {count} " in message
        assert isinstance(error.value, ValueError)

    def test_continuous_targets_point_to_regression(self):
        with pytest.raises(kq.InputError, match="regression"):
            kq.SoftMarginSVM().solve([[0.0], [1.0], [2.0]], [0.3, 1.7, 2.2])

    @pytest.mark.parametrize("weights", [[1, 1, 0, 0], [0, 0, 2, 1]])
    def test_a_class_whose_rows_all_have_weight_0_is_no_class(self, weights):
        with pytest.raises(kq.InputError, match="class"):
            kq.SoftMarginSVM().solve(X4, [-1, -1, 1, 1], weights)

    def test_missing_labels_are_no_class(self):
        with pytest.raises(kq.InputError, match=r"^y .*row 1"):
            kq.SoftMarginSVM().solve(X4, [1.0, np.nan, -1.0, 1.0])


class TestTie:
    """f = 0 predicts the smaller class: one of the two, and always the same."""

    @pytest.mark.parametrize("labels", [("a", "b"), (-1, 1), (False, True)])
    @every_run
    def test_queries_at_the_boundary_get_a_class(self, labels, form, solver):
        method = kq.SoftMarginSVM(C=10.0)
        s = certified(method, [[-1.0], [1.0]], list(labels), form=form, solver=solver)
        queries = [[0.0], [-0.0], [1e-300], [-1e-300]]
        f, predicted = s.decision_function(queries), s.predict(queries)
        assert f.shape == (4,)
        assert f == near(np.zeros(4), abs=1e-6)
        assert predicted.tolist() == [labels[int(v > 0)] for v in f]
        assert predicted.tolist() == s.predict(queries).tolist()

    @pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
    def test_exactly_0_is_the_smaller_class(self, form):
        method = kq.SoftMarginSVM(C=10.0, intercept="none")
        s = certified(method, [[-1.0], [1.0]], ["b", "a"], form=form)
        assert s.decision_function([[0.0]]).tolist() == [0.0]
        assert s.predict([[0.0]]).tolist() == ["a"]

    def test_a_query_that_no_row_reaches_is_a_tie(self):
        method = kq.SoftMarginSVM(C=10.0, kernel=kq.RBF(gamma=1.0), intercept="none")
        s = certified(method, [[-1.0], [1.0]], ["a", "b"])
        assert s.decision_function([[1e9]]).tolist() == [0.0]
        assert s.predict([[1e9]]).tolist() == ["a"]

    def test_no_query_is_predicted_as_no_class(self):
        y = np.array([1, -1])
        s = certified(kq.SoftMarginSVM(C=1.0, kernel="precomputed"), np.zeros((2, 2)), y)
        assert set(s.predict(np.zeros((3, 2))).tolist()) <= {-1, 1}
