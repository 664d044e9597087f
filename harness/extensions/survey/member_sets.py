"""The member sets that a table suggests: rows that share a value, lie in a range of a number, or form a cluster.

Who is in a training set is seldom drawn at random: it is one hospital, one year, one sex. Each of these is a split of
its own, with the rest of the table as non-members.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import Schema
from harness.data.disclosure import round_edge
from harness.data.encoding import categorical_columns
from harness.data.split import Sizes
from harness.data.splits.cluster import clusters_by_size

RANGES = 4
"""Ranges that a column of numbers is cut into, with about as many rows in each."""
N_INIT = 3
"""Restarts of k-means."""
CLUSTERS = 5
"""Clusters that the table is divided into."""
FEW_VALUES = 8
"""A column of numbers with so many values at most is one of categories."""
MOST_LEVELS = 100
"""A column with more values is not looked at as a proxy but by its range."""
RANDOM = "random"
"""Name of the split that every other is compared with."""


@dataclass(frozen=True)
class MemberSet:
    """Rows that could be the members, and the split that makes them so."""

    name: str
    """Of the arm: lower case, with hyphens."""
    label: str
    """In words, such as `sex = Female`."""
    rows: int
    split: Mapping[str, object]
    """As a spec writes it."""


@dataclass(frozen=True)
class LeftOut:
    """Rows that cannot be a member set, and why."""

    label: str
    why: str


def list_member_sets(
    table: pd.DataFrame,
    schema: Schema,
    sizes: Sizes,
    features: Array,
    ranges: int = RANGES,
    clusters: int = CLUSTERS,
    dates: Collection[str] = (),
    least_shown: int = 1,
) -> tuple[list[MemberSet], list[LeftOut]]:
    """Every member set of a table with enough rows for `sizes`, in the order of its columns; and those without.

    Of a column of categories each value is one, of numbers each of `ranges` ranges, of the whole table each of
    `clusters` clusters of its encoded rows, `features` (n, d). Columns that determine who is a member are removed from
    the features, as `proxy_columns`. Of two member sets with the same rows the first is kept. Columns in `dates` are
    numbers of days since 1970-01-01.

    What fewer than `least_shown` rows share is not named: such values of a column are one entry of what is left out,
    with their number, and no range begins at a number that so few rows have.
    """
    categories = {*categorical_columns(table, schema)}
    sets: list[MemberSet] = []
    left: list[LeftOut] = []
    known: dict[bytes, str] = {}
    for column in table.columns:
        if column == schema.label:
            continue
        values = table[column]
        few = values.nunique() <= FEW_VALUES or pd.api.types.is_bool_dtype(values)
        if column in dates:
            divide = _by_date if values.nunique() > 1 else _by_value
        else:
            divide = _by_value if column in categories or few else _by_range
        rare = 0
        for label, mask, split in divide(str(column), values, ranges, least_shown):
            if mask.sum() < least_shown:
                rare += 1
                continue
            if (why := _too_few(mask, sizes, least_shown)) is not None:
                left.append(LeftOut(label, why))
                continue
            if (same := known.setdefault(np.packbits(mask).tobytes(), label)) != label:
                left.append(LeftOut(label, f"the same rows as {same}"))
                continue
            proxies = [str(c) for c in table.columns if c not in (column, schema.label) and _determines(table[c], mask)]
            if len(proxies) == len(table.columns) - 2:
                left.append(LeftOut(label, "every other column says the same, so no feature is left"))
                continue
            declared = {**split, **({"proxy_columns": proxies} if proxies else {})}
            sets.append(MemberSet(_free_name(label, sets), label, int(mask.sum()), declared))
        if rare:
            noun = "range" if divide is not _by_value else "value"
            left.append(_rare_entry(rare, noun, f" of {column}", least_shown))
    of_rows = clusters_by_size(features, clusters, N_INIT) if clusters > 1 else np.empty(0)
    rare = 0
    for number in range(clusters if clusters > 1 else 0):
        label, mask = f"cluster {number + 1} of {clusters}", of_rows == number
        if mask.sum() < least_shown:
            rare += 1
            continue
        if (why := _too_few(mask, sizes, least_shown)) is not None:
            left.append(LeftOut(label, why))
            continue
        split = {"kind": "cluster", "clusters": clusters, "cluster": number, "n_init": N_INIT}
        sets.append(MemberSet(_free_name(label, sets), label, int(mask.sum()), split))
    if rare:
        left.append(_rare_entry(rare, "cluster", "", least_shown))
    return sets, left


def _rare_entry(count: int, noun: str, of: str, least: int) -> LeftOut:
    """What is left out since few rows share it, by its number alone."""
    each = "each" if count > 1 else ""
    return LeftOut(f"{count:,} {noun}{'s' * (count > 1)}{of}", f"fewer than {least:,} rows {each}".rstrip())


Division = Iterator[tuple[str, Array, dict[str, object]]]
"""Label, mask (rows,) bool, and split of each member set of a column."""


def _by_value(column: str, values: pd.Series, ranges: int, least: int) -> Division:
    """Rows that share a value, most frequent first; of two values the other one makes a member set too."""
    texts = values.astype(str)
    present = values.notna().to_numpy()
    for value in texts[present].value_counts().index:
        mask = present & (texts == value).to_numpy()
        yield f"{column} = {value}", mask, {"kind": "attribute", "attribute": column, "values": [value]}


def _by_date(column: str, values: pd.Series, ranges: int, least: int) -> Division:
    """Rows in spans of time with about as many rows, from the earliest."""
    return _by_range(column, values, ranges, least, _date_words)


def _by_range(
    column: str, values: pd.Series, ranges: int, least: int, words: Callable[[float], str] | None = None
) -> Division:
    """Rows in ranges of about as many rows, from the lowest; `words` says a number in labels."""
    numbers = values.to_numpy(np.float64)
    present = np.sort(numbers[~np.isnan(numbers)])
    edges = sorted({round_edge(present, edge, least) for edge in range_edges(present, ranges)})
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        with np.errstate(invalid="ignore"):
            mask = ~np.isnan(numbers)
            mask &= numbers >= (-np.inf if low is None else low)
            mask &= numbers < (np.inf if high is None else high)
        bounds = {"low": low, "high": high}
        split = {"kind": "range", "attribute": column, **{k: v for k, v in bounds.items() if v is not None}}
        yield f"{column} {_range_words(low, high, words or _number_words)}", mask, split


def range_edges(numbers: Array, ranges: int) -> list[float]:
    """Where numbers (n,) are cut into at most `ranges` ranges of about as many: values that begin one, rising.

    Where one value is so frequent that a cut would fall on the least number, the next number is a cut instead.
    """
    distinct = np.unique(numbers)
    if len(distinct) < 2:
        return []
    cuts = np.quantile(numbers, np.arange(1, ranges) / ranges, method="lower")
    edges = {float(cut) for cut in cuts if cut > distinct[0]}
    if len(edges) < ranges - 1 and (cuts == distinct[0]).any():
        edges.add(float(distinct[1]))
    return sorted(edges)


def _range_words(low: float | None, high: float | None, words: Callable[[float], str]) -> str:
    later, before = ("and later", "before") if words is _date_words else ("and more", "below")
    if low is None:
        return f"{before} {words(high or 0.0)}"
    return f"{words(low)} {later}" if high is None else f"from {words(low)} to {before} {words(high)}"


def _date_words(days: float) -> str:
    """The date that is so many days after 1970-01-01, with its time where it has one."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    return f"{moment:%Y-%m-%d}" if days == int(days) else f"{moment:%Y-%m-%d %H:%M}"


