"""Where each row of a file of results belongs: its arm, its attack, its place on the axes, its repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.coordinates import Level
from harness.data.quoting import quote_value
from harness.experiment import ResultsArm, ResultsFile
from harness.results.cells import ResultsCells, list_levels


@dataclass(frozen=True)
class Places:
    """Of each row of a file."""

    frame: pd.DataFrame
    """Columns `arm`, `attack`, `repeat` (0, 1, ...) and those of axes, one row a row of the file."""
    labels: dict[str, list[str]]
    """By arm: what the file calls its repeats."""

    def levels(self, declared: ResultsFile) -> dict[str, dict[str, tuple[Level, ...]]]:
        """By arm: the values of each axis that it has rows at, in the order of the declared ones, else sorted."""
        by_arm: dict[str, dict[str, tuple[Level, ...]]] = {}
        for arm in declared.arms:
            rows = self.frame[self.frame["arm"] == arm]
            by_arm[arm] = {axis: _order(rows[axis].unique().tolist(), declared, axis) for axis in declared.coordinates}
        return by_arm

    @property
    def repeats(self) -> int:
        """The most that an arm has."""
        return max(map(len, self.labels.values()))


def _order(values: list[Level], declared: ResultsFile, axis: str) -> tuple[Level, ...]:
    if (every := declared.axes[axis].values) is not None:
        return tuple(value for value in every if value in values)
    return tuple(sorted(values) if all(isinstance(value, float) for value in values) else values)


def read_places(declared: ResultsFile, cells: ResultsCells) -> Places:
    """The arm, attack, place and repeat of each row.

    Raises ResultsFault for a missing column, and for a name or value that the spec does not declare.
    """
    n = len(cells)
    columns: dict[str, Sequence[Level]] = {
        "arm": _read_names(declared, cells, "arm", declared.arms),
        "attack": _read_names(declared, cells, "attack", declared.attacks) if declared.attacks else [""] * n,
    }
    for axis in declared.coordinates:
        columns[axis] = _read_axis(declared, cells, axis)
    frame = pd.DataFrame(columns)
    labels, repeats = _number_repeats(declared, cells, np.array(columns["arm"], dtype=object))
    for arm in declared.arms:
        if arm not in labels:
            written = declared.arms[arm].in_file or arm
            cells.refuse_all(f"no row of the arm {arm!r} (written {quote_value(written)})", f"arms.{arm}")
    frame["repeat"] = repeats
    return Places(frame, labels)


def _read_names(declared: ResultsFile, cells: ResultsCells, what: str, known: Mapping[str, ResultsArm]) -> list[str]:
    """Names of arms or attacks; an empty cell of attacks is a row of the model itself."""
    column = declared.column(what)
    asked = what in declared.columns or len(known) > 1
    if not asked and column not in cells.columns:
        return list(known) * len(cells)
    written = {one.in_file or name: name for name, one in known.items()}
    names: dict[str, str] = {"": ""} | written if what == "attack" else written
    right = f"the spec declares: {list_levels(written)}; add it under experiment.{what}s, or write `in_file` there"
    return cells.read_each(column, f"columns.{what}", names.get, right)


def _read_axis(declared: ResultsFile, cells: ResultsCells, axis: str) -> list[Level]:
    column = declared.column(axis)
    levels: list[Level] = list(cells.levels(column, f"columns.{axis}" if axis in declared.columns else f"axes.{axis}"))
    every = declared.axes[axis].values
    if every is not None:
        for row, level in enumerate(levels):
            if level not in every:
                shown = f"{level:g}" if isinstance(level, float) else quote_value(str(level))
                cells.refuse(row, column, f"{shown} is none of the declared values: {list_levels(every)}")
    return levels


def _number_repeats(declared: ResultsFile, cells: ResultsCells, arms: Array) -> tuple[dict[str, list[str]], Array]:
    """By arm, what the file calls its repeats; and of each row the number of its repeat, (n,) int."""
    column = declared.column("repeat")
    if declared.format == "summary" or ("repeat" not in declared.columns and column not in cells.columns):
        return {str(arm): [""] for arm in dict.fromkeys(arms)}, np.zeros(len(cells), dtype=np.int64)
    read = cells.read_each(column, "columns.repeat", lambda text: text or None, "each row needs the name of its repeat")
    texts = np.array(read, dtype=object)
    labels = {str(arm): _sort_labels(dict.fromkeys(texts[arms == arm])) for arm in dict.fromkeys(arms)}
    if declared.paired:
        _check_pairs(cells, labels)
        labels = dict.fromkeys(labels, next(iter(labels.values())))
    number = {(arm, label): index for arm, own in labels.items() for index, label in enumerate(own)}
    return labels, np.array([number[arm, label] for arm, label in zip(arms, texts, strict=True)], dtype=np.int64)


def _sort_labels(labels: dict[str, None]) -> list[str]:
    """Labels of repeats in order: numbers by size, names as they occur."""
    return sorted(labels, key=float) if all(label.isdecimal() for label in labels) else list(labels)


def _check_pairs(cells: ResultsCells, labels: Mapping[str, list[str]]) -> None:
    first, *others = labels
    for arm in others:
        odd = sorted({*labels[first]} ^ {*labels[arm]})
        if odd:
            cells.refuse_all(
                f"the arms {first!r} and {arm!r} do not both have the repeat {quote_value(odd[0])}; paired arms have "
                "the same repeats",
                "paired",
            )
