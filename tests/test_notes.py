"""docs/notes.md: every place exists, every number is there once, and what it says is so."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import kernelqp as kq

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "notes.md").read_text()
LAST = {"000": 22, "002": 23, "003": 41, "004": 8}  # their equations are numbered from (1)
NUMBERED = {note: {f"({k})" for k in range(1, last + 1)} for note, last in LAST.items()}
NUMBERED["001"] = {"(1) of the margin", "(1) of ridge", "(01)", "(02)", "(2) of ridge"}
SECTIONS = {*NUMBERED, "beyond"}


def sections():
    """Return the rows of each section's table as (equation, statement, code, test)."""
    found = {}
    for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        name = re.match(r"Note (\d{3})", part)
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found[name[1] if name else "beyond"] = [row for row in cells if row[0] != "equation"]
    return found


ROWS = sections()
PLACES = sorted({row[2].strip("`") for rows in ROWS.values() for row in rows})
TESTS = sorted({row[3].strip("`") for rows in ROWS.values() for row in rows})


@cache
def names(file):
    """Return the names that a file defines: f, Class, Class.method and Class.attribute."""
    defined = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            defined.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            inner |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            defined |= {node.name, *(f"{node.name}.{name}" for name in inner)}
    return defined


def exists(place, folder):
    """Whether a place, file or file::name, is there, below the folder that it must be in."""
    file, _, name = place.partition("::")
    if not (file.startswith(f"{folder}/") and (ROOT / file).is_file()):
        return False
    return not name or name in names(file) or inherited(file, name)


def inherited(file, name):
    """Whether a class that a file defines has what Class.name says from a base of its own."""
    owner, _, attribute = name.partition(".")
    if not attribute or owner not in names(file):
        return False
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    return hasattr(getattr(module, owner), attribute)


def equations(label):
    """Return the numbers that a label stands for: "(16) to (18)" is three."""
    span = re.fullmatch(r"\((\d+)\) to \((\d+)\)", label)
    return [f"({k})" for k in range(int(span[1]), int(span[2]) + 1)] if span else [label]


# --- the tables -----------------------------------------------------------------------------------


def test_every_note_has_a_table_of_four_columns():
    assert set(ROWS) == SECTIONS
    for rows in ROWS.values():
        assert rows
        assert {len(row) for row in rows} == {4}
        assert all(cell for row in rows for cell in row)


@pytest.mark.parametrize("note", NUMBERED)
def test_every_number_of_a_note_is_there_once_and_in_order(note):
    found = [label for row in ROWS[note] for label in equations(row[0])]
    assert len(found) == len(set(found))
    numbered = [label for label in found if label.startswith("(") and "KKT" not in label]
    assert set(numbered) == NUMBERED[note]
    if note != "001":
        assert numbered == sorted(numbered, key=lambda label: int(label.strip("()")))


@pytest.mark.parametrize("place", PLACES)
def test_the_place_in_the_code_exists(place):
    assert exists(place, "kernelqp")


@pytest.mark.parametrize("place", TESTS)
def test_the_test_exists(place):
    file, _, name = place.partition("::")
    assert exists(place, "tests")
    assert not name or re.match(r"test_|Test", name)
    assert name or any(re.match(r"test_|Test", found) for found in names(file))


@pytest.mark.parametrize(
    "place",
    [
        "kernelqp/nowhere.py",
        "kernelqp/risk.py::Nothing",
        "kernelqp/risk.py::Offset.nothing",
        "kernelqp/risk.py::np",
        "docs",
    ],
)
def test_a_place_that_is_not_there_is_seen(place):
    assert not exists(place, "kernelqp")


# a word of the right statement, for each slip known
SLIPS = {
    "000": {"(5)": "singular", "(15)": "Gaussian", "(21)": "singular", "(22)": "diag(y) K diag(y)"},
    "001": {
        "hard margin b": "j = i",
        "soft margin dual": "= 0, not >= 0",
        "(01)": "R²",
        "ridge dual": "i = j",
        "(2) of ridge": "(K + λ I) α = y",
        "XOR": "exchanged",
        "sigmoid": "not PDS",
    },
    "002": {
        "(1)": "ℓ is affine",
        "dual function": "concave",
        "(5)": "u < 0",
        "kernels": "degree",
        "(10)": "k(x_i, x_j)",
        "(11)": "b + w'x_i",
        "intercept": "y_k",
        "(23)": "(22) and (23)",
    },
    "003": {
        "(1)": "y_i",
        "(4)": "−",
        "(11)": "ξ >= 0",
        "(32)": "<=",
        "(36)": "two points",
        "(41)": "inside the margin",
    },
    "004": {
        "(4)": "half",
        "(5)": "primal in coefficients",
        "(8)": "primal in coefficients",
        "primal perceptron": "<= 0",
        "dual perceptron": "signed",
    },
}


