"""Two one-sided tests, against their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from harness.inference import Estimate, equivalence_p_values, estimate

VALUES = np.array([0.02, -0.01, 0.01, 0.0, 0.03, -0.02, 0.01, 0.0])


@pytest.mark.parametrize(("tolerance", "inside", "outside"), [(0.1, True, False), (0.01, False, False)])
def test_a_mean_is_within_a_tolerance_just_when_its_90_percent_interval_is(
    tolerance: float, inside: bool, outside: bool
) -> None:
    mean = estimate(VALUES)
    low, high = mean.interval(0.9)
    speaks_for, speaks_against = equivalence_p_values(mean, tolerance)
    assert (speaks_for <= 0.05) is inside is (-tolerance < low and high < tolerance)
    assert (speaks_against <= 0.05) is outside


def test_beyond_either_end_of_the_tolerance_two_tests_share_the_level() -> None:
    mean = estimate(VALUES + 0.5)
    speaks_for, speaks_against = equivalence_p_values(mean, 0.1)
    assert speaks_for > 0.99
    assert speaks_against == 2 * mean.p_above(0.1) < 1e-6
    assert equivalence_p_values(mean.shift(0.0, -1.0), 0.1) == pytest.approx((speaks_for, speaks_against))
    assert equivalence_p_values(Estimate(), 0.1) == (1.0, 1.0)
