"""What is committed under names, and the same things named today: no data is read, and nothing is calibrated.

What names the data is taken from a table itself, and so are the noise multipliers of its targets. Models on halves of
the records have noise of their own, which is in no table: `identities.json` remembers it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.coordinates import Place, place
from harness.data.dataset import GeneratorDataset
from harness.execution.curves import requested_curves
from harness.execution.naming import Costs, Naming, name_cells
from harness.execution.plan import Plan
from harness.execution.planner import attacks_of
from harness.execution.reuse import work_of
from harness.execution.table import read_table
from harness.experiment.setup import Setup
from harness.hashing import fingerprint
from harness.paths import Project
from harness.pipeline.sources import experiment_digest
from harness.spec.load import Loaded, load_specs
from harness.spec.profile import Params, Scaled, choose, load_params, scale
from harness.spec.readings import readings
from harness.verdicts.judge import CLAIMS
from tests.golden import sample

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "identities.json"
PROFILES = ("paper", "sequential")
"""Whose results are committed."""


def golden() -> dict[str, Any]:
    """What `identities.json` remembers."""
    result: dict[str, Any] = json.loads(GOLDEN.read_text())
    return result


@dataclass(frozen=True)
class Table:
    """A committed table of measurements, and the spec that it is of under its profile."""

    path: Path
    profile: str
    loaded: Loaded
    scaled: Scaled
    """The spec as it is run, or one of its other readings."""
    halves: dict[str, float]
    """The noise of models on halves, as `identities.json` has it."""

    @property
    def name(self) -> str:
        """Where it lies below `reports/`, without its file's name."""
        return str(self.path.parent.relative_to(ROOT / "reports"))

    @cached_property
    def rows(self) -> pd.DataFrame:
        """What it holds."""
        return read_table(self.path)

    @property
    def experiment(self) -> str:
        """The name of its experiment today."""
        return experiment_digest(self.scaled)

    @property
    def data(self) -> dict[str, str]:
        """What names each data set, by the hash of its content, in the table's order, which is that of the plan."""
        experiment = self.scaled.spec.experiment
        assert experiment is not None
        datasets = {fingerprint(v.setup.dataset.content()): v.setup.dataset for v in experiment.variants()}
        held = dict.fromkeys(str(self.rows.attrs["data_sha256"]).split())
        names = list(held)
        if len(datasets) > len(names):  # two configurations of one table
            assert len(names) == 1, self.name
            names *= len(datasets)
        assert len(datasets) == len(names), self.name
        result = dict(zip(datasets, names, strict=True))
        for key, dataset in datasets.items():
            if isinstance(dataset, GeneratorDataset):
                result[key] = dataset.data_name()
        return result

    @cached_property
    def plan(self) -> Plan:
        """The cells that it has rows of, named today."""
        spec = self.scaled.spec
        experiment = spec.experiment
        assert experiment is not None
        axes = [axis for axis in experiment.coordinates if axis != "epsilon"]
        columns = ["arm", "epsilon", *axes, "repeat", "noise_multiplier"]
        held = self.rows[columns].drop_duplicates()
        noise: dict[tuple[str, Place, float], float] = {}
        repeats = dict[tuple[str, Place, float], set[int]]()
        for row in held.to_dict("records"):
            where = str(row["arm"]), place((a, row[a]) for a in axes), float(row["epsilon"])
            assert noise.setdefault(where, row["noise_multiplier"]) == row["noise_multiplier"], (self.name, where)
            repeats.setdefault(where, set()).add(int(row["repeat"]))
        namings: dict[str, Naming] = {}
        named, only = [], set()
        for variant in experiment.variants():
            at = place((a, variant.place[a]) for a in axes)
            where = variant.arm, at, variant.epsilon
            if where not in noise:
                continue
            only |= {(variant.arm, place(variant.place), repeat) for repeat in repeats.pop(where)}
            name = fingerprint(variant.setup.content())
            if name not in namings:
                data = self.data[fingerprint(variant.setup.dataset.content())]
                namings[name] = Naming(experiment, variant.setup, data, self.noise_of(variant.setup), Costs())
            named.append((variant, namings[name], noise[where]))
        assert not repeats, f"{self.name}: rows of no cell of the spec: {sorted(repeats)[:3]}"
        most = max(repeat for _, _, repeat in only) + 1
        cells = name_cells(named, attacks_of(spec), most, only)
        return Plan(spec.id, str(self.rows.attrs["data_sha256"]), cells)

    def noise_of(self, setup: Setup) -> Any:
        """The noise of models on halves of a set-up's records, from memory."""

        def noise(epsilon: float, records: int) -> float:
            return 0.0 if epsilon == float("inf") else self.halves[noise_question(setup, epsilon, records)]

        return noise

    @property
    def work(self) -> set[str]:
        """The names of work that it holds; tables made before 2026-11-22 hold none."""
        return {*self.rows["work"].unique()} - {""} if "work" in self.rows else set()

    @property
    def curves(self) -> set[str]:
        """The names of the curves that it holds."""
        return set(json.loads(self.rows.attrs.get("curves") or "{}"))

    def work_today(self) -> set[str]:
        """The names of all work of its cells."""
        return work_of(self.plan, self.scaled.spec)

    def curves_today(self) -> set[str]:
        """The names of all curves that the spec's figure asks for."""
        return {one.key for one in requested_curves(self.plan, self.scaled.spec)}


