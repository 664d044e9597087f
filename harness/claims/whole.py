"""A claim from its parts: its outcome, the part that it is shown by, and the reasons of all."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from harness.claims.reasons import Reason, of_parts
from harness.claims.results import PartResult
from harness.claims.verdict import Outcome


def is_decided(findings: Sequence[PartResult]) -> bool:
    """Whether one part is violated, or every part that is run is reproduced."""
    return is_decided_by([f.outcome for f in findings])


def is_decided_by(outcomes: Collection[Outcome]) -> bool:
    """The same from the outcomes of the parts."""
    return "violated" in outcomes or (set(outcomes) <= {"reproduced", "not run"} and "reproduced" in outcomes)


def combined_outcome(outcomes: list[Outcome]) -> Outcome:
    """The outcome of a claim all of whose parts must hold."""
    order: tuple[Outcome, ...] = ("violated", "not run", "inconclusive")
    return next((o for o in order if o in outcomes), "reproduced")


def shown_part(findings: Sequence[PartResult]) -> tuple[Outcome, PartResult]:
    """The outcome of a claim, and the part that it is shown by."""
    outcome = combined_outcome([f.outcome for f in findings])
    if outcome == "reproduced":
        return outcome, max(findings, key=_least_clear_last)
    return outcome, next(f for f in findings if f.outcome == outcome)


def _least_clear_last(part: PartResult) -> tuple[float, float]:
    """How unclear it is that a part holds: by its p-value, and among parts of one p-value by how near its line is."""
    if part.deciding is None:
        return 0.0, -math.inf
    low = part.deciding.low
    return part.deciding.p_support, -math.inf if low is None else -low


def reason_text(findings: Sequence[PartResult], outcome: Outcome, shown: PartResult) -> str:
    """Why the claim came out as it did, by the part that it is shown by."""
    reason = number_reasons(findings)[index_of(shown, findings)]
    return of_parts([reason], len(findings), numbered=outcome != "reproduced")


def index_of(part: PartResult, findings: Sequence[PartResult]) -> int:
    """The place of a part among the parts of its claim."""
    return next(index for index, f in enumerate(findings) if f is part)


def number_reasons(findings: Sequence[PartResult]) -> list[Reason]:
    """The reasons of parts, each with the part's index and its point's index among the points of all parts."""
    reasons, before = [], 0
    for index, one in enumerate(findings):
        place = None if one.why.point is None else before + one.why.point
        reasons.append(one.why.model_copy(update={"part": index, "point": place}))
        before += len(one.points)
    return reasons
