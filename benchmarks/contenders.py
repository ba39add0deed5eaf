"""Who solves a kernel QP: ourselves, scikit-learn and Intel's, cvxpy's solvers, a dense QP solver.

Everybody starts from X and y. What is timed is the whole way to the answer; judging it is not, but
for ours, whose solve ends in its certificate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import kernelqp as kq
from benchmarks.works import TOL, Work
from kernelqp.solvers.cvxpy import silent

SECONDS = 60.0  # nobody may run for ever
CVXPY_OPTIONS = {  # by solver: the options that hold a tolerance, and those that hold a limit
    "OSQP": (("eps_abs", "eps_rel"), {"time_limit": SECONDS}),
    "CLARABEL": (("tol_gap_abs", "tol_gap_rel", "tol_feas"), {"time_limit": SECONDS}),
    "PIQP": (("eps_abs", "eps_rel"), {}),
}
JUDGE = attrgetter("risk")  # the problem that answers are judged by
LARGE = 2000  # rows above which general solvers are not asked: a minute, and gigabytes


@dataclass(frozen=True)
class Contender:
    """One way to an answer.

    ``solve`` takes a work to an answer, ``gap`` an answer to its certified relative gap, and
    ``prepare`` is done before the clock starts; ``missing`` says why it cannot be run here.
    """

    name: str
    solve: Callable[[Work], Any]
    gap: Callable[[Work, Any], float]
    largest: float = float("inf")
    missing: str | None = None
    models_only: bool = False
    prepare: Callable[[Work], Any] = lambda _: None

    def left_out(self, work):
        """Return why this one is not asked, or None."""
        if self.missing is not None:
            return self.missing
        if self.models_only and work.model is None:
            return "has no such model"
        if work.n > self.largest:
            return f"n = {work.n:,} is above its bound of {self.largest:,}"
        return None


def ours():
    """Our own engine, certified to 1e-9."""
    return Contender(
        "ours",
        lambda work: work.method.solve(work.X, work.y, solver="native", tol=TOL),
        lambda _, solution: solution.certificate.relative_gap,
    )


def not_installed(module, package):
    return None if find_spec(module) else f"{package} is not installed"


def model_gap(work, model):
    """Return what `kq.certify` proves of a fitted model as it is."""
    return kq.certify(model, work.X, work.y, tol=TOL).relative_gap


def scikit_learn(tol, name):
    """scikit-learn's SVC or SVR; its default tolerance is 1e-3."""

    def fit(work):
        model = getattr(import_module("sklearn.svm"), work.model)
        return model(**work.parameters, tol=tol).fit(work.X, work.y)

    return Contender(name, fit, model_gap, models_only=True)


def intelex(tol, name):
    """Intel's replacement of scikit-learn's classes, which hands over what it does not take."""

    def fit(work):
        model = getattr(import_module("sklearnex.svm"), work.model)
        fitted = model(**work.parameters, tol=tol).fit(work.X, work.y)
        if not hasattr(fitted, "_onedal_estimator"):
            raise RuntimeError("it handed the fit to scikit-learn")
        return fitted

    missing = not_installed("sklearnex", "scikit-learn-intelex")
    return Contender(name, fit, model_gap, models_only=True, missing=missing)


def through_cvxpy(solver, tol=None, name=None):
    """The textbook dual as a cvxpy problem, solved literally; tol None is the solver's default."""
    tolerances, limits = CVXPY_OPTIONS[solver]
    options = limits if tol is None else limits | dict.fromkeys(tolerances, tol)

    def solve(work):
        page = work.method.dual(work.X, work.y)
        with silent():
            page.problem.solve(solver=solver, **options)
        if any(variable.value is None for variable in page.variables.values()):
            raise RuntimeError(f"it ended {page.problem.status!r} without an answer")
        return page

    installed = solver in cp.installed_solvers()
    return Contender(
        name or f"cvxpy {solver}",
        solve,
        lambda work, page: work.gap(page.read(work.risk).beta),
        LARGE,
        None if installed else f"{solver} is not installed",
        prepare=JUDGE,
    )


def dense_piqp(tol=None, name="dense PIQP"):
    """PIQP's dense interior point method on the matrices themselves, through qpsolvers."""
    options = {} if tol is None else {"eps_abs": tol, "eps_rel": tol}

    def solve(work):
        from qpsolvers import solve_qp

        quadratic = textbook_qp(work, rbf_kernel(work.X, gamma=work.gamma))
        x = solve_qp(*quadratic, solver="piqp", backend="dense", **options)
        if x is None:
            raise RuntimeError("it ended without an answer")
        return x if x.size == work.n else x[: work.n] - x[work.n :]

    missing = not_installed("qpsolvers", "qpsolvers") or not_installed("piqp", "piqp")
    return Contender(name, solve, lambda work, beta: work.gap(beta), LARGE, missing, prepare=JUDGE)


def textbook_qp(work, K):
    """Return P, q, G, h, A, b, lower, upper of the dual in β; in (α, α*) where ε|β| is in it."""
    row = work.risk.loss.row(work.risk.targets, work.risk.costs)
    P, q, lower, upper, ones = K, -row.q, row.lower, row.upper, np.ones(work.n)
    if row.eps.any():
        P = np.block([[K, -K], [-K, K]])
        q = np.concatenate([row.eps - row.q, row.eps + row.q])
        upper, lower = np.concatenate([row.upper, -row.lower]), np.zeros(2 * work.n)
        ones = np.concatenate([ones, -ones])
    return P, q, None, None, ones[None, :], np.zeros(1), lower, upper


def in_a_row(contender, works):
    """Return a contender that solves several works one after another; its gap is the worst."""
    return replace(
        contender,
        solve=lambda _: [contender.solve(work) for work in works],
        gap=lambda _, answers: max(map(contender.gap, works, answers)),
        prepare=lambda _: [contender.prepare(work) for work in works],
    )


def everybody():
    """Return the contenders of a table, ours last."""
    return [
        scikit_learn(1e-3, "scikit-learn"),
        scikit_learn(1e-8, "scikit-learn 1e-8"),
        intelex(1e-3, "intelex"),
        intelex(1e-8, "intelex 1e-8"),
        *(through_cvxpy(solver) for solver in CVXPY_OPTIONS),
        dense_piqp(),
        ours(),
    ]
