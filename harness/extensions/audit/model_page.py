"""The page of an audit of a model: the question, the answer, every attack with intervals, and what to do about it.

It stands alone: its style is in it, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup, escape

from harness.arrays import Array
from harness.data.steps import LEAST_SHOWN
from harness.escaping import visible_text
from harness.extensions.audit.model.attacks import BLIND
from harness.extensions.audit.model.audit import ModelAudit
from harness.extensions.audit.model.document import describe_audit, list_scores, shown_classes, spread_of
from harness.extensions.audit.model.findings import (
    WORDS,
    advise,
    answer_question,
    find_leaks,
    list_assumptions,
    most_vulnerable,
)
from harness.extensions.audit.model.intervals import Interval
from harness.files import json_text, write_text
from harness.metrics.answers import Answers
from harness.metrics.membership import roc
from harness.report.provenance import Provenance
from harness.report.site import page_environment
from harness.report.vocabulary import figure

TEMPLATE = "model_audit.html"
PAGE, SCORES, NUMBERS, NOTICE = "audit.html", "scores.csv", "audit.json", "PERSONAL-DATA.txt"
NOTICE_TEXT = f"""\
{SCORES} has a line for each record that was asked about: the line of its file, whether the model was trained on it, its
label and its scores. {PAGE} names some of these records. Where records are of people this is personal data, as the
files of records themselves are: keep this folder where those may be kept. {NUMBERS} has no line of a single record.
"""
"""A line of its own in the CSV would be a row to whoever reads it."""
SIZE, LEFT, BELOW = 340.0, 44.0, 34.0
"""Of the ROC plot: its square, and the margins with numbers, in pixels."""
FARTHEST = 100.0
"""A separation that is larger is shown as above it: models without a record then say nearly the same."""


@dataclass(frozen=True)
class Line:
    """One attack's ROC curve."""

    colour: int
    name: str
    path: str


@dataclass(frozen=True)
class Plot:
    """ROC curves on logarithmic axes; positions in pixels."""

    lines: tuple[Line, ...]
    diagonal: str
    ticks: tuple[tuple[float, float, str], ...]
    """Where on the lower axis, where on the left one, and the number."""
    limit: float
    """Where on the lower axis one non-member is."""


def write_audit(folder: Path, audit: ModelAudit) -> Path:
    """Write `audit.html`, `scores.csv`, `audit.json` and a notice into a folder, each whole or not at all. Returns the
    page."""
    numbers = json_text(describe_audit(audit))
    page = visible_text(render_audit(audit))
    write_text(folder / NOTICE, NOTICE_TEXT)
    write_text(folder / SCORES, list_scores(audit))
    write_text(folder / NUMBERS, numbers + "\n")
    write_text(folder / PAGE, page)
    return folder / PAGE


def render_audit(audit: ModelAudit) -> str:
    """The page as text."""
    findings, per_record = find_leaks(audit), audit.per_record
    environment = page_environment(__package__)
    environment.filters["interval"] = interval_words
    environment.filters["share"] = share_words
    environment.filters["code"] = _mark_code
    environment.filters["place"] = lambda x: f"{x:.1f}"
    return environment.get_template(TEMPLATE).render(
        up="",
        about=Provenance((), (), {}),
        style=files("harness.report").joinpath("static", "site.css").read_text(encoding="utf-8"),
        audit=audit,
        question=audit.question.portable(),
        records=audit.records,
        findings=findings,
        answer=answer_question(audit, findings),
        outcome="violated" if findings.leaks and not audit.columns.out_of_order else "inconclusive",
        words=WORDS,
        plot=draw_roc({one.name: one.answers for one in audit.attacks}),
        size=(SIZE, LEFT, BELOW),
        per_record=per_record,
        spreads=[] if per_record is None else [spread_of(one.own_fprs) for one in per_record.calibrations],
        vulnerable=[_describe_record(audit, at) for at in most_vulnerable(audit)],
        advice=advise(audit, findings),
        assumptions=list_assumptions(audit),
        scores=SCORES,
        numbers=NUMBERS,
    )


def _describe_record(audit: ModelAudit, at: int) -> dict[str, object]:
    per_record, records = audit.per_record, audit.records
    assert per_record is not None
    apart, label = float(per_record.separation[at]), str(records.labels[at])
    return {
        "place": records.places[at],
        "member": bool(records.is_member[at]),
        "label": label if label in shown_classes(audit) else f"of fewer than {LEAST_SHOWN} records",
        "separation": f"above {FARTHEST:.0f}" if apart > FARTHEST else figure(apart),
        "tpr": float(per_record.tpr[at]),
        "fpr": float(per_record.fpr_own[at]),
    }


def interval_words(interval: Interval) -> str:
    """`0.62 (0.58 to 0.66)`."""
    return f"{_three_decimals(interval.value)} ({_three_decimals(interval.low)} to {_three_decimals(interval.high)})"


def share_words(interval: Interval) -> str:
    """`12.3% (9.1% to 16.0%)`."""
    return f"{_percent(interval.value)} ({_percent(interval.low)} to {_percent(interval.high)})"


def _three_decimals(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%".replace("-", "−")


def _mark_code(text: str) -> Markup:
    """Text in which what stands between backquotes is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


# --- ROC curves


def draw_roc(answers: dict[str, Answers]) -> Plot:
    """Curves from the rate of one record to 1 on both axes; rates of 0 lie on the edge."""
    first = next(iter(answers.values()))
    n = len(first.nonmember_scores)
    decades = math.ceil(math.log10(max(n, len(first.member_scores))) - 1e-9)
    lines = tuple(
        Line(0 if name == BLIND else number, WORDS[name], _path(*roc(one.member_scores, one.nonmember_scores), decades))
        for number, (name, one) in enumerate(answers.items())
    )
    ticks = tuple(
        (_x_of_rate(10.0**-power, decades), _y_of_rate(10.0**-power, decades), f"{10.0**-power:g}")
        for power in range(decades + 1)
    )
    x, y = (_x_of_rate(10.0**-decades, decades), _y_of_rate(10.0**-decades, decades))
    return Plot(
        lines,
        f"M{x:.1f} {y:.1f}L{_x_of_rate(1, decades):.1f} {_y_of_rate(1, decades):.1f}",
        ticks,
        _x_of_rate(1 / n, decades),
    )


def _path(fpr: Array, tpr: Array, decades: int) -> str:
    """Steps through the points, those that share a pixel left out."""
    parts: list[str] = []
    last = (math.nan, math.nan)
    for false, true in zip(fpr, tpr, strict=True):
        x, y = round(_x_of_rate(float(false), decades), 1), round(_y_of_rate(float(true), decades), 1)
        if not parts:
            parts.append(f"M{x} {y}")
        elif (x, y) != last:
            parts.append(f"H{x}V{y}")
        last = (x, y)
    return "".join(parts)


def _x_of_rate(rate: float, decades: int) -> float:
    return LEFT + SIZE * (1 + math.log10(max(rate, 10.0**-decades)) / decades)


def _y_of_rate(rate: float, decades: int) -> float:
    return -SIZE * math.log10(max(rate, 10.0**-decades)) / decades
