"""What a table of measurements says to claims: cells, counts and means."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from harness.claims.design import Bounded, Series, Summarised
from harness.claims.evidence import ArmFacts, Measurements
from harness.claims.operands import MetricSeries
from harness.claims.samples import Samples
from harness.claims.series import Numbers, TableFacts, means, series_of
from harness.coordinates import place
from harness.errors import HarnessError
from harness.formulas.gaussian import least_shuffled_epsilon, shuffled_epsilon
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


def test_a_series_times_a_number_is_that_of_its_values_errors_and_range() -> None:
    one = Series(np.array([0.1, 0.4]), np.array([0.01, 0.02]), low=-1.0, high=0.5)
    assert one.scale(1) is one
    for factor in (2.0, -0.5, 0.0):
        times = one.scale(factor)
        assert times.values == pytest.approx(one.values * factor)
        assert times.errors == pytest.approx(one.errors * abs(factor))
        assert [times.low, times.high] == sorted([-1.0 * factor, 0.5 * factor])


def test_what_is_relative_to_the_model_without_noise_stands_on_that_one_too() -> None:
    loss, advantage = MetricSeries("accuracy_loss_test", "a"), MetricSeries("advantage", "a", "x")
    noisy, clear = ("a", place({"epsilon": 2.0})), ("a", place({"epsilon": math.inf}))
    assert Samples(evidence()).cells([advantage], {"epsilon": 2.0}) == {noisy}
    assert Samples(evidence()).cells([loss], {"epsilon": 2.0}) == {noisy, clear}
    difference = MetricSeries("advantage", "a", "x", minus="accuracy_loss_test")
    assert Samples(evidence()).cells([difference], {"epsilon": 2.0}) == {noisy, clear}


def test_a_mean_over_an_axis_is_that_of_its_values() -> None:
    of = MetricSeries("advantage", "a", "x", mean_over=("epsilon",), times=2.0)
    assert Samples(evidence()).series(of, {}).values == pytest.approx(2 * (0.375 + 0.1 * np.arange(4)))
    assert Samples(evidence()).cells([of], {}) == {("a", place({"epsilon": epsilon})) for epsilon in (1.0, 2.0)}


def test_a_count_is_of_its_arm_and_its_name() -> None:
    assert list(evidence().counts("a", "rows")) == [7.0, 9.0]
    assert list(evidence().counts("b", "rows")) == [3.0]
    with pytest.raises(HarnessError, match="arm 'b' counts no 'members'"):
        evidence().counts("b", "members")


def test_bets_on_a_metric_of_which_no_range_is_known_say_nothing() -> None:
    rows = [("a", "", metric, 1.0, repeat, 0.9) for metric in ("loss", "accuracy_test") for repeat in range(12)]
    frame = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"]).assign(stderr=0.0)
    known, unknown = (
        Samples(evidence_of(frame)).of_curve(MetricSeries(metric, "a"), {"epsilon": 1.0}).mean(Bounded(), None)
        for metric in ("accuracy_test", "loss")
    )
    assert known.p_above(0.1) < 0.001
    assert unknown.p_above(0.1) == unknown.p_below(10.0) == 1.0
    assert unknown.interval() == (-math.inf, math.inf)


def test_a_place_that_was_measured_once_has_a_mean() -> None:
    frame = evidence().frame
    shown = means(frame[frame["repeat"] == 1], ("advantage",))
    assert {key: result.mean for key, result in shown.items()} == {
        (arm, "x", "advantage", place({"epsilon": epsilon})): pytest.approx(0.25 * epsilon + 0.1)
        for arm in "ab"
        for epsilon in (1.0, 2.0)
    }


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("batch_clipped", [False, True])
def test_an_epsilon_as_trained_is_of_the_neighbours_asked_for_or_of_a_batch_that_is_clipped(
    replaced: bool, batch_clipped: bool
) -> None:
    """A record moves the mean of a clipped batch by up to twice the norm, be it removed or replaced; nothing is known
    of it from below."""
    facts = ArmFacts(1e-5, shuffled_epochs=3, batches=(20, 1.0), batch_clipped=batch_clipped)
    frame = evidence().frame.assign(noise_multiplier=1.5)
    curve, at = MetricSeries("advantage", "a", "x"), {"epsilon": 1.0}
    result = Measurements(frame, {"a": facts, "b": ArmFacts(1e-5)}).epsilon_as_trained(curve, at, replaced)
    assert result is not None
    most = shuffled_epsilon(1.5, 3, 1e-5, replaced or batch_clipped)
    least = 0.0 if batch_clipped else least_shuffled_epsilon(1.5, 20, 3, 1e-5, replaced)
    assert result == (pytest.approx(least), pytest.approx(most))
    rest = replace(facts, batches=(20, 0.9))  # an epoch leaves a tenth of the records out
    fewer = 0.0 if batch_clipped else least_shuffled_epsilon(1.5, 20, 3, 1e-5, replaced, 0.9)
    assert Measurements(frame, {"a": rest, "b": facts}).epsilon_as_trained(curve, at, replaced) == (
        pytest.approx(fewer),
        pytest.approx(most),
    )
    assert fewer < least or batch_clipped
    assert shuffled_epsilon(1.5, 3, 1e-5, True) > shuffled_epsilon(1.5, 3, 1e-5, False)
    as_said = replace(facts, shuffled_epochs=None)
    assert Measurements(frame, {"a": as_said, "b": facts}).epsilon_as_trained(curve, at, replaced) is None
    without_noise = evidence().frame
    assert Measurements(without_noise, {"a": facts, "b": facts}).epsilon_as_trained(curve, at, replaced) is None


def test_a_mean_from_a_summary_has_its_standard_error_and_repeats() -> None:
    mean = Summarised().mean(Series(np.array([0.5]), np.array([0.1]), repeats=5))
    assert (mean.mean, mean.stderr, mean.n) == (0.5, 0.1, 5)


def test_an_empty_table_has_no_repeats() -> None:
    empty = pd.DataFrame(columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])
    assert Measurements(empty, {}, None, ("epsilon",), ("epsilon",)).repeats == 0


def test_counts_of_records_are_no_repeats_of_a_mean() -> None:
    """A column `n` is of records where models were trained, and of repeats in a summary."""
    numbers = Numbers(np.array([0.5, 0.6]), np.zeros(2), np.arange(2), np.array([200, 200]))
    alone = Numbers(np.array([0.5]), np.array([0.1]), np.arange(1), np.array([5]))
    assert series_of(numbers, "advantage", None, TableFacts({}, summary=False)).repeats is None
    assert series_of(alone, "advantage", None, TableFacts({}, summary=True)).repeats == 5
    table = pd.DataFrame({"value": [0.5]})
    assert not TableFacts.of(table).summary
    table.attrs["design"] = "summary"
    assert TableFacts.of(table).summary
