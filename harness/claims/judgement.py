"""A claim judged: on all repeats, by the metrics' ranges alone where these decide it, else by a t-test.

Its tests may be looked at after each repeat (`harness.inference.t_mixture`). The first of the looks after 2, 3, ...
repeats that decides it gives the verdict, which is the same at all later ones, since evidence only grows, unless the
mean of all repeats lies on the other side of the line; what is estimated, and with which interval, is of all repeats
there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.claims.design import Bounded, Design, NoCommonRepeat, Sequential, Summarised
from harness.claims.results import PartResult, PointResult
from harness.claims.testing import Look
from harness.claims.verdict import Basis, Outcome
from harness.claims.whole import combined_outcome, is_decided, is_decided_by
from harness.coordinates import Cell
from harness.inference.e_values import calibrate_p_value, e_value_of_bets, e_value_of_t_mixture
from harness.inference.estimates import SequentialEstimate
from harness.inference.shares import rarity_bound

LARGEST_E = 1e12
BY_RANGES = Bounded()
"""The method that uses nothing but the range of what is measured."""
JudgeClaim = Callable[[Look], Sequence[PartResult]]
"""The results of a claim's parts. They may be worked out one by one, as they are asked for."""


@dataclass(frozen=True)
class Judgement:
    """A claim's findings on the basis that its verdict rests on, over all repeats."""

    findings: list[PartResult]
    by_t_test: list[PartResult]
    """What the design's own test finds at the same repeats."""
    bounded: list[PartResult]
    """What the metrics' ranges alone say."""
    decided_at: int | None
    """Repeats at the first look that decided, where the design is sequential."""
    models: tuple[int, int]
    """Number of models at that look, of all where none decides, and number of their cells."""
    e_value: float | None
    """Of that look."""
    p_anytime: float | None = None
    """The verdict's p-value by the design's own test, over all looks at all repeats there are; None where nothing was
    tested."""
    p_by_bets: float | None = None
    """The same by the metrics' ranges alone."""
    is_sequential: bool = False
    """Whether repeats were added until claims were decided."""


def judge_on_basis(judge_claim: JudgeClaim, look: Look, alpha: float, findings_only: bool = False) -> Judgement:
    """Judge a claim on the metrics' ranges alone where these decide it, else by the method of the look.

    With `findings_only`, what the other method finds and the e-value are left out: it is not to be shown.
    """
    decided_at, sequential = None, look.method.name == "sequential"
    bounded = judge_claim(look.by(BY_RANGES))
    is_distribution_free = is_decided(bounded)
    if findings_only:
        findings = [*(bounded if is_distribution_free else judge_claim(look))]
        return Judgement(findings, [], [], None, (0, 0), None, is_sequential=sequential)
    by_t_test = [*judge_claim(look)]
    findings = [*bounded] if is_distribution_free else by_t_test
    first = look
    if sequential:
        _, decided_at = first_deciding_look(judge_claim, look.by(BY_RANGES) if is_distribution_free else look)
        first = look.take_first(decided_at or look.repeats)
    at_first = [*judge_claim(first.by(BY_RANGES) if is_distribution_free else first)]
    return Judgement(
        findings,
        by_t_test,
        findings if is_distribution_free else [*bounded],
        decided_at,
        cells_used(at_first),
        _e_value(judge_claim, first, at_first, is_distribution_free),
        _p_of_all_repeats(by_t_test, findings, 2.0),  # 1 / M_n, which holds for both sides at once
        _p_of_all_repeats(bounded, findings),
        sequential,
    )


def _p_of_all_repeats(
    results: Sequence[PartResult], findings: Sequence[PartResult], times: float = 1.0
) -> float | None:
    """P-value by the `results` of one method of the verdict that `findings` are, with the claim's points and parts in
    it; None where there is none, or it is exact."""
    outcome = combined_outcome([f.outcome for f in findings])
    if outcome not in ("reproduced", "violated") or all(f.p_value is None for f in findings):
        return None
    p_values = [f.support if outcome == "reproduced" else f.oppose for f in results]
    return min(1.0, times * (max(p_values) if outcome == "reproduced" else min(p_values)))


def first_deciding_look(judge_claim: JudgeClaim, look: Look) -> tuple[Sequence[PartResult], int | None]:
    """The results at the first repeats that decide a claim, with their number; without them, those of all repeats and
    None."""
    # Evidence only grows with the repeats, so a part that one look decides is decided alike at all later ones; but for
    # looks at which the mean lies across the line, of which the search may take one for the last undecided look.
    repeats, parts = max(2, look.repeats), judge_claim(look)
    outcomes = [part.outcome for part in parts]
    if not is_decided_by(outcomes):
        return parts, None
    violated = [index for index, outcome in enumerate(outcomes) if outcome == "violated"]
    reproduced = [index for index, outcome in enumerate(outcomes) if outcome == "reproduced"]

    def decides(n: int) -> bool:
        parts = judge_claim(look.take_first(n))
        try:
            if violated:
                return any(parts[index].outcome == "violated" for index in violated)
            return all(parts[index].outcome == "reproduced" for index in reproduced)
        except NoCommonRepeat:  # sides that start at other repeats have none together yet
            return False

    guess = min if violated else max
    n = _first_number(2, repeats, decides, guess(_guess_repeats(parts[index]) for index in violated or reproduced))
    return judge_claim(look.take_first(n)), n


