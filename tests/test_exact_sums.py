"""Products in twice the figures, against rational arithmetic."""

from types import SimpleNamespace

import numpy as np
import pytest

import kernelqp as kq
from kernelqp import losses
from kernelqp.centred_gram import CentredGram, FormedGram
from kernelqp.certificate import Candidate, certify_candidate
from kernelqp.exact_sums import about_mean, sum_of_rows
from kernelqp.scales import rounding_of_bounds, rounding_of_primal
from tests.random_risks import random_risk
from tests.rational_values import fractions, product, rational_values

EPS = np.finfo(float).eps
LOST = (41, 151, 243, 285)  # at C = 100, where ordinary products leave 1e-9 to 1e-7 of the value
FAR_LOSSES = (
    losses.Pinball(0.3),
    losses.EpsilonInsensitive(0.1),
    losses.Huber(0.5),
    losses.Hinge(),
    losses.SquaredHinge(),
)


def exactly(rows, x):
    """Return Σ x_i rows_i, rounded once."""
    x = fractions(x)
    columns = [fractions(column) for column in rows.T]
    return np.array([float(sum(a * b for a, b in zip(c, x, strict=True))) for c in columns])


def far_risk(seed):
    """Return a problem on one feature far from 0, K exact in floating point, any loss."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 16))
    far, C = 10.0 ** rng.uniform(4, 7), 10.0 ** rng.uniform(0, 6)
    x = np.round(far + rng.integers(0, 60, n))
    loss, y = FAR_LOSSES[seed % 5], rng.normal(size=n)
    gram = kq.Gram.dense(np.outer(x, x), psd=True)
    return kq.RegularizedRisk(gram, np.sign(y) if loss.margin else y, C, loss, "free")


def judged(risk, side="dual", tol=1e-9):
    """Return the verdict on what the native solver gives."""
    beta = risk.solve(solver="native", tol=tol).beta
    return certify_candidate(risk.centred, Candidate(beta), side, tol)


def errors(risk, verdict):
    """Return how far P and D of a certificate are from those of its points."""
    primal, dual = rational_values(risk.centred, risk.gram, verdict)
    c = verdict.certificate
    return abs(float(primal - fractions(c.primal_value)[0])), abs(
        float(dual - fractions(c.dual_value)[0])
    )


@pytest.mark.parametrize("spread", [0, 5, 15])
def test_a_sum_is_rounded_once_where_an_ordinary_one_loses_its_figures(spread):
    rng = np.random.default_rng(spread)
    half = rng.normal(size=(40, 7)) * 10.0 ** rng.uniform(-spread, spread, (40, 1))
    rows = np.concatenate([half, half + 1e-9 * rng.normal(size=half.shape)])
    x = 0.1 * np.concatenate([np.arange(1.0, 41.0), -np.arange(1.0, 41.0)])
    found, size = exactly(rows, x), np.abs(x) @ np.abs(rows)  # ordinary sums lose eps times that
    np.testing.assert_allclose(sum(sum_of_rows(rows, x)), found, rtol=EPS, atol=1e-28 * size.max())
    assert np.abs(x @ rows - found).max() > 1e3 * EPS * np.abs(found).max()


def test_rows_without_a_weight_are_not_looked_at():
    rows = np.array([[np.inf, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(sum_of_rows(rows, np.array([0.0, 3.0]))[0], [3.0, 6.0])


def test_what_overflows_is_not_finite_and_warns_nobody():
    found = sum_of_rows(np.array([[1e307, 1.0]]), np.ones(1))
    assert not np.isfinite(sum(found)[0])
    assert np.isnan(about_mean(*found)).all()
    gram = kq.Gram.dense(1e307 * np.eye(2), psd=True)
    risk = kq.RegularizedRisk(gram, np.array([1.0, -1.0]), 1e-307, losses.Hinge(), "none")
    assert not risk.function(np.ones(2), exactly=True).exact


@pytest.mark.parametrize(("far", "kind"), [(0.0, CentredGram), (30.0, FormedGram)])
def test_products_of_a_dense_matrix_and_of_one_about_its_mean(far, kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2)) + far
    gram = kq.Gram.dense(X @ X.T, psd=True)
    beta = 1e6 * rng.normal(size=30)
    beta -= beta.mean()  # balanced to rounding
    found = exactly(gram.K, beta)
    np.testing.assert_allclose(gram.exact_matvec(beta), found, rtol=EPS)
    centred = gram.centred()
    assert type(centred) is kind
    rows = [fractions(row) for row in gram.K]
    found = np.array([float(v) for v in product(rows, fractions(beta), centred=True)])
    assert beta.sum()
    np.testing.assert_allclose(centred.exact_matvec(beta), found, rtol=4 * EPS)
    ordinary = np.abs(centred.matvec(beta) - found).max()
    assert ordinary > (100 if far else 1) * EPS * np.abs(found).max()


def test_a_factor_and_a_kernel_in_blocks_have_no_stored_entries():
    X = np.random.default_rng(0).normal(size=(700, 2))
    assert kq.Gram.from_factor(X).exact_matvec(np.ones(700)) is None
    method = kq.SoftMarginSVM(kernel=kq.RBF(gamma=1.0))
    risk = method.primal(X, np.sign(X[:, 0])).risk()
    assert risk.gram.exact_matvec(np.ones(700)) is None


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("seed", LOST)
def test_p_and_d_are_those_of_rational_arithmetic(seed, side):
    risk, name = random_risk(seed, prices=(1e-4, 0.1, 1.0, 10.0, 100.0))
    verdict = judged(risk, side)
    assert verdict.function.exact, name
    assert verdict.certificate.relative_gap <= 1e-9, name
    assert max(errors(risk, verdict)) <= verdict.certificate.rounding, name


def test_p_and_d_far_from_the_origin_are_known_to_their_rounding():
    """Entries of K of 1e8 to 1e14, about their mean."""
    seen = set()
    for seed in (*range(60), 84, 119, 124):  # in these sums of twice the figures are not enough
        risk = far_risk(seed)
        verdict = judged(risk)
        if verdict.dual.exact:
            assert max(errors(risk, verdict)) <= verdict.certificate.rounding, seed
            seen.add(type(risk.loss))
    assert len(seen) == len(FAR_LOSSES)


@pytest.mark.parametrize("loss", [*FAR_LOSSES, losses.Pinball(0.5)], ids=repr)
def test_every_part_of_the_rounding_is_needed(loss):
    """At any β, with sums that cancel: β'K β, y against ε, predictions at a large price."""
    worst = np.zeros(2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = 12
        K = np.ones((n, n)) + 1e-9 * np.diag(rng.uniform(size=n))
        y = np.sign(rng.normal(size=n)) if loss.margin else 0.1 * (1 + 1e-9 * rng.normal(size=n))
        y = 0.0 * y if repr(loss) == "Pinball(tau=0.5)" else y
        costs = 10.0 ** rng.uniform(-9, 9)
        gram = kq.Gram.dense((K + K.T) / 2, psd=True)
        risk = kq.RegularizedRisk(gram, y, costs, loss, "none")
        beta = np.clip(rng.normal(size=n), risk.row.lower, risk.row.upper)
        beta[0] = np.clip(1e-7 - beta[1:].sum(), risk.row.lower[0], risk.row.upper[0])
        f, none = risk.function(beta, exactly=True), np.zeros(0)
        assert f.exact
        primal, dual = risk.primal_value(f, none), risk.dual_value(f)
        at = rational_values(risk, gram, SimpleNamespace(function=f, dual=f, theta=none))
        off = [abs(float(v - fractions(w)[0])) for v, w in zip(at, (primal, dual), strict=True)]
        known = rounding_of_primal(risk, primal, f, none, beta), rounding_of_bounds(risk, f)
        worst = np.maximum(worst, np.array(off) / np.array(known))
    assert (worst <= 1.0).all(), worst
    assert (worst > 0.01).all(), worst  # not so wide that it says nothing


def test_the_point_that_is_shown_is_the_one_that_was_judged():
    """θ of the problem before centring, at a price of 100."""
    for seed in (41, 243):
        risk, name = random_risk(seed, prices=(1e-4, 0.1, 1.0, 10.0, 100.0))
        verdict = judged(risk)
        shown, theta = risk.from_centred(verdict.function, verdict.theta)
        K = [fractions(row) for row in risk.gram.dense_matrix()]
        f = product(K, fractions(shown.coefficients), centred=False)
        mean = sum(f) / len(f)
        moved = float(mean + fractions(theta)[0] - fractions(verdict.theta)[0])
        size = np.abs(shown.values).max() + abs(theta[0]) + abs(risk.middle)
        assert abs(moved - risk.middle) <= 4 * EPS * size, name


def test_an_f_by_its_values_is_not_judged_by_exact_products_of_another():
    """f of a solution about the mean: its values are ordinary, whatever those of f_β are."""
    for seed in (41, 67, 130, 451, 668):
        risk, name = random_risk(seed, prices=(100.0, 1e4, 1e6))
        s = risk.solve(solver="native", tol=1e-9)
        moved, theta = risk.to_centred(risk.function(s.beta), np.array([s.intercept]))
        verdict = certify_candidate(risk.centred, Candidate(s.beta, moved, theta), "primal", 1e-9)
        assert verdict.function.exact == verdict.dual.exact, name


def test_where_ordinary_figures_do_they_are_not_used(monkeypatch):
    def refuse(*_):
        raise AssertionError("exact products were formed")

    monkeypatch.setattr("kernelqp.gram.sum_of_rows", refuse)
    monkeypatch.setattr("kernelqp.centred_gram.sum_of_rows", refuse)
    X = np.random.default_rng(0).normal(size=(40, 2))
    gram = kq.Gram.dense(kq.RBF(gamma=1.0)(X), psd=True)
    for offset in ("free", "none"):
        risk = kq.RegularizedRisk(gram, np.sign(X[:, 0]), 1.0, losses.Hinge(), offset)
        assert risk.solve(solver="native", tol=1e-9).certificate.certified
    lost = random_risk(LOST[0], prices=(1e-4, 0.1, 1.0, 10.0, 100.0))[0]
    with pytest.raises(AssertionError, match="exact products"):
        lost.solve(solver="native", tol=1e-9)


@pytest.mark.parametrize("seed", [126, 150])
def test_a_hard_margin_is_judged_by_what_is_shown(seed):
    """Its f is scaled until every margin is 1 in floating point: exact values would miss that."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    X = rng.normal(size=(n, 3))
    gram = kq.Gram.dense(kq.RBF(gamma=float(10 ** rng.uniform(-2, 1)))(X), psd=True)
    loss = losses.HardMargin()
    risk = kq.RegularizedRisk(gram, np.sign(X[:, 0] + 0.1), 1.0, loss)
    assert np.isfinite(risk.solve(tol=1e-16).certificate.primal_value)


def test_a_matrix_that_is_not_psd_to_the_last_figure_is_left_to_ordinary_products():
    K = np.array([[1.0, 1.0 + EPS], [1.0 + EPS, 1.0]])
    gram = kq.Gram.dense(K, psd=True)
    risk = kq.RegularizedRisk(gram, np.array([1.0, -1.0]), 1.0, losses.Hinge(), "none")
    assert not risk.function(np.array([1.0, -1.0]), exactly=True).exact
    assert risk.function(np.array([1.0, 1.0]), exactly=True).exact
