import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from kernelqp.data import (
    classification_data,
    decode,
    read_features,
    read_labels,
    read_new_features,
    read_targets,
    read_weights,
    regression_data,
)
from kernelqp.errors import DataError, ParameterError

X = [[0.0, 7.0], [1.0, 5.0], [3.0, 2.0], [4.0, 9.0]]
WANTED = np.array(X)


def read_only(A):
    A = np.array(A)
    A.setflags(write=False)
    return A


FORMS = {
    "list": X,
    "tuple": tuple(map(tuple, X)),
    **{d: np.array(X, dtype=d) for d in ("uint8", "int16", "int64", "float16", "float32")},
    "longdouble": np.array(X, dtype=np.longdouble),
    "object": np.array(X, dtype=object),
    "fortran": np.asfortranarray(X),
    "read only": read_only(X),
    "every second row": np.repeat(X, 2, axis=0)[::2],
    "reversed view": np.array(X[::-1])[::-1],
    "DataFrame": pd.DataFrame(X, index=[9, 9, 1, 0]),
    "nullable": pd.DataFrame(X).astype("Int64"),
    "mixed frame": pd.DataFrame({"a": [0, 1, 3, 4], "b": [7.0, 5.0, 2.0, 9.0]}),
    "csr": scipy.sparse.csr_matrix(X),
    "coo array": scipy.sparse.coo_array(X),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_X_gives_the_same_new_contiguous_matrix(form):
    before = copy.deepcopy(FORMS[form])
    values, _ = read_features(FORMS[form])
    assert_array_equal(values, WANTED)
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    assert values.flags.owndata
    values[:] = -1.0
    left, right = (
        A.toarray() if scipy.sparse.issparse(A) else np.asarray(A) for A in (FORMS[form], before)
    )
    assert_array_equal(left, right)


def test_booleans_and_uint8_do_not_wrap():
    assert read_features(np.array([[True], [False]]))[0].tolist() == [[1.0], [0.0]]
    assert read_features(np.array([[200]], dtype=np.uint8))[0].item() == 200.0


def test_column_names_come_from_a_frame_with_text_names():
    assert read_features(pd.DataFrame({"a": [1], "b": [2]}))[1] == ("a", "b")
    assert read_features(pd.DataFrame([[1, 2]]))[1] is None
    assert read_features(X)[1] is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1, 2, 3, 4, 5], ["(5,)", "reshape(-1, 1)"]),
        (3.0, ["2-D", "()"]),
        (np.ones((2, 2, 2)), ["(2, 2, 2)"]),
        (np.empty((0, 3)), ["empty", "(0, 3)"]),
        ([[], []], ["empty", "(2, 0)"]),
        ([[1, 2], [3]], ["rectangular"]),
        ([["1", "2"]], ["real numbers", "<U1"]),
        (pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), ["real numbers", "text"]),
        (np.array([["1", 2]], dtype=object), ["text"]),
        ([[1 + 2j]], ["complex"]),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), ["datetime64"]),
        (np.array([[object()]]), ["real numbers"]),
        (np.array([[10**400]], dtype=object), ["real numbers"]),
        (pd.DataFrame({"a": [1, None]}, dtype="Int64"), ["X must"]),
        ([[1.0, 2.0], [3.0, np.nan]], ["nan", "row 1, column 1"]),
        ([[1.0, -np.inf], [np.nan, 1.0]], ["-inf", "row 0, column 1"]),
        ([[1.0, None]], ["nan", "row 0, column 1"]),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), ["masked"]),
        (scipy.sparse.csr_matrix([[0.0, np.inf]]), ["inf", "row 0, column 1"]),
    ],
)
def test_a_bad_X_is_named_with_what_came(bad, words):
    with pytest.raises(DataError, match=r"^X ") as caught:
        read_features(bad)
    for word in words:
        assert word in str(caught.value)


def test_new_features_must_be_those_of_the_fit():
    with pytest.raises(DataError, match="X has 2 features, the model was fitted on 3"):
        read_new_features(X, 3)
    frame = pd.DataFrame(X, columns=["b", "a"])
    with pytest.raises(DataError, match="same order"):
        read_new_features(frame, 2, ("a", "b"))
    assert_array_equal(read_new_features(frame, 2, ("b", "a")), WANTED)
    assert_array_equal(read_new_features(X, 2, ("a", "b")), WANTED)


LABELS = [
    ([0, 0, 1, 1], [0, 1]),
    ([False, False, True, True], [False, True]),
    ([-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0]),
    ([7.5, 7.5, 11.25, 11.25], [7.5, 11.25]),
    (["ham", "ham", "spam", "spam"], ["ham", "spam"]),
    ([[0], [0], [1], [1]], [0, 1]),
    (np.array([2, 2, 5, 5], dtype=np.int8), [2, 5]),
    (np.array([0, 0, 200, 200], dtype=np.uint8), [0, 200]),
    (np.array(["a", "a", "b", "b"], dtype=object), ["a", "b"]),
    (np.array([3, 3, 4, 4], dtype=object), [3, 4]),
    (pd.Series(["n", "n", "y", "y"], index=[5, 5, 5, 5]), ["n", "y"]),
    (pd.Series([1, 1, 2, 2], dtype="Int64"), [1, 2]),
    (pd.Series(["u", "u", "v", "v"], dtype="category"), ["u", "v"]),
    (pd.Categorical([0, 0, 9, 9]), [0, 9]),
    (pd.DataFrame({"t": [0, 0, 1, 1]}), [0, 1]),
    (read_only([1, 1, 2, 2]), [1, 2]),
    (scipy.sparse.csr_matrix([[0], [0], [1], [1]]), [0, 1]),
]


