"""Putting the claims of specs on record that are run for the first time."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from harness.claims.later import Seen
from harness.coordinates import Cell, place
from harness.execution.table import read_table
from harness.pipeline.context import Context, Run
from harness.pipeline.sources import REASON
from harness.spec.declared import TABLE
from harness.spec.recording import add_shared, record_before_runs


@contextlib.contextmanager
def put_new_on_record(groups: Sequence[tuple[Context, list[Run]]]) -> Iterator[None]:
    """Context manager: put claims on record before their spec is first run, and count as seen what tables had of its
    models before the run, once it is known which these are."""
    new = []
    for context, runs in groups:
        profile = context.profile_name if context.profile.own_seeds else None
        ids = {spec.id for spec in record_before_runs(context.project, [one.declared for one in runs], profile)}
        first_runs = [one for one in runs if one.id in ids]
        before = _models_in_tables(context) if first_runs else frozenset[str]()
        new.append((context, profile, first_runs, before))
    try:
        yield
    finally:
        for context, profile, runs, before in new:
            if runs:
                add_shared(context.project, {one.id: _seen(one, before) for one in runs}, profile)


def _models_in_tables(context: Context) -> frozenset[str]:
    """The names of all models of which tables have measurements; of a table that cannot be read, none."""
    names = set[str]()
    for path in context.project.reports.glob(f"*/*/*/{TABLE}"):
        with contextlib.suppress(OSError, ValueError):
            names.update(pd.read_parquet(path, columns=["cell"])["cell"].unique())
    return frozenset(names)


def _seen(run: Run, before: Collection[str]) -> Seen:
    """By cell of a spec: the repeats of which the model is among those."""
    experiment, path = run.spec.own_experiment, run.measurements_file
    if experiment is None or not path.is_file():
        return {}
    axes = [*experiment.coordinates]
    table = read_table(path)
    if REASON in table:  # it was not run here
        return {}
    own = table[["arm", *axes, "repeat", "cell"]].drop_duplicates()
    shared: dict[Cell, int] = {}
    for arm, *levels, repeat, _ in own[own["cell"].isin(before)].itertuples(index=False, name=None):
        where = {axis: level for axis, level in zip(axes, levels, strict=True) if level == level and level is not None}
        cell = str(arm), place(where)
        shared[cell] = max(shared.get(cell, 0), int(repeat) + 1)
    return shared
