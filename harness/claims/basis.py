"""What a verdict rests on, in words."""

from __future__ import annotations

from harness.claims.verdict import Verdict


def basis_text(verdict: Verdict) -> str:
    """What a verdict rests on, in words; empty where there is nothing to say."""
    return {
        None: "",
        "proof": "proved, without measurements",
        "computed": "computed at every point listed, without measurements",
        "simulated": "counted over simulated runs",
        "exact": "an exact count",
        "distribution-free": "a distribution-free test: nothing is assumed of how runs vary",
        "t-test": f"a t-test: so few runs could miss an outcome that is rarer than 1 in {verdict.rests_on.rarest}",
        "record-sampling": "errors of drawing records, for the models trained",
    }[verdict.rests_on.basis]
