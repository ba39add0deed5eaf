"""Pegasos takes the steps of the textbook, and its runs repeat."""

import numpy as np
import pytest
import scipy.sparse

import kernelqp as kq
from kernelqp.errors import DataError
from tests.pegasos_runs import (
    KERNELS,
    VARIANTS,
    WEIGHTS,
    N,
    X,
    Y,
    every_intercept,
    every_kernel,
    every_variant,
    method,
    optimum,
    weighted,
)

# --- the algorithm --------------------------------------------------------------------------------


@every_variant
@every_kernel
@every_intercept
@weighted
def test_the_bounds_enclose_the_optimum(variant, kernel, intercept, s):
    m = method(kernel, intercept, epochs=20, **VARIANTS[variant])
    best, solution = optimum(m, s), m.solve(X, Y, s)
    c = solution.certificate
    assert solution.solver == "Pegasos"
    assert solution.value == c.primal_value
    assert c.dual_value - 1e-9 * best <= best <= c.primal_value + 1e-9 * best
    assert c.repair == 0.0
    assert c.stationarity == pytest.approx(0.0, abs=1e-12)
    assert (solution.history[:, 1] >= best * (1 - 1e-9)).all()
    assert (solution.history[:, 2] <= best * (1 + 1e-9)).all()
    assert (np.diff(solution.history[:, 2]) >= 0).all()


@every_variant
@every_kernel
@every_intercept
@weighted
def test_the_value_is_the_objective_of_the_algorithm_s_own_f(variant, kernel, intercept, s):
    """By hand, from the trace of the same run."""
    m = method(kernel, intercept, epochs=9, **VARIANTS[variant])
    solution, trace = m.solve(X, Y, s), m.run(X, Y, s)
    S = np.ones(N) if s is None else s
    used = S > 0
    K = KERNELS[kernel].bind(X[used])(X) + (intercept == "penalized")
    norm2 = trace.beta @ K @ trace.beta
    loss = S @ np.maximum(0.0, 1.0 - Y * (K @ trace.beta)) / S.sum()
    assert solution.value == pytest.approx(0.5 * m.lam * norm2 + loss, rel=1e-9)
    np.testing.assert_allclose(solution.beta, trace.beta, rtol=1e-9, atol=1e-12)
    assert solution.counts.tolist() == trace.counts.tolist()
    np.testing.assert_allclose(solution.decision_function(X)[used], trace.values[used], rtol=1e-7)
    assert solution.intercept == pytest.approx(trace.intercept, rel=1e-9)
    if kernel == "linear":
        np.testing.assert_allclose(solution.weights, trace.weights, rtol=1e-9, atol=1e-12)


def updates(m, rows, y, shares, order):
    """Return every w of the textbook's update, one w after another, shares B s_i/S."""
    w, seen = np.zeros(rows.shape[1]), []
    for t, batch in enumerate(order, 1):
        hit = batch[y[batch] * (rows[batch] @ w) < 1]
        w = (1 - 1 / t) * w + (shares[hit] * y[hit]) @ rows[hit] / (m.lam * t)
        if m.project:
            w = min(1.0, 1 / np.sqrt(m.lam) / np.linalg.norm(w)) * w
        seen.append(w)
    return np.array(seen)


@every_variant
@weighted
@pytest.mark.parametrize("form", ["weights", "counts"])
@pytest.mark.parametrize("lam", [1e-6, 0.05])
def test_every_step_is_that_of_the_textbook(variant, s, form, lam):
    m = method(epochs=6, lam=lam, **VARIANTS[variant])
    trace = m.run(X, Y, s, form=form, record=True)
    S = np.ones(N) if s is None else s
    order = np.split(trace.indices, np.flatnonzero(np.diff(trace.steps)) + 1)
    share = len(order) / m.epochs * S / S.sum()
    seen = updates(m, X, Y, share, order)
    if m.average:
        seen = np.cumsum(seen, axis=0) / np.arange(1, len(seen) + 1)[:, None]
    size = np.abs(seen).max()
    np.testing.assert_allclose(trace.weights_by_step, seen, atol=1e-11 * size)
    np.testing.assert_allclose(trace.beta_by_step @ X, seen, atol=1e-11 * size)


