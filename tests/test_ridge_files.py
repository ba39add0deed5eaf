"""Problem files of ridge regression: what they expect, and what they lack."""

import pytest

from kernelqp.errors import InputError
from kernelqp.problem_file import load_problem

RIDGE = """
[data]
X = [[1, 0], [0, 1]]
y = [3.0, 4.0]
[method]
name = "ConstrainedRidge"
intercept = "none"
radius = 2.5
[expected]
value = 6.25
weights = [1.5, 2.0]
residuals = [1.5, 2.0]
multiplier = 5.0
lam = 1.0
"""


def test_a_ridge_in_a_ball_meets_what_is_expected(tmp_path):
    path = tmp_path / "ridge.toml"
    path.write_text(RIDGE)
    problem = load_problem(path)
    found = problem.check(problem.solve())
    assert set(found) == {"value", "weights", "residuals", "multiplier", "lam"}
    assert all(check.ok for check in found.values())


def test_a_parameter_that_is_missing_is_named(tmp_path):
    path = tmp_path / "ridge.toml"
    path.write_text(RIDGE.replace("radius = 2.5\n", ""))
    with pytest.raises(InputError, match="ConstrainedRidge needs radius"):
        load_problem(path)
