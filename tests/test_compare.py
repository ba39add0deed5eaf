"""Several results of one problem: which agree, which are wrong, and what is not unique."""

import math
from dataclasses import replace

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.compare import unit_of_gap
from kernelqp.compared_result import worst_of
from kernelqp.errors import Status

TWICE, LABELS = [[1.0], [1.0], [-1.0]], [1, 1, -1]
RBF = kq.SoftMarginSVM(kernel=kq.RBF(gamma=0.5))


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)


@pytest.fixture(scope="module")
def solved(overlapping):
    """The optimum by two forms and two solvers."""
    return (
        RBF.primal(*overlapping).solve(solver="CLARABEL"),
        RBF.dual(*overlapping).solve(solver="OSQP"),
        RBF.dual(*overlapping).solve(solver="native"),
    )


def written_dual(alpha, svm=None, X=TWICE, y=LABELS):
    """Return the result of a dual whose variables somebody wrote."""
    page = (svm or kq.SoftMarginSVM(C=10)).dual(X, y)
    page.solve()
    page.variables["alpha"].value = alpha
    return page.solution()


def doubled(solution):
    """Return a result that claims twice the optimum, certificate and all."""
    value = 2.0 * solution.value
    claimed = replace(solution.certificate, primal_value=value, dual_value=value, gap=0.0)
    return replace(solution, value=value, certificate=claimed)


# --- what is wrong --------------------------------------------------------------------------------


def test_results_that_agree_say_so(solved):
    found = kq.compare(solved)
    assert found.agree
    assert found.unique
    assert found.wrong == ()
    assert found.verdict == "all results agree"
    assert {found.judgement(k) for k in range(3)} == {"optimal"}
    assert found.lower <= found.upper + 1e-9


@pytest.mark.parametrize(("form", "side"), [("dual", "below"), ("primal", "above")])
def test_a_run_that_was_stopped_early_is_named(solved, overlapping, form, side):
    stopped = RBF.solve(*overlapping, form=form, solver="CLARABEL", max_iter=3)
    assert stopped.status is Status.LIMIT
    found = kq.compare([solved[1], stopped, solved[2]])
    assert found.wrong == (1,)
    assert not found.agree
    assert [found.judgement(k) for k in range(3)] == ["optimal", "wrong", "optimal"]
    assert found.verdict.startswith("the values disagree: ")
    assert f"by CLARABEL is wrong, {stopped.value:.10g} is {side} " in found.verdict
    assert found.verdict.endswith("the others agree")
    assert found.same_multipliers  # of those that are right
    assert found.same_intercept


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_result_that_claims_another_optimum_is_named_even_against_one(solved, order):
    pair = [solved[0], doubled(solved[1])]
    found = kq.compare([pair[k] for k in order])
    assert found.wrong == (order.index(1),)
    assert "the dual by OSQP is wrong" in found.verdict
    assert found.upper == pytest.approx(solved[0].value, rel=1e-9)


@pytest.mark.parametrize("factor", [0.5, 1.0001, 3.0])
def test_a_value_that_is_not_that_of_its_point_is_named(solved, factor):
    found = kq.compare([solved[0], replace(solved[1], value=factor * solved[1].value)])
    assert found.wrong == (1,)


def test_a_certificate_that_is_not_that_of_its_point_is_named(solved):
    for bounds in ({"dual_value": 99.0}, {"primal_value": 1.0}):
        forged = replace(solved[1], certificate=replace(solved[1].certificate, **bounds))
        found = kq.compare([solved[0], forged, solved[2]])
        assert found.wrong == (1,)
        assert "its certificate is not that of its point" in found.verdict


def test_a_huge_gap_scale_lends_no_tolerance(solved):
    loose = replace(solved[1].certificate, gap=1.0, relative_gap=1e-12)
    off = replace(solved[1], value=0.9 * solved[1].value, certificate=loose)
    assert kq.compare([solved[0], off]).wrong == (1,)


