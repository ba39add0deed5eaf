"""Parameters, registry, identities between losses, extremes, precision."""

import inspect
from decimal import Decimal, localcontext

import numpy as np
import pytest

import kernelqp.losses as package
from kernelqp.errors import ParameterError
from kernelqp.losses import (
    LOSSES,
    EpsilonInsensitive,
    HalfSquared,
    HardMargin,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Perceptron,
    Pinball,
    PowerHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    curved,
    margin,
    residual,
    tube,
)

from .strategies import CASES, N

every_loss = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
LABELS = np.array([1.0, -1.0])
GRID = np.linspace(-4, 4, 81)


def test_every_loss_defined_in_the_package_is_registered():
    defined = {
        item
        for module in (margin, curved, residual, tube)
        for item in vars(module).values()
        if inspect.isclass(item) and item.__module__ == module.__name__
    }
    assert defined == set(LOSSES)
    assert len(LOSSES) == len(set(LOSSES)) == 11


def test_no_other_module_of_the_package_defines_losses():
    found = {item.__name__ for item in vars(package).values() if inspect.ismodule(item)}
    assert found == {"kernelqp.losses." + name for name in _MODULES}


_MODULES = ("base", "curved", "margin", "residual", "tube")


def test_every_registered_loss_is_public_and_under_test():
    assert {c.__name__ for c in LOSSES} | {"LOSSES", "Loss", "Row"} == set(package.__all__)
    assert {type(c.loss) for c in CASES} == set(LOSSES)
    upper_first = sorted(package.__all__, key=lambda name: (not name.isupper(), name))
    assert package.__all__ == upper_first


@every_loss
def test_every_loss_meets_the_protocol_and_says_so_in_bools(case):
    assert isinstance(case.loss, Loss)
    assert type(case.loss).margin in {True, False}
    assert type(case.loss).piecewise_linear in {True, False}
    for name, member in inspect.getmembers(Loss, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(member).parameters.keys() == (
                inspect.signature(getattr(type(case.loss), name)).parameters.keys()
            )


def test_capabilities_are_the_table():
    flat = {Hinge, HardMargin, Perceptron, EpsilonInsensitive, Pinball}
    of_margin = {Hinge, HardMargin, SquaredHinge, PowerHinge, Perceptron, Logistic}
    assert {c for c in LOSSES if c.piecewise_linear} == flat
    assert {c for c in LOSSES if c.margin} == of_margin


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (PowerHinge, [1.0, 0.5, -1.0, np.array([2.0, 3.0])]),
        (EpsilonInsensitive, [-0.1, np.array([0.1, -1e-9]), np.ones((2, 2))]),
        (SquaredEpsilonInsensitive, [-0.1, np.array([0.1, -1e-9]), np.ones((2, 2))]),
        (Pinball, [-0.1, 1.1, np.array([0.5, 1.5]), np.array([-0.5, 0.5])]),
        (Huber, [0.0, -1.0, np.array([1.0, 0.0])]),
    ],
)
def test_parameters_out_of_range_are_refused(make, bad):
    nonsense = ["0.5", True, np.True_, None, np.nan, np.inf, 1j, [0.5, "a"], [[0.5], [0.5, 0.5]]]
    name = next(iter(inspect.signature(make).parameters))
    for value in (*bad, *nonsense, np.array([True]), np.array([0.5, np.nan])):
        with pytest.raises(
            ParameterError, match=rf"(?s){make.__name__}: {name} must be .*; got .*Try"
        ):
            make(value)


def test_refusal_names_argument_value_range_and_remedy():
    with pytest.raises(ParameterError) as refused:
        Pinball(1.5)
    assert str(refused.value) == (
        "Pinball: tau must be a finite number or one per row, 0 <= tau <= 1; got 1.5. Try tau=0.5."
    )


def test_parameters_at_the_ends_of_their_range_are_accepted():
    assert (Pinball(0).tau, Pinball(1).tau, EpsilonInsensitive(0).epsilon) == (0.0, 1.0, 0.0)
    assert SquaredEpsilonInsensitive(0).epsilon == 0.0


def test_parameters_become_floats_or_read_only_copies():
    given = np.array([0.25, 0.75])
    loss = Pinball(given)
    given[0] = 9.0
    assert loss.tau[0] == 0.25
    assert isinstance(Pinball(np.float32(0.5)).tau, float)
    assert Huber([1, 2]).delta.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        loss.tau[0] = 0.5


def test_repr_is_the_call():
    assert repr(Pinball(tau=0.25)) == "Pinball(tau=0.25)"
    assert repr(Hinge()) == "Hinge()"
    assert repr(Pinball([0.25, 0.5])) == "Pinball(tau=array([0.25, 0.5 ]))"


@every_loss
def test_take_selects_rows_of_every_answer(case):
    rows = np.array([4, 1, 1])
    y = np.resize(LABELS, N)
    p = np.linspace(-2, 2, N)
    taken = case.loss.take(rows)
    assert type(taken) is type(case.loss)
    assert np.array_equal(taken.value(y[rows], p[rows]), case.loss.value(y, p)[rows])
    assert np.array_equal(taken.domain(y[rows])[0], case.loss.domain(y)[0][rows])


