"""Problem files of the other methods: each optimum by hand, and by a cone program stated here."""

import math
import tomllib
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from kernelqp.problem_file import library_folder
from kernelqp.problem_file.data import read_data
from kernelqp.problem_file.table import Table

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


class Stated:
    """A problem file as f = φ(x)'w, stated in cvxpy from its formula and from nothing of ours."""

    def __init__(self, name):
        path = library_folder() / f"{name}.toml"
        self.file = tomllib.loads(path.read_text())
        self.method = dict(self.file["method"])
        self.expected = self.file["expected"]
        rows = read_data(Table(str(path), "[data]", self.file["data"]), path.parent)
        self.X, self.y = rows.X, np.asarray(rows.y, dtype=float)
        self.s = np.ones(len(self.y)) if rows.sample_weight is None else rows.sample_weight
        self.phi = self.features(self.method.get("kernel", "linear"))
        self.w, self.b = cp.Variable(self.phi.shape[1]), cp.Variable()
        self.f = self.phi @ self.w
        self.norm2 = cp.sum_squares(self.w)

    def features(self, kernel):
        if kernel == "linear":
            return self.X
        assert kernel["name"] == "rbf"
        squares = ((self.X[:, None] - self.X[None]) ** 2).sum(axis=2)
        sizes, vectors = np.linalg.eigh(np.exp(-kernel["gamma"] * squares))
        return vectors * np.sqrt(np.maximum(sizes, 0.0))

    @property
    def signs(self):
        return np.where(self.y == self.y.max(), 1.0, -1.0)

    def program(self):
        """Return the primal, after the formula of the method."""
        goal, constraints = getattr(self, self.method["name"])()
        return cp.Problem(cp.Minimize(goal), constraints)

    def solve(self):
        problem = self.program()
        problem.solve(solver="CLARABEL", **TIGHT)
        assert problem.status == cp.OPTIMAL
        return float(problem.value)

    # --- the formulas ---------------------------------------------------------------------------

    def SupportVectorRegression(self):
        r, eps = self.y - self.f - self.b, self.method.get("epsilon", 0.1)
        losses = {
            "epsilon_insensitive": lambda: cp.pos(cp.abs(r) - eps),
            "squared_epsilon_insensitive": lambda: cp.square(cp.pos(cp.abs(r) - eps)),
            "absolute": lambda: cp.abs(r),
            "huber": lambda: 0.5 * cp.huber(r, self.method["delta"]),
        }
        loss = losses[self.method.get("loss", "epsilon_insensitive")]()
        return 0.5 * self.norm2 + self.method["C"] * (self.s @ loss), []

    def QuantileRegression(self):
        r, tau = self.y - self.f - self.b, self.method["tau"]
        loss = self.s @ cp.maximum(tau * r, (tau - 1) * r)
        return 0.5 * self.norm2 + self.method["C"] * loss, []

    def LogisticRegression(self):
        loss = self.s @ cp.logistic(-cp.multiply(self.signs, self.f + self.b))
        return 0.5 * self.norm2 + self.method["C"] * loss, []

    def NuSVM(self):
        rho, share = cp.Variable(), self.s / self.s.sum()
        slack = cp.pos(rho - cp.multiply(self.signs, self.f + self.b))
        return 0.5 * self.norm2 - self.method["nu"] * rho + share @ slack, []

    def NuSVR(self):
        eps, share = cp.Variable(), self.s / self.s.sum()
        loss = share @ cp.pos(cp.abs(self.y - self.f - self.b) - eps)
        return 0.5 * self.norm2 + self.method["C"] * (self.method["nu"] * eps + loss), [eps >= 0]

    def OneClassSVM(self):
        rho, share = cp.Variable(), self.s / (self.method["nu"] * self.s.sum())
        return 0.5 * self.norm2 - rho + share @ cp.pos(rho - self.f), []

    def Pegasos(self):
        hinge = cp.pos(1 - cp.multiply(self.signs, self.f))
        return 0.5 * self.method["lam"] * self.norm2 + self.s @ hinge / self.s.sum(), []

    def Perceptron(self):
        return 0.5 * self.norm2, [cp.multiply(self.signs, self.f) >= 1]


