"""The ball penalty in the engine, for every loss, and ridge regression in a ball."""

import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import kernelqp as kq
from kernelqp import losses

X, Y = load_diabetes(return_X_y=True)
X, Y = (X / X.std(axis=0))[:120], ((Y - Y.mean()) / Y.std())[:120]
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
LOSSES = {
    "half squared": losses.HalfSquared(),
    "tube": losses.EpsilonInsensitive(0.2),
    "squared tube": losses.SquaredEpsilonInsensitive(0.1),
    "pinball": losses.Pinball(0.3),
    "huber": losses.Huber(0.5),
    "hinge": losses.Hinge(),
    "squared hinge": losses.SquaredHinge(),
    "logistic": losses.Logistic(),
    "power": losses.PowerHinge(1.5),
}
KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.05)}
INTERCEPTS = ("free", "penalized", "none")
IDENTITY, CORNER = np.eye(2), np.array([3.0, 4.0])

every_loss = pytest.mark.parametrize("name", LOSSES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def ball(name, kernel, offset, radius):
    loss = LOSSES[name]
    targets = np.where(Y > 0.1, 1.0, -1.0) if loss.margin else Y
    gram = kq.Gram.of(KERNELS[kernel], X)
    return kq.BallRisk(kq.RegularizedRisk(gram, targets, 1.0, loss, offset), radius)


def literal(page):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page.problem.solve(solver="CLARABEL")
    return float(page.problem.value)


# --- the engine -----------------------------------------------------------------------------------


@every_loss
@every_kernel
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_every_loss_in_a_ball_meets_the_cone_program(name, kernel, offset, radius):
    problem = ball(name, kernel, offset, radius)
    value = literal(problem.dual())
    for page in (problem.primal(), problem.dual()):
        solution = page.solve()
        assert solution.status is kq.Status.CERTIFIED, solution.certificate
        assert solution.value == pytest.approx(value, rel=1e-5)
        norm2 = solution.origin[1].function.norm2
        assert norm2 <= radius**2 * (1 + 1e-12)


@every_loss
def test_a_ball_that_does_not_bind_leaves_the_unpenalised_optimum(name):
    problem = ball(name, "linear", "free", 1e3)
    solution = problem.primal().solve()
    assert solution.certificate.certified
    assert solution.value == pytest.approx(literal(problem.primal()), rel=1e-5)
    assert solution.multiplier <= 1e-5 * solution.value


@pytest.mark.parametrize("name", ["half squared", "tube", "hinge"])
@every_kernel
def test_what_cvxpy_solved_is_certified(name, kernel):
    page = ball(name, kernel, "free", 0.3).primal()
    value = literal(page)
    given = page.solution()
    assert given.certificate.certified
    assert given.value == pytest.approx(value, rel=1e-6)
    assert page.solve().multiplier == pytest.approx(given.multiplier, rel=1e-3)


@every_loss
def test_the_multiplier_is_the_slope_of_the_optimum_in_the_radius(name):
    near, at, far = (ball(name, "linear", "free", r).solve() for r in (0.299, 0.3, 0.301))
    slope = (near.certificate.primal_value - far.certificate.primal_value) / 0.002
    assert at.multiplier == pytest.approx(slope, rel=1e-2)


@every_loss
def test_a_wrong_answer_is_refused_and_blamed(name):
    problem = ball(name, "linear", "none", 0.3).centred
    from kernelqp.ball import certify_in_ball

    right = problem.solve(tol=1e-8).origin[1]
    good = kq.Candidate(beta=right.beta, function=right.function, theta=right.theta)
    assert certify_in_ball(problem, good, 1e-6).certificate.certified
    far = kq.Candidate(beta=right.beta, function=right.function.scaled(1.2), theta=right.theta)
    wrong = certify_in_ball(problem, far, 1e-6).certificate
    assert wrong.blame in ("stationarity", "complementarity")
    turned = right.function.scaled(-1.0)
    bad = certify_in_ball(problem, kq.Candidate(function=turned, theta=right.theta), 1e-6)
    assert not bad.certificate.certified
    optimum = problem.solve(tol=1e-8).value
    assert bad.certificate.dual_value <= optimum * (1 + 1e-7) <= bad.certificate.primal_value


def test_the_identity_of_the_gap():
    """P − D = (R ‖f_β‖ − <f, f_β>) + Σ c FY at any balanced β in its domain."""
    problem = ball("tube", "rbf", "none", 0.7)
    risk, rng = problem.risk, np.random.default_rng(0)
    beta = rng.uniform(-1.0, 1.0, risk.n)
    function = risk.function(rng.normal(size=risk.n))
    function = function.scaled(0.5 / math.sqrt(function.norm2))
    dual = risk.function(beta)
    p = risk.predictions(function, np.zeros(0))
    rows = risk.costs * risk.loss.residual(risk.targets, p, -beta / risk.costs)
    gap = problem.primal_value(function, np.zeros(0)) - problem.dual_value(dual)
    stationary = 0.7 * math.sqrt(dual.norm2) - function.values @ beta
    assert gap == pytest.approx(stationary + rows.sum(), rel=1e-12)
    assert problem.primal_value(function.scaled(2.0), np.zeros(0)) == math.inf


def test_what_makes_no_sense_in_a_ball_is_refused():
    risk = ball("hinge", "linear", "free", 1.0).risk
    for radius in (-1.0, math.inf, math.nan, "a", None, True, 1e300):
        with pytest.raises(kq.InputError, match="radius"):
            kq.BallRisk(risk, radius)
    with pytest.raises(kq.InputError, match="holds a RegularizedRisk"):
        kq.BallRisk(None, 1.0)
    with pytest.raises(kq.InputError, match="hard margin"):
        kq.BallRisk(kq.RegularizedRisk(risk.gram, risk.targets, 1.0, losses.HardMargin()), 1.0)
    with pytest.raises(kq.InputError, match="form"):
        ball("hinge", "linear", "free", 1.0).solve(form="both")
    with pytest.raises(kq.InputError, match="no options"):
        ball("hinge", "linear", "free", 1.0).dual().solve(solver="CLARABEL", max_iter=3)
    with pytest.raises(AttributeError, match="ball"):
        ball("hinge", "linear", "free", 1.0).solve().support  # noqa: B018


# --- ridge regression in a ball -------------------------------------------------------------------


@pytest.mark.parametrize("form", ["weights", "coefficients", "residuals", "dual"])
@pytest.mark.parametrize(
    ("radius", "w", "value", "lam"),
    [
        (10.0, [3.0, 4.0], 0.0, 0.0),
        (5.0, [3.0, 4.0], 0.0, 0.0),
        (2.5, [1.5, 2.0], 6.25, 1.0),
        (0.0, [0.0, 0.0], 25.0, math.inf),
    ],
    ids=["inactive", "just active", "active", "zero"],
)
def test_the_textbook_example(form, radius, w, value, lam):
    """X = I, y = (3, 4): |y − w|² over the ball."""
    m = kq.ConstrainedRidge(radius=radius, intercept="none")
    page = m.dual(IDENTITY, CORNER) if form == "dual" else m.primal(IDENTITY, CORNER, form=form)
    solution = page.solve()
    assert solution.status is kq.Status.CERTIFIED
    assert solution.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(solution.predict(IDENTITY), w, atol=1e-7)
    assert solution.lam == pytest.approx(lam, abs=1e-7)
    assert m.lam(IDENTITY, CORNER) == pytest.approx(lam, abs=1e-9)
    slack = radius - math.sqrt(solution.origin[1].function.norm2)
    assert solution.multiplier * slack == pytest.approx(0.0, abs=1e-6)
    if radius == 2.5:
        assert kq.check_kkt(solution).holds


@every_kernel
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_page_and_engine_meet_in_every_form(kernel, intercept, s):
    m = kq.ConstrainedRidge(radius=0.3, kernel=KERNELS[kernel], intercept=intercept)
    forms = ["coefficients", "residuals"] + (["weights"] if kernel == "linear" else [])
    dual = m.dual(X, Y, s)
    value = literal(dual)
    assert dual.solution().certificate.certified
    for page in (dual, *(m.primal(X, Y, s, form=form) for form in forms)):
        solution = page.solve()
        assert solution.status is kq.Status.CERTIFIED
        assert solution.solver == "secular equation"
        assert solution.value == pytest.approx(value, rel=1e-6)
        assert kq.check_kkt(solution).holds
        other = page.solve(solver="native")
        assert other.certificate.certified
        assert other.value == pytest.approx(value, rel=1e-6)


@every_kernel
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])
def test_lambda_and_radius_go_both_ways(kernel, intercept, s):
    parameters = {"kernel": KERNELS[kernel], "intercept": intercept}
    for lam in (1e-3, 0.1, 10.0, 1e4):
        ridge = kq.RegularizedLeastSquares(lam=lam, **parameters)
        radius = ridge.radius(X, Y, s)
        inside = kq.ConstrainedRidge(radius=radius, **parameters)
        assert inside.lam(X, Y, s) == pytest.approx(lam, rel=1e-6)
        one, other = ridge.solve(X, Y, s), inside.solve(X, Y, s)
        assert other.lam == pytest.approx(lam, rel=1e-5)
        np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-7)
        np.testing.assert_allclose(2 * lam * one.alpha, other.alpha, atol=1e-6)