@pytest.mark.parametrize(("y", "classes"), LABELS)
def test_the_greater_of_any_two_labels_is_plus_one(y, classes):
    labels = read_labels(y)
    assert labels.classes.tolist() == classes
    assert_array_equal(labels.signs, [-1.0, -1.0, 1.0, 1.0])
    decoded = labels.decode(np.array([-0.5, 0.0, 1e-300, 2.0]))
    assert decoded.tolist() == [classes[0], classes[0], classes[1], classes[1]]
    assert decoded.dtype == labels.classes.dtype


def test_the_classes_keep_their_dtype():
    assert read_labels(np.array([2, 5], dtype=np.int8)).classes.dtype == np.int8
    assert read_labels([True, False]).classes.dtype == bool
    assert read_labels(["a", "b"]).classes.dtype.kind == "U"
    assert decode(np.array([1.0]), np.array([False, True])).dtype == bool


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1, 1, 1], ["two classes", "got 1 (1)", "3 rows", "two are needed"]),
        (["a", "a"], ["got 1 ('a')"]),
        ([1], ["got 1", "1 row:"]),
        ([0, 1, 2], ["got 3 (0, 1, 2)", "one problem for every class"]),
        (list("abcdef"), ["got 6", "...", "one problem for every class"]),
        ([0.3, 1.7, 2.2], ["got 3", "regression"]),
        ([], ["empty"]),
        (3, ["shape ()"]),
        ([[0, 1], [1, 0]], ["(n, 1)", "(2, 2)"]),
        ([0, 1, None], ["missing", "row 2"]),
        ([0.0, np.nan, 1.0], ["missing", "row 1"]),
        (np.array([0.0, np.nan, 1.0]), ["nan", "row 1"]),
        ([0.0, np.inf, 1.0], ["inf", "row 1"]),
        (np.array(["a", np.nan, "b"], dtype=object), ["missing", "row 1"]),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), ["row 1"]),
        (np.array([1, pd.NA, 2], dtype=object), ["missing", "row 1"]),
        (pd.Series(["a", None, "b"], dtype="category"), ["missing", "row 1"]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), ["row 1"]),
        ([1, "a"], ["mixes"]),
        ([True, "a", True], ["mixes"]),
        ([b"a", "b"], ["mixes"]),
        ([b"a", 1], ["mixes"]),
        ([object(), object()], ["sorted"]),
        ([[1, 2], [3]], ["rectangular"]),
    ],
)
def test_a_bad_y_is_named_with_what_came(bad, words):
    with pytest.raises(DataError, match=r"^y ") as caught:
        read_labels(bad)
    for word in words:
        assert word in str(caught.value)


def test_targets_are_flattened_and_must_be_finite_numbers():
    assert read_targets([[1], [2]]).tolist() == [1.0, 2.0]
    assert read_targets(np.array([True, False])).tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="y must be finite; got nan at row 1"):
        read_targets([1.0, np.nan])
    for bad in (["1", "2"], [1, "a"], [[1, 2]], [1j], []):
        with pytest.raises(DataError, match=r"^y "):
            read_targets(bad)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0, -0.5, 1.0, 1.0], ["negative", "-0.5", "row 1", "use 0"]),
        ([-1.0, -1.0, 1.0, 1.0], ["negative", "row 0"]),
        ([1.0, np.nan, 1.0, 1.0], ["nan", "row 1"]),
        ([1.0, 1.0, np.inf, 1.0], ["inf", "row 2"]),
        ([1.0, 1.0, 1.0], ["(4,)", "(3,)"]),
        (2.0, ["(4,)", "()"]),
        ([[1.0, 1.0]] * 4, ["(4, 2)"]),
        ([0, 0, 0, 0], ["every row"]),
        (["1", "1", "1", "1"], ["real numbers"]),
    ],
)
def test_a_bad_sample_weight_is_named_with_the_first_bad_row(bad, words):
    for build in (classification_data, regression_data):
        with pytest.raises(DataError, match=r"^sample_weight ") as caught:
            build(X, [0, 0, 1, 1], bad)
        for word in words:
            assert word in str(caught.value)


def test_weights_may_be_a_column_a_series_or_absent():
    assert read_weights(None, 2).tolist() == [1.0, 1.0]
    assert read_weights([[1], [2]], 2).tolist() == [1.0, 2.0]
    assert read_weights(pd.Series([1, 2], index=[7, 7]), 2).tolist() == [1.0, 2.0]


