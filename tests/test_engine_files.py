"""The engine on every problem file: what CLARABEL finds, and more figures of it."""

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.ball import BallRisk
from kernelqp.errors import SolverFailed, Status
from kernelqp.problem_file import load_problem, problem_names
from kernelqp.solvers.native import takes
from kernelqp.support import SETTLED

NOT_TAKEN = {
    "ball_iris": "‖f‖ <= R: a search for the ball's multiplier, with the engine inside",
    "ball_loose": "‖f‖ <= R: a search for the ball's multiplier, with the engine inside",
    "ball_two_points": "‖f‖ <= R: a search for the ball's multiplier, with the engine inside",
    "power_1_5": "a hinge to the power 1.5 bends without bound and has no kernel QP",
}
SETS_NOT_UNIQUE = {
    "pegasos_two_points": "a row on its margin whose multiplier is 0: inside the box by rounding",
    "xor_plain": "K is singular on the elbow: any split of a diagonal's multiplier is optimal",
}
CLARABEL_IS_SLOW = {("digits", "primal"), ("digits_eight", "primal")}
FILES = [
    pytest.param(name, form, marks=[pytest.mark.slow] if (name, form) in CLARABEL_IS_SLOW else [])
    for name in problem_names()
    if name not in NOT_TAKEN
    for form in load_problem(name).sides
]


def both(name, form):
    """Return the answers of the engine and of CLARABEL, and the problem."""
    problem = load_problem(name)
    ours, theirs = (problem.solve(form=form, solver=s) for s in ("native", "CLARABEL"))
    return ours, theirs, problem


def risk_of(name, form):
    """Return the problem that the engine is given."""
    problem = load_problem(name)
    return (problem.primal() if form == "primal" else problem.dual()).risk()


def named(name):
    """Whether the engine takes the loss of a file, in every form."""
    risks = [risk_of(name, form) for form in load_problem(name).sides]
    return all(not isinstance(risk, BallRisk) and takes(risk) for risk in risks)


def test_the_files_that_the_engine_does_not_take_are_known():
    assert {name for name in problem_names() if not named(name)} == set(NOT_TAKEN)


@pytest.mark.parametrize("name", sorted(NOT_TAKEN))
def test_a_file_that_is_not_taken_is_refused_or_solved_through_those_that_are(name):
    problem = load_problem(name)
    if isinstance(risk_of(name, "dual"), BallRisk):
        found = problem.solve(form="dual", solver="native")
        assert "in the multiplier of the ball" in found.solver
        assert found.certificate.certified
    else:
        with pytest.raises(SolverFailed, match="neither: use solver='auto'"):
            problem.solve(form="dual", solver="native")


@pytest.mark.parametrize(("name", "form"), FILES)
def test_the_engine_agrees_with_clarabel(name, form):
    ours, theirs, problem = both(name, form)
    missed = {key: check for key, check in problem.check(ours).items() if not check.ok}
    assert missed == {}
    assert ours.status is theirs.status is Status[problem.expected["status"].upper()]
    if isinstance(ours, kq.Infeasible):
        return  # a proof was found, and verified
    assert theirs.solver == "CLARABEL"
    assert ours.solver.startswith(("active set", "interior point", "Newton", "Cholesky"))
    mine, other = ours.certificate, theirs.certificate
    assert mine.relative_gap <= 1e-9  # its rounding is part of it
    known = abs(mine.gap) + abs(other.gap) + mine.rounding + other.rounding
    assert abs(ours.value - theirs.value) <= known
    assert hasattr(ours, "support") is hasattr(theirs, "support")  # not every loss has sets
    if hasattr(ours, "support"):
        assert_sets_agree(ours.support, theirs.support)
        if max(mine.relative_gap, other.relative_gap) <= SETTLED and name not in SETS_NOT_UNIQUE:
            for sets in ("support_vectors", "elbow"):
                found, wanted = getattr(ours.support, sets), getattr(theirs.support, sets)
                assert found.tolist() == wanted.tolist(), sets


def assert_sets_agree(ours, theirs):
    """Assert that no answer shows what the other has proved to be otherwise at every optimum."""
    for one, other in ((ours, theirs), (theirs, ours)):
        assert np.intersect1d(one.left, other.right).size == 0
        assert np.intersect1d(one.right, other.support_vectors).size == 0
        assert np.intersect1d(one.left, other.elbow).size == 0


@pytest.mark.parametrize("name", sorted(SETS_NOT_UNIQUE))
def test_where_the_sets_are_not_unique_the_function_is(name):
    ours, theirs, _ = both(name, "dual")
    risk = risk_of(name, "dual")
    np.testing.assert_allclose(
        risk.gram.matvec(ours.beta), risk.gram.matvec(theirs.beta), atol=1e-9
    )
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-9)
    margins = risk.targets * (risk.gram.matvec(ours.beta) + ours.intercept)
    odd = np.setxor1d(ours.support.support_vectors, theirs.support.support_vectors)
    np.testing.assert_allclose(margins[odd], 1.0, atol=1e-9)  # on the margin: in, out, all one


def dense(name, form):
    """Whether the rows of K are all that there is of the kernel, in a loss of the kernel QP."""
    risk = risk_of(name, form)
    row = risk.loss.row(risk.targets, risk.costs)
    ends = row is not None and bool(np.isfinite([row.lower, row.upper]).any() or row.eps.any())
    return ends and risk.gram.factor is None


DENSE = [name for name in problem_names() if name not in NOT_TAKEN and dense(name, "dual")]


@pytest.mark.parametrize("name", DENSE)
def test_a_file_with_a_kernel_is_settled_by_the_active_set(name):
    ours = load_problem(name).solve(form="dual", solver="native")
    assert ours.solver == "active set"  # without the help of an interior point
    assert abs(ours.certificate.gap) <= 1e-9 * abs(ours.value)


def test_there_are_files_with_a_kernel():
    assert {"breast_cancer", "digits", "moons", "nu_iris", "one_class_iris"} <= set(DENSE)
