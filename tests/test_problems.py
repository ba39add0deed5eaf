"""The library of reference problems: each optimum is met, and what `source` claims is executed."""

from fractions import Fraction
from itertools import starmap

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC, LinearSVC

from kernelqp.errors import Status
from kernelqp.problem_file import load_problem, problem_names
from kernelqp.problem_file.expected import Check, compare_with
from kernelqp.solution import Infeasible

SLOW = {("digits", "primal"), ("digits_eight", "primal")}
CASES = [
    pytest.param(name, form, marks=[pytest.mark.slow] if (name, form) in SLOW else [])
    for name in problem_names()
    for form in ("dual", "primal")
]


@pytest.mark.parametrize("name", problem_names())
def test_every_problem_says_what_it_shows_and_how_its_optimum_is_known(name):
    problem = load_problem(name)
    assert problem.title != name
    assert len(problem.source) > 80
    assert "value" in problem.expected or problem.expected["status"] != "CERTIFIED"


@pytest.mark.parametrize(("name", "form"), CASES)
def test_every_form_is_proved_and_as_expected(name, form):
    problem = load_problem(name)
    result = problem.solve(form=form)
    missed = {key: check for key, check in problem.check(result).items() if not check.ok}
    assert missed == {}
    assert isinstance(result, Infeasible) or result.status is Status.CERTIFIED


# --- double precision: LIBSVM's or LIBLINEAR's sets, and one linear system ------------------------


@pytest.mark.parametrize(
    ("name", "bounded", "free", "digits"),
    [("breast_cancer", 62, 57, 1e-13), ("digits", 253, 241, 1e-13), ("moons", 5, 11, 1e-12)],
)
def test_libsvm_and_one_linear_system_give_the_same_optimum(name, bounded, free, digits):
    problem = load_problem(name)
    y, C = signs_of(problem), problem.method.C
    K = problem.method.kernel(problem.X)
    beta, b, sets = elbow_of_libsvm(K, y, C)
    f = K @ beta + b
    norm2 = beta @ K @ beta
    primal = 0.5 * norm2 + C * np.maximum(0.0, 1.0 - y * f).sum()
    dual = y @ beta - 0.5 * norm2
    assert sets == (bounded, free)
    assert primal == pytest.approx(problem.expected["value"], rel=digits)
    assert dual == pytest.approx(problem.expected["value"], rel=digits)
    assert b == pytest.approx(problem.expected["intercept"], rel=1e-9)
    assert np.abs(beta.sum()) < 1e-12 * C
    assert (y * beta >= 0).all()
    assert (y * beta <= C).all()
    assert problem.expected["support_vectors"] == sum(sets)


def signs_of(problem):
    """Return the labels as -1 and +1."""
    return np.where(problem.y == problem.y.max(), 1.0, -1.0)


