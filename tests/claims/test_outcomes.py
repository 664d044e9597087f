"""Splits that draw one of a few outcomes: means weigh the outcomes, not how often chance drew each."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from harness.claims.design import Fixed, Sequential, Series, adjust_for_splits
from harness.claims.series import means, outcomes_by_arm
from harness.coordinates import place
from harness.report.tables import outcome_rows
from tests.claims.judged import PARSE, evidence_of, judge

AT_ONE = place({"epsilon": 1.0})

OFFSETS = np.array([-0.5, -0.3, 0.4, 0.4])
VALUES = arrays.arrays(float, st.integers(2, 30), elements=st.floats(-2, 2))


def drawn(n: int, seed: int = 0, spread: float = 0.05) -> Series:
    """Repeats around the mean 0.2, by which of four outcomes each drew."""
    rng = np.random.default_rng(seed)
    outcome = rng.integers(4, size=n)
    return Series(0.2 + OFFSETS[outcome] + spread * rng.standard_normal(n), np.zeros(n), outcome, 4)


def test_a_stratified_mean_by_hand() -> None:
    values, outcome = np.array([0.1, 0.3, 0.9, 1.1, 1.0]), np.array([0, 0, 1, 1, 1])
    result = Fixed().mean(Series(values, np.zeros(5), outcome, 2))
    first, second = values[:2], values[2:]
    variances = np.array([first.var(ddof=1) / 2, second.var(ddof=1) / 3])
    assert result.mean == pytest.approx((0.2 + 1.0) / 2)  # not the mean of the five, 0.68
    assert result.stderr == pytest.approx(0.5 * np.sqrt(variances.sum()))
    assert result.dof == pytest.approx(stats.ttest_ind(first, second, equal_var=False).df)  # Welch's, of two means
    assert result.n == 5


def test_an_outcome_that_was_drawn_once_leaves_the_plain_mean() -> None:
    values = np.array([0.1, 0.3, 0.9])
    for outcomes, outcome in ((2, [0, 0, 1]), (3, [0, 0, 1])):
        result = Fixed().mean(Series(values, np.zeros(3), np.array(outcome), outcomes))
        assert result == Fixed().mean(Series(values, np.zeros(3)))
    missing = Series(np.array([0.1, 0.3, 0.8, 0.9]), np.zeros(4), np.array([0, 0, 1, 1]), 3)
    assert Fixed().mean(missing).mean == pytest.approx(0.525)


@given(VALUES, st.integers(2, 4), st.integers(0, 10**6))
def test_what_is_taken_off_is_zero_on_average_over_the_outcomes(values: Any, outcomes: int, seed: int) -> None:
    """Whatever the past, the next value keeps its mean: here the mean over the outcomes that it may draw."""
    rng = np.random.default_rng(seed)
    outcome = rng.integers(outcomes, size=len(values))
    nothing = np.zeros(len(values))
    last = []
    for alternative in range(outcomes):
        outcome[-1] = alternative
        last.append(adjust_for_splits(Series(values, nothing, outcome, outcomes))[-1])
    assert np.mean(last) == pytest.approx(values[-1], abs=1e-9)
    # Earlier ones do not depend on later ones.
    result = adjust_for_splits(Series(values, nothing, outcome, outcomes))
    shorter = adjust_for_splits(Series(values, nothing, outcome, outcomes).take_first(len(values) - 1))
    assert np.allclose(result[:-1], shorter)


def test_both_designs_find_the_mean_far_more_closely() -> None:
    """Over 300 experiments of 40 repeats: no bias, and a fraction of the plain mean's error."""
    result = [drawn(40, seed) for seed in range(300)]
    plain = np.array([s.values.mean() for s in result]) - 0.2
    stratified = np.array([Fixed().mean(s).mean for s in result]) - 0.2
    sequential = np.array([Sequential().mean(s).mean for s in result]) - 0.2
    for errors, share in ((stratified, 0.25), (sequential, 0.6)):
        assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(300)
        assert errors.std() < share * plain.std()
    covered = [low <= 0.2 <= high for low, high in (Fixed().mean(s).interval() for s in result)]
    assert stats.binomtest(sum(covered), 300, 0.95, alternative="less").pvalue > 1e-4


