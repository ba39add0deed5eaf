"""The ν methods: the nu that data admit, degenerate data, other kinds of input."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import kernelqp as kq
from kernelqp.errors import ParameterError
from tests.test_nu import data

# --- the nu that is admitted ----------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan, np.inf, "0.5", None, True])
def test_nu_is_a_share(nu):
    for cls in (kq.NuSVM, kq.OneClassSVM, lambda nu: kq.NuSVR(1.0, nu)):
        with pytest.raises(ParameterError, match="nu must be"):
            cls(nu)


def test_a_nu_beyond_the_data_names_the_largest_that_is_not():
    X, y, w = data("NuSVM", True)
    most = float(2 * min(w[y > 0].sum(), w[y < 0].sum()) / w.sum())
    for call in ("primal", "dual", "solve"):
        with pytest.raises(ParameterError, match="nu can be at most") as error:
            getattr(kq.NuSVM(most + 1e-6), call)(X, y, w)
        assert repr(most) in str(error.value)
    light = 1 if w[y > 0].sum() < w[y < 0].sum() else -1
    assert f"class {light}" in str(error.value)
    for nu in (most, most * (1 + 4e-13)):
        for solver in ("auto", "native"):
            for form in ("weights", "coefficients", "dual"):
                s = kq.NuSVM(nu).solve(X, y, w, solver=solver, form=form)
                assert s.certificate.certified, (nu, solver, form, s)
                on_light = s.alpha[y == light]
                assert on_light == pytest.approx(w[y == light] / w.sum(), rel=1e-6)
    for intercept in ("penalized", "none"):
        s = kq.NuSVM(1.0, intercept=intercept).solve(X, y, w)
        assert s.certificate.certified
        assert s.alpha == pytest.approx(w / w.sum(), rel=1e-6)


def test_one_class_has_no_other_intercept():
    for intercept in ("free", "penalized", True):
        with pytest.raises(ParameterError, match="intercept must be 'none'"):
            kq.OneClassSVM(intercept=intercept)


def test_constraints_of_your_own_are_refused_by_name():
    X, y, _ = data("NuSVM")
    page = kq.NuSVM(0.4).primal(X, y)
    with pytest.raises(kq.InputError, match="a page with rho or epsilon"):
        page.with_constraints([page.variables["w"] >= 0])


# --- degenerate data ------------------------------------------------------------------------------

SQUARE = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("solver", ["auto", "native"])
@pytest.mark.parametrize(
    ("m", "X", "y", "value"),
    [
        (kq.NuSVM(0.5), np.ones((6, 2)), [0, 1] * 3, 0.0),
        (kq.NuSVM(0.5, intercept="none"), np.ones((6, 2)), [0, 1] * 3, 0.0),
        (kq.NuSVM(0.9), SQUARE, [1, 1, 0, 0], 0.0),
        (kq.NuSVM(1.0), [[1.0], [3.0]], ["a", "b"], -0.5),
        (kq.NuSVM(0.5), [[1.0, 7.0], [3.0, 7.0]], ["a", "b"], -0.125),
        (kq.NuSVM(0.5), [[1.0], [3.0], [1.0], [3.0]], [0, 1, 0, 1], -0.125),
        (kq.OneClassSVM(0.5), [[2.0, 1.0]], None, -2.5),
        (kq.OneClassSVM(1.0), [[2.0, 1.0], [4.0, 1.0]], None, -5.0),
        (kq.OneClassSVM(0.5), np.zeros((4, 2)), None, 0.0),
        (kq.OneClassSVM(0.5), [[-1.0], [1.0]], None, 0.0),
        (kq.NuSVR(1.0), [[2.0, 1.0]], [3.0], 0.0),
        (kq.NuSVR(1.0), SQUARE, [5.0] * 4, 0.0),
        (kq.NuSVR(1.0, intercept="none"), SQUARE, [0.0] * 4, 0.0),
        (kq.NuSVR(1.0, 0.5), np.ones((2, 1)), [0.0, 2.0], 0.5),
    ],
    ids=lambda v: "" if isinstance(v, float) else None,
)
def test_degenerate_data_have_their_closed_form(m, X, y, value, solver, form):
    """NuSVR of two targets 2 apart on one point: ε <= 1 costs ν ε + (1 − ε), least at ε = 1."""
    s = m.solve(X, y, solver=solver, form=form)
    assert s.certificate.certified, s
    assert s.value == pytest.approx(value, abs=1e-6)


def test_the_greater_class_is_predicted_above_0_and_one_class_says_minus_1_on_the_boundary():
    s = kq.OneClassSVM(1.0).solve(np.zeros((3, 1)))
    assert s.predict([[0.0], [5.0]]).tolist() == [-1, -1]
    s = kq.NuSVM(1.0).solve([[1.0], [3.0]], ["a", "b"])
    assert s.predict([[1.9], [2.1]]).tolist() == ["a", "b"]


def test_inputs_of_other_kinds():
    X, y, w = data("OneClassSVM", True)
    best = kq.OneClassSVM(0.3).solve(X, None, w).value
    assert kq.OneClassSVM(0.3).solve(X.tolist(), ["ignored"], w).value == best
    assert kq.OneClassSVM(0.3, "precomputed").solve(X @ X.T, None, w).value == pytest.approx(
        best, rel=2e-6
    )
    single = kq.NuSVM(0.4).solve(X.astype(np.float32), np.where(y > 0, "b", "a"), w)
    assert single.certificate.certified
    assert set(single.predict(X)) <= {"a", "b"}


@pytest.mark.parametrize("solver", ["native", "CLARABEL"])
def test_a_bound_is_never_above_the_optimum(solver):
    """Σ α off by 1e-12 would be worth ρ times that in D: more than its rounding."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for nu in (0.1, 0.2, 0.3):
        c = kq.NuSVM(nu).solve(X, y, solver=solver).certificate
        assert c.certified, (nu, c)
        assert c.gap >= -c.rounding