def test_the_multipliers_of_the_second_statement_are_those_of_the_notes():
    """α' = 2 ξ and w = Σ α'_i x_i/(2 λ)."""
    page = kq.ConstrainedRidge(radius=0.3, intercept="none").primal(X, Y, form="residuals")
    solution = page.solve()
    xi, alpha = page.variables["xi"].value, page.constraints["residual"].dual_value
    np.testing.assert_allclose(alpha, 2 * xi, atol=1e-9)
    np.testing.assert_allclose(X.T @ alpha / (2 * solution.lam), solution.weights, atol=1e-9)
    written = alpha.copy(), float(page.constraints["norm"].dual_value)
    literal(page)
    np.testing.assert_allclose(page.constraints["residual"].dual_value, written[0], atol=1e-4)
    assert float(page.constraints["norm"].dual_value) == pytest.approx(written[1], rel=1e-4)
    assert written[1] == pytest.approx(solution.multiplier)


def test_a_tiny_radius_has_a_huge_lambda():
    m = kq.ConstrainedRidge(radius=1e-30)
    assert m.lam(X, Y) == pytest.approx(m.solve(X, Y).lam, rel=1e-9)
    assert m.lam(X, Y) > 1e25


@pytest.mark.parametrize("form", ["coefficients", "residuals", "dual"])
@every_kernel
def test_radius_0_with_a_penalised_intercept_meets_the_kkt_conditions(kernel, form):
    m = kq.ConstrainedRidge(radius=0, kernel=KERNELS[kernel], intercept="penalized")
    assert kq.check_kkt(m.solve(X, Y, form=form)).holds


