"""A page is built when somebody looks at it, and then it is as if it had been there all along."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_moons

import kernelqp as kq
from kernelqp.errors import InputError
from kernelqp.formulation import Formulation, Written
from kernelqp.statement import Statement

N = 30
_RNG = np.random.default_rng(5)
LABELS = np.resize([1.0, -1.0], N)
X = _RNG.normal(size=(N, 2)) + 0.7 * LABELS[:, None]
APART = X + 3.0 * LABELS[:, None]
TARGETS = X[:, 0] + _RNG.normal(size=N)
KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.5)}
INTERCEPTS = ("free", "penalized", "none")
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "absolute")


def methods_with(common):
    for q in (1, 2, 3):
        yield kq.SoftMarginSVM(C=2.0, slack_power=q, **common), X, LABELS
    yield kq.HardMarginSVM(**common), APART, LABELS
    yield kq.LogisticRegression(C=2.0, **common), X, LABELS
    yield kq.NuSVM(nu=0.4, **common), X, LABELS
    yield kq.NuSVR(nu=0.4, C=2.0, **common), X, TARGETS
    yield kq.RegularizedLeastSquares(lam=0.7, **common), X, TARGETS
    yield kq.ConstrainedRidge(radius=0.6, **common), X, TARGETS
    for loss in LOSSES:
        yield kq.SupportVectorRegression(C=2.0, loss=loss, **common), X, TARGETS
    yield kq.QuantileRegression(C=2.0, tau=0.3, **common), X, TARGETS
    if common["intercept"] != "free":
        yield kq.Pegasos(lam=0.1, **common), X, LABELS
        yield kq.Perceptron(**common), APART, LABELS
    if common["intercept"] == "none":
        yield kq.OneClassSVM(nu=0.4, **common), X, None


CASES = {
    f"{type(case[0]).__name__}-{k}-{kernel}-{intercept}": case
    for kernel in KERNELS
    for intercept in INTERCEPTS
    for k, case in enumerate(methods_with({"kernel": KERNELS[kernel], "intercept": intercept}))
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
WITHOUT_PENALTY = {
    "least squares": (kq.RegularizedLeastSquares(lam=0.0), X, TARGETS),
    "logistic": (kq.LogisticRegression(C=np.inf), X, LABELS),
    "epsilon": (kq.SupportVectorRegression(C=np.inf), X, TARGETS),
    "quantile": (kq.QuantileRegression(C=np.inf), X, TARGETS),
}


@pytest.fixture
def no_cvxpy(monkeypatch):
    """Fail whatever builds a variable, a parameter or a problem."""

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"a {type(self).__name__} was built")

    for kind in (cp.Variable, cp.Parameter, cp.Problem):
        monkeypatch.setattr(kind, "__init__", refuse)


def shown(solution):
    """Everything that is read off a solution without its page."""
    own = ("beta", "alpha", "intercept", "residuals", "support")
    found = [getattr(solution, name, None) for name in own]
    return [*found, repr(solution), str(solution), solution.predict(X[:3])]


@every_case
def test_a_solve_that_the_engine_certifies_builds_nothing(case, no_cvxpy):
    method, features, y = case
    for form in ("primal", "dual"):
        solution = method.solve(features, y, form=form)
        assert solution.certificate.certified
        assert "CLARABEL" not in solution.solver
        assert shown(solution)
    assert repr(method.dual(features, y)) == f"<Formulation: dual of {solution.method!r}>"


@every_case
def test_auto_builds_nothing_either(case, no_cvxpy):
    method, features, y = case
    solution = method.solve(features, y)
    assert isinstance(method, kq.Pegasos | kq.Perceptron) or solution.certificate.certified


@pytest.mark.parametrize("name", WITHOUT_PENALTY)
def test_nor_does_one_without_a_penalty(name, no_cvxpy):
    method, features, y = WITHOUT_PENALTY[name]
    assert method.solve(features, y).certificate.certified


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_risk_builds_nothing_nor_does_a_ball(form, no_cvxpy):
    gram = kq.Gram.dense(np.exp(-np.square(X[:, :1] - X[:, 0])), psd=True)
    risk = kq.RegularizedRisk(gram, LABELS, 2.0, kq.losses.Hinge())
    assert risk.solve(form).certificate.certified
    assert kq.BallRisk(risk, 0.5).solve(form).certificate.certified


def test_whoever_looks_at_the_page_builds_it(no_cvxpy):
    page = kq.SoftMarginSVM().dual(X, LABELS)
    for name in ("problem", "variables", "constraints", "parameters"):
        with pytest.raises(AssertionError, match="a Parameter was built"):
            getattr(page, name)


# --- the page afterwards ------------------------------------------------------------------------


def stated(case, form):
    method, features, y = case
    return method.dual(features, y) if form == "dual" else method.primal(features, y)


def page_of(formulation):
    """Return what a page holds, and what its KKT report says."""
    held = {name: v.value for name, v in formulation.variables.items()}
    held |= {f"{name}'": c.dual_value for name, c in formulation.constraints.items()}
    held |= {f"{name} =": p.value for name, p in formulation.parameters.items()}
    report = kq.check_kkt(formulation)
    conditions = {c.name: (c.holds, c.tolerance) for c in report.conditions}
    return held | {"value": formulation.problem.value}, formulation.problem.status, conditions


def assert_same_page(one, other):
    (left, left_status, left_report), (right, right_status, right_report) = map(
        page_of, (one, other)
    )
    assert left.keys() == right.keys()
    for name, value in left.items():
        size = max(1.0, float(np.abs(np.asarray(value, dtype=float)).max(initial=0.0)))
        np.testing.assert_allclose(value, right[name], rtol=0, atol=1e-9 * size, err_msg=name)
    assert left_status == right_status
    assert left_report == right_report


@every_case
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_page_built_after_the_solve_is_that_built_before(case, form):
    early, late = stated(case, form), stated(case, form)
    assert early.problem.status is None
    first, second = early.solve(), late.solve()
    assert_same_page(early, late)
    assert late.problem.status == cp.OPTIMAL
    assert second.value == pytest.approx(first.value, rel=1e-9)
    assert late.solution().certificate.relative_gap < 1e-4
    assert kq.check_kkt(second).holds == kq.check_kkt(first).holds


@pytest.mark.parametrize("name", WITHOUT_PENALTY)
def test_so_is_a_page_without_a_penalty(name):
    early, late = (stated(WITHOUT_PENALTY[name], "primal") for _ in range(2))
    early.problem.is_dcp()
    early.solve()
    late.solve()
    assert_same_page(early, late)


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
def test_so_is_a_page_that_cvxpy_solved(solver):
    early, late = (kq.SoftMarginSVM(kernel="rbf").dual(X, LABELS) for _ in range(2))
    early.problem.is_dcp()
    early.solve(solver=solver)
    late.solve(solver=solver)
    assert_same_page(early, late)


def test_a_page_says_how_far_a_stopped_run_came():
    late = kq.SoftMarginSVM(kernel="rbf").dual(X, LABELS)
    assert late.solve(solver="CLARABEL", max_iter=2).status is kq.Status.LIMIT
    assert late.problem.status == cp.USER_LIMIT


@pytest.mark.parametrize(
    ("make", "status"), [(kq.Pegasos, cp.USER_LIMIT), (kq.Perceptron, cp.OPTIMAL_INACCURATE)]
)
def test_the_page_of_an_algorithm_shows_where_it_ended(make, status):
    solution = make().solve(APART, LABELS)
    formulation = solution.origin[0]
    np.testing.assert_allclose(formulation.variables["w"].value, solution.weights, atol=1e-12)
    assert formulation.problem.status == status


def test_a_page_built_late_is_of_the_rows_that_were_solved():
    features, labels = X.copy(), LABELS.copy()
    late, early = (kq.SoftMarginSVM(kernel="rbf").dual(features, labels) for _ in range(2))
    late.solve()
    early.solve()
    early.problem.is_dcp()
    features[:], labels[:] = 0.0, 1.0
    assert_same_page(early, late)


def test_a_solution_that_was_pickled_has_its_page():
    solution = kq.SoftMarginSVM(kernel="rbf").solve(X, LABELS)
    copied = pickle.loads(pickle.dumps(solution))
    assert_same_page(copied.origin[0], solution.origin[0])


# --- parameters ---------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_parameters_are_those_that_were_known_before(case, form):
    page = stated(case, form)
    known = page.parameter_values()
    assert known == {name: getattr(case[0], name) for name in known}
    assert {name: p.value for name, p in page.parameters.items()} == known
    assert page.parameter_values() == known
    assert {p.name() for p in page.problem.parameters() if not isinstance(p, cp.CallbackParam)} <= {
        *known
    }


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_parameter_set_after_a_solve_is_that_of_the_next(form, kernel):
    make, given = kq.SoftMarginSVM, {"kernel": KERNELS[kernel]}
    page = stated((make(C=1.0, **given), X, LABELS), form)
    first = page.solve(solver="native")
    page.parameters["C"].value = 5.0
    assert page.problem.value == pytest.approx(first.value, rel=1e-9)  # of the solve, as cvxpy's
    assert not page.solution().certificate.certified  # these are values of C = 1
    second, fresh = page.solve(solver="native"), make(C=5.0, **given).solve(X, LABELS)
    assert (first.method.C, second.method.C, page.method.C) == (1.0, 5.0, 5.0)
    assert second.value == pytest.approx(fresh.value, rel=1e-9)
    assert page.problem.value == pytest.approx(fresh.value, rel=1e-6)
    assert kq.check_kkt(first).holds
    assert kq.check_kkt(page).holds
    assert page.parameters["C"].value == 5.0


def test_a_page_with_constraints_shares_the_parameters_of_one_built_late():
    page = kq.SoftMarginSVM(C=1.0).primal(X, LABELS)
    free = page.solve(solver="native")
    bounded = page.with_constraints({"w": page.variables["w"] <= 0.5})
    page.parameters["C"].value = 5.0
    solution = bounded.solve()
    assert solution.certificate.certified
    assert (free.method.C, solution.method.C, bounded.method.C) == (1.0, 5.0, 5.0)


def test_a_parameter_without_a_value_is_refused():
    page = kq.SoftMarginSVM().dual(X, LABELS)
    page.parameters["C"].value = None
    with pytest.raises(InputError, match="parameter C must be a finite number; got None"):
        page.solve()


# --- writing ------------------------------------------------------------------------------------


def test_the_last_that_was_written_is_what_the_page_shows():
    page = kq.SoftMarginSVM().dual([[1.0], [3.0]], [-1, 1])
    multipliers = {"lower": [0.0, 0.0], "upper": [0.1, 0.2], "balance": 3.0}
    page.solve(solver="native")
    page.write(Written({"alpha": np.array([0.2, 0.3])}, multipliers), cp.OPTIMAL_INACCURATE)
    assert page.variables["alpha"].value.tolist() == [0.2, 0.3]
    assert page.constraints["upper"].dual_value.tolist() == [0.1, 0.2]
    assert page.problem.status == cp.OPTIMAL_INACCURATE
    page.write(Written({"alpha": np.array([0.4, 0.4])}, multipliers))
    assert page.variables["alpha"].value.tolist() == [0.4, 0.4]
    assert page.problem.status == cp.OPTIMAL


def test_an_interrupt_while_the_page_is_built_loses_nothing():
    page = kq.SoftMarginSVM().dual([[1.0], [3.0]], [-1, 1])
    asked = []

    def fill(risk):
        asked.append(risk)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return Written({"alpha": np.full(risk.n, 0.5)}, {"lower": np.zeros(2)})

    page.write(fill)
    assert not asked
    with pytest.raises(KeyboardInterrupt):
        _ = page.problem
    assert page.variables["alpha"].value.tolist() == [0.5, 0.5]
    assert len(asked) == 2


def test_a_page_is_built_once():
    built = []
    program = kq.SoftMarginSVM().dual(X, LABELS)._statement.program
    page = Formulation(Statement(lambda: built.append(1) or program, {}), None)
    assert page.problem is page.problem
    assert page.variables is program.variables
    assert built == [1]


# --- what the caller got wrong is said at once --------------------------------------------------

RBF = {"kernel": "rbf"}
WRONG = {
    "form of a primal": lambda: kq.SoftMarginSVM().primal(X, LABELS, form="max_margin"),
    "weights of a kernel": lambda: kq.SoftMarginSVM(**RBF).primal(X, LABELS, form="weights"),
    "a dual as a primal": lambda: kq.NuSVM().primal(X, LABELS, form="dual"),
    "three labels": lambda: kq.LogisticRegression().dual(X, np.arange(N) % 3),
    "rows": lambda: kq.HardMarginSVM().dual(X[1:], LABELS),
    "weights below 0": lambda: kq.SoftMarginSVM().dual(X, LABELS, -np.ones(N)),
    "not a number": lambda: kq.QuantileRegression().dual(X * np.nan, TARGETS),
    "no kernel matrix": lambda: kq.SoftMarginSVM(kernel="precomputed").dual(X, LABELS),
    "nu": lambda: kq.NuSVM(nu=0.9).dual(X, np.where(np.arange(N) < 5, 1, -1)),
    "C of a dual": lambda: kq.SupportVectorRegression(C=np.inf).dual(X, TARGETS),
    "C of a kernel": lambda: kq.LogisticRegression(C=np.inf, **RBF).primal(X, LABELS),
    "lam of a dual": lambda: kq.RegularizedLeastSquares(lam=0).dual(X, TARGETS),
    "form in a ball": lambda: kq.ConstrainedRidge(radius=1).primal(X, TARGETS, form="max_margin"),
    "one class": lambda: kq.OneClassSVM().primal(np.ones(N)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_is_refused_before_anything_is_built(name, no_cvxpy):
    with pytest.raises(InputError):
        WRONG[name]()


def test_a_page_of_many_rows_looked_at_after_cvxpys_solver_is_that_of_before():
    X, y = make_moons(600, noise=0.3, random_state=0)
    svm = kq.SoftMarginSVM(kernel=kq.RBF(gamma=1.0))
    early, late = svm.primal(X, y), svm.primal(X, y)
    assert early.problem.value is None
    early.solve(solver="OSQP")
    late.solve(solver="OSQP")
    assert late.variables["b"].value == pytest.approx(early.variables["b"].value, rel=1e-9)
    assert late.problem.value == pytest.approx(early.problem.value, rel=1e-9)
