"""Where a run's measurements come from: an experiment that is trained here, results from elsewhere, or nowhere.

These three cases answer the same questions (`Source`), so that what reads and judges a run does not ask which it is.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path

import pandas as pd

from harness.data.dataset import Dataset
from harness.execution.table import COLUMNS, read_measurements, read_table, write_parquet
from harness.experiment.results import ResultsFile
from harness.hashing import canonical_json
from harness.identity import experiment_name
from harness.pipeline.context import Run
from harness.pipeline.results import results_file, results_table, write_results
from harness.spec.load import spec_id
from harness.spec.profile import Scaled
from harness.spec.resolve import content
from harness.verdicts.baseline import COMPARED

REASON = "not_run_because"
"""The one column of a table that says why there are no measurements."""
NOTHING_TRAINED = "results from elsewhere: nothing is trained for them"
"""What stands in the index of models of a spec that has none."""
Table = tuple[pd.DataFrame | None, str]
"""A table of measurements; or None, and the reason why there is none."""


class Source(ABC):
    """Where the measurements of a run come from."""

    @abstractmethod
    def read(self, run: Run) -> Table:
        """The measurements, or why there are none. Raises HarnessError for a damaged table."""

    @abstractmethod
    def file(self, run: Run) -> Path:
        """The file whose bytes the verdicts follow from."""

    def datasets(self, run: Run) -> list[Dataset]:
        """The datasets that are trained on under the profile."""
        return []

    def write_models(self, run: Run) -> None:
        """Write the index of models, where it is known before anything is trained."""
        return

    def write_table(self, run: Run) -> pd.DataFrame | None:
        """Write the table of measurements, where it follows from a file that is there. Returns it."""
        return None


class Trained(Source):
    """An experiment that is run here."""

    def read(self, run: Run) -> Table:
        path = run.measurements_file
        if not path.is_file():
            where = path.relative_to(run.context.project.root)
            return None, f"no measurements at {where}; run `{command_to_measure(run)}`"
        raw = read_table(path)
        if REASON in raw.columns:
            return None, str(raw[REASON].iloc[0])
        table = read_measurements(path, raw)
        if not _matches_experiment(table, run.scaled):
            again = command_to_measure(run)
            return None, f"the measurements are of another version of the experiment; run `{again}`"
        return table, ""

    def file(self, run: Run) -> Path:
        return run.measurements_file

    def datasets(self, run: Run) -> list[Dataset]:
        experiment = run.spec.own_experiment
        if experiment is None or run.is_of_theory:
            return []
        return list({variant.setup.dataset: None for variant in experiment.variants()})


class Elsewhere(Source):
    """Results from elsewhere, which are always read from their own file."""

    def read(self, run: Run) -> Table:
        return results_table(run.scaled), ""

    def file(self, run: Run) -> Path:
        assert run.spec.results is not None
        return results_file(run.spec.results)

    def write_models(self, run: Run) -> None:
        results_table(run.scaled)  # refuses a file that is wrong before anything is written
        write_parquet(pd.DataFrame({REASON: [NOTHING_TRAINED]}), run.models_file)

    def write_table(self, run: Run) -> pd.DataFrame | None:
        return write_results(run.scaled, run.measurements_file)


class Theory(Source):
    """Claims that need no measurements."""

    def read(self, run: Run) -> Table:
        return None, ""

    def file(self, run: Run) -> Path:
        return run.measurements_file


def source_of_run(run: Run) -> Source:
    """The case that a run is."""
    if run.spec.experiment is None:
        return Theory()
    return Elsewhere() if isinstance(run.spec.experiment, ResultsFile) else Trained()


def baseline_means(run: Run) -> dict[str, float]:
    """Means over repeats of the metrics that a baseline compares within a tolerance, to six digits, by arm, attack,
    metric and place."""
    table, _ = source_of_run(run).read(run)
    if table is None:
        return {}
    by = ["arm", "attack", "metric", "epsilon", *(name for name in table.columns if name not in COLUMNS)]
    means = table[table["metric"].isin(COMPARED)].groupby(by, dropna=False)["value"].mean()
    named = zip(means.index.to_frame().astype(str).agg(", ".join, axis=1), means, strict=True)
    return {name: float(f"{value:.6g}") for name, value in named}


def experiment_digest(scaled: Scaled) -> str:
    """Hash of what measurements follow from: the experiment and the attacks, under the profile."""
    return experiment_name(content(scaled))


def command_to_measure(run: Run) -> str:
    """The command line that measures a spec, or a reading of it."""
    is_reading = run.id != spec_id(run.context.project, run.declared.raw.files[0])
    return run.command("alternatives" if is_reading else "run")


def _matches_experiment(table: pd.DataFrame, scaled: Scaled) -> bool:
    """Whether a table was measured under this experiment and these attacks, or under some of these attacks."""
    if table.attrs.get("experiment_sha256") == experiment_digest(scaled):
        return True
    try:
        old = json.loads(table.attrs.get("experiment", "null"))
    except ValueError:
        return False
    now = json.loads(canonical_json(content(scaled)))
    if not isinstance(old, dict) or old.get("experiment") != now["experiment"]:
        return False
    measured = set(table["attack"]) - {""}
    same = (old.get(key, {}).get(a) == now.get(key, {}).get(a) for key in ("attacks", "attack_axes") for a in measured)
    return bool(measured) and all(same)
