"""Problem files of ridge regression: how each optimum is known, and what they expect or lack."""

import math
from fractions import Fraction

import numpy as np
import pytest

from kernelqp.errors import InputError
from kernelqp.problem_file import load_problem

RIDGE = """
[data]
X = [[1, 0], [0, 1]]
y = [3.0, 4.0]
[method]
name = "ConstrainedRidge"
intercept = "none"
radius = 2.5
[expected]
value = 6.25
weights = [1.5, 2.0]
residuals = [1.5, 2.0]
multiplier = 5.0
lam = 1.0
"""


def test_a_ridge_in_a_ball_meets_what_is_expected(tmp_path):
    path = tmp_path / "ridge.toml"
    path.write_text(RIDGE)
    problem = load_problem(path)
    found = problem.check(problem.solve())
    assert set(found) == {"value", "weights", "residuals", "multiplier", "lam"}
    assert all(check.ok for check in found.values())


def test_a_parameter_that_is_missing_is_named(tmp_path):
    path = tmp_path / "ridge.toml"
    path.write_text(RIDGE.replace("radius = 2.5\n", ""))
    with pytest.raises(InputError, match="ConstrainedRidge needs radius"):
        load_problem(path)


# --- the library: closed forms in exact arithmetic ------------------------------------------------

HALF = Fraction(1, 2)
# w, b and alpha of the derivation in `source`
CLOSED = {
    "ridge_four_points": ([1], 0, [0, -1, 1, 0]),
    "ridge_repeated_rows": ([1, 0], 0, [0, HALF, -HALF, 0]),
    "ball_two_points": ([3 * HALF, 2], 0, [3, 4]),
    "ball_loose": ([1], 1, [-2, 2, 0]),
}
MEASURED = ("ridge_diabetes", "ball_iris")
PROVED = (*CLOSED, *MEASURED)


def fractions(values):
    return [Fraction(v) for v in np.asarray(values, dtype=float).tolist()]


def root(square):
    """Return the root of a fraction that has one."""
    found = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    assert found**2 == square
    return found


def exactly(name):
    """Return the residuals, and the primal and dual values at the point of ``CLOSED``."""
    problem, (w, b, alpha) = load_problem(name), CLOSED[name]
    y, rows = fractions(problem.y), [fractions(row) for row in problem.X]
    given = np.ones(problem.n) if problem.sample_weight is None else problem.sample_weight
    s, d = fractions(given), range(len(w))
    r = [t - sum(w[j] * x[j] for j in d) - b for t, x in zip(y, rows, strict=True)]
    losses = sum(c * v**2 for c, v in zip(s, r, strict=True))
    f = [sum(a * x[j] for a, x in zip(alpha, rows, strict=True)) for j in d]
    norm2, priced = sum(v * v for v in f), sum(a**2 / c for a, c in zip(alpha, s, strict=True) if c)
    gain = sum(a * t for a, t in zip(alpha, y, strict=True))
    assert problem.method.intercept == "none" or sum(alpha) == 0
    assert all(a == 0 for a, c in zip(alpha, s, strict=True) if c == 0)
    if name.startswith("ridge"):
        lam = Fraction(problem.method.lam)
        return (
            r,
            HALF * (losses + lam * sum(v * v for v in w)),
            lam * (gain - HALF * norm2 - HALF * lam * priced),
        )
    radius = Fraction(problem.method.radius)
    assert sum(v * v for v in w) <= radius**2
    return r, losses, gain - priced / 4 - radius * root(norm2)


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_form_has_equal_primal_and_dual_values(name):
    expected, (w, b, alpha) = load_problem(name).expected, CLOSED[name]
    residuals, primal, dual = exactly(name)
    assert primal == dual == Fraction(expected["value"])
    got = {"weights": w, "alpha": alpha, "residuals": residuals, "intercept": [b]}
    for key in set(got) & set(expected):
        assert got[key] == fractions(np.atleast_1d(expected[key])), key


# --- the library: numpy ---------------------------------------------------------------------------


def centred(name):
    problem = load_problem(name)
    X, y = problem.X, np.asarray(problem.y, dtype=float)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    assert y.mean() == pytest.approx(problem.expected["intercept"], rel=1e-14)
    return problem, X, y - y.mean()


def test_least_squares_of_numpy_is_the_ridge_of_diabetes():
    problem, X, r = centred("ridge_diabetes")
    lam, d = problem.method.lam, X.shape[1]
    stacked = np.r_[X, np.sqrt(lam) * np.eye(d)]
    w = np.linalg.lstsq(stacked, np.r_[r, np.zeros(d)], rcond=None)[0]
    primal = 0.5 * ((r - X @ w) ** 2).sum() + 0.5 * lam * w @ w
    alpha = np.linalg.solve(X @ X.T + lam * np.eye(problem.n), r)
    dual = lam * (alpha @ r - 0.5 * (X.T @ alpha) @ (X.T @ alpha) - 0.5 * lam * alpha @ alpha)
    assert abs(alpha.sum()) < 1e-9 * abs(alpha).max()
    assert primal == pytest.approx(problem.expected["value"], rel=1e-13)
    assert dual == pytest.approx(primal, rel=1e-13)
    assert w == pytest.approx(problem.expected["weights"], abs=1e-7)


def test_a_root_in_lam_is_the_ball_of_iris():
    problem, X, r = centred("ball_iris")
    radius, (_, s, V), found = problem.method.radius, np.linalg.svd(X, full_matrices=False), []
    low, high = 0.0, 1e6
    for _ in range(100):
        found.append(0.5 * (low + high))
        longer = np.linalg.norm(V @ X.T @ r / (s**2 + found[-1])) > radius
        low, high = (found[-1], high) if longer else (low, found[-1])
    lam = found[-1]
    w = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ r)
    alpha = 2 * (r - X @ w)
    dual = alpha @ r - 0.25 * alpha @ alpha - radius * np.linalg.norm(X.T @ alpha)
    assert np.linalg.norm(w) == pytest.approx(radius, rel=1e-12)
    assert ((r - X @ w) ** 2).sum() == pytest.approx(problem.expected["value"], rel=1e-12)
    assert dual == pytest.approx(problem.expected["value"], rel=1e-12)
    assert w == pytest.approx(problem.expected["weights"], abs=1e-9)
    assert problem.solve().multiplier == pytest.approx(2 * lam * radius, rel=1e-3)
    assert f"{2 * lam * radius:.4f}" in problem.source
