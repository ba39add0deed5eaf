"""Problems with a known optimum, and ways in which an answer to them goes wrong.

The optimum comes from a closed form, or from a statement of the primal written here and solved to
1e-12: nothing of the package takes part in it but the numbers of the kernel.
"""

import functools
import warnings
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import scipy.linalg
from sklearn.datasets import load_breast_cancer, load_iris

import kernelqp as kq

TIGHT = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}


@dataclass(frozen=True, eq=False)
class Problem:
    """A method on data; `closed` is the optimum where a formula gives it."""

    name: str
    method: object
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    closed: float | None = None
    forms: tuple[str, ...] = field(default=("weights", "coefficients", "dual"))

    def page(self, form):
        if form == "dual":
            return self.method.dual(self.X, self.y, self.weights)
        return self.method.primal(self.X, self.y, self.weights, form=form)

    @functools.cached_property
    def risk(self):
        return self.page("dual").risk()

    @functools.cached_property
    def optimum(self):
        return stated_primal(self.risk) if self.closed is None else self.closed

    @functools.cached_property
    def scale(self):
        """What a relative gap is relative to, at the optimum."""
        risk = self.risk.centred
        mean = risk.costs @ risk.gram.diagonal / risk.costs.sum()
        floor = 1.0 / mean if mean > 0 else np.inf
        null = np.inf
        if (
            power_of(risk) is not None
        ):  # f = 0: only the offset is left, its best value is a label's
            offsets = np.linspace(-1.0, 1.0, 2001) if risk.offset.is_intercept else np.zeros(1)
            q = power_of(risk)
            null = min(risk.costs @ np.maximum(0.0, 1.0 - risk.targets * b) ** q for b in offsets)
        floor = min(floor, null)
        return max(abs(self.optimum), floor if np.isfinite(floor) else 0.0)

    @functools.cached_property
    def good(self):
        """(beta, theta) of the optimum on the centred risk."""
        risk = self.risk
        s = self.page("dual").solve(solver="CLARABEL", tol=1e-9)
        y = np.where(np.asarray(self.y) == s.classes[1], 1.0, -1.0)
        used = np.ones(len(y), bool) if self.weights is None else np.asarray(self.weights) > 0
        beta = (y * s.alpha)[used]
        b = np.array([s.intercept]) if risk.offset.is_intercept else np.zeros(0)
        return beta, risk.to_centred(risk.function(beta), b)[1]


def power_of(risk):
    """The power of the slack; None for a hard margin."""
    if risk.loss.hard:
        return None
    return {"Hinge": 1.0, "SquaredHinge": 2.0}.get(
        type(risk.loss).__name__, getattr(risk.loss, "q", None)
    )


def stated_primal(risk):
    """The optimal value of the primal as stated here: w on a factor of K, slack explicit."""
    if risk.gram.factor is not None:
        F = risk.gram.factor - risk.offset.is_intercept * risk.gram.factor.mean(axis=0)
    else:
        H = np.eye(risk.n) - risk.offset.is_intercept / risk.n
        values, vectors = scipy.linalg.eigh(H @ risk.gram.dense_matrix() @ H)
        keep = values > 1e-14 * values[-1]
        F = vectors[:, keep] * np.sqrt(values[keep])
    w, xi = cp.Variable(F.shape[1]), cp.Variable(risk.n)
    b = cp.Variable() if risk.offset.is_intercept else 0.0
    z, q = cp.multiply(risk.targets, F @ w + b), power_of(risk)
    if q is None:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), [z >= 1])
    else:
        paid = {1.0: xi, 2.0: cp.square(xi)}.get(q)
        paid = cp.power(xi, q) if paid is None else paid
        problem = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(w) + risk.costs @ paid), [z >= 1 - xi, xi >= 0]
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # asked for more figures than there are
        problem.solve(solver="CLARABEL", **TIGHT)
    return float(problem.value)


# --- problems ---------------------------------------------------------------------------------


def iris(a, b):
    X, y = load_iris(return_X_y=True)
    keep = (y == a) | (y == b)
    return X[keep], y[keep]


def cancer(n):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], y[:n]


def clouds(seed, n=30, apart=1.0):
    rng = np.random.default_rng(seed)
    y = np.resize([1, -1], n)
    return rng.normal(size=(n, 2)) + apart * np.c_[y, y], y


