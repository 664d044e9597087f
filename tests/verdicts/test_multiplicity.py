"""One level for all claims together."""

from __future__ import annotations

import pytest

from harness.claims.verdict import Verdict
from harness.claims.words import Certainty
from harness.report.summary import catalogue_sentence
from harness.verdicts.multiplicity import correct_for_all_claims, find_discoveries
from tests.verdict_fields import verdict_of


def verdict(name: str, **more: object) -> Verdict:
    point = {
        "expectation": 0,
        "left": 0.0,
        "right": 0.0,
        "effect": 0.0,
        "low": None,
        "high": None,
        "p_support": 1.0,
        "p_oppose": 1.0,
        "repeats": 2,
    }
    return verdict_of(
        **{
            "id": name,
            "catalogue": (),
            "paper": "p",
            "spec": "s",
            "where": "w",
            "kind": "training",
            "statement": "x",
            "inequality": (),
            "verdict": "reproduced",
            "reason": "r",
            "data": "paper",
            "profile": "full",
            "alpha": 0.05,
            "test": "t",
            "correction": "c",
            "spec_sha256": "0",
            "code": "0",
            "points": [point],
            **more,
        }
    )


def test_inconclusive_claims_count_and_theory_does_not() -> None:
    judged = [
        verdict("clear", p_value=0.001, p_by_bets=0.0005, p_anytime=0.02, basis="distribution-free"),
        verdict("faint", p_value=0.03, p_by_bets=0.4, p_anytime=0.03, basis="t-test", rarest=2),
        verdict("open", verdict="inconclusive"),
        verdict("theorem", points=[]),
        verdict("absent", verdict="not run", points=[]),
    ]
    result = {v.id: v for v in correct_for_all_claims(judged)}
    assert result["clear"].numbers.p_catalogue == pytest.approx(0.003)
    assert result["faint"].numbers.p_catalogue == pytest.approx(0.06)
    assert result["clear"].numbers.claims_tested == 3
    assert all(result[name].numbers.p_catalogue is None for name in ("open", "theorem", "absent"))
    text = catalogue_sentence(list(result.values()))
    assert text == (
        "Of the 2 verdicts decided on measurements, 1 are distribution-free, 1 rest on no outcome being rarer than stated. "
        "1 of them stand among all 3 claims tested, however these depend on each other: 1 by bets and 0 by the tests of "
        "their bases, each at a false discovery rate of 5%; 1 at level 0.05 for all together (Holm)."
    )
    assert [result[name].numbers.stands for name in ("clear", "faint", "open")] == [True, False, None]
    assert [result[name].numbers.stands_by for name in ("clear", "faint", "open")] == ["bets", None, None]
    assert catalogue_sentence([result["theorem"]]) == ""


def test_what_was_not_tested_is_not_counted() -> None:
    """An exact count has points and no p-value; a claim that is inconclusive for want of repeats may have no point."""
    decided = verdict("s#a", p_value=0.01, verdict="reproduced")
    count = verdict("s#b", p_value=None, verdict="reproduced")
    empty = verdict("s#c", p_value=None, verdict="inconclusive", points=())
    assert count.numbers.points
    assert [v.numbers.claims_tested for v in correct_for_all_claims([decided, count, empty])] == [1, None, None]
    open_ = verdict("s#d", p_value=None, verdict="inconclusive")
    assert [v.numbers.claims_tested for v in correct_for_all_claims([decided, open_])] == [2, None]


def test_two_hypotheses_are_counted_for_each_claim_of_a_survey() -> None:
    """Alone at a rate of 5%: 40 is enough for one claim, which holds or does not; 39 is not."""
    for e_value, found in ((40.0, {"s#a"}), (39.0, set())):
        assert find_discoveries([verdict("s#a", p_value=0.001, e_value=e_value)]) == found
    # Of two claims, one of which is open, 80; and of five that are alike, 40, as of one.
    open_ = verdict("s#open", verdict="inconclusive")
    for e_value, found in ((80.0, {"s#a"}), (79.0, set())):
        assert find_discoveries([verdict("s#a", p_value=0.001, e_value=e_value), open_]) == found
    alike = [verdict(f"s#{i}", p_value=0.001, e_value=40.0) for i in range(5)]
    assert find_discoveries(alike) == {one.id for one in alike}


