"""From a file of results to rows of measurements: one a metric, arm, attack, place and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.columns import number
from harness.experiment import ResultsFile
from harness.experiment.results import Format, ResultsContent
from harness.files import sha256_content
from harness.results.cells import ResultsCells, ResultsFault, finite_number, list_levels, read_results
from harness.results.places import Places, read_places
from harness.results.scores import metrics_from_scores, read_scores

BETWEEN = ("±", "+/-", "+-")
"""What stands between a mean and its spread in one cell, as papers print them."""
NEEDED: dict[Format, tuple[str, ...]] = {
    "tidy": ("value",),
    "wide": (),
    "scores": ("member", "score"),
    "summary": ("mean",),
}
"""What a file cannot do without, by format; a wide one its metrics."""
PLACED = ("arm", "attack", "metric", "repeat", "value", "stderr", "n")


def field_of(declared: ResultsFile, name: str) -> str:
    """The field of the experiment that asks for a column."""
    return f"metrics.{name}" if name in declared.metrics and name not in declared.columns else f"columns.{name}"


def describe_results(declared: ResultsFile, path: Path) -> ResultsContent:
    """What a spec has to know of its file before its claims are checked. Raises ResultsFault."""
    cells = read_results(declared, path)
    places = read_places(declared, cells)
    by_metric = declared.format == "wide" or _has_column_each_metric(declared, cells)
    for name in declared.metrics if by_metric else NEEDED[declared.format]:
        cells.texts(declared.column(name), field_of(declared, name))
    repeats = places.repeats
    if declared.format == "summary":
        repeats = int(_counts(declared, cells).max())
    elif declared.repeats is not None and declared.repeats != repeats:
        cells.refuse_all(f"has {repeats} repeats where the spec declares {declared.repeats}", "repeats")
    priors, decided = dict[str, float](), declared.column("decision") in cells.columns
    metrics = metrics_from_scores(decided, tuple(declared.metrics)) if declared.format == "scores" else ()
    if declared.format == "scores":
        member = cells.flags(declared.column("member"), "columns.member")
        shares = pd.Series(member).groupby(places.frame["arm"]).mean()
        priors = {str(arm): float(share) for arm, share in shares.items()}
        if undecided := [metric for metric in declared.metrics if metric not in metrics]:
            what = f"{undecided[0]} is of an attack's decisions; name their column, as in columns: {{decision: called}}"
            cells.refuse_all(what, f"metrics.{undecided[0]}")
    return ResultsContent(
        path=str(path),
        sha256=sha256_content(path),
        levels=places.levels(declared),
        repeats=repeats,
        metrics=metrics or tuple(declared.metrics),
        priors=priors,
    )


def read_rows(declared: ResultsFile, path: Path) -> pd.DataFrame:
    """Rows of measurements, `PLACED` and a column each axis. Raises ResultsFault for the first cell that is wrong.

    Of a `summary` a row is a mean: `stderr` is its standard error, `n` the repeats that it is of. Of other formats a
    row is one repeat; `stderr` and `n` say what drawing records adds, which only scores tell.
    """
    cells = read_results(declared, path)
    places = read_places(declared, cells)
    if declared.format == "scores":
        rows = read_scores(declared, cells, places)
    elif declared.format == "summary":
        rows = _read_summary(declared, cells, places)
    elif declared.format == "wide":
        rows = _read_wide(declared, cells, places)
    else:
        rows = _read_tidy(declared, cells, places)
    _refuse_second_rows(declared, cells, rows)
    if declared.stopped_early:
        rows = _number_by_length(declared, cells, rows, places)
    else:
        _refuse_missing_repeats(declared, cells, rows, places)
    missing = [metric for metric in declared.metrics if metric not in set(rows["metric"])]
    if missing:
        cells.refuse_all(f"has no row of the metric {missing[0]!r}; it has: {list_levels(rows['metric'].unique())}",
                         f"metrics.{missing[0]}")  # fmt: skip
    return rows[[*PLACED, *declared.coordinates]]


def _read_tidy(declared: ResultsFile, cells: ResultsCells, places: Places) -> pd.DataFrame:
    metrics = _read_metrics(declared, cells)
    values = cells.numbers(declared.column("value"), "columns.value")
    rows = places.frame.assign(metric=metrics, value=values, stderr=0.0, n=1, row=np.arange(len(cells)))
    return _check_values(declared, cells, rows, declared.column("value"))


def _read_metrics(declared: ResultsFile, cells: ResultsCells) -> list[str]:
    column = declared.column("metric")
    if "metric" not in declared.columns and column not in cells.columns and len(declared.metrics) == 1:
        return list(declared.metrics) * len(cells)
    written = {one.in_file or name: name for name, one in declared.metrics.items()}
    right = f"the spec declares the metrics {list_levels(written)}; add it under experiment.metrics"
    return cells.read_each(column, "columns.metric", written.get, right)


def _read_wide(declared: ResultsFile, cells: ResultsCells, places: Places) -> pd.DataFrame:
    parts = []
    for metric in declared.metrics:
        column = declared.column(metric)
        texts = np.array(cells.texts(column, field_of(declared, metric)), dtype=object)
        mine = np.ones(len(cells), dtype=bool)
        if declared.attacks and declared.column("attack") in cells.columns:
            mine = (places.frame["attack"] != "").to_numpy() == declared.is_of_attacks(metric)
        for row in np.flatnonzero(mine):
            if finite_number(texts[row]) is None:
                cells.refuse_number(int(row), column, "a finite number is needed, such as 0.91")
        rows = places.frame[mine].assign(metric=metric, stderr=0.0, n=1, row=np.flatnonzero(mine))
        rows["value"] = np.array([number(text) for text in texts[mine]], dtype=np.float64)
        if not declared.is_of_attacks(metric):
            rows["attack"] = ""
        parts.append(_check_values(declared, cells, rows, column))
    return pd.concat(parts, ignore_index=True)


def _check_values(declared: ResultsFile, cells: ResultsCells, rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows. Raises ResultsFault for a value outside of its metric's range, and for a metric of attacks without one,
    or of models with one."""
    for metric, own in rows.groupby("metric", sort=False):
        low, high = declared.range_of(str(metric))
        outside = own[(own["value"] < low) | (own["value"] > high)]
        if len(outside):
            first = outside.iloc[0]
            declares = f"{metric} is declared to range over [{low:g}, {high:g}]"
            cells.refuse(int(first["row"]), column, f"{first['value']:g} is outside of it: {declares}")
        of_attacks = declared.is_of_attacks(str(metric))
        wrong = own[(own["attack"] != "") != of_attacks]
        if len(wrong):
            is_of = "attacks, and the row names none" if of_attacks else "the model, and the row names an attack"
            other = "model" if of_attacks else "attack"
            what = f"{metric} is of {is_of}; name one, or set scope: {other}" if of_attacks else (
                f"{metric} is of {is_of}; set scope: {other}, or leave the cell empty"
            )  # fmt: skip
            cells.refuse(int(wrong.iloc[0]["row"]), declared.column("attack"), what)
    return rows


