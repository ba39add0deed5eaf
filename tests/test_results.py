"""What a result shows, refuses and says of others."""

import math

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.errors import SolverFailed

X = [[0.0], [1.0], [3.0], [4.0]]
Y = [-1, -1, 1, 1]


def overlapping(n=60, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    return features, np.where(features[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


def test_check_kkt_of_an_infeasible_result_says_so():
    result = kq.HardMarginSVM().solve([[0.0], [1.0], [2.0]], [-1, 1, -1])
    with pytest.raises(kq.InputError, match="no plane separates"):
        kq.check_kkt(result)


def test_an_infeasible_proof_is_in_the_callers_rows():
    result = kq.HardMarginSVM().solve(
        [[9.0], [0.0], [1.0], [2.0]], [1, -1, 1, -1], sample_weight=[0, 1, 1, 1]
    )
    assert isinstance(result, kq.Infeasible)
    np.testing.assert_allclose(result.proof.weights, [0, 0.5, 1, 0.5], atol=1e-12)


def test_assert_kkt_raises_with_the_report():
    page = kq.SoftMarginSVM(C=10).dual(X, Y)
    page.solve()
    kq.assert_kkt(page)
    page.variables["alpha"].value = [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(kq.NotCertified, match="KKT conditions do not hold"):
        kq.assert_kkt(page)


def test_the_user_may_solve_the_page_literally():
    page = kq.SoftMarginSVM(C=10).primal(X, Y)
    page.problem.solve(solver="CLARABEL")
    solution = page.solution()
    assert solution.solver == "CLARABEL"
    assert solution.certificate.certified
    assert solution.value == pytest.approx(0.5, rel=1e-6)


def test_a_risk_solves_itself():
    K = kq.Gram.dense(np.eye(4))
    risk = kq.RegularizedRisk(K, np.array([1.0, 1.0, 1.0, -1.0]), 10.0, kq.losses.Hinge())
    for form in ("primal", "dual"):
        solution = risk.solve(form, solver="CLARABEL")
        assert solution.value == pytest.approx(1.5, rel=1e-6)
        assert solution.intercept == pytest.approx(0.5, abs=1e-6)
        with pytest.raises(kq.InputError, match="no kernel"):
            solution.predict([[1.0]])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"costs": 0.0}, "costs must be positive"),
        ({"costs": [1.0]}, r"costs must have shape \(2,\)"),
        ({"targets": [1.0, math.nan]}, "targets must be finite; row 1"),
        ({"offset": "fre"}, "offset must be 'free', 'none'"),
    ],
)
def test_a_risk_refuses_what_it_cannot_mean(arguments, match):
    given = {"targets": [1.0, -1.0], "costs": 1.0, "offset": "free"} | arguments
    with pytest.raises(kq.InputError, match=match):
        kq.RegularizedRisk(
            kq.Gram.dense(np.eye(2)),
            np.array(given["targets"]),
            given["costs"],
            kq.losses.Hinge(),
            given["offset"],
        )


def test_a_comparison_tells_a_flat_optimum_from_a_wrong_one():
    svm = kq.SoftMarginSVM(C=10)
    twice, labels = [[1.0], [1.0], [-1.0]], [1, 1, -1]
    first = svm.dual(twice, labels)
    first.solve()
    first.variables["alpha"].value = [0.5, 0.0, 0.5]
    second = svm.dual(twice, labels)
    second.solve()
    second.variables["alpha"].value = [0.0, 0.5, 0.5]
    flat = kq.compare([first.solution(), second.solution()])
    assert flat.agree
    assert not flat.same_multipliers
    assert "all are optimal" in flat.verdict
    stopped = kq.SoftMarginSVM(kernel="rbf").solve(*overlapping(), solver="CLARABEL", max_iter=2)
    solved = kq.SoftMarginSVM(kernel="rbf").solve(*overlapping())
    assert "disagree" in str(kq.compare([solved, stopped]))


@pytest.mark.parametrize("bad", [[], [3]])
def test_compare_wants_solutions_of_one_data_set(bad):
    with pytest.raises(kq.InputError):
        kq.compare(bad)


def test_compare_refuses_results_of_other_problems():
    one = kq.SoftMarginSVM(C=1).solve(X, Y)
    for other in (
        kq.SoftMarginSVM(C=3).solve(X, Y),
        kq.SoftMarginSVM(C=1).solve([[0.0], [1.0], [3.0], [5.0]], Y),
        kq.HardMarginSVM().solve([[0.0], [1.0], [2.0]], [-1, 1, -1]),
    ):
        with pytest.raises(kq.InputError, match="compare takes"):
            kq.compare([one, other])


def test_options_that_a_solver_does_not_know_are_named():
    with pytest.raises(SolverFailed, match="are 'foo' options of CLARABEL"):
        kq.SoftMarginSVM().solve(X, Y, solver="CLARABEL", foo=3)


