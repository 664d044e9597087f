"""What was done to a table on its way to features, in words: for `harness plan` and the page of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.data.quoting import join_items, word
from harness.data.steps import Preparation, Step, What

MOST = 8
"""Columns that a line names."""
PHRASES: dict[What, tuple[str, str]] = {
    "dropped rows": ("rows left out", "{count:,} ({detail})"),
    "repeated": ("rows that repeat an earlier one", "{count:,} (a member and a non-member may be the same)"),
    "dropped columns": ("columns left out", "{count:,} ({detail})"),
    "ordered": ("order", "{detail}"),
    "rewritten": ("rewritten", "{column} in {cells} ({detail})"),
    "derived": ("made of the source", "{count:,} columns ({detail})"),
    "ignored": ("ignored", "{column}"),
    "blank lines": ("blank lines passed over", "{count:,}"),
    "doubtful encoding": ("encoding", "read as {detail}, but the text would be UTF-8 too"),
    "spaced": ("spaces after separators", "passed over"),
    "renamed": ("renamed", "{detail} is {column} now"),
    "trimmed": ("spaces around text taken away", "{column} ({cells}, such as {detail})"),
    "normalised": ("characters composed (NFC)", "{column} ({cells}, such as {detail})"),
    "merged": ("written in several ways and taken as one", "{column} ({detail})"),
    "leading zeros": ("read as numbers for all their leading zeros", "{column} ({cells}, such as {detail})"),
    "dates": ("read as days since 1970-01-01", "{column}"),
    "booleans": ("read as 1 and 0 for true and false", "{column}"),
    "index": ("counts the rows as an index does, and is a feature", "{column}"),
    "nearly unique": ("nearly unique, as identifiers are", "{column} ({count:,} values, such as {detail})"),
    "rare class": ("classes of one record", "{detail}"),
    "left out": ("left out by the split", "{column}"),
    "lost class": ("classes without a complete row", "{detail}"),
    "filled": ("filled", "{column} ({cells}: {detail})"),
    "one-hot": ("one-hot", "{column} ({count:,})"),
    "constant": ("one value only", "{column}"),
    "nearly constant": ("one value in nearly all rows", "{column} (another in {count:,})"),
    "vanished": ("too small for features of 32 bits, 0", "{column} ({cells})"),
    "scaled": ("scaled", "{count:,} {detail}"),
}
WITHHELD: dict[What, str] = {
    "trimmed": "{column} ({cells})",
    "normalised": "{column} ({cells})",
    "merged": "{column} ({count:,} values)",
    "leading zeros": "{column} ({cells})",
    "nearly unique": "{column} ({count:,} values)",
    "rare class": "{count:,} of {column}",
    "lost class": "{count:,} of {column}",
    "filled": "{column} ({cells})",
}
"""Of steps whose detail too few rows share to be named (`harness.data.disclosure`)."""


@dataclass(frozen=True)
class PreparationText:
    """What was done to one table, a line each kind of step; `arms` are lines on some arms alone."""

    table: str
    lines: tuple[str, ...]
    arms: tuple[tuple[str, tuple[str, ...]], ...]


def describe_preparation(preparations: Sequence[Preparation]) -> list[PreparationText]:
    """In words, by table; what holds for all of its arms first."""
    tables = []
    for table in dict.fromkeys(one.dataset for one in preparations):
        mine = [one for one in preparations if one.dataset == table]
        every = [_lines(one.steps) for one in mine]
        common = [line for line in every[0] if all(line in lines for lines in every)]
        arms = tuple(
            (
                f"{', '.join(one.arms)}: {one.rows:,} rows, {one.features:,} features",
                tuple(line for line in lines if line not in common),
            )
            for one, lines in zip(mine, every, strict=True)
        )
        tables.append(PreparationText(table, tuple(common), arms))
    return tables


def describe_steps(table: str, steps: Sequence[Step]) -> PreparationText:
    """In words, what was done before any arm came to it."""
    return PreparationText(table, tuple(_lines(steps)), ())


def _lines(steps: Sequence[Step]) -> list[str]:
    by_kind: dict[What, list[Step]] = {}
    for step in steps:
        by_kind.setdefault(step.what, []).append(step)
    return [f"{PHRASES[what][0]}: {join_items([_item(one) for one in some], MOST)}" for what, some in by_kind.items()]


def _item(step: Step) -> str:
    cells = f"{step.count:,} cell{'s' * (step.count != 1)}"
    given = {"column": word(step.column), "count": step.count, "cells": cells, "detail": word(step.detail)}
    phrase = PHRASES[step.what][1] if step.detail else WITHHELD.get(step.what, PHRASES[step.what][1])
    if step.what == "nearly constant" and step.detail:
        phrase = "{column} (another in {detail})"
    return phrase.format(**given)
