"""The ν methods: pages and engine, what ν means, translations to C and ε, scales."""

import functools
import warnings

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq
from kernelqp.errors import ParameterError
from kernelqp.losses import EpsilonInsensitive
from kernelqp.nu_risks import best_epsilon, doubled, shares

KERNELS = {
    "linear": kq.Linear(),
    "rbf": kq.RBF(gamma=0.5),
    "polynomial": kq.Polynomial(2, 0.5, 1.0),
}
INTERCEPTS = ("free", "penalized", "none")
N = 30
TIGHT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)  # values are near 1e-4


def data(kind, weighted=False):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 3))
    if kind == "NuSVR":
        y = X @ [1.0, 2.0, -1.0] + rng.normal(size=N) + 4.0
    else:
        y = np.resize([1, -1, 1], N)
        X = X + (np.outer(y, [1.0, 0.5, 0.0]) if kind == "NuSVM" else np.array([3.0, 2.0, 0.0]))
    weights = rng.integers(0, 4, N) * rng.choice([0.5, 1.0], N) if weighted else None
    return X, y, weights


def method(kind, kernel, intercept):
    """With a ν at which no count of whole rows fills it: there b, ρ or ε would be an interval."""
    if kind == "NuSVM":
        return kq.NuSVM(0.43, KERNELS[kernel], intercept)
    if kind == "NuSVR":
        return kq.NuSVR(50.0, 0.43, KERNELS[kernel], intercept)
    return kq.OneClassSVM(0.31, KERNELS[kernel])


PAGES = [(kind, k, i) for kind in ("NuSVM", "NuSVR") for k in KERNELS for i in INTERCEPTS]
PAGES += [("OneClassSVM", k, "none") for k in KERNELS]
every_page = pytest.mark.parametrize("page", PAGES, ids="-".join)


def forms(page):
    return ("weights",) * (page[1] == "linear") + ("coefficients", "dual")


def formulation(page, form, weighted=True):
    X, y, weights = data(page[0], weighted)
    m = method(*page)
    if form == "dual":
        return m.dual(X, y, weights)
    return m.primal(X, y, weights, form=form)


def literal(problem):
    """The value as cvxpy gives it; CLARABEL ends in an error on one page in β, K of rank 3."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate"
        try:
            problem.solve(solver="CLARABEL", **TIGHT)
        except cp.SolverError:
            problem.solve(solver="OSQP", eps_abs=1e-9, eps_rel=1e-9, max_iter=100_000)
    return float(problem.value)


@functools.cache
def engine_value(page):
    risk = formulation(page, "dual").risk()
    primal, dual = literal(risk.primal().problem), literal(risk.dual().problem)
    assert primal == pytest.approx(dual, rel=1e-6)
    return dual


@functools.cache
def tight(page, form="dual"):
    return formulation(page, form).solve(tol=1e-9)


@every_page
def test_pages_and_engine_have_one_value(page):
    """Literal and certified, primal and dual."""
    best = tight(page)
    assert best.certificate.certified
    assert engine_value(page) == pytest.approx(best.value, rel=1e-6)
    for form in forms(page):
        f = formulation(page, form)
        assert f.problem.is_dcp(dpp=True)
        assert literal(f.problem) == pytest.approx(best.value, rel=1e-6), form
        given = f.solution()
        assert given.certificate.certified, (form, given)
        assert given.value == pytest.approx(best.value, rel=1e-6), form


@every_page
@pytest.mark.parametrize("solver", ["native", "CLARABEL", "OSQP", "SCS"])
def test_every_solver_is_certified_and_passes_kkt(page, solver):
    for form in forms(page):
        s = formulation(page, form).solve(solver=solver)
        if solver != "SCS":
            assert s.certificate.certified, (form, s)
        if s.certificate.certified:
            assert s.value == pytest.approx(tight(page).value, rel=2e-6)
        if s.certificate.relative_gap <= 1e-8:
            kq.assert_kkt(s)


@every_page
def test_multipliers_of_the_primal_are_the_dual_variables_and_back(page):
    """Written by fill, read by cvxpy's own solve: K definite, or its elbow in general position."""
    form = forms(page)[0]
    primal, dual = formulation(page, form), formulation(page, "dual")
    literal(primal.problem)
    literal(dual.problem)
    s = tight(page)
    size = np.abs(s.alpha).max()
    rows = dual.page.data.rows
    names = {"above": "alpha", "below": "alpha_star"} if page[0] == "NuSVR" else {"margin": "alpha"}
    for constraint, variable in names.items():
        found = np.ravel(primal.constraints[constraint].dual_value)
        assert found == pytest.approx(dual.variables[variable].value, abs=2e-4 * size)
    signed = dual.variables["alpha"].value - (
        dual.variables["alpha_star"].value if page[0] == "NuSVR" else 0.0
    )
    assert signed == pytest.approx(s.alpha[rows], abs=2e-4 * size)
    total = float(np.ravel(dual.constraints["sum"].dual_value)[0])
    width = s.epsilon if page[0] == "NuSVR" else -s.rho
    assert total == pytest.approx(width, abs=1e-4 * max(abs(width), 1e-2))
    if page[2] == "free":
        b = float(np.ravel(dual.constraints["balance"].dual_value)[0])
        assert b == pytest.approx(s.intercept, abs=1e-4)


