"""All claims of a profile together: one significance level for them, and a share of wrong ones among the decided.

A verdict stands by a target T that was fixed before any of them was judged. Its e-value is T if its p-value over all
looks, with the claim's points and parts in it, is at most 1/T, else 0. Of a claim and its opposite exactly one is a
true null hypothesis, so of m claims tested at most m e-values have a null to be wrong about, and each is T with a
chance of at most 1/T (Ville's inequality, for any dependence between claims and any reason to stop). If k verdicts
reach the target and T k is at least m / 0.05, then the share of wrong ones among the k is at most 5% on average,
since it is at most the number of wrong ones times 0.05 T / m. Otherwise none stands. The rule is used on bets, which
assume nothing but the metric's range, and apart from that on the t-test. A verdict that is exploratory, since it takes
runs that had been seen when its claim was written, counts as tested and reaches no target.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.verdict import StandsBy, Verdict
from harness.claims.words import Certainty
from harness.inference import e_bh, holm

RATE = 0.05
"""Of wrong verdicts among those that stand, at most and on average."""
TARGETS: dict[StandsBy, float] = {"bets": 1000.0, "t-test": 100.0}
"""What evidence against the opposite, 1 over the p-value, is to reach. They were fixed by the number of claims, some
400, before runs went on to them: as T k has to reach m / 0.05, a fifth of the claims is to reach 100, or one in fifty
1,000."""


def correct_for_all_claims(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with p-values corrected over all claims on measurements, and whether each stands.

    Those that stand have an expected share of wrong verdicts of at most `RATE`. An inconclusive claim counts as tested;
    proofs, computations and exact counts do not.
    """
    tested = tested_of(verdicts)
    adjusted = holm([1.0 if (p := v.numbers.p_value) is None or v.rests_on.exploratory else p for v in tested])
    p_values = {id(v): p for v, p in zip(tested, adjusted, strict=True) if v.numbers.p_value is not None}
    standing: dict[StandsBy, set[int]] = {by: _reaching(by, tested) for by in TARGETS}

    def with_corrections(v: Verdict) -> Verdict:
        by = next((name for name, reached in standing.items() if id(v) in reached), None)
        stands = by is not None
        sure = {"certainty": Certainty.STANDS} if stands and v.certainty is Certainty.BY_ITSELF else {}
        told = {"p_catalogue": p_values[id(v)], "claims_tested": len(tested), "stands": stands, "stands_by": by}
        return v.model_copy(update={"numbers": v.numbers.model_copy(update=told), **sure})

    return tuple(with_corrections(v) if id(v) in p_values else v for v in verdicts)


def tested_of(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on claims that were tested on measurements, the inconclusive ones among them."""
    return [v for v in verdicts if v.numbers.p_value is not None or (v.verdict == "inconclusive" and v.numbers.points)]


def _reaching(by: StandsBy, tested: Sequence[Verdict]) -> set[int]:
    """Which verdicts stand by a test, as their ids: all that reach its target, if they are enough, else none."""
    target = TARGETS[by]
    fair = [v for v in tested if not v.rests_on.exploratory]
    p_values = {id(v): v.numbers.p_by_bets if by == "bets" else v.numbers.p_anytime for v in fair}
    reached = {one for one, p in p_values.items() if p is not None and p <= 1 / target}
    return reached if target * len(reached) >= len(tested) / RATE else set()


def find_discoveries(verdicts: Sequence[Verdict]) -> set[str]:
    """Ids of the verdicts that are discoveries of e-BH (Wang and Ramdas 2022) among the claims tested, on two
    hypotheses for each: for a survey, where few of many claims are expected to be decided."""
    tested = tested_of(verdicts)
    bets = [v for v in tested if v.numbers.e_value is not None]
    found = e_bh([v.numbers.e_value or 0.0 for v in bets], 2 * len(tested), RATE)
    return {v.id for v, chosen in zip(bets, found, strict=True) if chosen}