@pytest.mark.parametrize("note", SLIPS)
def test_every_slip_is_marked_and_set_right(note):
    said = {row[0]: row[1] for row in ROWS[note]}
    assert {label for label, text in said.items() if "**Slip**" in text} == set(SLIPS[note])
    for label, word in SLIPS[note].items():
        assert word in said[label]
    assert "multipliers of (12) to (16)" in TEXT


def test_the_examples_are_among_the_tests():
    options = (ROOT / "pyproject.toml").read_text()
    assert '"--doctest-glob=docs/*.md"' in options
    assert re.search(r'testpaths = \[.*"docs".*\]', options)
    assert ">>> " in TEXT


# --- what the notes say, and what is so -----------------------------------------------------------

GRID = np.random.default_rng(5)
X = GRID.normal(size=(30, 3))
Y = np.where(X[:, 0] + 0.7 * GRID.normal(size=30) > 0.3, 1.0, -1.0)


def test_a_gaussian_kernel_does_not_replace_the_intercept():
    values = [
        kq.SoftMarginSVM(kernel=kq.RBF(gamma=0.5), intercept=intercept).solve(X, Y).value
        for intercept in ("free", "none")
    ]
    assert values[0] < values[1] * (1 - 1e-3)


def test_a_balance_without_an_intercept_loses_the_optimum():
    page = kq.SoftMarginSVM(kernel=kq.RBF(gamma=0.5), intercept="none").dual(X, Y)
    alone = page.problem.solve(solver="CLARABEL")
    kept = [*page.problem.constraints, Y @ page.variables["alpha"] == 0]
    balanced = cp.Problem(page.problem.objective, kept).solve(solver="CLARABEL")
    assert balanced < alone * (1 - 1e-3)


def test_coefficients_are_not_unique_where_the_kernel_is_singular():
    svm = kq.SoftMarginSVM(intercept="none")
    page = svm.primal(X, Y, form="coefficients")
    first = page.solve()
    null = np.linalg.svd(X.T)[2][-1]  # X'null = 0, so K null = 0
    page.variables["beta"].value = first.beta + null
    assert page.problem.objective.value == pytest.approx(first.value, rel=1e-9)
    assert np.abs(first.beta + null - Y * first.alpha).max() > 0.1


@pytest.mark.parametrize("kernel", [kq.Linear(), kq.RBF(gamma=0.5)])
def test_the_intercept_counts_its_own_row(kernel):
    found = kq.SoftMarginSVM(kernel=kernel).solve(X, Y, tol=1e-10)
    K, elbow = kernel(X), found.support.elbow
    terms = K[elbow] * (Y * found.alpha)
    np.testing.assert_allclose(Y[elbow] - terms.sum(axis=1), found.intercept, atol=1e-6)
    without = Y[elbow] - terms.sum(axis=1) + np.array([terms[k, i] for k, i in enumerate(elbow)])
    assert np.abs(without - found.intercept).max() > 1e-2


def test_the_convex_losses_lie_above_the_error():
    margins = np.linspace(-3, 3, 61)
    error = (margins < 0).astype(float)
    ones = np.ones(61)
    assert (kq.losses.Hinge().value(ones, margins) >= error).all()
    assert (kq.losses.Logistic().value(ones, margins) / np.log(2) >= error).all()
    assert not (kq.losses.Hinge().value(ones, margins) >= (margins >= 0)).all()


@pytest.mark.parametrize("lam", [0.1, 3.0])
def test_multipliers_of_note_002_are_lam_times_ours(lam):
    alpha, K = cp.Variable(len(Y)), X @ X.T
    beta = cp.multiply(Y, alpha)
    gain = cp.sum(alpha) - 0.5 / lam * cp.sum_squares(X.T @ beta)
    theirs = cp.Problem(cp.Maximize(gain), [alpha >= 0, alpha <= 1, Y @ alpha == 0])
    value = theirs.solve(solver="CLARABEL")
    C = kq.conventions.to_C(lam, "002 hinge")
    ours = kq.SoftMarginSVM(C=C).solve(X, Y)
    assert value == pytest.approx(lam * ours.value, rel=1e-6)
    np.testing.assert_allclose(K @ beta.value / lam, K @ ours.beta, atol=1e-4)
    np.testing.assert_allclose(X.T @ (Y * alpha.value) / lam, ours.weights, atol=1e-4)


