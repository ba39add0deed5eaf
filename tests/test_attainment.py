"""Without a penalty: where an optimum exists it is found, where none does that is proved."""

import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import kernelqp as kq
from kernelqp.attainment import separating_direction
from kernelqp.losses import Hinge, Logistic

near = pytest.approx
PLAIN = kq.LogisticRegression(C=math.inf)
RNG = np.random.default_rng(5)
CLOUD = RNG.normal(size=(40, 3))
PLANE = np.array([1.0, -2.0, 0.5])
SEPARABLE = {
    "four points": ([[-2.0], [-1.0], [1.0], [2.0]], [-1, -1, 1, 1]),
    "two points": ([[-1.0], [1.0]], [-1, 1]),
    "a cloud": (CLOUD, np.where(CLOUD @ PLANE > 0.3, 1, -1)),
    "a narrow gap": (np.r_[np.linspace(-1, 0, 20), np.linspace(1e-9, 1, 20)][:, None],
                     np.repeat([0, 1], 20)),
    "far from the origin": (CLOUD + 1e6, np.where(CLOUD @ PLANE > 0.3, 1, -1)),
    "large and small features": (CLOUD * [1e6, 1.0, 1e-6], np.where(CLOUD @ PLANE > 0.3, 1, -1)),
    "more features than rows": (RNG.normal(size=(10, 30)), np.resize([1, -1], 10)),
}  # fmt: skip
QUASI = {
    "two rows at one point": ([[0.0], [0.0], [1.0]], [-1, 1, 1]),
    "touching at a value": ([[0.0], [1.0], [1.0], [2.0]], [-1, -1, 1, 1]),
    "an indicator": (np.c_[CLOUD[:, 0], np.arange(40) < 5],
                     np.r_[np.ones(5), RNG.choice([1.0, -1.0], 35)]),
    "a plane through rows": (
        np.r_[[[0.0, 1.0], [0.0, -1.0], [0.0, 2.0], [0.0, -2.0]], np.c_[np.ones(4), np.arange(4)]],
        [1, -1, -1, 1, 1, 1, 1, 1],
    ),
}  # fmt: skip


def literal(formulation):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        formulation.problem.solve(solver="CLARABEL")


def check_proof(found, X, y):
    """The direction by hand: no row on the wrong side beyond rounding, one on the right side."""
    X, signs = np.asarray(X, float), np.where(np.asarray(y) == np.max(y), 1.0, -1.0)
    w, b = found.proof.weights, found.proof.intercept
    margins = signs * (X @ w + b)
    size = np.abs(X) @ np.abs(w) + abs(b)
    assert (margins >= -1e-13 * size.max()).all()
    assert margins.max() > 1e-12 * size.max() or margins.max() > 0.5
    return margins, size.max()


@pytest.mark.parametrize("solver", ["auto", "native", "CLARABEL", "SCS"])
@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_classes_have_no_optimum(name, solver):
    X, y = SEPARABLE[name]
    found = PLAIN.solve(X, y, solver=solver)
    assert isinstance(found, kq.Infeasible)
    assert found.status is kq.Status.NOT_ATTAINED
    margins, _ = check_proof(found, X, y)
    assert (margins > 0).all()
    assert found.proof.separated == len(margins)
    assert "the classes are separable" in str(found)
    assert "use a finite C" in str(found)
    with pytest.raises(kq.NotCertified, match="finite C"):
        found.raise_if_not_certified()
    with pytest.raises(AttributeError, match="not attained"):
        found.weights  # noqa: B018


@pytest.mark.parametrize("name", QUASI)
def test_quasi_separable_classes_have_no_optimum(name):
    X, y = QUASI[name]
    found = PLAIN.solve(X, y)
    assert found.status is kq.Status.NOT_ATTAINED
    margins, size = check_proof(found, X, y)
    on = np.abs(margins) <= 1e-13 * size
    assert on.any()
    assert found.proof.separated == (~on).sum()
    assert f"quasi-separable ({on.sum()} rows on the plane itself)" in str(found)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6, 1e10])
