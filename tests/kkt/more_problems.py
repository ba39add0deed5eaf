"""More convex problems: cones by hand, attributes of every kind, smooth losses, optimum zero."""

import cvxpy as cp
import numpy as np

from .problems import labels, targets


def logistic():
    X, y = labels()
    w, b = cp.Variable(3, name="w"), cp.Variable(name="b")
    losses = cp.logistic(-cp.multiply(y, X @ w + b))
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 2 * cp.sum(losses)))


def sparse_logistic():
    X, y = labels()
    w, b = cp.Variable(3, name="w"), cp.Variable(name="b")
    losses = cp.logistic(-cp.multiply(y, X @ w + b))
    return cp.Problem(cp.Minimize(cp.sum(losses) + 4 * cp.norm1(w)), [b <= 0.1])


def logistic_by_cones():
    """log(1 + e^−z) <= t through two exponential cones a row, u + v <= 1."""
    X, y = labels(n=12)
    w, t = cp.Variable(3, name="w"), cp.Variable(12, name="t")
    u, v, one = cp.Variable(12, name="u"), cp.Variable(12, name="v"), np.ones(12)
    cones = [cp.ExpCone(-cp.multiply(y, X @ w) - t, one, u), cp.ExpCone(-t, one, v), u + v <= 1]
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(t)), cones)


def entropy_by_cones():
    """Largest entropy of a mean: q log q <= −s is the cone (s, q, 1)."""
    p, s = cp.Variable(6, name="p"), cp.Variable(6, name="s")
    cone = cp.ExpCone(s, p, np.ones(6))
    mean = np.arange(1.0, 7) @ p == 4.5
    return cp.Problem(cp.Maximize(cp.sum(s)), [cone, cp.sum(p) == 1, mean])


def divergence():
    q = np.array([0.1, 0.2, 0.3, 0.4])
    p = cp.Variable(4, name="p")
    return cp.Problem(
        cp.Minimize(cp.sum(cp.kl_div(p, q))), [cp.sum(p) == 1, p[0] >= 0.3, p[3] <= 0.2]
    )


def water_filling():
    x = cp.Variable(4, name="x")
    noise = np.array([0.8, 1.0, 1.5, 3.0])
    return cp.Problem(cp.Maximize(cp.sum(cp.log(noise + x))), [x >= 0, cp.sum(x) == 1.5])


def log_sum_exp():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.log_sum_exp(A @ x - y) + cp.sum_squares(x)), [x >= -0.2])


def power_cone():
    """Cobb-Douglas: the largest x^0.3 y^0.7 for a budget."""
    x = cp.Variable(3, name="x")
    cone = cp.PowCone3D(x[0], x[1], x[2], 0.3)
    return cp.Problem(cp.Maximize(x[2]), [cone, x[0] + 2 * x[1] == 1])


def power_cones():
    x, y, z = (cp.Variable(2, name=name) for name in "xyz")
    cone = cp.PowCone3D(x, y, z, np.array([0.3, 0.6]))
    budget = x + 2 * y == np.array([1.0, 4.0])
    return cp.Problem(cp.Maximize(np.array([1.0, 3.0]) @ z), [cone, budget])


def power_cones_nd():
    W, z = cp.Variable((3, 2), name="W"), cp.Variable(2, name="z")
    exponents = np.array([[0.2, 0.3], [0.3, 0.3], [0.5, 0.4]])
    cone = cp.PowConeND(W, z, exponents)
    return cp.Problem(cp.Maximize(z[0] + 2 * z[1]), [cone, cp.sum(W, axis=0) == [1.0, 2.0]])


def power_cone_rows():
    W, z = cp.Variable((2, 3), name="W"), cp.Variable(2, name="z")
    exponents = np.array([[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]])
    cone = cp.PowConeND(W, z, exponents, axis=1)
    return cp.Problem(cp.Maximize(z[0] + 2 * z[1]), [cone, W @ np.ones(3) <= [1.0, 2.0]])


def geometric_mean():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Maximize(cp.geo_mean(x)), [np.array([1.0, 2.0, 4.0]) @ x <= 12])


def log_det():
    """D-optimal design: at the optimum not every experiment is used."""
    V = np.random.default_rng(9).normal(size=(3, 8))
    lam = cp.Variable(8, name="lam")
    return cp.Problem(cp.Maximize(cp.log_det(V @ cp.diag(lam) @ V.T)), [cp.sum(lam) == 1, lam >= 0])


def nuclear_norm():
    C = np.random.default_rng(10).normal(size=(4, 3))
    X = cp.Variable((4, 3), name="X")
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(X - C) + 0.8 * cp.normNuc(X)))


def largest_eigenvalue():
    rng = np.random.default_rng(11)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    x = cp.Variable(2, name="x")
    matrix = (A + A.T) * x[0] + (B + B.T) * x[1] + np.diag([1.0, 2, 3, 4])
    return cp.Problem(cp.Minimize(cp.lambda_max(matrix)), [cp.norm(x) <= 0.3])


