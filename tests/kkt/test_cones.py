"""Members of cones: they are members, they are nearest, and multipliers have cvxpy's signs."""

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.kkt import check_problem, cones, lagrangian

from . import more_problems, problems
from .answers import Answer, by_kind, solve

COUNT = 2000
EXPONENTS = [(0.3, 0.7), (0.5, 0.5), (0.95, 0.05), (0.2, 0.3, 0.5)]


def points(dimension, seed=0):
    """Points of very different sizes, all signs, some on faces."""
    rng = np.random.default_rng(seed)
    spread = rng.normal(size=(COUNT, dimension)) * 10 ** rng.uniform(-4, 2, (COUNT, dimension))
    return np.where(rng.uniform(size=spread.shape) < 0.05, 0.0, spread)


def outside_exponential(rows):
    """Violation of y exp(x/y) <= z in units of the row, by the definition of the cone."""
    x, y, z = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)).T
    positive = y > 0
    with np.errstate(all="ignore"):
        curved = np.where(positive, y * np.exp(x / np.where(positive, y, 1.0)) - z, 0.0)
    face = np.where(positive, 0.0, np.maximum(np.maximum(x, -z), np.abs(y)))
    return np.maximum(curved, face)


def outside_dual_exponential(rows):
    """Violation of −u exp(v/u) <= e w, u <= 0, by the definition of the dual cone."""
    u, v, w = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)).T
    negative = u < 0
    with np.errstate(all="ignore"):
        curved = np.where(negative, -u * np.exp(v / np.where(negative, u, 1.0)) / np.e - w, 0.0)
    face = np.where(negative, 0.0, np.maximum(np.maximum(-v, -w), np.abs(u)))
    return np.maximum(curved, face)


def outside_power(rows, a):
    W, z = rows[:, :-1], rows[:, -1]
    gap = np.abs(z) - np.prod(np.maximum(W, 0.0) ** a, axis=1)
    return np.maximum(gap, np.maximum(-W, 0.0).max(axis=1)) / np.abs(rows).max(axis=1)


def assert_nearest(rows, members, nearest_dual):
    """Moreau: p in K is the projection of v exactly if p − v is in K* and orthogonal to p.

    Near the edges of K* its inequality is steep, so p − v is compared with a member of K*; and the
    distance is of second order in p, so p is known to the root of the rounding.
    """
    size = np.abs(rows).max(axis=1)
    left = members - rows
    assert np.abs((left * members).sum(axis=1) / size**2).max() < 1e-12
    outside = np.linalg.norm(left - nearest_dual(left), axis=1)
    assert (np.linalg.norm(left, axis=1) > 1e-9 * size).sum() > COUNT / 3
    assert (outside / size).max() < np.sqrt(np.finfo(float).eps)


def test_exponential_projection_is_nearest():
    rows = points(3)
    rows[np.abs(rows).max(axis=1) == 0] = 1.0
    members = cones.nearest_exponential(rows)
    assert outside_exponential(members).max() < 1e-13
    assert_nearest(rows, members, cones.nearest_dual_exponential)


@pytest.mark.parametrize("a", EXPONENTS)
def test_power_projection_is_nearest(a):
    rows, exponents = points(len(a) + 1), np.tile(a, (COUNT, 1))
    rows[np.abs(rows).max(axis=1) == 0] = 1.0
    members = cones.nearest_power(rows, exponents)
    kept = np.abs(members).max(axis=1) > 0
    assert outside_power(members[kept], np.array(a)).max() < 1e-13
    assert_nearest(rows, members, lambda left: cones.nearest_dual_power(left, exponents))


def test_second_order_projection_is_nearest():
    rows = points(4)
    members = cones.nearest_second_order(rows)
    size = np.abs(rows).max(axis=1)

    assert ((np.linalg.norm(members[:, 1:], axis=1) - members[:, 0]) / size).max() < 1e-13
    assert_nearest(rows, members, cones.nearest_second_order)


