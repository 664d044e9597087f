"""What holds of every verdict that is committed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.claims.verdict import Verdict
from harness.controls.severity import SEVERE
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