def _grid():
    return np.repeat(LABELS, GRID.size), np.tile(GRID, 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PowerHinge(2), SquaredHinge()),
        (Huber(1e6), HalfSquared()),
        (SquaredEpsilonInsensitive(0), Huber(1e6)),
    ],
    ids=["power 2", "huber of large delta", "squared tube of no width"],
)
def test_losses_that_coincide(one, other):
    y, p = _grid()
    factor = 2 if isinstance(one, SquaredEpsilonInsensitive) else 1
    np.testing.assert_allclose(one.value(y, p), factor * other.value(y, p), rtol=1e-14)
    np.testing.assert_allclose(one.slopes(y, p), factor * np.array(other.slopes(y, p)), rtol=1e-14)
    g = one.slopes(y, p)[0]
    conjugate = factor * other.conjugate(y, g / factor)
    np.testing.assert_allclose(one.conjugate(y, g), conjugate, rtol=1e-12, atol=1e-14)
    beta, c, v = -g / 3, np.full(y.size, 1 / 3), p
    np.testing.assert_allclose(
        one.dual_value(y, c, beta), other.dual_value(y, factor * c, beta), rtol=1e-12, atol=1e-14
    )
    prox = other.dual_prox(y, factor * c, v, 2 * c)
    np.testing.assert_allclose(one.dual_prox(y, c, v, 2 * c), prox, rtol=1e-12, atol=1e-14)


def test_regression_without_a_tube_is_twice_the_median():
    y, p = _grid()
    c = np.full(y.size, 0.3)
    absolute, median = EpsilonInsensitive(0), Pinball(0.5)
    assert np.array_equal(absolute.value(y, p), 2 * median.value(y, p))
    assert np.array_equal(absolute.slopes(y, p), 2 * np.array(median.slopes(y, p)))
    one, other = absolute.row(y, c), median.row(y, 2 * c)
    assert all(np.array_equal(getattr(one, k), getattr(other, k)) for k in one.__slots__)


def test_pinball_of_level_tau_mirrors_level_one_minus_tau():
    y, p = _grid()
    assert np.array_equal(Pinball(0.25).value(y, p), Pinball(0.75).value(-y, -p))


def test_power_hinge_approaches_the_hinge():
    y, p = _grid()
    for q in (1.01, 1.0001, 1.000001):
        off = np.max(np.abs(PowerHinge(q).value(y, p) - Hinge().value(y, p)))
        assert off < 10 * (q - 1)


def test_perceptron_is_the_hinge_shifted_by_one():
    y, p = _grid()
    np.testing.assert_allclose(Perceptron().value(y, p), Hinge().value(y, p + y), atol=1e-15)


@every_loss
@pytest.mark.parametrize("size", [1e6, 1e150, 1e300])
def test_extremes_give_no_nan_and_no_warning(case, size):
    y = np.resize(LABELS, N) * (1 if case.loss.margin else size)
    for p in (np.full(N, size), np.full(N, -size), np.zeros(N)):
        lower, upper = case.loss.domain(y)
        low, high = case.loss.slopes(y, p)
        answers = [case.loss.value(y, p), low, high]
        for g in (lower, upper, low, high, np.full(N, size), np.full(N, -size)):
            g = np.where(np.isfinite(g), g, 0.0)  # noqa: PLW2901
            answers += [case.loss.conjugate(y, g), case.loss.residual(y, p, g)]
        assert not np.any(np.isnan(answers))
        assert np.all(case.loss.residual(y, p, np.clip(0.0, lower, upper)) >= 0)


def test_logistic_is_exact_at_large_margins():
    y, p = np.ones(2), np.array([1e6, -1e6])
    assert np.array_equal(Logistic().value(y, p), [0.0, 1e6])
    assert np.array_equal(Logistic().slopes(y, p)[0], [0.0, -1.0])
    s = 0.3
    residual_far = Logistic().residual(y, p, np.full(2, -s))
    entropy = s * np.log(s) + (1 - s) * np.log(1 - s)
    np.testing.assert_allclose(residual_far, [entropy + s * 1e6, entropy + (1 - s) * 1e6])


@pytest.mark.parametrize("loss", [PowerHinge(1.01), PowerHinge(3), Logistic()], ids=repr)
@pytest.mark.parametrize("distance", [0.5, 1e-2, 1e-5, 1e-8])
def test_curved_residual_is_right_to_rounding_of_the_slope(loss, distance):
    """The error stays below the rounding of s, which moves the residual by about s*distance*eps."""
    rng = np.random.default_rng(5)
    z = rng.uniform(-5, 0.9, 50)
    s = -loss.slopes(np.ones(50), z)[0] * (1 - distance * rng.uniform(0.5, 1, 50))
    got = loss.residual(np.ones(50), z, -s)
    with localcontext() as context:
        context.prec = 60
        exact = np.array([float(_exact_residual(loss, *pair)) for pair in zip(z, s, strict=True)])
    assert np.all(np.abs(got - exact) <= 1e-4 * exact)
    assert np.all(np.abs(got - exact) <= 2e-13 * exact / distance)


def _exact_residual(loss, z, s):
    z, s = Decimal(float(z)), Decimal(float(s))
    if isinstance(loss, Logistic):
        return (1 + (-z).exp()).ln() + s * s.ln() + (1 - s) * (1 - s).ln() + s * z
    q, short = Decimal(loss.q), 1 - z
    return short**q - s * short + (q - 1) * (s / q) ** (q / (q - 1))
