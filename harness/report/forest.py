"""A claim's points against its margin, as rows of small plots: estimate, interval, the line to clear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.claims.contrasts import PrintedEntry
from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.operands import MetricSeries
from harness.claims.verdict import Basis, Point, Verdict
from harness.report.entries import entries_of_points
from harness.report.places import (
    add_bound,
    left_interval,
    pattern_of,
    subtract_bound,
    where_words,
)
from harness.report.prose import deciding_point
from harness.report.sides import curve_with_article, curve_words
from harness.report.vocabulary import figure
from harness.spec.model import Spec

WIDTH = 320.0
"""Of a row's plot, in pixels."""
INSET = 8.0
MOST = 60
"""Rows drawn of a claim; the weakest come first where there are more."""
State = Literal["clears", "misses", "open"]
"""How a point stands to its line, by its own interval."""


@dataclass(frozen=True)
class Span:
    """A point on its axis."""

    value: float
    low: float | None
    high: float | None
    """Ends of its interval; None: unbounded."""
    line: float
    """The line to clear; of `close`, the value to be near to."""
    tolerance: float | None = None
    """How near, of `close`."""
    margin: float = 0.0
    """The tolerance that the line has in it."""
    reach: str | None = None
    """Of `close`, in the place of an interval of the value: how far it is from what it is to be near to."""

    @property
    def band(self) -> tuple[float, float] | None:
        """Where a value is near enough."""
        return None if self.tolerance is None else (self.line - self.tolerance, self.line + self.tolerance)

    @property
    def line_text(self) -> str:
        """What is asked, in words."""
        if self.margin:
            sign = "+" if self.margin > 0 else "−"
            return f"{figure(self.line - self.margin)} {sign} {figure(abs(self.margin))}"
        return figure(self.line) if self.tolerance is None else f"{figure(self.line)} ± {figure(self.tolerance)}"


@dataclass(frozen=True)
class Row:
    """One point; positions in pixels."""

    place: str
    dot: float
    left: float
    right: float
    """Ends of the interval."""
    open_left: bool
    open_right: bool
    """Whether the interval goes on beyond what is drawn."""
    line: float
    band: tuple[float, float] | None
    """Where its ends are, of what lies near enough to the line."""
    value: str
    interval: str
    needed: str
    state: State
    runs: str


@dataclass(frozen=True)
class Forest:
    """The points of one part of a claim, on one axis."""

    of: str
    """What is measured."""
    axis: str
    """What is drawn."""
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]


INTERVALS_BY: Mapping[Basis | None, str] = {
    "distribution-free": "distribution-free, as the verdict is",
    "record-sampling": "by the errors of drawing records",
    "t-test": "by a t-test",
}
"""What the intervals that are drawn rest on, in words."""


def intervals_by(verdict: Verdict) -> str:
    """What the intervals of a verdict rest on, in words."""
    basis = basis_of_intervals(verdict)
    if basis not in (None, "t-test") or verdict.numbers.design != "sequential":
        return INTERVALS_BY.get(basis, INTERVALS_BY["t-test"])
    return f"{INTERVALS_BY['t-test']} that may be looked at after every run"


def basis_of_intervals(verdict: Verdict) -> Basis | None:
    """What the interval of the deciding point rests on: of an undecided claim, what its sentence gives."""
    if (basis := verdict.rests_on.basis) is not None or (said := deciding_point(verdict)) is None:
        return basis
    free = (said.low, said.high) == (said.free_low, said.free_high)
    own = any((p.low, p.high) == (said.low, said.high) for p in verdict.numbers.points)
    return "distribution-free" if free and not own else None


def points_by_basis(verdict: Verdict) -> list[Point]:
    """The points of a verdict, with the interval of the test that it rests on in place of the design's own."""
    if basis_of_intervals(verdict) != "distribution-free":
        return list(verdict.numbers.points)
    return [
        p
        if p.free_low is None and p.free_high is None
        else p.model_copy(update={"low": p.free_low, "high": p.free_high})
        for p in verdict.numbers.points
    ]


def forests(
    points: Sequence[Point], parts: Sequence[MeasuredClaimKind], spec: Spec, alpha: float
) -> tuple[list[Forest], int]:
    """One forest plot for each part that has points, and the number of points left out."""
    usable = [p for p in points if p.expectation < len(parts) and math.isfinite(p.effect)]
    kept = {id(p) for p in sorted(usable, key=lambda p: -p.p_support)[:MOST]}
    plots = []
    for index, part in enumerate(parts):
        every = [p for p in points if p.expectation == index]
        entries = dict(zip(map(id, every), entries_of_points(part, every), strict=False))
        mine = [p for p in usable if p.expectation == index and id(p) in kept]
        if mine:
            plots.append(_forest(mine, part, spec, alpha, entries))
    return plots, len(usable) - len(kept)