@pytest.mark.parametrize("name", [*SEPARABLE, *QUASI])
def test_a_penalty_gives_them_one(name, C):
    X, y = (SEPARABLE | QUASI)[name]
    s = kq.LogisticRegression(C=C).solve(X, y)
    assert isinstance(s, kq.Solution)
    found = s.certificate
    assert abs(found.gap) <= 1e-10 * s.value, s
    assert found.certified or found.rounding > 1e-6 * s.value, s  # features of 1e6 at C = 1e10


def test_a_literal_answer_on_separable_classes_is_not_passed_off_as_optimal():
    formulation = PLAIN.primal(*SEPARABLE["four points"])
    literal(formulation)
    assert formulation.solution().status is kq.Status.NOT_ATTAINED


# --- an optimum exists ----------------------------------------------------------------------------


def flipped(X, y, row):
    y = np.array(y)
    y[row] = -y[row]
    return np.asarray(X, float), y


OVERLAP = {
    "a cloud": flipped(*SEPARABLE["a cloud"], np.argmax(CLOUD @ PLANE)),
    "far from the origin": flipped(*SEPARABLE["far from the origin"], np.argmax(CLOUD @ PLANE)),
    "mixed scales": flipped(*SEPARABLE["large and small features"], np.argmax(CLOUD @ PLANE)),
    "xor": ([[0, 0], [1, 1], [0, 1], [1, 0]], [1, 1, -1, -1]),
    "opposite labels on every point": (np.repeat(CLOUD, 2, axis=0), np.resize([1, -1], 80)),
    "constant and doubled features": (
        np.c_[CLOUD, np.ones(40), 2 * CLOUD[:, 0]], RNG.choice([1, -1], 40)
    ),
}  # fmt: skip


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("name", OVERLAP)
def test_overlapping_classes_have_an_optimum(name, intercept):
    X, y = OVERLAP[name]
    method = kq.LogisticRegression(C=math.inf, intercept=intercept)
    s = method.solve(X, y)
    assert s.status is kq.Status.CERTIFIED, s
    assert s.certificate.relative_gap < 1e-12
    literal(formulation := method.primal(X, y))
    if name != "mixed scales":  # raw units are too much for the solver
        assert s.value == near(formulation.problem.value, rel=1e-6)
    residual = (
        np.asarray(y) * s.predict_proba(X)[np.arange(len(y)), (np.asarray(y) < 0).astype(int)]
    )
    size = np.abs(np.asarray(X, float)).T @ np.abs(residual)
    assert (np.abs(np.asarray(X, float).T @ residual) <= 1e-7 * np.maximum(size, 1e-12)).all()
    if intercept != "none":
        assert abs(residual.sum()) <= 1e-9 * len(y)


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_nearly_separable_classes_are_not_called_separable(overlap):
    """One row of each class beyond the other's first, by less and less."""
    X = np.array([[-1.0], [-0.5], [overlap], [-overlap], [0.5], [1.0]])
    y = [-1, -1, -1, 1, 1, 1]
    s = PLAIN.solve(X, y)
    assert isinstance(s, kq.Solution), s
    assert s.status is kq.Status.CERTIFIED, s
    w = s.weights[0]
    slope = np.sum(-np.array(y) * X[:, 0] / (1 + np.exp(np.array(y) * (X[:, 0] * w + s.intercept))))
    assert abs(slope) <= 1e-12  # of what one row alone gives


@pytest.mark.parametrize("name", OVERLAP)
def test_multipliers_prove_that_nothing_separates_without_a_linear_program(name, monkeypatch):
    def refuse(*args, **options):
        pytest.fail("a linear program was called")

    monkeypatch.setattr("kernelqp.attainment.linprog", refuse)
    assert PLAIN.solve(*OVERLAP[name]).status is kq.Status.CERTIFIED


