"""One quantity beside itself: what was measured of it in every paper, data set and set-up, at a few epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from harness.attacks.attack import ScoringAttack
from harness.report.canvas import draw_sketches
from harness.report.drawing import COLOURS, MARKERS, Drawing, Look
from harness.report.gather import Section
from harness.report.headings import datasets_of
from harness.report.scales import value_range
from harness.report.sketch import Sketch
from harness.report.theme import Hover
from harness.report.vocabulary import attack_words, figure, metric_words

QUANTITIES = ("advantage", "auc", "tpr_at_0.1pct_fpr")
"""Metrics of attacks that several papers measure."""
EPSILONS = (0.1, 1.0, 10.0, math.inf)
"""At which they are shown; infinity is without noise."""
WIDE_INCHES, ROW_INCHES, LANE = 8.6, 0.34, 0.2
"""Of a figure, of a data set in it, and, as a share of that, of an epsilon's lane."""


@dataclass(frozen=True)
class ComparedRow:
    """One set-up under one attack."""

    section: Section
    datasets: tuple[str, ...]
    setup: str
    attack: str
    values: tuple[str, ...]
    """Mean and half-width of its 95% interval at each of `EPSILONS`; empty where it was not measured."""
    means: tuple[float, ...]
    """The means themselves; not a number where it was not measured."""

    @property
    def paper(self) -> str:
        """Its key."""
        return self.section.spec.paper

    @property
    def data(self) -> str:
        """The names of its data sets, or that they are several."""
        return ", ".join(self.datasets) if len(self.datasets) < 3 else "several"


@dataclass(frozen=True)
class Comparison:
    """One quantity, wherever it was measured."""

    metric: str
    title: str
    rows: tuple[ComparedRow, ...]

    @property
    def by_paper(self) -> list[tuple[str, list[ComparedRow]]]:
        """Its rows by the key of their paper."""
        return [(paper, list(rows)) for paper, rows in groupby(self.rows, lambda row: row.paper)]


def comparisons(sections: Iterable[Section]) -> list[Comparison]:
    """The comparison of each quantity that was measured at one of `EPSILONS`."""
    listed = list(sections)
    every = (
        Comparison(metric, metric_words(metric), tuple(row for section in listed for row in _rows_of(section, metric)))
        for metric in QUANTITIES
    )
    return [one for one in every if one.rows]


def _rows_of(section: Section, metric: str) -> list[ComparedRow]:
    arms = section.spec.experiment.arms if section.spec.experiment is not None else {}
    on_membership = {name for name, attack in section.spec.attacks.items() if isinstance(attack, ScoringAttack)}
    if section.spec.results is not None:
        on_membership = set(section.spec.results.attacks)
    rows = []
    for row in section.means:
        if row["of"] != metric or row["attack"] not in on_membership or row["across"] != "epsilon":
            continue
        at = dict(zip(row["levels"], row["values"], strict=True))
        values = tuple(at.get(epsilon, "") for epsilon in EPSILONS)
        if any(values):
            arm, comma, others = row["arm"].partition(", ")
            setup = (arms[arm].label or arm if arm in arms else arm) + comma + others
            means = tuple(row["numbers"].get(epsilon, math.nan) for epsilon in EPSILONS)
            if arm in arms and _is_number(arms[arm].label or arm):
                setup = f"{section.spec.title}: {setup}"
            names = datasets_of(section.spec, arm if arm in arms else "")
            rows.append(
                ComparedRow(
                    section, names, setup, attack_words(row["attack"], section.spec.attack_labels), values, means
                )
            )
    return rows


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def draw_comparison(comparison: Comparison, short_names: Mapping[str, str]) -> Drawing:
    """A figure with a row for each data set of a paper, a lane for each epsilon, and a mark for each set-up and
    attack."""
    groups: dict[tuple[str, str], list[ComparedRow]] = {}
    for row in comparison.rows:
        groups.setdefault((row.paper, row.data), []).append(row)
    heights = {key: float(-index) for index, key in enumerate(groups)}
    names = [f"{data}, {short_names[paper]}" for paper, data in groups]

    def paint(sketches: list[Sketch]) -> None:
        (sketch,) = sketches
        every = [mean for row in comparison.rows for mean in row.means if math.isfinite(mean)]
        sketch.make_room(names)
        sketch.name_rows(list(heights.values()), names)
        sketch.set_places_of_values(value_range(every), comparison.title)
        sketch.axis.set_ylim(min(heights.values()) - 0.6, 0.6)
        for lane, epsilon in enumerate(EPSILONS):
            marks = [
                (row, row.means[lane], height + LANE * ((len(EPSILONS) - 1) / 2 - lane))
                for key, height in heights.items()
                for row in groups[key]
                if math.isfinite(row.means[lane])
            ]
            sketch.add_lane(
                epsilon_words(epsilon),
                Look(COLOURS[lane], "", MARKERS[lane]),
                [mean for _, mean, _ in marks],
                [height for _, _, height in marks],
                [f"{row.data}, {short_names[row.paper]}" for row, _, _ in marks],
                [Hover(_mark_text(row, mean, epsilon)) for row, mean, _ in marks],
            )

    size = (WIDE_INCHES, 0.9 + ROW_INCHES * len(groups))
    label = f"{comparison.title} of every set-up and attack, by data set and paper, at four epsilons"
    title = f"{comparison.title[:1].upper()}{comparison.title[1:]} by data set"
    return draw_sketches(1, paint, title, label, f"compare {comparison.metric}", size, bare=True)


def epsilon_words(epsilon: float) -> str:
    """The name of an epsilon in the legend and in a column."""
    return "without noise" if math.isinf(epsilon) else f"ε = {figure(epsilon)}"


def _mark_text(row: ComparedRow, mean: float, epsilon: float) -> str:
    return f"{row.section.spec.where}: {row.setup}, {row.attack}, {epsilon_words(epsilon)}: {figure(mean)}"
