"""Offsets: what they refuse, and what they know about their columns."""

import numpy as np
import pytest

from kernelqp.errors import DataError, ParameterError
from kernelqp.offset import Offset, offset_of

ONES, RAMP = np.ones(4), np.arange(4.0)


def test_a_constant_that_the_columns_do_not_hold_is_refused():
    basis = np.column_stack([ONES, RAMP])
    assert Offset(basis, np.zeros(2), np.array([1.0, 0.0])).free_constant is not None
    for wrong in ([1.0, 1e-3], [0.0, 1.0], [np.nan, 0.0]):
        with pytest.raises(ParameterError, match="constant must be the theta"):
            Offset(basis, np.zeros(2), np.array(wrong))


def test_a_price_for_other_columns_is_refused():
    with pytest.raises(ParameterError, match=r"price must have shape \(1,\) for 1 columns"):
        Offset(ONES[:, None], np.zeros(2), None)


def test_a_constant_that_costs_something_is_no_free_intercept():
    assert Offset.free(4).is_intercept
    assert not Offset.none(4).is_intercept
    priced = Offset(ONES[:, None], np.array([0.5]), np.ones(1))
    assert priced.free_constant is None
    assert not priced.is_intercept


def test_columns_that_share_no_row_are_disjoint():
    two = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -2.0], [0.0, 0.0]])
    assert Offset(two, np.zeros(2), None).is_disjoint
    assert not Offset(two + 1.0, np.zeros(2), None).is_disjoint


def test_a_name_or_an_offset_of_as_many_rows_is_wanted():
    assert offset_of("none", 3).basis.shape == (3, 0)
    assert offset_of("free", 3).is_intercept
    with pytest.raises(ParameterError, match="'free', 'none' or an Offset; got 'penalised'"):
        offset_of("penalised", 3)
    with pytest.raises(DataError, match="3 rows like the Gram matrix; got 4"):
        offset_of(Offset.free(4), 3)


def test_spanned_columns_are_scaled_to_the_number_of_rows():
    offset = Offset.spanned(np.column_stack([ONES, RAMP, 2.0 * RAMP]), constant=True)
    assert offset.basis.shape == (4, 2)
    np.testing.assert_allclose(offset.basis.T @ offset.basis, 4.0 * np.eye(2), atol=1e-14)
    np.testing.assert_allclose(offset.basis @ offset.constant, ONES)