@every_page
def test_solutions_of_all_forms_predict_alike(page):
    found = [tight(page, form) for form in forms(page)]
    new = np.random.default_rng(5).normal(size=(7, 3))
    size = np.abs(found[0].decision_function(new)).max()
    for s in found[1:]:
        values = s.decision_function(new)
        assert values == pytest.approx(found[0].decision_function(new), abs=1e-4 * size)


@every_page
def test_weights_are_repetitions(page):
    X, y, _ = data(page[0])
    counts = np.random.default_rng(1).integers(0, 3, N)
    m = method(*page)
    weighted = m.solve(X, y, counts.astype(float), tol=1e-9)
    repeated = m.solve(np.repeat(X, counts, axis=0), np.repeat(y, counts), tol=1e-9)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-6)
    assert not weighted.alpha[counts == 0].any()
    f, g = weighted.decision_function(X), repeated.decision_function(X)
    assert f == pytest.approx(g, abs=1e-4 * np.abs(g).max())


# --- what nu means ------------------------------------------------------------------------------


@every_page
def test_nu_bounds_the_weight_outside_and_that_of_support_vectors(page):
    s, (_, _, weights) = tight(page), data(page[0], True)
    nu, size = s.method.nu, np.abs(s.slack).max()
    outside = weights[s.slack > 1e-6 * size].sum() / weights.sum()
    carrying = weights[s.support.support_vectors].sum() / weights.sum()
    assert outside <= nu + 1e-12
    assert carrying >= nu - 1e-12


@every_page
def test_support_is_that_of_the_multipliers(page):
    """A tight answer has multipliers far from rounding, and no set claims a row it cannot."""
    s = tight(page)
    clear = np.flatnonzero(np.abs(s.alpha) > 1e-5 * np.abs(s.alpha).max())
    assert set(clear) <= set(s.support.support_vectors)
    assert len(s.support.support_vectors) <= len(clear) + 1
    if page[0] == "NuSVR":
        return
    X, y, weights = data(page[0], True)
    signs = np.ones(N) if page[0] == "OneClassSVM" else y
    values = signs * (s.decision_function(X) + (s.rho if page[0] == "OneClassSVM" else 0.0))
    assert (values[s.support.left] < s.rho).all()
    assert (values[s.support.right] > s.rho).all()
    assert values[s.support.elbow] == pytest.approx(s.rho, rel=1e-4)
    assert len(s.support.elbow) > 0
    assert not set(s.support.right) & set(s.support.support_vectors)
    assert len(s.support.undecided) <= 1 < len(s.support.right), weights


