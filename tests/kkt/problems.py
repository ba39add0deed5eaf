"""Convex problems with known shape: each entry builds a fresh problem from a fixed seed."""

import cvxpy as cp
import numpy as np


def labels(n=30, d=3, noise=0.6):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d))
    y = np.sign(X @ np.array([1.0, 2.0, -1.0])[:d] + noise * rng.normal(size=n))
    return X, y


def targets(n=30, d=4):
    rng = np.random.default_rng(8)
    A = rng.normal(size=(n, d))
    return A, A @ np.array([1.0, 0.0, -2.0, 0.5])[:d] + 0.3 * rng.normal(size=n)


def lp():
    x = cp.Variable(2, name="x")
    rows = np.array([[1.0, 2.0], [3.0, 1.0]])
    return cp.Problem(cp.Minimize(-x[0] - x[1]), [rows @ x <= np.array([4.0, 6.0]), x >= 0])


def qp():
    rng = np.random.default_rng(1)
    R, A = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    x = cp.Variable(6, name="x")
    f0 = 0.5 * cp.quad_form(x, cp.psd_wrap(R.T @ R + np.eye(6))) + rng.normal(size=6) @ x
    return cp.Problem(cp.Minimize(f0), [A @ x <= -0.1, cp.sum(x) == 1])


def equality_qp():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 3, x[0] - x[1] == 0.5])


def soft_margin(power=1):
    X, y = labels()
    w, b, xi = cp.Variable(3, name="w"), cp.Variable(name="b"), cp.Variable(30, name="xi")
    f0 = 0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi**power if power > 1 else xi)
    return cp.Problem(cp.Minimize(f0), [cp.multiply(y, X @ w + b) >= 1 - xi, xi >= 0])


def squared_slack():
    return soft_margin(2)


def svm_dual():
    X, y = labels()
    a = cp.Variable(30, name="alpha")
    K = cp.psd_wrap(X @ X.T)
    f0 = cp.sum(a) - 0.5 * cp.quad_form(cp.multiply(y, a), K)
    return cp.Problem(cp.Maximize(f0), [a >= 0, a <= 2, y @ a == 0])


def svm_dual_factor():
    X, y = labels()
    a = cp.Variable(30, name="alpha")
    f0 = cp.sum(a) - 0.5 * cp.sum_squares(X.T @ cp.multiply(y, a))
    return cp.Problem(cp.Maximize(f0), [a >= 0, a <= 2, y @ a == 0])


def rbf_dual():
    X, y = labels()
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    a = cp.Variable(30, name="alpha")
    K = cp.psd_wrap(np.exp(-0.5 * squared))
    f0 = cp.sum(a) - 0.5 * cp.quad_form(cp.multiply(y, a), K)
    return cp.Problem(cp.Maximize(f0), [a >= 0, a <= 2, y @ a == 0])


def hard_margin():
    X, y = labels(noise=0.0)
    w, b = cp.Variable(3, name="w"), cp.Variable(name="b")
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), [cp.multiply(y, X @ w + b) >= 1])


def separable_soft_margin():
    X, y = labels(noise=0.0)
    w, b, xi = cp.Variable(3, name="w"), cp.Variable(name="b"), cp.Variable(30, name="xi")
    f0 = 0.5 * cp.sum_squares(w) + 1e4 * cp.sum(xi)
    return cp.Problem(cp.Minimize(f0), [cp.multiply(y, X @ w + b) >= 1 - xi, xi >= 0])


def max_margin():
    X, y = labels(noise=0.0)
    w, b, M = cp.Variable(3, name="w"), cp.Variable(name="b"), cp.Variable(name="M")
    return cp.Problem(cp.Maximize(M), [cp.multiply(y, X @ w + b) >= M, cp.norm(w) <= 1])


def lasso():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - y) + 3.0 * cp.norm1(x)))


def lasso_split():
    A, y = targets()
    x, t = cp.Variable(4, name="x"), cp.Variable(4, name="t")
    f0 = 0.5 * cp.sum_squares(A @ x - y) + 3.0 * cp.sum(t)
    return cp.Problem(cp.Minimize(f0), [x <= t, -x <= t])


def least_squares():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - y)))


def norm_fit():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.norm(A @ x - y)), [cp.norm1(x) <= 2])


def socp():
    x = cp.Variable(3, name="x")
    cones = [cp.SOC(2.0 - x[0], x[1:]), cp.SOC(1.5, x), x[2] >= 0.25]
    return cp.Problem(cp.Minimize(np.array([1.0, 2.0, 0.5]) @ x), cones)


