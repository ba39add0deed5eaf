"""The generators generate what they promise: a generator that does not is a test that passes."""

import numpy as np
import pytest
from hypothesis import given

from .strategies import CASES, N, law, pairs

every_loss = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)


def _drawn(case):
    """(offset, distance of g to both ends of the domain) of all draws, one row each."""
    seen = []

    @law
    @given(pairs(case))
    def collect(pair):
        y, p, g = pair
        offset = y * p if case.loss.margin else p - y
        seen.append((offset, *(g - end for end in case.loss.domain(y))))

    collect()
    return np.array(seen).transpose(1, 0, 2)


@every_loss
def test_kinks_domain_ends_and_points_between_are_drawn(case):
    offset, from_lower, to_upper = _drawn(case)
    for kink in case.kinks:
        assert N < np.sum(offset == kink) < 0.9 * offset.size
    for end, distance in zip(case.loss.domain(np.ones(N)), (from_lower, to_upper), strict=True):
        assert not np.any(np.isfinite(end)) or np.sum(distance == 0) > N
    assert np.sum((from_lower > 0) & (to_upper < 0)) > N or case.name == "pinball-rows"
    assert np.unique(offset).size > 20
