"""Constraints of one's own on the primal of every method: the optimum, and bounds that hold."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq
from kernelqp.lagrange_bound import Pull, lower_bound, pull_of

RNG = np.random.default_rng(1)
X = RNG.normal(size=(24, 2)) + np.array([0.5, 0.0])
TARGETS = X @ [1.0, -0.5] + RNG.normal(size=24) + 1.0
LABELS = np.where(TARGETS - TARGETS.mean() > 0, 1, -1)
WEIGHTS = np.resize([1.0, 2.0, 0.5, 0.0], 24)  # a row of weight 0 leaves the problem
FORMS = ["weights", "coefficients"]

MARGINS = {
    "hinge": (kq.SoftMarginSVM(C=0.5), 1),
    "squared hinge": (kq.SoftMarginSVM(C=0.5, slack_power=2), 2),
    "penalised": (kq.SoftMarginSVM(C=0.5, intercept="penalized"), 1),
    "pegasos": (kq.Pegasos(lam=0.1, intercept="penalized"), 1),
}
SMOOTH = {
    "logistic": kq.LogisticRegression(C=0.5),
    "logistic penalised": kq.LogisticRegression(C=0.5, intercept="penalized"),
    "least squares": kq.RegularizedLeastSquares(lam=2.0),
}
SVR = kq.SupportVectorRegression(C=0.5, epsilon=0.2)
RESIDUALS = {
    "svr": SVR,
    "svr squared": replace(SVR, loss="squared_epsilon_insensitive"),
    "absolute": replace(SVR, loss="absolute"),
    "huber": replace(SVR, loss="huber", delta=0.5),
    "svr penalised": replace(SVR, intercept="penalized"),
    "svr no intercept": replace(SVR, intercept="none"),
    "quantile": kq.QuantileRegression(C=0.5, tau=0.7),
    "quantile penalised": kq.QuantileRegression(C=0.5, tau=0.1, intercept="penalized"),
}
HARD = kq.HardMarginSVM()
ALL = [*MARGINS, *SMOOTH, *RESIDUALS]


def method_of(name):
    return MARGINS[name][0] if name in MARGINS else {**SMOOTH, **RESIDUALS}[name]


def page_of(name, form):
    y = TARGETS if name in RESIDUALS or name == "least squares" else LABELS
    return method_of(name).primal(X, y, WEIGHTS, form=form)


class Own:
    """The same problem in w, b and slacks of its own."""

    def __init__(self, name):
        kept = WEIGHTS > 0
        rows, s, n, m = X[kept], WEIGHTS[kept], int(kept.sum()), method_of(name)
        y, labels = TARGETS[kept], LABELS[kept]
        self.w, self.b = cp.Variable(2), cp.Variable()
        self.slack = {k: cp.Variable(n) for k in ("xi", "xi_star", "u")}
        p, q, u = self.slack.values()
        values = rows @ self.w + self.b
        penalty = 0.5 * cp.sum_squares(self.w)
        self.given = [self.b == 0] if m.intercept == "none" else []
        if m.intercept == "penalized":
            penalty += 0.5 * cp.square(self.b)
        if name in MARGINS:
            loss = s @ p ** MARGINS[name][1] if MARGINS[name][1] > 1 else s @ p
            self.given += [p >= 0, cp.multiply(labels, values) >= 1 - p]
        elif name == "least squares":
            loss = cp.sum(cp.multiply(s, cp.square(y - values)))
        elif name in SMOOTH:
            loss = s @ cp.logistic(-cp.multiply(labels, values))
        elif name == "huber":
            loss = s @ (0.5 * cp.square(u) + m.delta * (p + q))
            self.given += [p >= 0, q >= 0, y - values == u + p - q]
        else:
            width = m.epsilon if name.startswith("svr") else 0.0
            above, below = (m.tau, 1 - m.tau) if "quantile" in name else (1.0, 1.0)
            power = 2 if "squared" in name else 1
            loss = s @ (above * p**power + below * q**power)
            self.given += [p >= 0, q >= 0, y - values <= width + p, values - y <= width + q]
        if name == "pegasos":
            self.objective = m.lam * penalty + loss / s.sum()
        elif name == "least squares":
            self.objective = m.lam * penalty + 0.5 * loss
        else:
            self.objective = penalty + m.C * loss

    def optimum(self, constraints):
        problem = cp.Problem(cp.Minimize(self.objective), self.given + constraints)
        return problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)


def at_first_row(page):
    """f(x_0) on the page, whatever f is written in."""
    kept = X[WEIGHTS > 0]
    f = page.variables.get("w", page.variables.get("beta"))
    return (X[0] if f.name() == "w" else kept @ X[0]) @ f


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALL)
def test_a_constraint_that_binds(name, form):
    page, own = page_of(name, form), Own(name)
    free = page.solve()
    most = round(float(at_first_row(page).value) - 0.3, 2)
    best = own.optimum([X[0] @ own.w <= most])
    solution = page.with_constraints({"cap": at_first_row(page) <= most}).solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.kkt.holds, solution.kkt
    assert free.value < best * (1 - 1e-5)
    assert solution.value == pytest.approx(best, rel=1e-6)
    assert solution.shadow_prices["cap"] > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALL)
def test_a_constraint_that_does_not_bind_changes_nothing(name, form):
    page = page_of(name, form)
    free = page.solve()
    solution = page.with_constraints([at_first_row(page) <= 1e3]).solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.value == pytest.approx(free.value, rel=1e-6)


@pytest.mark.parametrize("side", ["at most", "at least"])
@pytest.mark.parametrize(
    ("name", "slack"),
    [(name, "xi") for name in MARGINS]
    + [(name, slack) for name in RESIDUALS for slack in ("xi", "xi_star")]
    + [("huber", "u")],
)
def test_a_constraint_on_the_slack(name, slack, side):
    page, own = page_of(name, "weights"), Own(name)
    page.solve()
    v, mine = page.variables[slack], own.slack[slack]
    level = float(v.value.sum())
    if side == "at most":  # halfway to what no point goes below; u has no least sum
        least = cp.Problem(cp.Minimize(cp.sum(mine)), own.given).solve() if slack != "u" else -1.0
        level = 0.5 * (level + max(least, level - 2.0))
    else:
        level += 0.4 * float(np.abs(v.value).sum())

    def given(x):
        return cp.sum(x) <= level if side == "at most" else cp.sum(x) >= level

    best, narrowed = own.optimum([given(mine)]), page.with_constraints([given(v)])
    solution = narrowed.solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.value == pytest.approx(best, rel=1e-6)
    assert solution.value == pytest.approx(float(narrowed.problem.objective.value), rel=1e-12)


@pytest.mark.parametrize("name", RESIDUALS)
def test_every_slack_is_as_small_as_the_point_allows(name):
    page = page_of(name, "weights")
    solution = page.with_constraints({"cap": at_first_row(page) <= -0.5}).solve()
    v = page.variables
    r = (TARGETS - X @ solution.weights - solution.intercept)[WEIGHTS > 0]
    width = {"huber": 0.5}.get(name, 0.2 if name.startswith("svr") else 0.0)
    assert v["xi"].value == pytest.approx(np.maximum(r - width, 0.0), abs=1e-12)
    assert v["xi_star"].value == pytest.approx(np.maximum(-r - width, 0.0), abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [HARD, kq.Perceptron()], ids=["hard", "perceptron"])
def test_hard_margins(method, form):
    apart = X + 4.0 * LABELS[:, None] * [1.0, -0.5]
    page, w, b = method.primal(apart, LABELS, form=form), cp.Variable(2), cp.Variable()
    page.solve()
    f = page.variables["w"] if form == "weights" else apart.T @ page.variables["beta"]
    most = float(f.value[0]) - 0.05
    given = [cp.multiply(LABELS, apart @ w + b) >= 1, w[0] <= most]
    given += [] if method.intercept == "free" else [b == 0]
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), given).solve(solver="CLARABEL")
    solution = page.with_constraints([f[0] <= most]).solve()
    assert solution.certificate.certified
    assert solution.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("method", "y"),
    [(kq.NuSVM(nu=0.3), LABELS), (kq.NuSVR(nu=0.3), TARGETS), (kq.OneClassSVM(nu=0.3), None)],
    ids=["nu-svm", "nu-svr", "one class"],
)
def test_what_holds_rho_or_epsilon_refuses(method, y, form):
    page = method.primal(X, form=form) if y is None else method.primal(X, y, form=form)
    with pytest.raises(kq.InputError, match="rho or epsilon takes no constraints"):
        page.with_constraints([at_first_row_of(page) <= 0])


@pytest.mark.parametrize("rows", [X, X[:, :1], np.ones((24, 1))], ids=["two", "one", "constant"])
@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize(
    ("method", "y"),
    [
        (kq.QuantileRegression(C=np.inf), TARGETS),
        (replace(SVR, C=np.inf), TARGETS),
        (kq.LogisticRegression(C=np.inf), LABELS),
        (kq.RegularizedLeastSquares(lam=0.0), TARGETS),
    ],
    ids=["quantile", "svr", "logistic", "least squares"],
)
def test_what_has_no_penalty_refuses(method, y, intercept, rows):
    page = replace(method, intercept=intercept).primal(rows, y)
    with pytest.raises(kq.InputError, match="need a penalty"):
        page.with_constraints([page.variables["w"] >= 0])


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize(
    "method", [SVR, kq.QuantileRegression(), kq.SoftMarginSVM()], ids=["svr", "quantile", "svm"]
)
def test_constraints_that_contradict_each_other_end_with_a_proof(method, intercept):
    y = LABELS if isinstance(method, kq.SoftMarginSVM) else TARGETS
    page = replace(method, intercept=intercept).primal(X, y)
    w, xi = page.variables["w"], page.variables["xi"]
    for given in ({"size": w <= 1, "sum": cp.sum(w) >= 3}, {"budget": cp.sum(xi) <= -1}):
        found = page.with_constraints(given).solve()
        assert isinstance(found, kq.Infeasible)
        assert found.status.name == "INFEASIBLE"


@pytest.mark.parametrize("intercept", ["penalized", "none"])
def test_a_constant_feature_has_its_size_where_no_free_intercept_takes_it(intercept):
    page = kq.HardMarginSVM(intercept=intercept).primal(np.ones((24, 1)), LABELS)
    found = page.with_constraints({"sign": page.variables["w"] >= 0.01}).solve()
    assert isinstance(found, kq.Infeasible)


def at_first_row_of(page):
    return page.variables.get("w", page.variables.get("beta"))[0]


# --- no bound says more than it proves ------------------------------------------------------------


def quantile_with_slack():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(12, 2))
    y = rows[:, 0] + rng.normal(size=12)
    page = kq.QuantileRegression(C=2, tau=0.7).primal(rows, y)
    return page, page.with_constraints([cp.sum(page.variables["xi_star"]) >= 0.01]), y


def test_a_multiplier_on_the_lower_slack_certifies_nothing_wrong():
    page, narrowed, y = quantile_with_slack()
    v, best = page.variables, narrowed.problem.solve(solver="CLARABEL")
    v["w"].save_value(np.zeros(2))
    v["b"].save_value(np.array(0.0))
    v["xi"].save_value(np.maximum(y, 0))
    v["xi_star"].save_value(np.maximum(-y, 0))
    s, c = narrowed.solution(), narrowed.constraints["constraint 0"]
    lift = (s.value - s.certificate.dual_value) / 0.01
    for more in (lift, s.value / 0.01, 1e6):
        c.save_dual_value(np.asarray(float(c.dual_value) + more))
        found = narrowed.solution().certificate
        assert not found.certified
        assert found.dual_value <= best * (1 + 1e-7)


SLACKS = [("svr", "xi"), ("quantile", "xi"), ("quantile", "xi_star"), ("huber", "u")]
SLACKS += [("huber", "xi"), ("huber", "xi_star"), ("squared hinge", "xi"), ("hinge", "xi")]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "slack"), SLACKS)
def test_no_multiplier_on_a_slack_bounds_above_the_optimum(name, slack, seed):
    rng, page = np.random.default_rng(seed), page_of(name, "weights")
    page.solve()
    v = page.variables[slack]
    rows = rng.normal(size=(2, v.size))
    narrowed = page.with_constraints({"rows": rows @ v <= rows @ v.value - 0.1})
    solution = narrowed.solve()
    assert solution.certificate.certified
    risk, c = narrowed.risk(), narrowed.constraints["rows"]
    for scale in (0.0, 0.1, 1.0, 10.0):
        c.save_dual_value(c.dual_value * scale + scale * rng.uniform(size=2))
        pull = pull_of([c], narrowed.variables)
        for beta in (np.zeros(risk.n), page.read(risk).beta, rng.normal(size=risk.n)):
            bound = lower_bound(risk, beta, pull, in_weights=True)
            assert bound <= solution.value * (1 + 1e-6), (scale, bound)


@pytest.mark.parametrize("name", ["M", "xi_star", "u", "rho", "theta", "p"])
def test_a_slope_in_any_other_variable_leaves_no_bound_by_arithmetic(name):
    page = page_of("hinge", "weights")
    risk, beta = page.risk(), np.zeros(int((WEIGHTS > 0).sum()))
    flat = {"f": np.zeros(2), "b": np.zeros(1), name: np.zeros(1)}
    assert lower_bound(risk, beta, Pull(0.0, flat, 0.0), in_weights=True) == 0.0
    steep = {**flat, name: np.ones(1)}
    assert lower_bound(risk, beta, Pull(0.0, steep, 0.0), in_weights=True) == -np.inf


def test_the_value_under_a_bound_on_the_quadratic_part_is_that_of_the_page():
    page, own = page_of("huber", "weights"), Own("huber")
    narrowed = page.with_constraints([page.variables["u"] <= 0.1])
    best = own.optimum([own.slack["u"] <= 0.1])
    assert page.solve().value < best * (1 - 1e-3)
    narrowed.problem.solve(solver="CLARABEL")
    for solution in (narrowed.solution(), narrowed.solve()):
        assert solution.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", ["p", "theta"])
def test_the_engines_own_primal_takes_constraints_on_any_of_its_variables(name):
    risk = page_of("hinge", "weights").risk()
    page = risk.primal()
    free = page.solve().value
    v = page.variables[name]
    narrowed = page.with_constraints([v >= v.value + 0.2])
    literal = narrowed.problem.solve(solver="CLARABEL")
    solution = narrowed.solution()
    assert literal > free * (1 + 1e-6)
    assert solution.certificate.dual_value <= literal * (1 + 1e-7)
    assert solution.value == pytest.approx(literal, rel=1e-6)
