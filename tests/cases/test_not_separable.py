"""A hard margin on classes that no plane separates: a proof, and no model."""

import numpy as np
import pytest

import kernelqp as kq
from tests.cases.runs import FORMS, certified, every_run, every_solver

near = pytest.approx
EPS = np.finfo(float).eps


def crossing(seed, d):
    """Two clouds of one distribution: their hulls meet."""
    X = np.random.default_rng(seed).normal(size=(40, d))
    return X, np.resize([1, -1], 40)


def centre_in_hull(seed):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    return np.r_[X, X.mean(axis=0, keepdims=True)], np.r_[np.ones(12), -1.0]


XOR = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
PLANES = {
    "xor": (XOR, [-1, -1, 1, 1]),
    "one place": (np.array([[2.0, 3.0], [2.0, 3.0]]), [-1, 1]),
    "alternating": (np.arange(6.0)[:, None], [-1, 1, -1, 1, -1, 1]),
    "between": (np.array([[0.0], [1.0], [2.0]]), [1, -1, 1]),
    "touching": (np.array([[0.0], [1.0], [1.0], [2.0]]), [-1, -1, 1, 1]),
    "constant": (np.full((4, 2), 7.0), [1, 1, -1, -1]),
    "crossing 1": crossing(1, 1),
    "crossing 2": crossing(2, 2),
    "crossing 5": crossing(3, 5),
    "centre": centre_in_hull(4),
}
problems = pytest.mark.parametrize(("X", "y"), PLANES.values(), ids=PLANES)


def verify(found, K, y, free=True, dense=False):
    """Recompute from K what the proof claims."""
    assert isinstance(found, kq.Infeasible), found
    assert found.status is kq.Status.INFEASIBLE
    y, r = np.asarray(y, float), found.proof.weights
    assert r.shape == y.shape
    assert (r >= 0).all()
    if free:
        assert r[y > 0].sum() == near(1.0, rel=1e-12)
        assert r[y < 0].sum() == near(1.0, rel=1e-12)
    else:
        assert r.sum() == near(1.0, rel=1e-12)
    H = np.eye(len(y)) - 1.0 / len(y) if free else np.eye(len(y))
    K = H @ K @ H
    distance = np.sqrt(max((y * r) @ K @ (y * r), 0.0))
    # a sum of explicit features is exact to n eps of their size, a quadratic form to its root
    largest = np.sqrt(max(np.diag(K).max(), 0.0))
    most = (np.sqrt(len(y) * EPS) if dense else len(y) * EPS * np.sqrt(len(K))) * 2 * largest
    assert found.proof.distance <= found.proof.resolution
    assert found.proof.resolution <= most
    assert distance <= 4 * most + np.sqrt(len(y) * EPS * np.abs(K).max())
    assert "plane" in str(found)
    assert "infeasible" in str(found)


@problems
@every_run
def test_every_form_and_solver_ends_with_a_proof(X, y, form, solver):
    found = kq.HardMarginSVM().solve(X, y, form=form, solver=solver)
    verify(found, X @ X.T, y)


@problems
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_features_does_not_matter(X, y, unit):
    verify(kq.HardMarginSVM().solve(X * unit, y), unit**2 * X @ X.T, y)


@problems
def test_far_from_the_origin(X, y):
    """The proof is about distances between rows; its matrix is that of the shifted rows' centre."""
    moved = X + 1e6
    centred = moved - moved.mean(axis=0)
    verify(kq.HardMarginSVM().solve(moved, y), centred @ centred.T, y)


@problems
def test_the_opposite_labels(X, y):
    verify(kq.HardMarginSVM().solve(X, -np.asarray(y)), X @ X.T, -np.asarray(y))


@pytest.mark.parametrize(
    ("X", "y"),
    [([[1.0], [2.0]], [-1, 1]), ([[1.0, 0.0], [-1.0, 0.0]], [1, 1.0]), (XOR, [1, 1, -1, -1])],
    ids=["one ray", "one class", "xor"],
)
def test_without_an_intercept_the_plane_has_to_pass_the_origin(X, y):
    X, y = np.array(X), np.array(y)
    if len(set(y.tolist())) == 1:
        X, y = np.r_[X, [[0.0, 0.0]]], np.r_[y, -1.0]
    found = kq.HardMarginSVM(intercept="none").solve(X, y)
    verify(found, X @ X.T, y, free=False)


def test_one_ray_is_separable_with_an_intercept():
    s = certified(kq.HardMarginSVM(), [[1.0], [2.0]], [-1, 1])
    assert s.value == near(2.0, rel=1e-6)


@pytest.mark.parametrize("kernel", [kq.RBF(gamma=1.0), kq.Polynomial(3, 1.0, 1.0)])
@pytest.mark.parametrize("form", ["coefficients", "dual"])
def test_two_labels_at_one_place_defeat_every_kernel(kernel, form):
    X = np.r_[np.random.default_rng(0).normal(size=(10, 2)), [[0.5, 0.5], [0.5, 0.5]]]
    y = np.r_[np.resize([1, -1], 10), 1, -1]
    found = kq.HardMarginSVM(kernel=kernel).solve(X, y, form=form)
    verify(found, kernel(X), y, dense=True)


@pytest.mark.parametrize("form", ["coefficients", "dual"])
@every_solver
def test_a_richer_kernel_separates_xor(form, solver):
    method = kq.HardMarginSVM(kernel=kq.Polynomial(degree=2, gamma=1.0, constant=1.0))
    s = certified(method, XOR, [-1, -1, 1, 1], form=form, solver=solver)
    assert s.value == near(0.25, rel=1e-6)
    assert s.intercept == near(0.0, abs=1e-6)
    assert s.alpha == near(np.full(4, 0.125), rel=1e-6)
    assert s.decision_function(XOR) == near([-1.0, -1.0, 1.0, 1.0], abs=1e-6)


def test_rows_of_weight_0_do_not_count_and_keep_their_places():
    X, y = np.r_[XOR, [[9.0, 9.0]]], np.array([-1, -1, 1, 1, -1])
    order = [4, 0, 1, 2, 3]
    found = kq.HardMarginSVM().solve(X[order], y[order], [0, 1, 1, 1, 1])
    assert isinstance(found, kq.Infeasible)
    assert found.proof.weights.shape == (5,)
    assert found.proof.weights[0] == 0.0


@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
def test_a_soft_margin_has_an_answer(C):
    s = certified(kq.SoftMarginSVM(C=C), XOR, [-1, -1, 1, 1])
    assert s.value == near(4.0 * C, rel=1e-6)


@pytest.mark.parametrize("gap", [1e-3, 1e-5])
@pytest.mark.parametrize("form", FORMS)
def test_a_narrow_margin_is_not_called_infeasible(gap, form):
    X = np.array([[0.0], [1.0], [1.0 + gap], [2.0]])
    s = certified(kq.HardMarginSVM(), X, [-1, -1, 1, 1], form=form)
    assert s.geometric_margin == near(gap / 2, rel=1e-5)


def test_there_is_no_point_to_check():
    found = kq.HardMarginSVM().solve(XOR, [-1, -1, 1, 1])
    with pytest.raises(kq.InputError, match="no point"):
        kq.check_kkt(found)
