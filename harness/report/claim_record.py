"""One claim in words and numbers: the one source of what the site, `harness explain`, the summary and the CSV say.

Whoever shows a claim takes its verdict, certainty, data, heading, sentence, cost and numbers from its record, so no two
places say it differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.claims.verdict import Verdict
from harness.report.certainty import is_too_few
from harness.report.headings import headings
from harness.report.prose import deciding_point, sentence
from harness.report.vocabulary import DATA, ORIGINS, letters
from harness.spec.model import Spec
from harness.verdicts.counts import certainty_phrase, readings_phrase


@dataclass(frozen=True)
class ClaimRecord:
    """What is said of a judged claim."""

    id: str
    """`<spec>#<claim>`."""
    heading: str
    """The claim in one sentence, told apart from others that say the same of other data."""
    sign: str
    verdict: str
    """The verdict as it is shown."""
    certainty: str
    """How sure it is, in one of few phrases; empty where nothing is decided."""
    whose: str
    data: str
    """What it was judged on."""
    finding: str
    """What was found, in one sentence or two."""
    would_decide: str
    """What would decide an open claim, and at what cost; empty for others."""
    estimate: float | None
    """The left side at the place that decides: a mean over `runs`, or a number of theory."""
    line: float | None
    """What it is compared with there, margin included."""
    effect: float | None
    """How far it is on the side that is claimed."""
    severity: float | None
    """The share of draws of its control in which it is not supported; None: no control is known, or it needs none."""
    readings: str
    """Whether it holds in every other reading; empty where nothing is decided, or left open."""
    low: float | None
    """Lower end of the 95% interval of the effect."""
    high: float | None
    runs: int | None

    @property
    def certainty_with_runs(self) -> str:
        """The certainty with the number of runs, where it rests on runs."""
        measured = self.certainty.startswith("measured") and self.runs
        return f"{self.certainty} ({self.runs} runs)" if measured else self.certainty


def claim_records(verdicts: Sequence[Verdict], specs: Mapping[str, Spec]) -> dict[str, ClaimRecord]:
    """The record of each claim, by id. `specs` are those of the verdicts, by id, under the verdicts' profile.

    `verdicts` are all of a profile, corrected for one another: headings and certainty depend on the others.
    """
    names = headings(verdicts, specs)
    return {v.id: claim_record(v, specs[v.spec], names[v.id]) for v in verdicts}


def claim_record(verdict: Verdict, spec: Spec, heading: str) -> ClaimRecord:
    """The record of one claim under its heading."""
    estimate, line = _sides(verdict)
    low, high = verdict.numbers.interval or (None, None)
    return ClaimRecord(
        id=verdict.id,
        heading=heading,
        sign=verdict.verdict.sign,
        verdict=verdict.verdict.shown,
        certainty=certainty_phrase(verdict),
        whose=ORIGINS[verdict.claim.origin],
        data=DATA[verdict.rests_on.data],
        finding=sentence(verdict, spec),
        would_decide=letters(verdict.would_decide).replace("_", " ") if verdict.verdict == "inconclusive" else "",
        estimate=estimate,
        line=line,
        effect=verdict.numbers.effect,
        severity=None if verdict.controls is None or is_too_few(verdict) else verdict.controls.severity,
        readings=readings_phrase(verdict),
        low=low,
        high=high,
        runs=verdict.numbers.repeats,
    )


def _sides(verdict: Verdict) -> tuple[float | None, float | None]:
    """Both sides at the place that decides; None where there is no number."""
    point = deciding_point(verdict)
    if point is not None:
        return point.left, point.right
    if not verdict.because:
        return None, None
    reason = verdict.reasons[verdict.because[0]]
    return reason.left, reason.right
