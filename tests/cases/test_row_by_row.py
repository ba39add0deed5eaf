"""Pegasos and the perceptron as others wrote them: the label that enters twice, the order of rows.

In coefficients the label is in β already; y β once more, or a draw that nobody can repeat, gives
another machine that looks as good.
"""

from fractions import Fraction

import numpy as np
import pytest

import kernelqp as kq

X, Y = [[1.0, 2.0], [-1.0, 0.0]], [1, -1]
ORDER = [0, 1, 0, 1, 0, 1]
TRACE = [[2.0, 4.0], [1.0, 2.0], [2 / 3, 4 / 3], [1.0, 1.0], [0.8, 0.8], [1.0, 2 / 3]]
both_forms = pytest.mark.parametrize("form", ["weights", "counts"])


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


@both_forms
def test_two_rows_by_hand(form):
    trace = kq.Pegasos(lam=0.5).run(X, Y, indices=ORDER, form=form, record=True)
    assert trace.weights_by_step == near(np.array(TRACE))
    assert trace.acted.astype(int).tolist() == [1, 0, 0, 1, 0, 1]
    assert trace.counts.tolist() == [1, 2]
    assert trace.values == near([7 / 3, -1.0])
    assert trace.weights == near([1.0, 2 / 3])
    assert trace.indices.tolist() == ORDER
    assert trace.steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_the_label_enters_once():
    """f = 1/(lam t) Σ count_j y_j k(x_j, x), and β has the sign of its label."""
    trace = kq.Pegasos(lam=0.5).run(X, Y, indices=ORDER, form="counts")
    K, y = np.array(X) @ np.array(X).T, np.array(Y)
    assert trace.beta == near(trace.counts * y / (0.5 * 6))
    assert trace.values == near(K @ trace.beta)


def test_another_kernel_has_the_same_formula():
    kernel, y = kq.RBF(gamma=0.3), np.array(Y)
    trace = kq.Pegasos(lam=0.5, kernel=kernel).run(X, Y, indices=ORDER)
    assert trace.weights is None
    assert trace.values == near(kernel(np.array(X)) @ (trace.counts * y) / (0.5 * 6))


def by_hand(rows, y, order, lam, n):
    """Return w and the violations in exact fractions, from the note's update."""
    w, hits = [Fraction(0)] * len(rows[0]), []
    for t, i in enumerate(order, 1):
        hit = y[i] * sum(a * b for a, b in zip(w, rows[i], strict=True)) < 1
        hits.append(hit)
        w = [
            (1 - Fraction(1, t)) * a + hit * y[i] * b / (lam * t)
            for a, b in zip(w, rows[i], strict=True)
        ]
    return w, hits


@both_forms
@pytest.mark.parametrize("seed", range(8))
def test_any_order_is_that_of_the_update_in_fractions(form, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    rows = rng.integers(-3, 4, (n, d))
    y = np.resize([1, -1], n)
    order = rng.integers(0, n, 40)
    exact = [[Fraction(int(v)) for v in row] for row in rows]
    w, hits = by_hand(exact, y.tolist(), order.tolist(), Fraction(1, 2), n)
    trace = kq.Pegasos(lam=0.5).run(rows, y, indices=order, form=form)
    assert trace.acted.tolist() == hits
    assert trace.weights == near([float(v) for v in w])


def test_another_order_is_another_run():
    first = kq.Pegasos(lam=0.5).run(X, Y, indices=ORDER)
    other = kq.Pegasos(lam=0.5).run(X, Y, indices=ORDER[::-1])
    assert not np.allclose(first.weights, other.weights)


@pytest.mark.parametrize("names", [("no", "yes"), (0, 1), (False, True), (5.0, 7.5)])
def test_labels_of_any_kind_are_signs(names):
    y = [names[1], names[0]]
    trace = kq.Pegasos(lam=0.5).run(X, y, indices=ORDER)
    assert trace.weights == near([1.0, 2 / 3])
    perceptron = kq.Perceptron().run(X, y, indices=ORDER)
    assert perceptron.weights == near(kq.Perceptron().run(X, Y, indices=ORDER).weights)


@both_forms
def test_flipped_labels_flip_f(form):
    rng = np.random.default_rng(1)
    data, y = rng.normal(size=(30, 3)), np.resize([1, -1], 30)
    for method in (kq.Pegasos(lam=0.1, epochs=5), kq.Perceptron(epochs=5)):
        one, other = method.run(data, y, form=form), method.run(data, -y, form=form)
        assert one.counts.tolist() == other.counts.tolist()
        assert one.values == near(-other.values)


@both_forms
def test_f_equal_to_0_is_a_mistake(form):
    """With y f < 0 nothing ever happens from w = 0."""
    trace = kq.Perceptron().run(X, Y, form=form)
    assert trace.acted[0]
    assert trace.mistakes == 1
    assert trace.weights == near([1.0, 2.0])
    assert trace.separated


@both_forms
def test_signed_counts_of_the_perceptron(form):
    trace = kq.Perceptron(epochs=3).run([[1.0], [1.0], [2.0]], [1, -1, -1], form=form)
    assert trace.beta == near(trace.counts * np.array([1, -1, -1]))
    assert trace.weights == near([trace.beta @ [1.0, 1.0, 2.0]])
    assert not trace.separated
