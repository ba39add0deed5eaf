"""Support vectors, elbow, left and right, and the interval of the intercept."""

import functools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import kernelqp as kq
from kernelqp import losses
from kernelqp.offset import Offset
from kernelqp.repair import best_offset
from kernelqp.support import margin_range

near = pytest.approx


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@functools.cache
def reference():
    """The optimum by CLARABEL, as tight as it goes."""
    X, y = cancer()
    method = kq.SoftMarginSVM(C=1.0, kernel=kq.RBF(gamma=1 / 30))
    return method.solve(X, y, form="dual", solver="CLARABEL", tol=1e-11)


runs = pytest.mark.parametrize(
    ("form", "solver"),
    [(f, s) for f in ("dual", "coefficients") for s in ("OSQP", "CLARABEL", "SCS", "ECOS")],
)


@runs
def test_breast_cancer_has_119_support_vectors(form, solver):
    X, y = cancer()
    method = kq.SoftMarginSVM(C=1.0, kernel=kq.RBF(gamma=1 / 30))
    s = method.solve(X, y, form=form, solver=solver)
    assert s.certificate.certified
    assert len(s.support.support_vectors) == 119
    assert s.support.support_vectors.tolist() == reference().support.support_vectors.tolist()
    assert s.value == near(reference().value, rel=2e-6)


def test_the_reference_places_every_row():
    s = reference()
    sets = s.support
    assert sets.undecided.size == 0
    every = np.sort(np.r_[sets.elbow, sets.left, sets.right])
    assert every.tolist() == list(range(569))
    assert set(sets.support_vectors) == set(sets.elbow) | set(sets.left)


def test_the_sets_are_those_of_the_margins_and_multipliers():
    X, y = cancer()
    s = reference()
    z = np.where(y == 1, 1, -1) * s.decision_function(X)
    assert (z[s.support.left] < 1).all()
    assert (z[s.support.right] > 1).all()
    assert z[s.support.elbow] == near(np.ones(len(s.support.elbow)), abs=1e-6)
    assert (s.alpha[s.support.right] <= 1e-9).all()
    assert s.alpha[s.support.left] == near(np.ones(len(s.support.left)), abs=1e-9)
    inside = s.alpha[s.support.elbow]
    assert ((inside > 0) & (inside < 1)).all()


# --- support_vectors never contains a right row -------------------------------------------------


def problems():
    soft, hard, rbf = kq.SoftMarginSVM, kq.HardMarginSVM, kq.RBF(gamma=0.5)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.resize([1, -1], 40)
        X = rng.normal(size=(40, 2)) + np.c_[y, y]
        for C in (1e-4, 0.1, 1.0, 100.0):
            yield f"linear {C:g} {seed}", soft(C=C), X, y
            yield f"rbf {C:g} {seed}", soft(C=C, kernel=rbf), X, y
        yield f"none {seed}", soft(intercept="none"), X, y
        yield f"penalized {seed}", soft(intercept="penalized"), X, y
        yield f"hard {seed}", hard(), X + 3.0 * np.c_[y, y], y
        yield f"twice {seed}", soft(), np.r_[X, X], np.r_[y, y]


PROBLEMS = {name: rest for name, *rest in problems()}
every_problem = pytest.mark.parametrize(("method", "X", "y"), PROBLEMS.values(), ids=PROBLEMS)


@every_problem
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_no_row_is_both_right_and_a_support_vector(method, X, y, tol):
    for form in ("primal", "dual"):
        s = method.solve(X, y, form=form, tol=tol)
        carries, right = set(s.support.support_vectors), set(s.support.right)
        assert not carries & right
        parts = [s.support.elbow, s.support.left, s.support.right, s.support.undecided]
        assert np.sort(np.concatenate(parts)).tolist() == list(range(len(y)))


@every_problem
def test_left_and_right_are_so_at_the_tight_optimum(method, X, y):
    """What a rough answer places is where the tight answer has it."""
    tight = method.solve(X, y, tol=1e-11, solver="CLARABEL")
    z = y * tight.decision_function(X)
    for options in ({"solver": "OSQP", "tol": 1e-3}, {"solver": "CLARABEL", "tol": 1e-2}):
        s = method.solve(X, y, form="dual", **options)
        assert (z[s.support.left] < 1).all()
        assert (z[s.support.right] > 1).all()