def test_beta_are_the_coefficients_of_f_in_every_form():
    m = kq.ConstrainedRidge(radius=0.3)
    solutions = [m.solve(X, Y, form=form) for form in ("weights", "residuals", "dual")]
    for s in solutions:
        np.testing.assert_allclose(X.T @ s.beta, solutions[0].weights, atol=1e-8)
    assert kq.compare(solutions).verdict == "all results agree"
    zero = kq.ConstrainedRidge(radius=0)
    both = [zero.solve(X, Y), zero.solve(X, Y, form="dual")]
    assert kq.compare(both).verdict == "all results agree"


def test_a_ball_that_does_not_bind_has_the_multiplier_0():
    solution = kq.ConstrainedRidge(radius=1e5).solve(X, Y)
    assert solution.multiplier == solution.lam == 0.0
    with pytest.raises(AttributeError, match="does not bind"):
        solution.beta  # noqa: B018


def test_a_ball_and_its_risk_print_on_one_line():
    shown = repr(ball("tube", "linear", "free", 1.0))
    assert shown.startswith("<BallRisk: radius 1 around <RegularizedRisk: EpsilonInsensitive")
    assert "\n" not in shown


def test_constraints_of_your_own_do_not_go_on_a_ball():
    page = kq.ConstrainedRidge(radius=1.0).primal(X, Y)
    with pytest.raises(kq.InputError, match="RegularizedLeastSquares"):
        page.with_constraints([page.variables["w"] >= 0])


def test_the_radius_is_a_parameter():
    page = kq.ConstrainedRidge(radius=1.0).dual(X, Y)
    page.parameters["radius"].value = 0.2
    solution = page.solve()
    assert solution.method.radius == 0.2
    direct = kq.ConstrainedRidge(radius=0.2).solve(X, Y)
    assert solution.value == pytest.approx(direct.value, rel=1e-9)


@pytest.mark.parametrize("radius", [-1.0, math.inf, math.nan, "1", True])
def test_a_radius_out_of_range_is_named(radius):
    with pytest.raises(kq.InputError, match="radius"):
        kq.ConstrainedRidge(radius=radius)


def test_without_a_penalty_there_is_no_radius():
    with pytest.raises(kq.InputError, match="lam"):
        kq.RegularizedLeastSquares(lam=0).radius(X, Y)
    with pytest.raises(kq.InputError, match="no primal"):
        kq.ConstrainedRidge(radius=1.0).primal(X, Y, form="dual")


def test_labels_are_classified_in_a_ball_too():
    labels = np.where(Y > 0, "high", "low")
    solution = kq.ConstrainedRidge(radius=0.5).solve(X, labels)
    assert solution.classes.tolist() == ["high", "low"]
    assert set(solution.predict(X)) == {"high", "low"}


@pytest.mark.parametrize("solver", ["native", "CLARABEL", "auto"])
def test_the_page_in_coefficients_holds_a_point_of_the_ball(solver):
    """Near the edge a slack of rounding in the objective is one of 1e-3 in the length of f."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] ** 2 + rng.normal(size=60)
    method = kq.ConstrainedRidge(radius=0.5, kernel=kq.RBF(gamma=1.0))
    page = method.primal(X, y, form="coefficients")
    solution = page.solve(solver=solver)
    assert page.constraints["norm"].violation() <= 1e-9
    assert page.problem.value == pytest.approx(solution.value, rel=1e-9)
    assert kq.check_kkt(page).holds
