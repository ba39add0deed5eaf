"""Each page states the engine's problem: values, multipliers and parameters meet under the map."""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from cvxpy.reductions.solvers.solving_chain import SolvingChain

import kernelqp as kq
from kernelqp.losses import LOSSES
from kernelqp.offset import Offset
from tests.losses.strategies import CASES as LOSS_CASES

KERNELS = {
    "linear": kq.Linear(),
    "rbf": kq.RBF(gamma=0.5),
    "polynomial": kq.Polynomial(2, 0.5, 1.0),
}
INTERCEPTS = ("free", "penalized", "none")
POWERS = (1, 2, 1.5, 3, None)


def literal(formulation):
    """The page's value as cvxpy and CLARABEL give it, in the units it is written in.

    At its default, 1e-8: where a power cone has no 1e-12 to give, CLARABEL ends worse if asked.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate"
        formulation.problem.solve(solver="CLARABEL")
    return float(formulation.problem.value)


@dataclass(frozen=True)
class Page:
    power: float | None
    kernel: str
    intercept: str
    weighted: bool

    @property
    def forms(self):
        return ("weights",) * (self.kernel == "linear") + ("coefficients", "dual")

    @property
    def name(self):
        return f"{self.power}-{self.kernel}-{self.intercept}" + "-weighted" * self.weighted

    @property
    def method(self):
        common = {"kernel": KERNELS[self.kernel], "intercept": self.intercept}
        if self.power is None:
            return kq.HardMarginSVM(**common)
        weight = {1: 1.5} if self.weighted else None
        return kq.SoftMarginSVM(C=0.7, slack_power=self.power, class_weight=weight, **common)

    @property
    def data(self):
        rng = np.random.default_rng(11)
        y = np.resize([1, -1], 24)
        apart = 4.0 if self.power is None else 1.0
        X = rng.normal(size=(24, 2)) + apart * np.c_[y, y] + (0.0 if self.power is None else 0.5)
        weights = rng.integers(0, 4, 24).astype(float) if self.weighted else None
        return X, y, weights

    def formulation(self, form):
        X, y, weights = self.data
        if form == "dual":
            return self.method.dual(X, y, weights)
        return self.method.primal(X, y, weights, form=form)


PAGES = [
    Page(p, k, i, w) for p in POWERS for k in KERNELS for i in INTERCEPTS for w in (p is not None,)
]
PAGES += [Page(p, "linear", "free", p is None) for p in POWERS]
every_page = pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])


@functools.cache
def engine_values(page):
    """The generic primal and dual of the page's risk, as cvxpy solves them."""
    risk = page.formulation("dual").risk()
    return literal(risk.primal()), literal(risk.dual())


@functools.cache
def solved(page, form):
    """The page solved literally, and its value."""
    formulation = page.formulation(form)
    return formulation, literal(formulation)


@every_page
def test_primal_and_dual_of_the_engine_meet(page):
    primal, dual = engine_values(page)
    assert primal == pytest.approx(dual, rel=1e-6)


@every_page
def test_literal_pages_have_the_value_of_the_engine(page):
    for form in page.forms:
        assert solved(page, form)[1] == pytest.approx(engine_values(page)[1], rel=1e-6), form


@every_page
def test_certified_solves_have_the_value_of_the_engine(page):
    for form in page.forms:
        s = page.formulation(form).solve()
        assert s.certificate.certified, (form, s)
        assert s.value == pytest.approx(engine_values(page)[1], rel=1e-6), form


@every_page
def test_literal_solves_are_certified(page):
    for form in page.forms:
        s = solved(page, form)[0].solution()
        assert s.certificate.certified, (form, s)
        assert s.value == pytest.approx(engine_values(page)[1], rel=1e-6), form


@every_page
def test_margin_multipliers_of_the_primal_are_the_dual_variables(page):
    """alpha is unique here: either K is definite, or the loss is curved, or the rows are in general
    position with an elbow of no more rows than K has rank."""
    alpha = solved(page, "dual")[0].variables["alpha"].value
    for form in page.forms[:-1]:
        margin = solved(page, form)[0].constraints["margin"].dual_value
        assert np.ravel(margin) == pytest.approx(alpha, abs=1e-4 * np.abs(alpha).max()), form


@pytest.mark.parametrize("page", [p for p in PAGES if p.intercept == "free"], ids=lambda p: p.name)
def test_the_balance_multiplier_of_the_dual_is_plus_b(page):
    b = solved(page, "coefficients")[0].variables["b"].value
    balance = np.ravel(solved(page, "dual")[0].constraints["balance"].dual_value)
    assert balance == pytest.approx([float(b)], abs=1e-4)


