"""Claims about a share of the points: verdict, error rates, reasons, and where repeats go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.claims.allocation import allocate_repeats
from harness.claims.contrasts import needed_points
from harness.claims.design import Sequential
from harness.claims.results import Part, PartResult, PointResult, not_run
from tests.claims.judged import PARSE, combined, evidence_of, judge, plain, point_result

OF = {"metric": "advantage", "arm": "a", "attack": "x"}
P_VALUES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


def look(support: float, oppose: float) -> PointResult:
    return point_result(support, oppose, repeats=9)


def table_of(values: dict[float, Any]) -> pd.DataFrame:
    rows = [("a", "x", "advantage", e, r, float(v), 0.0) for e, many in values.items() for r, v in enumerate(many)]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def around(mean: float, n: int = 20, by: float = 0.01) -> np.ndarray:
    return mean + by * (-1.0) ** np.arange(n)


def printed(entries: int, **more: Any) -> dict[str, Any]:
    values = {float(i + 1): 0.5 for i in range(entries)}
    return {"kind": "table", "tolerance": 0.05, "rows": [{"of": OF, "values": values}], **more}


def verdict(wrong: int, entries: int = 20, open_: int = 0, **more: Any) -> PartResult:
    """Of a table with so many wrong entries, and so many on their tolerance."""
    means = [0.7] * wrong + [0.55] * open_ + [0.5] * (entries - wrong - open_)
    frame = table_of({float(i + 1): around(mean) for i, mean in enumerate(means)})
    return judge(printed(entries, **more), frame, 0.05, 0, 1)


@pytest.mark.parametrize(
    ("wrong", "open_", "outcome"),
    [(0, 0, "reproduced"), (2, 0, "reproduced"), (3, 0, "violated"), (2, 1, "inconclusive"), (0, 2, "reproduced")],
)
def test_nine_in_ten_entries_have_to_agree(wrong: int, open_: int, outcome: str) -> None:
    assert verdict(wrong, open_=open_).outcome == outcome


def test_of_few_entries_all_have_to_agree_unless_the_claim_says_otherwise() -> None:
    assert verdict(1, entries=9).outcome == "violated"
    assert verdict(1, entries=10).outcome == "reproduced"
    assert verdict(1, entries=4, share=0.75).outcome == "reproduced"
    assert verdict(2, entries=4, share=0.75).outcome == "violated"
    assert verdict(1, entries=20, share=1.0).outcome == "violated"
    assert [needed_points(0.9, n) for n in (1, 9, 10, 11, 44, 65)] == [1, 9, 9, 10, 40, 59]


def test_the_reason_says_how_many_and_shows_the_one_that_decides() -> None:
    assert verdict(2).reason.startswith("holds at 18 of 20 points at least; least clear of these at")
    assert verdict(3).reason.startswith(
        "holds at fewer than 18 of 20 points: fails at 3 at least; least clear of these"
    )
    assert verdict(2, open_=1).reason.startswith("undecided whether it holds at 18 of 20 points: at epsilon 3: 0.55")
    assert verdict(3).why.model_dump()["needed"] == 18
    said = "partial conjunction: 18 of 20 points at alpha/2 over 3; to oppose, 3 of them at alpha/2 over"
    assert verdict(2).correction == f"{said} 18"
    looks = [look(0.0, 1.0)] * 20
    assert combined(looks, "share", Part(0, 2, 0.025), 0.9).correction == f"{said} 36"


@pytest.mark.parametrize("quantifier", ["all", "some"])
@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
def test_of_points_that_are_alike_the_first_decides(quantifier: Any, pair: tuple[float, float]) -> None:
    looks = [look(*pair) for _ in range(3)]
    assert combined(looks, quantifier, Part(0, 1, 0.025)).place == 0


def test_levels_are_those_of_the_points_there_are() -> None:
    def levels(points: int, quantifier: Any) -> tuple[float, float]:
        return combined([look(0.5, 0.5)] * points, quantifier, Part(0, 2, 0.025)).levels(0.025, 2)

    assert levels(1, "all") == levels(1, "some") == (0.025, 0.0125)
    assert levels(4, "all") == (0.025, 0.003125)
    assert levels(4, "some") == (0.00625, 0.0125)
    assert PartResult("inconclusive").levels(0.025, 2) == (0.025, 0.0125)


@given(P_VALUES)
def test_a_share_of_all_and_a_share_of_one_are_the_two_quantifiers(pairs: list[tuple[float, float]]) -> None:
    looks, part = [look(*pair) for pair in pairs], Part(0, 3, 0.025)
    for quantifier, share in (("all", 1.0), ("some", 1e-9)):
        one, other = combined(looks, quantifier, part), combined(looks, "share", part, share)
        assert (one.outcome, one.needed) == (other.outcome, other.needed)
        assert (one.support, one.oppose) == (other.support, other.oppose)


@given(P_VALUES, st.floats(0.05, 1))
def test_levels_and_p_values_decide_alike(pairs: list[tuple[float, float]], share: float) -> None:
    result = combined([look(*pair) for pair in pairs], "share", Part(0, 2, 0.025), share)
    support, oppose = result.levels(0.025, 2)
    supporting = sum(s <= support for s, _ in pairs) >= result.needed
    opposing = sum(o <= oppose for _, o in pairs) > len(pairs) - result.needed
    expected = "reproduced" if supporting else "violated" if opposing else "inconclusive"
    margin = min(abs(result.support - 0.025), abs(result.oppose - 0.025))
    assert margin < 1e-15 or result.outcome == expected


@pytest.mark.parametrize("true", [17, 18])
def test_it_errs_as_rarely_as_promised(true: int) -> None:
    """4,000 tables of 20 entries: with 17 that agree "18 agree" is false, with 18 it is true. The others are on the
    edge of the hypothesis, where p-values are uniform, and those that agree are clear, so the test is as tight as it can
    be. Its level is 2.5% each way; of 4,000 more than 130 would be wrong with probability 1e-3."""
    rng = np.random.default_rng(true)
    wrong = 0
    for _ in range(4000):
        edge = rng.uniform(size=20 - true if true < 18 else 18)
        if true < 18:
            looks = [look(0.0, 1.0)] * true + [look(p, 1 - p) for p in edge]
        else:
            looks = [look(1 - p, p) for p in edge] + [look(1.0, 0.0)] * 2
        outcome = combined(looks, "share", Part(0, 1, 0.025), 0.9).outcome
        wrong += outcome == ("reproduced" if true < 18 else "violated")
    assert 0 < wrong <= 130


def test_repeats_go_to_the_entries_that_are_missing() -> None:
    def needs(**means: float) -> set[float]:
        values = {float(name[1:]): around(mean, 8, 0.3) for name, mean in means.items()}
        values |= {float(i): around(0.5, 20, 0.001) for i in range(20) if float(i) not in values}
        entries = {"of": OF, "values": {level: 0.5 for level in sorted(values) if level}}
        claim = {"kind": "table", "tolerance": 0.05, "rows": [entries]}
        finding = judge(claim, evidence_of(table_of(values), Sequential()), 0.05, 0, 1)
        return {epsilon for _, epsilon in plain(allocate_repeats([finding], 0.05, 40))}

    # Of 19 entries 18 have to agree: with one open nothing is missing, with two the clearer one.
    assert needs(e1=0.5) == set()
    assert needs(e1=0.5, e2=0.53) == {1.0}
    # With two that may not come out, nothing but two entries against it can decide it.
    assert needs(e1=0.9, e2=0.95) == {1.0, 2.0}
    assert needs(e1=0.9, e2=0.95, e3=0.5) == {1.0, 2.0}


def test_entries_that_are_settled_are_not_missing() -> None:
    """Of 20 entries 18 have to agree, so 3 refute it: with one that does, the two on its side are what is missing."""
    means = {1.0: around(0.9, 20, 0.001), 2.0: around(0.9, 8, 0.3), 3.0: around(0.95, 8, 0.3)}
    means |= {float(i): around(0.5, 20, 0.001) for i in range(4, 21)}
    finding = judge(printed(20), evidence_of(table_of(means), Sequential()), 0.05, 0, 1)
    assert {epsilon for _, epsilon in plain(allocate_repeats([finding], 0.05, 40))} == {2.0, 3.0}


def test_of_more_entries_than_refute_it_the_clearest_by_p_values_go_first_though_a_part_is_not_run() -> None:
    """Two are clear; of the others the one of fewer repeats has the smaller p-value, but is nearer by standard errors."""
    means = {
        1.0: around(0.665, 36, 0.3),
        2.0: around(0.7, 6, 0.15),
        3.0: around(0.9, 8, 0.3),
        4.0: around(0.95, 8, 0.3),
    }
    means |= {float(i): around(0.5, 20, 0.001) for i in range(5, 21)}
    finding = judge(printed(20), evidence_of(table_of(means), Sequential()), 0.05, 0, 1)
    effects = [one.effect for one in finding.point_results[:2]]
    assert effects[0].mean / effects[0].stderr < effects[1].mean / effects[1].stderr < 0
    for others in ([], [not_run("the profile leaves it out")]):
        assert {e for _, e in plain(allocate_repeats([finding, *others], 0.05, 40))} == {2.0, 3.0, 4.0}


@given(P_VALUES, st.sampled_from(["all", "some", "share"]), st.floats(0.05, 1), st.integers(1, 5), st.integers(0, 3))
def test_p_values_of_a_part_are_those_of_a_partial_conjunction(
    pairs: list[tuple[float, float]], quantifier: Any, share: float, parts: int, absent: int
) -> None:
    """Of m points k have to support it: the k-th smallest p-value times m - k + 1; the other way round to oppose it.

    Of points of which nothing is known p-values are 1.
    """
    m = len(pairs) + absent
    k = {"all": m, "some": 1, "share": needed_points(share, m)}[quantifier]
    result = combined([look(*pair) for pair in pairs], quantifier, Part(0, parts, 0.025), share, absent)
    support, oppose = (sorted([*side, *[1.0] * absent]) for side in zip(*pairs, strict=True))
    assert result.support == pytest.approx(min(1.0, support[k - 1] * (m - k + 1)))
    assert result.oppose == pytest.approx(min(1.0, oppose[m - k] * k * parts))


@pytest.mark.parametrize("share", [0.0, 1.01, -0.5])
def test_a_share_is_above_none_and_at_most_all(share: float) -> None:
    with pytest.raises(ValidationError, match="than or equal to 1" if share > 1 else "greater than 0"):
        PARSE(printed(3, share=share))