def _has_column_each_metric(declared: ResultsFile, cells: ResultsCells) -> bool:
    """Whether a summary has no column of means but one each metric."""
    named = {"mean", "metric", "spread"} & declared.columns.keys()
    return declared.format == "summary" and not named and declared.column("mean") not in cells.columns


def _read_summary(declared: ResultsFile, cells: ResultsCells, places: Places) -> pd.DataFrame:
    """A row a mean; of a file with a column each metric, a row a mean in each of them."""
    counts = _counts(declared, cells)
    if not _has_column_each_metric(declared, cells):
        numbers = _means_and_spreads(declared, cells, "mean", "spread")
        return _rows_of_means(declared, cells, places, numbers, counts, _read_metrics(declared, cells))
    parts = []
    for metric in declared.metrics:
        numbers = _means_and_spreads(declared, cells, metric, f"{metric}_spread")
        parts.append(_rows_of_means(declared, cells, places, numbers, counts, [metric] * len(cells), metric))
    return pd.concat(parts, ignore_index=True)


def _rows_of_means(
    declared: ResultsFile,
    cells: ResultsCells,
    places: Places,
    numbers: tuple[Array, Array],
    counts: Array,
    metrics: Sequence[str],
    column: str = "mean",
) -> pd.DataFrame:
    """Rows of measurements of means and what they spread by, (n,) each, of a `column` that has the means."""
    means, spreads = numbers
    errors = spreads if declared.spread == "stderr" else spreads / np.sqrt(counts)
    rows = places.frame.assign(metric=metrics, value=means, stderr=errors, n=counts, row=np.arange(len(cells)))
    return _check_values(declared, cells, rows, declared.column(column))


def _means_and_spreads(declared: ResultsFile, cells: ResultsCells, mean: str, spread: str) -> tuple[Array, Array]:
    """(n,) each, of two columns, or of one that has both (`0.91 ± 0.02`)."""
    field, column, beside = field_of(declared, mean), declared.column(mean), declared.column(spread)
    if spread in declared.columns or beside in cells.columns:
        spreads = cells.numbers(beside, f"columns.{spread}")
        negative = np.flatnonzero(spreads < 0)
        if len(negative):
            cells.refuse(int(negative[0]), beside, "a standard deviation, or error, is 0 or more")
        return cells.numbers(column, field), spreads
    right = f"a mean and its spread are needed, as in 0.91 ± 0.02; or a column `{spread}`"
    both = np.array(cells.read_each(column, field, _split_spread, right, numeric=True), dtype=np.float64)
    return both[:, 0], both[:, 1]


def _split_spread(text: str) -> tuple[float, float] | None:
    parts = split_spread(text)
    if parts is None:
        return None
    mean, spread = map(finite_number, parts)
    return None if mean is None or spread is None or spread < 0 else (mean, spread)