@every_page
def test_solutions_of_all_forms_predict_alike(page):
    found = [page.formulation(form).solve(tol=1e-9) for form in page.forms]
    new = np.random.default_rng(5).normal(size=(7, 2))
    for s in found[1:]:
        assert s.decision_function(new) == pytest.approx(found[0].decision_function(new), abs=1e-4)
    assert kq.compare(found).agree


# --- the gap identity ---------------------------------------------------------------------------


def offsets(n, y):
    rng = np.random.default_rng(0)
    return {
        "free": Offset.free(n),
        "none": Offset.none(n),
        "two priced columns": Offset(np.c_[np.ones(n), -y], np.array([0.0, -0.3]), None),
        "one odd column": Offset(rng.normal(size=(n, 1)), np.array([0.7]), None),
    }


def test_the_identity_is_tested_for_every_loss():
    assert {type(case.loss) for case in LOSS_CASES} == set(LOSSES)


@pytest.mark.parametrize("case", LOSS_CASES, ids=lambda c: c.name)
@pytest.mark.parametrize("kind", ["free", "none", "two priced columns", "one odd column"])
@pytest.mark.parametrize("seed", range(5))
def test_gap_is_stationarity_complementarity_and_balance(case, kind, seed):
    """At any f, theta and any g in the domain, far from optimal; nothing is solved."""
    rng, n = np.random.default_rng(seed), 6
    F = rng.normal(size=(n, 4))
    costs = 10.0 ** rng.uniform(-2, 2, n)
    y = rng.choice([-1.0, 1.0], n) if case.loss.margin else rng.normal(size=n)
    offset = offsets(n, y)[kind]
    theta = rng.normal(size=offset.price.size)
    coefficients = rng.normal(size=n)
    if case.loss.hard:  # a finite primal value needs margins above 1: the labels follow f
        coefficients *= 1e3
        p = F @ F.T @ coefficients + offset.basis @ theta
        y = np.sign(p)
        if kind == "two priced columns":
            offset = Offset(np.c_[np.ones(n), np.ones(n)], offset.price, None)
            p = F @ F.T @ coefficients + offset.basis @ theta
            y = np.sign(p)
        assert (y * p >= 1).all()
    risk = kq.RegularizedRisk(kq.Gram.dense(F @ F.T), y, costs, case.loss, offset)
    low, high = case.loss.domain(y)
    g = np.clip(rng.normal(scale=2.0, size=n), low, high)
    u = costs * g
    function, beta = risk.function(coefficients), -u
    p = risk.predictions(function, theta)
    beta = np.clip(beta, *sorted_box(risk))
    primal, dual = risk.primal_value(function, theta), risk.dual_value(beta)
    terms = (
        0.5 * np.sum((F.T @ (coefficients - beta)) ** 2),
        costs @ case.loss.residual(y, p, g),
        theta @ (offset.basis.T @ u + offset.price),
    )
    size = abs(primal) + abs(dual) + sum(map(abs, terms)) + function.norm2
    assert np.isfinite([primal, dual]).all()
    assert primal - dual == pytest.approx(sum(terms), abs=1e-12 * size)


def sorted_box(risk):
    """The ends of beta, with -c g exactly inside."""
    row = risk.loss.row(risk.targets, risk.costs)
    return (-np.inf, np.inf) if row is None else (row.lower, row.upper)


# --- parameters --------------------------------------------------------------------------------


@pytest.fixture
def compilations(monkeypatch):
    """The problems that cvxpy compiled, one entry a compilation."""
    seen, apply = [], SolvingChain.apply

    def counted(self, problem, *args, **options):
        seen.append(problem)
        return apply(self, problem, *args, **options)

    monkeypatch.setattr(SolvingChain, "apply", counted)
    return seen


SOFT = [Page(p, k, i, True) for p in POWERS[:-1] for k in ("linear", "rbf") for i in INTERCEPTS]
every_soft_form = pytest.mark.parametrize(
    ("page", "form"), [pytest.param(p, f, id=f"{p.name}-{f}") for p in SOFT for f in p.forms]
)


@every_soft_form
def test_pages_are_dpp_in_C(page, form):
    formulation = page.formulation(form)
    assert formulation.problem.is_dcp()
    assert formulation.problem.is_dpp()


