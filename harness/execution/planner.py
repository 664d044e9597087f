"""The planner makes a spec's plan: the pieces of each cell, named by `harness.execution.naming`, with rough costs."""

from __future__ import annotations

import contextlib
import math
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
from pyarrow.lib import ArrowException

from harness.arrays import Array
from harness.attacks import Attack
from harness.bounds import PIECES
from harness.coordinates import place
from harness.data.dataset import Dataset, GeneratorDataset, TableDataset
from harness.data.disclosure import withhold_values
from harness.data.encoding import categorical_columns
from harness.data.fetch import FetchedTable, read_table
from harness.data.inspection import inspect
from harness.data.split import Split, TableSplit
from harness.data.steps import Preparation, Step
from harness.errors import HarnessError, ModelError, SizesError
from harness.execution.damage import discard_damaged
from harness.execution.naming import (
    Costs,
    Naming,
    PlacedAttack,
    installed_version,
    name_cells,
    version_if_installed,
)
from harness.execution.plan import Plan
from harness.execution.store import MissingResults, Result, Store
from harness.experiment.setup import Setup, ShadowPool
from harness.hashing import code_fingerprint, fingerprint
from harness.identity import canonical
from harness.parquet import check_parquet
from harness.paths import Project, portable_path
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import steps_of
from harness.progress import Progress
from harness.training.engine import ENGINES
from harness.training.forward import placed_layers
from harness.training.models.function import FunctionModel

if TYPE_CHECKING:
    from harness.spec.model import Spec

# Rough costs on one core of a 2020s server; `harness plan` scales them by what past cells took.
SECONDS_PER_MODEL = {"tf-privacy": 1.4, "fast": 0.15}
"""The seconds of a model's training beside its steps, by engine."""
SECONDS_PER_STEP = {"tf-privacy": (2.2e-3, 4.0e-3), "fast": (5e-5, 1e-4)}
"""The seconds of a step beside its arithmetic, without and with noise."""
FLOPS = {"tf-privacy": 1.5e11, "fast": 9e10}
"""The floating-point operations that an engine does in a second."""
SECONDS_PER_NOISE = 6.5e-9
"""The seconds in which the engine `fast` draws one number of noise."""
NOISE = "noise_multiplier"
"""The column of tables that has noise multipliers."""
ROUNDING = 1e-9
"""The relative difference up to which two noise multipliers are the same on two processors."""


def training_seconds(engine: str, steps: int, private: bool, parameters: int, operations: float) -> float:
    """The estimated core-seconds to train one model; `operations` are floating-point operations a step."""
    known = engine if engine in FLOPS else "tf-privacy"
    step = SECONDS_PER_STEP[known][private] + operations / FLOPS[known]
    step += parameters * SECONDS_PER_NOISE if private and known == "fast" else 0.0
    return SECONDS_PER_MODEL[known] + steps * step


def data_digest(dataset: Dataset, table: FetchedTable | None) -> str:
    """The name of a dataset's data: the hash of its canonical table, or what a generator's class declares."""
    if isinstance(dataset, GeneratorDataset):
        return dataset.data_name()
    assert table is not None
    return table.sha256


def input_width(dataset: Dataset, table: FetchedTable | None) -> tuple[int, int]:
    """The number of features and of classes that models see, before an arm removes columns; for estimates only."""
    if isinstance(dataset, GeneratorDataset):
        return dataset.sample(np.zeros(1, dtype=np.int64), np.random.default_rng(0))[0].shape[1], dataset.n_classes
    assert isinstance(dataset, TableDataset)
    assert table is not None
    schema, frame = dataset.schema_of_table(), dataset.select(table.frame)
    categories = categorical_columns(frame, schema)
    numbers = len(frame.columns) - 1 - len(categories)
    return numbers + int(frame[categories].nunique().sum()), int(frame[schema.label].nunique())