def _guess_repeats(part: PartResult) -> int:
    """A guess at the first repeats that decide a part as it was decided."""
    support, oppose = part.levels(part.level, part.parts)
    violated = part.outcome == "violated"
    level, sign = (oppose, -1.0) if violated else (support, 1.0)
    points = sorted(
        one.effect.guess_repeats(level, sign) if isinstance(one.effect, SequentialEstimate) else one.looked_at
        for one in part.point_results
    )
    needed = len(points) + part.absent - part.needed + 1 if violated else part.needed
    return points[min(needed, len(points)) - 1] if points else 0


def _first_number(low: int, high: int, decides: Callable[[int], bool], guess: int) -> int:
    """The first of the numbers from `low` to `high` that decides, where all after it do, and `high` does."""
    place = min(max(guess, low), high)
    while low < high:
        if place == high or decides(place):
            high = place
            if place == low or not decides(place - 1):
                return place
            high = place - 1
        else:
            low = place + 1
        place = (low + high) // 2
    return high


def cells_used(findings: Sequence[PartResult]) -> tuple[int, int]:
    """Number of trained models that results rest on, and number of their cells."""
    repeats: dict[Cell, int] = {}
    for look in (look for f in findings for look in f.point_results):
        for cell in look.cells | look.decided_on:
            repeats[cell] = max(repeats.get(cell, 0), look.repeats)
    return sum(repeats.values()), len(repeats)


def _e_value(
    judge_claim: JudgeClaim, look: Look, findings: Sequence[PartResult], is_distribution_free: bool
) -> float | None:
    """What the last look alone says against the opposite of a verdict; None where there is none, or it is exact."""
    outcome = combined_outcome([f.outcome for f in findings])
    if outcome not in ("reproduced", "violated") or all(f.p_value is None for f in findings):
        return None
    summary = isinstance(look.method, Summarised)
    last: Design = Sequential(last_look_only=True, rarest=1.0)  # M_n itself
    if is_distribution_free:
        last = Bounded(last_look_only=True)
    elif summary:  # there are no repeats to bet on one after another
        last = look.method
    p_values = [f.support if outcome == "reproduced" else f.oppose for f in judge_claim(look.by(last))]
    p_value = max(1e-300, max(p_values) if outcome == "reproduced" else min(p_values))
    if is_distribution_free:
        e_value = e_value_of_bets(p_value)
    elif summary or any(one.effect.of_records for f in findings for one in f.point_results):
        e_value = calibrate_p_value(p_value)
    else:
        e_value = e_value_of_t_mixture(p_value)
    return min(LARGEST_E, e_value)


def basis_of(judgement: Judgement, outcome: Outcome) -> tuple[Basis | None, int | None]:
    """The basis of a verdict, and of a t-test the N such that it could have missed an outcome rarer than 1 in N.

    N is that of the point with the fewest repeats for its level, which is what a claim's points and parts leave of it.
    """
    if outcome not in ("reproduced", "violated"):
        return None, None
    deciding = [f for f in judgement.findings if f.outcome == outcome]
    if all(f.is_exact for f in deciding):
        return "exact", None
    if judgement.findings is judgement.bounded:
        return "distribution-free", None
    if any(look.effect.of_records for f in deciding for look in _deciding_points(f)):
        return "record-sampling", None
    measured = [f for f in deciding if f.deciding is not None and not f.is_exact]
    against = outcome == "violated"
    known = [
        rarity_bound(look.effect.tested_repeats, f.levels(f.level, f.parts)[against])
        for f in measured
        for look in _deciding_points(f)
    ]
    return "t-test", math.floor(min(known))


def hold_back_turned(finding: PartResult) -> PartResult:
    """A part of a claim without its decision where the mean of all repeats looked at lies across the line.

    The test may stop at its first decisive look, and what is decided there stays decided, at its level. Where the
    repeats since take the mean across the line, both can not be said, and nothing is (docs/statistics.md).
    """
    if finding.outcome not in ("reproduced", "violated") or finding.is_exact:
        return finding
    sign = -1.0 if finding.outcome == "violated" else 1.0
    if all(sign * one.effect.mean >= 0 for one in _deciding_points(finding)):
        return finding
    return replace(finding.add_to_reason(turned=True), outcome="inconclusive", p_value=None)


def _deciding_points(finding: PartResult) -> list[PointResult]:
    """The points without which the outcome would not be known; the clearest, where only some are needed."""
    m, against = len(finding.shown_results) + finding.absent, finding.outcome == "violated"
    needed = m - finding.needed + 1 if against else finding.needed
    if needed == 1:
        return [] if finding.place is None else [finding.point_results[finding.place]]
    clearest = sorted(finding.point_results, key=lambda one: one.oppose if against else one.support)
    return clearest[:needed]
