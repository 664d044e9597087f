"""Partial conjunction: against its definition, by Bonferroni on every set of hypotheses that may all be true."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inference import partial_conjunction

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(P_VALUES, st.data())
def test_fewer_than_needed_is_rejected_where_every_set_that_large_is(
    p_values: list[float], data: st.DataObject
) -> None:
    """If fewer than k of m are false, some m - k + 1 are all true: the largest Bonferroni p-value of such a set."""
    m = len(p_values)
    needed = data.draw(st.integers(1, m))
    sets = combinations(p_values, m - needed + 1)
    assert partial_conjunction(p_values, needed, m) == max(min(1.0, min(s) * len(s)) for s in sets)


@given(P_VALUES, st.integers(0, 3), st.data())
def test_a_hypothesis_without_a_p_value_counts_as_one_of_1(
    p_values: list[float], absent: int, data: st.DataObject
) -> None:
    m = len(p_values) + absent
    needed = data.draw(st.integers(1, m))
    assert partial_conjunction(p_values, needed, m) == partial_conjunction([*p_values, *[1.0] * absent], needed, m)


def test_both_ends_are_bonferroni_and_the_largest() -> None:
    assert partial_conjunction([0.01, 0.2, 0.4], 1, 3) == pytest.approx(0.03)
    assert partial_conjunction([0.01, 0.2, 0.4], 3, 3) == 0.4
    assert partial_conjunction([0.5, 0.6], 1, 2) == 1.0
