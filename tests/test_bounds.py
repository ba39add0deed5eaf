"""Bounds that once were none: each of these certified something false, or overflowed."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import kernelqp as kq
from kernelqp.certificate import Candidate, certify_candidate

TOL = 1e-6


@pytest.mark.parametrize("loss", [kq.losses.HalfSquared(), kq.losses.Hinge()], ids=repr)
def test_an_unbalanced_dual_of_several_columns_bounds_nothing(loss):
    """At theta = 0 the term theta'(B'beta - d) vanishes whatever the imbalance is."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(12, 3))
    y = np.sign(F[:, 0] + 0.3)
    gram = kq.Gram.from_factor(F)
    basis = np.c_[np.ones(12), F[:, 1] ** 2]
    offset = kq.Offset(basis, np.zeros(2), np.array([1.0, 0.0]))
    without = kq.RegularizedRisk(gram, y, 1.0, loss, "none").solve("dual", solver="CLARABEL")
    risk = kq.RegularizedRisk(gram, y, 1.0, loss, offset)
    candidate = Candidate(beta=without.beta, theta=np.zeros(2))
    certificate = certify_candidate(risk.centred, candidate, "dual", TOL).certificate
    assert not certificate.certified
    optimum = risk.primal().problem.solve(solver="CLARABEL")
    assert certificate.dual_value <= optimum * (1 + 1e-9)


def test_a_priced_constant_is_not_centred_away():
    """One-class data: B = -1 at the price d = -1; the optimum is below 0."""
    F = np.random.default_rng(1).normal(size=(10, 2)) + 2.0
    offset = kq.Offset(-np.ones((10, 1)), np.array([-1.0]), np.array([-1.0]))
    costs = np.full(10, 1.0 / (0.5 * 10))
    risk = kq.RegularizedRisk(
        kq.Gram.from_factor(F), np.ones(10), costs, kq.losses.Perceptron(), offset
    )
    optimum = risk.primal().problem.solve(solver="CLARABEL")
    assert optimum < 0
    for form in ("primal", "dual"):
        c = risk.solve(form, solver="CLARABEL").certificate
        assert c.dual_value <= optimum + 1e-7
        assert c.primal_value >= optimum - 1e-7
        assert c.certified


def test_nearly_touching_classes_are_not_called_inseparable():
    X = np.r_[0.0, 1e-8, np.linspace(-1, -2, 5)][:, None]
    y = np.r_[-1, 1, -np.ones(5)].astype(int)
    assert not isinstance(kq.HardMarginSVM().solve(X, y), kq.Infeasible)


def test_a_constant_kernel_and_large_targets_overflow_nowhere():
    gram = kq.Gram.dense(np.ones((5, 5)))
    risk = kq.RegularizedRisk(
        gram, np.array([0, 10, 100, 500, 1000.0]), 1.0, kq.losses.Pinball(0.5)
    )
    solution = risk.solve("dual", solver="CLARABEL")
    assert solution.certificate.certified
    assert solution.value == pytest.approx(0.5 * (100 + 90 + 400 + 900), rel=1e-6)


def test_the_repair_of_an_unbalanced_beta_is_its_length():
    X, y = np.random.default_rng(2).normal(size=(30, 2)), np.resize([1, -1], 30)
    page = kq.SoftMarginSVM(kernel="rbf").primal(X, y)
    page.solve()
    page.variables["beta"].value = np.full(30, 5.0)
    solution = page.solution()
    assert not solution.certificate.certified
    assert solution.certificate.repair > 1.0


def test_a_risk_keeps_the_targets_that_it_was_given():
    rng = np.random.default_rng(0)
    y, c, gram = rng.normal(size=40), np.ones(40), kq.Gram.from_factor(rng.normal(size=(40, 2)))
    own = kq.RegularizedRisk(gram, y, c, kq.losses.EpsilonInsensitive(0.1))
    value = own.solve().value
    y *= 3.0
    c *= 2.0
    again = own.solve()
    assert again.value == value
    assert again.certificate.certified
    for array in (own.targets, own.costs, own.offset.basis, own.offset.price):
        assert not array.flags.writeable


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("size", [1e70, 1e80, 1e100, 1e120])
def test_a_scale_whose_square_is_lost_to_underflow_gives_no_false_bound(size, loss):
    """1/2 w'w at the margin: t β with t = 1/(C ‖x‖²) once had the norm t² ‖f‖² = 0."""
    X, y = size * np.array([[1.0], [-1.0], [1.7]]), np.array([1, -1, 1])
    model = LinearSVC(C=1e4, loss=loss, fit_intercept=False).fit(X / size, y)
    model.coef_ = np.array([[1.0000001 / size]])
    found = kq.certify(model, X, y)
    assert found.dual_value <= 0.5 / size / size
    assert found.primal_value == pytest.approx(0.5 / size / size, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("t", [1e-201, 1e-160, 1.0, 1e160])
def test_the_norm_of_a_scaled_function_is_that_of_its_coefficients(t):
    risk = kq.RegularizedRisk(
        kq.Gram.dense(np.array([[2.0]])), np.ones(1), 1.0, kq.losses.Hinge(), "none"
    )
    f = risk.function(np.array([1.0 / np.sqrt(t)])).scaled(t)
    assert f.norm2 == pytest.approx(2.0 * t, rel=1e-12, abs=0.0)
    assert f.coefficients[0] * f.values[0] == pytest.approx(2.0 * t, rel=1e-12, abs=0.0)
