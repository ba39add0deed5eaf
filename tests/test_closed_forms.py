"""The closed forms of the library, to fifty digits."""

from decimal import Decimal, localcontext
from itertools import starmap

import numpy as np
import pytest

from kernelqp.kernels import RBF, Linear, Polynomial
from kernelqp.problem_file import load_problem, problem_names
from tests import test_other_problem_files, test_ridge_files


def dot(a, b):
    """Return the sum of products."""
    return sum(starmap(lambda p, q: p * q, zip(a, b, strict=True)))


# --- closed forms, to fifty digits ----------------------------------------------------------------


def parts(*fractions):
    """Return fractions written "p/q" as decimals."""
    return [Decimal(p) / Decimal(q) for p, q in (f"{v}/1".split("/")[:2] for v in fractions)]


with localcontext(prec=60):
    K4 = 1 / (1 - Decimal(-1).exp()) ** 2
    BIG = Decimal(10) ** 6 / 3 + Decimal(2) / 9
    # alpha and b of the derivation in `source`
    CLOSED = {
        "constant_features": (parts("4/3", "4/3", "4/3", 2, 2), 1),
        "duplicates": (parts("1/15", "1/15", "1/15", "1/10", "1/10"), Decimal("0.6")),
        "far_from_origin": (parts("1/2", "1/2", 1, 0), -1_000_001),
        "four_points": (parts("1/2", "1/2", 1, 0), -1),
        "huge_C": (parts(0, "1/2", "1/2", 0), -2),
        "huge_C_overlap": ([BIG, Decimal(10) ** 6, Decimal(10) ** 6, BIG], -1),
        "integer_ties": (parts(*["2/3"] * 6), -1),
        "no_free_vectors": (parts(*["1/200"] * 4), Decimal("-0.95")),
        "no_intercept": (parts("1/2", "3/2"), 0),
        "opposite_labels": (parts("1/2", 1, 1, "1/2"), 0),
        "penalized_hard": (parts("7/2", "3/2"), -2),
        "power_1_5": (parts("3/8", "3/8"), 0),
        "precomputed": (parts("4/3", "2/3", "2/3"), Decimal(-1) / 3),
        "six_points": (parts(0, "1/4", 0, "1/4", 0, 0), 0),
        "squared_hinge": (parts("2/5", "2/5"), 0),
        "tiny_C": (parts(0, "1/10000000", "1/10000000"), Decimal("0.9999996")),
        "two_gaussian": (parts(1, 1), 0),
        "weights": (parts("1/5", "1/5", 0), Decimal("0.6")),
        "xor": (parts(*["1/8"] * 4), 0),
        "xor_gaussian": ([K4] * 4, 0),
        "xor_plain": (parts(*["1/8"] * 4), 0),
        "xor_soft": (parts(*[10] * 4), 0),
    }
TINY = Decimal("1e-45")


class Exact:
    """A small problem in decimals: its two objectives, written from the textbook."""

    def __init__(self, problem):
        method = problem.method
        self.y = [Decimal(1) if v == max(problem.y) else Decimal(-1) for v in problem.y]
        self.X = [[Decimal(repr(v)) for v in row] for row in problem.X.tolist()]
        self.K = [[self.kernel(method.kernel, x, z) for z in self.X] for x in self.X]
        if not isinstance(method.kernel, Linear | Polynomial | RBF):
            self.K = self.X
        self.intercept = method.intercept
        self.power = getattr(method, "slack_power", None)
        rows = range(problem.n)
        weights = [1] * problem.n if problem.sample_weight is None else problem.sample_weight
        classes = getattr(method, "class_weight", None) or {}
        factors = [weights[i] * classes.get(problem.y[i], 1) for i in rows]
        price = Decimal(repr(getattr(method, "C", 1.0)))
        self.costs = [price * Decimal(float(v)) for v in factors]

    @staticmethod
    def kernel(kernel, x, z):
        if isinstance(kernel, Polynomial):
            return (Decimal(kernel.gamma) * dot(x, z) + Decimal(kernel.constant)) ** kernel.degree
        if isinstance(kernel, RBF):
            return (-Decimal(kernel.gamma) * sum((p - q) ** 2 for p, q in zip(x, z))).exp()  # noqa: B905
        return dot(x, z)

    def norm2(self, alpha):
        beta = list(starmap(lambda a, s: a * s, zip(alpha, self.y, strict=True)))
        norm2 = dot(beta, [dot(row, beta) for row in self.K])
        return norm2 + sum(beta) ** 2 if self.intercept == "penalized" else norm2

    def slack(self, alpha, b):
        beta = list(starmap(lambda a, s: a * s, zip(alpha, self.y, strict=True)))
        f = [dot(row, beta) + b for row in self.K]
        return [max(Decimal(0), 1 - s * v) for s, v in zip(self.y, f, strict=True)]

    def primal(self, alpha, b):
        slack = self.slack(alpha, b)
        if self.power is None:
            return self.norm2(alpha) / 2 if max(slack) < TINY else Decimal("inf")
        q = Decimal(self.power)
        return self.norm2(alpha) / 2 + dot(self.costs, [v**q if v else v for v in slack])

    def dual(self, alpha):
        """Return the dual value; alpha must be feasible."""
        assert min(alpha) >= 0
        assert self.intercept != "free" or abs(dot(alpha, self.y)) < TINY
        value = sum(alpha) - self.norm2(alpha) / 2
        if self.power is None:
            return value
        if self.power == 1:
            assert all(a <= c for a, c in zip(alpha, self.costs, strict=True))
            return value
        q = Decimal(self.power)
        steep = [(a / (c * q)) ** (q / (q - 1)) for a, c in zip(alpha, self.costs, strict=True)]
        return value - (q - 1) * dot(self.costs, steep)


