"""Precision over thresholds: by hand, against loops, and what a maximum says where there is nothing to say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics import METRICS, Answers
from harness.metrics.precision import best_precision, held_out_precision, precisions, shuffled_best_precision


def answers(members: np.ndarray, others: np.ndarray) -> Answers:
    return Answers(members, others, members > 0, others > 0)


def test_by_hand() -> None:
    """Forty records, one more at each threshold: the best three are members, then every third."""
    scores = np.arange(40.0)[::-1]
    members = np.array([1.0, 1, 1] + [1 if i % 3 == 0 else 0 for i in range(3, 40)])
    result = precisions(scores, members)
    assert result[:4].tolist() == [1, 1, 1, 1]
    assert result[4] == pytest.approx(4 / 5)
    assert result[-1] == members.mean()
    assert best_precision(scores, members).value == 1


@given(st.lists(st.tuples(st.floats(-5, 5), st.booleans()), min_size=2, max_size=120))
def test_thresholds_accept_fortieths_of_the_records(pairs: list[tuple[float, bool]]) -> None:
    scores, members = np.array([p[0] for p in pairs]), np.array([float(p[1]) for p in pairs])
    ranked = [m for _, _, m in sorted((-s, i, m) for i, (s, m) in enumerate(zip(scores, members, strict=True)))]
    wanted = []
    for i in range(1, 41):
        accepted = max(1, -(-i * len(ranked) // 40))
        wanted.append(sum(ranked[:accepted]) / accepted)
    np.testing.assert_allclose(precisions(scores, members), wanted, atol=1e-12)
    best = best_precision(scores, members).value
    assert best == pytest.approx(max(wanted))
    assert best >= members.mean() - 1e-12  # the last threshold accepts everything
    assert 0 <= held_out_precision(scores, members).value <= 1


def test_a_maximum_of_nothing_is_above_the_share_of_members_and_the_honest_numbers_say_so() -> None:
    rng = np.random.default_rng(1)
    best, held_out = [], []
    for _ in range(400):
        nothing = answers(rng.normal(size=60), rng.normal(size=140))
        best.append(METRICS["best_precision"].function(nothing).value)
        held_out.append(METRICS["held_out_precision"].function(nothing).value)
    error = np.std(best, ddof=1) / np.sqrt(400)
    assert np.mean(best) > 0.4  # of members: 0.3
    shuffled = shuffled_best_precision(200, 60)
    assert abs(shuffled.value - np.mean(best)) < 4 * math.hypot(error, shuffled.stderr)
    assert abs(np.mean(held_out) - 0.3) < 4 * np.std(held_out, ddof=1) / np.sqrt(400)


def test_what_can_be_told_is_told_on_other_records_too() -> None:
    rng = np.random.default_rng(2)
    result = {
        name: METRICS[name].function(answers(rng.normal(6, 1, 300), rng.normal(0, 1, 700)))
        for name in METRICS
        if "precision" in name or name == "share_of_members"
    }
    assert result["share_of_members"].value == 0.3
    assert result["best_precision"].value == 1
    assert result["held_out_precision"].value > 0.98
    assert result["best_precision_gain"].value == pytest.approx(0.7)
    assert result["held_out_precision_gain"].value == pytest.approx(result["held_out_precision"].value - 0.3)


def test_ties_tell_nothing() -> None:
    """All scores alike: every threshold of a score accepts everything, whichever group comes first."""
    alike = answers(np.zeros(300), np.zeros(700))
    assert METRICS["held_out_precision"].function(alike).value == pytest.approx(0.3, abs=1e-9)
    assert METRICS["best_precision"].function(alike).value < 0.5