def test_class_weights_multiply_and_are_keyed_on_original_labels():
    y = ["n", "n", "y", "y"]
    assert classification_data(X, y, [1, 2, 3, 4], {"y": 10}).weights.tolist() == [1, 2, 30, 40]
    assert classification_data(X, [0, 0, 1, 1], None, {0: 0.5, 1: 2.0}).weights.tolist() == [
        0.5,
        0.5,
        2.0,
        2.0,
    ]


def test_balanced_counts_sample_weights_so_that_weights_are_repetitions():
    weights = classification_data(X, [0, 0, 0, 1], [1, 2, 1, 4], "balanced").weights
    assert weights[:3].sum() == weights[3] == 4.0
    repeated = classification_data(np.repeat(X, [1, 2, 1, 4], axis=0), [0] * 4 + [1] * 4)
    assert repeated.weights.sum() == weights.sum()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({2: 1.0}, ["2", "[0, 1]"]),
        ({"0": 1.0}, ["'0'"]),
        ({0: 0.0}, ["class_weight[0]", "> 0"]),
        ({1: -1.0}, ["class_weight[1]", "-1.0"]),
        ({1: np.nan}, ["nan"]),
        ({1: np.inf}, ["inf"]),
        ({1: "2"}, ["'2'"]),
        ("even", ["'balanced'", "'even'"]),
        (2.0, ["2.0"]),
        ([1.0, 2.0], ["dict"]),
    ],
)
def test_a_bad_class_weight_is_named(bad, words):
    with pytest.raises(ParameterError, match=r"^class_weight") as caught:
        classification_data(X, [0, 0, 1, 1], class_weight=bad)
    for word in words:
        assert word in str(caught.value)


def test_rows_of_weight_zero_leave_but_keep_their_numbers():
    data = classification_data(X, list("aabb"), [1, 0, 2, 0])
    assert_array_equal(data.X, WANTED[[0, 2]])
    assert data.rows.tolist() == [0, 2]
    assert data.n == 4
    assert data.targets.tolist() == [-1.0, 1.0]
    assert data.scatter(np.array([5.0, 6.0])).tolist() == [5.0, 0.0, 6.0, 0.0]
    assert_array_equal(data.scatter(data.weights, fill=np.nan), [1.0, np.nan, 2.0, np.nan])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_class_of_weight_zero_is_refused(class_weight):
    with pytest.raises(DataError, match="sample_weight is 0 on all of class 'b'"):
        classification_data(X, list("aabb"), [1, 2, 0, 0], class_weight)


def test_lengths_are_compared_in_the_words_of_the_caller():
    with pytest.raises(DataError, match="X has 4 rows, y has 3"):
        classification_data(X, [0, 1, 1])
    with pytest.raises(DataError, match="X has 4 rows, y has 5"):
        regression_data(X, [0, 1, 1, 2, 3])
    with pytest.raises(DataError, match="K has 2 rows, y has 3"):
        regression_data(np.eye(2), [0, 1, 1], square=True)


def test_a_precomputed_kernel_loses_rows_and_columns():
    K = np.arange(16.0).reshape(4, 4)
    data = regression_data(K, [1, 2, 3, 4], [1, 0, 1, 1], square=True)
    assert_array_equal(data.X, K[np.ix_([0, 2, 3], [0, 2, 3])])
    assert data.X.flags.c_contiguous
    with pytest.raises(DataError, match=r"K .*\(n, n\); got \(2, 3\)"):
        classification_data(np.ones((2, 3)), [0, 1], square=True)
    with pytest.raises(DataError, match="K must be finite; got nan at row 0, column 1"):
        classification_data([[1, np.nan], [np.nan, 1]], [0, 1], square=True)


def test_precision_is_that_of_a_precomputed_matrix_only():
    K = np.eye(2, dtype=np.float32)
    eps = np.finfo(np.float32).eps
    assert regression_data(K, [1, 2], square=True).precision == eps
    assert regression_data(pd.DataFrame(K), [1, 2], square=True).precision == eps
    assert regression_data(K, [1, 2]).precision == np.finfo(float).eps
    assert regression_data([[1, 0], [0, 1]], [1, 2], square=True).precision == np.finfo(float).eps


def test_data_is_read_only_and_independent_of_the_caller():
    features, targets, weights = np.array(X), np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
    data = regression_data(features, targets, weights)
    for array in (features, targets, weights):
        assert array.flags.writeable
        array[:] = 99.0
    assert_array_equal(data.X, WANTED)
    assert data.targets.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert data.weights.tolist() == [1.0] * 4
    for array in (data.X, data.targets, data.weights, data.rows):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_names_classes_and_positions_come_along():
    frame = pd.DataFrame(X, columns=["u", "v"], index=[3, 1, 2, 0])
    series = pd.Series([0, 1, 0, 1], index=[0, 1, 2, 3])
    data = classification_data(frame, series)
    assert data.feature_names == ("u", "v")
    assert data.classes is not None
    assert data.targets.tolist() == [-1.0, 1.0, -1.0, 1.0]  # by position, not by index label
    assert regression_data(X, [1, 2, 3, 4]).classes is None