def make_plan(project: Project, spec: Spec, repeat_factor: int = 1, to_run: bool = True) -> Plan:
    """The plan of a spec (already scaled by its profile), with `repeat_factor` times as many repeats as it asks for.

    `to_run` is False for a plan that is only counted, which may lack packages that its engines compute with. Raises
    PackageNotFoundError where a plan to run lacks one, HarnessError for sizes or epsilons that cannot be, MissingData
    where a table has not been fetched.
    """
    experiment = spec.own_experiment
    if experiment is None:
        return Plan(spec.id, "", ())
    _check_size(spec, repeat_factor * experiment.repeats)
    store, namings, preparations = Store(project.store), dict[str, Naming](), _Preparations(spec.least_shown)
    tables: dict[Dataset, tuple[FetchedTable | None, str]] = {}
    named_variants, measured = [], measured_noises(project, spec.paper)
    version_of = installed_version if to_run else version_if_installed
    for variant in experiment.variants():
        setup = variant.setup
        dataset: Dataset = setup.dataset
        try:
            if dataset not in tables:
                table = read_table(project, dataset) if isinstance(dataset, TableDataset) else None
                tables[dataset] = table, data_digest(dataset, table)
            table, digest = tables[dataset]
            name = fingerprint([setup.content(), digest])  # files in two folders may have one name
            if name not in namings:
                if table is not None:
                    preparations.add(variant.arm, setup, table)
                costs, noise = _Estimates(setup, table), partial(noise_multiplier, store, setup, measured=measured)
                namings[name] = Naming(experiment, setup, digest, noise, costs, version_of)
            sigma = noise_multiplier(store, setup, variant.epsilon, setup.train_size, measured)
            named_variants.append((variant, namings[name], sigma))
        except HarnessError as error:
            error.arm = variant.arm
            raise
    cells = name_cells(named_variants, attacks_of(spec), repeat_factor * experiment.repeats)
    digests = dict.fromkeys(digest for _, digest in tables.values())
    return Plan(spec.id, " ".join(digests), cells, preparations.as_tuple())


def _check_size(spec: Spec, repeats: int) -> None:
    """Raise TooLarge for a spec of more pieces than can be planned, which are counted and not made."""
    experiment = spec.own_experiment
    assert experiment is not None
    pools = max(sum(pool.count for pool in arm.pools.values()) for arm in experiment.arms.values())
    attacks = sum(math.prod(len(a.values) for a in spec.attack_axes.get(name, {}).values()) for name in spec.attacks)
    places = sum(math.prod(map(len, experiment.levels(arm).values())) for arm in experiment.arms)
    PIECES.check(repeats * places * (3 + attacks + pools), spec.id, f" in {repeats:,} repeats")


class _Preparations:
    """The preparations of a spec's arms, by which tables become features; each distinct one is inspected once.

    Of a table that is not public no value is named that fewer than `least_shown` rows share.
    """

    def __init__(self, least_shown: int) -> None:
        self.least_shown = least_shown
        self.by_data: dict[str, tuple[str, int, int, tuple[Step, ...]]] = {}
        self.arms: dict[str, dict[str, None]] = {}

    def add(self, arm: str, setup: Setup, table: FetchedTable) -> None:
        """Inspect an arm's table.

        Raises HarnessError for a table that cannot be encoded, and SizesError where the sizes ask for more rows than
        are encoded.
        """
        dataset, split = setup.dataset, setup.split
        assert isinstance(dataset, TableDataset)
        drop = split.drops() if isinstance(split, TableSplit) else ()
        name = fingerprint([dataset.content(), table.sha256, canonical(setup.preprocessing), list(drop)])
        if name not in self.by_data:
            frame = dataset.select(table.frame)
            steps = table.steps
            if fewer := len(table.frame.columns) - len(frame.columns):
                steps += (Step("dropped columns", count=fewer, detail="not among the spec's features"),)
            schema = dataset.schema_of_table()
            rows, features, encoding = inspect(frame, schema, setup.preprocessing, drop, table.place)
            what = portable_path(table.source) if table.lines is not None else dataset.plugin_name()
            least = 1 if dataset.is_public() else self.least_shown
            self.by_data[name] = what, rows, features, withhold_values((*steps, *encoding), table.frame, least)
        self.arms.setdefault(name, {})[arm] = None
        rows, asked = self.by_data[name][1], setup.sizes.members + setup.sizes.test + setup.sizes.nonmembers
        if rows < asked <= len(table.frame):
            raise SizesError(
                f"the sizes ask for {asked} records (members + test + nonmembers) and impute: drop-rows leaves {rows} "
                f"of {len(table.frame)}; make them smaller"
            )

    def as_tuple(self) -> tuple[Preparation, ...]:
        """The preparations, in the order of arms."""
        return tuple(Preparation(tuple(self.arms[name]), *facts) for name, facts in self.by_data.items())


def attacks_of(spec: Spec) -> list[PlacedAttack]:
    """The attacks of a spec at every place of their own axes."""
    return [(name, place(where), attack) for name in spec.attacks for where, attack in spec.variants_of(name)]


def measured_noises(project: Project, paper: str) -> Array:
    """The finite noise multipliers in the tables of a paper's specs, in any profile, (n,) ascending."""
    noises = [np.empty(0)]
    for path in project.reports.glob(f"*/{paper}/**/measurements.parquet"):
        with contextlib.suppress(OSError, ArrowException):  # what is wrong with a table is said where it is measured
            check_parquet(path)
            if NOISE in pq.read_schema(path).names:
                column = pq.read_table(path, columns=[NOISE])[NOISE].cast("float64")
                noises.append(column.drop_null().unique().to_numpy())
    every: Array = np.unique(np.concatenate(noises))
    finite: Array = every[np.isfinite(every)]
    return finite