def test_every_result_that_is_wrong_is_named(solved, overlapping):
    stopped = [
        RBF.solve(*overlapping, form=form, solver="CLARABEL", max_iter=3)
        for form in ("dual", "primal", "dual")
    ]
    found = kq.compare([stopped[0], solved[0], *stopped[1:]])
    assert found.wrong == (0, 2, 3)
    for name in (
        "the dual by CLARABEL (result 1) is wrong",
        "the primal (coefficients) by CLARABEL (result 3) is wrong",
        "the dual by CLARABEL (result 4) is wrong",
        "the other is not excluded",
    ):
        assert name in found.verdict


def test_results_with_wide_bounds_leave_the_optimum_open(overlapping):
    stopped = [
        RBF.solve(*overlapping, form=form, solver="CLARABEL", max_iter=3)
        for form in ("dual", "primal")
    ]
    found = kq.compare(stopped)
    assert found.wrong == ()
    assert not found.agree
    assert {found.judgement(k) for k in (0, 1)} == {"open"}
    assert "leave the optimum open" in found.verdict
    assert kq.compare(stopped, tol=0.1).agree


def test_one_result_agrees_with_itself_only_where_it_is_certified(solved, overlapping):
    assert kq.compare(solved[:1]).verdict == "all results agree"
    stopped = RBF.solve(*overlapping, solver="CLARABEL", max_iter=3)
    assert not kq.compare([stopped]).agree


# --- what is not unique ---------------------------------------------------------------------------


def test_duplicates_share_their_multipliers_in_any_way():
    found = kq.compare([written_dual([0.5, 0, 0.5]), written_dual([0, 0.5, 0.5])])
    assert (found.agree, found.wrong, found.unique) == (True, (), False)
    assert not found.same_multipliers
    assert found.verdict == (
        "the values agree and the multipliers differ: the optimum is not unique, all are optimal"
    )


def test_a_wrong_alpha_is_not_taken_for_another_optimum(solved, overlapping):
    X, y = overlapping
    even = np.where(y > 0, 0.3 / (y > 0).sum(), 0.3 / (y < 0).sum())  # balanced, in its box
    found = kq.compare([solved[1], written_dual(even, RBF, X, y), solved[2]])
    assert found.wrong == (1,)
    assert found.same_multipliers  # of those that are right


@pytest.mark.parametrize(
    ("svm", "X", "y", "ends"),
    [
        (
            kq.SoftMarginSVM(C=0.1, kernel=kq.RBF(gamma=1.0)),
            [[-1.0], [1.0]],
            [-1, 1],
            # f(±1) = ±C (1 − e^−4): within the margin for every b up to 1 − C (1 − e^−4)
            (-1 + 0.1 * (1 - math.exp(-4)), 1 - 0.1 * (1 - math.exp(-4))),
        ),
        (kq.SoftMarginSVM(C=0.005), [[0], [1], [2], [19]], [-1, -1, 1, 1], (-1.0, -0.9)),
    ],
)
def test_without_a_free_row_the_intercept_is_an_interval(svm, X, y, ends):
    found = kq.compare([svm.primal(X, y).solve(), svm.dual(X, y).solve(solver="CLARABEL")])
    assert found.agree
    assert found.wrong == ()
    assert not found.unique
    assert found.intercept_interval == pytest.approx(ends, abs=1e-6)
    assert "the intercept is not unique: any from" in found.verdict


def test_two_intercepts_of_one_optimum_are_both_optimal():
    svm, X, y = kq.SoftMarginSVM(C=0.005), [[0], [1], [2], [19]], [-1, -1, 1, 1]
    page = svm.primal(X, y)
    results = []
    for b in (-1.0, -0.9):
        page.solve()
        page.variables["b"].value = b
        page.variables["xi"].value = np.maximum(0.0, 1 - np.array(y) * (0.1 * np.ravel(X) + b))
        results.append(page.solution())
    found = kq.compare(results)
    assert [s.intercept for s in results] == pytest.approx([-1.0, -0.9])
    assert found.agree
    assert not found.same_intercept
    assert "the intercepts differ: the optimum is not unique" in found.verdict


def test_an_intercept_is_in_the_unit_of_the_targets():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [1e6, -2e6, 3e6, -1e6]
    ridge = kq.RegularizedLeastSquares(lam=1.0)
    first = ridge.solve(X, y)
    near = replace(first, _shown=first._shown | {"intercept": first.intercept + 1.0})
    assert kq.compare([first, near]).same_intercept
    far = replace(first, _shown=first._shown | {"intercept": first.intercept + 1e5})
    assert not kq.compare([first, far]).same_intercept


