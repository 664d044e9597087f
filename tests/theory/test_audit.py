"""Claims on audits: what they need to be true, what is refused, and the committed ones."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.paths import Project
from harness.spec.load import load_specs
from harness.theory.kinds.audit import Audit
from tests.claims.judged import PARSE
from tests.conftest import REPO


def audit(**fields: Any) -> Any:
    given: dict[str, Any] = {
        "kind": "audit",
        "of": {"epsilon": 0.2, "records": 16, "batch_size": 16, "epochs": 4},
        "auditor": {"kind": "gaussian"},
        "relation": "<=",
        "right": "claimed",
        "runs": 80,
        "audits": 7,
    }
    return PARSE({**given, **fields})


BROKEN = {"epsilon": 0.2, "records": 16, "batch_size": 16, "epochs": 4, "bug": "noise-over-batch"}


def test_a_sound_training_stays_below_its_claim_and_a_broken_one_does_not() -> None:
    assert audit().judge().outcome == "reproduced"
    result = audit(of=BROKEN).judge()
    assert result.outcome == "violated"
    assert result.counterexample["left"] > result.counterexample["right"] == 0.2
    assert audit(of=BROKEN, relation=">").judge().outcome == "reproduced"
    assert audit(relation=">").judge().outcome == "inconclusive"  # an audit that finds nothing shows nothing
    assert audit(of=BROKEN, relation=">", right=50.0).judge().outcome == "inconclusive"


def test_chance_is_allowed_for() -> None:
    """Of seven audits at 95%, one above the claim has a chance of 30%, two of 4.4%, three of 0.4%."""

    class Counted(Audit):
        above: int = 0

        def _bounds(self, number: int) -> tuple[float, float]:
            return (1.0 if number < self.above else 0.0), 0.5

    for above, outcome in ((0, "reproduced"), (2, "reproduced"), (3, "violated")):
        given = audit().model_dump()
        assert Counted.model_validate({**given, "above": above}).judge().outcome == outcome
    pairs = {**audit().model_dump(), "relation": "below", "right": "all-steps"}  # less than 0.5, or more
    for above, outcome in ((0, "reproduced"), (1, "inconclusive"), (7, "violated")):
        assert Counted.model_validate({**pairs, "above": above}).judge().outcome == outcome


def test_the_same_claim_is_judged_the_same() -> None:
    first, again = (audit(of=BROKEN, seed=3).judge() for _ in range(2))
    assert first == again
    assert first != audit(of=BROKEN, seed=4).judge()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"relation": "below"}, "does not go with right 'claimed'"),
        ({"right": "final"}, "does not go with right 'final'"),
        ({"relation": "below", "right": "final", "audits": 6}, "6 audits decide nothing; at least 7"),
        ({"auditor": {"kind": "one-run"}}, "looks at one run, these are audits of many"),
        ({"of": {"epsilon": 1, "records": 16, "batch_size": 32}}, "a batch of 32 from 16 records"),
        ({"of": {"epsilon": 1, "bug": "typo"}}, "noise-over-batch"),
        ({"runs": 3}, "greater than or equal to 20"),
        ({"auditor": {"kind": "clopper"}}, "clopper-pearson"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        audit(**fields)


@pytest.mark.slow
def test_the_committed_claims_on_audits() -> None:
    """Each as the paper has it; seeds are fixed, so a change here is a change of the code."""
    spec = load_specs(Project(REPO), ["tramer2025/auditing"])[0].spec
    assert {c for claim in spec.claims for c in claim.catalogue} == {
        "m-audit-valid",
        "m-audit-catches-bug",
        "m-final-model-gap",
    }
    for claim in spec.claims:
        assert {e.judge().outcome for e in claim.theory} == {"reproduced"}, claim.id