@pytest.mark.integration
def test_sequences_of_looks_keep_their_level() -> None:
    """500 sequences of 60 looks: the share that ever excludes the truth is below 5%, tested at 1e-4."""
    missed = 0
    for seed in range(500):
        low, high = Sequential().mean(drawn(60, seed)).interval()
        missed += not low <= 0.2 <= high
    assert stats.binomtest(missed, 500, 0.05, alternative="greater").pvalue > 1e-4


def table_of(series: dict[str, Series], outcomes: int | None = 4) -> pd.DataFrame:
    """The measurement table of these arms, with the outcome that each repeat drew."""
    rows: list[Any] = []
    for arm, one in series.items():
        for epsilon, (r, value) in itertools.product((1.0, 10.0), enumerate(one.values)):
            rows.append((arm, "x", "advantage", epsilon, r, value))
            if one.drawn is not None:
                rows += [
                    (arm, "", "count_outcome", epsilon, r, one.drawn[r]),
                    (arm, "", "count_outcomes", epsilon, r, outcomes or 3 + r % 2),
                    (arm, "", "count_owner_set", epsilon, r, 1000 * (1 + one.drawn[r])),
                ]
    table = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"])
    return table.assign(stderr=0.0)


def claim(value: float, arm: str | None = None) -> Any:
    left = {"metric": "advantage", "arm": "a", "attack": "x"}
    right = {"value": value} if arm is None else {**left, "arm": arm}
    return PARSE({"kind": "compare", "left": left, "relation": ">", "right": right})


def test_a_claim_is_judged_on_the_mean_over_outcomes() -> None:
    """Chance drew the high outcomes three times as often: the plain mean is 0.45, the mean over outcomes 0.2."""
    outcome = np.repeat([0, 1, 2, 3], [2, 3, 9, 10])
    one = Series(0.2 + OFFSETS[outcome] + 0.01 * (-1.0) ** np.arange(24), np.zeros(24), outcome, 4)
    assert one.values.mean() > 0.4
    result = judge(claim(0.3), evidence_of(table_of({"a": one})), 0.05, 0, 1)
    assert result.outcome == "violated"
    assert result.points[0].left == pytest.approx(0.2, abs=0.01)
    assert "stratified by the outcome that the split draws" in result.test
    plain = Series(one.values, one.errors)
    result = judge(claim(0.3), evidence_of(table_of({"a": plain})), 0.05, 0, 1)
    assert result.outcome != "violated"
    assert "stratified" not in result.test
    # Against an arm whose split draws no such outcome.
    result = judge(
        claim(0.0, "b"), evidence_of(table_of({"a": one, "b": Series(np.full(24, 0.3), np.zeros(24))})), 0.05, 0, 1
    )
    assert result.outcome == "violated"


def test_outcomes_of_unknown_chance_are_not_weighed() -> None:
    """A number of outcomes that changes from repeat to repeat, or more outcomes than there are said to be."""
    one = drawn(40)
    for outcomes in (None, 3):
        evidence = evidence_of(table_of({"a": one}, outcomes))
        assert judge(claim(0.0), evidence, 0.05, 0, 1).points[0].left == pytest.approx(one.values.mean())


def test_the_page_shows_the_means_that_claims_see_and_each_outcome() -> None:
    one = drawn(40)
    table = table_of({"a": one, "b": Series(one.values, one.errors)})
    shown = means(table, ("advantage",))
    assert shown["a", "x", "advantage", AT_ONE].mean == pytest.approx(Fixed().mean(one).mean)
    assert shown["b", "x", "advantage", AT_ONE].mean == pytest.approx(one.values.mean())
    rows = outcome_rows(table)
    assert [row["owner_set"] for row in rows] == ["1,000", "2,000", "3,000", "4,000"]
    assert {row["chance"] for row in rows} == {"1 in 4"}
    assert one.drawn is not None
    assert [row["repeats"] for row in rows] == np.bincount(one.drawn).tolist()
    assert [float(row["values"][0]) for row in rows] == pytest.approx((0.2 + OFFSETS).tolist(), abs=0.05)
    assert outcome_rows(table_of({"b": Series(one.values, one.errors)})) == []


def test_one_repeat_draws_an_outcome_of_known_chance() -> None:
    one = drawn(40)
    assert one.drawn is not None
    table = table_of({"a": one})
    assert outcomes_by_arm(table) == {"a": (dict(enumerate(one.drawn.tolist())), 4)}
    first = outcomes_by_arm(table[table["repeat"] == 0])
    assert first == {"a": ({0: 0}, 4)}