def max_cut():
    W = np.abs(np.random.default_rng(12).normal(size=(5, 5)))
    L = np.diag((W + W.T).sum(axis=0)) - W - W.T
    X = cp.Variable((5, 5), symmetric=True, name="X")
    return cp.Problem(cp.Maximize(0.25 * cp.trace(L @ X)), [X >> 0, cp.diag(X) == 1])


def nearest_correlation():
    C = np.random.default_rng(13).uniform(-1, 1, size=(4, 4))
    X = cp.Variable((4, 4), PSD=True, name="X")
    return cp.Problem(cp.Minimize(cp.sum_squares(X - (C + C.T) / 2)), [cp.diag(X) == 1])


def negative_semidefinite():
    C = np.random.default_rng(6).normal(size=(3, 3))
    N = cp.Variable((3, 3), NSD=True, name="N")
    return cp.Problem(cp.Minimize(cp.sum_squares(N - C - C.T)))


def symmetric_attribute():
    C = np.random.default_rng(14).normal(size=(3, 3))
    X = cp.Variable((3, 3), symmetric=True, name="X")
    return cp.Problem(cp.Minimize(cp.sum_squares(X - C)), [cp.trace(X) == 1, X <= 0.9])


def diagonal_attribute():
    C = np.random.default_rng(15).normal(size=(3, 3)) + 2 * np.eye(3)
    D = cp.Variable((3, 3), diag=True, name="D")
    return cp.Problem(cp.Minimize(cp.sum_squares(D - C)), [cp.trace(D) <= 3])


def sparse_attribute():
    C = np.random.default_rng(16).normal(size=(2, 3))
    S = cp.Variable((2, 3), sparsity=[(0, 1, 1), (0, 1, 2)], name="S")
    return cp.Problem(cp.Minimize(cp.sum_squares(S - C)), [cp.sum(S) == 1])


def nonpos_attribute():
    A, y = targets()
    x = cp.Variable(4, nonpos=True, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - y)), [cp.sum(x) >= -1.5])


def pos_attribute():
    x = cp.Variable(3, pos=True, name="x")
    f0 = cp.sum(cp.inv_pos(x)) + np.array([1.0, 4.0, 9.0]) @ x
    return cp.Problem(cp.Minimize(f0))


def box_lp_attribute():
    x = cp.Variable(4, bounds=[np.array([-1.0, 0, -2, 1]), np.array([1.0, np.inf, 2, 3])], name="x")
    row = np.array([1.0, 1.0, -1.0, 1.0]) @ x <= 4
    return cp.Problem(cp.Maximize(np.array([1.0, -2.0, 0.5, 0.7]) @ x), [row])


def elastic_net():
    A, y = targets()
    x = cp.Variable(4, name="x")
    penalty = 2 * cp.norm1(x) + cp.sum_squares(x)
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - y) + penalty))


def group_lasso():
    A, y = targets()
    x = cp.Variable(4, name="x")
    penalty = 6 * cp.norm(x[:2]) + 6 * cp.norm(x[2:]) + cp.norm(x[1:2])
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - y) + penalty))


def uniform_fit():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.norm_inf(A @ x - y)))


def absolute_fit():
    A, y = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.norm1(A @ x - y)), [cp.norm(x) <= 1.5])


def basis_pursuit():
    A = np.random.default_rng(17).normal(size=(4, 9))
    x = cp.Variable(9, name="x")
    return cp.Problem(cp.Minimize(cp.norm1(x)), [A @ x == A @ np.eye(9)[2]])


def piecewise_linear():
    A, y = targets(n=6)
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.max(A @ x - y) + 0.5 * cp.sum_squares(x)))


def weber_point():
    P = np.random.default_rng(18).normal(size=(7, 2)) + np.array([1.0, 2.0])
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(sum(cp.norm(x - p) for p in P)))


def robust_portfolio():
    rng = np.random.default_rng(19)
    F, mu = rng.normal(size=(8, 4)), rng.uniform(0.5, 2, size=8)
    x = cp.Variable(8, nonneg=True, name="x")
    return cp.Problem(cp.Maximize(mu @ x - 0.4 * cp.norm(F.T @ x)), [cp.sum(x) == 1, x <= 0.4])


def quadratic_constraint():
    rng = np.random.default_rng(20)
    R, c = rng.normal(size=(3, 3)), rng.normal(size=3)
    x = cp.Variable(3, name="x")
    ball = cp.quad_form(x, cp.psd_wrap(R.T @ R + np.eye(3))) <= 1.5
    return cp.Problem(cp.Maximize(c @ x), [ball, x[0] >= -0.1])


def parametrised_lasso():
    A, y = targets()
    lam, cap = cp.Parameter(nonneg=True, value=3.0), cp.Parameter(value=0.8)
    x = cp.Variable(4, name="x")
    f0 = 0.5 * cp.sum_squares(A @ x - y) + lam * cp.norm1(x)
    return cp.Problem(cp.Minimize(f0), [x <= cap])