def test_the_full_batch_is_the_gradient_step_of_all_rows():
    """w ← w − 1/(t lam) (lam w − mean of y x over the violations)."""
    m, w = method(batch=None, epochs=30), np.zeros(3)
    for t in range(1, 31):
        hit = Y * (X @ w) < 1
        w = w - (m.lam * w - (Y * hit) @ X / N) / (t * m.lam)
    assert m.batch == "full"
    np.testing.assert_allclose(m.run(X, Y).weights, w, rtol=1e-10)
    np.testing.assert_allclose(method(batch=10**6, epochs=30).run(X, Y).weights, w, rtol=1e-10)


@weighted
@pytest.mark.parametrize("batch", ["full", 1, 7])
@pytest.mark.parametrize("lam", [0.05, 1 / 3, 7e-9])
def test_after_whole_epochs_the_coefficients_lie_in_the_box_exactly(s, batch, lam):
    S = np.ones(N) if s is None else s
    for epochs in (1, 2, 7, 30):
        m = method(lam=lam, batch=batch, epochs=epochs)
        trace, risk = m.run(X, Y, s), m.dual(X, Y, s).risk()
        alpha = (Y * trace.beta)[S > 0]
        assert (alpha >= 0).all()
        assert (alpha <= risk.costs).all()  # not by a rounding over
        assert m.solve(X, Y, s).certificate.domain == 0.0


def test_in_the_full_batch_the_coefficients_are_counts():
    trace = method(batch="full", epochs=30).run(X, Y)
    np.testing.assert_allclose(trace.beta, Y * trace.counts / (0.05 * 30 * N), rtol=1e-14)


def test_projection_keeps_f_in_its_ball():
    m = method(lam=1e-3, project=True, epochs=5)
    weights = m.run(X, Y, record=True).weights_by_step
    outside = method(lam=1e-3, epochs=5).run(X, Y, record=True).weights_by_step
    radius = 1 / np.sqrt(1e-3)
    assert (np.linalg.norm(weights, axis=1) <= radius * (1 + 1e-12)).all()
    assert (np.linalg.norm(outside, axis=1) > radius).any()


def test_integer_weights_are_repeated_rows_in_the_full_batch():
    m = method(batch="full", epochs=40)
    again = np.repeat(np.arange(N), WEIGHTS.astype(int))
    one, other = m.solve(X, Y, WEIGHTS), m.solve(X[again], Y[again])
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert one.counts[WEIGHTS == 0].tolist() == [0] * int((WEIGHTS == 0).sum())


@every_variant
@every_intercept
def test_another_unit_of_the_kernel_is_another_lam(variant, intercept):
    """K → t² K with lam → t² lam: the same f. The constant 1 is a feature of X here."""
    more, wide = VARIANTS[variant], np.c_[X, np.ones(N)] if intercept == "penalized" else X
    one = method(epochs=10, lam=0.05, **more).solve(wide, Y)
    other = method(epochs=10, lam=0.05 * 2.0**20, **more).solve(1024.0 * wide, Y)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.counts.tolist() == other.counts.tolist()
    np.testing.assert_allclose(one.weights, 1024.0 * other.weights, rtol=1e-9, atol=1e-12)
    assert one.certificate.dual_value == pytest.approx(other.certificate.dual_value, rel=1e-6)
    if intercept == "penalized":
        column = method(intercept="penalized", epochs=10, lam=0.05, **more).solve(X, Y)
        assert column.value == pytest.approx(one.value, rel=1e-9)
        assert column.intercept == pytest.approx(one.weights[-1], rel=1e-9)


def test_sparse_features_are_the_same_run():
    S = scipy.sparse.random(900, 150, density=0.05, format="csr", random_state=0)
    y = np.where(S @ np.random.default_rng(4).normal(size=150) > 0, 1, 0)
    for variant in VARIANTS.values():
        m = kq.Pegasos(lam=0.01, epochs=3, **variant)
        one, other = m.solve(S, y), m.solve(S.toarray(), y)
        assert scipy.sparse.issparse(one.origin[0].page.data.X)
        assert one.value == pytest.approx(other.value, rel=1e-9)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-7, atol=1e-9)


def test_no_matrix_of_n_rows_and_columns_is_formed(monkeypatch):
    monkeypatch.setattr(kq.Gram, "dense_matrix", lambda _: pytest.fail("n x n"))
    assert method(epochs=2).solve(X, Y).counts.sum() > 0


# --- seeds and sequences --------------------------------------------------------------------------


