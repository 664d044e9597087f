"""How far a claim is settled that is not reproduced whole, in numbers; and what would settle the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.claims.allocation import allocate_repeats, by_cell
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.judgement import Judgement
from harness.claims.results import PartResult
from harness.claims.words import Word
from harness.coordinates import Attacked
from harness.inference import FEWEST

FAR = 10_000
"""Repeats past which nothing is promised."""


def parts_text(words: Sequence[Word]) -> str:
    """`1 of 2 parts reproduced, 1 not run`; empty where all parts came out alike."""
    counts = Counter(words)
    if len(counts) < 2:
        return ""
    first, *others = sorted(counts, key=lambda word: (not word.holds, list(Word).index(word)))
    in_words = {word: word.counted if n > 1 else word for word, n in counts.items()}
    counted = [f"{counts[first]} of {len(words)} parts {in_words[first]}"]
    counted += [f"{counts[name]} {in_words[name]}" for name in others]
    return ", ".join(counted)


def tally_points(judgement: Judgement, parts: Sequence[MeasuredClaimKind], alpha: float) -> str:
    """How many points hold, fail and are open, of a claim that is not reproduced, or not by every entry of a table.

    Empty where there is only one point.
    """
    outcomes = [f.outcome for f in judgement.findings]
    by_share = any(f.quantifier == "share" for f in judgement.findings)
    if set(outcomes) == {"reproduced"} and not by_share:
        return ""
    holds = fails = total = 0
    for by_t_test, bounded in zip(judgement.by_t_test, judgement.bounded, strict=True):
        known = [
            _settled_points(f, len(parts), alpha / 2, least)
            for f, least in ((by_t_test, FEWEST), (bounded, 1))
            if f.point_results or f.exact_points
        ]
        for either in zip(*known, strict=False):
            total += 1
            holds += 1 in either
            fails += -1 in either and 1 not in either
    if total < 2 or (by_share and holds == total):
        return ""
    table = all(part.printed_entries() for part in parts)
    noun = "entries within the tolerance" if table else "points hold"
    rest = [f"{fails} {'outside' if table else 'fail'}", f"{total - holds - fails} open"]
    return ", ".join([f"{holds} of {total} {noun}", *(r for r in rest if not r.startswith("0 "))])


def _settled_points(finding: PartResult, parts: int, alpha: float, fewest: int) -> list[int]:
    """For each point 1 where it is known to hold, -1 where it is known to fail, 0 otherwise."""
    support, oppose = finding.levels(alpha, parts)
    settled = []
    for one in finding.shown_results:
        enough = finding.is_exact or one.looked_at >= fewest or one.effect.of_records
        settled.append(1 if enough and one.support <= support else -1 if enough and one.oppose <= oppose else 0)
    return settled


def would_decide(
    findings: Sequence[PartResult],
    repeats: Mapping[Attacked, int],
    seconds: float | None,
    alpha: float,
    spec_repeats: int,
    allowed: bool = True,
) -> str:
    """A sentence on how many more models would decide an open claim if its effects stay as they are, and at what cost.

    Models that are trained already, and that the claim's attack has not been run on, count too, and are told apart.

    Args:
        repeats: present repeats of each cell under each attack.
        seconds: core-seconds that one more model takes with all attacks on it; None: not known.
        allowed: whether the limits of the profile allow any more models for the claim.
    """
    needs = allocate_repeats(findings, alpha, max(spec_repeats, *repeats.values()), FAR, until_decision=True)
    more = sum(by_cell({key: max(0, target - repeats.get(key, 0)) for key, target in needs.items()}).values())
    trained = by_cell(repeats)
    new = sum(max(0, target - trained.get(cell, 0)) for cell, target in by_cell(needs).items())
    if not more and any(f.reason_fields.get("found") == "few" for f in findings):
        return "more repeats of what was seen too seldom, such as of an owner set that a split draws by chance"
    if not more:
        return "no number of repeats is likely to decide it: what is left lies too close to its margin"
    if max(needs.values()) >= FAR:
        return f"more than {FAR:,} repeats of a cell: what is left lies too close to its margin"
    cost = "" if seconds is None else f", {'at most ' if new < more else ''}{time_text(more * seconds)} on one core"
    models = "1 more model" if more == 1 else f"{more:,} more models"
    if new < more:
        models += f" under attack, {new:,} of them to train" if new else " under attack, all of them trained already"
    past = "" if allowed else "; that is past the limit of repeats or of models"
    return f"about {models}{cost}, if effects stay as they are{past}"


def time_text(seconds: float) -> str:
    """A time in words: seconds up to 90, minutes up to 90, else hours."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def seconds_a_model(table: pd.DataFrame, axes: Sequence[str]) -> float | None:
    """Core-seconds per model of a table, attacks included, as its file records; None where it does not."""
    spent = table.attrs.get("core_seconds")
    models = len(table.drop_duplicates(["arm", *axes, "repeat"]))
    return sum(spent.values()) / models if spent and models else None
