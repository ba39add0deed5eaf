"""The library of reference problems: each optimum is met, and what `source` claims is executed."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelqp.errors import Status
from kernelqp.problem_file import load_problem, problem_names
from kernelqp.problem_file.expected import Check, compare_with
from kernelqp.solution import Infeasible

SLOW = {("digits", "primal")}
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


@pytest.mark.parametrize(
    ("name", "bounded", "free"), [("breast_cancer", 62, 57), ("digits", 253, 241)]
)
def test_libsvm_and_one_linear_system_give_the_same_optimum(name, bounded, free):
    problem = load_problem(name)
    y = np.where(problem.y == problem.y.max(), 1.0, -1.0)
    K = problem.method.kernel(problem.X)
    beta, b, sets = elbow_of_libsvm(K, y)
    f = K @ beta + b
    norm2 = beta @ K @ beta
    primal = 0.5 * norm2 + np.maximum(0.0, 1.0 - y * f).sum()
    dual = y @ beta - 0.5 * norm2
    assert sets == (bounded, free)
    assert primal == pytest.approx(problem.expected["value"], rel=1e-13)
    assert dual == pytest.approx(problem.expected["value"], rel=1e-13)
    assert np.abs(beta.sum()) < 1e-12
    assert (y * beta >= 0).all()
    assert (y * beta <= 1).all()
    assert problem.expected["support_vectors"] == sum(sets)


def elbow_of_libsvm(K, y):
    """Return beta and b on LIBSVM's sets at C = 1, the free ones by K_EE beta_E + b = y_E - ..."""
    found = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[found.support_] = np.abs(found.dual_coef_[0])
    at_bound, free = alpha > 1 - 1e-6, (alpha > 1e-7) & (alpha <= 1 - 1e-6)
    beta, ones = np.where(at_bound, y, 0.0), np.ones((free.sum(), 1))
    system = np.block([[K[np.ix_(free, free)], ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.r_[y[free] - K[free] @ beta, -beta.sum()])
    beta[free] = solved[:-1]
    return beta, solved[-1], (at_bound.sum(), free.sum())


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
