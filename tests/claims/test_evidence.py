"""What a table of measurements says to claims: cells, counts and means."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from harness.claims.operands import MetricSeries
from harness.coordinates import place
from harness.errors import HarnessError
from tests.claims.judged import TableEvidence, evidence_of


def evidence() -> TableEvidence:
    """Two arms at epsilon 1, 2 and without noise; what each repeat has is 0.1 more than that of the one before."""
    rows = [
        (arm, attack, metric, epsilon, repeat, level * epsilon + 0.1 * repeat)
        for arm in "ab"
        for attack, metric, level in (("x", "advantage", 0.25), ("", "accuracy_loss_test", 0.1))
        for epsilon in (1.0, 2.0)
        for repeat in range(4)
    ]
    rows += [("a", "", "count_rows", 1.0, repeat, value) for repeat, value in enumerate((9.0, 7.0, 9.0))]
    rows += [("b", "", "count_rows", 1.0, 0, 3.0), ("a", "", "count_members", 1.0, 0, 4.0)]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value"]
    return evidence_of(pd.DataFrame(rows, columns=columns).assign(stderr=0.0))


def test_what_is_relative_to_the_model_without_noise_stands_on_that_one_too() -> None:
    loss, advantage = MetricSeries("accuracy_loss_test", "a"), MetricSeries("advantage", "a", "x")
    noisy, clear = ("a", place({"epsilon": 2.0})), ("a", place({"epsilon": math.inf}))
    assert evidence().cells([advantage], {"epsilon": 2.0}) == {noisy}
    assert evidence().cells([loss], {"epsilon": 2.0}) == {noisy, clear}
    difference = MetricSeries("advantage", "a", "x", minus="accuracy_loss_test")
    assert evidence().cells([difference], {"epsilon": 2.0}) == {noisy, clear}


def test_a_mean_over_an_axis_is_that_of_its_values() -> None:
    of = MetricSeries("advantage", "a", "x", mean_over=("epsilon",), times=2.0)
    assert evidence().series(of, {}).values == pytest.approx(2 * (0.375 + 0.1 * np.arange(4)))
    assert evidence().cells([of], {}) == {("a", place({"epsilon": epsilon})) for epsilon in (1.0, 2.0)}


def test_a_count_is_of_its_arm_and_its_name() -> None:
    assert list(evidence().counts("a", "rows")) == [7.0, 9.0]
    assert list(evidence().counts("b", "rows")) == [3.0]
    with pytest.raises(HarnessError, match="arm 'b' counts no 'members'"):
        evidence().counts("b", "members")