def test_semidefinite_projection_is_nearest():
    X = np.random.default_rng(3).normal(size=(50, 4, 4))
    members = cones.nearest_semidefinite(X)
    left = members - (X + np.swapaxes(X, 1, 2)) / 2
    assert np.linalg.eigvalsh(members).min() > -1e-12
    assert np.linalg.eigvalsh(left).min() > -1e-12
    assert np.abs((left * members).sum(axis=(1, 2))).max() < 1e-12


def test_dual_members_are_members_and_not_much_farther_than_the_nearest():
    rows = points(3, seed=1)
    members = cones.nearest_dual_exponential(rows)
    assert outside_dual_exponential(members).max() < 1e-12
    nearest = np.linalg.norm(cones.nearest_exponential(-rows), axis=1)  # Moreau
    found = np.linalg.norm(members - rows, axis=1)
    size = np.abs(rows).max(axis=1)
    assert (found <= np.e * nearest + 1e-9 * size).all()
    assert (found >= nearest - 1e-9 * size).all()
    exponents = np.tile([0.3, 0.7], (COUNT, 1))
    members = cones.nearest_dual_power(rows, exponents)
    nearest = np.linalg.norm(cones.nearest_power(-rows, exponents), axis=1)
    found = np.linalg.norm(members - rows, axis=1)
    stretched = members / np.array([0.3, 0.7, 1.0])
    kept = np.abs(stretched).max(axis=1) > 0
    assert outside_power(stretched[kept], np.array([0.3, 0.7])).max() < 1e-13
    assert (found <= nearest / 0.3 + 1e-9 * size).all()
    assert (found >= nearest - 1e-9 * size).all()


@pytest.mark.parametrize(
    "inside", [[0.0, 1.0, 1.5], [-1.0, 0.0, 2.0], [-3.0, 2.0, 1.0], [0.0, 0.0, 0.0], [1, 1, 3]]
)
def test_what_is_inside_comes_back_to_the_last_digit(inside):
    row = np.array([inside], dtype=float) / 3
    assert np.array_equal(cones.nearest_exponential(row), row)
    power = np.array([[0.5, 0.7, -0.3]]) / 3
    assert np.array_equal(cones.nearest_power(power, np.array([[0.4, 0.6]])), power)


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e200])
def test_units_scale_the_members(unit):
    rows = points(3)
    scaled = cones.nearest_exponential(unit * rows) / unit
    assert np.abs(scaled - cones.nearest_exponential(rows)).max() < 1e-10


def cone_problems():
    hand = (*more_problems.CONES_BY_HAND, problems.exponential_cone)
    return [*hand, problems.socp, problems.soc_columns, problems.smallest_eigenvalue]


@pytest.mark.parametrize("build", cone_problems())
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_saved_multipliers_lie_in_the_dual_cone_and_flipped_ones_do_not(build, solver):
    problem = solve(build(), solver)
    for term in lagrangian(problem).terms:
        if term.is_cone:
            size = max(np.abs(m).max() for m in term.multipliers)
            assert term.dual_violation().max() <= 1e-5 * size
    flipped = Answer.of(problem).scaled(multiply=-1.0).write(problem)
    cone = next(t for t in lagrangian(flipped).terms if t.is_cone)
    assert cone.dual_violation().max() > 0.1 * max(np.abs(m).max() for m in cone.multipliers)


@pytest.mark.parametrize("build", cone_problems())
def test_rows_and_parts_undo_each_other(build):
    problem = solve(build())
    for term in lagrangian(problem).terms:
        if not term.is_cone or isinstance(term.constraint, cp.PSD):
            continue
        duals = term.duals()
        rows = cones.rows_of(term.constraint, duals)
        assert len(rows) == term.constraint.num_cones()
        back = cones.parts_of(term.constraint, rows, [d.shape for d in duals])
        assert all(map(np.array_equal, back, duals))


def test_report_points_at_the_cone_that_is_violated():
    problem = solve(more_problems.power_cones())
    answer = Answer.of(problem)
    z = next(v for v in problem.variables() if v.name() == "z")
    answer.primal[z.id] = answer.primal[z.id] + np.array([0.0, 0.5])
    report = check_problem(answer.write(problem), tol=1e-4)
    worst = by_kind(report, "primal feasibility")[0]
    assert worst.holds is False
    assert worst.where == 1
    assert worst.evidence == "proof"