def split_spread(text: str) -> tuple[str, str] | None:
    """The texts of a mean and of its spread, of a cell that has both, as `0.91 ± 0.02`; None of another one."""
    places = [(at, mark) for mark in BETWEEN if (at := text.find(mark, 1)) > 0]
    if not places:
        return None
    at, mark = min(places)
    mean, spread = text[:at].strip(), text[at + len(mark) :].strip()
    return (mean, spread) if mean and spread else None


def _counts(declared: ResultsFile, cells: ResultsCells) -> Array:
    """(n,) of how many repeats each mean is."""
    column = declared.column("n")
    if "n" not in declared.columns and column not in cells.columns:
        if declared.repeats is None:
            cells.refuse_all("has no column 'n'; say of how many repeats the means are, as in repeats: 10", "repeats")
        return np.full(len(cells), declared.repeats, dtype=np.int64)
    right = "of how many repeats the mean is, a whole number above 0, is needed"
    counts: Array = np.array(cells.read_each(column, "columns.n", lambda text: _count(text), right), dtype=np.int64)
    return counts


def _count(text: str) -> int | None:
    value = finite_number(text)
    return int(value) if value is not None and value >= 1 and value == int(value) else None


def _refuse_second_rows(declared: ResultsFile, cells: ResultsCells, rows: pd.DataFrame) -> None:
    by = ["metric", "arm", "attack", *declared.coordinates, "repeat"]
    again = rows[rows.duplicated(by)]
    if not len(again):
        return
    second = again.iloc[0]
    same = (rows[by] == second[by]).all(axis=1)
    first = cells.place(int(rows[same].iloc[0]["row"])).removeprefix(f"{cells.name}:").removeprefix(" row ")
    where = _place_text(second, ["arm", "attack", *declared.coordinates])
    what = "a second mean" if declared.format == "summary" else "a second value"
    mend = "leave one out" if declared.format == "summary" else "name the column of repeats (columns: {repeat: seed})"
    if declared.format != "summary" and declared.column("repeat") in cells.columns:
        mend = "leave one out, or give it a repeat of its own"
    place = cells.place(int(second["row"]))
    raise ResultsFault(f"{place}: {what} of {second['metric']} ({where}), the first is in line {first}; {mend}")


def _refuse_missing_repeats(declared: ResultsFile, cells: ResultsCells, rows: pd.DataFrame, places: Places) -> None:
    """Raises ResultsFault where a place of an arm lacks a repeat that another has: repeats are compared one by one."""
    by = ["arm", "attack", "metric", *declared.coordinates]
    counts = rows.groupby(by, sort=False)["repeat"].agg(set)
    for key, there in counts.items():
        values = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        every = places.labels[str(values["arm"])]
        absent = [label for index, label in enumerate(every) if index not in there]
        if absent:
            where = _place_text(pd.Series(values), ["arm", "attack", *declared.coordinates])
            raise ResultsFault(
                f"{cells.name}: no {values['metric']} of the repeat {absent[0]!r} ({where}), which other rows of the "
                "arm have; give every repeat of an arm at every place, leave that repeat out, or say that runs "
                "stopped early (stopped_early: true)"
            )


def _number_by_length(declared: ResultsFile, cells: ResultsCells, rows: pd.DataFrame, places: Places) -> pd.DataFrame:
    """The rows with repeats numbered by how far they go, the longest first, so that those of any place are the first
    of them; of paired arms alike in all.

    Raises ResultsFault where a run lacks a place and has one that fewer runs reach: it did not stop there.
    """
    by = ["arm", "attack", "metric", *declared.coordinates]
    common = [] if declared.paired else ["arm"]
    lengths = rows.groupby([*common, "repeat"], sort=False).size().sort_values(ascending=False, kind="stable")
    order = lengths.reset_index(name="places")
    order["number"] = order.groupby(common).cumcount() if common else np.arange(len(order))
    rows = rows.merge(order[[*common, "repeat", "number"]], on=[*common, "repeat"], how="left", sort=False)
    for key, there in rows.groupby(by, sort=False):
        lacking = set(range(int(there["number"].max()))) - set(there["number"])
        if lacking:
            values = pd.Series(dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True)))
            own = rows[(rows["number"] == min(lacking)) & (rows["arm"] == values["arm"])]
            label = places.labels[str(values["arm"])][int(own["repeat"].iloc[0])] if len(own) else "of another arm"
            where = _place_text(values, ["arm", "attack", *declared.coordinates])
            raise ResultsFault(
                f"{cells.name}: no {values['metric']} of the repeat {label!r} ({where}), which has places that fewer "
                "repeats reach; a run that stopped early has every place up to where it stopped"
            )
    return rows.drop(columns="repeat").rename(columns={"number": "repeat"})


def _place_text(row: pd.Series, names: Sequence[str]) -> str:
    shown = ((name, row[name]) for name in names if row[name] != "")
    return ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in shown)
