"""Putting the claims of specs on record that are run for the first time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from harness.claims.later import Seen
from harness.coordinates import Cell, place
from harness.pipeline.context import Context, Run
from harness.spec.declared import TABLE
from harness.spec.recording import add_shared, record_before_runs


@contextlib.contextmanager
def put_new_on_record(groups: Sequence[tuple[Context, list[Run]]]) -> Iterator[None]:
    """Context manager: put claims on record before their spec is first run, and count as seen what other specs' tables
    have of its models once it is known which these are."""
    new = []
    for context, runs in groups:
        profile = context.profile_name if context.profile.own_seeds else None
        specs = record_before_runs(context.project, [one.declared for one in runs], profile)
        ids = {spec.id for spec in specs}
        new.append((context, profile, [one for one in runs if one.id in ids]))
    try:
        yield
    finally:
        for context, profile, runs in new:
            if runs:
                add_shared(context.project, {one.id: _seen_by_others(one) for one in runs}, profile)


def _seen_by_others(run: Run) -> Seen:
    """By cell of a spec: the repeats of which other specs' tables have the model."""
    experiment, path = run.spec.own_experiment, run.measurements_file
    if experiment is None or not path.is_file():
        return {}
    axes = [*experiment.coordinates]
    own = pd.read_parquet(path, columns=["arm", *axes, "repeat", "cell"]).drop_duplicates()
    others = {
        name for other in _other_tables(run) for name in pd.read_parquet(other, columns=["cell"])["cell"].unique()
    }
    shared: dict[Cell, int] = {}
    for arm, *levels, repeat, _ in own[own["cell"].isin(others)].itertuples(index=False, name=None):
        where = {axis: level for axis, level in zip(axes, levels, strict=True) if level == level and level is not None}
        cell = str(arm), place(where)
        shared[cell] = max(shared.get(cell, 0), int(repeat) + 1)
    return shared


def _other_tables(run: Run) -> Iterator[Path]:
    reports = run.context.project.reports
    for path in reports.glob(f"*/*/*/{TABLE}"):
        if path.parent.relative_to(reports).as_posix().partition("/")[2] != run.id:
            yield path