@every_soft_form
def test_another_C_is_solved_without_compiling(page, form, compilations):
    formulation = page.formulation(form)
    formulation.solve(solver="CLARABEL")
    twins, done = dict(formulation.twins), len(compilations)
    assert done >= 1
    formulation.parameters["C"].value = 10.0
    s = formulation.solve(solver="CLARABEL")
    assert len(compilations) == done
    assert formulation.twins == twins
    assert s.method.C == 10.0
    X, y, weights = page.data
    fresh = type(page.method)(**{**vars(page.method), "C": 10.0})
    expected = fresh.solve(X, y, weights, form="dual", solver="CLARABEL")
    assert s.certificate.certified
    assert s.value == pytest.approx(expected.value, rel=2e-6)


@pytest.mark.parametrize("power", POWERS[:-1])
@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_a_literal_solve_at_another_C_compiles_nothing(power, form, compilations):
    page = Page(power, "linear", "free", weighted=True)
    formulation = page.formulation(form)
    literal(formulation)
    formulation.parameters["C"].value = 10.0
    value = literal(formulation)
    assert len(compilations) == 1
    X, y, weights = page.data
    fresh = type(page.method)(**{**vars(page.method), "C": 10.0})
    assert value == pytest.approx(literal(fresh.dual(X, y, weights)), rel=1e-6)
    assert formulation.solution().method.C == 10.0


@pytest.mark.parametrize("page", [p for p in SOFT if p.intercept == "free"], ids=lambda p: p.name)
def test_without_a_solve_another_C_is_not_certified(page):
    for form in page.forms:
        formulation = page.formulation(form)
        assert formulation.solve().status is kq.Status.CERTIFIED
        formulation.parameters["C"].value = 10.0
        s = formulation.solution()
        assert s.method.C == 10.0
        assert s.status is kq.Status.NOT_CERTIFIED, form


def test_a_solution_remembers_the_C_it_was_solved_at():
    page = Page(1, "linear", "free", weighted=False)
    formulation = page.formulation("dual")
    s = formulation.solve()
    formulation.parameters["C"].value = 10.0
    formulation.solve()
    assert s.method.C == 0.7
    assert kq.check_kkt(s).holds
    assert formulation.parameters["C"].value == 10.0


def test_a_parameter_that_is_not_finite_is_refused():
    formulation = Page(1, "linear", "free", weighted=False).formulation("dual")
    formulation.parameters["C"].value = np.inf
    with pytest.raises(kq.InputError, match="C"):
        formulation.solve()


# --- KKT of the page ---------------------------------------------------------------------------


@every_page
def test_kkt_conditions_hold_for_the_raw_and_the_repaired_answer(page):
    for form in page.forms:
        formulation = page.formulation(form)
        s = formulation.solve(solver="CLARABEL")
        raw, repaired = kq.check_kkt(formulation), kq.check_kkt(s)
        assert raw.holds, (form, raw)
        assert repaired.holds, (form, repaired)


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("power", POWERS)
def test_checking_a_solution_leaves_the_page_as_it_was(form, power):
    formulation = Page(power, "linear", "free", weighted=False).formulation(form)
    s = formulation.solve()
    if power is not None:
        formulation.parameters["C"].value = 3.0
    for variable in formulation.variables.values():
        variable.value = np.full(variable.shape, 0.125)
    for constraint in formulation.constraints.values():
        constraint.save_dual_value(np.full(constraint.shape, 0.25))
    kq.check_kkt(s)
    for variable in formulation.variables.values():
        assert np.array_equal(variable.value, np.full(variable.shape, 0.125))
    for constraint in formulation.constraints.values():
        assert np.array_equal(constraint.dual_value, np.full(constraint.shape, 0.25))
    if power is not None:
        assert formulation.parameters["C"].value == 3.0


def test_checking_a_solution_does_not_need_its_page_to_be_at_it():
    """The page moves on to another C; the solution is still judged at its own."""
    page = Page(1, "rbf", "free", weighted=False)
    formulation = page.formulation("dual")
    first = formulation.solve()
    before = np.array(formulation.variables["alpha"].value)
    formulation.parameters["C"].value = 20.0
    formulation.solve()
    assert not np.allclose(before, formulation.variables["alpha"].value)
    assert kq.check_kkt(first).holds
    kq.assert_kkt(first)


def test_pages_name_what_the_textbook_names():
    page = Page(1, "linear", "free", weighted=False)
    primal, dual = page.formulation("weights"), page.formulation("dual")
    assert set(primal.variables) == {"w", "b", "xi"}
    assert set(primal.constraints) == {"margin", "slack"}
    assert set(dual.variables) == {"alpha"}
    assert set(dual.constraints) == {"lower", "upper", "balance"}
    assert set(primal.parameters) == set(dual.parameters) == {"C"}
    assert (primal.side, dual.side) == ("primal", "dual")
