"""Bad parameters say so before any solve; good input is read and left as it was."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import kernelqp as kq
from tests.cases.runs import certified, no_solver, page

near = pytest.approx
X = np.array([[0.0], [1.0], [3.0], [4.0]])
Y = np.array([-1, -1, 1, 1])

BAD = {
    "C": [0.0, -1.0, np.nan, np.inf, -np.inf, "1", None, True, 1 + 1j, [1.0], np.array([1.0, 2.0])],
    "slack_power": [0.5, 0.0, -1.0, np.nan, np.inf, "2", None, True],
    "intercept": ["no", True, None, 0],
    "kernel": ["rbff", "", 3, None, kq.RBF],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in BAD.items() for v in vs])
def test_parameters_of_the_soft_margin(name, value):
    with pytest.raises(kq.InputError, match=rf"\b{name}\b"):
        kq.SoftMarginSVM(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [(k, v) for k in ("intercept", "kernel") for v in BAD[k]]
)
def test_parameters_of_the_hard_margin(name, value):
    with pytest.raises(kq.InputError, match=rf"\b{name}\b"):
        kq.HardMarginSVM(**{name: value})


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda v: kq.RBF(gamma=v), "gamma"),
        (lambda v: kq.RBF(sigma=v), "sigma"),
        (lambda v: kq.Laplacian(gamma=v), "gamma"),
        (lambda v: kq.Polynomial(gamma=v), "gamma"),
        (lambda v: kq.Sigmoid(gamma=v), "gamma"),
        (lambda v: kq.Polynomial(degree=v), "degree"),
    ],
    ids=["rbf", "sigma", "laplacian", "polynomial", "sigmoid", "degree"],
)
@pytest.mark.parametrize("value", [0.0, -1.0, -2, np.nan, np.inf, "x", True])
def test_parameters_of_kernels(make, name, value):
    with pytest.raises(kq.InputError, match=rf"\b{name}\b"):
        make(value)


def test_a_misspelt_kernel_is_shown_the_known_ones():
    with pytest.raises(kq.InputError, match=r"rbff.*did you mean 'rbf'"):
        kq.SoftMarginSVM(kernel="rbff")


def test_no_limit_on_C_points_to_the_hard_margin():
    with pytest.raises(kq.InputError, match="HardMarginSVM"):
        kq.SoftMarginSVM(C=np.inf)


@pytest.mark.parametrize("C", [1, np.int8(1), np.float32(1), np.float64(1)])
def test_numbers_of_any_real_type_are_numbers(C):
    assert certified(kq.SoftMarginSVM(C=C), X, Y).value == near(0.5, rel=1e-6)


@pytest.mark.parametrize("tol", [0.0, -1e-6, np.nan, np.inf, "1e-6", None, True])
@pytest.mark.parametrize("form", ["weights", "dual"])
def test_tolerance(tol, form, monkeypatch):
    f = page(kq.SoftMarginSVM(), X, Y, form)
    with no_solver(monkeypatch), pytest.raises(kq.InputError, match="tol"):
        f.solve(tol=tol)


@pytest.mark.parametrize("form", ["primale", "", "max_margin", None, 3])
def test_form(form, monkeypatch):
    with no_solver(monkeypatch), pytest.raises(kq.InputError, match="form"):
        kq.SoftMarginSVM().solve(X, Y, form=form)


def test_solver_that_is_not_installed_names_those_that_are(monkeypatch):
    with no_solver(monkeypatch), pytest.raises(kq.SolverError, match="CLARABEL"):
        kq.SoftMarginSVM().solve(X, Y, solver="CPLEXX")


@pytest.mark.parametrize(
    "weight", [{-1: 0.0}, {-1: -1.0}, {1: np.nan}, {5: 1.0}, "balance", 3, {1: "x"}]
)
def test_class_weight(weight, monkeypatch):
    with no_solver(monkeypatch), pytest.raises(kq.InputError, match="class_weight"):
        kq.SoftMarginSVM(class_weight=weight).solve(X, Y)


@pytest.mark.parametrize(
    "weights", [[-1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1], [np.nan, 1, 1, 1], ["a", 1, 1, 1], 2.0]
)
def test_sample_weight(weights, monkeypatch):
    with no_solver(monkeypatch), pytest.raises(kq.InputError, match="sample_weight"):
        kq.SoftMarginSVM().solve(X, Y, weights)


@pytest.mark.parametrize("rows", [3, 5])
def test_lengths_that_differ_name_both(rows):
    with pytest.raises(kq.InputError, match=r"X.*4.*y.*\d"):
        kq.SoftMarginSVM().solve(X, np.resize([1, -1], rows))


@pytest.mark.parametrize("bad", [[0.0, 1.0, 3.0, 4.0], np.zeros((4, 1, 1)), np.zeros((4, 0)), []])
def test_features_have_two_dimensions(bad):
    with pytest.raises(kq.InputError, match=r"^X "):
        kq.SoftMarginSVM().solve(bad, Y)


@pytest.mark.parametrize("form", ["weights", "dual"])
@pytest.mark.parametrize("power", [1, 2, 1.5])
def test_a_page_whose_C_is_0_says_which_parameter(form, power, monkeypatch):
    f = page(kq.SoftMarginSVM(slack_power=power), X, Y, form)
    f.parameters["C"].value = 0.0
    with no_solver(monkeypatch), pytest.raises(kq.InputError, match=r"\bC\b"):
        f.solve()


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_a_page_without_values_says_so(form):
    with pytest.raises(kq.InputError, match="no value"):
        page(kq.SoftMarginSVM(), X, Y, form).solution()


# --- input is left as it was ---------------------------------------------------------------------


def read_only(a):
    a = a.copy()
    a.setflags(write=False)
    return a


def spread(a):
    """Every second row of a larger array."""
    wide = np.zeros((2 * len(a), *a.shape[1:]), dtype=a.dtype)
    wide[::2] = a
    return wide[::2]


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read only": read_only,
    "spread": spread,
    "reversed twice": lambda a: a[::-1].copy()[::-1],
}
INPUTS = {"linear": X, "precomputed": X @ X.T}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@layouts
@pytest.mark.parametrize("kernel", INPUTS)
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("method", [kq.SoftMarginSVM(C=10.0), kq.HardMarginSVM()])
def test_arrays_are_read_in_any_layout_and_not_changed(layout, kernel, form, method):
    given = [layout(a) for a in (INPUTS[kernel], Y, np.array([1.0, 2.0, 3.0, 4.0]))]
    before = [a.copy() for a in given]
    method = type(method)(**{**vars(method), "kernel": kernel})
    s = certified(method, *given, form=form)
    s.predict(given[0])
    kq.check_kkt(s)
    for a, b in zip(given, before, strict=True):
        assert np.array_equal(a, b)
    assert s.decision_function(INPUTS[kernel]) == near([-2.0, -1.0, 1.0, 2.0], abs=1e-6)
    assert s.intercept == near(-2.0, rel=1e-6)


@pytest.mark.parametrize("kernel", INPUTS)
def test_later_changes_of_the_arrays_change_nothing(kernel):
    given, labels = INPUTS[kernel].copy(), Y.copy()
    dual = kq.SoftMarginSVM(C=10.0, kernel=kernel).dual(given, labels)
    given[:], labels[:] = 0, 0
    s = dual.solve()
    assert s.value == near(0.5, rel=1e-6)
    assert s.decision_function(INPUTS[kernel]) == near([-2.0, -1.0, 1.0, 2.0], abs=1e-6)


def test_results_are_read_only():
    s = certified(kq.SoftMarginSVM(C=10.0), X, Y)
    for a in (s.alpha, s.beta, s.weights, s.slack, s.support.support_vectors):
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        s.certificate.complementarity[0] = 1.0


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        pd.DataFrame(X, columns=["x"]),
        scipy.sparse.csr_matrix(X),
        scipy.sparse.coo_array(X),
        X.astype(np.float32),
        X.astype(object),
    ],
    ids=["list", "frame", "csr", "coo", "float32", "object"],
)
@pytest.mark.parametrize("form", ["weights", "dual"])
def test_containers_of_any_kind_mean_the_same_numbers(given, form):
    s = certified(kq.SoftMarginSVM(C=10.0), given, Y.tolist(), form=form)
    assert s.weights == near([1.0], rel=1e-6)
    assert s.decision_function(given) == near([-2.0, -1.0, 1.0, 2.0], abs=1e-6)