def noise_multiplier(store: Store, setup: Setup, epsilon: float, records: int, measured: Array | None = None) -> float:
    """The declared noise multiplier of a set-up at an epsilon, else the one calibrated for so many records.

    Calibration takes seconds, so its result is kept in the store. Raises HarnessError where no noise has the epsilon.

    Args:
        store: keeps calibrations.
        setup: says how noise is accounted for.
        epsilon: the guarantee; infinity is no noise.
        records: the number of records that a model is trained on.
        measured: noise multipliers of earlier measurements. Calibrated noise that differs from one of them by rounding
            is replaced by it: pieces are named and seeded by all digits, and processors differ in the last ones.
    """
    sigma = _calibrate(store, setup, epsilon, records)
    if measured is None or not len(measured) or setup.privacy.noise_multipliers is not None:
        return sigma
    nearest = float(measured[np.abs(measured - sigma).argmin()])
    return nearest if abs(nearest - sigma) <= ROUNDING * sigma else sigma


def _calibrate(store: Store, setup: Setup, epsilon: float, records: int) -> float:
    """The declared noise multiplier, else the stored one of the same question, else the accountant's."""
    privacy = setup.privacy
    if privacy.noise_multipliers is not None and not math.isinf(epsilon):
        return privacy.noise_multipliers.values[epsilon]
    if math.isinf(epsilon) and not ENGINES[setup.training.engine].cuts_batches:
        return 0.0  # its batches, if it has any, need not fit the records
    accountant = ACCOUNTANTS[privacy.accountant]
    run = Run(records, setup.training.batch_size, setup.training.epochs, privacy.delta)
    question = {
        "epsilon": epsilon,
        "n": run.n,
        "batch_size": run.batch_size,
        "epochs": run.epochs,
        "delta": run.delta,
        "accountant": privacy.accountant,
        "adjacency": privacy.adjacency,
        "sampling": privacy.sampling,
        "code": code_fingerprint(*accountant.modules),
        "dp-accounting": version("dp-accounting"),
    }
    key = fingerprint(question)
    try:
        return float(store.get("noise", key).meta["noise_multiplier"])
    except MissingResults as missing:
        discard_damaged(store, missing.faults, Progress(quiet=True))
        sigma = accountant.calibrate(epsilon, run, privacy.adjacency, privacy.sampling)
        store.put("noise", key, Result({}, {"noise_multiplier": sigma, "description": question}))
        return sigma


class _Estimates(Costs):
    """The estimated costs of the pieces of one set-up."""

    def __init__(self, setup: Setup, table: FetchedTable | None) -> None:
        """Look at a set-up's table and model. Raises SizesError for too few rows, ModelError for an unfit model."""
        if table is not None:
            asked, rows = setup.sizes.members + setup.sizes.test + setup.sizes.nonmembers, len(table.frame)
            if asked > rows:
                raise SizesError(
                    f"the sizes ask for {asked} records (members + test + nonmembers) and the table has {rows}; "
                    "make them smaller"
                )
        self.setup, self._table, training = setup, table, setup.training
        width, n_classes = input_width(setup.dataset, table)
        of_function = isinstance(setup.model, FunctionModel)  # its layers are known to its function alone
        try:
            placed = [] if of_function else placed_layers(setup.model, width, n_classes)
        except ValueError as error:
            raise ModelError(f"{error}; choose another dataset or another model") from None
        self.parameters = sum(math.prod(s) for p in placed for s in p.layer.weight_shapes(p.shape))
        self.operations = 6.0 * training.batch_size * sum(p.layer.operations(p.shape) for p in placed)
        self.capacity = ENGINES[training.engine]().capacity(setup.model, training, width, n_classes)

    def of(self, setup: Setup) -> _Estimates:
        return _Estimates(setup, self._table)

    def split(self, split: Split) -> float:
        return split.seconds()

    def training(self, noise_multiplier: float, records: int) -> float:
        training = self.setup.training
        if not ENGINES[training.engine].cuts_batches:  # nothing says how long it takes
            return SECONDS_PER_MODEL["tf-privacy"]
        steps = steps_of(records, training.batch_size, training.epochs)
        return training_seconds(training.engine, steps, noise_multiplier > 0, self.parameters, self.operations)

    def fitting(self, attack: Attack, pool: ShadowPool) -> float:
        return attack.fitting_seconds(2 * pool.count * self.setup.sizes.members)

    @property
    def stack_size(self) -> int:
        return self.capacity