@pytest.mark.parametrize("name", ["ball_loose", "ball_two_points", "ridge_repeated_rows"])
def test_coefficients_of_f_that_differ_are_no_other_multipliers(name):
    problem = kq.load_problem(name)
    forms, solvers = ("primal", "dual", "coefficients"), ("native", "OSQP")
    results = [problem.solve(form=form, solver=solver) for form in forms for solver in solvers]
    assert kq.compare(results).verdict == "all results agree"
    if name == "ball_loose":  # f is no combination of its multipliers, and its rows repeat
        assert max(np.abs(s.beta - results[0].beta).max() for s in results) > 1e-2


def test_an_optimum_of_0_has_a_unit_too():
    X, y = [[0.0], [1.0], [2.0]], [5.0, 5.0, 5.0]
    ridge = kq.RegularizedLeastSquares(lam=1.0)
    page = ridge.primal(X, y)
    page.problem.solve(solver="CLARABEL")  # what it leaves is polished away
    found = kq.compare([page.solution(), ridge.dual(X, y).solve()])
    assert found.agree
    exact = found.solutions[0].certificate
    assert (exact.primal_value, exact.dual_value, unit_of_gap(exact)) == (0.0, 0.0, 0.0)
    left = replace(exact, primal_value=1e-30, gap=1e-30, relative_gap=1e-12)
    assert unit_of_gap(left) == pytest.approx(1e-18)


# --- the table ------------------------------------------------------------------------------------


def test_the_table_shows_every_kkt_condition_and_every_set(solved):
    found = kq.compare(solved)
    kinds = ["primal feasibility", "dual feasibility", "complementarity", "stationarity"]
    for solution, line in zip(solved, found.results, strict=True):
        assert list(line.kkt) == kinds
        assert line.kkt_holds
        assert all(0 <= value <= 1e-6 for value in line.kkt.values())
        for name in ("support_vectors", "elbow", "left", "right"):
            assert getattr(line, name) == len(getattr(solution.support, name))
        assert (line.value, line.seconds) == (solution.value, solution.seconds)
        assert line.lower <= line.upper * (1 + 1e-12)  # equal but for rounding
    shown = str(found).splitlines()
    assert len(shown) == 6
    for word in ("primal", "dual", "compl.", "station.", "support", "elbow", "seconds", "judged"):
        assert word in shown[0]
    assert shown[-2].endswith(f"<= optimum <= {found.upper:.10g}")


def test_the_worst_of_a_kind_is_its_residual_over_its_scale(overlapping):
    stopped = RBF.primal(*overlapping)
    stopped.solve(solver="CLARABEL", max_iter=3)
    report = kq.check_kkt(stopped)
    for kind in {c.kind for c in report.conditions}:
        judged = [c.value / c.scale for c in report.conditions if c.kind == kind and c.value]
        assert worst_of(report, kind) == pytest.approx(max(judged, default=0.0))
    nothing = kq.check_kkt(RBF.primal(*overlapping))
    assert worst_of(nothing, "stationarity") is None


def test_sets_that_a_method_does_not_have_are_left_out():
    X, y = [[0.0], [1.0], [2.0], [4.0]], [1.0, 2.0, 2.0, 5.0]
    ridge = kq.compare([kq.RegularizedLeastSquares().solve(X, y)]).results[0]
    assert (ridge.support_vectors, ridge.elbow, ridge.left, ridge.right) == (None,) * 4
    smooth = kq.compare([kq.SoftMarginSVM(slack_power=2).solve(X, [0, 0, 1, 1])]).results[0]
    assert smooth.support_vectors > 0
    assert smooth.elbow is None


def test_the_table_leaves_the_pages_as_they_were(overlapping):
    page = RBF.dual(*overlapping)
    first = page.solve()
    page.parameters["C"].value = 3.0
    page.solve()
    before = page.variables["alpha"].value.copy()
    assert kq.compare([first]).results[0].kkt_holds
    assert page.parameters["C"].value == 3.0
    np.testing.assert_array_equal(page.variables["alpha"].value, before)


