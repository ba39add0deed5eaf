"""A thin factor of K is found where it has one, given up early where not, and solved on."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from kernelqp.gram import Gram
from kernelqp.kernels import RBF, Linear, Polynomial, Precomputed
from kernelqp.solvers import interior
from kernelqp.solvers.active_set import settle_by_factor
from kernelqp.solvers.kernel_qp import KernelQP, KernelRows
from kernelqp.solvers.low_rank import SEEN, thin_factor

N = 600
X, LABELS = make_classification(N, 12, n_informative=8, n_redundant=0, flip_y=0.05, random_state=0)
Y = 2.0 * LABELS - 1.0


@pytest.mark.parametrize(
    ("kernel", "rank"), [(Linear(), 8), (Polynomial(2, 0.1, 0.0), 36)], ids=["linear", "quadratic"]
)
def test_a_kernel_of_features_has_their_number(kernel, rank):
    K = kernel(X[:, :8], X[:, :8])
    factor = thin_factor(KernelRows(Gram.dense(K)), N // 4)
    assert factor.shape == (N, rank)
    assert np.abs(factor @ factor.T - K).max() <= 1e-12 * K.max()


def test_smooth_functions_of_few_features_have_few_directions():
    K = RBF(gamma=0.01)(X[:, :2], X[:, :2])
    factor = thin_factor(KernelRows(Gram.dense(K)), N // 4)
    assert factor.shape[1] < 80
    assert np.trace(K - factor @ factor.T) <= 2e-13 * N


def test_a_kernel_of_full_rank_is_given_up_after_a_few_rows():
    gram = BlockGram.on(RBF(gamma=1.0), X)
    assert thin_factor(KernelRows(gram), N // 2) is None
    assert gram.store.filled <= max(SEEN, N // 8)


def test_more_directions_than_asked_for():
    assert thin_factor(KernelRows(Gram.dense(X @ X.T)), 11) is None
    assert thin_factor(KernelRows(Gram.dense(X @ X.T)), 0) is None


def test_nothing_has_a_factor_of_nothing():
    factor = thin_factor(KernelRows(Gram.dense(np.zeros((40, 40)))), 5)
    assert factor.shape == (40, 1)
    assert not factor.any()


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_precomputed_kernel_of_features_is_solved_without_a_system_of_all_rows(C, monkeypatch):
    def whole(*_):
        raise AssertionError("a system of all rows")

    monkeypatch.setattr(interior.Dense, "solver", whole)
    found = kq.SoftMarginSVM(C=C, kernel=Precomputed()).solve(X @ X.T, Y, tol=1e-9)
    assert found.certificate.certified
    assert found.value == pytest.approx(kq.SoftMarginSVM(C=C).solve(X, Y, tol=1e-9).value, rel=1e-9)


def test_the_sets_near_a_thin_factors_optimum_are_those_of_k():
    risk = kq.RegularizedRisk(Gram.dense(X @ X.T), Y, 1.0, kq.losses.Hinge())
    qp = KernelQP.of(risk)
    beta, _ = settle_by_factor(qp)
    optimum = kq.RegularizedRisk(Gram.from_factor(X), Y, 1.0, kq.losses.Hinge()).solve(tol=1e-9)
    assert risk.dual_value(beta) == pytest.approx(optimum.value, rel=1e-9)


def test_the_optimum_of_a_precomputed_kernel_that_stopped_early_is_found():
    K = X @ X.T
    with pytest.warns(match="early|converge"):
        model = SVC(kernel="precomputed", max_iter=100).fit(K, Y)
    found = kq.certify(model, K, Y)
    assert found.verdict.startswith("Not converged")
    assert found.best_value == pytest.approx(found.dual_value, rel=1e-9)
