"""Wrong answers: none is certified with a value that is off, and the right term is blamed."""

import contextlib
import functools
import warnings
import zlib

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq
from kernelqp.certificate import Candidate, certify_candidate
from tests.wrong_answers import PROBLEMS, WRONG, stated_primal

TOL = 1e-6
ROUNDING = 1e-9

every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
PAIRS = [(p, w) for p in PROBLEMS.values() for w in WRONG]
QUICK = PAIRS[::8]  # 8 and the number of faults have no common factor: each fault meets each kind
every_pair = pytest.mark.parametrize(
    ("problem", "wrong"),
    [
        pytest.param(p, w, id=f"{p.name}-{w}", marks=() if (p, w) in QUICK else pytest.mark.slow)
        for p, w in PAIRS
    ],
)


def generator(*names):
    return np.random.default_rng(zlib.crc32(" ".join(names).encode()))


@functools.cache
def judged(problem, wrong):
    """[(route, side, certificate)] of every candidate made from one problem by one fault."""
    found = [
        (route, side, certify_candidate(problem.risk.centred, candidate, side, TOL).certificate)
        for route, side, candidate in candidates(problem, wrong)
    ]
    for form in problem.forms:
        for route, page in wrong_pages(problem, form, wrong):
            found.append((route, page.side, page.solution(TOL).certificate))
    return found


def candidates(problem, wrong):
    """Candidates for the centred risk: a dual alone, with its offset, both sides of a primal."""
    risk, (beta, theta) = problem.risk.centred, problem.good
    rng, change = generator(problem.name, wrong), WRONG[wrong]
    bad = change(beta, rng)
    yield "beta", "dual", Candidate(beta=bad)
    yield "beta, theta", "dual", Candidate(beta=bad, theta=theta)
    yield "theta", "dual", Candidate(beta=beta, theta=change(theta, rng) if theta.size else theta)
    function = risk.function(bad)
    yield "f alone", "primal", Candidate(function=function)
    yield "f", "primal", Candidate(beta=beta, function=function, theta=theta)
    yield "f, beta", "primal", Candidate(beta=change(beta, rng), function=function, theta=theta)
    if risk.gram.factor is not None:
        w = change(risk.gram.weights(beta), rng)
        weights = risk.function(weights=w)
        yield "w", "primal", Candidate(beta=beta, function=weights, theta=theta)
        yield "w, beta", "primal", Candidate(beta=bad, function=weights, theta=theta)


@functools.cache
def solved_page(problem, form):
    page = problem.page(form)
    page.solve(solver="CLARABEL")
    values = {k: np.array(v.value, float) for k, v in page.variables.items()}
    multipliers = {k: np.array(c.dual_value, float) for k, c in page.constraints.items()}
    return page, values, multipliers


def wrong_pages(problem, form, wrong):
    """The page with wrong variables, with wrong multipliers, and with both."""
    page, values, multipliers = solved_page(problem, form)
    rng = generator(problem.name, form, wrong)
    bad_values = {k: changed(v, wrong, rng) for k, v in values.items()}
    bad_multipliers = {k: changed(v, wrong, rng) for k, v in multipliers.items()}
    for route, now, duals in (
        ("variables", bad_values, multipliers),
        ("multipliers", values, bad_multipliers),
        ("both", bad_values, bad_multipliers),
    ):
        for name, variable in page.variables.items():
            variable.value = now[name]
        for name, constraint in page.constraints.items():
            constraint.save_dual_value(duals[name])
        yield f"{form} page, {route}", page


def changed(x, wrong, rng):
    return WRONG[wrong](np.atleast_1d(x), rng).reshape(x.shape)


def reported(side, certificate):
    return certificate.primal_value if side == "primal" else certificate.dual_value


def off(problem, side, certificate):
    """How far the reported value is from the optimum, in the unit of a relative gap."""
    return abs(reported(side, certificate) - problem.optimum) / problem.scale


def check_value(problem, answers):
    """No certified value is off."""
    wrong = [
        (route, side, certificate, off(problem, side, certificate))
        for route, side, certificate in answers
        if certificate.certified and not off(problem, side, certificate) <= TOL + ROUNDING
    ]
    assert not wrong, wrong


def check_bounds(problem, answers):
    """No bound is on the wrong side of the optimum."""
    slack = ROUNDING * problem.scale
    wrong = [
        (route, side, certificate, problem.optimum)
        for route, side, certificate in answers
        if not (
            certificate.dual_value <= problem.optimum + slack
            and problem.optimum - slack <= certificate.primal_value
        )
    ]
    assert not wrong, wrong


@every_pair
def test_no_certified_value_is_off(problem, wrong):
    check_value(problem, judged(problem, wrong))


@every_pair
def test_no_bound_is_violated(problem, wrong):
    check_bounds(problem, judged(problem, wrong))