def svr_dual():
    A, y = targets()
    up, down = cp.Variable(30, name="up"), cp.Variable(30, name="down")
    f0 = y @ (up - down) - 0.2 * cp.sum(up + down) - 0.5 * cp.sum_squares(A.T @ (up - down))
    box = [up >= 0, up <= 1, down >= 0, down <= 1, cp.sum(up - down) == 0]
    return cp.Problem(cp.Maximize(f0), box)


def one_class_dual():
    X, _ = labels()
    a = cp.Variable(30, name="a")
    K = cp.psd_wrap(X @ X.T + 1)
    return cp.Problem(cp.Minimize(0.5 * cp.quad_form(a, K)), [a >= 0, a <= 1 / 9, cp.sum(a) == 1])


def nu_svc():
    X, y = labels()
    w, b, rho = cp.Variable(3, name="w"), cp.Variable(name="b"), cp.Variable(name="rho")
    xi = cp.Variable(30, nonneg=True, name="xi")
    f0 = 0.5 * cp.sum_squares(w) - 0.4 * rho + cp.sum(xi) / 30
    return cp.Problem(cp.Minimize(f0), [cp.multiply(y, X @ w + b) >= rho - xi])


def quad_over_lin():
    x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
    f0 = cp.quad_over_lin(x - np.array([2.0, 1.0]), t) + 3 * t
    return cp.Problem(cp.Minimize(f0), [x[0] <= 1, t >= 0.1])


def powers():
    x = cp.Variable(3, name="x")
    f0 = cp.sum(cp.power(cp.abs(x), 1.5)) + cp.sum(cp.power(x - 2, 4))
    return cp.Problem(cp.Minimize(f0), [cp.sum(x) <= 2])


# optimum exactly 0: true answers are accepted or not judged, never refused
def cone_qp():
    x = cp.Variable(4, name="x")
    f0 = 0.5 * cp.sum_squares(x) + np.array([1.0, 2.0, 0.5, 3.0]) @ x
    return cp.Problem(cp.Minimize(f0), [x >= 0])


def cone_qp_attribute():
    x = cp.Variable(4, nonneg=True, name="x")
    f0 = 0.5 * cp.sum_squares(x) + np.array([1.0, 2.0, 0.5, 3.0]) @ x
    return cp.Problem(cp.Minimize(f0))


def wide_tube():
    """Support vector regression whose tube holds every target: w = 0, value 0."""
    A, y = targets()
    w, b, xi = cp.Variable(4, name="w"), cp.Variable(name="b"), cp.Variable(30, name="xi")
    tube, residual = 2 * np.abs(y).max(), A @ w + b - y
    f0 = 0.5 * cp.sum_squares(w) + cp.sum(xi)
    return cp.Problem(cp.Minimize(f0), [residual <= tube + xi, -residual <= tube + xi, xi >= 0])


def wide_tube_dual():
    A, y = targets()
    up, down = cp.Variable(30, name="up"), cp.Variable(30, name="down")
    tube = 2 * np.abs(y).max()
    f0 = y @ (up - down) - tube * cp.sum(up + down) - 0.5 * cp.sum_squares(A.T @ (up - down))
    box = [up >= 0, up <= 1, down >= 0, down <= 1, cp.sum(up - down) == 0]
    return cp.Problem(cp.Maximize(f0), box)


def feasibility():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(0), [cp.sum(x) == 1, x >= 0.1, x[0] <= 0.5])


def zero_lp():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(np.array([1.0, 2.0, 3.0]) @ x), [x >= 0, cp.sum(x) <= 5])


def perfect_fit():
    A, _ = targets()
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - A @ np.ones(4))), [x <= 3])


SMOOTH = (logistic, sparse_logistic, divergence, water_filling, log_sum_exp)
CONES_BY_HAND = (logistic_by_cones, entropy_by_cones, power_cone, power_cones)
CONES_BY_HAND += (power_cones_nd, power_cone_rows)
SPECTRAL = (log_det, nuclear_norm, largest_eigenvalue, max_cut, nearest_correlation)
ATTRIBUTES = (negative_semidefinite, symmetric_attribute, diagonal_attribute, sparse_attribute)
ATTRIBUTES += (nonpos_attribute, pos_attribute, box_lp_attribute)
NORMS = (elastic_net, group_lasso, uniform_fit, absolute_fit, basis_pursuit, piecewise_linear)
NORMS += (weber_point, robust_portfolio, quadratic_constraint, geometric_mean, quad_over_lin)
NORMS += (powers, parametrised_lasso)
MACHINES = (svr_dual, one_class_dual, nu_svc)
MORE = (*SMOOTH, *CONES_BY_HAND, *SPECTRAL, *ATTRIBUTES, *NORMS, *MACHINES)
OPTIMUM_ZERO = (cone_qp, cone_qp_attribute, wide_tube, wide_tube_dual, feasibility, zero_lp)
OPTIMUM_ZERO += (perfect_fit,)
