"""Verdicts made or changed by the names of their fields, in whichever record of the verdict a field stands."""

from __future__ import annotations

from typing import Any

from harness.claims.verdict import ClaimText, Numbers, Provenance, RestsOn, Verdict

RECORDS = {"claim": ClaimText, "numbers": Numbers, "rests_on": RestsOn, "provenance": Provenance}


def record_of(field: str) -> str | None:
    """The record that a field stands in; None where it is the verdict's own."""
    return next((name for name, record in RECORDS.items() if field in record.model_fields), None)


def verdict_of(**fields: Any) -> Verdict:
    """A verdict with these fields."""
    nested: dict[str, Any] = {name: {} for name in RECORDS}
    for field, value in fields.items():
        record = record_of(field)
        (nested if record is None else nested[record])[field] = value
    return Verdict.model_validate(nested)


def change(verdict: Verdict, /, **fields: Any) -> Verdict:
    """The verdict with other values of these fields, which are not checked."""
    for field, value in fields.items():
        record = record_of(field)
        if record is None:
            verdict = verdict.model_copy(update={field: value})
        else:
            inner = getattr(verdict, record).model_copy(update={field: value})
            verdict = verdict.model_copy(update={record: inner})
    return verdict
