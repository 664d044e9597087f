"""Name every piece of work that a spec needs.

    split ──► train (target) ──────────────► evaluate
          └─► train (shadow) ──► fit attack ─┘

A piece is named by the hash of its description and of the pieces it stands on, so two specs that
need the same piece share it, and a changed claim or attack never retrains a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from harness.attacks import Attack
from harness.data.dataset import Dataset, GeneratorDataset, TableDataset
from harness.data.encoding import categorical_columns
from harness.data.fetch import Table, read_table
from harness.data.split import Split
from harness.errors import HarnessError
from harness.execution.store import Result, Store
from harness.hashing import code_fingerprint, fingerprint
from harness.paths import Project
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import steps_of
from harness.spec.model import Experiment, Spec
from harness.training.engine import ENGINES
from harness.training.forward import placed_layers

Kind = Literal["split", "train", "fit", "evaluate"]


@dataclass(frozen=True)
class Stack:
    """Models that may be trained together: those of the same `key`, at most `limit` at a time."""

    key: str
    limit: int


@dataclass(frozen=True)
class Piece:
    """One piece of work: what to do, on which earlier pieces, and roughly how much it costs."""

    kind: Kind
    description: dict[str, Any]
    needs: tuple[Piece, ...] = ()
    cost: float = 0.0
    """Estimated core-seconds."""
    stack: Stack | None = None
    """With which other pieces it may be computed as one; None: alone."""

    @cached_property
    def key(self) -> str:
        """Content hash: the piece's name in the store."""
        return fingerprint([self.kind, self.description, [n.key for n in self.needs]])

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self.key == other.key

    def __getstate__(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "description": self.description, "needs": self.needs, "cost": self.cost,
            "stack": self.stack,
        }  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One (arm, epsilon, repeat): its coordinates, the target model and the attacks on it."""

    arm: str
    epsilon: float
    repeat: int
    noise_multiplier: float
    split: Piece
    target: Piece
    model: Piece
    """The target's own accuracy and loss."""
    evaluations: dict[str, Piece] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that one spec at one profile needs."""

    spec_id: str
    data_sha256: str
    cells: tuple[Cell, ...]

    def pieces(self, stage: Literal["train", "all"] = "all") -> list[Piece]:
        """Distinct pieces in an order that respects what each needs; `train` leaves attacks out."""
        wanted: dict[str, Piece] = {}
        for cell in self.cells:
            roots = [cell.target, cell.model, *cell.evaluations.values()]
            for root in roots:
                for piece in _with_needs(root):
                    if stage == "all" or piece.kind in ("split", "train"):
                        wanted.setdefault(piece.key, piece)
        return sorted(wanted.values(), key=lambda p: ("split", "train", "fit", "evaluate").index(p.kind))


def first_repeats(plan: Plan, repeats: Mapping[tuple[str, float], int]) -> Plan:
    """The plan of so many repeats of each (arm, epsilon)."""
    return replace(plan, cells=tuple(c for c in plan.cells if c.repeat < repeats.get((c.arm, c.epsilon), 0)))


def trained_repeats(plan: Plan, store: Store) -> Plan:
    """The plan of the repeats 0, 1, ... of each (arm, epsilon) up to the first that is not trained completely."""
    lacking: dict[tuple[str, float], int] = {}
    for cell in plan.cells:
        if not _trained(cell, store):
            key = (cell.arm, cell.epsilon)
            lacking[key] = min(cell.repeat, lacking.get(key, cell.repeat))
    kept = (c for c in plan.cells if c.repeat < lacking.get((c.arm, c.epsilon), c.repeat + 1))
    return replace(plan, cells=tuple(kept))


def complete_repeats(plan: Plan, store: Store) -> Plan:
    """The plan of those repeats alone whose targets are all trained, and their shadow models too."""
    missing = {cell.repeat for cell in plan.cells if not _trained(cell, store)}
    return replace(plan, cells=tuple(cell for cell in plan.cells if cell.repeat not in missing))


def _trained(cell: Cell, store: Store) -> bool:
    """Whether the cell's target and the shadow models of its attacks are there."""
    roots = (cell.target, *cell.evaluations.values())
    return all(store.has("train", p.key) for root in roots for p in _with_needs(root) if p.kind == "train")


