"""Sparse features stay sparse, and give what the same numbers give dense."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import LinearSVC

import kernelqp as kq
from kernelqp.arrays import LARGE
from kernelqp.columns import (
    BLOCK,
    dense,
    largest,
    row_norms2,
    side_by_side,
    weighted_gram,
    weighted_rows,
)

N, D = 900, 150
S = scipy.sparse.random(N, D, density=0.05, format="csr", random_state=0)
RNG = np.random.default_rng(0)
TARGETS = S @ RNG.normal(size=D) + 0.1 * RNG.normal(size=N)
LABELS = np.where(TARGETS > 0, 1, 0)
METHODS = {
    "hinge": (kq.SoftMarginSVM(C=1.0), LABELS),
    "squared": (kq.SoftMarginSVM(C=1.0, slack_power=2, intercept="none"), LABELS),
    "penalised": (kq.SoftMarginSVM(C=1.0, intercept="penalized"), LABELS),
    "least squares": (kq.RegularizedLeastSquares(lam=0.5), TARGETS),
    "ball": (kq.ConstrainedRidge(radius=1.0), TARGETS),
}


@pytest.mark.parametrize("form", ["weights", "coefficients", "dual"])
@pytest.mark.parametrize("name", METHODS)
def test_a_page_of_sparse_features_is_that_of_dense_ones(name, form):
    method, y = METHODS[name]
    one, other = method.solve(S, y, form=form), method.solve(S.toarray(), y, form=form)
    assert scipy.sparse.issparse(one.origin[0].page.data.X)
    assert one.certificate.certified
    assert one.value == pytest.approx(other.value, rel=1e-6)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    new = S[:7]
    found = one.decision_function(new)
    np.testing.assert_allclose(found, one.decision_function(new.toarray()), atol=1e-12)
    np.testing.assert_allclose(found, other.decision_function(new), atol=1e-5)


def test_no_matrix_of_n_rows_and_columns_is_formed(monkeypatch):
    """30,000 rows: n x n would be 7 GB."""
    wide = scipy.sparse.random(30_000, 50, density=0.05, format="csr", random_state=0)
    y = np.asarray(wide @ np.ones(50))
    monkeypatch.setattr(kq.Gram, "dense_matrix", lambda _: pytest.fail("n x n"))
    solution = kq.RegularizedLeastSquares(lam=0.5).solve(wide, y)
    assert solution.certificate.certified
    assert kq.SoftMarginSVM().dual(wide, y > 1.0).problem.size_metrics is not None


def test_rows_of_weight_0_leave_a_sparse_problem():
    s = np.random.default_rng(0).integers(0, 3, N).astype(float)
    method, y = METHODS["least squares"]
    one, other = method.solve(S, y, s), method.solve(S.toarray(), y, s)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(random_state=0),
        LinearSVC(loss="hinge", random_state=0),
        LogisticRegression(),
        SGDClassifier(random_state=0),
    ],
    ids=str,
)
def test_a_model_fitted_on_sparse_features(model):
    model.fit(S, LABELS)
    one, other = kq.certify(model, S, LABELS), kq.certify(model, S.toarray(), LABELS)
    assert one.primal_value == pytest.approx(other.primal_value, rel=1e-12)
    assert one.dual_value == pytest.approx(other.dual_value, rel=1e-4)
    assert one.certified == other.certified


def test_ridge_fitted_on_sparse_features():
    assert kq.certify(Ridge(solver="lsqr", tol=1e-10).fit(S, TARGETS), S, TARGETS).certified


def test_a_kernel_without_features_and_small_matrices_are_made_dense():
    rbf = kq.SoftMarginSVM(kernel="rbf").dual(S[:50], LABELS[:50])
    assert isinstance(rbf.page.data.X, np.ndarray)
    small = kq.SoftMarginSVM().dual(S[: LARGE // D // 2], LABELS[: LARGE // D // 2])
    assert isinstance(small.page.data.X, np.ndarray)


def test_the_callers_matrix_is_left_alone_and_bad_entries_are_named():
    given = S.copy()
    kq.SoftMarginSVM().solve(given, LABELS)
    assert (given != S).nnz == 0
    given.data[3] = np.nan
    with pytest.raises(kq.InputError, match="must be finite"):
        kq.SoftMarginSVM().solve(given, LABELS)


def test_what_is_no_sparse_matrix_of_real_numbers_is_refused():
    with pytest.raises(kq.InputError, match="real numbers"):
        kq.RegularizedLeastSquares().solve(S * (1 + 5j), TARGETS)
    with pytest.raises(kq.InputError, match="2-D"):
        kq.RegularizedLeastSquares().solve(scipy.sparse.coo_array(np.ones(N)), TARGETS)


def test_columns_dense_and_sparse():
    A, B, w = S[:6, :4].toarray(), RNG.normal(size=(6, 2)), RNG.random(6)
    C = scipy.sparse.csr_array(A)
    np.testing.assert_allclose(row_norms2(C), row_norms2(A))
    np.testing.assert_allclose(dense(side_by_side(C, B)), side_by_side(A, B))
    np.testing.assert_allclose(dense(weighted_rows(C, w)), weighted_rows(A, w))
    np.testing.assert_allclose(weighted_gram(C, w), A.T @ np.diag(w) @ A)
    tall = RNG.normal(size=(2 * BLOCK + 3, 2))
    weights = RNG.random(len(tall)) * (RNG.random(len(tall)) < 0.9)
    inner = weighted_gram(tall, weights)
    np.testing.assert_allclose(inner, tall.T @ (tall * weights[:, None]))
    assert np.array_equal(inner, inner.T)
    assert largest(C) == largest(A)
    assert largest(scipy.sparse.csr_array((3, 3))) == 0.0