def soc_columns():
    X = cp.Variable((2, 4), name="X")
    C = np.random.default_rng(2).normal(size=(2, 4))
    cone = cp.SOC(np.arange(1.0, 5.0), X, axis=0)
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(C, X))), [cone])


def chebyshev_centre():
    A = np.array([[2.0, 1.0], [2.0, -1.0], [-1.0, 2.0], [-1.0, -2.0]])
    c, r = cp.Variable(2, name="c"), cp.Variable(name="r")
    return cp.Problem(cp.Maximize(r), [A @ c + r * np.linalg.norm(A, axis=1) <= np.ones(4)])


def portfolio():
    rng = np.random.default_rng(3)
    F, mu = rng.normal(size=(8, 5)), np.abs(rng.normal(size=8))
    x = cp.Variable(8, name="x")
    f0 = mu @ x - 0.5 * cp.sum_squares(F.T @ x) - 0.5 * cp.sum_squares(x)
    return cp.Problem(cp.Maximize(f0), [cp.sum(x) == 1, x >= 0])


def nonneg_attribute():
    A, y = targets()
    x = cp.Variable(4, nonneg=True, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - y)), [cp.sum(x) <= 1])


def bounds_attribute():
    A, y = targets()
    x = cp.Variable(4, bounds=[np.array([-np.inf, 0, -1, -1]), 0.75], name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - y)), [cp.sum(x) == 1])


def quantile():
    A, y = targets()
    w, u, v = cp.Variable(4, name="w"), cp.Variable(30, name="u"), cp.Variable(30, name="v")
    f0 = cp.sum(0.3 * u + 0.7 * v)
    return cp.Problem(cp.Minimize(f0), [A @ w + u - v == y, u >= 0, v >= 0])


def huber():
    A, y = targets()
    y = y + 5 * (np.arange(30) % 7 == 0)
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.sum(cp.huber(A @ x - y, 0.5))), [x <= 0.9])


def transport():
    cost = np.random.default_rng(4).uniform(1, 3, size=(3, 4))
    T = cp.Variable((3, 4), name="T")
    rows, columns = np.array([3.0, 4.0, 5.0]), np.full(4, 3.0)
    sums = [cp.sum(T, axis=1) == rows, cp.sum(T, axis=0) == columns, T >= 0]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, T))), sums)


def hinge_kink():
    X, y = labels()
    w, b = cp.Variable(3, name="w"), cp.Variable(name="b")
    f0 = 0.5 * cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    return cp.Problem(cp.Minimize(f0))


def smallest_eigenvalue():
    C = np.random.default_rng(5).normal(size=(3, 3))
    S = cp.Variable((3, 3), symmetric=True, name="S")
    return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ S)), [cp.trace(S) == 1, S >> 0])


def psd_attribute():
    C = np.random.default_rng(5).normal(size=(3, 3))
    S = cp.Variable((3, 3), PSD=True, name="S")
    return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ S)), [cp.trace(S) == 1])


def exponential_cone():
    t = cp.Variable(2, name="t")
    cone = cp.ExpCone(np.array([1.0, 2.0]), np.ones(2), t)
    return cp.Problem(cp.Minimize(cp.sum(t)), [cone])


def entropy():
    p = cp.Variable(4, name="p")
    f0 = cp.sum(cp.entr(p)) + np.array([1.0, 0.0, 2.0, -1.0]) @ p
    return cp.Problem(cp.Maximize(f0), [cp.sum(p) == 1])


LINEAR = (lp, chebyshev_centre, quantile, transport)
QUADRATIC = (
    qp,
    equality_qp,
    soft_margin,
    squared_slack,
    svm_dual,
    svm_dual_factor,
    rbf_dual,
    hard_margin,
    separable_soft_margin,
    lasso,
    lasso_split,
    least_squares,
    portfolio,
    nonneg_attribute,
    bounds_attribute,
    huber,
    hinge_kink,
)
CONIC = (max_margin, norm_fit, socp, soc_columns)
BEYOND = (smallest_eigenvalue, psd_attribute, exponential_cone, entropy)
ALL = (*LINEAR, *QUADRATIC, *CONIC, *BEYOND)
KINKED = (hinge_kink, lasso, entropy, norm_fit, nonneg_attribute)
WITH_ATTRIBUTES = (nonneg_attribute, bounds_attribute, smallest_eigenvalue, psd_attribute)
