"""What the panels of a section are made of: which there are, their series, and which of these stand together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.series import TableFacts, intervals_of, means_by_outcome
from harness.coordinates import Place, Where, place
from harness.report.anchors import mark
from harness.report.lines import has_comparable_mean, printed_values
from harness.report.vocabulary import attack_words, level_words, metric_words
from harness.spec.model import Spec
from harness.spec.page import Panel

MOST_SERIES, MOST_ROWS, MOST_PANELS = 6, 24, 8
"""Series that a panel has room for, set-ups that are rows of one, and panels that a figure is split into by name."""
METRIC_LABELS = {
    "accuracy_train": "train",
    "accuracy_test": "test",
    "accuracy_nonmembers": "non-members",
}
Quantity = tuple[str, str, str]
"""Arm, attack (none for one of the model), metric."""
Interval = tuple[float, float, float]
"""A mean and the ends of its 95% interval."""
Intervals = Mapping[tuple[str, str, str, Place], Interval]
"""By arm, attack, metric and place."""


@dataclass(frozen=True, eq=False)
class Averages:
    """What the panels of a spec draw of its table."""

    places: Mapping[Quantity, Mapping[Place, Interval]]
    """Mean and interval by what was measured and where."""
    outcomes: Mapping[Quantity, Mapping[int, Mapping[float, float]]]
    """Where a split draws one of a few outcomes: the mean of each outcome at each epsilon."""


@dataclass(frozen=True, eq=False)
class Series:
    """Means over the values of an axis, or over set-ups."""

    words: Mapping[str, str]
    """What it is of, in words: `metric`, `attack`, `arm` and `at`; empty where that is no part of its name."""
    quantity: Quantity
    levels: tuple[float | str, ...]
    """Values of the axis, or names of set-ups."""
    mean: Array
    low: Array
    high: Array
    marks: tuple[str, ...]
    """Names of its points, which claims share."""
    printed: Mapping[int, float]
    """What the paper prints, by the index of the point."""
    outcomes: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = field(default=())
    """Levels and means of each outcome that a split drew."""


def panels_of(spec: Spec) -> list[Panel]:
    """The panels that a spec declares, and one for each metric of its claims that these do not show."""
    declared = list(spec.figure)
    first = spec.axes[0] if declared and spec.axes else "epsilon"
    across = next((panel.x for panel in declared if panel.x in spec.axes), first)
    shown = {q for panel in declared if panel.curve is None for q in quantities(spec, panel) if _shows(spec, panel, q)}
    by_metric: dict[tuple[str, str], dict[Quantity, None]] = {}
    for quantity in claimed_quantities(spec):
        if quantity not in shown:
            arm, attack, metric = quantity
            axes = spec.name_scope.axes(arm, attack)
            over = across if across in axes else "epsilon" if "epsilon" in axes else next(iter(axes), "arm")
            by_metric.setdefault((metric, over), {})[quantity] = None
    further = [_claimed_panel(spec, metric, tuple(claimed), over) for (metric, over), claimed in by_metric.items()]
    usual = [Panel(title="Membership advantage", metrics=("advantage",))] if spec.own_experiment is not None else []
    return [*declared, *further] or usual


def _shows(spec: Spec, panel: Panel, quantity: Quantity) -> bool:
    """Whether a panel shows a quantity at every place, and fixes no axis that has several values."""
    arm, attack, _ = quantity
    axes = spec.name_scope.axes(arm, attack)
    over = "epsilon" if panel.x == "epsilon-as-trained" else panel.x
    return all(len(axes[axis]) == 1 or axis == over or not (axis in panel.at or over == "arm") for axis in axes)


def _claimed_panel(spec: Spec, metric: str, claimed: Sequence[Quantity], across: str) -> Panel:
    """A panel of what claims speak of; its title has the set-up where there is one of several."""
    assert spec.experiment is not None
    attacks = tuple(dict.fromkeys(attack for _, attack, _ in claimed if attack))
    arms = tuple(dict.fromkeys(arm for arm, _, _ in claimed))
    words = metric_words(metric)
    title = words[:1].upper() + words[1:]
    if len(arms) == 1 < len(spec.experiment.arms):
        title += f", {spec.experiment.arms[arms[0]].label or arms[0]}"
    return Panel(title=title, metrics=(metric,), attacks=attacks, arms=arms, x=across)


def claimed_quantities(spec: Spec) -> list[Quantity]:
    """The quantities on either side of a spec's claims."""
    parts = [part for claim in spec.claims for part in spec.parts(claim)]
    named: dict[Quantity, None] = {}
    for operand in (operand for part in parts for operand in part.operands()):
        arms = operand.arm or tuple(spec.name_scope.arms)[:1]
        named.update(dict.fromkeys(product(arms, operand.attack or ("",), operand.metric)))
    return list(named)


