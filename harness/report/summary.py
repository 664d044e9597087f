"""The verdicts as Markdown: `summary.md`, and a shorter one for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.claims.verdict import Verdict
from harness.escaping import markdown_text
from harness.report.claim_record import ClaimRecord
from harness.report.gather import Section
from harness.spec.model import ALPHA
from harness.verdicts.counts import GROUPS, count
from harness.verdicts.multiplicity import RATE


def markdown(profile: str, sections: Sequence[Section], records: Mapping[str, ClaimRecord]) -> str:
    """Every claim with its verdict, by spec."""
    lines = [f"# Verdicts, profile `{profile}`", ""]
    verdicts = [v for s in sections for v in s.verdicts]
    lines += counts_table(verdicts)
    if text := catalogue_sentence(verdicts):
        lines += ["", text]
    if standing := [v.id for v in verdicts if v.numbers.stands]:
        lines += ["", f"<details><summary>Those {len(standing)}</summary>", ""]
        lines += [*(f"- {one}" for one in standing), "", "</details>"]
    for section in sections:
        lines += ["", f"## {section.spec.id}: {markdown_text(section.spec.title)}", ""]
        if section.substitution:
            lines += [f"On a stand-in: {markdown_text(section.substitution)}", ""]
        if section.reductions:
            lines += [f"Less than the spec declares: {markdown_text('; '.join(section.reductions))}.", ""]
        lines += ["| | claim | whose, on what | found | how sure |", "| --- | --- | --- | --- | --- |"]
        for v in section.verdicts:
            record = records[v.id]
            claim = markdown_text(f"{record.heading} ({v.claim.where})")
            decide = f" To decide it: {record.would_decide}." if record.would_decide else ""
            finding = markdown_text(f"{record.finding}{decide}")
            verdict, whose = f"{record.sign} **{record.verdict}**", f"{v.claim.origin}, {record.data}"
            lines.append(f"| {verdict} | {claim} | {whose} | {finding} | {record.certainty_with_runs} |")
    return "\n".join(lines) + "\n"


def counts_table(verdicts: Sequence[Verdict]) -> list[str]:
    """How many claims of each kind came out how, as Markdown."""
    rows = [f"| {GROUPS[c.group]} | {c.total} | {c.text} |" for c in count(verdicts)]
    return ["| whose, on what | claims | |", "| --- | --- | --- |", *rows]


def catalogue_sentence(verdicts: Sequence[Verdict]) -> str:
    """A sentence on how many verdicts on measurements stand when all claims share one level; empty where none was
    decided."""
    known = [v for v in verdicts if v.numbers.p_catalogue is not None]
    if not known:
        return ""
    held = sum((v.numbers.p_catalogue or 0.0) <= ALPHA for v in known)
    bases = Counter(v.rests_on.basis for v in known)
    on = [
        f"{bases['distribution-free']} are distribution-free" if bases["distribution-free"] else "",
        f"{bases['t-test']} rest on no outcome being rarer than stated" if bases["t-test"] else "",
        f"{bases['record-sampling']} on errors of drawing records" if bases["record-sampling"] else "",
    ]
    stand, tested = sum(bool(v.numbers.stands) for v in known), known[0].numbers.claims_tested
    by_bets = sum(v.numbers.stands_by == "bets" for v in known)
    late = sum(v.rests_on.exploratory for v in known)
    exploratory = (
        f"{late} of them are exploratory: they take runs that had been measured when their claim was written. "
    )
    return (
        f"Of the {len(known)} verdicts decided on measurements, {', '.join(filter(None, on))}. "
        f"{exploratory if late else ''}"
        f"{stand} of them stand among all {tested} claims tested, however these depend on each other: {by_bets} by "
        f"bets and {stand - by_bets} by the tests of their bases, each at a false discovery rate of {RATE:.0%}; "
        f"{held} at "
        f"level {ALPHA:g} for all together (Holm)."
    )
