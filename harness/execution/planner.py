"""Plan a spec: the pieces of each cell, with their names and what they roughly cost."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import numpy as np

from harness.attacks import Attack
from harness.data.dataset import Dataset, GeneratorDataset, TableDataset
from harness.data.encoding import categorical_columns
from harness.data.fetch import FetchedTable, read_table
from harness.data.split import Split
from harness.defences import Undefended
from harness.errors import AboutModel, AboutSizes, HarnessError
from harness.execution.plan import Cell, Piece, Plan, StackKey
from harness.execution.store import Result, Store
from harness.experiment import Experiment, Setup, ShadowPool, Variant
from harness.hashing import code_fingerprint, fingerprint
from harness.metrics.metric import modules as metric_modules
from harness.paths import Project
from harness.places import Place, place
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import steps_of
from harness.spec.model import Spec
from harness.training.engine import ENGINES
from harness.training.forward import placed_layers

# Rough costs on one core of a 2020s server; `harness plan` scales them by what past cells took.
SECONDS_PER_MODEL = {"tf-privacy": 1.4, "fast": 0.15}
SECONDS_PER_STEP = {"tf-privacy": (2.2e-3, 4.0e-3), "fast": (5e-5, 1e-4)}
"""Not counting arithmetic: without and with noise."""
FLOPS = {"tf-privacy": 1.5e11, "fast": 9e10}
SECONDS_PER_NOISE = 6.5e-9
SECONDS_PER_EVALUATION = 0.05


def training_seconds(engine: str, steps: int, private: bool, parameters: int, operations: float) -> float:
    """Estimated core-seconds to train one model; `operations` are floating-point operations a step."""
    known = engine if engine in FLOPS else "tf-privacy"
    step = SECONDS_PER_STEP[known][private] + operations / FLOPS[known]
    step += parameters * SECONDS_PER_NOISE if private and known == "fast" else 0.0
    return SECONDS_PER_MODEL[known] + steps * step


def data_digest(dataset: Dataset, table: FetchedTable | None) -> str:
    """What names the data: the canonical table's hash, or the generator's code."""
    return "generator:" + code_fingerprint(*type(dataset).modules()) if table is None else table.sha256


def input_width(dataset: Dataset, table: FetchedTable | None) -> tuple[int, int]:
    """Features and classes that models see, before an arm removes columns; for estimates, not for training."""
    if isinstance(dataset, GeneratorDataset):
        return dataset.sample(np.zeros(1, dtype=np.int64), np.random.default_rng(0))[0].shape[1], dataset.n_classes
    assert isinstance(dataset, TableDataset)
    assert table is not None
    schema, frame = dataset.schema_of_table(), dataset.select(table.frame)
    categories = categorical_columns(frame, schema)
    numbers = len(frame.columns) - 1 - len(categories)
    return numbers + int(frame[categories].nunique().sum()), int(frame[schema.label].nunique())


def make_plan(project: Project, spec: Spec, times: int = 1) -> Plan:
    """Plan a spec (already scaled by its profile), with `times` as many repeats as it asks for.

    Raises HarnessError for sizes or epsilons that cannot be, MissingData where a table has not been fetched.
    """
    experiment = spec.experiment
    if experiment is None:
        return Plan(spec.id, "", ())
    store, planners = Store(project.store), dict[str, _Planner]()
    tables: dict[str, tuple[FetchedTable | None, str]] = {}
    planned = []
    for variant in experiment.variants():
        setup = variant.setup
        dataset = fingerprint(setup.dataset.content())
        try:
            if dataset not in tables:
                table = read_table(project, setup.dataset) if isinstance(setup.dataset, TableDataset) else None
                tables[dataset] = table, data_digest(setup.dataset, table)
            name = fingerprint(setup.content())
            if name not in planners:
                planners[name] = _Planner(experiment, setup, *tables[dataset], store)
            planned.append((variant, planners[name], planners[name].noise_multiplier(variant.epsilon)))
        except HarnessError as error:
            error.arm = variant.arm
            raise
    attacks = [(name, place(where), attack) for name in spec.attacks for where, attack in spec.variants_of(name)]
    cells = tuple(
        planner.cell(variant, sigma, repeat, attacks)
        for repeat in range(times * experiment.repeats)  # outermost: a run that stops leaves whole repeats
        for variant, planner, sigma in planned
    )
    digests = dict.fromkeys(digest for _, digest in tables.values())
    return Plan(spec.id, " ".join(digests), cells)


class _Planner:
    """Names the pieces of one set-up."""

    def __init__(
        self, experiment: Experiment, setup: Setup, table: FetchedTable | None, digest: str, store: Store
    ) -> None:
        self.experiment, self.setup, self.digest, self.store = experiment, setup, digest, store
        if table is not None:
            asked, rows = setup.sizes.members + setup.sizes.test + setup.sizes.nonmembers, len(table.frame)
            if asked > rows:
                raise AboutSizes(
                    f"the sizes ask for {asked} records (members + test + nonmembers) and the table has {rows}; "
                    "make them smaller"
                )
        training = setup.training
        engine = ENGINES[training.engine]()
        width, n_classes = input_width(setup.dataset, table)
        try:
            placed = placed_layers(setup.model, width, n_classes)
        except ValueError as error:
            raise AboutModel(f"{error}; the dataset, or the model, has to be another one") from None
        self.parameters = sum(math.prod(s) for p in placed for s in p.layer.weight_shapes(p.shape))
        self.operations = 6.0 * training.batch_size * sum(p.layer.operations(p.shape) for p in placed)
        self.capacity = engine.capacity(setup.model, training, width, n_classes)
        modules = (*engine.modules_for(setup.model), "harness.execution.train_cell", "harness.execution.materialize")
        self.training_code = {
            "code": code_fingerprint(*modules),
            "packages": {name: version(name) for name in engine.packages},
        }
        self.memo: dict[str, Piece] = {}

    def _once(self, piece: Piece) -> Piece:
        return self.memo.setdefault(piece.key, piece)

    def split(self, repeat: int) -> Piece:
        universe = self.setup.split.universe
        needs = () if universe is None else (self._drawn(universe, 0, ()),)
        return self._drawn(self.setup.split, repeat, needs)

    def _drawn(self, split: Split, repeat: int, needs: tuple[Piece, ...]) -> Piece:
        setup = self.setup
        modules = {type(split).__module__, *type(setup.dataset).modules()}
        modules |= {"harness.data.split", "harness.data.encoding", "harness.execution.materialize"}
        description = {
            "seed": self.experiment.seed,
            "dataset": setup.dataset.content(),
            "data": self.digest,
            "preprocessing": setup.preprocessing.model_dump(mode="json"),
            "sizes": setup.sizes.model_dump(mode="json"),
            "split": split.content(),
            "repeat": repeat,
            "code": code_fingerprint(*modules),
            "packages": {"scikit-learn": version("scikit-learn")},
        }
        return self._once(Piece("split", description, needs, split.seconds()))

    def halves(self, pool: ShadowPool, split: Piece, epsilon: float) -> tuple[Piece, ...]:
        """Models on halves of the records at stake; the same for all repeats that have the same records at stake."""
        at_stake = split.needs[0] if split.needs else split
        sizes = self.setup.sizes
        half = (sizes.members + sizes.nonmembers) // 2
        sigma = 0.0 if pool.privacy == "none" else self.noise_multiplier(epsilon, half)
        return tuple(self.train(at_stake, sigma, 0, index, "half", half) for index in range(pool.count))

    def train(
        self,
        split: Piece,
        noise_multiplier: float,
        repeat: int,
        shadow: int | None = None,
        role: str = "shadow",
        records: int | None = None,
    ) -> Piece:
        training, private = self.setup.training, noise_multiplier > 0
        again = {"repeat": repeat} if self.experiment.redraw == "training" and role != "half" else {}
        # Else the split tells repeats apart, and halves are of none.
        description = {
            "role": "target" if shadow is None else role,
            "index": shadow,
            "model": self.setup.model.content(),
            "training": (training if private else training.without_noise()).content(),
            "noise_multiplier": noise_multiplier,
            **again,
            **self.training_code,
        }
        steps = steps_of(records or self.setup.trained, training.batch_size, training.epochs)
        cost = training_seconds(training.engine, steps, private, self.parameters, self.operations)
        stack = None
        if self.capacity > 1:
            alike = {k: v for k, v in description.items() if k not in ("index", "noise_multiplier", "repeat")}
            draws = {k: v for k, v in split.description.items() if k != "repeat"}
            stack = StackKey(fingerprint([alike, draws, private]), self.capacity)
        return self._once(Piece("train", description, (split,), cost, stack))

    def noise_multiplier(self, epsilon: float, records: int | None = None) -> float:
        """Noise calibrated for so many records (default: the target's), kept in the store: it takes seconds."""
        setup, privacy = self.setup, self.setup.privacy
        accountant = ACCOUNTANTS[privacy.accountant]
        run = Run(records or setup.trained, setup.training.batch_size, setup.training.epochs, privacy.delta)
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
            return float(self.store.get("noise", key).meta["noise_multiplier"])
        except KeyError:
            sigma = accountant.calibrated(epsilon, run, privacy.adjacency, privacy.sampling)
            self.store.put("noise", key, Result({}, {"noise_multiplier": sigma, "description": question}))
            return sigma

    def _defended(self, description: dict[str, Any]) -> dict[str, Any]:
        """An attack's description with the defence in front of the target, where there is one."""
        defence = self.setup.defence
        if isinstance(defence, Undefended):
            return description
        code = fingerprint([description["code"], defence.code])
        return {**description, "defence": defence.content(), "code": code}

    def cell(self, variant: Variant, sigma: float, repeat: int, attacks: list[tuple[str, Place, Attack]]) -> Cell:
        split = self.split(repeat if self.experiment.redraw == "split" else 0)
        target = self.train(split, sigma, repeat)
        metrics = code_fingerprint(*metric_modules(), "harness.execution.attack_cell")
        model = self._once(Piece("evaluate", {"attack": None, "metrics": metrics}, (target,), 0.02))
        evaluations = {}
        for name, where, attack in attacks:
            fitted: tuple[Piece, ...] = ()
            description = {"attack": attack.content(), "code": attack.code}
            if attack.shadow_pool is not None:
                pool = self.setup.pools[attack.shadow_pool]
                if pool.trained_on == "halves":
                    shadows = self.halves(pool, split, variant.epsilon)
                else:
                    noise = 0.0 if pool.privacy == "none" else sigma
                    shadows = tuple(self.train(split, noise, repeat, index) for index in range(pool.count))
                cost = attack.fitting_seconds(2 * pool.count * self.setup.sizes.members)
                learning = {"attack": attack.fitting().content(), "code": attack.code}
                fitted = (self._once(Piece("fit", learning, shadows, cost)),)
            measured = {**self._defended(description), "metrics": metrics}
            piece = Piece("evaluate", measured, (target, *fitted), SECONDS_PER_EVALUATION)
            evaluations[name, where] = self._once(piece)
        return Cell(
            variant.arm, place(variant.place), variant.epsilon, repeat, sigma, split, target, model, evaluations
        )