def _with_needs(piece: Piece) -> Iterator[Piece]:
    for need in piece.needs:
        yield from _with_needs(need)
    yield piece


# Rough costs on one core of a 2020s server; `harness plan` scales them by what past cells took.
SECONDS_PER_KMEANS = 6.0
SECONDS_PER_MODEL = {"tf-privacy": 1.4, "fast": 0.15}
SECONDS_PER_STEP = {"tf-privacy": (2.2e-3, 4.0e-3), "fast": (5e-5, 1e-4)}
"""Not counting arithmetic: without and with noise."""
FLOPS = {"tf-privacy": 1.5e11, "fast": 9e10}
SECONDS_PER_NOISE = 6.5e-9
SECONDS_PER_ATTACK_STEP = 1.2e-4


def training_seconds(engine: str, steps: int, private: bool, parameters: int, operations: float) -> float:
    """Estimated core-seconds to train one model; `operations` are floating-point operations a step."""
    known = engine if engine in FLOPS else "tf-privacy"
    step = SECONDS_PER_STEP[known][private] + operations / FLOPS[known]
    step += parameters * SECONDS_PER_NOISE if private and known == "fast" else 0.0
    return SECONDS_PER_MODEL[known] + steps * step


def data_digest(dataset: Dataset, table: Table | None) -> str:
    """What names the data: the canonical table's hash, or the generator's code."""
    return "generator:" + code_fingerprint(type(dataset).__module__) if table is None else table.sha256


def input_width(experiment: Experiment, table: Table | None) -> tuple[int, int]:
    """Features and classes that models see, before an arm removes columns; for estimates, not for training."""
    dataset = experiment.dataset
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
    table = read_table(project, experiment.dataset) if isinstance(experiment.dataset, TableDataset) else None
    digest = data_digest(experiment.dataset, table)
    if table is not None:
        rows, sizes = len(table.frame), experiment.sizes
        asked = sizes.members + sizes.test + sizes.nonmembers
        if asked > rows:
            raise HarnessError(
                f"the sizes ask for {asked} records (members + test + nonmembers) and the table has {rows}; "
                "make them smaller"
            )
    builder = _Builder(experiment, table, digest, Store(project.store))
    cells = tuple(
        builder.cell(arm, epsilon, repeat, spec.attacks)
        for repeat in range(times * experiment.repeats)  # outermost: a run that stops leaves whole repeats
        for arm in experiment.arms
        for epsilon in experiment.privacy.epsilons
    )
    return Plan(spec.id, digest, cells)