@pytest.mark.parametrize("name", QUASI)
def test_the_linear_program_alone_comes_to_the_same(name, monkeypatch):
    monkeypatch.setattr("kernelqp.attainment._balances_inside", lambda risk: False)
    assert PLAIN.solve(*QUASI[name]).status is kq.Status.NOT_ATTAINED
    for X, y in OVERLAP.values():
        assert PLAIN.solve(X, y).status is kq.Status.CERTIFIED


@pytest.mark.parametrize("seed", range(30))
def test_random_small_tables_by_a_count_of_their_faces(seed):
    """In one dimension it is a question of order: all of one class at or below all of the other."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, size=6).astype(float)
    y = np.r_[1, -1, rng.choice([1, -1], 4)]
    plus, minus = x[y > 0], x[y < 0]
    apart = plus.min() >= minus.max() or minus.min() >= plus.max()
    apart = apart and len(set(x)) > 1
    found = PLAIN.solve(x[:, None], y)
    assert (found.status is kq.Status.NOT_ATTAINED) == apart
    assert apart or found.status is kq.Status.CERTIFIED


def test_weights_and_classes_without_a_penalty():
    X, y = OVERLAP["a cloud"]
    counts = RNG.integers(0, 3, len(y)).astype(float)
    counts[np.argmax(CLOUD @ PLANE)] = 2.0
    s = kq.LogisticRegression(C=math.inf, class_weight={1: 2.0}).solve(X, y, counts)
    repeated = (counts * np.where(y > 0, 2, 1)).astype(int)
    t = PLAIN.solve(np.repeat(X, repeated, axis=0), np.repeat(y, repeated))
    assert s.value == near(t.value, rel=1e-12)
    assert s.weights == near(t.weights, abs=1e-8)
    assert s.predict(X).tolist() == np.where(s.decision_function(X) > 0, 1, -1).tolist()


def test_without_a_penalty_it_is_the_limit_of_a_large_C():
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :3]
    s, t = PLAIN.solve(X, y), kq.LogisticRegression(C=1e9).solve(X, y)
    assert t.value / 1e9 == near(s.value, rel=1e-7)
    assert t.weights == near(s.weights, rel=1e-6)


def test_what_needs_a_penalty_says_so():
    X, y = OVERLAP["a cloud"]
    with pytest.raises(kq.InputError, match="C=inf is no penalty: it needs explicit features"):
        kq.LogisticRegression(C=math.inf, kernel="rbf").solve(X, y, form="primal")
    for call in (PLAIN.dual, kq.LogisticRegression(C=math.inf, kernel="rbf").solve):
        with pytest.raises(kq.InputError, match="or a finite C"):
            call(X, y)
    s = PLAIN.solve(X, y)
    for name in ("alpha", "beta", "slack"):
        with pytest.raises(AttributeError, match=r"without a penalty|costs something"):
            getattr(s, name)


# --- the engine: a single class -------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_one_class_and_a_free_intercept_have_no_optimum(sign, form):
    gram = kq.Gram.of(kq.RBF(gamma=1.0), CLOUD)
    risk = kq.RegularizedRisk(gram, np.full(40, sign), 1.0, Logistic())
    found = risk.solve(form=form)
    assert found.status is kq.Status.NOT_ATTAINED
    assert found.proof.intercept in (None, sign)
    assert found.proof.margins.tolist() == [1.0] * 40
    assert "penalise the intercept" in str(found)


def test_one_class_without_an_intercept_has_one():
    gram = kq.Gram.of(kq.RBF(gamma=1.0), CLOUD)
    risk = kq.RegularizedRisk(gram, np.ones(40), 1.0, Logistic(), "none")
    assert risk.solve().status is kq.Status.CERTIFIED


def test_a_loss_that_ends_at_0_reaches_it():
    gram = kq.Gram.of(kq.RBF(gamma=1.0), CLOUD)
    risk = kq.RegularizedRisk(gram, np.ones(40), 1.0, Hinge())
    assert separating_direction(risk) is None
    assert risk.solve().value == near(0.0, abs=1e-9)
