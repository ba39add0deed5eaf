"""Several quantile levels: what crosses is reported, what must not cross does not."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.errors import InputError, ParameterError, SolverError

X = np.arange(6.0)[:, None]
Y = np.array([0.0, 6.0, 1.5, 3.0, 2.6, 2.8])
TAUS = (0.1, 0.5, 0.9)


def test_lines_that_cross_inside_the_data():
    found = kq.quantiles(X, Y, [0.9, 0.1, 0.5], C=1e3, tol=1e-9)
    assert found.taus == TAUS
    values = [s.value / 1e3 for s in found.solutions]
    np.testing.assert_allclose(values, [0.7501568, 3.37515125, 1.29032], rtol=1e-6)
    slopes = [s.weights[0] for s in found.solutions]
    np.testing.assert_allclose(slopes, [0.56, 0.55, -0.8], atol=1e-5)
    np.testing.assert_allclose([s.intercept for s in found.solutions], [0.0, 0.4, 6.8], atol=1e-4)
    (crossing,) = found.crossings
    assert (crossing.lower, crossing.upper, crossing.row) == (0.5, 0.9, 5)
    assert crossing.amount == pytest.approx(0.35, abs=1e-5)
    assert [c.row for c in found.crossings_at([[0.0], [10.0], [6.0]])] == [1, 2]


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("kernel", [kq.Linear(), kq.RBF(gamma=0.1)], ids=repr)
@pytest.mark.parametrize("points", ["data", [[0.0], [5.0], [9.0]]], ids=["data", "points"])
def test_a_joint_fit_does_not_cross(points, kernel, intercept):
    common = {"C": 1e3, "kernel": kernel, "intercept": intercept}
    joint = kq.quantiles(X, Y, TAUS, non_crossing=points, **common)
    apart = kq.quantiles(X, Y, TAUS, **common)
    assert joint.certificate.certified
    assert joint.value >= apart.value * (1 - 1e-9)
    assert joint.certificate.dual_value <= joint.certificate.primal_value
    at = X if isinstance(points, str) else points
    assert joint.crossings_at(at) == ()
    assert joint.multipliers.shape == (2, len(at))
    assert joint.multipliers.min() >= 0
    assert joint.problem.value == pytest.approx(joint.value, rel=1e-9)
    assert kq.check_kkt(joint.problem, tol=1e-5).holds


def test_the_joint_page_is_solved_by_cvxpy_too():
    joint = kq.quantiles(X, Y, TAUS, C=10.0, non_crossing="data")
    assert joint.problem.solve(solver="CLARABEL") == pytest.approx(joint.value, rel=1e-6)
    prices = [np.ravel(joint.constraints[f"non_crossing_{t}"].dual_value) for t in (0, 1)]
    assert min(price.min() for price in prices) > -1e-6
    assert max(price.max() for price in prices) > 0.1


@pytest.mark.parametrize("step", [-1.0, -0.01, 0.01, 1.0])
def test_a_multiplier_is_a_slope_of_the_optimum(step):
    """The optimum is convex in what level 0.9 must exceed level 0.5 by at x = 5."""
    joint = kq.quantiles(X, Y, TAUS, C=10.0, non_crossing=[[5.0]])
    price = joint.multipliers[1, 0]
    assert price > 0.1
    page = joint.problem
    crossing = joint.constraints["non_crossing_1"]
    import cvxpy as cp

    rest = [c for c in page.constraints if c is not crossing]
    raised = cp.Problem(page.objective, [*rest, crossing.args[0] + step <= crossing.args[1]])
    raised.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11)
    assert raised.value >= joint.value + price * step - 1e-6 * joint.value


def test_levels_that_do_not_cross_are_the_separate_ones():
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(60, 1))
    y = Z[:, 0] + rng.normal(size=60)
    apart = kq.quantiles(Z, y, [0.2, 0.8], tol=1e-9)
    joint = kq.quantiles(Z, y, [0.2, 0.8], non_crossing="data", tol=1e-9)
    assert apart.crossings == ()
    assert joint.value == pytest.approx(apart.value, rel=1e-7)
    np.testing.assert_allclose(joint.predict(Z), apart.predict(Z), atol=1e-3)
    assert joint.multipliers.max() < 1e-6


def test_rows_of_weight_zero_leave_the_joint_problem():
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.5])
    kept = weights > 0
    joint = kq.quantiles(X, Y, TAUS, C=10.0, non_crossing="data", sample_weight=weights)
    alone = kq.quantiles(
        X[kept], Y[kept], TAUS, C=10.0, non_crossing="data", sample_weight=weights[kept]
    )
    assert joint.value == pytest.approx(alone.value, rel=1e-7)
    assert joint.multipliers.shape == (2, 5)


def test_a_precomputed_kernel():
    K = X @ X.T
    joint = kq.quantiles(K, Y, TAUS, C=10.0, kernel="precomputed", non_crossing="data")
    linear = kq.quantiles(X, Y, TAUS, C=10.0, non_crossing="data")
    assert joint.value == pytest.approx(linear.value, rel=1e-6)
    np.testing.assert_allclose(joint.predict(K), linear.predict(X), atol=1e-3)
    with pytest.raises(ParameterError, match="non_crossing"):
        kq.quantiles(K, Y, TAUS, kernel="precomputed", non_crossing=[[1.0]])


def test_fits_through_the_rows_do_not_cross_by_rounding():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(15, 2))
    y = Z[:, 0] + rng.normal(size=15)
    found = kq.quantiles(Z, y, [0.3, 0.5, 0.7], C=1e4, kernel=kq.RBF(gamma=1.0))
    assert found.crossings == found.crossings_at(Z) == ()
    line = kq.quantiles(Z[:, :1], 3.0 * Z[:, 0], [0.3, 0.5, 0.7], C=np.inf)
    assert line.crossings == ()


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_points_far_out_do_not_spoil_the_units(intercept):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 2))
    y = Z[:, 0] + rng.normal(size=12)
    far = np.vstack([Z, [[1e3, -1e3], [-1e3, 2e2]]])
    joint = kq.quantiles(Z, y, [0.2, 0.5, 0.8], C=10.0, non_crossing=far, intercept=intercept)
    assert joint.certificate.certified
    assert joint.crossings_at(Z) == ()


def test_a_joint_fit_without_numbers_says_so(monkeypatch):
    monkeypatch.setattr("kernelqp.non_crossing.run", lambda *_: None)
    with pytest.raises(SolverError, match="joint fit"):
        kq.quantiles(X, Y, TAUS, non_crossing="data")


def test_constant_targets():
    joint = kq.quantiles(X, np.full(6, 3.0), TAUS, non_crossing="data")
    assert joint.certificate.certified
    np.testing.assert_allclose(joint.predict(X), 3.0, atol=1e-9)


@pytest.mark.parametrize("tol", [-1.0, "a", 0.0, float("nan")])
@pytest.mark.parametrize("points", [None, "data"])
def test_a_bad_tol_is_refused(tol, points):
    with pytest.raises(ParameterError, match="tol"):
        kq.quantiles(X, Y, TAUS, tol=tol, non_crossing=points)


@pytest.mark.parametrize("taus", [[], [0.5, 0.5], [0.0, 0.5], [0.5, 1.0], ["a"], None])
def test_bad_levels_are_refused(taus):
    with pytest.raises(ParameterError, match="taus"):
        kq.quantiles(X, Y, taus)


@pytest.mark.parametrize("points", ["everywhere", [[1.0, 2.0]], [[np.nan]]])
def test_bad_points_are_refused(points):
    with pytest.raises(InputError):
        kq.quantiles(X, Y, TAUS, non_crossing=points)


def test_a_joint_fit_needs_a_penalty():
    with pytest.raises(ParameterError, match="C must be finite"):
        kq.quantiles(X, Y, TAUS, C=np.inf, non_crossing="data")


def test_one_level_is_a_joint_fit_of_its_own():
    joint = kq.quantiles(X, Y, [0.5], C=10.0, non_crossing="data")
    single = kq.QuantileRegression(C=10.0, tau=0.5).solve(X, Y)
    assert joint.value == pytest.approx(single.value, rel=1e-7)
    assert joint.crossings == ()