BY_HAND = {
    "svr_four_points": Fraction(22, 45),
    "svr_no_support": Fraction(0),
    "svr_constant": Fraction(0),
    "svr_squared": Fraction(2, 5),
    "svr_huber": Fraction(9, 8),
    "quantile_five": Fraction(18, 5),
    "quantile_crossing": Fraction(129032, 100),
    "nu_four_points": Fraction(-1, 32),
    "nu_at_its_limit": Fraction(-1, 18),
    "nu_svr_four_points": Fraction(38, 45),
    "nu_svr_constant": Fraction(0),
    "one_class_three_points": Fraction(-8, 9),
    "one_class_all": Fraction(-2),
    "pegasos_two_points": Fraction(1, 4),
    "pegasos_opposite_labels": Fraction(1),
    "perceptron_corner": Fraction(1),
}
BY_FORMULA = {  # with exp and log, checked below
    "logistic_two_points": 1.0509141452,
    "logistic_one_place": 2 * math.log(3 / 2) + math.log(3),
}
BY_CONE_PROGRAM = (
    *("svr_diabetes", "quantile_diabetes", "logistic_iris", "nu_iris", "nu_svr_diabetes"),
    *("one_class_iris", "pegasos_wine", "perceptron_iris"),
)
INFEASIBLE = ("perceptron_one_ray",)
PROVED = (*BY_HAND, *BY_FORMULA, *BY_CONE_PROGRAM, *INFEASIBLE)


@pytest.mark.parametrize("name", BY_HAND)
def test_the_value_of_the_file_is_that_by_hand(name):
    assert Stated(name).expected["value"] == pytest.approx(float(BY_HAND[name]), rel=1e-14)


@pytest.mark.parametrize("name", [*BY_HAND, *BY_FORMULA, *BY_CONE_PROGRAM])
def test_a_cone_program_stated_here_has_the_value_of_the_file(name):
    stated = Stated(name)
    size = max(abs(stated.expected["value"]), 1e-2)
    assert stated.solve() == pytest.approx(stated.expected["value"], abs=1e-8 * size)
    if "weights" in stated.expected:
        reach = 1e-4 * max(1.0, np.abs(stated.w.value).max())
        assert stated.w.value == pytest.approx(stated.expected["weights"], abs=reach)


@pytest.mark.parametrize("name", INFEASIBLE)
def test_a_cone_program_stated_here_is_infeasible(name):
    problem = Stated(name).program()
    problem.solve(solver="CLARABEL")
    assert problem.status == cp.INFEASIBLE


@pytest.mark.parametrize("name", ["svr_no_support", "svr_constant", "svr_huber", "quantile_five"])
def test_the_ends_of_an_intercept_interval_are_optimal_and_nothing_beyond_them(name):
    stated = Stated(name)
    low, high = stated.expected["intercept_interval"]
    best = stated.expected["value"]
    for b, optimal in ((low, True), (high, True), (low - 0.01, False), (high + 0.01, False)):
        problem = stated.program()
        fixed = cp.Problem(problem.objective, [*problem.constraints, stated.b == b])
        value = fixed.solve(solver="CLARABEL", **TIGHT)
        assert bool(value <= best + 1e-6) is optimal


def test_the_logistic_weight_is_the_root_of_its_equation():
    w = Stated("logistic_two_points").expected["weights"][0]
    assert w == pytest.approx(2 / (1 + math.exp(w)), rel=1e-9)
    value = 0.5 * w * w + 2 * math.log1p(math.exp(-w))
    assert value == pytest.approx(Stated("logistic_two_points").expected["value"], rel=1e-12)


def test_newton_gives_the_logistic_optimum_of_iris():
    stated = Stated("logistic_iris")
    Z, y, C = np.c_[stated.X, np.ones(len(stated.y))], stated.signs, stated.method["C"]
    ridge, v = np.diag([1.0] * stated.X.shape[1] + [0.0]), np.zeros(stated.X.shape[1] + 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(y * (Z @ v)))
        slope = ridge @ v - C * Z.T @ (y * p)
        v = v - np.linalg.solve(ridge + C * (Z.T * (p * (1 - p))) @ Z, slope)
    value = 0.5 * v @ ridge @ v + C * np.log1p(np.exp(-y * (Z @ v))).sum()
    assert value == pytest.approx(stated.expected["value"], rel=1e-12)
    assert v[:-1] == pytest.approx(stated.expected["weights"], abs=1e-8)
    assert v[-1] == pytest.approx(stated.expected["intercept"], abs=1e-8)
