"""Constraints of one's own: the optimum, the proof, the prices, and what is gone."""

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq
from kernelqp.constrained import settle_status
from kernelqp.lagrange_bound import lower_bound, pull_of

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
        settle_status(narrowed.problem, cp.OPTIMAL)
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


# --- what a bound must survive ------------------------------------------------------------------


def bound_of(page, narrowed):
    """Return the bound that is arithmetic on the current values and multipliers."""
    risk = page.risk()
    candidate = page.read(risk)
    pull = pull_of(list(narrowed.extra.values()), narrowed.variables)
    return lower_bound(risk, candidate.beta, pull, in_weights="w" in narrowed.variables)


CONSTRAINTS = {
    "sign": lambda w, b: w >= 0,
    "equal": lambda w, b: w[0] == w[2],
    "through": lambda w, b: w[0] + b == 0.4,
    "only b": lambda w, b: b == 0.3,
    "cone": lambda w, b: cp.SOC(cp.Constant(0.7), w),
    "norm": lambda w, b: cp.norm(w) <= 0.7,
    "norm 1": lambda w, b: cp.norm1(w) <= 0.9,
    "largest": lambda w, b: cp.max(cp.abs(w)) <= 0.4,
    "square": lambda w, b: cp.sum_squares(w) + b <= 0.5,
    "exp": lambda w, b: cp.exp(w[0]) <= 1.3,
    "broadcast": lambda w, b: cp.sum(cp.maximum(w, b)) <= 0.6,
    "norm inf": lambda w, b: cp.norm_inf(w) <= 0.4,
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_kinks_cones_and_equalities_are_certified(name):
    page = page_of("plain", "weights")
    make = CONSTRAINTS[name](page.variables["w"], page.variables["b"])
    narrowed = page.with_constraints({name: make})
    solution = narrowed.solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.value == pytest.approx(narrowed.problem.solve(solver="CLARABEL"), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_no_multiplier_whatever_gives_a_bound_above_the_optimum(name, seed):
    rng = np.random.default_rng(seed)
    page = page_of("plain", "weights")
    make = CONSTRAINTS[name](page.variables["w"], page.variables["b"])
    narrowed = page.with_constraints({name: make})
    want = narrowed.solve(tol=1e-9).value
    finite = 0
    for scale in (1e-6, 1e-2, 1.0, 100.0):
        narrowed.solve()
        for variable in narrowed.problem.variables():
            noise = rng.normal(size=variable.shape)
            variable.save_value(np.asarray(variable.value + scale * noise))
        for dual in make.dual_variables:
            held = np.asarray(dual.value)
            dual.save_value(held + scale * rng.normal(size=held.shape))
        bound = bound_of(page, narrowed)
        finite += np.isfinite(bound)
        assert bound <= want * (1 + 1e-9)
    assert finite or name in ("exp", "broadcast", "norm inf", "only b", "through")


def test_an_offset_that_no_multipliers_can_balance_gives_no_bound():
    page = kq.SoftMarginSVM(C=0.01).primal(X, Y)
    narrowed = page.with_constraints({"b": page.variables["b"] == 5})
    solution = narrowed.solve()
    assert solution.certificate.certified
    for multiplier in (10.0, -10.0, 1000.0):
        narrowed.constraints["b"].save_dual_value(np.asarray(multiplier))
        assert bound_of(page, narrowed) <= solution.value * (1 + 1e-9)


def test_a_violation_is_seen_far_from_the_origin():
    far = X + 1e6
    page = kq.SoftMarginSVM().primal(far, Y)
    page.solve()
    w, b = page.variables["w"], page.variables["b"]
    value = float(far.mean(axis=0) @ w.value + b.value)
    narrowed = page.with_constraints({"through": far.mean(axis=0) @ w + b == value + 0.5})
    narrowed.constraints["through"].save_dual_value(np.asarray(0.0))
    settle_status(narrowed.problem, cp.OPTIMAL)
    certificate = narrowed.solution().certificate
    assert not certificate.feasible
    assert not certificate.certified


def test_constraints_far_out_are_not_called_contradictions():
    page = page_of("plain", "weights")
    w = page.variables["w"]
    solution = page.with_constraints({"far": 1e-5 * w[0] >= 1}).solve()
    assert not isinstance(solution, kq.Infeasible)
    small = X * [1e-7, 1, 1, 1]
    page = kq.SoftMarginSVM(C=1e4).primal(small, Y)
    solution = page.with_constraints({"size": page.variables["w"][0] >= 1e7}).solve()
    assert solution.certificate.certified


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e6])
def test_contradictions_are_proved_in_every_unit(unit):
    page = kq.SoftMarginSVM().primal(unit * X, Y)
    w, b = page.variables["w"], page.variables["b"]
    f = unit * X[0] @ w + b
    result = page.with_constraints({"above": f >= 1, "below": f <= -1}).solve()
    assert isinstance(result, kq.Infeasible)
    assert "above, below" in str(result)


