"""Constraints of one's own: the optimum, the proof, the prices, and what is gone."""

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * RNG.normal(size=60) > 0, 1, -1)
METHODS = {
    "plain": {},
    "squared": {"slack_power": 2},
    "power 1.5": {"slack_power": 1.5},
    "penalised": {"intercept": "penalized"},
    "no intercept": {"intercept": "none"},
    "tiny C": {"C": 1e-3},
    "large C": {"C": 1e4},
    "weighted": {"class_weight": "balanced"},
}


def page_of(name, form):
    kernel = "linear" if form == "weights" else "rbf"
    return kq.SoftMarginSVM(kernel=kernel, **METHODS[name]).primal(X, Y, form=form)


def constraints_on(page, form):
    """Bind at the optimum: signs of the weights, or a box on the coefficients."""
    if form == "weights":
        w = page.variables["w"]
        return {"sign": w >= 0, "pair": w[0] + w[2] <= 1.0}
    size = np.abs(page.solve().beta).max()
    return {"box": cp.abs(page.variables["beta"]) <= 0.4 * size}


@pytest.mark.parametrize("form", ["weights", "coefficients"])
@pytest.mark.parametrize("name", METHODS)
def test_the_answer_is_that_of_the_literal_problem_with_a_proof(name, form):
    page = page_of(name, form)
    narrowed = page.with_constraints(constraints_on(page, form))
    solution = narrowed.solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.certificate.feasible
    assert solution.kkt.holds, solution.kkt
    assert kq.check_kkt(solution).holds
    assert solution.value > page.solve().value
    literal = narrowed.problem.solve(solver="CLARABEL")
    assert solution.value == pytest.approx(literal, rel=1e-6)


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS", "SCS", "OSQP"])
def test_every_solver_serves(solver):
    page = page_of("plain", "weights")
    want = page.with_constraints(constraints_on(page, "weights")).solve(solver="CLARABEL").value
    solution = page.with_constraints(constraints_on(page, "weights")).solve(solver=solver)
    assert solution.certificate.certified
    assert solution.value == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
def test_features_far_from_the_origin_change_nothing(shift):
    want = None
    page = kq.SoftMarginSVM().primal(X + shift, Y)
    solution = page.with_constraints([page.variables["w"] >= 0]).solve()
    near = kq.SoftMarginSVM().primal(X, Y)
    want = near.with_constraints([near.variables["w"] >= 0]).solve()
    assert solution.certificate.certified
    assert solution.value == pytest.approx(want.value, rel=1e-6)
    np.testing.assert_allclose(solution.weights, want.weights, atol=1e-5)


def test_a_shadow_price_is_the_slope_of_the_optimum():
    page = page_of("plain", "weights")
    w = page.variables["w"]

    def at(limit):
        return page.with_constraints({"limit": w[0] <= limit}).solve(tol=1e-9)

    solution, h = at(0.5), 1e-3
    price = float(solution.shadow_prices["limit"])
    assert price > 0
    assert price == pytest.approx((at(0.5 - h).value - at(0.5 + h).value) / (2 * h), rel=1e-3)


def test_f_at_chosen_points_and_equalities():
    page = page_of("plain", "weights")
    w, b = page.variables["w"], page.variables["b"]
    point = np.array([0.3, -0.2, 0.1, 1.0])
    solution = page.with_constraints({"through": point @ w + b == 0.25}).solve()
    assert solution.certificate.certified
    assert solution.decision_function([point]) == pytest.approx([0.25], abs=1e-6)


@pytest.mark.parametrize("form", ["cone", "norm"])
def test_a_ball_around_the_origin(form):
    page = page_of("plain", "weights")
    w = page.variables["w"]
    ball = cp.SOC(cp.Constant(0.5), w) if form == "cone" else cp.norm(w) <= 0.5
    solution = page.with_constraints({"ball": ball}).solve()
    assert solution.certificate.certified
    assert np.linalg.norm(solution.weights) == pytest.approx(0.5, rel=1e-6)


def test_a_hard_margin_takes_constraints():
    apart, y = np.array([[0.0, 0], [2, 2], [2, 0], [3, 0]]), [-1, -1, 1, 1]
    page = kq.HardMarginSVM().primal(apart, y)
    w = page.variables["w"]
    solution = page.with_constraints({"level": w[0] + 2 * w[1] == -3.0}).solve()
    assert solution.certificate.certified
    assert w.value[0] + 2 * w.value[1] == pytest.approx(-3.0, abs=1e-7)
    assert solution.value > kq.HardMarginSVM().solve(apart, y).value