# --- translations -------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_nu_and_C_lead_to_each_other(kernel, intercept, weighted):
    X, y, w = data("NuSVM", weighted)
    common = {"kernel": KERNELS[kernel], "intercept": intercept}
    for C in (2.0, 30.0):  # at a small C ν is at its limit, where ρ and b are no point
        soft = kq.SoftMarginSVM(C=C, **common).solve(X, y, w, form="dual", tol=1e-9)
        s = kq.NuSVM(nu=soft.nu, **common).solve(X, y, w, form="dual", tol=1e-9)
        f = soft.decision_function(X)
        assert s.decision_function(X) / s.rho == pytest.approx(f, abs=1e-4 * np.abs(f).max())
        back = kq.SoftMarginSVM(C=s.C, **common).solve(X, y, w, form="dual", tol=1e-9)
        assert back.decision_function(X) == pytest.approx(f, abs=1e-4 * np.abs(f).max())
        assert s.geometric_margin == pytest.approx(soft.geometric_margin, rel=1e-4)
        assert (s.predict(X) == soft.predict(X)).mean() >= 1 - 1 / N


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_nu_and_epsilon_lead_to_each_other(kernel, intercept):
    X, y, w = data("NuSVR", True)
    s = method("NuSVR", kernel, intercept).solve(X, y, w, form="dual", tol=1e-9)
    used = np.flatnonzero(w)
    gram = kq.Gram.of(KERNELS[kernel].bind(X[used]), X[used])
    costs = s.method.C * shares(w[used])
    loss = EpsilonInsensitive(s.epsilon)
    tube = kq.RegularizedRisk(gram, y[used], costs, loss, intercept).solve(tol=1e-9)
    assert tube.value == pytest.approx(s.value - s.method.C * s.method.nu * s.epsilon, rel=1e-6)
    assert gram.matvec(tube.beta) == pytest.approx(gram.matvec(s.beta[used]), abs=1e-3)
    nu = float(np.abs(tube.beta).sum()) / s.method.C  # one of an interval where K is singular
    back = kq.NuSVR(s.method.C, nu, KERNELS[kernel], intercept)
    back = back.solve(X, y, w, form="dual", tol=1e-9)
    assert back.value == pytest.approx(tube.value + s.method.C * nu * s.epsilon, rel=1e-6)
    assert back.decision_function(X) == pytest.approx(s.decision_function(X), abs=1e-3)


def test_what_a_translation_cannot_say_is_said():
    X, y, _ = data("NuSVM")
    with pytest.raises(AttributeError, match="only slack to the power 1 has a nu"):
        _ = kq.SoftMarginSVM(slack_power=2).solve(X, y).nu
    with pytest.raises(AttributeError, match="no soft margin"):
        _ = kq.NuSVM(0.5).solve(np.ones((4, 1)), [0, 1, 0, 1]).C
    with pytest.raises(AttributeError, match="rho moves with it"):
        _ = kq.NuSVM(0.4).solve(X, y).intercept_interval
    with pytest.raises(AttributeError, match="epsilon moves with it"):
        _ = kq.NuSVR(1.0).solve(X, X[:, 0]).intercept_interval
    with pytest.raises(AttributeError, match="one class"):
        _ = kq.OneClassSVM().solve(X).classes
    with pytest.raises(AttributeError, match="has no rho"):
        _ = kq.SoftMarginSVM().solve(X, y).rho