def test_the_faults_are_many_and_many_are_refused():
    answers = [a for p, w in QUICK for a in judged(p, w)]
    refused = [a for a in answers if not a[2].certified]
    assert len(answers) >= 800
    assert len(refused) >= 100


# --- the truth is not refused, and the oracle is one --------------------------------------------


@every_problem
def test_no_true_optimum_is_refused(problem):
    risk, (beta, theta) = problem.risk.centred, problem.good
    for side in ("primal", "dual"):
        function = risk.function(beta) if side == "primal" else None
        candidate = Candidate(beta=beta, function=function, theta=theta)
        certificate = certify_candidate(risk, candidate, side, TOL).certificate
        assert certificate.certified, (side, certificate)
        assert off(problem, side, certificate) <= TOL


@every_problem
def test_no_solved_page_is_refused(problem):
    for form in problem.forms:
        page = problem.page(form)
        page.solve(solver="CLARABEL")
        s = page.solution(TOL)
        assert s.certificate.certified, (form, s.certificate)
        assert off(problem, page.side, s.certificate) <= TOL


@pytest.mark.parametrize("name", ["separable", "tiny C", "huge C", "xor"])
def test_the_oracle_agrees_with_closed_forms(name):
    problem = PROBLEMS[name]
    assert stated_primal(problem.risk) == pytest.approx(problem.closed, rel=1e-6)


@every_problem
def test_every_fault_is_a_fault(problem):
    """Each way to go wrong changes the optimum, or the count of candidates would be a sham."""
    beta, _ = problem.good
    rng = generator(problem.name)
    same = {name for name, f in WRONG.items() if np.allclose(f(beta, rng), beta, 1e-6, atol=0)}
    assert not same - {"rows swapped", "rows shuffled", "two figures"}


# --- stopped early ------------------------------------------------------------------------------

LIMITS = {"CLARABEL": "max_iter", "OSQP": "max_iter", "SCS": "max_iters", "ECOS": "max_iters"}
EARLY = ("iris", "iris hard", "balanced", "weighted", "squared", "power 3", "tiny C", "huge C")


@pytest.mark.parametrize("name", EARLY)
@pytest.mark.parametrize("solver", LIMITS)
@pytest.mark.parametrize("steps", [3, 25])
def test_a_run_cut_short_is_judged_by_its_numbers(name, solver, steps):
    problem = PROBLEMS[name]
    answers = []
    for form in problem.forms:
        page = problem.page(form)
        with contextlib.suppress(kq.SolverError):  # no numbers, and it says so
            s = page.solve(solver=solver, tol=TOL, **{LIMITS[solver]: steps})
            answers.append((form, page.side, s.certificate))
    check_value(problem, answers)
    check_bounds(problem, answers)


@pytest.mark.parametrize("name", EARLY)
@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
@pytest.mark.parametrize("steps", [2, 8])
def test_a_literal_run_cut_short_is_judged_by_its_numbers(name, solver, steps):
    problem = PROBLEMS[name]
    answers = []
    for form in problem.forms:
        page = problem.page(form)
        with warnings.catch_warnings(), contextlib.suppress(cp.error.SolverError):
            warnings.simplefilter("ignore")
            page.problem.solve(solver=solver, max_iter=steps)
        if all(v.value is not None for v in page.variables.values()):
            answers.append((form, page.side, page.solution(TOL).certificate))
    check_value(problem, answers)
    check_bounds(problem, answers)


# --- blame: one defect, one term ----------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """Features with a null direction: the last column is 0, w there changes no prediction."""
    problem = PROBLEMS["overlapping"]
    X = np.c_[problem.X, np.zeros(len(problem.y))]
    risk = kq.SoftMarginSVM(C=0.5).dual(X, problem.y).risk()
    return risk.centred, *problem.good


@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0, 100.0])
def test_weights_that_no_row_sees_are_blamed_on_stationarity(wide, size):
    """w + v with F v = 0: every prediction is right, the norm is not."""
    risk, beta, theta = wide
    w = risk.gram.weights(beta) + size * np.array([0.0, 0.0, 1.0])
    candidate = Candidate(beta=beta, function=risk.function(weights=w), theta=theta)
    certificate = certify_candidate(risk, candidate, "primal", TOL).certificate
    assert certificate.blame == "stationarity"
    assert certificate.stationarity == pytest.approx(0.5 * size**2, rel=1e-6)


BLAMED = ("iris", "cancer", "overlapping", "weighted", "duplicates", "no intercept", "penalised")
blamed = pytest.mark.parametrize("name", BLAMED)