def elbow_of_libsvm(K, y, C):
    """Return beta and b on LIBSVM's sets, the free ones by K_EE beta_E + b = y_E - ..."""
    found = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[found.support_] = np.abs(found.dual_coef_[0]) / C
    at_bound, free = alpha > 1 - 1e-6, (alpha > 1e-7) & (alpha <= 1 - 1e-6)
    beta, ones = np.where(at_bound, C * y, 0.0), np.ones((free.sum(), 1))
    system = np.block([[K[np.ix_(free, free)], ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.r_[y[free] - K[free] @ beta, -beta.sum()])
    beta[free] = solved[:-1]
    return beta, solved[-1], (at_bound.sum(), free.sum())


def test_liblinear_and_one_linear_system_give_the_optimum_of_linear_svc_hinge():
    problem = load_problem("linear_svc_hinge")
    y, Z = signs_of(problem), np.c_[problem.X, np.ones(problem.n)]
    found = LinearSVC(loss="hinge", tol=1e-10, max_iter=10**7).fit(problem.X, y)
    z = y * (Z @ np.r_[found.coef_[0], found.intercept_])
    inside, on = z < 1 - 1e-4, np.abs(z - 1) <= 1e-4
    beta = np.where(inside, y, 0.0)
    beta[on] = np.linalg.solve(Z[on] @ Z[on].T, y[on] - Z[on] @ (Z.T @ beta))
    v = Z.T @ beta
    assert (y * beta >= 0).all()
    assert (y * beta <= 1).all()
    assert inside.sum() + on.sum() == problem.expected["support_vectors"]
    dual = np.abs(beta).sum() - 0.5 * v @ v
    assert 0.5 * v @ v + np.maximum(0.0, 1 - y * (Z @ v)).sum() == pytest.approx(dual, rel=1e-13)
    assert dual == pytest.approx(problem.expected["value"], rel=1e-12)
    assert v[:4] == pytest.approx(problem.expected["weights"], abs=1e-8)
    assert v[4] == pytest.approx(problem.expected["intercept"], abs=1e-8)


# --- exact arithmetic: what `source` calls a proof ------------------------------------------------


def exact_rows(name):
    """Return X as fractions: iris in tenths, pixels in sixteenths, other floats as they are."""
    unit = {"iris": 10, "digits": 16}.get(name.split("_")[0])
    X = load_problem(name).X.tolist()
    if unit == 16:
        return [[Fraction(int(v), 16) for v in row] for row in X]
    return [[Fraction(round(unit * v), unit) if unit else Fraction(v) for v in row] for row in X]


def solve_exactly(rows, right):
    """Return the one x with rows x = right, by elimination over the fractions."""
    table, done = [[*row, v] for row, v in zip(rows, right, strict=True)], 0
    for j in range(len(rows[0])):
        pivot = next(i for i in range(done, len(table)) if table[i][j])
        table[done], table[pivot] = table[pivot], table[done]
        head = [v / table[done][j] for v in table[done]]
        table = [
            head if i == done else [a - row[j] * h for a, h in zip(row, head, strict=True)]
            for i, row in enumerate(table)
        ]
        done += 1
    assert all(row[-1] == 0 for row in table[done:])  # what is left over does not contradict
    return [row[-1] for row in table[:done]]


def dot(a, b):
    """Return the sum of products."""
    return sum(starmap(lambda p, q: p * q, zip(a, b, strict=True)))


def exact_machine(X, y, free, bounded=(), C=0):
    """Return alpha, w, b with the bounded rows at C and the free ones on the margin."""
    fixed = [sum(y[i] * C * X[i][j] for i in bounded) for j in range(len(X[0]))]
    rows = [[dot(X[i], X[j]) for j in free] + [1] for i in free]
    right = [y[i] - dot(fixed, X[i]) for i in free]
    *beta, b = solve_exactly(
        [*rows, [1] * len(free) + [0]], [*right, -sum(y[i] * C for i in bounded)]
    )
    w = [v + sum(c * X[i][j] for c, i in zip(beta, free, strict=True)) for j, v in enumerate(fixed)]
    return [c * y[i] for c, i in zip(beta, free, strict=True)], w, b


@pytest.mark.parametrize(
    "name", ["wine_hard", "digits_hard", "breast_cancer_hard", "iris_hard", "iris_virginica"]
)
def test_the_rows_on_a_hard_margin_prove_the_optimum_in_exact_arithmetic(name):
    problem = load_problem(name)
    X, y = exact_rows(name), [int(v) for v in signs_of(problem)]
    support = problem.expected["support_vectors"]
    alpha, w, b = exact_machine(X, y, support)
    margins = [s * (dot(w, x) + b) for s, x in zip(y, X, strict=True)]
    assert min(alpha) > 0
    assert min(margins) == 1
    assert [i for i, margin in enumerate(margins) if margin == 1] == support
    assert dot(w, w) == sum(alpha)
    matches(problem, value=float(sum(alpha) / 2), intercept=float(b), weights=[float(v) for v in w])
    matches(problem, geometric_margin=float(dot(w, w)) ** -0.5)
    if name == "breast_cancer_hard":
        assert 63_036 < max(alpha) < 63_037


def matches(problem, **got):
    """Assert that what the file gives is what came, to the figures that it prints."""
    for key in set(got) & set(problem.expected):
        assert got[key] == pytest.approx(problem.expected[key], rel=2e-10, abs=1e-8), key


def test_the_sets_of_iris_soft_prove_the_optimum_in_exact_arithmetic():
    problem = load_problem("iris_soft")
    X, y = exact_rows("iris_soft"), [int(v) for v in signs_of(problem)]
    found = SVC(kernel="linear", tol=1e-9).fit(problem.X, y)
    sizes = np.abs(found.dual_coef_[0])
    bounded, free = found.support_[sizes > 1 - 1e-6], found.support_[sizes <= 1 - 1e-6]
    alpha, w, b = exact_machine(X, y, free, bounded, C=1)
    slack = [1 - s * (dot(w, x) + b) for s, x in zip(y, X, strict=True)]
    assert all(0 < a < 1 for a in alpha)
    assert all(slack[i] > 0 for i in bounded)
    assert all(slack[i] < 0 for i in range(problem.n) if i not in found.support_)
    value = dot(w, w) / 2 + sum(slack[i] for i in bounded)
    assert value == sum(alpha) + len(bounded) - dot(w, w) / 2
    matches(problem, value=float(value), weights=[float(v) for v in w], intercept=float(b))
    assert problem.expected["support_vectors"] == len(free) + len(bounded)


@pytest.mark.parametrize("name", ["iris_not_separable", "digits_eight"])
def test_equal_means_of_few_rows_prove_that_no_plane_separates(name):
    problem = load_problem(name)
    y = signs_of(problem)
    meet = np.vstack([problem.X.T * y, y > 0, y < 0])
    found = linprog(np.zeros(problem.n), A_eq=meet, b_eq=np.r_[np.zeros(len(meet) - 2), 1, 1])
    used = np.flatnonzero(found.x > 1e-12)
    X = exact_rows(name)
    columns = [[int(y[i]) * v for v in X[i]] + [int(y[i] > 0), int(y[i] < 0)] for i in used]
    weights = solve_exactly(
        list(map(list, zip(*columns, strict=True))), [0] * (len(meet) - 2) + [1, 1]
    )
    assert min(weights) > 0
    assert len(used) <= len(meet)


@pytest.mark.parametrize(
    ("name", "multipliers"),
    [("xor_not_separable", [0.5] * 4), ("one_ray", [3, 1])],
)
def test_the_multipliers_of_the_source_prove_that_no_plane_separates(name, multipliers):
    problem = load_problem(name)
    signed = signs_of(problem) * multipliers
    assert (signed @ problem.X).tolist() == [0] * problem.X.shape[1]
    assert problem.method.intercept == "none" or signed.sum() == 0
    proof = problem.solve().proof.weights
    assert proof / proof[0] == pytest.approx(np.abs(signed) / abs(signed[0]), abs=1e-9)


def test_the_iris_optimum_is_a_fraction_in_exact_arithmetic():
    problem = load_problem("iris_hard")
    tenths = [[Fraction(round(10 * v), 10) for v in row] for row in problem.X.tolist()]
    signs = np.where(problem.y == problem.y.max(), 1, -1).tolist()
    rows, alpha = [23, 41, 98], [Fraction(a, 10427) for a in (7000, 800, 7800)]
    w, b = [Fraction(v, 10427) for v in (480, -5440, 10460, 4840)], Fraction(-15125, 10427)
    terms = [(a * signs[i], tenths[i]) for a, i in zip(alpha, rows, strict=True)]
    assert [sum(c * x[j] for c, x in terms) for j in range(4)] == w
    assert sum(c for c, _ in terms) == 0
    margins = [
        s * (sum(p * q for p, q in zip(w, x, strict=True)) + b)
        for s, x in zip(signs, tenths, strict=True)
    ]
    assert [i for i, margin in enumerate(margins) if margin == 1] == rows
    assert min(margins) == 1
    assert sum(v * v for v in w) == sum(alpha)
    assert float(sum(alpha) / 2) == problem.expected["value"]


def test_newton_gives_the_optimum_of_linear_svc():
    problem = load_problem("linear_svc")
    y = np.where(problem.y == problem.y.max(), 1.0, -1.0)
    Z, w = np.c_[problem.X, np.ones(problem.n)], np.zeros(5)
    for _ in range(11):
        inside = y * (Z @ w) < 1
        slope = w - 2 * Z[inside].T @ (y - Z @ w)[inside]
        w = w - np.linalg.solve(np.eye(5) + 2 * Z[inside].T @ Z[inside], slope)
    slack = np.maximum(0.0, 1 - y * (Z @ w))
    alpha = 2 * slack
    v = Z.T @ (y * alpha)
    primal, dual = 0.5 * w @ w + slack @ slack, alpha.sum() - 0.5 * v @ v - alpha @ alpha / 4
    assert primal == pytest.approx(problem.expected["value"], rel=1e-11)
    assert dual == pytest.approx(primal, rel=1e-13)
    assert w[:4] == pytest.approx(problem.expected["weights"], abs=1e-8)
    assert w[:4] == pytest.approx([0.141, 0.526, 0.679, 0.493], abs=1e-3)  # as printed by them
    assert w[4] == pytest.approx(problem.expected["intercept"], abs=1e-8)


# --- the comparison with [expected] ---------------------------------------------------------------

RIGHT = {
    "value": 1.0,
    "status": "certified",
    "alpha": [0.5, 0.5, 1.0, 0.0],
    "beta": [-0.5, -0.5, 1.0, 0.0],
    "weights": [1.0, -1.0],
    "intercept": -1.0,
    "intercept_interval": [-1.0, -1.0],
    "geometric_margin": 0.7071067811865476,
    "support_vectors": [2, 0, 1],
    "n_support": 3,
}
WRONG = {
    "value": 1.00001,
    "status": "INFEASIBLE",
    "alpha": [0.5, 0.5, 1.0, 0.0001],
    "beta": [-0.5, -0.5, 1.0, 0.0001],
    "weights": [1.0, -1.0, 0.0],
    "intercept": -0.9999,
    "intercept_interval": [-1.0, -0.9999],
    "geometric_margin": 0.7072,
    "support_vectors": [0, 1, 3],
    "n_support": 4,
    "slack": [0.0, 0.0, 0.0, 0.0],  # a hard margin has none
}


@pytest.fixture
def check(tmp_path):
    """Check the four points against one expectation."""

    def run(key, value, extra="", kernel="linear"):
        path = tmp_path / "p.toml"
        path.write_text(
            "[data]\nX = [[0, 0], [2, 2], [2, 0], [3, 0]]\ny = [-1, -1, 1, 1]\n"
            f'[method]\nname = "HardMarginSVM"\nkernel = "{kernel}"\n'
            f"[expected]\n{extra}\n{key} = {value!r}\n"
        )
        problem = load_problem(path)
        checks = problem.check(problem.solve())
        assert list(checks) == [key]
        return checks[key]

    return run


@pytest.mark.parametrize("key", RIGHT)
def test_what_is_right_is_ok(check, key):
    found = check(key, RIGHT[key])
    assert isinstance(found, Check)
    assert found.ok


@pytest.mark.parametrize("key", WRONG)
def test_what_is_wrong_is_not_ok(check, key):
    found = check(key, WRONG[key])
    assert not found.ok
    assert found.want == WRONG[key]


def test_a_wider_tolerance_is_the_files_own(check):
    assert check("value", 1.00001, extra="tolerance = 1e-4").ok
    assert check("intercept", -0.99995, extra="tolerance = 1e-4").ok


@pytest.mark.parametrize("key", ["value", "alpha", "intercept_interval", "support_vectors"])
def test_an_infeasible_result_meets_no_expectation_of_a_point(key):
    infeasible = load_problem("xor_not_separable")
    solvable = load_problem("xor")
    result = infeasible.solve()
    expected = {"value": 0.25, "intercept_interval": [0, 0]} | dict(solvable.expected)
    assert compare_with({key: expected[key]}, result)[key].got is None
    assert not compare_with({key: expected[key]}, result)[key].ok


def test_an_attribute_that_a_form_does_not_have_is_not_ok(check):
    assert check("weights", [1.0], kernel="rbf").got is None
