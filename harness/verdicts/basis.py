"""What a verdict rests on: the metrics' ranges alone where these decide, else a t-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.claims.design import Bounded, Design, Sequential, Summarised
from harness.claims.results import PartResult, PointResult
from harness.claims.sequential import JudgeClaim, first_deciding_look, is_decided
from harness.claims.testing import Look
from harness.claims.verdict import Basis, Outcome, Point
from harness.inference.e_values import calibrate_p_value, e_value_of_bets, e_value_of_t_mixture
from harness.inference.shares import share_at_least
from harness.verdicts.bounds import bounds_at

LARGEST_E = 1e12
BY_RANGES = Bounded()
"""The method that uses nothing but the range of what is measured."""


@dataclass(frozen=True)
class Judgement:
    """A claim's findings on the basis that its verdict rests on."""

    findings: list[PartResult]
    by_t_test: list[PartResult]
    """What the design's own test finds at the same repeats."""
    bounded: list[PartResult]
    """What the metrics' ranges alone say."""
    decided_at: int | None
    """Repeats at the look that decided, where the design is sequential."""
    e_value: float | None


def judge_on_basis(judge_claim: JudgeClaim, look: Look, alpha: float, findings_only: bool = False) -> Judgement:
    """Judge a claim on the metrics' ranges alone where these decide it, else by the method of the look.

    With `findings_only`, what the other method finds and the e-value are left out: it is not to be shown.
    """
    method, decided_at = look.method, None
    is_distribution_free = is_decided(judge_claim(look.by(BY_RANGES)))
    if method.name == "sequential":
        _, decided_at = first_deciding_look(judge_claim, look.by(BY_RANGES) if is_distribution_free else look)
        look = look.take_first(decided_at or look.repeats)
    if findings_only:
        return Judgement([*judge_claim(look.by(BY_RANGES) if is_distribution_free else look)], [], [], decided_at, None)
    by_t_test, bounded = [*judge_claim(look)], [*judge_claim(look.by(BY_RANGES))]
    findings = bounded if is_distribution_free else by_t_test
    e_value = _e_value(judge_claim, look, findings, is_distribution_free)
    return Judgement(findings, by_t_test, bounded, decided_at, e_value)


def _e_value(
    judge_claim: JudgeClaim, look: Look, findings: Sequence[PartResult], is_distribution_free: bool
) -> float | None:
    """What the last look alone says against the opposite of a verdict; None where there is none, or it is exact."""
    outcome = combined_outcome([f.outcome for f in findings])
    if outcome not in ("reproduced", "violated") or all(f.p_value is None for f in findings):
        return None
    summary = isinstance(look.method, Summarised)
    last: Design = Sequential(last_look_only=True)
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


def combined_outcome(outcomes: list[Outcome]) -> Outcome:
    """The outcome of a claim all of whose parts must hold."""
    order: tuple[Outcome, ...] = ("violated", "not run", "inconclusive")
    return next((o for o in order if o in outcomes), "reproduced")


def basis_of(judgement: Judgement, outcome: Outcome) -> tuple[Basis | None, int]:
    """The basis of a verdict, and the fewest repeats of a point that it needs."""
    if outcome not in ("reproduced", "violated"):
        return None, 0
    deciding = [f for f in judgement.findings if f.outcome == outcome]
    if all(f.is_exact for f in deciding):
        return "exact", 0
    if judgement.findings is judgement.bounded:
        return "distribution-free", 0
    if any(look.effect.of_records for f in deciding for look in _deciding_points(f)):
        return "record-sampling", 0
    measured = [f for f in deciding if f.deciding is not None and not f.is_exact]
    return "t-test", min(look.effect.tested_repeats for f in measured for look in _deciding_points(f))


def _deciding_points(finding: PartResult) -> list[PointResult]:
    """The points without which the outcome would not be known; the clearest, where only some are needed."""
    m, against = len(finding.shown_results) + finding.absent, finding.outcome == "violated"
    needed = m - finding.needed + 1 if against else finding.needed
    if needed == 1:
        return [] if finding.place is None else [finding.point_results[finding.place]]
    clearest = sorted(finding.point_results, key=lambda one: one.oppose if against else one.support)
    return clearest[:needed]


def points_of(judgement: Judgement, look: Look, alpha: float) -> list[Point]:
    """All points as the look's own method sees them, with the shares and intervals that need no assumption, and with
    how they stand to a bound on what an attack can do."""
    points, sequential = [], look.method.name == "sequential"
    for by_t_test, bounded in zip(judgement.by_t_test, judgement.bounded, strict=True):
        for index, one in enumerate(by_t_test.points):
            extra_fields: dict[str, object] = {}
            if index < len(by_t_test.point_results):
                extra_fields |= bounds_at(by_t_test.shown_results[index], look)
                if (holds := by_t_test.point_results[index].holds) is not None:
                    count = int(holds.sum())
                    extra_fields |= {"holds": count, "share": share_at_least(count, len(holds), alpha / 2, sequential)}
            if index < len(bounded.points):
                free = bounded.points[index]
                extra_fields |= {"free_low": free.low, "free_high": free.high}
            points.append(one.model_copy(update=extra_fields))
    return points