def noise_question(setup: Setup, epsilon: float, records: int) -> str:
    """What a noise multiplier was calibrated for, in words."""
    privacy, training = setup.privacy, setup.training
    return (
        f"{privacy.accountant}, {privacy.adjacency}, {privacy.sampling}: epsilon {epsilon:g}, delta {privacy.delta:g}, "
        f"{records} records, batches of {training.batch_size}, {training.epochs} epochs"
    )


@dataclass(frozen=True)
class Committed:
    """Specs, profiles and the tables of both."""

    specs: tuple[Loaded, ...]
    params: Params
    halves: dict[str, float]

    def tables(self) -> Iterator[Table]:
        """Every committed table of these specs, and of their other readings."""
        read = [(loaded, (loaded.spec, *(r.spec for r in readings(loaded.spec, loaded.raw)))) for loaded in self.specs]
        for name in PROFILES:
            profile = choose(self.params, name)[1]
            for loaded, specs in read:
                for spec in specs:
                    path = ROOT / "reports" / name / spec.id / "measurements.parquet"
                    if path.is_file():
                        table = read_table(path)
                        there = {*table["attack"].unique()}
                        measured = {a: kind for a, kind in spec.attacks.items() if a in there}
                        by_profile = CLAIMS not in table.attrs and len(measured) < len(spec.attacks)
                        if spec is not loaded.spec and by_profile:  # one with `attacks`
                            spec = spec.model_copy(update={"attacks": measured})
                        yield Table(path, name, loaded, scale(spec, name, profile), self.halves)


def committed(halves: dict[str, float], project: Path = ROOT, specs: Sequence[str] = ()) -> Committed:
    """What is committed of these specs (none: of all), as they are declared in a project."""
    result = Project(project)
    return Committed(tuple(load_specs(result, list(specs))), load_params(result), halves)


def identities(project: Path, specs: Sequence[str]) -> dict[str, Any]:
    """All names, and the seeds of a sample of pieces, of the committed tables of a few specs: to compare two packages."""
    result: dict[str, Any] = {}
    for table in committed(golden()["noise_of_halves"], project, specs).tables():
        result[table.name] = {"spec": table.loaded.sha256, "experiment": table.experiment}
        if table.work:
            cells = table.plan.cells
            result[table.name] |= {
                "work": sorted(table.work_today()),
                "pieces": {what: sample.identity_of(piece) for what, piece in sample.pieces(cells).items()},
                "draws": sample.draws(cells),
            }
    return result


if __name__ == "__main__":
    print(json.dumps(identities(Path(sys.argv[1]), sys.argv[2:])))
