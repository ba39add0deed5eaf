"""Ctrl-C ends the search for a better bound, and what was found is returned."""

import sys

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import kernelqp as kq
from kernelqp.support import find_support
from tests.foreign.fits import features, fit, two_classes

X = features()
Y = two_classes(X)


def interrupting(calls):
    """Return a solver that is interrupted."""

    def solve(*args):
        calls.append(args)
        raise KeyboardInterrupt

    return solve


def test_the_bound_so_far_is_returned(monkeypatch):
    calls = []
    monkeypatch.setattr("kernelqp.bound_search.settle_sets", interrupting(calls))
    model = fit(SVC(C=100, max_iter=3), X, Y)
    found = kq.certify(model, X, Y)
    assert len(calls) == 1
    assert found.dual_value <= found.primal_value
    assert not found.certified


def test_the_problems_still_to_come_get_their_first_bound(monkeypatch):
    calls = []
    monkeypatch.setattr("kernelqp.bound_search.settle_sets", interrupting(calls))
    X3, y3 = load_iris(return_X_y=True)
    found = kq.certify(fit(SVC(C=100, max_iter=3), X3, y3), X3, y3)
    assert len(calls) == 1
    assert len(found.problems) == 3
    assert all(p.dual_value > -float("inf") for p in found.problems)


def test_problems_that_were_judged_are_not_lost(monkeypatch):
    judged = []

    def support(*args):
        judged.append(args)
        if len(judged) == 2:
            raise KeyboardInterrupt
        return find_support(*args)

    monkeypatch.setattr(sys.modules["kernelqp.certify"], "find_support", support)
    X3, y3 = load_iris(return_X_y=True)
    found = kq.certify(fit(SVC(), X3, y3), X3, y3)
    assert len(found.problems) == 1
    assert found.verdict.endswith("Interrupted: 2 problems were not judged.")


def test_without_any_bound_the_interrupt_goes_on(monkeypatch):
    monkeypatch.setattr("kernelqp.bound_search.feasible", interrupting([]))
    with pytest.raises(KeyboardInterrupt):
        kq.certify(fit(SVC(), X, Y), X, Y)