def test_a_seed_repeats_the_run_and_another_does_not():
    for more in ({}, {"batch": 3}, {"kernel": "rbf"}):
        one, same, other = (method(epochs=4, seed=k, **more).run(X, Y) for k in (5, 5, 6))
        assert one.indices.tolist() == same.indices.tolist()
        assert np.array_equal(one.beta, same.beta)
        assert one.indices.tolist() != other.indices.tolist()
        first, again = (method(epochs=4, seed=5, **more).solve(X, Y) for _ in range(2))
        assert first.value == again.value


def test_an_epoch_visits_every_row_once():
    for batch in (1, 7, "full"):
        drawn = method(batch=batch, epochs=3).run(X, Y).indices.reshape(3, N)
        assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(N), (3, 1)))


def test_a_recorded_sequence_gives_the_run_again():
    trace = method(epochs=3).run(X, Y, WEIGHTS)
    again = method(epochs=77, seed=9).run(X, Y, WEIGHTS, indices=trace.indices)
    assert np.array_equal(trace.beta, again.beta)
    assert np.array_equal(trace.acted, again.acted)
    batched = method(epochs=3, batch=8).run(X, Y)
    again = method().run(X, Y, indices=batched.indices.reshape(-1, 8))
    np.testing.assert_allclose(batched.beta, again.beta, rtol=1e-14)


def test_batches_of_unequal_size_keep_every_epoch_in_the_box():
    """B/n a row where batch does not divide n: 1/rows of each would leave the box of the dual."""
    X10, y10 = X[:10], np.resize([1, -1], 10)
    m = method(batch=3, epochs=1, lam=1e3)  # f stays small: every row violates
    trace = m.run(X10, y10)
    sizes = np.bincount(trace.steps)[1:]
    assert sizes.tolist() == [3, 3, 2, 2]
    assert trace.acted.all()
    np.testing.assert_allclose(m.lam * y10 * trace.beta, 1 / 10, rtol=1e-12)  # s/S: the upper bound
    first = trace.indices[:3]
    path = m.run(X10, y10, record=True).weights_by_step
    w = (y10[first] @ X10[first]) * (4 / 10) / m.lam  # B/n, not 1/3
    np.testing.assert_allclose(path[0], w, rtol=1e-12)
    mean_of_each = np.repeat(1 / sizes, sizes) / 4  # what means over the rows would add up to
    assert mean_of_each.max() > 1 / 10
    for epochs in (2, 7):
        alpha = y10 * method(batch=3, epochs=epochs, lam=0.05).run(X10, y10).beta
        assert (0.05 * alpha <= 1 / 10 * (1 + 1e-15)).all()


def test_given_batches_step_by_the_mean_of_their_rows():
    X10, y10, m = X[:10], np.resize([1, -1], 10), method()
    given = m.run(X10, y10, indices=[[0, 1, 2]]).weights
    np.testing.assert_allclose(given, (y10[:3] @ X10[:3]) / 3 / m.lam, rtol=1e-12)
    epoch = method(batch=5, epochs=2).run(X10, y10)  # 5 divides 10: the same B
    again = m.run(X10, y10, indices=epoch.indices.reshape(-1, 5))
    np.testing.assert_allclose(again.beta, epoch.beta, rtol=1e-14)


def test_a_row_may_come_twice_in_a_batch():
    trace = method().run(X, Y, indices=[[0, 0], [1, 3], [1, 1]])
    assert trace.counts[0] == 2
    w = (Y[0] * X[0]) / method().lam  # two of two
    np.testing.assert_allclose(method().run(X, Y, indices=[[0, 0]]).weights, w, rtol=1e-12)


def test_both_forms_project_a_batch_with_a_row_twice():
    m, order = method(lam=1e-3, project=True), [[0, 0, 1], [2, 2, 2], [5, 4, 5]]
    one, other = (m.run(X, Y, indices=order, form=form) for form in ("weights", "counts"))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    assert np.linalg.norm(one.weights) <= 1 / np.sqrt(1e-3) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0.5, 1.0], "row numbers of shape"),
        ([], "row numbers of shape"),
        ([[[1]]], "row numbers of shape"),
        ([0, N], f"from 0 to {N - 1}; got {N}"),
        ([-1], "got -1"),
        ([int(np.flatnonzero(WEIGHTS == 0)[0])], "weight is 0"),
    ],
)
def test_a_sequence_that_names_no_rows_is_refused(indices, message):
    for m in (method(), kq.Perceptron()):
        with pytest.raises(DataError, match=message):
            m.run(X, Y, WEIGHTS, indices=indices)