# --- rows of weight 0, and targets far from 0 -----------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        kq.SoftMarginSVM(),
        RBF,
        kq.SupportVectorRegression(kernel="rbf"),
        kq.RegularizedLeastSquares(),
        kq.NuSVM(nu=0.3),
        kq.NuSVR(nu=0.3),
    ],
    ids=["svm", "rbf", "svr", "ridge", "nu-svm", "nu-svr"],
)
def test_a_row_of_weight_0_may_be_there_or_not(overlapping, method):
    X, y = overlapping
    weights = np.ones(60)
    weights[[0, 3]] = 0.0
    rest = np.delete(X, [0, 3], axis=0), np.delete(y, [0, 3])
    with_row, without = method.solve(X, y, weights), method.solve(*rest)
    for pair in ([with_row, without], [without, with_row]):
        found = kq.compare(pair)
        assert found.agree
        assert found.same_multipliers
        assert len(found.results) == 2


def test_multipliers_that_differ_are_seen_beside_a_row_of_weight_0():
    one = written_dual([0.5, 0.0, 0.5])
    padded = kq.SoftMarginSVM(C=10).dual([[7.0], *TWICE], [1, *LABELS], [0.0, 1.0, 1.0, 1.0])
    padded.solve()
    padded.variables["alpha"].value = [0.0, 0.5, 0.5]
    found = kq.compare([one, padded.solution()])
    assert found.agree
    assert not found.same_multipliers


@pytest.mark.parametrize("units", [0.0, 1.0, -1e3, 1e6, 1e8])  # beyond, no result is certified
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_an_interval_of_intercepts_is_seen_wherever_the_targets_lie(units, unit):
    far = units * unit
    X, y = np.zeros((4, 1)), far + unit * np.array([0.0, 0.0, 1.0, 1.0])
    m = kq.QuantileRegression(C=1)
    found = kq.compare([m.dual(X, y).solve(), m.primal(X, y).solve()])
    assert found.agree
    low, high = found.intercept_interval
    assert (low - far, high - far) == pytest.approx((0.0, unit), abs=1e-6 * unit + 1e-15 * abs(far))
    ends = []
    for b in (low, high):
        page = m.primal(X, y)
        page.solve()
        r = y - b
        for name, value in {"b": b, "xi": np.maximum(r, 0), "xi_star": np.maximum(-r, 0)}.items():
            page.variables[name].save_value(np.asarray(value))
        ends.append(page.solution())
    assert kq.compare(ends).agree
    assert not kq.compare(ends).same_intercept


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_an_intercept_that_is_unique_is_so_wherever_rows_and_targets_lie(far, overlapping):
    X = overlapping[0] + far
    y = far + overlapping[0] @ [1.0, -1.0, 0.5] + 0.1 * overlapping[1]
    m = kq.RegularizedLeastSquares()
    found = kq.compare([m.dual(X, y).solve(), m.primal(X, y).solve(solver="CLARABEL")])
    assert found.agree
    assert found.same_intercept
    assert found.intercept_interval is None


@pytest.mark.parametrize("value", [0.0, 1.0, 1e6])
def test_targets_that_are_all_equal_have_one_intercept(value):
    X, y = np.arange(4.0)[:, None], np.full(4, value)
    m = kq.QuantileRegression(C=1)
    found = kq.compare([m.dual(X, y).solve(), m.primal(X, y).solve()])
    assert found.agree
    assert found.same_intercept


# --- what is no comparison ------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [0, -1e-6, math.nan, math.inf, True, "1e-6"])
def test_a_tolerance_that_is_none_is_refused(solved, tol):
    with pytest.raises(kq.InputError, match="tol must be a positive number"):
        kq.compare(solved, tol=tol)


def test_constraints_of_your_own_make_another_problem(overlapping):
    svm = kq.SoftMarginSVM()
    page = svm.primal(*overlapping)
    bound = page.with_constraints({"short": page.variables["w"] <= 0.1})
    with pytest.raises(kq.InputError, match="other constraints"):
        kq.compare([bound.solve(), svm.solve(*overlapping)])
    assert kq.compare([bound.solve(), bound.solve(solver="ECOS")]).agree
