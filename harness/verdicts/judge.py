"""Claims judged on all there is: as they are declared, and in every reading of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from harness.claims.verdict import Verdict
from harness.claims.words import Word
from harness.metrics.metric import source_of
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.readings import AnyReading, Reading, SentenceReading, ToleranceReading
from harness.verdicts.check import judge_spec
from harness.verdicts.evidence import Evidence
from harness.verdicts.measured import judge_with_half_tolerance
from harness.verdicts.partial import seconds_a_model
from harness.verdicts.publish import publish, reading_matters
from harness.verdicts.severity import Known, controls_of

ReadReading = Callable[[Collection[str]], tuple[Evidence, Collection[str]] | None]
"""From the claims that a reading concerns: what is read of it, and the claims that are judged on that. None where the
reading was not run."""
CLAIMS = "claims"
"""What a reading's table remembers: the claims that it was run for; without it, all."""


@dataclass(frozen=True)
class _Judged:
    """A reading, the claims that it concerns, and the verdicts in it by claim; None where it was not run."""

    reading: Reading
    concerned: Collection[str]
    verdicts: Mapping[str, Verdict] | None


def judge_claims(
    own: Evidence,
    readings: Sequence[tuple[Reading, ReadReading]],
    claims: Collection[str] | None = None,
    known: Known | None = None,
) -> list[Verdict]:
    """Judge the claims of a spec, all or some, as declared, in its readings and on controls; publish their verdicts.

    `known`: what controls said of claims before, which counts where it follows from the same. Raises ClaimError for a
    claim that cannot be judged.
    """
    spec = own.scaled.spec
    asked = [claim for claim in spec.claims if claims is None or claim.id in claims]
    as_declared = judge_spec(own.scaled, own.spec_sha256, own.table, own.why_not, only=claims)
    parts_of = {claim.id: [] if claim.theory else spec.parts(claim) for claim in asked}
    judged = []
    for reading, read in readings:
        concerned = {name for name, parts in parts_of.items() if reading_matters(reading, parts, own.declared)}
        there = read(concerned)
        judged.append(_Judged(reading, concerned, None if there is None else _judge_reading(*there)))
    seconds, controls = _seconds_a_model(own), controls_of(own, set(parts_of), known or {})
    verdicts = []
    for claim, verdict in zip(asked, as_declared, strict=True):
        others: list[tuple[AnyReading, Verdict | None]] = [
            (one.reading, None if one.verdicts is None else one.verdicts.get(claim.id))
            for one in judged
            if claim.id in one.concerned
        ]
        for name, other in claim.other_readings():
            as_read = tuple(other if one is claim else one for one in spec.claims)
            variant = replace(own, scaled=replace(own.scaled, spec=spec.with_values(claims=as_read)))
            others += [(SentenceReading(name), v) for v in _judge_reading(variant, {claim.id}).values()]
        others += _with_half_tolerance(claim, verdict, own)
        verdicts.append(publish(verdict, claim, own.scaled, others, seconds, controls.get(claim.id)))
    return verdicts


def _with_half_tolerance(claim: Claim, verdict: Verdict, own: Evidence) -> list[tuple[AnyReading, Verdict | None]]:
    """A claim that is reproduced as declared, with half of its tolerances; nothing for others, or without any."""
    if verdict.verdict != "reproduced" or claim.theory or own.table is None:
        return []
    found = judge_with_half_tolerance(claim, own.scaled, own.table)
    if found is None:
        return []
    outcome, reason = found
    return [(ToleranceReading(), verdict.model_copy(update={"verdict": Word(outcome), "reason": reason}))]


def _judge_reading(evidence: Evidence, claims: Collection[str] | None = None) -> dict[str, Verdict]:
    """By claim, the verdicts in a reading, from its own table alone; without claims that it was not run for."""
    spec, table = evidence.scaled.spec, evidence.table
    asked = [claim for claim in spec.claims if claims is None or claim.id in claims]
    if table is not None:
        metrics = set(table["metric"].unique())
        asked = [claim for claim in asked if _is_measured_for(table, metrics, claim, spec)]
    names = [claim.id for claim in asked]
    judged = judge_spec(evidence.scaled, evidence.spec_sha256, table, evidence.why_not, only=names, reading=True)
    return dict(zip(names, judged, strict=True))


def _is_measured_for(table: pd.DataFrame, metrics: Collection[str], claim: Claim, spec: Spec) -> bool:
    """Whether the table of a reading, which has these metrics, was run for a claim and has those of the claim."""
    if claim.id not in table.attrs.get(CLAIMS, (claim.id,)):
        return False
    parts = [] if claim.theory else spec.parts(claim)
    needed = {source_of(m) for part in parts for operand in part.operands() for m in operand.metrics}
    return needed.issubset(metrics)


def _seconds_a_model(evidence: Evidence) -> float | None:
    """Core-seconds that a model of a spec took with all attacks on it; None where nothing says so."""
    experiment, table = evidence.scaled.spec.own_experiment, evidence.table
    return None if experiment is None or table is None else seconds_a_model(table, experiment.coordinates)