def quantities(spec: Spec, panel: Panel) -> list[Quantity]:
    """The quantities that a panel draws, in the order of arms, metrics and attacks."""
    assert spec.experiment is not None
    of_attacks = spec.attack_metrics
    attacks = panel.attacks or spec.attack_names
    return [
        (arm, attack, metric)
        for arm, metric in product(panel.arms or tuple(spec.experiment.arms), panel.metrics)
        for attack in (attacks if metric in of_attacks else ("",))
    ]


def drawn_metrics(panels: Sequence[Panel]) -> list[str]:
    """What panels show."""
    return list(dict.fromkeys(metric for panel in panels for metric in panel.metrics))


def averages_of(
    spec: Spec,
    table: pd.DataFrame,
    metrics: Sequence[str],
    intervals: Intervals | None = None,
) -> Averages:
    """Mean and 95% interval of these metrics wherever they were measured; `intervals`, where they are known already.

    An interval ends where the metric's range does; one that has all of the range is unbounded, since it says nothing.
    """
    facts = TableFacts.of(table)
    places: dict[Quantity, dict[Place, Interval]] = {}
    if intervals is None:
        intervals = intervals_of(table, metrics, spec.axes)
    for (arm, attack, metric, where), (mean, *ends) in intervals.items():
        if metric not in metrics:
            continue
        whole = facts.range_of(metric)
        low, high = np.clip(ends, *whole).tolist()
        if (low, high) == whole:
            low, high = -math.inf, math.inf
        places.setdefault((arm, attack, metric), {})[where] = (mean, low, high)
    return Averages(places, means_by_outcome(table, metrics) if "epsilon" in spec.axes else {})


def split_series(words: Sequence[Mapping[str, str]], at_most: int = MOST_SERIES) -> list[list[int]]:
    """Which series stand in one panel together: all of them where these are few enough.

    Else there is a panel for each metric, attack, set-up or place, whichever makes the fewest panels of at most so many
    series, by two of these where one does not do. Where that would be more than `MOST_PANELS`, it is the fewest panels
    that hold so many of one metric, attack, set-up or place, in their order.

    Args:
        words: of each series, what it is of; all have the same keys.

    Returns:
        indices, by panel.
    """
    names = tuple(words[0]) if words else ()
    ways = [way for count in range(len(names) + 1) for way in combinations(names, count)]
    split = {way: _split_by(words, way) for way in ways}
    for count in range(len(names) + 1):
        fits = [split[way] for way in ways if len(way) == count and max(map(len, split[way]), default=0) <= at_most]
        if fits and len(fewest := min(fits, key=len)) <= MOST_PANELS:
            return fewest
    cut = [
        [group[i : i + at_most] for group in groups for i in range(0, len(group), at_most)]
        for way, groups in split.items()
        if len(way) == 1 and len(groups) > 1
    ]
    return min(cut, key=len)


def _split_by(words: Sequence[Mapping[str, str]], way: Sequence[str]) -> list[list[int]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, of in enumerate(words):
        groups.setdefault(tuple(of[name] for name in way), []).append(index)
    return list(groups.values())


def series_over(spec: Spec, panel: Panel, averages: Averages) -> list[Series]:
    """The series of a panel over its axis."""
    over = "epsilon" if panel.x == "epsilon-as-trained" else panel.x
    fixed = {key: value for key, value in panel.at.items() if key != over}
    printed, drawn = printed_values(spec), []
    for quantity in quantities(spec, panel):
        by_rest: dict[Place, list[Place]] = {}
        for where in averages.places.get(quantity, {}):
            at = dict(where)
            if over in at and fixed.items() <= at.items():
                by_rest.setdefault(place((a, v) for a, v in where if a != over), []).append(where)
        for rest, places in by_rest.items():
            ordered = sorted(places, key=lambda where: _order(dict(where)[over]))
            others = {axis: value for axis, value in rest if axis not in panel.at}
            words = words_of(spec, quantity, others)
            drawn.append(_series(spec, quantity, words, over, ordered, averages, printed))
    return [one for one in drawn if len(one.levels)]


def _series(
    spec: Spec,
    quantity: Quantity,
    words: Mapping[str, str],
    over: str,
    places: Sequence[Place],
    averages: Averages,
    printed: Mapping[tuple[Quantity, Place], float],
) -> Series:
    attack = quantity[1]
    outcomes: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()
    if attack and over == "epsilon":
        drawn = averages.outcomes.get(quantity, {})
        levels = np.array([dict(where)[over] for where in places], float)
        places = [where for where, kept in zip(places, has_comparable_mean(drawn, levels), strict=True) if kept]
        outcomes = tuple((tuple(by_epsilon), tuple(by_epsilon.values())) for by_epsilon in drawn.values())
    mean, low, high = np.array([averages.places[quantity][where] for where in places]).reshape(-1, 3).T
    known = {i: printed[quantity, where] for i, where in enumerate(places) if (quantity, where) in printed}
    marks = tuple(mark(*quantity, where) for where in places)
    levels_of = tuple(dict(where)[over] for where in places)
    return Series(words, quantity, levels_of, mean, low, high, marks, known, outcomes)


def _order(level: object) -> tuple[bool, object]:
    return isinstance(level, str), level


def words_of(spec: Spec, quantity: Quantity, others: Where) -> dict[str, str]:
    """What a series is of, in words: metric, attack, arm, and the place on the remaining axes."""
    arm, attack, metric = quantity
    assert spec.experiment is not None
    return {
        "metric": METRIC_LABELS.get(metric, metric_words(metric)),
        "attack": attack_words(attack, spec.attack_labels) if attack else "",
        "arm": spec.experiment.arms[arm].label or arm,
        "at": ", ".join(level_words(axis, value) for axis, value in others.items()),
    }


def series_of_arms(spec: Spec, panel: Panel, averages: Averages) -> list[Series]:
    """The series of a panel over set-ups: each metric and attack at the panel's place, else at the largest epsilon."""
    assert spec.experiment is not None
    by_series: dict[tuple[str, str], list[tuple[Quantity, Place]]] = {}
    for quantity in quantities(spec, panel):
        if (where := _place_in(averages.places.get(quantity, {}), panel.at)) is not None:
            by_series.setdefault(quantity[1:], []).append((quantity, where))
    printed, drawn = printed_values(spec), []
    for (attack, metric), points in by_series.items():
        arms = tuple(words_of(spec, quantity, {})["arm"] for quantity, _ in points)
        mean, low, high = np.array([averages.places[quantity][where] for quantity, where in points]).T
        known = {i: printed[point] for i, point in enumerate(points) if point in printed}
        words = {**words_of(spec, points[0][0], {}), "arm": ""}
        marks = tuple(mark(*quantity, where) for quantity, where in points)
        drawn.append(Series(words, ("", attack, metric), arms, mean, low, high, marks, known))
    return drawn


def _place_in(places: Mapping[Place, object], at: Where) -> Place | None:
    """The place at the epsilon that is asked for, or the nearest; the largest where none is asked for."""
    fits = [where for where in places if all(at.get(a, v) == v for a, v in where if a != "epsilon")]
    if not fits:
        return None
    wanted = float(at.get("epsilon", math.inf))
    if not math.isfinite(wanted):
        return max(fits, key=lambda where: float(dict(where).get("epsilon", math.inf)))
    return min(fits, key=lambda where: abs(float(dict(where).get("epsilon", math.inf)) - wanted))


def rows_of(series: Sequence[Series], names: Sequence[str]) -> Series:
    """One series whose rows are series of one point each."""
    first = series[0]
    mean, low, high = np.array([(one.mean[0], one.low[0], one.high[0]) for one in series]).T
    known = {i: one.printed[0] for i, one in enumerate(series) if 0 in one.printed}
    marks = tuple(one.marks[0] for one in series)
    return Series(dict.fromkeys(first.words, ""), first.quantity, tuple(names), mean, low, high, marks, known)


def names_of(words: Sequence[Mapping[str, str]]) -> tuple[list[str], str]:
    """What tells each series from the others, and what all of them share."""
    if not words:
        return [], ""
    several = [key for key in ("arm", "metric", "attack", "at") if len({of[key] for of in words}) > 1]
    shared = [words[0][key] for key in ("arm", "attack", "metric", "at") if key not in several]
    return [", ".join(filter(None, (of[key] for key in several))) for of in words], ", ".join(filter(None, shared))
