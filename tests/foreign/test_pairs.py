"""Models of several labels: the rows of K of all pairs at once, reports when they are asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC, NuSVC

import kernelqp as kq
from kernelqp.block_gram import BlockGram
from kernelqp.foreign import pairs
from kernelqp.foreign.pairs import one_against_one
from kernelqp.kernel_matrix import RowsOf
from kernelqp.kernels import RBF
from tests.foreign.fits import fit

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
X, Y = X[ORDER], Y[ORDER]
NUMBERS = ("primal_value", "dual_value", "best_value", "gap", "relative_gap")
NAMES, SHIFTS = ("a", "b", "c"), (0.5, 1.5, 2.5)
SETS = ("support_vectors", "elbow", "left", "right", "undecided")


def table(seed=0):
    """Coefficients of few rows, as LIBSVM has them: a row less than there are labels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, len(Y))) * (rng.random((2, len(Y))) < 0.1)


def test_every_pair_has_its_own_rows_labels_and_coefficients():
    beta = table()
    found = one_against_one(BlockGram.on(RBF(gamma=0.5), X), Y, NAMES, beta, SHIFTS)
    assert [(p.first, p.second) for p in found] == [(0, 1), (0, 2), (1, 2)]
    assert [(p.name, p.b) for p in found] == [
        (": a against b", 0.5),
        (": a against c", 1.5),
        (": b against c", 2.5),
    ]
    for p in found:
        assert set(p.chosen) == set(np.flatnonzero((p.first == Y) | (p.second == Y)))
        assert np.array_equal(p.signs, np.where(Y[p.chosen] == p.first, 1.0, -1.0))
        row = np.where(Y[p.chosen] == p.first, p.second - 1, p.first)
        assert np.array_equal(p.beta, beta[row, p.chosen])


def about(K, rows):
    """K about the mean of some rows."""
    a = np.bincount(rows, minlength=len(K)) / len(rows)
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), a)
    return H @ K @ H.T


@pytest.mark.parametrize("worth", [0, 2], ids=["alone", "together"])
def test_products_are_those_of_the_kernel_of_the_pair(worth, monkeypatch):
    monkeypatch.setattr(pairs, "WORTH", worth)
    kernel = RBF(gamma=0.5)
    for p in one_against_one(BlockGram.on(kernel, X), Y, NAMES, table(), SHIFTS):
        K, origin = kernel(X[p.chosen]), p.gram.middle
        assert p.signs[origin].sum() == 0
        p.gram.keep_for(p.beta)
        centred = p.gram.centred()
        assert p.gram.matvec(p.beta) == pytest.approx(K @ p.beta, abs=1e-13)
        assert centred.matvec(p.beta) == pytest.approx(about(K, origin) @ p.beta, abs=1e-13)
        assert centred.diagonal == pytest.approx(np.diag(about(K, origin)), abs=1e-13)
        alone = p.gram.needed_for(p.beta).size
        assert p.gram.store.filled == (0 if worth else alone)  # nothing is computed twice
        other = np.roll(p.beta, 7)  # of which nothing is known
        assert p.gram.matvec(other) == pytest.approx(K @ other, abs=1e-13)


def test_rows_that_do_not_fit_are_left_to_the_pairs():
    kernel = RBF(gamma=0.5)
    gram = BlockGram.on(kernel, X, memory=8 * len(Y) * 20)  # 20 rows of all, 10 of each pair
    for p in one_against_one(gram, Y, NAMES, table(), SHIFTS):
        assert not p.gram.kept.products.has(p.beta)
        assert p.gram.matvec(p.beta) == pytest.approx(kernel(X[p.chosen]) @ p.beta, abs=1e-13)


@pytest.mark.parametrize(
    "model", [SVC(C=10.0), SVC(max_iter=4), NuSVC(nu=0.3), LinearSVC(random_state=0)], ids=str
)
def test_every_problem_has_a_report_of_its_own(model):
    fit(model, X, Y)
    certificate = kq.certify(model, X, Y)
    assert len(certificate.problems) == 3
    for k, problem in enumerate(certificate.problems):
        again = certificate.problems[k]
        assert again is problem
        assert problem.verdict.split(":")[0] in ("Converged", "Not converged", "Not proved")
        rows = np.isfinite(problem.complementarity)
        assert problem.complementarity[rows].min() >= 0.0
        sets = np.concatenate([getattr(problem.support, name) for name in SETS[1:]])
        assert np.array_equal(np.sort(sets), np.flatnonzero(rows))
    worst = certificate.problems[int(np.argmax([p.relative_gap for p in certificate.problems]))]
    for name in NUMBERS:
        assert getattr(certificate, name) == getattr(worst, name)


def test_what_is_proved_of_a_pair_is_proved_of_its_binary_model():
    kind = {"C": 1.0, "gamma": 0.5, "tol": 1e-10}
    problems = kq.certify(SVC(**kind).fit(X, Y), X, Y).problems
    for problem, (i, j) in zip(problems, ((0, 1), (0, 2), (1, 2)), strict=True):
        chosen = np.flatnonzero((i == Y) | (j == Y))
        of_two = X[chosen], Y[chosen]
        alone = kq.certify(SVC(**kind).fit(*of_two), *of_two)
        assert problem.primal_value == pytest.approx(alone.primal_value, rel=1e-9)
        assert problem.dual_value == pytest.approx(alone.dual_value, rel=1e-6)
        for name in ("left", "right"):
            known = getattr(alone.support, name)
            assert np.array_equal(getattr(problem.support, name), chosen[known])
        assert alone.support.right.size


def test_problems_are_a_sequence():
    problems = kq.certify(SVC().fit(X, Y), X, Y).problems
    assert problems[-1] is problems[2]
    assert problems[:2] == (problems[0], problems[1])
    assert list(problems) == [problems[0], problems[1], problems[2]]
    assert repr(problems) == "<3 certificates>"
    with pytest.raises(IndexError, match="there are 3 problems; asked for number 3"):
        problems[3]


def test_a_report_holds_no_rows_of_the_kernel():
    problems = kq.certify(SVC().fit(X, Y), X, Y).problems
    maker = next(kept for kept in problems._kept if not isinstance(kept, kq.ModelCertificate))
    risk = maker.args[0].risk
    assert risk.gram.factor is None
    assert risk.gram.K is None
    assert risk.gram.n == risk.gram.diagonal.size == 100
    assert risk.gram.mean_diagonal > 0


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.3)], ids=str)
def test_the_rows_of_all_pairs_are_computed_once(model, monkeypatch):
    model.fit(X, Y)
    asked = []
    fill = RowsOf.fill
    monkeypatch.setattr(
        RowsOf, "fill", lambda self, rows, out: asked.append(len(rows)) or fill(self, rows, out)
    )
    certificate = kq.certify(model, X, Y, tol=0.1)
    assert certificate.certified
    assert len(asked) == 1


def test_the_worst_of_several_says_of_how_many():
    found = kq.certify(SVC().fit(X, Y), X, Y)
    assert str(found).startswith(f"{found.name} (the worst of 3), {found.objective}")
    assert str(found.problems[0]).startswith(f"{found.problems[0].name}, ")
