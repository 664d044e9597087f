"""The page of a survey: every member set ranked, each with its intervals, bounds and the blind attack beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.escaping import table_csv, visible_text
from harness.extensions.survey.member_sets import LeftOut
from harness.extensions.survey.ranking import (
    ABOVE,
    BELOW,
    MORE,
    TURNED,
    WITHOUT,
    Discovery,
    MeasuredAdvantage,
    SetResult,
)
from harness.report.compare import epsilon_words
from harness.report.contents import slug
from harness.report.provenance import Provenance
from harness.report.site import page_environment
from harness.report.site_files import add_files
from harness.report.vocabulary import figure

PAGE, TABLE = "survey.html", "survey.csv"
WIDTH, INSET, LINE = 360.0, 8.0, 9.0
"""Of a row's plot, in pixels; the last is the height that each epsilon takes."""
WORDS = {
    ABOVE: "above the bound",
    BELOW: "turned round, it would be above the bound",
    TURNED: "turned round: members are harder to predict",
    MORE: "more than on a random split",
    WITHOUT: "told without the model",
}
"""What a discovery is called on the page."""


@dataclass(frozen=True)
class Mark:
    """One advantage as it is drawn; positions in pixels."""

    colour: int
    """Number of its epsilon, from 0."""
    height: float
    dot: float
    left: float
    right: float
    bound: float | None
    title: str


@dataclass(frozen=True)
class Row:
    """One member set on the page."""

    result: SetResult
    rank: int
    marks: tuple[Mark, ...]
    blind: float | None
    """Where the blind attack is, in pixels."""
    blind_value: str
    discoveries: tuple[tuple[str, str, str], ...]
    """In words, where, and the page of the claim."""


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return INSET + (WIDTH - 2 * INSET) * (inside - self.low) / (self.high - self.low)


def write_survey(root: Path, spec: str, title: str, results: Sequence[SetResult], left: Sequence[LeftOut]) -> Path:
    """Write `survey.html` into the site at `root`, and `survey.csv` beside it. Returns the page.

    `spec` is the id of the survey's spec, whose claims have pages in the same site.
    """
    scale = _scale_of(results)
    rows = [_row(spec, rank, result, scale) for rank, result in enumerate(results, 1)]
    epsilons = sorted({one.epsilon for result in results for one in result.advantages})
    environment = page_environment(__package__)
    environment.filters["place"] = lambda x: f"{x:.1f}"
    environment.filters["words"] = advantage_words
    page = environment.get_template(PAGE).render(
        up="",
        about=Provenance((), (), {}),
        title=title,
        rows=rows,
        left=left,
        epsilons=[epsilon_words(epsilon) for epsilon in epsilons],
        ticks=[(scale(tick), figure(tick)) for tick in _ticks(scale)],
        zero=scale(0.0),
        width=WIDTH,
        tall=LINE * (len(epsilons) + 1) + 4,
        counts={what: sum(d.what == what for r in results for d in r.discoveries) for what in WORDS},
        words=WORDS,
        table=TABLE,
    )
    add_files(root, root.parent, {TABLE: survey_csv(results).encode(), PAGE: visible_text(page).encode()})
    return root / PAGE


def survey_csv(results: Sequence[SetResult]) -> str:
    """One row a member set and epsilon: advantage with its 95% interval, bound, blind attack, what was discovered."""
    names = ["epsilon", "advantage", "low", "high", "bound", "repeats", "blind", "discoveries"]
    rows = []
    for rank, result in enumerate(results, 1):
        for one in result.advantages:
            known = [_number_text(x) for x in (one.epsilon, one.mean, one.low, one.high, one.bound)]
            here = [d.what for d in result.discoveries if d.epsilon == one.epsilon]
            first = [rank, result.member_set.label, result.member_set.rows or ""]
            rows.append([*first, *known, one.repeats, _number_text(result.blind), "; ".join(here)])
    return table_csv(pd.DataFrame(rows, columns=["rank", "member_set", "rows", *names]))


def _number_text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.12g}"


def _scale_of(results: Sequence[SetResult]) -> _Scale:
    """From the lowest to the highest end of what is drawn, zero and bounds included; never wider than -1 to 1."""
    ends = [0.0]
    for result in results:
        for one in result.advantages:
            ends += [one.low, one.high, one.mean, *([one.bound, -one.bound] if one.bound < 1 else [])]
        ends.append(result.blind)
    finite = [min(max(end, -1.0), 1.0) for end in ends if math.isfinite(end)]
    margin = 0.03 * max(max(finite) - min(finite), 0.1)
    return _Scale(max(-1.0, min(finite) - margin), min(1.0, max(finite) + margin))


def _ticks(scale: _Scale) -> list[float]:
    """Round numbers on the axis, about six of them."""
    step = next(s for s in (0.05, 0.1, 0.2, 0.25, 0.5) if (scale.high - scale.low) / s <= 7)
    return [round(n * step, 6) for n in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)]


def _row(spec: str, rank: int, result: SetResult, scale: _Scale) -> Row:
    marks = tuple(_mark(number, one, scale) for number, one in enumerate(result.advantages))
    known = not math.isnan(result.blind)
    discoveries = tuple(_discovery_words(spec, one) for one in result.discoveries)
    return Row(
        result,
        rank,
        marks,
        scale(result.blind) if known else None,
        figure(result.blind) if known else "",
        discoveries,
    )


def _mark(number: int, one: MeasuredAdvantage, scale: _Scale) -> Mark:
    ends = [end if math.isfinite(end) else edge for end, edge in ((one.low, -1.0), (one.high, 1.0))]
    bound = None if math.isnan(one.bound) or one.bound >= 1 else scale(one.bound)
    line = "" if math.isnan(one.bound) else f", bound {figure(one.bound)}"
    return Mark(
        number,
        LINE * (number + 0.7),
        scale(one.mean),
        scale(ends[0]),
        scale(ends[1]),
        bound,
        f"{epsilon_words(one.epsilon)}: {advantage_words(one)}{line}, {one.repeats} repeats",
    )


def advantage_words(one: MeasuredAdvantage) -> str:
    """`0.12 (0.1 to 0.14)`; the number alone where the interval has no end."""
    ends = f" ({figure(one.low)} to {figure(one.high)})" if math.isfinite(one.low + one.high) else ""
    return figure(one.mean) + ends


def _discovery_words(spec: str, one: Discovery) -> tuple[str, str, str]:
    where = "" if one.what == WITHOUT else epsilon_words(one.epsilon)
    return WORDS[one.what], where, f"claims/{slug(f'{spec}#{one.claim}')}.html"
