"""Our own solvers behind solver="native": the same optimum as CLARABEL's, certified."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import kernelqp as kq
from kernelqp import losses

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
Z, T = load_diabetes(return_X_y=True)
LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.EpsilonInsensitive(10.0),
    losses.SquaredEpsilonInsensitive(10.0),
    losses.Pinball(0.2),
    losses.Huber(20.0),
    losses.HalfSquared(),
    losses.Logistic(),
    losses.PowerHinge(3.0),
]


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", [kq.Linear(), kq.RBF(gamma=1 / 30)], ids=["linear", "rbf"])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_a_soft_margin_by_our_own_solver(C, form, kernel, intercept):
    svm = kq.SoftMarginSVM(C=C, kernel=kernel, intercept=intercept)
    ours = svm.solve(X[:200], Y[:200], form=form, solver="native")
    theirs = svm.solve(X[:200], Y[:200], form=form, solver="CLARABEL")
    assert ours.solver == ("interior point" if isinstance(kernel, kq.Linear) else "active set")
    assert ours.status is kq.Status.CERTIFIED
    assert ours.value == pytest.approx(theirs.value, rel=1e-6)
    found, wanted = ours.support.support_vectors, theirs.support.support_vectors
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", range(6))
def test_random_problems_of_every_loss(loss, seed):
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 8))
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    if seed % 2:
        rows = np.repeat(rows, 2, axis=0)[:n]
    y = rng.choice([-1.0, 1.0], size=n) if loss.margin else 50.0 * rng.normal(size=n)
    kernel = kq.Linear() if seed % 3 else kq.RBF(gamma=0.3)
    gram = kq.Gram.of(kernel, rows)
    costs = 10.0 ** rng.uniform(-3, 3) * rng.uniform(0.5, 2.0, size=n)
    offset = "free" if seed < 4 else "none"
    risk = kq.RegularizedRisk(gram, y, costs, loss, offset)
    ours, theirs = risk.solve(solver="native"), risk.solve(solver="CLARABEL")
    assert ours.certificate.certified, ours.certificate
    scale = max(abs(theirs.value), 1e-9)
    assert ours.value == pytest.approx(theirs.value, abs=2e-6 * scale + theirs.certificate.rounding)


def test_a_hard_margin_and_its_proof_of_inseparability():
    svm = kq.HardMarginSVM(kernel=kq.RBF(gamma=1 / 30))
    assert svm.solve(X, Y, solver="native").value == pytest.approx(405.36641688, rel=1e-7)
    result = kq.HardMarginSVM().solve([[0.0], [1.0], [2.0]], [-1, 1, -1], solver="native")
    assert result.status is kq.Status.INFEASIBLE


def test_what_it_cannot_take_it_names():
    steep = kq.RegularizedRisk(kq.Gram.of(kq.Linear(), X), 2.0 * Y - 1, 1.0, losses.PowerHinge(1.5))
    with pytest.raises(kq.SolverError, match=r"PowerHinge\(q=1.5\) has neither"):
        steep.solve(solver="native")
    with pytest.raises(kq.InputError, match=r"no option .max_iter."):
        kq.SoftMarginSVM().dual(X, Y).solve(solver="native", max_iter=3)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("lam", [0.01, 1.0, 50.0])
def test_least_squares_with_constraints_of_your_own(intercept, lam):
    page = kq.RegularizedLeastSquares(lam=lam, intercept=intercept).primal(Z, T)
    solution = page.with_constraints({"signs": page.variables["w"] >= 0}).solve()
    assert solution.certificate.certified
    assert solution.kkt.holds
    assert solution.weights.min() >= -1e-6 * abs(solution.weights).max()
    # the price of w_k >= 0 is the slope of the objective in w_k
    slope = lam * solution.weights - Z.T @ solution.residuals
    np.testing.assert_allclose(solution.shadow_prices["signs"], slope, atol=1e-4 * abs(slope).max())


def test_without_a_penalty_constraints_of_your_own_are_refused():
    page = kq.RegularizedLeastSquares(lam=0).primal(Z, T)
    with pytest.raises(kq.InputError, match="need a penalty"):
        page.with_constraints([page.variables["w"] >= 0])
