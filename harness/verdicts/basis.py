"""What a verdict rests on: the metrics' ranges alone where these decide, else a t-test."""

from __future__ import annotations

from dataclasses import dataclass

from harness.claims.design import Bounded, Design, Sequential, Summarised
from harness.claims.evidence import Measurements
from harness.claims.results import PartResult, PointResult
from harness.claims.sequential import JudgeClaim, first_deciding_look, is_decided
from harness.claims.verdict import Basis, Outcome, Point
from harness.inference import calibrate_p_value, e_value_of_bets, e_value_of_t_mixture, share_at_least

LARGEST_E = 1e12


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


def judge_on_basis(
    judge_claim: JudgeClaim, evidence: Measurements, alpha: float, findings_only: bool = False
) -> Judgement:
    """Judge a claim on the metrics' ranges alone where these decide it, else by the design's own test.

    With `findings_only`, what the other test finds and the e-value are left out: it is not to be shown.
    """
    sequential, skip_intervals = evidence.design.name == "sequential", evidence.design.skip_intervals
    is_distribution_free, decided_at = is_decided(judge_claim(evidence.with_design(Bounded(skip_intervals=True)))), None
    if sequential:
        _, decided_at = first_deciding_look(
            judge_claim,
            evidence.with_design(Bounded(skip_intervals=skip_intervals)) if is_distribution_free else evidence,
        )
        evidence = evidence.take_first(decided_at or evidence.repeats)
    by_ranges = evidence.with_design(Bounded(skip_intervals=skip_intervals))
    if findings_only:
        return Judgement([*judge_claim(by_ranges if is_distribution_free else evidence)], [], [], decided_at, None)
    by_t_test, bounded = [*judge_claim(evidence)], [*judge_claim(by_ranges)]
    findings = bounded if is_distribution_free else by_t_test
    summary = isinstance(evidence.design, Summarised)
    last_look_design: Design = (
        Bounded(last_look_only=True, skip_intervals=True)
        if is_distribution_free
        else Sequential(last_look_only=True, skip_intervals=True)
    )
    last_look_design = (
        evidence.design if summary and not is_distribution_free else last_look_design
    )  # there are no repeats to bet on one after another
    outcome = combined_outcome([f.outcome for f in findings])
    e_value = None
    if outcome in ("reproduced", "violated") and any(f.p_value is not None for f in findings):
        p_values = [
            f.support if outcome == "reproduced" else f.oppose
            for f in judge_claim(evidence.with_design(last_look_design))
        ]
        p_value = max(p_values) if outcome == "reproduced" else min(p_values)
        p_value = max(p_value, 1e-300)
        if is_distribution_free:
            e_value = e_value_of_bets(p_value)
        elif summary or any(look.effect.of_records for f in findings for look in f.point_results):
            e_value = calibrate_p_value(p_value)
        else:
            e_value = e_value_of_t_mixture(p_value)
        e_value = min(LARGEST_E, e_value)
    return Judgement(findings, by_t_test, bounded, decided_at, e_value)


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
    m, against = len(finding.points) + finding.absent, finding.outcome == "violated"
    needed = m - finding.needed + 1 if against else finding.needed
    if needed == 1:
        return [look for look in finding.point_results if look.point is finding.deciding]
    clearest = sorted(finding.point_results, key=lambda look: look.point.p_oppose if against else look.point.p_support)
    return clearest[:needed]


def points_of(judgement: Judgement, alpha: float, sequential: bool) -> list[Point]:
    """All points as the design's own test sees them, with the shares and intervals that need no assumption.

    `sequential`: whether repeats were added while one looked.
    """
    points = []
    for by_t_test, bounded in zip(judgement.by_t_test, judgement.bounded, strict=True):
        for index, one in enumerate(by_t_test.points):
            extra_fields: dict[str, object] = {}
            if index < len(by_t_test.point_results) and (holds := by_t_test.point_results[index].holds) is not None:
                count = int(holds.sum())
                extra_fields |= {"holds": count, "share": share_at_least(count, len(holds), alpha / 2, sequential)}
            if index < len(bounded.points):
                free = bounded.points[index]
                extra_fields |= {"free_low": free.low, "free_high": free.high}
            points.append(one.model_copy(update=extra_fields))
    return points