def test_constraints_on_the_slack_are_a_budget():
    page = page_of("plain", "weights")
    most = 0.9 * page.solve().slack[:20].sum()
    xi = page.variables["xi"]
    narrowed = page.with_constraints({"budget": cp.sum(xi[:20]) <= most, "floor": xi[30] >= 2})
    solution = narrowed.solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.kkt.holds
    assert xi.value[:20].sum() <= most * (1 + 1e-6)
    impossible = page.with_constraints({"budget": cp.sum(xi[:20]) <= 0.0}).solve()
    assert isinstance(impossible, kq.Infeasible)
    assert not kq.separable(X[:20], Y[:20])


def test_variables_of_ones_own_are_certified():
    page = page_of("plain", "weights")
    w, t = page.variables["w"], cp.Variable(4, name="t")
    given = {"size": cp.sum(t) <= 1.0, "upper": w <= t, "lower": -t <= w}
    solution = page.with_constraints(given).solve()
    assert solution.certificate.certified, solution.certificate
    assert solution.certificate.by_inner_solve


def test_constraints_are_added_one_after_the_other():
    page = page_of("plain", "weights")
    w = page.variables["w"]
    both = page.with_constraints([w >= 0]).with_constraints([w[0] <= 0.5])
    solution = both.solve()
    assert solution.certificate.certified
    assert list(solution.shadow_prices) == ["constraint 0", "constraint 1"]
    at_once = page.with_constraints([w >= 0, w[0] <= 0.5]).solve()
    assert solution.value == pytest.approx(at_once.value, rel=1e-8)
    assert page.with_constraints(w >= 0).solve().certificate.certified


def test_a_result_does_not_change_and_is_checked_at_its_own_parameters():
    page = page_of("plain", "weights")
    limit = cp.Parameter(value=0.5)
    narrowed = page.with_constraints({"limit": page.variables["w"][0] <= limit})
    first = narrowed.solve()
    held = first.weights.copy()
    limit.value = 0.1
    second = narrowed.solve()
    assert second.value > first.value
    np.testing.assert_array_equal(first.weights, held)
    assert kq.check_kkt(first).holds
    assert limit.value == 0.1
    with pytest.raises(ValueError, match="read-only"):
        first.weights[0] = 9.0
    with pytest.raises(kq.InputError, match="parameter without a value"):
        page.with_constraints([page.variables["w"][0] <= cp.Parameter()])


def test_the_better_of_two_answers_is_kept(monkeypatch):
    from kernelqp import constrained as module

    calls = []

    def run(problem, solver, tolerance, options):
        calls.append(tolerance)
        if len(calls) > 1:
            raise kq.errors.SolverFailed("second pass")
        return original(problem, solver, 1e-2, {})

    original = module.run
    monkeypatch.setattr(module, "run", run)
    page = page_of("plain", "weights")
    solution = page.with_constraints([page.variables["w"] >= 0]).solve(tol=1e-12)
    assert len(calls) == 2
    assert np.isfinite(solution.value)


def test_a_constraint_in_nothing_of_the_page_is_refused():
    with pytest.raises(kq.InputError, match="none of this page's variables"):
        page_of("plain", "weights").with_constraints([cp.Variable() >= 0])
