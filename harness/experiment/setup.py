"""Everything that one arm's training depends on, but for the seed and the number of repeats."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)

import harness.data.datasets
import harness.data.splits
import harness.training.engines
import harness.training.models  # noqa: F401  (these imports register the built-in plug-ins)
from harness.config import Config, load_external_plugins
from harness.data.dataset import DATASETS, Dataset, GeneratorDataset
from harness.data.encoding import Preprocessing
from harness.data.split import SPLITS, Sizes, Split
from harness.defences import DEFENCES, Defence, Undefended
from harness.experiment.axes import Derived
from harness.identity import canonical
from harness.ids import NAME_PATTERN
from harness.privacy.accountants import ACCOUNTANTS
from harness.privacy.accounting import Accounting
from harness.training.engine import ENGINES
from harness.training.model import MODELS, Model
from harness.training.settings import Training

load_external_plugins()
if TYPE_CHECKING:
    AnyDataset = Dataset
    AnySplit = Split
    AnyModel = Model
    AnyDefence = Defence
else:
    AnyDataset, AnySplit, AnyModel = DATASETS.union(), SPLITS.union(), MODELS.union()
    AnyDefence = DEFENCES.union()

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name in a spec: of a claim, an arm, an attack, an axis."""


class MadeFor(Config):
    """What noise multipliers were made for."""

    records: int = Field(ge=1)
    """Members that a model is trained on."""
    batch_size: int = Field(ge=1)
    epochs: int = Field(ge=1)


class DeclaredNoise(Config):
    """Noise multipliers as somebody published them, in place of calibrated ones.

    Written as `{0.01: 525, 1: 7}` too, where nothing is known of how they were made.
    """

    name: Name | None = None
    """What it is called where it is one of several readings."""
    values: dict[float, float] = Field(min_length=1)
    """By epsilon."""
    made_by: str | None = None
    """The accountant by which they promise their epsilons."""
    made_for: MadeFor | None = None

    @model_validator(mode="before")
    @classmethod
    def _wrap_plain(cls, value: object) -> object:
        named = {"name", "values", "made_by", "made_for"}
        return {"values": value} if isinstance(value, dict) and not named & {str(key) for key in value} else value

    @field_validator("values")
    @classmethod
    def _check_falling(cls, value: dict[float, float]) -> dict[float, float]:
        ordered = sorted(value.items())
        for epsilon, noise in ordered:
            if not (0 < epsilon < math.inf and 0 < noise < math.inf):
                raise ValueError(f"noise {noise:g} for epsilon {epsilon:g}: both have to be finite and above 0")
        for (less, more_noise), (more, less_noise) in itertools.pairwise(ordered):
            if less_noise > more_noise:
                raise ValueError(
                    f"epsilon {more:g} has more noise ({less_noise:g}) than epsilon {less:g} ({more_noise:g})"
                )
        return dict(ordered)

    @field_validator("made_by")
    @classmethod
    def _check_accountant(cls, value: str | None) -> str | None:
        if value is not None and value not in ACCOUNTANTS:
            raise ValueError(f"unknown accountant {value!r}; known: {', '.join(sorted(ACCOUNTANTS))}")
        return value


