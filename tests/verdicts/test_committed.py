"""What holds of every verdict that is committed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.claims.verdict import Verdict
from harness.controls.severity import SEVERE
from harness.verdicts.multiplicity import correct_for_all_claims
from tests.conftest import REPO

PROFILES = ("sequential", "paper")


@pytest.fixture(scope="module", params=PROFILES)
def verdicts(request: pytest.FixtureRequest) -> list[Verdict]:
    files = [f for f in (REPO / "reports" / request.param).rglob("verdicts.json") if "readings" not in f.parts]
    read: list[dict[str, Any]] = [one for f in files for one in json.loads(f.read_text())["verdicts"]]
    return [Verdict.model_validate(one) for one in {one["id"]: one for one in read}.values()]


def test_what_could_not_have_failed_is_not_reproduced(verdicts: list[Verdict]) -> None:
    known = [v for v in verdicts if v.controls is not None and v.controls.severity is not None]
    assert len(known) > 50
    for v in known:
        assert v.controls is not None
        assert v.controls.severity is not None
        if v.verdict.holds or v.numbers.stands:
            assert v.controls.severity >= SEVERE - 1e-9, v.id
        if v.met_by:
            assert (v.verdict, v.certainty, v.numbers.stands) == ("inconclusive", None, None), v.id
            assert v.controls.severity < SEVERE, v.id


def test_nothing_is_reproduced_that_a_reading_contradicts(verdicts: list[Verdict]) -> None:
    read = [v for v in verdicts if v.rests_on.readings]
    assert len(read) > 20
    for v in read:
        words = {reading.verdict for reading in v.rests_on.readings}
        assert not (v.verdict.holds and words & {"violated", "differs"}), v.id
        assert not (v.verdict in ("violated", "differs") and words & {"reproduced", "agrees"}), v.id


def test_what_is_corrected_is_not_reproduced_as_it_is_printed(verdicts: list[Verdict]) -> None:
    by_id = {v.id: v for v in verdicts}
    corrected = [(v, by_id.get(v.claim.corrects or "")) for v in verdicts if v.claim.corrects]
    assert len(corrected) > 10
    for v, printed in corrected:
        if printed is not None:
            assert not printed.verdict.holds, f"{v.id} corrects {printed.id}, which is {printed.verdict}"


def test_what_stands_reaches_its_target_as_enough_others_do(verdicts: list[Verdict]) -> None:
    """By the numbers that are published: the target, and how many reach it by runs since their claim was declared."""
    tested = [v for v in correct_for_all_claims(verdicts) if v.numbers.claims_tested is not None]
    counted = {v.numbers.claims_tested for v in tested}
    assert len(counted) == 1
    fair = [v for v in tested if not v.rests_on.exploratory]
    assert len(fair) < len(tested)
    for by, target in (("t-test", 100), ("bets", 1000)):
        reaching = [v for v in fair if (p := p_of(v, by)) is not None and p <= 1 / target]
        enough = target * len(reaching) * 0.05 >= max(counted)  # type: ignore[type-var, operator]
        for v in reaching:
            assert bool(v.numbers.stands) or not enough, v.id
        for v in tested:
            if v.numbers.stands_by == by:
                assert any(v is one for one in reaching), v.id
                assert enough


def p_of(verdict: Verdict, by: str) -> float | None:
    return verdict.numbers.p_by_bets if by == "bets" else verdict.numbers.p_anytime
