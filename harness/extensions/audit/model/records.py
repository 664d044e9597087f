"""Candidate records of an audit, and records that are known to be no members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import Schema
from harness.data.encoding import Preprocessing, encode
from harness.data.quoting import quote_value
from harness.errors import HarnessError
from harness.extensions.audit.model.files import Rows, read_rows
from harness.extensions.audit.model.question import Question
from harness.hashing import generator
from harness.paths import portable_path

FEWEST = 20
"""Members, and non-members, below which nothing is said."""
FEWEST_REFERENCE = 6
"""Of the records that attacks learn from: below, half of them has no quantile."""
MOST_LEVELS = 100
"""A column of text with more values is kept from the attacks that read features."""


@dataclass(frozen=True)
class Records:
    """Members, then the non-members that are attacked, then the reference records: known to be no members."""

    features: pd.DataFrame | Array
    """As the model is asked, of all of them: (m + n + k) rows."""
    labels: Array
    """As they stand in the files, (m + n + k,)."""
    places: tuple[str, ...]
    """File and line of each, (m + n + k,)."""
    members: int
    nonmembers: int
    copies: Array
    """How many rows of its file each stands for, (m + n + k,)."""
    repeated: tuple[int, int, int]
    """Rows of members, of non-members and of reference records that repeat an earlier record, and are left out."""

    @property
    def candidates(self) -> int:
        """Members and non-members that are attacked."""
        return self.members + self.nonmembers

    @property
    def references(self) -> int:
        """Records that attacks learn from."""
        return len(self.labels) - self.candidates

    @cached_property
    def is_member(self) -> Array:
        """Of the candidates, (m + n,) bool."""
        return np.arange(self.candidates) < self.members

    @cached_property
    def unread_columns(self) -> tuple[str, ...]:
        """Columns that attacks on features do not see: of text with many values, or without any."""
        if not isinstance(self.features, pd.DataFrame):
            return ()
        frame = self.features
        text = {name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])}
        many = {name for name in text if frame[name].nunique() > MOST_LEVELS}
        return tuple(str(name) for name in frame.columns if name in many or frame[name].isna().all())

    @cached_property
    def encoded_features(self) -> Array:
        """Features of all of them as numbers, (m + n + k, d) float32, for attacks that read them."""
        if isinstance(self.features, pd.DataFrame):
            frame = self.features.drop(columns=list(self.unread_columns))
        else:
            flat = self.features.reshape(len(self.labels), -1)
            frame = pd.DataFrame(flat, columns=[f"feature {i + 1}" for i in range(flat.shape[1])])
        if not len(frame.columns):
            return np.zeros((len(frame), 1), dtype=np.float32)
        label = "label"
        while label in frame.columns:
            label += "_"
        table = frame.assign(**{label: np.zeros(len(frame), dtype=np.int64)})
        return encode(table, Schema(label, ()), Preprocessing(scaling="standard")).features


def read_records(question: Question) -> Records:
    """Read the records of a question. Raises HarnessError where there are too few, or one is on both sides."""
    paths = [question.members, question.nonmembers]
    if question.reference is not None:
        paths.append(question.reference)
    rows = read_rows(paths, question.label, question.ignore)
    _check_counts(paths, rows)
    _check_apart(paths, rows)
    rows, copies, repeated = _keep_first(rows)
    _check_counts(paths, rows, "different records")
    order = _order_records(rows, question)
    features = take_rows(rows.features, order)
    owner = np.repeat(np.arange(len(paths)), rows.counts)
    names = [portable_path(str(path)) for path in paths]
    places = tuple(f"{names[owner[at]]}:{rows.lines[at]}" for at in order)
    m, n = rows.counts[0], rows.counts[1]
    k = rows.counts[2] if len(paths) > 2 else n // 3
    attacked = n if len(paths) > 2 else n - k
    if len(pd.unique(rows.labels)) < 2:
        raise HarnessError(
            f"{paths[0]}, {paths[1]}: the label has one value only, {quote_value(str(rows.labels[0]))}; two or more "
            "are needed"
        )
    if 0 in features.shape[1:]:
        raise HarnessError(f"{paths[0]}: no column is left beside the label {question.label!r}; a model needs features")
    return Records(features, rows.labels[order], places, m, attacked, copies[order], repeated)


def take_rows(features: pd.DataFrame | Array, places: Array) -> pd.DataFrame | Array:
    """Some records, as arrays or tables of their own."""
    if isinstance(features, pd.DataFrame):
        return features.iloc[places].reset_index(drop=True)
    return features[places]


def _check_counts(paths: Sequence[Path], rows: Rows, noun: str = "records") -> None:
    fewest = [FEWEST, FEWEST if len(paths) > 2 else FEWEST * 3 // 2, FEWEST_REFERENCE]
    for path, count, least in zip(paths, rows.counts, fewest, strict=False):
        if count < least:
            raise HarnessError(f"{path}: {count} {noun} are too few; at least {least} are needed to say anything")


def _check_apart(paths: Sequence[Path], rows: Rows) -> None:
    """Raises HarnessError where a record of the members is one of the others too."""
    keys = _record_keys(rows)
    m = rows.counts[0]
    first = {key: at for at, key in reversed(list(enumerate(keys[:m])))}
    shared = [(first[key], at) for at, key in enumerate(keys[m:], m) if key in first]
    if not shared:
        return
    owner = np.repeat(np.arange(len(paths)), rows.counts)
    inside, outside = (f"{paths[owner[at]]}:{rows.lines[at]}" for at in shared[0])
    more = f" (and {len(shared) - 1:,} more)" if len(shared) > 1 else ""
    raise HarnessError(
        f"{outside}: the record is in {inside} too{more}; a record is a member or it is not, take it out of one file"
    )


def _keep_first(rows: Rows) -> tuple[Rows, Array, tuple[int, int, int]]:
    """Each record once, where it comes first; how often it stands in that file, (n,); and how many rows of members,
    non-members and reference records are left out.

    A copy that an attack learns from tells it the answer about the other, and an interval that counts both counts one
    observation twice.
    """
    keys, first, kept = _record_keys(rows), dict[object, int](), list[int]()
    owner = np.repeat(np.arange(len(rows.counts)), rows.counts)
    copies, left_out = np.zeros(len(keys), dtype=np.int64), [0, 0, 0]
    for at, key in enumerate(keys):
        earlier = first.setdefault(key, at)
        copies[earlier] += owner[at] == owner[earlier]
        if earlier == at:
            kept.append(at)
        else:
            left_out[owner[at]] += 1
    places = np.array(kept)
    counts = tuple(int(n) for n in np.bincount(owner[places], minlength=len(rows.counts)))
    distinct = Rows(take_rows(rows.features, places), rows.labels[places], rows.lines[places], counts)
    return distinct, copies[places], (left_out[0], left_out[1], left_out[2])


def repeats_text(records: Records) -> str:
    """How many rows repeat an earlier record, in a sentence; there are some."""
    sides = zip(records.repeated, ("members", "non-members", "reference records"), strict=True)
    of = " and ".join(f"{count:,} of {side}" for count, side in sides if count)
    return f"{sum(records.repeated):,} rows repeat an earlier record ({of}): each record is asked about once"


def _record_keys(rows: Rows) -> list[object]:
    """What two records that are the same have alike: every feature, and the label."""
    if isinstance(rows.features, pd.DataFrame):
        frame = rows.features.astype(object).where(rows.features.notna(), None)
        return list(zip(*(frame[name] for name in frame.columns), rows.labels, strict=True))
    return [(row.tobytes(), label) for row, label in zip(rows.features, rows.labels, strict=True)]


def _order_records(rows: Rows, question: Question) -> Array:
    """Members, attacked non-members, reference records: places in the files' order, (m + n + k,)."""
    if question.reference is not None:
        return np.arange(sum(rows.counts))
    m, n = rows.counts
    drawn = generator(question.seed, "model audit", "reference", n).permutation(n)
    k = n // 3
    return np.concatenate([np.arange(m), m + np.sort(drawn[k:]), m + np.sort(drawn[:k])])