def _forest(
    points: Sequence[Point], part: MeasuredClaimKind, spec: Spec, alpha: float, entries: Mapping[int, PrintedEntry]
) -> Forest:
    axis, spans = _spans_of_entries(points, entries) if entries else _spans(points, part)
    low, high = _ends_of_axis(spans)

    def place(x: float) -> float:
        return round(INSET + (WIDTH - 2 * INSET) * (min(max(x, low), high) - low) / (high - low), 1)

    rows = []
    for p, span in zip(points, spans, strict=True):
        a, b = span.low, span.high
        rows.append(
            Row(
                place=_place_words(p, part, spec, entries.get(id(p))),
                dot=place(span.value),
                left=place(low if a is None else a),
                right=place(high if b is None else b),
                open_left=a is None or a < low,
                open_right=b is None or b > high,
                line=place(span.line),
                band=None if span.band is None else (place(span.band[0]), place(span.band[1])),
                value=figure(span.value),
                interval=_interval(a, b) if span.reach is None else span.reach,
                needed=span.line_text,
                state=_state(p, alpha),
                runs=f"{p.holds} of {p.repeats}" if p.holds is not None else str(p.repeats),
            )
        )
    ticks = tuple((place(x), figure(float(f"{x:.3g}"))) for x in (low, (low + high) / 2, high))
    return Forest(_subject(part, spec), axis, tuple(rows), ticks)


def _place_words(point: Point, part: ClaimKind, spec: Spec, entry: PrintedEntry | None) -> str:
    """Where a point is; of an entry of a printed table also what it is of, since rows differ by that."""
    where = where_words(point, part, spec.axes).removeprefix("at ")
    return where if entry is None else f"{curve_words(entry.curve, spec)}, {where}"


def _spans_of_entries(points: Sequence[Point], entries: Mapping[int, PrintedEntry]) -> tuple[str, list[Span]]:
    """Each entry of a printed table as it was measured, beside what is printed and the tolerance."""
    pairs = [(p, entries[id(p)]) for p in points]
    return "measured, beside printed", [_span_beside(p.left, p.right, p, e.tolerance) for p, e in pairs]


def _spans(points: Sequence[Point], part: ClaimKind) -> tuple[str, list[Span]]:
    """The title of the axis, and each point on it."""
    pattern = pattern_of(part)
    if pattern is None:
        axis = " ".join(filter(None, ("distance to the line", part.effect_scale)))
        return f"{axis}, positive: as claimed", [Span(p.effect, p.low, p.high, 0.0) for p in points]
    line = pattern.line
    if pattern.relation == "within":
        if isinstance(pattern.right, MetricSeries):
            return "difference", [_span_beside(p.left - p.right, 0.0, p, line) for p in points]
        return "measured", [_span_beside(p.left, p.right, p, line) for p in points]
    intervals = [left_interval(pattern, p) for p in points]
    if all(interval is not None for interval in intervals):
        pairs = zip(points, intervals, strict=True)
        margin = line if pattern.doubled is not None else 0.0
        return "measured", [Span(p.left, *(i or (None, None)), p.right, margin=margin) for p, i in pairs]
    if pattern.relation in (">", ">="):
        return "difference", [
            Span(p.effect + line, add_bound(line, p.low), add_bound(line, p.high), line) for p in points
        ]
    return "difference", [Span(line - p.effect, *_mirrored_ends(p, line), line) for p in points]


def _span_beside(value: float, to: float, point: Point, tolerance: float) -> Span:
    """The span of a value that is to lie within `tolerance` of another.

    A point keeps the least and the largest distance that the interval reaches. Where it reaches to both sides, the
    larger is drawn on either.
    """
    near, far = _mirrored_ends(point, tolerance)
    low, high = (None, None) if far is None else (to - far, to + far)
    if near is not None and near > 0:
        low, high = (to + near, high) if value >= to else (low, to - near)
    reach = "unbounded"
    if far is not None:
        reach = (
            f"off by at most {figure(far)}" if near is None or near <= 0 else f"off by {figure(near)} to {figure(far)}"
        )
    return Span(value, low, high, to, tolerance, reach=reach)


def _mirrored_ends(point: Point, line: float) -> tuple[float | None, float | None]:
    """The ends of `line - effect`."""
    return subtract_bound(line, point.high), subtract_bound(line, point.low)


def _subject(part: ClaimKind, spec: Spec) -> str:
    pattern = pattern_of(part)
    if pattern is None:
        return ""
    right = pattern.right
    against = f" against {curve_with_article(right, spec)}" if isinstance(right, MetricSeries) else ""
    return curve_words(pattern.left, spec) + against


def _state(point: Point, alpha: float) -> State:
    """Whether the point by itself clears its line, misses it, or neither: by its p-values, or by the distribution-free
    interval where that is drawn."""
    clears, misses = point.p_support <= alpha / 2, point.p_oppose <= alpha / 2
    free = (point.free_low, point.free_high)
    if (point.low, point.high) == free != (None, None):
        clears, misses = free[0] is not None and free[0] > 0, free[1] is not None and free[1] < 0
    clears, misses = clears and point.effect >= 0, misses and point.effect <= 0  # first runs that all of them turn
    return "clears" if clears else "misses" if misses else "open"


def _interval(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    return f"{'−∞' if low is None else figure(low)} to {'∞' if high is None else figure(high)}"


def _ends_of_axis(spans: Sequence[Span]) -> tuple[float, float]:
    """The ends of an axis: all estimates and lines, and intervals as far as they do not dwarf these."""
    core = [x for span in spans for x in (span.value, span.line, *(span.band or ()))]
    low, high = min(core), max(core)
    reach = 3 * max(high - low, 0.05 * max(abs(low), abs(high)), 1e-9)
    ends = [x for span in spans for x in (span.low, span.high) if x is not None and math.isfinite(x)]
    low = min([low, *(max(x, low - reach) for x in ends)])
    high = max([high, *(min(x, high + reach) for x in ends)])
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin
