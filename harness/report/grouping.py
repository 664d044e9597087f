"""Which series of a panel stand in one figure together, and what they and the figures are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.drawing import COLOURS, DASHES, MARKERS, Look
from harness.report.panels import (
    MOST_ROWS,
    MOST_SERIES,
    Averages,
    Series,
    names_of,
    rows_of,
    series_of_arms,
    series_over,
    split_series,
)
from harness.spec.model import Spec
from harness.spec.page import Panel


@dataclass(frozen=True, eq=False)
class Group:
    """The series of one figure, by name and with their look."""

    title: str
    series: tuple[Series, ...]
    names: tuple[str, ...]
    looks: tuple[Look, ...]
    by_rows: bool
    """Whether set-ups are rows; else the series go over an axis."""


def groups_of(spec: Spec, panel: Panel, averages: Averages) -> list[Group]:
    """The figures of a panel: one, or several where it has more series than one can hold."""
    split = _split_panel(spec, panel, averages)
    named = [_names(series) for series, _ in split]
    every = list(dict.fromkeys(name for names in named for name in names if name))
    titles = _titles(panel.title, [series for series, _ in split])
    return [
        Group(title, tuple(series), tuple(names), _looks(names, every), by_rows)
        for title, (series, by_rows), names in zip(titles, split, named, strict=True)
    ]


def _split_panel(spec: Spec, panel: Panel, averages: Averages) -> list[tuple[Sequence[Series], bool]]:
    """The series of each figure, and whether it has set-ups as rows.

    What has one value along the axis is a row where all series are so, or where there are more series than one figure
    holds.
    """
    if panel.x == "arm":
        series = series_of_arms(spec, panel, averages)
        if series and len({one.levels for one in series}) == 1 == len(series[0].levels):
            return _rows(series)
        return _split(series, True)
    series = series_over(spec, panel, averages)
    single = [one for one in series if len(one.levels) == 1 or isinstance(one.levels[0], str)]
    if len(single) < len(series) <= MOST_SERIES:
        return _split(series, False)
    return _rows(single) + _split([one for one in series if one not in single], False)


def _split(series: Sequence[Series], by_rows: bool) -> list[tuple[Sequence[Series], bool]]:
    indices = split_series([one.words for one in series])
    return [([series[i] for i in group], by_rows) for group in indices if group]


def _rows(series: Sequence[Series]) -> list[tuple[Sequence[Series], bool]]:
    """Series of one value each as rows, of which one figure holds so many."""
    names = (
        names_of([one.words for one in series])[0] if len(series) > 1 else [name_single_series(one) for one in series]
    )
    pieces = [slice(i, i + MOST_ROWS) for i in range(0, len(series), MOST_ROWS)]
    return [([rows_of(series[piece], names[piece])], True) for piece in pieces]


def name_single_series(one: Series) -> str:
    """The name of a series without others beside it: its set-up and attack, or its metric."""
    words = one.words
    return ", ".join(filter(None, (words["arm"], words["attack"], words["at"]))) or words["metric"]


def _names(series: Sequence[Series]) -> list[str]:
    """The names of series in their figure; rows have names of their own and get none."""
    if len(series) > 1:
        return names_of([one.words for one in series])[0]
    return [name_single_series(series[0])]


def _titles(title: str, split: Sequence[Sequence[Series]]) -> list[str]:
    """The titles of the figures of a panel: the panel's, and what tells each from the others."""
    if len(split) == 1:
        return [title]
    every = [one.words for series in split for one in series if any(one.words.values())]
    apart = [key for key in ("attack", "metric", "arm", "at") if len({of[key] for of in every}) > 1]
    titles = []
    for series in split:
        shared = [series[0].words[key] for key in apart if len({one.words[key] for one in series}) == 1]
        alone = "" if apart else name_single_series(series[0])
        titles.append(": ".join(filter(None, (title, ", ".join(filter(None, shared)) or alone))))
    return [f"{one} ({titles[:i].count(one) + 1})" if titles.count(one) > 1 else one for i, one in enumerate(titles)]


def _looks(names: Sequence[str], every: Sequence[str]) -> tuple[Look, ...]:
    """The look of each series; a name has the same look in all figures of a panel, where there are few names."""
    order = every if len(every) <= MOST_SERIES else list(names)
    indices = [order.index(name) % MOST_SERIES if name else 0 for name in names]
    return tuple(Look(COLOURS[i], DASHES[i % len(DASHES)], MARKERS[i]) for i in indices)