def _number_words(value: float) -> str:
    """Four digits, and all of a large whole number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _too_few(mask: Array, sizes: Sizes, least_shown: int) -> str | None:
    """Why a member set has too few rows inside or outside; None where it has enough."""
    inside, outside, need = int(mask.sum()), int((~mask).sum()), sizes.members + sizes.test
    if inside < need:
        return f"{inside:,} rows, {need:,} are needed"
    others = f"{outside:,}" if outside >= least_shown else f"fewer than {least_shown:,}"
    return f"{others} rows outside of it, {sizes.nonmembers:,} are needed" if outside < sizes.nonmembers else None


def _determines(values: pd.Series, mask: Array) -> bool:
    """Whether the value of a column determines membership in a set of rows, (rows,) bool."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    if len(distinct) <= MOST_LEVELS:
        inside = np.bincount(codes[mask], minlength=len(distinct))
        every = np.bincount(codes, minlength=len(distinct))
        return bool(((inside == 0) | (inside == every)).all())
    if not pd.api.types.is_numeric_dtype(values):
        return False
    numbers = values.to_numpy(np.float64)
    inside, outside = numbers[mask], numbers[~mask]
    return bool(np.nanmax(inside) < np.nanmin(outside) or np.nanmin(inside) > np.nanmax(outside))


def _free_name(label: str, sets: list[MemberSet]) -> str:
    """A name for an arm that no other has, made from its label."""
    stem = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "set"
    taken = {one.name for one in sets} | {RANDOM}
    if stem not in taken:
        return stem
    return next(name for n in range(2, len(sets) + 3) if (name := f"{stem}-{n}") not in taken)
