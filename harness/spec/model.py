"""What a spec may say: one experiment of a paper and the claims made on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

import harness.data.datasets
import harness.data.splits
import harness.training.engines
import harness.training.models  # noqa: F401  (these imports register the built-in plug-ins)
from harness.attacks import ATTACKS, Attack, MembershipAttack
from harness.bounds import BOUNDS
from harness.claims.expectation import (
    Count,
    Expectation,
    Measured,
    bounds_named,
    measured_operands,
)
from harness.config import Config, load_external_plugins
from harness.data.dataset import DATASETS, Dataset, GeneratorDataset
from harness.data.encoding import Preprocessing
from harness.data.split import SPLITS, Sizes, Split
from harness.metrics.exposure import EXPOSURE_METRICS
from harness.metrics.model import MODEL_METRICS, RELATIVE_METRICS
from harness.privacy.accountants import ACCOUNTANTS
from harness.privacy.accounting import Accounting, Sampling
from harness.spec.page import Layout, Name, Panel
from harness.theory.checks import TheoryExpectation
from harness.training.engine import ENGINES
from harness.training.model import MODELS, Model
from harness.training.settings import Clipping, Training

load_external_plugins()
if TYPE_CHECKING:
    AnyDataset = Dataset
    AnySplit = Split
    AnyModel = Model
    AnyAttack = Attack
else:
    AnyDataset, AnySplit = DATASETS.union(), SPLITS.union()
    AnyModel, AnyAttack = MODELS.union(), ATTACKS.union()


def _epsilon(value: Any) -> Any:
    """YAML writes infinity as `.inf`; `inf` and `infinity` are taken too."""
    return math.inf if isinstance(value, str) and value.lower() in ("inf", "infinity") else value


def _accountant(name: str) -> str:
    if name not in ACCOUNTANTS:
        raise ValueError(f"unknown accountant {name!r}; known: {_listed(ACCOUNTANTS)}")
    return name


class Privacy(Accounting):
    """The epsilon grid and how noise is calibrated to it."""

    epsilons: tuple[float, ...] = Field(min_length=1)
    """The grid; `.inf` is the non-private baseline."""
    delta: float = Field(gt=0, lt=1)
    """The delta of (epsilon, delta)-DP."""

    @field_validator("accountant")
    @classmethod
    def _known(cls, value: str) -> str:
        return _accountant(value)

    @model_validator(mode="after")
    def _stated(self) -> Privacy:
        stated = ACCOUNTANTS[self.accountant].samplings
        if self.sampling not in stated:
            raise ValueError(
                f"the accountant {self.accountant!r} is stated for {' or '.join(stated)} batches; set sampling so"
            )
        return self

    @field_validator("epsilons", mode="before")
    @classmethod
    def _infinity(cls, value: Any) -> Any:
        return [_epsilon(v) for v in value] if isinstance(value, list | tuple) else value

    @field_validator("epsilons")
    @classmethod
    def _grid(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        for epsilon in value:
            if not epsilon > 0:
                raise ValueError(f"every epsilon must be above 0, found {epsilon:g}")
        if len(set(value)) != len(value):
            raise ValueError("the grid names an epsilon twice")
        return tuple(sorted(value))


class Pool(Config):
    """A pool of shadow models: trained once and shared by every attack that names it."""

    count: int = Field(default=5, ge=1)
    """Shadow models per arm and repeat."""
    privacy: Literal["none", "like-target"] = "none"
    """`none`: without noise, as the released code does; `like-target`: with the target's noise."""


