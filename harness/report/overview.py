"""Two pictures of a whole paper: how far each measured claim is from its line, and what it prints beside what came out.

The first has a row a claim: the distance from the line at the place that decides, with its 95% interval, as a share of
the range of what is measured, sorted. The second has a point a printed number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.claims.expectation import MeasuredClaimKind
from harness.claims.verdict import Point, Verdict
from harness.claims.words import Word
from harness.report.canvas import draw_sketches
from harness.report.claim_record import ClaimRecord
from harness.report.contents import Paper
from harness.report.drawing import COLOURS, INK, MARKERS, Drawing, Look
from harness.report.headings import datasets_of
from harness.report.prose import deciding_point
from harness.report.scales import Range
from harness.report.sides import range_of
from harness.report.sketch import SIZE, Sketch
from harness.report.theme import Hover
from harness.report.vocabulary import figure
from harness.spec.model import Spec

ROW_INCHES = 0.075
LEAST_ROWS, LEAST_NUMBERS = 5, 4
"""Claims, and printed numbers, below which there is no picture."""
NEAR = 0.01
"""Shares of a range up to which the axis is linear; beyond it is logarithmic."""
TICKS = (-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0)
GROUPS: tuple[tuple[str, tuple[Word, ...], str, str], ...] = (
    ("holds", (Word.REPRODUCED, Word.AGREES), COLOURS[3], "o"),
    ("does not hold", (Word.VIOLATED, Word.DIFFERS), COLOURS[4], "D"),
    ("open, or not judged", (Word.INCONCLUSIVE, Word.BESIDE), COLOURS[1], "s"),
)
"""Verdicts that share a mark."""


@dataclass(frozen=True)
class ClaimRow:
    """A measured claim, by how far it is from its line, as shares of the range of what is measured."""

    record: ClaimRecord
    word: Word
    effect: float
    low: float
    high: float


@dataclass(frozen=True)
class PrintedNumber:
    """A number that a paper prints, and what was measured in its place."""

    printed: float
    measured: float
    data: str
    text: str


def draw_overview(paper: Paper, records: dict[str, ClaimRecord]) -> dict[str, Drawing]:
    """The pictures of a paper by the names of their files; without one that has too little to show."""
    drawn = {}
    rows = claim_rows(paper, records)
    if len(rows) >= LEAST_ROWS:
        drawn[f"{paper.key}-claims"] = _draw_rows(rows, paper.key)
    numbers = printed_numbers(paper)
    if len(numbers) >= LEAST_NUMBERS:
        drawn[f"{paper.key}-printed"] = _draw_printed(numbers, paper.key)
    return drawn


def claim_rows(paper: Paper, records: dict[str, ClaimRecord]) -> list[ClaimRow]:
    """The paper's own claims on measurements that have a distance to their line, those farthest on its side first."""
    rows = []
    for section in paper.sections:
        for verdict in section.verdicts:
            point, part = _decided(verdict, section.spec)
            if point is None or part is None or verdict.claim.origin != "paper":
                continue
            scale = _scale(part)
            if scale is None or not math.isfinite(point.effect):
                continue
            ends = (math.nan if x is None else x / scale for x in (point.low, point.high))
            rows.append(ClaimRow(records[verdict.id], verdict.verdict, point.effect / scale, *ends))
    return sorted(rows, key=lambda row: -row.effect)


def printed_numbers(paper: Paper) -> list[PrintedNumber]:
    """Every number between 0 and 1 that a claim of the paper sets beside a measured one."""
    numbers = []
    for section in paper.sections:
        data = ", ".join(datasets_of(section.spec)[:2])
        claims = {f"{section.spec.id}#{c.id}": c for c in section.spec.claims}
        for verdict in section.verdicts:
            claim = claims[verdict.id]
            if claim.theory or verdict.claim.origin != "paper":
                continue
            parts = section.spec.parts(claim)
            for point in verdict.numbers.points:
                part = parts[point.expectation]
                is_printed = part.printed_entries() or part.printed_numbers()
                if is_printed and _scale(part) == 1 and 0 < point.right <= 1 and math.isfinite(point.left):
                    text = f"{claim.where}: {figure(point.right)} printed, {figure(point.left)} measured"
                    numbers.append(PrintedNumber(point.right, point.left, data, text))
    return numbers


