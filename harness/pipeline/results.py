"""Results from elsewhere as a table of measurements, read anew from their file whenever somebody asks."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pandas as pd

from harness.claims.design import SUMMARY
from harness.claims.series import RANGES
from harness.execution.curves import ATTRIBUTE
from harness.execution.table import COLUMNS, axes_of, write_parquet
from harness.experiment.results import ResultsFile
from harness.hashing import canonical_json
from harness.identity import experiment_name
from harness.metrics import METRICS
from harness.results.cells import read_results
from harness.results.places import read_places
from harness.results.rows import read_rows
from harness.results.scores import read_roc
from harness.spec.profile import Scaled
from harness.spec.resolve import content


def results_file(results: ResultsFile) -> Path:
    """The path of a file of results, as the loader resolved it."""
    assert results.content_of_file is not None
    return Path(results.content_of_file.path)


def results_table(scaled: Scaled) -> pd.DataFrame:
    """The measurements of a spec on results from elsewhere. Raises ResultsFault for the first cell that is wrong."""
    spec = scaled.spec
    results = spec.results
    assert results is not None
    rows = _rows_of(results).copy()
    rows["spec"] = spec.id
    unknown = {"epsilon": math.nan, "delta": results.delta, "noise_multiplier": math.nan}
    unsaid = dict.fromkeys(("accountant", "cell", "work", "code"), "")
    table = rows.assign(**{name: value for name, value in (unknown | unsaid).items() if name not in rows})
    table["delta"] = table["delta"].astype("float64")
    table = table[[*COLUMNS, *axes_of(spec)]]
    by = ["arm", *axes_of(spec), "epsilon", "repeat", "attack", "metric"]
    table = table.sort_values(by, kind="stable", ignore_index=True)
    table.attrs = {
        "data_sha256": results.content()["sha256"],
        "experiment_sha256": experiment_name(content(scaled)),
        "experiment": canonical_json(content(scaled)),
        "design": SUMMARY if results.format == "summary" else "fixed",
        RANGES: {
            name: list(results.range_of(name))
            for name in results.metrics
            if name not in METRICS and math.isfinite(results.range_of(name)[0])
        },
    }
    if any(panel.curve == "roc" for panel in spec.figure):
        table.attrs[ATTRIBUTE] = canonical_json(dict(_numbered_curves(results)))
    return table


def _numbered_curves(results: ResultsFile) -> Iterator[tuple[str, dict[str, object]]]:
    """The ROC curves of scores from elsewhere, each with its number as text."""
    path = results_file(results)
    cells = read_results(results, path)
    yield from ((str(n), one) for n, one in enumerate(read_roc(results, cells, read_places(results, cells))))


def write_results(scaled: Scaled, target: Path) -> pd.DataFrame:
    """Write results from elsewhere as a table like others, for whoever reads those; returns it."""
    table = results_table(scaled)
    write_parquet(table, target)
    return table


def _rows_of(results: ResultsFile) -> pd.DataFrame:
    return _rows_cached(results_file(results), pickle.dumps(results))  # JSON would lose an infinite epsilon


@lru_cache(maxsize=8)
def _rows_cached(path: Path, declared: bytes) -> pd.DataFrame:
    """The rows of a file of results, cached: reading scores of many records takes seconds.

    `declared` is the pickled declaration, which contains the file's hash.
    """
    results: ResultsFile = pickle.loads(declared)
    return read_rows(results, path)
