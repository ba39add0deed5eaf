"""Products in twice the figures, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import kernelqp as kq
from kernelqp import losses
from kernelqp.certificate import Candidate, certify_candidate
from kernelqp.exact_sums import sum_of_rows
from tests.random_risks import random_risk

EPS = np.finfo(float).eps
LOST = (41, 151, 243, 285)  # at C = 100, where ordinary products leave 1e-9 to 1e-7 of the value


def fractions(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


def exactly(rows, x):
    """Return Σ x_i rows_i, rounded once."""
    x = fractions(x)
    columns = [fractions(column) for column in rows.T]
    return np.array([float(sum(a * b for a, b in zip(c, x, strict=True))) for c in columns])


@pytest.mark.parametrize("spread", [0, 5, 15])
def test_a_sum_is_rounded_once_where_an_ordinary_one_loses_its_figures(spread):
    rng = np.random.default_rng(spread)
    half = rng.normal(size=(40, 7)) * 10.0 ** rng.uniform(-spread, spread, (40, 1))
    rows = np.concatenate([half, half + 1e-9 * rng.normal(size=half.shape)])
    x = np.concatenate([np.ones(40), -np.ones(40)])
    total, lost = sum_of_rows(rows, x)
    size = np.abs(x) @ np.abs(rows)  # what rounding of an ordinary sum goes by
    np.testing.assert_allclose(total + lost, exactly(rows, x), rtol=EPS, atol=1e-28 * size.max())
    assert np.abs(x @ rows - exactly(rows, x)).max() > 1e3 * EPS * np.abs(exactly(rows, x)).min()


def test_rows_without_a_weight_are_not_looked_at():
    rows = np.array([[np.inf, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(sum_of_rows(rows, np.array([0.0, 3.0]))[0], [3.0, 6.0])


def test_products_of_a_dense_matrix_and_of_one_about_its_mean():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    gram = kq.Gram.dense(kq.RBF(gamma=0.3)(X), psd=True)
    beta = 1e6 * rng.normal(size=30)
    beta[-1] -= beta.sum()
    found = exactly(gram.K, beta)
    np.testing.assert_allclose(gram.exact_matvec(beta), found, rtol=EPS)
    centred = gram.centred()
    assert centred.K is None  # in products
    np.testing.assert_allclose(
        centred.exact_matvec(beta), found - found.mean(), atol=4 * EPS * np.abs(found).max()
    )


def test_a_factor_and_a_kernel_in_blocks_have_no_stored_entries():
    X = np.random.default_rng(0).normal(size=(700, 2))
    assert kq.Gram.from_factor(X).exact_matvec(np.ones(700)) is None
    method = kq.SoftMarginSVM(kernel=kq.RBF(gamma=1.0))
    risk = method.primal(X, np.sign(X[:, 0])).risk()
    assert risk.gram.exact_matvec(np.ones(700)) is None


def centred_product(K, beta, *, centred):
    """Return (H) K (H) β of rational numbers."""
    mean = sum(beta) / len(beta) if centred else Fraction(0)
    f = [sum(a * (b - mean) for a, b in zip(row, beta, strict=True)) for row in K]
    mean = sum(f) / len(f) if centred else Fraction(0)
    return [value - mean for value in f]


@pytest.mark.parametrize("seed", LOST)
def test_p_and_d_are_those_of_rational_arithmetic(seed):
    """P and D of the points of the certificate, without any rounding from the entries of K."""
    risk, name = random_risk(seed, prices=(1e-4, 0.1, 1.0, 10.0, 100.0))
    beta = risk.solve(solver="native", tol=1e-9).beta
    verdict = certify_candidate(risk.centred, Candidate(beta), "dual", 1e-9)
    c, shown, at = verdict.certificate, verdict.function, verdict.dual
    assert shown.exact, name
    assert at.exact, name
    free = risk.offset.is_intercept
    K = [fractions(row) for row in risk.gram.dense_matrix()]
    y, costs = fractions(risk.centred.targets), fractions(risk.costs)
    theta = fractions(verdict.theta)[0] if free else Fraction(0)
    flattest, steepest = (fractions(g) for g in risk.loss.domain(risk.targets))

    beta = fractions(shown.coefficients)
    f = centred_product(K, beta, centred=free)
    primal = sum(a * b for a, b in zip(f, beta, strict=True)) / 2
    for price, target, p, a, b in zip(costs, y, f, flattest, steepest, strict=True):
        primal += price * max(a * (p + theta - target), b * (p + theta - target))
    beta = fractions(at.coefficients)
    f = centred_product(K, beta, centred=free)
    dual = sum(b * (t - p / 2) for b, t, p in zip(beta, y, f, strict=True))

    assert c.relative_gap <= 1e-9, name
    assert abs(float(primal - Fraction(c.primal_value))) <= c.rounding, name
    assert abs(float(dual - Fraction(c.dual_value))) <= c.rounding, name


def test_where_ordinary_figures_do_they_are_not_used(monkeypatch):
    def refuse(*_):
        raise AssertionError("exact products were formed")

    monkeypatch.setattr("kernelqp.gram.sum_of_rows", refuse)
    risk = random_risk(1, prices=(1.0,))[0]
    assert risk.solve(solver="native", tol=1e-9).certificate.certified


def test_a_hard_margin_is_judged_by_what_is_shown():
    X = np.array([[0.0], [1.0]])
    gram = kq.Gram.dense(X @ X.T, psd=True)
    risk = kq.RegularizedRisk(gram, np.array([-1.0, 1.0]), 1.0, losses.HardMargin())
    c = risk.solve(tol=1e-17).certificate  # out of reach
    assert not c.certified
    assert c.primal_value == pytest.approx(2.0, rel=1e-12)
