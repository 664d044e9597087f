"""Reasons as data: what is written reads back, and sentences say what the data say."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.claims.reasons import Counted, Reason, of_parts, proof_in_words, reason_in_words
from harness.claims.verdict import VerdictFile, in_json
from tests.conftest import REPO

numbers = st.floats(allow_nan=False, width=64)
MEASURED = st.builds(
    Reason,
    found=st.sampled_from(["holds", "fails", "undecided", "few"]),
    quantifier=st.sampled_from(["all", "some"]),
    at=st.dictionaries(st.sampled_from(["epsilon", "p"]), st.floats(0, 1e4), max_size=2),
    left=st.floats(-10, 10),
    right=st.floats(-10, 10),
    effect=st.floats(-10, 10),
    low=st.none() | st.floats(-10, 10),
    high=st.none() | st.floats(-10, 10),
    repeats=st.integers(1, 99),
    fewest=st.integers(2, 9),
)
OF_THEORY = st.builds(
    Reason,
    found=st.sampled_from(["proved", "refuted", "computed", "unproved"]),
    at=st.dictionaries(st.sampled_from(["epsilon", "delta"]), numbers, max_size=2),
    left_name=st.just("f(epsilon)"),
    right_name=st.just("g(epsilon)"),
    left=st.none() | numbers,
    right=numbers,
    boxes=st.integers(1, 9),
    share=st.none() | st.floats(0, 1),
)


@given(MEASURED | OF_THEORY)
@example(Reason(found="proved", at={"epsilon": math.inf}, left=-math.inf, right=math.inf))
def test_a_reason_is_strict_json_and_reads_the_same_from_it(reason: Reason) -> None:
    written = json.dumps(reason.model_dump(mode="json"), allow_nan=False)
    again = Reason.model_validate_json(written)
    assert again == reason
    assert again.text() == reason.text()


@given(MEASURED)
def test_without_its_effect_a_reason_says_the_rest(reason: Reason) -> None:
    assert ", effect " in reason.text()
    assert ", effect " not in reason.text(effect=False)
    assert f"{reason.left:.3g} against {reason.right:.3g}" in reason.text(effect=False)


@pytest.mark.parametrize("profile", ["paper", "sequential"])
def test_what_a_committed_verdict_says_is_what_its_reasons_say(profile: str) -> None:
    text = (REPO / "reports" / profile / "verdicts.json").read_text()
    for verdict in VerdictFile.model_validate_json(text).verdicts:
        if not verdict.reasons:
            assert verdict.verdict == "not run"
            continue
        assert [reason.part for reason in verdict.reasons] == list(range(len(verdict.parts)))
        deciding = [verdict.reasons[index] for index in verdict.because]
        several = of_parts(deciding, len(verdict.parts))
        assert any(said in verdict.reason for said in (several, of_parts(deciding, len(verdict.parts), numbered=False)))
        for reason in verdict.reasons:
            if reason.point is not None and reason.found in ("holds", "fails", "undecided", "few"):
                point = verdict.numbers.points[reason.point]
                # bets take off what the split drew, so their mean on the left may be another than the repeats'
                assert point.expectation == reason.part
                assert reason.at == ({} if point.epsilon is None else {"epsilon": point.epsilon}) | (point.at or {})
        assert VerdictFile.model_validate_json(
            json.dumps({"profile": profile, "alpha": 0.05, "verdicts": [in_json(verdict)]}, allow_nan=False)
        ).verdicts == (verdict,)


def test_the_words_of_each_sort() -> None:
    game = Reason(found="played", left_name="tpr", left=0.5, low=0.25, high=math.inf, right=0.75)
    assert game.text() == "tpr 0.5 [0.25, inf] against 0.75"
    counts = (
        Counted(name="rows", printed=48842, found=(48842.0,)),
        Counted(name="owners", printed=7, found=(6.0, 8.0)),
    )
    assert Reason(found="counted", counts=counts).text() == "owners is 6, 8 (printed: 7)"
    assert Reason(found="counted", counts=counts[:1]).text() == "all 1 counts are as printed in every repeat"
    assert proof_in_words("rises everywhere").text() == "proved: rises everywhere"
    assert proof_in_words("rises everywhere").found == "proved"
    chosen = reason_in_words("undecided").model_copy(update={"unless": "a tolerance of 2", "chosen": ("p chosen: 1",)})
    assert chosen.text() == "undecided, but not with a tolerance of 2; p chosen: 1"
    refuted = Reason(
        found="refuted", left_name="f", right_name="g", left=1.0, right=math.inf, at={"epsilon": 0.5}, share=0.25
    )
    assert refuted.text() == "refuted (at 25% of the points): f = 1 against inf at epsilon = 0.5"
    assert of_parts([refuted, chosen], 3).startswith("part 1 of 3: refuted (at 25%")