class Privacy(Accounting):
    """The epsilon grid and how noise is calibrated to it."""

    epsilons: Annotated[
        Annotated[tuple[float, ...], Field(min_length=1), Tag("grid")] | Annotated[Derived, Tag("derived")],
        Discriminator(lambda value: "derived" if isinstance(value, dict | Derived) else "grid"),
    ]
    """The grid; `.inf` is the non-private baseline. Or the epsilons at which a formula takes given values."""
    delta: float = Field(gt=0, lt=1)
    """The delta of (epsilon, delta)-DP."""
    noise_multipliers: DeclaredNoise | None = Field(default=None, exclude_if=lambda declared: declared is None)
    """Noise as published, by epsilon; default: what the accountant finds. A verdict says what epsilon it is worth."""

    @field_validator("accountant")
    @classmethod
    def _check_accountant(cls, value: str) -> str:
        if value not in ACCOUNTANTS:
            raise ValueError(f"unknown accountant {value!r}; known: {', '.join(sorted(ACCOUNTANTS))}")
        return value

    @model_validator(mode="after")
    def _check_sampling(self) -> Privacy:
        stated = ACCOUNTANTS[self.accountant].samplings
        if self.sampling not in stated:
            raise ValueError(
                f"the accountant {self.accountant!r} is stated for {' or '.join(stated)} batches; set sampling so"
            )
        return self

    @field_validator("epsilons")
    @classmethod
    def _grid(cls, value: tuple[float, ...] | Derived) -> tuple[float, ...] | Derived:
        if isinstance(value, Derived):
            return value
        for epsilon in value:
            if not epsilon > 0:
                raise ValueError(f"every epsilon must be above 0, found {epsilon:g}")
        if len(set(value)) != len(value):
            raise ValueError("the grid names an epsilon twice")
        return tuple(sorted(value))

    @model_validator(mode="after")
    def _check_declared_noise(self) -> Privacy:
        declared = self.noise_multipliers
        if declared is None:
            return self
        if isinstance(self.epsilons, Derived):
            raise ValueError("noise_multipliers go with a grid of epsilons, not with derived ones")
        for epsilon in self.epsilons:
            if epsilon not in declared.values and not math.isinf(epsilon):
                known = ", ".join(f"{e:g}" for e in declared.values)
                raise ValueError(f"noise_multipliers has no noise for epsilon {epsilon:g}; it has some for {known}")
        return self