@every_problem
def test_a_run_cut_short_places_no_row_wrongly(method, X, y):
    tight = method.solve(X, y, tol=1e-11, solver="CLARABEL")
    z = y * tight.decision_function(X)
    for steps in (2, 5):
        s = method.solve(X, y, form="dual", solver="CLARABEL", max_iter=steps)
        assert (z[s.support.left] < 1).all()
        assert (z[s.support.right] > 1).all()


# --- the interval of the intercept --------------------------------------------------------------


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.02, 0.05])
def test_interval_of_two_pairs(form, C):
    """Rows -3, -1 against 1, 3 with all multipliers at C: w = 8 C and b in +-(1 - 24 C) or so.

    With w = 8 C below 1/3 every margin |w x| is below 1: b >= -1 + 3 w from -3 and b <= 1 - 3 w.
    """
    X, y = np.array([[-3.0], [-1.0], [1.0], [3.0]]), np.array([-1, -1, 1, 1])
    s = kq.SoftMarginSVM(C=C).solve(X, y, form=form)
    if 8 * C < 1 / 3:
        assert s.intercept_interval == near((-1 + 24 * C, 1 - 24 * C), abs=1e-6)
    else:
        assert s.intercept_interval == near((0.0, 0.0), abs=1e-6)
    low, high = s.intercept_interval
    assert low - 1e-6 <= s.intercept <= high + 1e-6


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("shift", [0.0, 50.0, -1e4])
def test_interval_at_a_constant_feature_is_the_segment_between_the_labels(form, shift):
    """w = 0 and as many rows of each class: any b in [-1, 1] costs 2 a pair."""
    X, y = np.full((6, 1), shift), np.array([1, -1, 1, -1, 1, -1])
    s = kq.SoftMarginSVM(C=3.0).solve(X, y, form=form)
    assert s.intercept_interval == near((-1.0, 1.0), abs=1e-6)
    assert s.value == near(18.0, rel=1e-6)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_every_b_of_the_interval_has_the_optimal_value_and_no_other(form):
    rng = np.random.default_rng(6)
    X, y, C = rng.normal(size=(12, 2)), np.repeat([1, -1], 6), 1e-3
    s = kq.SoftMarginSVM(C=C).solve(X, y, form=form)
    low, high = s.intercept_interval
    assert high - low > 1.0

    def value(b):
        f = X @ s.weights + b
        return 0.5 * s.weights @ s.weights + C * np.maximum(0.0, 1.0 - y * f).sum()

    for b in np.linspace(low, high, 7):
        assert value(b) == near(s.value, rel=1e-6)
    assert value(low - 1e-2) > s.value * (1 + 1e-5)
    assert value(high + 1e-2) > s.value * (1 + 1e-5)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("intercept", ["penalized", "none"])
def test_an_intercept_that_is_not_free_is_a_point(form, intercept):
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    s = kq.SoftMarginSVM(C=0.01, intercept=intercept).solve(X, y, form=form)
    assert s.intercept_interval == (s.intercept, s.intercept)


@every_problem
def test_the_intercept_lies_in_its_interval(method, X, y):
    for form in ("primal", "dual"):
        s = method.solve(X, y, form=form)
        low, high = s.intercept_interval
        assert low - 1e-6 <= s.intercept <= high + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_margins_at_every_offset_that_is_as_good_are_in_their_range(seed):
    """Also of a group of one class, whose offset may go on for ever."""
    rng = np.random.default_rng(seed)
    n = 40
    first = np.arange(n) < n // 2
    basis = np.column_stack([first, ~first]).astype(float)
    y = np.where(first | (seed % 2 == 0), np.where(rng.normal(size=n) > 0, 1.0, -1.0), -1.0)
    gram = kq.Gram.dense(np.eye(n))
    offset = Offset(basis, np.zeros(2), None)
    risk = kq.RegularizedRisk(gram, y, rng.uniform(0.1, 2.0, n), losses.Hinge(), offset)
    function = risk.function(rng.normal(size=n))
    theta = best_offset(risk, function, np.zeros(2))
    least = risk.primal_value(function, theta)
    low, high = margin_range(risk, function, theta, 0.0)
    for k in range(2):
        for t in (*np.linspace(-50.0, 50.0, 401), *(theta[k] + np.linspace(-0.1, 0.1, 21))):
            other = theta.copy()
            other[k] = t
            if risk.primal_value(function, other) <= least:
                z = y * risk.predictions(function, other)
                assert (low - 1e-12 <= z).all()
                assert (z <= high + 1e-12).all()