def test_variables_of_ones_own_are_welcome():
    page = page_of("plain", "weights")
    w, t = page.variables["w"], cp.Variable(4, name="t")
    solution = page.with_constraints({"size": cp.sum(t) <= 1.0, "upper": w <= t, "lower": -t <= w})
    found = solution.solve()
    assert np.abs(found.weights).sum() == pytest.approx(1.0, abs=1e-6)
    assert found.kkt.holds


def test_what_rests_on_the_representer_theorem_is_gone():
    page = page_of("plain", "weights")
    solution = page.with_constraints([page.variables["w"] >= 0]).solve()
    for name in ("alpha", "beta", "support", "intercept_interval"):
        with pytest.raises(AttributeError, match="constraints of your own"):
            getattr(solution, name)
    assert solution.predict(X[:3]).tolist()
    kernel = page_of("plain", "coefficients")
    boxed = kernel.with_constraints([kernel.variables["beta"] <= 0.1]).solve()
    assert boxed.beta.max() <= 0.1 + 1e-9
    with pytest.raises(AttributeError, match="has none"):
        page.solve().shadow_prices  # noqa: B018  # the attribute is what is tested


def test_constraints_that_contradict_each_other_end_with_a_proof():
    page = page_of("plain", "weights")
    w = page.variables["w"]
    result = page.with_constraints({"high": w >= 1, "low": w <= -1}).solve()
    assert isinstance(result, kq.Infeasible)
    assert result.status is kq.Status.INFEASIBLE
    assert "high, low" in str(result)
    assert result.proof.excess > 0
    high, low = result.proof.multipliers["high"], result.proof.multipliers["low"]
    assert (high >= -1e-9).all()
    np.testing.assert_allclose(high, low, atol=1e-6)


def test_a_wrong_answer_is_not_certified_and_no_bound_is_violated():
    page = page_of("plain", "weights")
    narrowed = page.with_constraints({"sign": page.variables["w"] >= 0})
    want = narrowed.solve(tol=1e-9).value
    rng = np.random.default_rng(1)
    for scale in (1e-3, 1e-2, 0.1):
        narrowed.solve()
        for variable in narrowed.problem.variables():
            variable.save_value(variable.value * (1 + scale * rng.normal(size=variable.shape)))
        bound = narrowed.solution().certificate
        assert bound.dual_value <= want * (1 + 1e-9)
        assert not bound.certified
    narrowed.solve()
    sign = narrowed.constraints["sign"]
    for change in (0.0, -1.0, 1.2):
        held = sign.dual_value.copy()
        sign.save_dual_value(change * held)
        bound = narrowed.solution().certificate
        assert bound.dual_value <= want * (1 + 1e-9)
        assert not bound.certified
        sign.save_dual_value(held)


def test_a_stopped_run_says_so():
    page = page_of("plain", "coefficients")
    narrowed = page.with_constraints({"box": cp.abs(page.variables["beta"]) <= 0.05})
    solution = narrowed.solve(solver="CLARABEL", max_iter=2)
    assert not solution.certificate.certified
    assert solution.status in (kq.Status.LIMIT, kq.Status.NOT_CERTIFIED)


def test_an_earlier_solution_is_checked_at_its_own_point():
    page = page_of("plain", "weights")
    narrowed = page.with_constraints({"sign": page.variables["w"] >= 0})
    first = narrowed.solve()
    narrowed.parameters["C"].value = 5.0
    second = narrowed.solve()
    assert second.method.C == 5.0
    assert kq.check_kkt(first).holds
    assert kq.check_kkt(second).holds
    assert narrowed.parameters["C"].value == 5.0


def test_what_cannot_be_a_constraint_is_refused():
    page = page_of("plain", "weights")
    w = page.variables["w"]
    for bad, match in (
        ([3], "must be a cvxpy constraint"),
        ([cp.norm(w) >= 1], "not convex"),
        ({"margin": w >= 0}, "'margin' is taken"),
    ):
        with pytest.raises(kq.InputError, match=match):
            page.with_constraints(bad)
    with pytest.raises(kq.InputError, match="on the primal"):
        kq.SoftMarginSVM().dual(X, Y).with_constraints([])
    hard = kq.HardMarginSVM().primal([[0.0], [1.0]], [-1, 1], form="max_margin")
    with pytest.raises(kq.InputError, match="not 'max_margin'"):
        hard.with_constraints([hard.variables["w"] >= 0])
    with pytest.raises(kq.InputError, match="no values"):
        page.with_constraints([w >= 0]).solution()
