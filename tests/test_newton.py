"""Newton's method for smooth losses: exact from the smallest C to the largest, in any kernel."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

import kernelqp as kq
from kernelqp.losses import Logistic, PowerHinge
from kernelqp.newton import Line
from kernelqp.offset import Offset
from kernelqp.solvers.newton import newton

near = pytest.approx
X, Y = load_breast_cancer(return_X_y=True)
X, Y = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * Y - 1.0
COSTS = [1e-9, 1e-3, 1.0, 1e3, 1e6, 1e12]
GRAMS = {
    "rbf": lambda X: kq.Gram.of(kq.RBF(gamma=1 / 30), X),
    "linear": lambda X: kq.Gram.of(kq.Linear(), X),
    "linear, dense": lambda X: kq.Gram.dense(X @ X.T, psd=True),
    "far from the origin": lambda X: kq.Gram.of(kq.Linear(), X + 1e6),
    "large features": lambda X: kq.Gram.of(kq.Linear(), 1e6 * X),
    "nothing": lambda X: kq.Gram.dense(np.zeros((len(X), len(X)))),
    "constant": lambda X: kq.Gram.dense(np.ones((len(X), len(X)))),
    "identity": lambda X: kq.Gram.dense(np.eye(len(X))),
}
# without an intercept a kernel is not centred: far from the origin each decade costs a figure
CELLS = [(g, o) for g in GRAMS for o in ("free", "none") if (g[0], o) != ("f", "none")]


def risk_of(gram="rbf", C=1.0, offset="free", loss=None, n=150):
    loss = Logistic() if loss is None else loss
    return kq.RegularizedRisk(GRAMS[gram](X[:n]), Y[:n], C, loss, offset)


def exact(s, tol=1e-12):
    """P and D meet to 1e-12 of themselves, or to what their own rounding lets anybody say."""
    found = s.certificate
    size = max(abs(found.primal_value), abs(found.dual_value))
    return abs(found.gap) <= max(tol * size, found.rounding)


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize(("gram", "offset"), CELLS)
def test_exact_from_the_smallest_to_the_largest_C(gram, C, offset):
    s = risk_of(gram, C, offset).solve("primal", solver="native")
    assert s.solver.startswith("Newton")
    lost = C == 1e12 and (gram, offset) == ("constant", "none")  # 150 β of 1e12 that sum to 25
    assert exact(s, 1e-7 if lost else 1e-12), s


@pytest.mark.parametrize("gram", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_relative_gap_is_1e_12(gram, C):
    for offset in ("free", "none"):
        s = risk_of(gram, C, offset, n=60).solve("primal", solver="native")
        assert s.certificate.relative_gap < 1e-12, s


@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
def test_a_quasi_newton_method_from_elsewhere_finds_the_same(offset, C):
    risk = risk_of("linear", C, offset, n=80)
    F, columns = risk.gram.inputs, risk.offset.price.size

    def value(x):
        p = F @ x[:30] + risk.offset.basis @ x[30:]
        slope = -risk.targets * C / (1 + np.exp(risk.targets * p))
        gradient = np.r_[x[:30] + F.T @ slope, risk.offset.basis.T @ slope]
        return 0.5 * x[:30] @ x[:30] + C * np.logaddexp(0, -risk.targets * p).sum(), gradient

    options = {"gtol": 1e-10, "maxiter": 10**4}
    other = minimize(value, np.zeros(30 + columns), jac=True, method="BFGS", options=options)
    s = risk.solve("primal", solver="native")
    assert s.value == near(other.fun, rel=1e-10)
    assert s.weights == near(other.x[:30], abs=1e-6)


def test_features_and_their_kernel_give_the_same():
    for offset in ("free", "none"):
        thin, full = (
            risk_of(g, 1.0, offset).solve(solver="native") for g in ("linear", "linear, dense")
        )
        assert "weights" in thin.solver
        assert "rows" in full.solver
        assert thin.value == near(full.value, rel=1e-10)
        assert thin.beta == near(full.beta, abs=1e-8)


def test_more_features_than_rows_are_solved_in_rows():
    risk = risk_of("linear", 1.0, n=20)
    s = risk.solve("primal", solver="native")
    assert s.solver == "Newton, 20 rows"
    assert s.weights == near(X[:20].T @ s.beta, abs=1e-9)
    assert exact(s)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("gram", ["rbf", "linear"])
def test_coinciding_rows_with_opposite_labels(gram, C):
    """Each pair costs 2 C log 2 at best, and f = 0 is the best of all."""
    rows = np.repeat(X[:40], 2, axis=0)
    risk = kq.RegularizedRisk(GRAMS[gram](rows), np.resize([1.0, -1.0], 80), C, Logistic())
    s = risk.solve(solver="native")
    assert s.certificate.certified
    assert s.value == near(80 * C * np.log(2), rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows(n):
    for y in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0]):
        risk = kq.RegularizedRisk(GRAMS["rbf"](X[:n]), np.array(y[:n]), 2.0, Logistic(), "none")
        s = risk.solve(solver="native")
        assert exact(s), s


OFFSETS = {
    "two columns": lambda n, _: Offset(
        np.c_[np.ones(n), X[:n, 0]], np.zeros(2), np.array([1.0, 0.0])
    ),
    "three columns, no constant": lambda n, _: Offset(X[:n, :3], np.zeros(3), None),
    "a column twice": lambda n, _: Offset(np.ones((n, 2)), np.zeros(2), np.array([0.5, 0.5])),
    "one odd column with a price": lambda n, C: Offset(X[:n, :1], np.array([5.0 * C]), None),
}


@pytest.mark.parametrize("gram", ["rbf", "linear", "nothing"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_offsets_of_several_columns(gram, offset, C):
    risk = risk_of(gram, C, OFFSETS[offset](150, C))
    s = risk.solve("primal", solver="native")
    assert s.certificate.certified, s
    assert exact(s), s
    theirs = risk.solve("primal", solver="CLARABEL")
    assert s.value == near(theirs.value, rel=1e-5)


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_far_out_no_row_bends_and_steps_are_held_back(C):
    risk = risk_of("linear", C, OFFSETS["one odd column with a price"](150, C))
    s = risk.solve("primal", solver="native")
    assert exact(s), s


@pytest.mark.parametrize("q", [2.5, 3.0, 4.0])
@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("gram", ["rbf", "linear"])
def test_powers_of_the_hinge_from_2_on(q, C, gram):
    risk = risk_of(gram, C, loss=PowerHinge(q), n=100)
    s = risk.solve("primal", solver="native")
    assert s.solver.startswith("Newton")
    assert s.certificate.certified, s
    theirs = risk.solve("primal", solver="CLARABEL")
    assert s.value == near(theirs.value, rel=1e-6)


def test_a_method_of_the_hinges_power_takes_it_by_name():
    svm = kq.SoftMarginSVM(C=1.0, slack_power=3, kernel=kq.RBF(gamma=1 / 30))
    ours, theirs = (svm.solve(X[:100], Y[:100], solver=name) for name in ("native", "CLARABEL"))
    assert (ours.solver, theirs.solver) == ("Newton, 100 rows", "CLARABEL")
    assert ours.value == near(theirs.value, rel=1e-6)


# --- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [2.5, 3.0])
@pytest.mark.parametrize("C", [1e10, 1e12])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_step_that_is_short_is_no_reason_to_hold_the_next_one_back(q, C, intercept):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    y = np.where(rows[:, 0] + rng.normal(size=80) > 0, 1, -1)
    method = kq.SoftMarginSVM(C=C, slack_power=q, kernel=kq.RBF(gamma=0.5), intercept=intercept)
    assert method.solve(rows, y, solver="native").certificate.certified


def test_a_line_falls_by_its_decrement_and_the_search_keeps_to_it():
    risk = risk_of("rbf", 10.0, "none", n=30)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        step = risk.function(-size * rng.normal(size=30) * Y[:30] ** 2)
        p = np.zeros(30)
        slopes = risk.costs * risk.loss.slopes(risk.targets, p)[0]
        decrement = -float(slopes @ step.values)
        if decrement < 0:
            step, decrement = step.scaled(-1.0), -decrement
        t = Line(risk, p, step.values, 0.0, step.norm2, decrement).search()
        here, there = (risk.primal_value(step.scaled(s), np.zeros(0)) for s in (0.0, t))
        assert t > 0
        assert there <= here - 1e-4 * t * decrement + 1e-10 * here


def test_a_direction_that_does_not_fall_is_not_taken():
    risk = risk_of("rbf", 1.0, "none", n=30)
    wrong = -5.0 * Y[:30]
    assert Line(risk, np.zeros(30), wrong, 0.0, 1.0, 1.0).search() == 0.0


def test_beta_is_feasible_and_strictly_inside():
    risk = risk_of("rbf", 1.0)
    beta, _, theta, how = newton(risk.centred)
    alpha = risk.targets * beta
    assert how == "Newton, 150 rows"
    assert (alpha > 0).all()
    assert (alpha < 1).all()
    assert beta.sum() == near(0.0, abs=1e-13)
    p = risk.centred.function(beta).values + theta[0]
    assert alpha == near(1 / (1 + np.exp(Y[:150] * p)), abs=1e-12)


def test_a_kernel_too_large_for_numbers_is_refused_by_name():
    K = 1e300 * np.eye(4)
    risk = kq.RegularizedRisk(
        kq.Gram.dense(K), np.resize([1.0, -1.0], 4), 1e200, Logistic(), "none"
    )
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(kq.SolverError, match="scale"):
        newton(risk)
