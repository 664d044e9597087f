"""False-positive rates that a run has too few non-members to show, and what setting a threshold on them does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import MetricSeries
from harness.claims.results import PartResult, unknown_part
from harness.claims.testing import Look
from harness.errors import HarnessError
from harness.metrics import METRICS

WORTH_SAYING = 1.05
"""Times the rate that is asked for, from which on the average rate is said."""
CHANCE = 0.5
"""AUC of scores that tell nothing."""
ROUNDING = 1e-9
"""A rate times a number of records that is a whole number but for rounding is that number."""


def rate_not_shown(part: MeasuredClaimKind, evidence: Measurements) -> PartResult | None:
    """An *inconclusive* result for a part on a false-positive rate of less than one non-member a run; None for others.

    No threshold has such a rate on these records. The one above all of them has a rate that may be many times the one
    that is asked for, in each run alike, so that no number of runs mends it. A rate of 0 is one of the records at hand
    by what it says, and is not refused.
    """
    for fpr, n in _rates(part, evidence):
        if fpr and not _count_above(fpr, n):
            return unknown_part(
                f"a false-positive rate of {100 * fpr:.4g}% is measured on at least {math.ceil(1 / fpr - ROUNDING):,} "
                f"non-members a run, and a run has {n:,}; more runs do not mend that"
            )
    return None


def describe_rates(parts: Sequence[MeasuredClaimKind], evidence: Measurements) -> tuple[str, ...]:
    """Sentences on how few non-members set the threshold for a false-positive rate, where that matters.

    With the threshold just below the (k + 1)-th highest of n scores, a further non-member of the same distribution is
    above it with probability (k + 1) / (n + 1), whatever the distribution (the rank of a score among n + 1 that are
    exchangeable is uniform).
    """
    fewest: dict[float, int] = {}
    for part in parts:
        for fpr, n in _rates(part, evidence):
            fewest[fpr] = min(n, fewest.get(fpr, n))
    texts = []
    for fpr, n in fewest.items():
        above = _count_above(fpr, n)
        average = (above + 1) / (n + 1)
        if not fpr:
            texts.append(
                f"The threshold for a false-positive rate of 0 is above all {n:,} non-members of a run; of others like "
                f"them {100 * average:.2g}% pass it on average."
            )
        elif above and average > fpr * WORTH_SAYING:
            texts.append(
                f"The threshold for a false-positive rate of {100 * fpr:.4g}% is set by {n:,} non-members a run, "
                f"{above} of which pass it; of others like them {100 * average:.2g}% pass it on average."
            )
    return tuple(texts)


def describe_turned_scores(parts: Sequence[MeasuredClaimKind], look: Look) -> tuple[str, ...]:
    """A sentence on each attack of a claim whose scores are, by the mean of its AUC, higher for non-members."""
    turned, table = [], look.samples.table
    for operand in (one for part in parts for one in part.operands()):
        for curve in (MetricSeries("auc", arm, attack) for arm in operand.arm for attack in operand.attack):
            try:
                wheres = table.grid([curve], {"epsilon": table.levels(curve, "epsilon")})
            except HarnessError:  # a file that is read for other metrics alone
                continue
            means = (look.samples.of_curve(curve, where).mean(look.method, look.first) for where in wheres)
            if any(mean.interval()[1] < CHANCE for mean in means):
                turned.append(
                    f"Scores of {curve.attack} ({curve.arm}) are higher for non-members: its AUC is below one half. A "
                    "score has to be higher for members; if these have the other sign, turn it."
                )
    return tuple(dict.fromkeys(turned))


def _count_above(fpr: float, n: int) -> int:
    """How many of n non-members may be above the threshold."""
    return math.floor(fpr * n + ROUNDING)


def _rates(part: MeasuredClaimKind, evidence: Measurements) -> Iterator[tuple[float, int]]:
    """False-positive rates that a part asks for, each with the fewest non-members that a run has for it, if known."""
    for operand in part.operands():
        for metric in operand.metrics:
            known = METRICS.get(metric)
            if known is None or known.scope != "attack" or "fpr" not in known.coordinates:
                continue
            for arm in operand.arm:
                for attack in operand.attack:
                    if (n := evidence.nonmembers(arm, attack, metric)) is not None:
                        yield known.coordinates["fpr"], n