class ShadowPool(Config):
    """A pool of shadow models: trained once and shared by every attack that names it."""

    count: int = Field(default=5, ge=1)
    """Shadow models per arm and repeat."""
    privacy: Literal["none", "like-target"] = "none"
    """`none`: without noise, as the released code does; `like-target`: with the target's noise, or of halves with the
    noise of the target's epsilon."""
    trained_on: Literal["leftover", "halves"] = "leftover"
    """`leftover`: records that are neither members nor attacked. `halves`: each model has a random half of the records
    that are attacked, the next one the other half, and which half is recorded: LiRA's pool (Carlini et al. 2022)."""

    model: AnyModel | None = Field(default=None, exclude_if=lambda model: model is None)
    """The architecture of its models; default: that of the arm's target."""
    training: Training | None = Field(default=None, exclude_if=lambda training: training is None)
    """How its models are trained; what it does not say is as the arm says it. Default: as the target."""

    @model_validator(mode="after")
    def _pairs(self) -> ShadowPool:
        if self.trained_on == "halves" and self.count % 2:
            raise ValueError(f"a pool of halves has an even number of models, found count {self.count}")
        return self

    def cap(self, max_models: int | None, max_epochs: int | None = None, engine: str | None = None) -> ShadowPool:
        """The pool with at most so many models, one of halves with four at least, so that each record is in and out of
        two; with a training of its own for at most so many epochs, by this engine."""
        update: dict[str, object] = {}
        if max_models is not None:
            of_halves = max(4, max_models - max_models % 2)
            update["count"] = min(self.count, max_models if self.trained_on == "leftover" else of_halves)
        if self.training is not None:
            epochs = self.training.epochs if max_epochs is None else min(self.training.epochs, max_epochs)
            changes = {"epochs": epochs, "engine": engine or self.training.engine}
            update["training"] = self.training.model_copy(update=changes)
        return self.model_copy(update=update)

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`trained_on` came after results had been named: as it was, it stays out of names."""
        fields: dict[str, object] = dump(self)
        return {k: v for k, v in fields.items() if k != "trained_on" or v != "leftover"}


class Setup(Config):
    """What is trained on which records, and how."""

    dataset: AnyDataset
    preprocessing: Preprocessing = Preprocessing()
    sizes: Sizes
    split: AnySplit
    """How records are drawn."""
    model: AnyModel
    training: Training
    privacy: Privacy
    pools: dict[Name, ShadowPool] = {}
    defence: AnyDefence = Field(default=Undefended(), exclude_if=lambda defence: isinstance(defence, Undefended))
    """What stands between the trained target and those who attack it. It changes no training; none is in no name."""

    @property
    def prior(self) -> float:
        """Share of members among the records attacked."""
        return self.split.prior(self.sizes)

    @property
    def train_size(self) -> int:
        """Records that a target is trained on."""
        return self.split.train_size(self.sizes)

    def content(self) -> dict[str, object]:
        """What measurements follow from, as JSON."""
        fields = canonical(self, exclude={"label"})
        plugins = {"dataset": self.dataset.content(), "split": self.split.content(), "model": self.model.content()}
        return {**fields, **plugins, "training": self.training.content()}

    def of_pool(self, pool: ShadowPool) -> Setup:
        """The set-up by which a pool's models are trained: this one, with what the pool says for itself."""
        own = {name: value for name in ("model", "training") if (value := getattr(pool, name)) is not None}
        return self.model_copy(update=own) if own else self

    @model_validator(mode="before")
    @classmethod
    def _complete_pools(cls, data: object) -> object:
        """A pool's training says what differs from the arm's."""
        if not isinstance(data, dict) or not isinstance(data.get("pools"), dict):
            return data
        training, pools = data.get("training"), {}
        for name, pool in data["pools"].items():
            differs = pool.get("training") if isinstance(pool, dict) else None
            if isinstance(differs, dict) and isinstance(training, dict):
                pool = {**pool, "training": {**training, **differs}}
            pools[name] = pool
        return {**data, "pools": pools}

    @model_validator(mode="after")
    def _check_consistency(self) -> Setup:
        source = "generator" if isinstance(self.dataset, GeneratorDataset) else "table"
        if source not in self.split.needs:
            kind, fits = self.split.plugin_name(), [n for n, s in SPLITS if source in s.needs]
            raise ValueError(
                f"split {kind!r} does not work on dataset {self.dataset.plugin_name()!r} (a {source}); these do: "
                f"{', '.join(fits)}"
            )
        refusal = self.split.refuses(self.sizes)
        if refusal is not None:
            raise ValueError(refusal)
        check_training(self.model, self.training)
        halves = [
            name for name, pool in self.pools.items() if (pool.trained_on, pool.privacy) == ("halves", "like-target")
        ]
        if self.privacy.noise_multipliers is not None and halves:
            raise ValueError(
                f"pools.{halves[0]}: models on halves need noise for half of the records, and noise_multipliers are "
                "declared for all of them; use privacy: none, or leave noise_multipliers out"
            )
        if self.training.batch_size > self.train_size and ENGINES[self.training.engine].cuts_batches:
            what = "sizes.members" if self.train_size == self.sizes.members else "the number of records trained on"
            raise ValueError(
                f"training.batch_size ({self.training.batch_size}) is larger than {what} ({self.train_size}); no whole "
                "batch could be made"
            )
        return self

    @model_validator(mode="after")
    def _check_pools(self) -> Setup:
        in_batches = ("batch_size", "epochs", "sampling", "clipping")
        for name, pool in self.pools.items():
            own = self.of_pool(pool)
            if own is self:
                continue
            try:
                check_training(own.model, own.training)
            except ValueError as error:
                raise ValueError(f"pools.{name}: {error}") from None
            other = [field for field in in_batches if getattr(own.training, field) != getattr(self.training, field)]
            if other and pool.privacy == "like-target":
                raise ValueError(
                    f"pools.{name}: the target's noise promises its epsilon in the target's batches alone; leave "
                    f"{other[0]} out of the pool's training, or use privacy: none"
                )
        return self


def check_training(model: Model, training: Training) -> None:
    """Raises ValueError for an engine that there is not, or that cannot train the model so."""
    if training.engine not in ENGINES.names():
        raise ValueError(f"unknown engine {training.engine!r}; known: {', '.join(ENGINES.names())}")
    if model.engine not in (None, training.engine):
        kind, engine = model.plugin_name(), model.engine
        raise ValueError(f"model: kind {kind} is trained by one engine; write training: {{engine: {engine}}}")
    refusal = ENGINES[training.engine]().refuses(model, training)
    if refusal is not None:
        raise ValueError(refusal)