# --- scales -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["NuSVM", "OneClassSVM"])
@pytest.mark.parametrize("t", [1e-8, 1e8])
@pytest.mark.parametrize("solver", ["auto", "native"])
def test_the_unit_of_the_kernel_is_that_of_f_and_rho(kind, t, solver):
    """K -> t² K gives t² f, t² rho and t² the value; the gap is judged alike."""
    X, y, w = data(kind, True)
    cls = getattr(kq, kind)
    for kernel in (kq.Linear(), kq.RBF(gamma=0.5)):
        one = cls(0.4, kernel).solve(X, y, w, form="dual", solver=solver, tol=1e-9)
        other = cls(0.4, t**2 * kernel).solve(X, y, w, form="dual", solver=solver, tol=1e-9)
        assert one.certificate.certified
        assert other.certificate.certified
        assert other.value == pytest.approx(t**2 * one.value, rel=1e-7)
        assert other.rho == pytest.approx(t**2 * one.rho, rel=1e-5)
        wrong = np.where(np.arange(N) % 2, 0.5, 0.1) * one.alpha
        gaps = [_gap_of(cls(0.4, k), X, y, w, wrong) for k in (kernel, t**2 * kernel)]
        assert gaps[0] > 1e-3
        assert gaps[1] == pytest.approx(gaps[0], rel=1e-6)


def _gap_of(m, X, y, w, alpha):
    page = m.dual(X, y, w)
    page.variables["alpha"].value = alpha[page.page.data.rows]
    return page.solution().certificate.relative_gap


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
def test_features_far_from_the_origin(form):
    X, y, w = data("NuSVM", True)
    t = data("NuSVR")[1]
    near, far = (kq.NuSVM(0.4).solve(Z, y, w, form=form) for Z in (X, X + 2.0**20))
    assert far.certificate.certified
    assert far.value == pytest.approx(near.value, rel=2e-6)
    near, far = (kq.NuSVR(9.0, 0.4).solve(Z, u, w, form=form) for Z, u in ((X, t), (X, t + 2**20)))
    assert far.certificate.certified
    assert far.value == pytest.approx(near.value, rel=2e-6)
    assert far.intercept - 2**20 == pytest.approx(near.intercept, abs=1e-3)


def test_another_nu_or_C_compiles_nothing():
    X, y, w = data("NuSVR", True)
    page = kq.NuSVR(5.0, 0.3).dual(X, y, w)
    page.solve(solver="CLARABEL")
    twins = dict(page.twins)
    page.parameters["nu"].value, page.parameters["C"].value = 0.6, 20.0
    s = page.solve(solver="CLARABEL")
    assert page.twins == twins
    assert s.method == kq.NuSVR(20.0, 0.6)
    assert s.value == pytest.approx(kq.NuSVR(20.0, 0.6).solve(X, y, w).value, rel=2e-6)
    X, y, w = data("NuSVM", True)
    page = kq.NuSVM(0.3).primal(X, y, w)
    page.solve(solver="CLARABEL")
    page.parameters["nu"].value = 0.5
    assert page.solve(solver="CLARABEL").value == pytest.approx(
        kq.NuSVM(0.5).solve(X, y, w).value, rel=2e-6
    )
    page.parameters["nu"].value = 1.0
    with pytest.raises(ParameterError, match=r"nu = 1\.0 is too large"):
        page.solve()


# --- the pieces --------------------------------------------------------------------------------


def test_epsilon_is_the_weighted_quantile():
    rng = np.random.default_rng(0)
    r, w = rng.normal(size=40), rng.uniform(0.1, 1.0, 40)
    for nu in (0.05, 0.5, 0.999, 1.0):
        found = best_epsilon(r, w, nu)
        costs = [nu * e + shares(w) @ np.maximum(np.abs(r) - e, 0.0) for e in (*np.abs(r), 0.0)]
        at = nu * found + shares(w) @ np.maximum(np.abs(r) - found, 0.0)
        assert at == pytest.approx(min(costs), rel=1e-12)


def test_rows_twice_are_the_same_rows():
    X = data("NuSVR")[0]
    beta = np.random.default_rng(1).normal(size=2 * N)
    for gram in (
        kq.Gram.from_factor(X),
        kq.Gram.dense(X @ X.T),
        kq.Gram.of(kq.RBF(gamma=0.5), X),
    ):
        once = gram.matvec(beta[:N] + beta[N:])
        assert doubled(gram).matvec(beta) == pytest.approx(np.r_[once, once])