def claims_of(
    t_test: int, of: int, bets: int = 0, both: int = 0, p_t_test: float = 1 / 100, p_bets: float = 1 / 1000
) -> list[Verdict]:
    """So many claims tested: some verdicts reach the target by the t-test, some by bets, some by both; others are open."""
    unclear = {"p_value": 0.05, "p_anytime": 0.05, "p_by_bets": 0.5}
    decided = [verdict(f"t{i}", **unclear | {"p_anytime": p_t_test}) for i in range(t_test)]
    decided += [verdict(f"b{i}", **unclear | {"p_by_bets": p_bets}) for i in range(bets)]
    decided += [verdict(f"tb{i}", **unclear | {"p_anytime": p_t_test, "p_by_bets": p_bets}) for i in range(both)]
    return decided + [verdict(f"open{i}", verdict="inconclusive") for i in range(of - len(decided))]


def standing(verdicts: list[Verdict]) -> dict[str, str | None]:
    """By what each verdict stands, of those that do."""
    corrected = correct_for_all_claims(verdicts)
    assert all(v.numbers.stands == (v.numbers.stands_by is not None) for v in corrected if v.numbers.p_value)
    return {v.id: v.numbers.stands_by for v in corrected if v.numbers.stands}


@pytest.mark.parametrize(
    ("k", "m", "stand"),
    [(1, 5, True), (1, 6, False), (2, 10, True), (2, 11, False), (3, 11, True), (9, 49, False), (10, 49, True)],
)
def test_all_that_reach_the_target_stand_where_they_are_enough_and_else_none(k: int, m: int, stand: bool) -> None:
    """By the t-test: 100 k has to be at least 20 m, so a fifth of the claims tested has to reach it."""
    assert standing(claims_of(k, m)) == ({f"t{i}": "t-test" for i in range(k)} if stand else {})


@pytest.mark.parametrize(("k", "m", "stand"), [(1, 50, True), (1, 51, False), (2, 51, True), (2, 101, False)])
def test_by_bets_one_in_fifty_is_enough(k: int, m: int, stand: bool) -> None:
    """1,000 k has to be at least 20 m."""
    assert standing(claims_of(0, m, bets=k)) == ({f"b{i}": "bets" for i in range(k)} if stand else {})


def test_what_is_just_short_of_its_target_does_not_reach_it() -> None:
    assert standing(claims_of(1, 1, p_t_test=1 / 99.9)) == {}
    assert standing(claims_of(0, 1, bets=1, p_bets=1 / 999)) == {}
    # It counts among the claims tested all the same, and more evidence than the target is worth no more.
    short = verdict("short", p_value=0.03, p_anytime=0.03)
    for p_t_test in (1 / 100, 1e-30):
        assert standing([*claims_of(1, 4, p_t_test=p_t_test), short]) == {"t0": "t-test"}
        assert standing([*claims_of(1, 5, p_t_test=p_t_test), short]) == {}


def test_bets_are_apart_from_the_t_test() -> None:
    """What reaches the target of the one does not count for the other."""
    assert standing(claims_of(9, 50, bets=1)) == {"b0": "bets"}
    assert standing(claims_of(10, 50, bets=1)) == {"b0": "bets"} | {f"t{i}": "t-test" for i in range(10)}
    assert standing(claims_of(11, 60, bets=1)) == {}
    assert standing(claims_of(12, 60, bets=1)) == {f"t{i}": "t-test" for i in range(12)}
    # Of what reaches both, that is said which assumes least; and it counts for both.
    assert standing(claims_of(9, 50, both=1)) == {"tb0": "bets"} | {f"t{i}": "t-test" for i in range(9)}
    assert standing(claims_of(11, 60, both=1)) == {"tb0": "t-test"} | {f"t{i}": "t-test" for i in range(11)}


def test_theory_and_exact_counts_are_none_of_the_claims_tested() -> None:
    theorems = [verdict(f"theorem{i}", points=[]) for i in range(9)]
    counts = [verdict(f"count{i}", p_value=None) for i in range(9)]
    left_out = [verdict(f"absent{i}", verdict="not run", points=[]) for i in range(9)]
    assert standing([*claims_of(1, 5), *theorems, *counts, *left_out]) == {"t0": "t-test"}
    assert standing([*claims_of(1, 6), *theorems, *counts, *left_out]) == {}


def test_a_verdict_that_stands_is_surer_than_one_by_itself() -> None:
    one = verdict("s#a", p_value=0.001, p_anytime=0.001, certainty=Certainty.BY_ITSELF)
    found = [correct_for_all_claims([one, *claims_of(0, others)])[0] for others in (4, 5)]
    assert [(v.numbers.stands, v.certainty) for v in found] == [
        (True, Certainty.STANDS),
        (False, Certainty.BY_ITSELF),
    ]
    untold = one.model_copy(update={"certainty": None})
    assert correct_for_all_claims([untold])[0].certainty is None
