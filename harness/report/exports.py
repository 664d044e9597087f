"""Small files beside the site, for other tools: all claims as CSV, and a badge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import pandas as pd

from harness.claims.basis import basis_text
from harness.claims.verdict import Verdict
from harness.escaping import table_csv
from harness.files import write_text
from harness.report.claim_record import ClaimRecord
from harness.verdicts.counts import GROUPS, count

COLUMNS = (
    *("id", "paper", "where", "heading", "statement", "inequality", "kind", "origin", "data", "verdict", "certainty"),
    *("estimate", "line", "effect", "low", "high", "runs", "basis", "stands", "found", "would_decide", "hangs_on"),
    *("reason", "severity", "readings", "spec_sha256", "data_sha256"),
)
NUMBERS = {**dict.fromkeys(("estimate", "line", "effect", "low", "high", "severity"), "float64"), "runs": "Int64"}
"""Columns that are empty where there is no number, and their types."""


def write_beside(root: Path, verdicts: Sequence[Verdict], records: Mapping[str, ClaimRecord]) -> None:
    """Write `claims.csv` and `badge.svg` into the folder of a profile."""
    write_text(root / "claims.csv", claims_csv(verdicts, records))
    write_text(root / "badge.svg", badge(verdicts))


def claims_csv(verdicts: Sequence[Verdict], records: Mapping[str, ClaimRecord]) -> str:
    """`claims_table` as text."""
    return table_csv(claims_table(verdicts, records))


def claims_table(verdicts: Sequence[Verdict], records: Mapping[str, ClaimRecord]) -> pd.DataFrame:
    """One row a claim; the columns are `COLUMNS`, and what is record of a claim is that of its record.

    Of the place that decides: `estimate`, the mean of the measured side over so many `runs`, or the left side of a
    claim of theory; `line`, what it is compared with, margin included; `effect`, how far it is on the side that is
    claimed, with its 95% interval from `low` to `high`. All are in the unit of the metric that the inequality names.
    """
    rows = []
    for v in verdicts:
        record = records[v.id]
        text = [
            v.id,
            v.paper,
            v.claim.where,
            record.heading,
            v.claim.statement,
            "; ".join(v.claim.inequality),
            v.claim.kind,
            v.claim.origin,
            v.rests_on.data,
        ]
        numbers = [record.estimate, record.line, record.effect, record.low, record.high, record.runs]
        stands = "" if v.numbers.stands is None else str(v.numbers.stands)
        more = [basis_text(v), stands, record.finding, record.would_decide, "; ".join(v.hangs_on), v.reason]
        rows.append(
            [
                *text,
                record.verdict,
                record.certainty,
                *numbers,
                *more,
                record.severity,
                record.readings,
                v.provenance.spec_sha256,
                v.provenance.data_sha256,
            ]
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(NUMBERS)


CHARACTER = 6.4
"""Pixels of a character of the badge."""


def badge(verdicts: Sequence[Verdict]) -> str:
    """An SVG line with the outcomes of the papers' claims on their data; of all claims where there are none."""
    (first, *_) = count(verdicts) or (None,)
    by_word = {} if first is None else first.by_word
    text = " · ".join(f"{n} {word.counted}" for word, n in by_word.items() if word != "not run")
    text = text or "nothing run"
    whose = "claims" if first is None or not first.group.startswith("papers") else "papers' claims"
    left, right = round(len(whose) * CHARACTER + 8), round(len(text) * CHARACTER + 14)
    width = left + right
    label = escape(f"{whose if first is None else GROUPS[first.group]}: {text}", quote=True)
    font = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{left}" height="20" fill="#444c54"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#0b5394"/>'
        f'<g {font} text-anchor="middle"><text x="{left / 2}" y="14">{escape(whose)}</text>'
        f'<text x="{left + right / 2}" y="14">{escape(text)}</text></g></svg>\n'
    )
