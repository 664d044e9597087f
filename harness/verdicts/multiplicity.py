"""All claims of a profile together: one significance level for them, and a share of wrong ones among the decided."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.verdict import Verdict
from harness.claims.words import Certainty
from harness.inference import e_bh, holm

RATE = 0.05
"""Of wrong verdicts among those that stand, at most and on average."""


def correct_for_all_claims(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with p-values corrected over all claims on measurements, and whether each stands.

    Those that stand have an expected share of wrong verdicts of at most `RATE`. An inconclusive claim counts as tested;
    proofs, computations and exact counts do not. Of each claim two hypotheses are tested, that it holds and that it
    does not.
    """
    tested = [
        v for v in verdicts if v.numbers.p_value is not None or (v.verdict == "inconclusive" and v.numbers.points)
    ]
    adjusted = holm([1.0 if v.numbers.p_value is None else v.numbers.p_value for v in tested])
    p_values = {id(v): p for v, p in zip(tested, adjusted, strict=True) if v.numbers.p_value is not None}
    bets = [v for v in tested if v.numbers.e_value is not None]
    stand = dict(zip(map(id, bets), e_bh([v.numbers.e_value or 0.0 for v in bets], 2 * len(tested), RATE), strict=True))

    def with_corrections(v: Verdict) -> Verdict:
        stands = stand.get(id(v), False)
        sure = {"certainty": Certainty.STANDS} if stands and v.certainty is Certainty.BY_ITSELF else {}
        update = {"p_catalogue": p_values[id(v)], "claims_tested": len(tested), "stands": stands}
        return v.model_copy(update={"numbers": v.numbers.model_copy(update=update), **sure})

    return tuple(with_corrections(v) if id(v) in p_values else v for v in verdicts)
