"""`specs/findings.yaml`: what was found, in words, each tied to the verdicts that it rests on.

A finding is shown only where every claim that it names has the verdict that it says, so the text cannot outlive them;
numbers in it are taken from the verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from harness.claims.verdict import Verdict
from harness.claims.words import Word
from harness.config import Config
from harness.errors import HarnessError
from harness.links import check_inside
from harness.report.places import interval_of_left
from harness.report.prose import deciding_point
from harness.report.vocabulary import figure
from harness.spec.document import load_document, locate
from harness.spec.model import Spec
from harness.spec.page import Name, Panel

Sort = Literal[
    "as printed it does not hold", "printed number not met", "holds as printed", "left open", "ours, beside the papers"
]
SORTS: tuple[Sort, ...] = get_args(Sort)
"""In the order of the front."""

FINDINGS = "findings.yaml"
"""Of `specs/`."""
_VALUE = re.compile(r"\{([a-z0-9-]+)\.([a-z]+)\}")


class Rests(Config):
    """A claim that a finding rests on, and the verdict that it needs."""

    claim: str
    """`<spec>#<claim>`."""
    verdict: Word = Field(alias="is")


class Picture(Config):
    """A small figure: a panel of a spec's measurements, or a counter-example of a claim on theory."""

    spec: str | None = None
    panel: Panel | None = None
    lines: dict[str, float] = {}
    """Horizontal lines, by their label."""
    bottom: float | None = None
    top: float | None = None
    """Ends of the vertical axis."""
    counterexample: str | None = None
    """`<spec>#<claim>`: both of its sides, through the point that refutes it."""

    @property
    def of_spec(self) -> str | None:
        """The spec that it is drawn from."""
        return self.spec if self.counterexample is None else self.counterexample.partition("#")[0]


class Finding(Config):
    """One finding."""

    id: Name
    title: str
    """What was found, as a sentence; it may have numbers, as the text."""
    paper: Name
    where: str
    sort: Sort = "as printed it does not hold"
    short: str = ""
    """What came out of a violated claim, in a sentence or two, for the list of these on the front."""
    weight: str = ""
    """What hangs on the error, in the paper, in a sentence."""
    text: str
    """In words; `{alias.value}`, `{alias.low}`, `{alias.high}`, `{alias.line}`, `{alias.at}` are of a verdict."""
    rests: dict[Name, Rests] = Field(min_length=1)
    """By alias."""
    picture: Picture | None = None
    front: bool = True
    """Whether it stands on the front."""


class Findings(Config):
    """The file."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class ShownFinding:
    """A finding whose claims came out as it says, with its numbers filled in."""

    finding: Finding
    title: str
    short: str
    text: str
    weight: str
    claims: tuple[Verdict, ...]


def read_findings(path: Path) -> tuple[Finding, ...]:
    """The declared findings; empty where the file does not exist. Raises HarnessError with file, line and field, and
    for a link that leads out of the project, whose `specs/` has the file."""
    check_inside(path, path.parent.parent)
    if not path.is_file():
        return ()
    document = load_document(path)
    try:
        findings = Findings.model_validate(document.data).findings
    except ValidationError as error:
        first = error.errors()[0]
        keys = tuple(first["loc"])
        field = ".".join(map(str, keys))
        raise HarnessError(f"{locate(document, keys)}: {field}: {first['msg']}") from None
    for index, finding in enumerate(findings):
        for key, words in (("title", finding.title), ("short", finding.short), ("text", finding.text)):
            for alias, _ in _VALUE.findall(words):
                if alias not in finding.rests:
                    where = locate(document, ("findings", index, key))
                    known = ", ".join(finding.rests)
                    raise HarnessError(
                        f"{where}: findings.{index}.{key}: {{{alias}.…}} is none of its claims ({known})"
                    )
    return findings


def findings_that_hold(
    findings: Sequence[Finding], verdicts: Mapping[str, Verdict], specs: Mapping[str, Spec]
) -> tuple[list[ShownFinding], list[str]]:
    """The findings that hold under these verdicts, and a line on each that does not."""
    kept, dropped = [], []
    for finding in findings:
        wrong = [
            f"{r.claim} is {verdicts[r.claim].verdict if r.claim in verdicts else 'not there'}, not {r.verdict}"
            for r in finding.rests.values()
            if r.claim not in verdicts or verdicts[r.claim].verdict != r.verdict
        ]
        if wrong:
            dropped.append(f"{finding.id}: {'; '.join(wrong)}")
            continue
        known = {alias: verdicts[r.claim] for alias, r in finding.rests.items()}
        written = (finding.title, finding.short, finding.text)
        values = {m: _value(known[m[0]], m[1], specs) for m in _VALUE.findall(" ".join(written))}
        if lacking := [f"{known[alias].id} has no {name}" for (alias, name), text in values.items() if text is None]:
            dropped.append(f"{finding.id}: {'; '.join(lacking)}")
            continue
        title, short, text = (_with_numbers(words, values) for words in written)
        kept.append(ShownFinding(finding, title, short, text, finding.weight, tuple(known.values())))
    return kept, dropped


def _with_numbers(text: str, values: Mapping[tuple[str, str], str | None]) -> str:
    return " ".join(_VALUE.sub(lambda m: str(values[m.group(1), m.group(2)]), text).split())


def _value(verdict: Verdict, name: str, specs: Mapping[str, Spec]) -> str | None:
    """A number of a verdict as text; None where it has none of that name."""
    if verdict.numbers.counterexample and name in verdict.numbers.counterexample:
        return figure(verdict.numbers.counterexample[name])
    point = deciding_point(verdict)
    if point is None:
        return None
    spec = specs[verdict.spec]
    claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
    interval = interval_of_left(spec.parts(claim)[point.expectation], point) or (None, None)
    values = {
        "value": point.left,
        "line": point.right,
        "at": point.epsilon,
        "low": interval[0],
        "high": interval[1],
        "repeats": point.repeats,
    }
    value = values.get(name)
    return None if value is None else figure(float(value))
