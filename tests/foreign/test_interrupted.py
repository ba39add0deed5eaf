"""Ctrl-C ends the search for a better bound, and what was found is returned."""

import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import kernelqp as kq
from kernelqp.attainment import separating_direction
from kernelqp.scales import gap_scale
from tests.foreign.fits import features, fit, two_classes

X = features()
Y = two_classes(X)


def interrupting(calls):
    """Return a solver that is interrupted."""

    def solve(*args):
        calls.append(args)
        raise KeyboardInterrupt

    return solve


def interrupted_second(function, calls):
    """Return a function that is interrupted when it is called for the second time."""

    def called(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return function(*args)

    return called


def test_the_bound_so_far_is_returned(monkeypatch):
    calls = []
    monkeypatch.setattr("kernelqp.bound_search.settle_sets", interrupting(calls))
    model = fit(SVC(C=100, max_iter=3), X, Y)
    found = kq.certify(model, X, Y)
    assert len(calls) == 1
    assert found.dual_value <= found.primal_value
    assert not found.certified
    assert found.verdict.endswith("Interrupted: more may be proved in more time.")


def test_the_problems_still_to_come_get_their_first_bound(monkeypatch):
    calls = []
    monkeypatch.setattr("kernelqp.bound_search.settle_sets", interrupting(calls))
    X3, y3 = load_iris(return_X_y=True)
    found = kq.certify(fit(SVC(C=100, max_iter=3), X3, y3), X3, y3)
    assert len(calls) == 1
    assert len(found.problems) == 3
    assert all(p.dual_value > -float("inf") for p in found.problems)


def test_problems_that_were_judged_are_not_lost(monkeypatch):
    once = interrupted_second(separating_direction, [])
    monkeypatch.setattr("kernelqp.judgement.separating_direction", once)
    X3, y3 = load_iris(return_X_y=True)
    found = kq.certify(fit(SVC(), X3, y3), X3, y3)
    assert len(found.problems) == 1
    assert found.verdict.endswith("Interrupted: 2 problems were not judged.")


def test_without_any_bound_the_interrupt_goes_on(monkeypatch):
    monkeypatch.setattr("kernelqp.bound_search.lower_bound", interrupting([]))
    with pytest.raises(KeyboardInterrupt):
        kq.certify(fit(SVC(), X, Y), X, Y)


def test_an_interrupt_between_a_bound_and_its_scale_leaves_those_before(monkeypatch):
    """A bound, its rounding and the scale of the gap are kept together or not at all."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = fit(LinearSVC(loss="hinge", C=0.01, random_state=0), X, y)
    told = []
    assert kq.certify(model, X, y, tol=1e-5).relative_gap < 1e-5  # by the second bound
    with monkeypatch.context() as patched:
        patched.setattr("kernelqp.bound_search.gap_scale", interrupted_second(gap_scale, told))
        early = kq.certify(model, X, y, tol=1e-5)
    assert len(told) == 2
    assert 1e-4 < early.relative_gap < 1e-3
    assert early.relative_gap == pytest.approx(early.gap / early.primal_value, rel=1e-6)
    monkeypatch.setattr("kernelqp.bound_search.gap_scale", interrupting([]))
    with pytest.raises(KeyboardInterrupt):  # there is nothing yet
        kq.certify(model, X, y)