def _decided(verdict: Verdict, spec: Spec) -> tuple[Point | None, MeasuredClaimKind | None]:
    """The place that decides a claim on measurements, and the part that it is of."""
    claim = next((c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}"), None)
    point = None if claim is None or claim.theory else deciding_point(verdict)
    if claim is None or point is None or verdict.reasons[verdict.because[0]].found == "counted":
        return None, None
    parts = spec.parts(claim)
    return point, parts[point.expectation] if point.expectation < len(parts) else None


def _scale(part: MeasuredClaimKind) -> float | None:
    """The width of the range of what a part measures, an advantage's from 0; None where it has none."""
    curves = [pattern.left for pattern in part.patterns()] or [
        curve for operand in part.operands() for curve in (one.curve for one in operand.expand())
    ]
    ranges = {range_of(curve) for curve in curves}
    if len(ranges) != 1 or (ends := ranges.pop()) is None or not all(map(math.isfinite, ends)):
        return None
    return max(abs(end) for end in ends) or None


def _draw_rows(rows: Sequence[ClaimRow], key: str) -> Drawing:
    heights = {id(row): -float(index) for index, row in enumerate(rows)}

    def paint(sketches: list[Sketch]) -> None:
        (sketch,) = sketches
        within = Range(-1.0, 1.0, cut=True)
        sketch.axis.set_xscale("symlog", linthresh=NEAR)
        sketch.name_rows([], [])
        sketch.x, sketch.y = "claim", "distance from the line, as a share of what can be measured"
        sketch.axis.set_xlim(within.low, within.high)
        sketch.set_ticks(TICKS, [f"{x:g}".replace("-", "−") for x in TICKS], range(len(TICKS)))
        sketch.axis.set_ylim(-len(rows) + 0.4, 0.6)
        sketch.axis.axvline(0.0, color=INK, linewidth=1.0, linestyle="--")
        for name, words, colour, marker in GROUPS:
            mine = [row for row in rows if row.word in words]
            if mine:
                line = tuple(np.array([getattr(row, end) for row in mine]) for end in ("effect", "low", "high"))
                hovers = [Hover(f"{row.record.heading} {row.record.verdict}") for row in mine]
                named = {heights[id(row)]: row.record.id for row in mine}
                sketch.add_row_points(name, Look(colour, "", marker), named, line, hovers, within)  # type: ignore[arg-type]

    size = (6.6, 0.9 + ROW_INCHES * max(len(rows), 12))
    title = "Every measured claim: how far on the claimed side of its line, as a share of what can be measured"
    label = f"{len(rows)} claims of the paper, each with its distance from its line and a 95% interval, sorted"
    return draw_sketches(1, paint, title, label, f"{key} claims", size, bare=True)


def _draw_printed(numbers: Sequence[PrintedNumber], key: str) -> Drawing:
    data = list(dict.fromkeys(number.data for number in numbers))

    def paint(sketches: list[Sketch]) -> None:
        (sketch,) = sketches
        sketch.set_values(Range(0.0, 1.0, cut=False), "measured")
        sketch.set_places([0.0, 1.0], "printed", logarithmic=False)
        line = np.array([0.0, 1.0])
        sketch.add_curve("as printed", Look(INK, "--"), line, line, sort="line")
        for index, name in enumerate(data):
            mine = [number for number in numbers if number.data == name]
            look = Look(COLOURS[index % len(COLOURS)], "", MARKERS[index % len(MARKERS)])
            sketch.add_lane(
                name,
                look,
                [number.printed for number in mine],
                [number.measured for number in mine],
                [name] * len(mine),
                [Hover(number.text) for number in mine],
            )

    title = "What the paper prints, beside what was measured"
    label = f"{len(numbers)} printed numbers between 0 and 1, each against the mean measured in its place"
    return draw_sketches(1, paint, title, label, f"{key} printed", SIZE)