class Arm(Config):
    """One side of a comparison: how its records are drawn."""

    split: AnySplit
    label: str | None = None
    """Name in figures; default: the arm's key."""
    accountant: str | None = None
    """Calibrates this arm's noise; default: `privacy.accountant`. Where it is not stated for the batches that
    `privacy.sampling` assumes, it assumes its own."""
    clipping: Clipping | None = None
    """How this arm clips; default: `training.clipping`. Without noise nothing is clipped."""
    l2: Annotated[float, Field(ge=0)] | None = None
    """This arm's l2 penalty; default: `model.l2`."""

    @field_validator("accountant")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        return None if value is None else _accountant(value)

    @model_serializer(mode="wrap")
    def _without_default(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What an arm does not name is not written, nor hashed: as before there was a choice."""
        found: dict[str, Any] = handler(self)
        for name in ("accountant", "clipping", "l2"):
            if getattr(self, name) is None:
                found.pop(name, None)
        return found


class Experiment(Config):
    """Everything that training depends on."""

    seed: int = Field(ge=0)
    """Root of every random choice."""
    dataset: AnyDataset
    preprocessing: Preprocessing = Preprocessing()
    sizes: Sizes
    arms: dict[Name, Arm] = Field(min_length=1)
    model: AnyModel
    training: Training
    privacy: Privacy
    pools: dict[Name, Pool] = {}
    repeats: int = Field(ge=1)
    """Independent repetitions: initialisation, batches and noise are drawn anew, and what `redraw` says."""
    redraw: Literal["split", "training"] = "split"
    """`split`: each repeat also draws its records anew, so claims are about the population. `training`: all repeats
    share the first one's records, so claims are about those."""

    def accounting_of(self, arm: str) -> tuple[str, Sampling]:
        """The accountant of an arm, and the sampling that it assumes."""
        name = self.arms[arm].accountant or self.privacy.accountant
        stated = ACCOUNTANTS[name].samplings
        return name, self.privacy.sampling if self.privacy.sampling in stated else stated[0]

    def training_of(self, arm: str, private: bool = True) -> Training:
        """How an arm's models are trained: with its own clipping where they are clipped at all."""
        clipping = self.arms[arm].clipping
        if clipping is None or not private:
            return self.training
        return self.training.model_copy(update={"clipping": clipping})

    def model_of(self, arm: str) -> Model:
        """An arm's architecture, with its own penalty."""
        l2 = self.arms[arm].l2
        found: Model = self.model if l2 is None else self.model.model_copy(update={"l2": l2})
        return found

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        source = "generator" if isinstance(self.dataset, GeneratorDataset) else "table"
        for name, arm in self.arms.items():
            if source not in arm.split.needs:
                kind, fits = arm.split.plugin_name(), [n for n, s in SPLITS if source in s.needs]
                raise ValueError(
                    f"arm {name!r}: split {kind!r} does not work on dataset {self.dataset.plugin_name()!r} "
                    f"(a {source}); these do: {', '.join(fits)}"
                )
            if arm.clipping == "batch" and self.training.sampling == "poisson":
                raise ValueError(f"arm {name!r}: clipping: batch needs batches of one size; use sampling: shuffle")
        if self.training.engine not in ENGINES.names():
            raise ValueError(f"unknown engine {self.training.engine!r}; known: {', '.join(ENGINES.names())}")
        for name in self.arms:
            refusal = ENGINES[self.training.engine]().refuses(self.model_of(name), self.training_of(name))
            if refusal is not None:
                raise ValueError(refusal)
        if self.training.batch_size > self.sizes.members:
            raise ValueError(
                f"training.batch_size ({self.training.batch_size}) is larger than sizes.members "
                f"({self.sizes.members}); no whole batch could be made"
            )
        return self


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Catalogue = Annotated[tuple[str, ...], BeforeValidator(_one_or_many, json_schema_input_type=str | tuple[str, ...])]


Expectations = Annotated[
    tuple[Expectation, ...],
    BeforeValidator(
        lambda value: [value] if isinstance(value, dict) else value,
        json_schema_input_type=Expectation | tuple[Expectation, ...],
    ),
]


class Claim(Config):
    """One checkable statement of a paper."""

    id: Name
    """Unique in its spec."""
    catalogue: Catalogue = ()
    """Id or ids of the claim in the catalogue of claims."""
    where: str
    """Place in the paper."""
    kind: Literal["theory", "simulation", "training"] = "training"
    statement: str
    """The claim in words."""
    expect: Expectations
    """The inequality; several must all hold."""
    note: str = ""
    """What a reader of the verdict should know."""

    @field_validator("expect")
    @classmethod
    def _some(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError("names no inequality; a claim needs at least one")
        return value

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The parts of `expect`."""
        return self.expect


class Unstated(Config):
    """A choice that the paper leaves open, the reading taken, and the other readings."""

    choice: str
    field: str | None = None
    """Path of the field that makes the choice, such as `experiment.preprocessing.scaling`."""
    chosen: Any
    alternatives: tuple[Any, ...] = ()
    why: str


class Spec(Config):
    """One declaration: an experiment (none for theory alone), attacks, and claims."""

    id: str
    """Path below `specs/` without its ending; set by the loader."""
    paper: Name
    """Key in `specs/papers.yaml`."""
    title: str
    where: str
    """Figure, table or section of the paper."""
    version: int = Field(default=1, ge=1)
    """Raised when the meaning of the spec changes."""
    experiment: Experiment | None = None
    attacks: dict[Name, AnyAttack] = {}
    claims: tuple[Claim, ...] = Field(min_length=1)
    unstated: tuple[Unstated, ...] = ()
    deviations: tuple[str, ...] = ()
    """Known differences from the paper."""
    figure: tuple[Panel, ...] = ()
    layout: tuple[Layout, ...] = ()
    """Printed tables of formulas, drawn with the verdict on each entry."""

    @model_validator(mode="after")
    def _consistent(self) -> Spec:
        seen: set[str] = set()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"claim {claim.id!r} is declared twice")
            seen.add(claim.id)
            for expectation in claim.expectations:
                self._check_expectation(claim.id, expectation)
        if self.experiment is not None:
            for name, attack in self.attacks.items():
                pool = attack.shadow_pool
                if pool is not None and pool not in self.experiment.pools:
                    raise ValueError(
                        f"attack {name!r} needs the pool {pool!r}; declare it under experiment.pools "
                        f"(there: {_listed(self.experiment.pools)})"
                    )
        for table in self.layout:
            for name, entry in ((name, entry) for name, entries in table.rows.items() for entry in entries):
                known = {claim.id: claim for claim in self.claims}
                if entry.claim is not None and entry.claim not in known:
                    raise ValueError(f"layout row {name!r}: unknown claim {entry.claim!r}; known: {_listed(known)}")
                of = 0 if entry.claim is None else len(known[entry.claim].expectations)
                if any(part > of for part in entry.parts):
                    raise ValueError(f"layout row {name!r}: the claim {entry.claim!r} has {of} parts")
        if self.experiment is None and self.attacks:
            raise ValueError("attacks are declared but there is no experiment to attack")
        return self

    def _check_expectation(self, claim: str, expectation: Expectation) -> None:
        for bound in bounds_named(expectation):
            if bound not in BOUNDS:
                raise ValueError(f"claim {claim!r}: unknown bound {bound!r}; known: {_listed(BOUNDS)}")
        if isinstance(expectation, TheoryExpectation):
            return
        if self.experiment is None:
            raise ValueError(f"claim {claim!r} speaks of measurements but the spec has no experiment")
        arms = self.experiment.arms
        named = [expectation.arm] if isinstance(expectation, Count) else []
        operands = measured_operands(expectation)
        for arm in [*named, *(o.arm for o in operands)]:
            if arm not in arms:
                raise ValueError(f"claim {claim!r}: unknown arm {arm!r}; known: {_listed(arms)}")
        for operand in operands:
            if operand.attack is not None and operand.attack not in self.attacks:
                known = _listed(self.attacks)
                raise ValueError(f"claim {claim!r}: unknown attack {operand.attack!r}; known: {known}")
            for metric in (operand.metric, operand.minus):
                if metric is not None:
                    _check_metric(claim, operand, metric, self)
        at = getattr(expectation, "at", None)
        fixed = [o.epsilon for o in operands if o.epsilon is not None]
        if fixed or at is not None:
            grid = self.experiment.privacy.epsilons
            for epsilon in (*fixed, *(at or ())):
                if epsilon not in grid:
                    raise ValueError(
                        f"claim {claim!r}: epsilon {epsilon:g} is not on the grid ({', '.join(f'{e:g}' for e in grid)})"
                    )


def _check_metric(claim: str, operand: Measured, metric: str, spec: Spec) -> None:
    assert spec.experiment is not None
    if operand.attack is None:
        known: tuple[str, ...] = (*MODEL_METRICS, *RELATIVE_METRICS)
        of = "of the model (no attack named)"
    else:
        attack = spec.attacks[operand.attack]
        several = EXPOSURE_METRICS if isinstance(attack, MembershipAttack) else ()
        known, of = (*attack.metrics, *several), f"of the attack {operand.attack!r}"
    if metric not in known:
        raise ValueError(f"claim {claim!r}: unknown metric {metric!r} {of}; known: {', '.join(known)}")
    if metric in RELATIVE_METRICS and math.inf not in spec.experiment.privacy.epsilons:
        raise ValueError(f"claim {claim!r}: {metric} is relative to the model without noise; add .inf to the epsilons")
    if metric in EXPOSURE_METRICS and spec.experiment.redraw != "training":
        raise ValueError(
            f"claim {claim!r}: {metric} counts the same members over several runs; set experiment.redraw to training"
        )


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"
