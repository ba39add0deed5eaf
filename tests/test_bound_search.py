"""The search for a bound: what it tries, what it spares, and risks that no reader returns."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

import kernelqp as kq
from kernelqp import RBF, Gram, Linear
from kernelqp.bound_search import Search
from kernelqp.nu_risks import margin_risk
from kernelqp.progress import Progress
from kernelqp.repair import best_offset
from kernelqp.smoothing import smoothed_dual
from kernelqp.solvers.kernel_qp import KernelQP

X, y = load_breast_cancer(return_X_y=True)
GRAM = Gram.of(RBF(gamma=0.1), StandardScaler().fit_transform(X)[:60])
SIGNS = np.where(y[:60] == 1, 1.0, -1.0)


@pytest.mark.parametrize("free", [True, False])
def test_columns_that_the_engine_does_not_know_leave_the_other_attempts(free):
    """A ν-SVM without an intercept has the column of ρ alone, −1 and 1."""
    risk = margin_risk(GRAM, SIGNS, np.ones(60), 0.3, free=free)
    assert (KernelQP.of(risk) is None) == (not free)
    solution = risk.solve(tol=1e-9)
    rough = risk.function(1.2 * solution.beta)
    theta = np.zeros(risk.offset.price.size)
    found = Search(1e-3, Progress("test")).run(risk, None, rough, theta)
    assert found.lower <= solution.value + 1e-9 * abs(solution.value)
    assert found.lower == pytest.approx(solution.value, rel=1e-3)
    assert found.primal >= found.best >= found.lower


@pytest.mark.parametrize("times", [1.0, 1.2])
@pytest.mark.parametrize("free", [True, False])
def test_a_risk_of_features_whose_optimum_is_below_0_is_bounded(free, times):
    """The price of ρ makes it negative, and no smoothing can have a negative error."""
    inputs = StandardScaler().fit_transform(X)[:60, :5]
    risk = margin_risk(Gram.of(Linear(), inputs), SIGNS, np.ones(60), 0.3, free=free)
    solution = risk.solve(tol=1e-9)
    assert solution.value < 0.0
    rough = risk.function(weights=times * risk.gram.weights(solution.beta))
    theta = best_offset(risk, rough, np.zeros(risk.offset.price.size))
    assert risk.primal_value(rough, theta) < 0.0
    found = Search(1e-3, Progress("test")).run(risk, None, rough, theta)
    assert found.lower <= solution.value + 1e-9 * abs(solution.value)
    assert found.lower == pytest.approx(solution.value, rel=1e-3)
    assert found.primal >= found.best >= found.lower - found.noise


@pytest.mark.parametrize(("share", "spared"), [(0.8, True), (0.95, False)])
def test_a_model_that_is_surely_converged_is_spared_a_solve(share, spared, monkeypatch):
    """Below 0.9 of tol its slopes are enough; above, Newton's method is asked."""
    features, targets = load_diabetes(return_X_y=True)
    data = StandardScaler().fit_transform(features), targets
    model = LinearSVR(epsilon=1.0, random_state=0).fit(*data)
    asked = []
    monkeypatch.setattr(
        "kernelqp.bound_search.smoothed_dual",
        lambda *given: asked.append(1) or smoothed_dual(*given),
    )
    cheap = kq.certify(model, *data).relative_gap
    asked.clear()
    found = kq.certify(model, *data, tol=cheap / share)
    assert found.certified
    assert found.relative_gap == cheap if spared else found.relative_gap < cheap
    assert (not asked) == spared