def test_between_events_the_multipliers_are_linear_in_lam():
    kernel, lams = kq.RBF(gamma=0.5), np.array([0.5, 0.498, 0.496])
    found = [kq.SoftMarginSVM(C=1 / lam, kernel=kernel).solve(X, Y, tol=1e-12) for lam in lams]
    E, K = found[0].support.elbow, kernel(X)
    for other in found[1:]:  # no event lies between
        np.testing.assert_array_equal(other.support.elbow, E)
        np.testing.assert_array_equal(other.support.left, found[0].support.left)
    alpha = [lam * s.alpha for lam, s in zip(lams, found, strict=True)]
    alpha_0 = [lam * s.intercept for lam, s in zip(lams, found, strict=True)]
    for k in (1, 2):
        delta, delta_0 = alpha[0] - alpha[k], alpha_0[0] - alpha_0[k]
        system = (np.outer(Y, Y) * K)[np.ix_(E, E)] @ delta[E] + Y[E] * delta_0
        np.testing.assert_allclose(system, lams[0] - lams[k], atol=1e-9)  # (22)
        assert abs(Y[E] @ delta[E]) < 1e-9  # (23)
        f = lams[0] * Y[E] * (K[E] @ found[0].beta + found[0].intercept) - system
        np.testing.assert_allclose(f / lams[k], 1.0, atol=1e-8)  # (21)
    np.testing.assert_allclose(alpha[0] - alpha[1], alpha[1] - alpha[2], atol=1e-9)


def test_a_constraint_from_below_is_subtracted():
    x = cp.Variable(2, name="x")
    above = x >= np.array([1.0, -1.0])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [above])
    problem.solve(solver="CLARABEL")
    multiplier, h = above.dual_value, x.value - np.array([1.0, -1.0])
    assert (multiplier >= -1e-9).all()
    np.testing.assert_allclose(2 * x.value - multiplier, 0, atol=1e-6)
    assert abs(multiplier @ h) < 1e-6
    assert np.abs(2 * x.value + multiplier).max() > 1  # the note's sign is no condition


def test_slack_that_may_be_negative_has_no_optimum():
    page = kq.SoftMarginSVM().primal(X, Y)
    kept = [c for name, c in page.constraints.items() if name != "slack"]
    assert page.problem.solve(solver="CLARABEL") > 0
    loose = cp.Problem(page.problem.objective, kept)
    loose.solve(solver="CLARABEL")
    assert loose.status == cp.UNBOUNDED


def test_the_quadratic_form_is_the_double_sum():
    page = kq.SoftMarginSVM(kernel=kq.RBF(gamma=0.5)).dual(X[:2], [1, -1])
    alpha = page.variables["alpha"]
    alpha.value, y, K = np.array([0.3, 0.8]), [1, -1], kq.RBF(gamma=0.5)(X[:2])
    Q = np.array([[y[i] * y[j] * K[i, j] for j in range(2)] for i in range(2)])
    double = sum(alpha.value[i] * alpha.value[j] * Q[i, j] for i in range(2) for j in range(2))
    assert alpha.value @ Q @ alpha.value == pytest.approx(double, rel=1e-14)
    assert page.problem.objective.value == pytest.approx(1.1 - 0.5 * double, rel=1e-12)


def test_the_subgradient_of_pegasos_is_that_of_its_objective():
    lam, n = 0.1, len(Y)

    def objective(w):
        return 0.5 * lam * w @ w + kq.losses.Hinge().value(Y, X @ w).sum() / n

    w, step = np.array([0.4, -0.2, 0.3]), 1e-6
    acting = Y * (X @ w) < 1
    assert acting.sum() > (Y * (X @ w) < 0).sum()  # rows inside the margin act too
    gradient = lam * w - X[acting].T @ Y[acting] / n
    numeric = [(objective(w + step * e) - objective(w - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, numeric, atol=1e-8)
    low, high = kq.losses.Hinge().slopes(Y, X @ w)
    np.testing.assert_allclose(lam * w + X.T @ low / n, gradient, atol=1e-14)
    np.testing.assert_array_equal(low, high)  # no row sits on its margin


@pytest.mark.parametrize("note", ["004 (4)", "004 (7)"])
def test_a_dual_of_note_004_is_a_primal_in_coefficients(note):
    lam, K = 0.5, kq.RBF(gamma=0.5)(X)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(Y)))
    beta = cp.Variable(len(Y))
    f = K @ beta
    losses = {"004 (4)": cp.sum_squares(f - Y), "004 (7)": cp.sum(cp.logistic(-cp.multiply(Y, f)))}
    stated = 0.5 * lam * cp.sum_squares(root.T @ beta) + losses[note]
    value = cp.Problem(cp.Minimize(stated)).solve(solver="CLARABEL")
    loss = kq.losses.HalfSquared() if note == "004 (4)" else kq.losses.Logistic()
    C = kq.conventions.to_C(lam, note)
    risk = kq.RegularizedRisk(kq.Gram.of(kq.RBF(gamma=0.5), X), Y, C, loss, "none")
    ours = risk.dual().solve(solver="CLARABEL")
    assert value == pytest.approx(kq.conventions.value_in(ours.value, note, C=C), rel=1e-6)