def test_every_problem_has_its_optimum_proved_here():
    others = "breast_cancer digits moons linear_svc linear_svc_hinge iris_soft wine_hard "
    others += "digits_hard breast_cancer_hard iris_hard iris_virginica iris_not_separable "
    others += "digits_eight xor_not_separable one_ray"
    proved = {
        *others.split(),
        *CLOSED,
        *test_ridge_files.PROVED,
        *test_other_problem_files.PROVED,
    }
    assert proved == set(problem_names())


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_form_has_equal_primal_and_dual_values(name):
    problem, (alpha, b) = load_problem(name), CLOSED[name]
    with localcontext(prec=60):
        exact = Exact(problem)
        value = exact.dual(alpha)
        assert abs(exact.primal(alpha, b) - value) <= TINY * abs(value)
        assert float(value) == pytest.approx(problem.expected["value"], rel=1e-14)
        if problem.method.intercept == "penalized":
            assert b == dot(alpha, exact.y)


@pytest.mark.parametrize("name", CLOSED)
def test_what_is_expected_of_the_point_is_the_closed_form(name):
    problem, (alpha, b) = load_problem(name), CLOSED[name]
    with localcontext(prec=60):
        exact = Exact(problem)
        beta = [a * s for a, s in zip(alpha, exact.y, strict=True)]
        got = {"alpha": alpha, "beta": beta, "slack": exact.slack(alpha, b), "intercept": b}
        got["weights"] = [dot(beta, column) for column in zip(*exact.X, strict=True)]
        got["geometric_margin"] = 1 / (exact.norm2(alpha).sqrt() or TINY)
        carries = [i for i, a in enumerate(alpha) if a > 0]
        got |= {"support_vectors": carries, "n_support": len(carries)}
        got = {key: np.array(value, dtype=float).tolist() for key, value in got.items()}
    for key in set(got) & set(problem.expected):
        assert got[key] == pytest.approx(problem.expected[key], rel=1e-14, abs=1e-15), key


@pytest.mark.parametrize(
    "name", [name for name in CLOSED if "intercept_interval" in load_problem(name).expected]
)
def test_the_ends_of_an_intercept_interval_are_optimal_and_nothing_beyond_them(name):
    problem, (alpha, b) = load_problem(name), CLOSED[name]
    with localcontext(prec=60):
        exact, step = Exact(problem), Decimal("1e-12")
        best = exact.dual(alpha)
        for end, out in zip(problem.expected["intercept_interval"], (-step, step), strict=True):
            at = b if end == float(b) else Decimal(repr(end))
            assert float(exact.primal(alpha, at)) == pytest.approx(float(best), rel=1e-15)
            assert exact.primal(alpha, at + out) > best * (1 + Decimal("1e-13"))


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("name", CLOSED)
def test_the_default_solver_finds_the_point_and_not_only_the_value(name, form):
    problem, (alpha, b) = load_problem(name), CLOSED[name]
    found = problem.solve(form=form)
    with localcontext(prec=60):
        exact = Exact(problem)
        beta = [a * s for a, s in zip(alpha, exact.y, strict=True)]
        f = np.array([float(dot(row, beta)) for row in exact.K])
    shown = found.decision_function(problem.X) - found.intercept
    if problem.method.intercept == "penalized":
        shown = shown + found.intercept - float(b)
    assert shown == pytest.approx(f, rel=1e-6, abs=1e-6 * np.abs(f).max() + 1e-12)


def test_weights_are_the_duplicates():
    weights, duplicates = (load_problem(name).solve() for name in ("weights", "duplicates"))
    assert weights.value == pytest.approx(duplicates.value, rel=1e-9)
    assert weights.alpha[:2] == pytest.approx(
        [duplicates.alpha[:3].sum(), duplicates.alpha[3:].sum()], rel=1e-6
    )