class _Builder:
    def __init__(self, experiment: Experiment, table: Table | None, digest: str, store: Store) -> None:
        self.experiment, self.digest, self.store = experiment, digest, store
        training = experiment.training
        engine = ENGINES[training.engine]()
        width, n_classes = input_width(experiment, table)
        placed = placed_layers(experiment.model, width, n_classes)
        self.parameters = sum(math.prod(s) for p in placed for s in p.layer.weight_shapes(p.shape))
        self.operations = 6.0 * training.batch_size * sum(p.layer.operations(p.shape) for p in placed)
        self.capacity = engine.capacity(experiment.model, training, width, n_classes)
        self.steps = steps_of(experiment.sizes.members, training.batch_size, training.epochs)
        self.training_code = {
            "code": code_fingerprint(
                *engine.code(experiment.model), "harness.execution.train_cell", "harness.execution.materialize"
            ),
            "packages": {name: version(name) for name in engine.packages},
        }
        self.memo: dict[str, Piece] = {}

    def _once(self, piece: Piece) -> Piece:
        return self.memo.setdefault(piece.key, piece)

    def split(self, split: Split, repeat: int) -> Piece:
        e = self.experiment
        modules = {type(split).__module__, type(e.dataset).__module__}
        modules |= {"harness.data.split", "harness.data.encoding", "harness.execution.materialize"}
        description = {
            "seed": e.seed, "dataset": e.dataset.content(), "data": self.digest,
            "preprocessing": e.preprocessing.model_dump(mode="json"),
            "sizes": e.sizes.model_dump(mode="json"), "split": split.content(), "repeat": repeat,
            "code": code_fingerprint(*modules), "packages": {"scikit-learn": version("scikit-learn")},
        }  # fmt: skip
        cost = SECONDS_PER_KMEANS if split.plugin_name().startswith("kmeans") else 0.5
        return self._once(Piece("split", description, (), cost))

    def train(
        self, arm: str, split: Piece, noise_multiplier: float, repeat: int, shadow: int | None = None
    ) -> Piece:  # fmt: skip
        e = self.experiment
        private = noise_multiplier > 0
        again = {"repeat": repeat} if e.redraw == "training" else {}  # else the split's own number tells them apart
        description = {
            "role": "target" if shadow is None else "shadow", "index": shadow,
            "model": e.model_of(arm).content(), "training": e.training_of(arm, private).content(),
            "noise_multiplier": noise_multiplier, **again, **self.training_code,
        }  # fmt: skip
        cost = training_seconds(e.training.engine, self.steps, private, self.parameters, self.operations)
        stack = None
        if self.capacity > 1:
            alike = {k: v for k, v in description.items() if k not in ("index", "noise_multiplier", "repeat")}
            draws = {k: v for k, v in split.description.items() if k != "repeat"}
            stack = Stack(fingerprint([alike, draws, private]), self.capacity)
        return self._once(Piece("train", description, (split,), cost, stack))

    def noise_multiplier(self, arm: str, epsilon: float) -> float:
        """Calibrated noise; kept in the store, since every stage plans again and calibration takes seconds."""
        e = self.experiment
        name, sampling = e.accounting_of(arm)
        accountant = ACCOUNTANTS[name]
        run = Run(e.sizes.members, e.training.batch_size, e.training.epochs, e.privacy.delta)
        question = {
            "epsilon": epsilon, "n": run.n, "batch_size": run.batch_size, "epochs": run.epochs,
            "delta": run.delta, "accountant": name, "adjacency": e.privacy.adjacency, "sampling": sampling,
            "code": code_fingerprint(*accountant.modules), "dp-accounting": version("dp-accounting"),
        }  # fmt: skip
        key = fingerprint(question)
        try:
            return float(self.store.get("noise", key).meta["noise_multiplier"])
        except KeyError:
            sigma = accountant.calibrated(epsilon, run, e.privacy.adjacency, sampling)
            self.store.put("noise", key, Result({}, {"noise_multiplier": sigma, "description": question}))
            return sigma

    def cell(self, arm: str, epsilon: float, repeat: int, attacks: dict[str, Attack]) -> Cell:
        e = self.experiment
        sigma = self.noise_multiplier(arm, epsilon)
        split = self.split(e.arms[arm].split, repeat if e.redraw == "split" else 0)
        target = self.train(arm, split, sigma, repeat)
        metrics = code_fingerprint("harness.metrics.membership", "harness.execution.attack_cell")
        own = {"attack": None, "code": code_fingerprint("harness.attacks.attack"), "metrics": metrics}
        model = self._once(Piece("evaluate", own, (target,), 0.02))
        evaluations = {}
        for name, attack in attacks.items():
            fitted: tuple[Piece, ...] = ()
            description = {"attack": attack.content(), "code": code_fingerprint(*attack.modules)}
            if attack.shadow_pool is not None:
                pool = e.pools[attack.shadow_pool]
                noise = 0.0 if pool.privacy == "none" else sigma
                shadows = tuple(self.train(arm, split, noise, repeat, index) for index in range(pool.count))
                epochs = getattr(attack, "epochs", 1)
                records = 2 * pool.count * e.sizes.members
                cost = epochs * records / getattr(attack, "batch_size", 100) * SECONDS_PER_ATTACK_STEP
                fitted = (self._once(Piece("fit", description, shadows, cost)),)
            measured = {**description, "metrics": metrics}
            evaluations[name] = self._once(Piece("evaluate", measured, (target, *fitted), 0.05))
        return Cell(arm, epsilon, repeat, sigma, split, target, model, evaluations)