@blamed
@pytest.mark.parametrize("t", [0.5, 0.9, 0.99, 0.999])
def test_a_scaled_down_dual_is_blamed_on_complementarity(name, t):
    """t beta is in its box and balanced; with f = f_beta only the rows' own terms are left."""
    problem = PROBLEMS[name]
    risk, (beta, theta) = problem.risk.centred, problem.good
    certificate = certify_candidate(
        risk, Candidate(beta=t * beta, theta=theta), "dual", TOL
    ).certificate
    assert certificate.blame == "complementarity"


@pytest.mark.parametrize("name", ["iris", "cancer", "overlapping", "weighted", "duplicates"])
@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_an_unbalanced_dual_is_blamed_on_balance(name, share):
    """One elbow row moves inside its box, f and theta stay: its margin is 1, so it has no term of
    its own, and f_beta is off in the second order only."""
    problem = PROBLEMS[name]
    risk, (beta, theta) = problem.risk.centred, problem.good
    i = elbow_row(problem)
    bad = beta.copy()
    bad[i] -= share * beta[i]
    candidate = Candidate(beta=bad, function=risk.function(beta), theta=theta)
    certificate = certify_candidate(risk, candidate, "primal", TOL).certificate
    assert certificate.blame == "balance"
    assert certificate.balance >= abs(share * beta[i]) * (1 - 1e-6)


@pytest.mark.parametrize("name", ["overlapping", "weighted", "no intercept", "penalised"])
@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_a_multiplier_out_of_its_box_is_blamed_on_domain(name, share):
    """One row at its bound passes it; an elbow row of the same class, whose margin is 1, gives what
    keeps the balance. f and theta stay."""
    problem = PROBLEMS[name]
    risk, (beta, theta) = problem.risk.centred, problem.good
    i = elbow_row(problem)
    full = np.isclose(np.abs(beta), risk.costs, rtol=1e-6) & (risk.targets == risk.targets[i])
    j = int(np.flatnonzero(full)[0])
    bad = beta.copy()
    bad[j] = risk.targets[j] * risk.costs[j]
    bad[j] += share * beta[i]
    bad[i] -= share * beta[i]
    candidate = Candidate(beta=bad, function=risk.function(beta), theta=theta)
    certificate = certify_candidate(risk, candidate, "primal", TOL).certificate
    assert certificate.blame == "domain"


def elbow_row(problem):
    """A row strictly inside its box: the one with the most room on both sides."""
    beta, _ = problem.good
    costs = problem.risk.costs
    return int(np.argmax(np.minimum(np.abs(beta), costs - np.abs(beta))))


# --- peers' traps -------------------------------------------------------------------------------


def test_a_stationary_feasible_point_with_a_negative_multiplier_is_refused():
    """min x^2/2 for x <= 1, at x = 1 with multiplier -1: a gradient of 0, and no optimum."""
    x = cp.Variable()
    constraint = x <= 1
    problem = cp.Problem(cp.Minimize(0.5 * x**2), [constraint])
    problem.solve(solver="CLARABEL")
    x.value = 1.0
    constraint.save_dual_value(-1.0)
    problem._value = 0.5  # as a solver that ended there would report
    report = kq.check_kkt(problem)
    assert not report.holds
    assert any(c.kind == "dual feasibility" and c.holds is False for c in report.conditions)


@pytest.mark.parametrize("copies", [1, 10, 30])
@pytest.mark.parametrize("t", [1.0, 0.999])
def test_the_verdict_does_not_change_with_copies_of_the_rows(copies, t):
    """Rows repeated with their weight divided: the same problem, the same relative gap."""
    problem = PROBLEMS["overlapping"]
    beta, theta = problem.good
    n, X = len(problem.y), np.repeat(problem.X, copies, axis=0)
    y, weights = np.repeat(problem.y, copies), np.full(n * copies, 1.0 / copies)
    risk = problem.method.dual(X, y, weights).risk().centred
    candidate = Candidate(beta=t * np.repeat(beta, copies) / copies, theta=theta)
    certificate = certify_candidate(risk, candidate, "dual", TOL).certificate
    blamed_one = certify_candidate(
        problem.risk.centred, Candidate(beta=t * beta, theta=theta), "dual", TOL
    ).certificate
    assert certificate.certified == blamed_one.certified
    assert certificate.complementarity.sum() == pytest.approx(
        blamed_one.complementarity.sum(), rel=1e-6, abs=1e-9
    )


def test_blame_of_the_optimum_is_nothing():
    for problem in PROBLEMS.values():
        if problem.name.startswith("huge C"):
            continue  # a margin of 1 - 1e-12 costs C 1e-12 before its repair
        risk, (beta, theta) = problem.risk.centred, problem.good
        c = certify_candidate(risk, Candidate(beta=beta, theta=theta), "dual", TOL).certificate
        terms = (c.stationarity, c.complementarity.sum(), c.domain, c.balance)
        assert max(terms) <= 1e-5 * problem.scale, (problem.name, terms)
