"""The rate of wrong verdicts over simulated claims of known truth is at most the stated level."""

from __future__ import annotations

import pytest

from benchmarks.calibration import ALPHA, Setup, design, simulate, wrong


def test_truth_of_a_setup() -> None:
    everywhere = Setup("all", 4, 5, "Gaussian", -0.5, True)
    assert everywhere.truth() == "false"
    assert list(Setup("all", 3, 5, "Gaussian", -0.5, False).effects()) == [-0.5, 1.0, 1.0]
    assert Setup("some", 3, 5, "Gaussian", 0.5, False).truth() == "true"
    assert list(Setup("some", 3, 5, "Gaussian", 0.5, False).effects()) == [0.5, -1.0, -1.0]
    assert Setup("some", 3, 5, "Gaussian", 0.0, False).truth() == "margin"
    assert [wrong(t, "reproduced") for t in ("true", "false", "margin")] == [False, True, True]
    assert [wrong(t, "violated") for t in ("true", "false", "margin")] == [True, False, True]
    assert not any(wrong(t, "inconclusive") for t in ("true", "false", "margin"))
    assert len(design()) == 1680


@pytest.mark.slow
def test_wrong_verdicts_are_no_more_frequent_than_stated() -> None:
    """5,040 claims, each judged by both designs; on the margin every noise is held to the level, but for two humps seen
    three times, which docs/statistics.md warns of."""
    designs = simulate(3, seed=2)["designs"]
    for groups in designs.values():
        assert groups["all"]["all"]["claims"] == 5040
        assert groups["all"]["all"]["wrong"] <= ALPHA
        for name in ("true", "false"):
            assert groups["truth"][name]["wrong"] <= ALPHA
        rows = [row for k, row in groups["margin, by noise and repeats"].items() if k != "two humps, 3"]
        claims = sum(row["claims"] for row in rows)
        rate = sum(row["claims"] * row["wrong"] for row in rows) / claims
        assert rate <= ALPHA
    power = designs["fixed"]["power"]
    assert power["1, 3"]["decided"] < power["1, 10"]["decided"] < power["1, 40"]["decided"]
    assert power["1, 40"]["decided"] > 0.95
    stopped = designs["sequential"]["power"]
    for key in ("0.5, 10", "1, 10", "0.5, 40", "1, 40"):  # 60 claims each
        assert stopped[key]["decided"] > power[key]["decided"] - 0.15
    assert stopped["1, 40"]["decided"] > 0.9
    assert stopped["1, 40"]["repeats"] < 20
    assert stopped["2, 40"]["repeats"] < 40 / 3
