"""A thin factor of K is found where it has one, given up early where not, and solved on."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import kernelqp as kq
from kernelqp.blame import complementarity_by_row
from kernelqp.block_gram import BlockGram
from kernelqp.gram import Gram
from kernelqp.kernels import RBF, Linear, Polynomial, Precomputed
from kernelqp.solvers import active_set, interior
from kernelqp.solvers.active_set import gap_left, settle_by_factor
from kernelqp.solvers.kernel_qp import KernelQP, KernelRows
from kernelqp.solvers.low_rank import SURE, near_by_factor, thin_factor
from kernelqp.solvers.native import native
from kernelqp.solvers.watch import HaltedError, Watch

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


@pytest.mark.parametrize("d", [70, 120])
def test_many_features_of_the_same_size_are_taken_to_the_last(d):
    Z = np.random.default_rng(0).normal(size=(1000, d))
    assert thin_factor(KernelRows(Gram.dense(Z @ Z.T)), 125).shape == (1000, d)


def test_rows_that_stand_alone_come_first_and_end_nothing():
    Z = np.zeros((1000, 25))
    Z[:20, :20] = 3 * np.eye(20)
    Z[20:, 20:] = np.random.default_rng(0).normal(size=(980, 5)) / np.sqrt(5)
    assert thin_factor(KernelRows(Gram.dense(Z @ Z.T)), 125).shape == (1000, 25)


def test_smooth_functions_of_few_features_have_few_directions():
    K = RBF(gamma=0.01)(X[:, :2], X[:, :2])
    factor = thin_factor(KernelRows(Gram.dense(K)), N // 4)
    assert factor.shape[1] < 80
    assert np.trace(K - factor @ factor.T) <= 2e-13 * N


def test_a_kernel_of_full_rank_is_given_up_after_a_few_rows():
    gram = BlockGram.on(RBF(gamma=1.0), X)
    assert thin_factor(KernelRows(gram), N // 2) is None
    assert gram.store.filled <= N // 2 // SURE + 1


def test_more_directions_than_asked_for():
    assert thin_factor(KernelRows(Gram.dense(X @ X.T)), 11) is None
    assert thin_factor(KernelRows(Gram.dense(X @ X.T)), 12).shape == (N, 12)
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


def test_where_sets_do_not_settle_the_answer_on_the_factor_serves(monkeypatch):
    """Every row is a combination of five others, and the optimum is 0."""
    monkeypatch.setattr(active_set, "one_by_one", lambda *_: pytest.fail("a row at a time"))
    Z = np.random.default_rng(0).normal(size=(300, 5))
    for nu in (0.01, 0.1):
        found = kq.OneClassSVM(nu=nu, kernel=Precomputed()).solve(Z @ Z.T, tol=1e-9)
        assert found.certificate.certified
        assert found.solver == "active set"


LOSSES = [kq.losses.Hinge(), kq.losses.SquaredHinge(), kq.losses.EpsilonInsensitive(0.1)]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_rows_could_gain_alone_is_the_gap_and_the_blame_of_rows(loss):
    risk = kq.RegularizedRisk(Gram.dense(X @ X.T), Y, 0.7, loss, "none")
    qp, none = KernelQP.of(risk), np.zeros(0)
    rng = np.random.default_rng(0)
    for size in (1.0, 1e-3):
        near = np.clip(size * rng.normal(size=N), qp.row.lower, qp.row.upper)
        function = risk.function(near)
        left = gap_left(qp, qp.at(near), none)
        gap = risk.primal_value(function, none) - risk.dual_value(function)
        assert left == pytest.approx(gap, rel=1e-9)
        assert left == pytest.approx(complementarity_by_row(risk, near, function.values).sum())
    best = native(risk)[0]
    assert abs(gap_left(qp, qp.at(best), none)) <= 1e-9 * risk.dual_value(best)


def test_rows_in_the_tube_are_off_0_by_rounding_and_cost_no_more():
    rng = np.random.default_rng(100)
    Z = rng.normal(size=(600, 5))[rng.integers(0, 100, 600)]
    y = Z[:, 0] + rng.integers(-2, 3, 600)
    loss = kq.losses.EpsilonInsensitive(1.0)
    qp = KernelQP.of(kq.RegularizedRisk(Gram.dense(Z @ Z.T), y, 100.0, loss))
    beta, theta = near_by_factor(qp)
    assert np.abs(beta).min() > 0
    assert gap_left(qp, qp.at(beta), theta) <= 1e-10 * float(beta @ y)


def test_the_thin_factor_of_a_kernel_keeps_to_the_limits_of_the_solve():
    qp = KernelQP.of(kq.RegularizedRisk(Gram.dense(X @ X.T), Y, 1.0, kq.losses.Hinge()), Watch(0.0))
    with pytest.raises(HaltedError):
        settle_by_factor(qp)
    gram = BlockGram.on(Linear(), X, memory=8 * N * 50)
    risk = kq.RegularizedRisk(gram, Y, 1.0, kq.losses.Hinge())
    assert settle_by_factor(KernelQP.of(risk)) is None


def test_no_other_solver_takes_over_where_time_is_limited():
    K = 1e8 * X @ X.T
    method = kq.SoftMarginSVM(C=1e8, kernel=Precomputed())
    found = method.solve(K, Y, time_limit=60.0, tol=1e-12)
    assert not found.certificate.certified
    assert found.solver.startswith(("active set", "interior point", "native"))