def test_a_page_that_cvxpy_found_unbounded_says_so():
    page = kq.HardMarginSVM().dual([[0.0], [1.0], [2.0]], [-1, 1, -1])
    page.problem.solve(solver="CLARABEL")
    with pytest.raises(kq.InputError, match=r"status is 'unbounded'"):
        page.solution()
    assert isinstance(page.solve(), kq.Infeasible)


def test_an_infeasible_result_has_no_optimum_to_show():
    result = kq.HardMarginSVM().solve([[0.0], [1.0], [2.0]], [-1, 1, -1])
    with pytest.raises(AttributeError, match="no plane separates"):
        result.value  # noqa: B018  # the attribute is what is tested
    with pytest.raises(kq.NotCertified, match="no plane separates"):
        result.raise_if_not_certified()


def test_a_frame_with_other_columns_is_refused_by_every_kernel():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0.0, 1.0, 3.0, 4.0], "b": [1.0, 0.0, 0.0, 2.0]})
    for kernel in ("linear", "rbf"):
        solution = kq.SoftMarginSVM(kernel=kernel).solve(frame, Y)
        solution.predict(frame)
        with pytest.raises(kq.InputError, match="columns"):
            solution.predict(frame[["b", "a"]])


def test_a_class_weight_is_read_once():
    given = {1: 2.0, -1: 1.0}
    svm = kq.SoftMarginSVM(class_weight=given)
    given[1] = 99.0
    assert svm.class_weight == {1: 2.0, -1: 1.0}
    assert svm == kq.SoftMarginSVM(C=1.0, class_weight={-1: 1.0, 1: 2.0})


def test_small_data_at_a_large_C_are_certified():
    points, labels = [[2.0, 3], [1, 3], [3, 3], [1, 1], [1, 2]], [0, 0, 0, 0, 1]
    solution = kq.SoftMarginSVM(C=1e5, kernel="rbf").solve(points, labels)
    assert solution.certificate.certified
    assert kq.check_kkt(solution).holds


@pytest.mark.parametrize("q", [1.5, 3.0])
def test_the_literal_dual_determines_the_multiplier_of_lower(q):
    features, y = overlapping(20)
    page = kq.SoftMarginSVM(slack_power=q).dual(features, y)
    page.problem.solve(solver="CLARABEL")
    literal = page.constraints["lower"].dual_value
    page.solve(solver="CLARABEL")
    # a power cone leaves 2e-4 in a multiplier at its default; split in two it would be off by 1
    np.testing.assert_allclose(literal, page.constraints["lower"].dual_value, atol=1e-3)


@pytest.mark.parametrize("tol", [1e-30, 1e-17])
def test_rounding_is_no_proof(tol):
    solution = kq.SoftMarginSVM().solve(*overlapping(), tol=tol)
    assert solution.certificate.relative_gap > tol
    assert not solution.certificate.certified


def test_sets_are_found_when_somebody_looks_and_once(monkeypatch):
    import kernelqp.solution as module

    asked, find = [], module.find_support
    monkeypatch.setattr(module, "find_support", lambda *args: asked.append(1) or find(*args))
    solution = kq.SoftMarginSVM(C=10).solve(X, Y)
    assert not asked
    assert solution.support is solution.support
    assert solution.intercept_interval is solution.intercept_interval
    assert len(asked) == 1
    assert not solution.support.support_vectors.flags.writeable


def test_what_is_found_later_is_that_of_the_solve():
    data = overlapping()
    page = kq.SoftMarginSVM(C=0.1, kernel=kq.RBF(gamma=1.0)).dual(*data)
    early = page.solve()
    page.parameters["C"].value = 50.0
    late = page.solve()
    page.variables["alpha"].value = np.zeros(60)
    for solution, C in ((early, 0.1), (late, 50.0)):
        fresh = kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=1.0)).solve(*data)
        for name in ("support_vectors", "elbow", "left", "right", "undecided"):
            found, wanted = getattr(solution.support, name), getattr(fresh.support, name)
            np.testing.assert_array_equal(found, wanted)
        assert solution.intercept_interval == pytest.approx(fresh.intercept_interval)
    assert early.support.support_vectors.size > late.support.support_vectors.size


@pytest.mark.parametrize("solver", ["native", "CLARABEL"])
def test_a_solution_keeps_no_more_than_it_will_show(solver):
    data = overlapping(600)
    solution = kq.SoftMarginSVM(C=1.0, kernel=kq.RBF(gamma=1.0)).dual(*data).solve(solver=solver)
    if solver != "native":  # its K was formed as a whole
        assert not solution._later
    low, high = solution.intercept_interval
    assert low <= solution.intercept <= high
    assert solution.support.support_vectors.size
    assert not solution._later