def _problems():
    soft, hard = kq.SoftMarginSVM, kq.HardMarginSVM
    rbf, implicit = kq.RBF(gamma=0.5), ("coefficients", "dual")
    line = np.array([[10.0], [11.0], [12.0], [13.0]])
    quad = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]])
    xor = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    halves, twice = np.array([-1, -1, 1, 1]), np.r_[clouds(8, 10)[0], clouds(8, 10)[0]]
    weights = np.random.default_rng(9).integers(0, 4, 30).astype(float)
    square = np.array([[0.0], [1.0], [3.0], [4.0]])
    mixed = np.array([-1, 1, -1, 1])
    return (
        Problem("iris", soft(C=1.0), *iris(1, 2)),
        Problem("iris hard", hard(), *iris(0, 1)),
        Problem("cancer", soft(C=1.0, kernel=kq.RBF(gamma=1 / 30)), *cancer(120), forms=implicit),
        Problem("separable", soft(C=10.0), square, halves, closed=0.5),
        Problem("overlapping", soft(C=0.5), *clouds(1)),
        Problem("weighted", soft(C=0.5, class_weight={1: 2.0}), *clouds(2), weights),
        Problem(
            "balanced",
            soft(C=2.0, class_weight="balanced", kernel=rbf),
            *clouds(3),
            weights,
            forms=implicit,
        ),
        Problem("duplicates", soft(C=2.0), twice, np.resize(clouds(8, 10)[1], 20)),
        Problem(
            "both labels", soft(C=1.5, kernel=rbf), twice, np.repeat([1, -1], 10), forms=implicit
        ),
        Problem("squared", soft(C=0.5, slack_power=2), *clouds(4)),
        Problem("squared rbf", soft(C=5.0, slack_power=2, kernel=rbf), *clouds(4), forms=implicit),
        Problem("power 1.5", soft(C=1.0, slack_power=1.5), *clouds(5)),
        Problem("power 3", soft(C=1.0, slack_power=3.0), *clouds(5)),
        Problem("penalised", soft(C=1.0, intercept="penalized"), *clouds(6)),
        Problem(
            "no intercept", soft(C=1.0, intercept="none", kernel=rbf), *clouds(6), forms=implicit
        ),
        Problem("hard, none", hard(intercept="none", kernel=rbf), *clouds(7), forms=implicit),
        Problem("hard, penalised", hard(intercept="penalized"), line - 11.5, halves),
        Problem("tiny C", soft(C=1e-7), quad, -halves, closed=4e-7 - 1e-13),
        Problem("huge C", soft(C=1e8), line, halves, closed=2.0),
        Problem("huge C overlapping", soft(C=1e8), line, mixed, closed=8e8 / 3 + 2 / 9),
        Problem("xor", hard(kernel=kq.Polynomial(2, 1.0, 1.0)), xor, halves, None, 0.25, implicit),
        Problem("far", soft(C=0.5), clouds(1)[0] + 1e6, clouds(1)[1]),
        Problem("small unit", soft(C=0.5e8), clouds(1)[0] * 1e-4, clouds(1)[1]),
    )


PROBLEMS = {p.name: p for p in _problems()}

# --- ways to go wrong -------------------------------------------------------------------------


def noise(size):
    def wrong(x, rng):
        return x * (1.0 + size * rng.normal(size=x.shape)) + size * spread(x) * rng.normal(
            size=x.shape
        )

    return wrong


def spread(x):
    """The size of the entries; 1 where all are 0."""
    return float(np.abs(x).max(initial=0.0)) or 1.0


def at_largest(change):
    """Change the entry of the largest size alone."""

    def wrong(x, _):
        x = x.copy()
        i = int(np.argmax(np.abs(x)))
        x[i] = change(x[i])
        return x

    return wrong


WRONG = {
    "noise 1e-3": noise(1e-3),
    "noise 1e-2": noise(1e-2),
    "noise 0.1": noise(0.1),
    "clipped": lambda x, _: np.clip(x, -0.5 * spread(x), 0.5 * spread(x)),
    "flipped": lambda x, _: -x,
    "unbalanced": lambda x, _: x + 0.05 * spread(x),
    "out of the box": at_largest(lambda v: 3.0 * v + 1e-3),
    "one sign flipped": at_largest(lambda v: -v),
    "one lost": at_largest(lambda _: 0.0),
    "halved": lambda x, _: 0.5 * x,
    "doubled": lambda x, _: 2.0 * x,
    "scaled 1e-3 up": lambda x, _: 1.001 * x,
    "huge": lambda x, _: 1e8 * x,
    "rows swapped": lambda x, _: x[::-1].copy(),
    "rows shuffled": lambda x, rng: rng.permutation(x),
    "zeros": lambda x, _: np.zeros_like(x),
    "two figures": lambda x, _: np.round(x, 1 - int(np.floor(np.log10(spread(x))))),
    "random": lambda x, rng: spread(x) * rng.normal(size=x.shape),
    "random positive": lambda x, rng: spread(x) * rng.random(x.shape),
}
