"""The bound of a constrained page says what it proves, and no more."""

import math

import pytest

from kernelqp.lagrange_bound import LagrangianBound


@pytest.mark.parametrize(
    ("primal", "feasible", "word"),
    [
        (96.0 - 1e-8, True, "certified"),  # feasible to tol: P below D by as much
        (96.0 + 1e-8, True, "certified"),
        (96.0 + 1e-8, False, "not certified"),
        (97.0, True, "not certified"),
        (math.inf, True, "not certified"),
    ],
)
def test_the_answer_is_not_called_an_upper_bound(primal, feasible, word):
    """Its constraints hold to tol only; the Lagrangian bound is the one that is proved."""
    bound = LagrangianBound.of(primal, 96.0, 1e-6, feasible=feasible)
    said = str(bound)
    assert said.startswith(f"{word}: optimum >= 96 by Lagrange, {primal:.10g} at the answer")
    assert bound.certified == (word == "certified")
    assert "optimum <=" not in said
    assert ("a constraint is violated" in said) == (not feasible)
