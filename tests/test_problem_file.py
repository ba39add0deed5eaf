"""The format: every source of data, every complaint with file, key and remedy."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn import datasets

import kernelqp as kq
from kernelqp.errors import InputError, ProblemFileError
from kernelqp.kernels import RBF, Precomputed
from kernelqp.problem_file import load_problem
from kernelqp.problem_file.data import standardize

DATA = "[data]\nX = [[0, 0], [2, 2], [2, 0], [3, 0]]\ny = [-1, -1, 1, 1]\n"
METHOD = '[method]\nname = "HardMarginSVM"\n'
SOFT = '[method]\nname = "SoftMarginSVM"\n'


@pytest.fixture
def load(tmp_path):
    """Write a problem file and read it."""

    def write_and_load(text):
        path = tmp_path / "problem.toml"
        path.write_text(text, encoding="utf-8")
        return load_problem(path)

    return write_and_load


# --- what a file says ---------------------------------------------------------------------------


def test_a_problem_holds_what_the_file_states(load):
    problem = load('title = "T"\nsource = "S"\n' + DATA + METHOD + "[expected]\nvalue = 1\n")
    assert (problem.title, problem.source, problem.name, problem.n) == ("T", "S", "problem", 4)
    assert problem.X.tolist() == [[0, 0], [2, 2], [2, 0], [3, 0]]
    assert problem.y.tolist() == [-1, -1, 1, 1]
    assert problem.sample_weight is None
    assert dict(problem.expected) == {"value": 1}
    assert repr(problem) == "<Problem problem: HardMarginSVM, n = 4>"


def test_title_defaults_to_the_name_and_nothing_need_be_expected(load):
    problem = load(DATA + METHOD)
    assert (problem.title, problem.source, dict(problem.expected)) == ("problem", "", {})
    assert problem.check(problem.solve()) == {}


def test_a_problem_cannot_be_changed(load):
    problem = load(DATA + METHOD + "[expected]\nvalue = 1\n")
    with pytest.raises(AttributeError):
        problem.title = "other"
    with pytest.raises(ValueError, match="read-only"):
        problem.X[0, 0] = 5
    with pytest.raises(TypeError):
        problem.expected["value"] = 2


def test_both_forms_and_solve_reach_the_same_value(load):
    problem = load(DATA + METHOD + "[expected]\nvalue = 1\nalpha = [0.5, 0.5, 1, 0]\n")
    assert problem.primal().side == "primal"
    assert "beta" in problem.primal("coefficients").variables
    assert problem.dual().side == "dual"
    for form in ("auto", "primal", "dual", "coefficients"):
        checks = problem.check(problem.solve(form=form, solver="CLARABEL", tol=1e-8))
        assert all(check.ok for check in checks.values()), (form, checks)


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [('"rbf"', RBF()), ('{ name = "rbf", gamma = 0.03 }', RBF(gamma=0.03))],
)
def test_a_kernel_is_a_name_or_a_table(load, kernel, wanted):
    assert load(DATA + SOFT + f"kernel = {kernel}\n").method.kernel == wanted


class Own(kq.SoftMarginSVM):
    """A method with an algorithm of its own, as Pegasos has."""

    def solve(self, *data, **options):
        if self.C == 2.0:
            raise InputError("C = 2 is out of range")
        return "by its own", len(data), options["solver"]


def test_a_method_with_an_algorithm_of_its_own_runs_it():
    four = load_problem("four_points")
    own = replace(four, method=Own())
    assert own.solve(solver="native") == ("by its own", 3, "native")
    assert own.solve(form="dual").value == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(ProblemFileError, match=r"four_points\.toml: C = 2 is out of range"):
        replace(four, method=Own(C=2)).solve()


def test_parameters_go_to_the_method(load):
    method = load(DATA + SOFT + 'C = 3\nslack_power = 2\nintercept = "none"\n').method
    assert (method.C, method.slack_power, method.intercept) == (3.0, 2, "none")


def test_class_weights_are_keyed_by_the_labels_as_spelt(load):
    method = load(DATA + SOFT + 'class_weight = { "1" = 2.5, "-1" = 0.5 }\n').method
    assert method.class_weight == {1: 2.5, -1: 0.5}
    assert load(DATA + SOFT + 'class_weight = "balanced"\n').method.class_weight == "balanced"
    floats = DATA.replace("[-1, -1, 1, 1]", "[-1.0, -1.0, 0.5, 0.5]")
    method = load(floats + SOFT + 'class_weight = { "-1" = 2, "0.5" = 3 }\n').method
    assert method.class_weight == {-1.0: 2, 0.5: 3}
    with pytest.raises(ProblemFileError, match=r"'2' is no label.*Known: -1, 1"):
        load(DATA + SOFT + 'class_weight = { "2" = 2.5 }\n')


def test_labels_may_be_texts(load):
    problem = load('[data]\nX = [[0], [2]]\ny = ["no", "yes"]\n' + METHOD)
    assert problem.solve().predict([[3]]).tolist() == ["yes"]


def test_a_precomputed_kernel_keeps_rows_and_columns_together(load):
    problem = load(
        "[data]\nX = [[1, 9, 0], [9, 9, 9], [0, 9, 1]]\ny = [0, 1, 2]\npositive = [2]\n"
        'negative = [0]\n[method]\nname = "HardMarginSVM"\nkernel = "precomputed"\n'
    )
    assert problem.method.kernel == Precomputed()
    assert problem.X.tolist() == [[1, 0], [0, 1]]


# --- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "breast_cancer", "diabetes"])
def test_sklearn_sets_are_read_as_scikit_learn_gives_them(load, name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    problem = load(f'[data]\nsklearn = "{name}"\n' + METHOD)
    assert np.array_equal(problem.X, X)
    assert np.array_equal(problem.y, y)


def test_a_generator_is_scikit_learns(load):
    X, y = datasets.make_moons(n_samples=30, noise=0.1, random_state=3)
    problem = load(
        '[data]\ngenerator = { name = "make_moons", n_samples = 30, noise = 0.1, '
        "random_state = 3 }\n" + METHOD
    )
    assert np.array_equal(problem.X, X)
    assert np.array_equal(problem.y, y)


def test_a_generator_takes_two_sizes(load):
    table = '{ name = "make_circles", n_samples = [4, 6], random_state = 0 }'
    problem = load(f"[data]\ngenerator = {table}\n" + METHOD)
    assert np.bincount(problem.y).tolist() == [4, 6]


def test_csv_is_relative_to_the_file_and_names_its_target(load, tmp_path):
    (tmp_path / "x.csv").write_text('a,y,"b"\n1,spam,2\n3,ham,4\n\n')
    problem = load('[data]\npath = "x.csv"\ntarget = "y"\n' + METHOD)
    assert problem.X.tolist() == [[1, 2], [3, 4]]
    assert problem.y.tolist() == ["spam", "ham"]


def test_csv_weights_may_be_a_column(load, tmp_path):
    (tmp_path / "x.csv").write_text("a,y,w\n1,0,2\n3,1,0.5\n")
    problem = load('[data]\npath = "x.csv"\ntarget = "y"\nsample_weight = "w"\n' + METHOD)
    assert problem.X.tolist() == [[1], [3]]
    assert problem.y.tolist() == [0, 1]
    assert problem.sample_weight.tolist() == [2, 0.5]


def test_svmlight_is_read_dense(load, tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:0.5 3:2 # comment\n-1 2:1\n")
    problem = load('[data]\npath = "a.svm"\nformat = "svmlight"\n' + METHOD)
    assert problem.X.tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert problem.y.tolist() == [1, -1]


def test_sample_weights_count_as_repeated_rows(load):
    rows = "[data]\nX = [[0], [1], [2], [1.5]]\ny = [0, 0, 1, 0]\n"
    twice = "[data]\nX = [[0], [1], [2], [1.5], [1.5]]\ny = [0, 0, 1, 0, 0]\n"
    weighted = load(rows + "sample_weight = [1, 1, 1, 2]\n" + SOFT).solve()
    assert weighted.value == pytest.approx(load(twice + SOFT).solve().value, rel=1e-6)


# --- what happens to the rows ---------------------------------------------------------------------


def test_standardize_uses_the_n_deviation_and_1_for_a_constant(load):
    data = "[data]\nX = [[1, 0.1], [3, 0.1], [8, 0.1]]\ny = [0, 1, 1]\nstandardize = true\n"
    X = load(data + METHOD).X
    assert X[:, 0] == pytest.approx((np.array([1, 3, 8]) - 4) / np.sqrt(26 / 3))
    assert X[:, 1].tolist() == [0, 0, 0]
    assert np.array_equal(X, standardize(np.array([[1, 0.1], [3, 0.1], [8, 0.1]])))


SIDES = "[data]\nX = [[0], [1], [2], [3]]\ny = [5, 6, 7, 5]\nsample_weight = [1, 2, 3, 4]\n"


@pytest.mark.parametrize(
    ("positive", "negative", "rows", "y"),
    [
        ([7], [5], [0, 2, 3], [5, 7, 5]),  # labels stay: 7 > 5
        ([5], [7], [0, 2, 3], [1, -1, 1]),  # 5 would be the smaller one
        ([5, 7], [6], [0, 1, 2, 3], [1, -1, 1, 1]),
        ([7], None, [0, 1, 2, 3], [-1, -1, 1, -1]),  # against the rest
        (None, [5, 6], [0, 1, 2, 3], [-1, -1, 1, -1]),
    ],
)
def test_two_sides_drop_the_other_rows(load, positive, negative, rows, y):
    sides = "".join(
        f"{name} = {labels}\n"
        for name, labels in (("positive", positive), ("negative", negative))
        if labels
    )
    problem = load(SIDES + sides + METHOD)
    assert problem.X.ravel().tolist() == rows
    assert problem.y.tolist() == y
    assert problem.sample_weight.tolist() == [row + 1 for row in rows]


def test_only_the_rows_that_stay_are_standardised(load):
    problem = load(SIDES + "positive = [7]\nnegative = [6]\nstandardize = true\n" + METHOD)
    assert problem.X.ravel().tolist() == [-1, 1]


def test_sides_may_use_the_names_of_a_sklearn_set(load):
    sides = 'positive = ["virginica"]\nnegative = ["setosa"]\n'
    problem = load('[data]\nsklearn = "iris"\n' + sides + METHOD)
    assert sorted(set(problem.y.tolist())) == [0, 2]


# --- complaints -----------------------------------------------------------------------------------

COMPLAINTS = {
    "empty": ("", "is empty: it needs \\[data\\].*\\[method\\]"),
    "not TOML": ("title = \n", "is not TOML.*line 1"),
    "no data": (METHOD, "lacks data, a table: add .*X = "),
    "no method": (DATA, "lacks method, a table: add .*HardMarginSVM"),
    "data no table": ("data = 3\n" + METHOD, "data must be a table; got 3"),
    "unknown section": (DATA + METHOD + "[expect]\n", "'expect': did you mean 'expected'"),
    "unknown key": (
        DATA + "standardise = true\n" + METHOD,
        "\\[data\\] has the unknown key 'standardise': did you mean 'standardize'",
    ),
    "title": ("title = 3\n" + DATA + METHOD, "title must be a text; got 3"),
    "no source": ("[data]\ny = [1]\n" + METHOD, "has no source of rows: give X and y"),
    "two sources": (
        DATA + 'sklearn = "iris"\n' + METHOD,
        "has two sources, X and sklearn: give only one",
    ),
    "foreign key": (DATA + 'target = "y"\n' + METHOD, "has target, which does not go with X"),
    "no y": ("[data]\nX = [[1]]\n" + METHOD, "lacks y, a list: add .*y = "),
    "X empty": ("[data]\nX = []\ny = []\n" + METHOD, "X is empty: give"),
    "X flat": ("[data]\nX = [1, 2]\ny = [0, 1]\n" + METHOD, "X must be a list of rows; got 1"),
    "X ragged": ("[data]\nX = [[1], [1, 2]]\ny = [0, 1]\n" + METHOD, "X has 2 numbers in row 1"),
    "X text": ('[data]\nX = [["a"], ["b"]]\ny = [0, 1]\n' + METHOD, "X must hold real numbers"),
    "X nan": (
        "[data]\nX = [[1], [nan]]\ny = [0, 1]\n" + METHOD,
        "\\[data\\] X must be finite; got nan at row 1, column 0: drop",
    ),
    "y nan": ("[data]\nX = [[1], [2]]\ny = [0.0, nan]\n" + METHOD, "y must be finite; got nan"),
    "y mixed": ('[data]\nX = [[1], [2]]\ny = [0, "a"]\n' + METHOD, "y must be a list of numbers"),
    "lengths": ("[data]\nX = [[1], [2]]\ny = [0]\n" + METHOD, "X has 2 rows, y has 1"),
    "weights length": (DATA + "sample_weight = [1]\n" + METHOD, "sample_weight must have shape"),
    "weights negative": (
        DATA + "sample_weight = [1, 1, 1, -1]\n" + METHOD,
        "sample_weight must not be negative",
    ),
    "weights text": (
        DATA + 'sample_weight = ["a", 1, 1, 1]\n' + METHOD,
        "sample_weight must be a list of finite numbers",
    ),
    "standardize": (DATA + 'standardize = "yes"\n' + METHOD, "standardize must be true or false"),
    "standardize K": (
        "[data]\nX = [[1, 0], [0, 1]]\ny = [0, 1]\nstandardize = true\n"
        + METHOD
        + 'kernel = "precomputed"\n',
        "standardize does not apply to a kernel matrix: remove it",
    ),
    "positive unknown": (
        DATA + "positive = [2]\nnegative = [-1]\n" + METHOD,
        "positive has 2, and no row has that label: use -1, 1",
    ),
    "positive empty": (DATA + "positive = []\n" + METHOD, "positive is empty: list the labels"),
    "sides overlap": (
        DATA + "positive = [1]\nnegative = [1]\n" + METHOD,
        "label 1 on both sides: give disjoint",
    ),
    "one side": (DATA + "positive = [1, -1]\n" + METHOD, "every label on one side: give disjoint"),
    "set": ('[data]\nsklearn = "irsi"\n' + METHOD, "sklearn = 'irsi' is unknown.*'iris'.*wine"),
    "generator": (
        '[data]\ngenerator = { name = "make_moon" }\n' + METHOD,
        "name = 'make_moon' is unknown: did you mean 'make_moons'",
    ),
    "generator seed": (
        '[data]\ngenerator = { name = "make_moons" }\n' + METHOD,
        "generator lacks random_state.*add one",
    ),
    "generator key": (
        '[data]\ngenerator = { name = "make_moons", nois = 1, random_state = 0 }\n' + METHOD,
        "unknown key 'nois': did you mean 'noise'",
    ),
    "generator value": (
        '[data]\ngenerator = { name = "make_moons", n_samples = -1, random_state = 0 }\n' + METHOD,
        "cannot run make_moons: .*n_samples",
    ),
    "no file": ('[data]\npath = "no.csv"\ntarget = "y"\n' + METHOD, "there is no file .*no.csv"),
    "format": ('[data]\npath = "a"\nformat = "svm"\n' + METHOD, "'svm' is unknown.*svmlight"),
    "method": (DATA + '[method]\nname = "SoftMarginSVC"\n', "did you mean 'SoftMarginSVM'"),
    "method no name": (DATA + "[method]\nC = 1\n", "\\[method\\] lacks name, a text: add"),
    "parameter": (DATA + SOFT + "c = 1\n", "unknown key 'c': did you mean 'C'"),
    "parameter value": (DATA + SOFT + "C = -1\n", "\\[method\\] C must be a finite number > 0"),
    "parameter type": (DATA + SOFT + 'C = "1"\n', "C must be a number; got '1'"),
    "kernel": (DATA + SOFT + 'kernel = "rfb"\n', "'rfb' is unknown: did you mean 'rbf'"),
    "kernel key": (
        DATA + SOFT + 'kernel = { name = "rbf", gama = 1 }\n',
        "\\[method\\] kernel 'rbf' has no parameter 'gama'",
    ),
    "expected key": (DATA + METHOD + "[expected]\nvalu = 1\n", "'valu': did you mean 'value'"),
    "expected value": (
        DATA + METHOD + "[expected]\nvalue = nan\n",
        "value must be a finite number",
    ),
    "expected alpha": (
        DATA + METHOD + "[expected]\nalpha = [1]\n",
        "alpha must be a list of finite numbers of length 4",
    ),
    "expected rows": (
        DATA + METHOD + "[expected]\nsupport_vectors = [4]\n",
        "support_vectors must be a list of rows between 0 and 3, or a count",
    ),
    "expected count": (DATA + METHOD + "[expected]\nn_support = 5\n", "a count between 0 and 4"),
    "expected interval": (
        DATA + METHOD + "[expected]\nintercept_interval = [1, 0]\n",
        "intercept_interval must be two numbers \\[low, high\\]",
    ),
    "expected status": (
        DATA + METHOD + '[expected]\nstatus = "CERTIFED"\n',
        "status must be a status \\(did you mean 'CERTIFIED'",
    ),
    "tolerance": (DATA + METHOD + "[expected]\ntolerance = 0\n", "a number between 0 and 1"),
    "expected no table": ("expected = 3\n" + DATA + METHOD, "expected must be a table; got 3"),
}


@pytest.mark.parametrize("what", COMPLAINTS)
def test_a_complaint_names_file_key_and_remedy(load, what):
    text, wanted = COMPLAINTS[what]
    with pytest.raises(ProblemFileError, match=wanted) as caught:
        load(text)
    assert re.match(r".*problem\.toml", str(caught.value))
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("text", "key", "wanted"),
    [
        ("a,y\n", 'target = "y"', "needs a header line and at least one row"),
        ("a,y\n1,0\n2\n", 'target = "y"', "row 2 has 1 cells, the header has 2"),
        ("a,a,y\n1,2,0\n", 'target = "y"', "3 names, 2 of them different"),
        ("a,yy\n1,0\n", 'target = "y"', "target = 'y' is no column of .*did you mean 'yy'"),
        ("a,y\n1,0\n", "", 'lacks target, a text: add .*target = "y", or format = "svmlight"'),
        ("y\n0\n1\n", 'target = "y"', "no column beside the target"),
        ("a,y\n1,0\nx,1\n", 'target = "y"', "column 'a': could not convert"),
        ("a,y\n1,0\nnan,1\n", 'target = "y"', "path = 'x.csv': X must be finite; got nan at row 1"),
        ("a,y\n1,0\n", 'target = "y"\nsample_weight = "w"', "sample_weight = 'w' is no column"),
        ("a,y\n1,0\n", 'format = "svmlight"', "is not svmlight"),
        ("1 1:1\n", 'format = "svmlight"\ntarget = "y"', "svmlight puts it first.*remove"),
    ],
)
def test_a_bad_file_of_numbers_is_named(load, tmp_path, text, key, wanted):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ProblemFileError, match=f"(?s)problem.toml.*{wanted}"):
        load(f'[data]\npath = "x.csv"\n{key}\n' + METHOD)


def test_a_binary_file_of_numbers_is_named(load, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemFileError, match="cannot be read as csv"):
        load('[data]\npath = "x.csv"\ntarget = "y"\n' + METHOD)


def test_a_file_that_is_not_text_is_named(tmp_path):
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemFileError, match=r"p\.toml is not UTF-8 text.*save it as UTF-8"):
        load_problem(tmp_path / "p.toml")


@pytest.mark.parametrize("form", ["auto", "primal", "dual"])
def test_data_that_do_not_fit_the_method_are_blamed_on_the_file(load, form):
    problem = load('[data]\nsklearn = "iris"\n' + METHOD)
    with pytest.raises(ProblemFileError, match=r"problem\.toml: y must hold two classes; got 3"):
        problem.solve(form=form)
