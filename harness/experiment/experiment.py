"""An experiment: arms, each a whole set-up of its own, axes that vary a field of all of them, and repeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from pydantic import Field, ValidationError, model_validator

from harness.config import Config
from harness.coordinates import Level
from harness.errors import first_fault
from harness.experiment.axes import RESERVED, Axis, Derived
from harness.experiment.setup import Name, Setup


class Arm(Setup):
    """One side of a comparison. A spec says what differs from the experiment; what it does not say is as there."""

    label: str | None = None
    """Name in figures; default: the arm's key."""


@dataclass(frozen=True)
class Variant:
    """An arm at one place on its axes: what its models are trained by."""

    arm: str
    place: dict[str, Level]
    """Values of its axes, epsilon (or what it follows from) last."""
    setup: Setup
    epsilon: float


class Experiment(Config):
    """Everything that training depends on."""

    hashed_as: ClassVar[dict[str, str]] = {"resample": "redraw"}

    seed: int = Field(ge=0)
    """Root of every random choice."""
    arms: dict[Name, Arm] = Field(min_length=1)
    axes: dict[Name, Axis] = {}
    """Fields that vary, in every arm, by the name that claims use."""
    repeats: int = Field(ge=1)
    """Independent repetitions: initialisation, batches and noise are drawn anew, and what `resample` says."""
    resample: Literal["split", "training"] = "split"
    """`split`: each repeat also draws its records anew, so claims are about the population. `training`: all repeats
    share the first one's records, so claims are about those."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Experiment:
        for name in self.axes:
            if name in RESERVED:
                raise ValueError(f"an axis cannot be named {name!r}; that name is taken")
        names = {self.epsilon_axis(arm) for arm in self.arms}
        if len(names) > 1:
            raise ValueError(
                f"arms speak of different axes ({', '.join(sorted(names))}); derive epsilon on the same "
                "axis in all of them"
            )
        if names & set(self.axes):
            raise ValueError(f"two axes are named {names.pop()!r}")
        return self

    def epsilon_axis(self, arm: str) -> str:
        """Name of the axis that epsilon is on: its own, or the one that it follows from."""
        epsilons = self.arms[arm].privacy.epsilons
        return epsilons.axis if isinstance(epsilons, Derived) else "epsilon"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the axes of its cells, that of epsilon last."""
        return (*self.axes, self.epsilon_axis(next(iter(self.arms))))

    def levels(self, arm: str) -> dict[str, tuple[Level, ...]]:
        """Values of the axes of an arm."""
        setup = self.arms[arm]
        epsilons = setup.privacy.epsilons
        levels: dict[str, tuple[Level, ...]] = {name: axis.values for name, axis in self.axes.items()}
        if isinstance(epsilons, Derived):
            known = {"delta": setup.privacy.delta, "prior": setup.prior}
            return {**levels, epsilons.axis: epsilons.levels(known)}
        return {**levels, "epsilon": epsilons}

    def epsilons(self) -> tuple[float, ...]:
        """Every epsilon of every arm, sorted."""
        return tuple(sorted({v.epsilon for v in self.variants()}))

    def models(self) -> int:
        """Trained targets of the fixed design."""
        return self.repeats * sum(1 for _ in self.variants())

    def variants(self) -> Iterator[Variant]:
        """Every arm at every place of its axes. Raises ValueError for a value that its field cannot have."""
        for name, arm in self.arms.items():
            derived = arm.privacy.epsilons if isinstance(arm.privacy.epsilons, Derived) else None
            levels = self.levels(name)
            last = self.epsilon_axis(name)
            for chosen in product(*(levels[axis] for axis in self.axes)):
                place = dict(zip(self.axes, chosen, strict=True))
                setup = with_fields(arm, {self.axes[axis].field: value for axis, value in place.items()})
                for level in levels[last]:
                    epsilon = level
                    if derived is not None:
                        numbers = {k: float(v) for k, v in place.items() if isinstance(v, int | float)}
                        epsilon = derived.epsilon(
                            float(level), {"delta": setup.privacy.delta, "prior": setup.prior, **numbers}
                        )
                    yield Variant(name, {**place, last: level}, setup, float(epsilon))

    def content(self) -> dict[str, object]:
        """What measurements follow from, as JSON."""
        first = next(iter(self.arms.values()))
        return {
            "seed": self.seed,
            "arms": {name: arm.content() for name, arm in self.arms.items()},
            "axes": {name: axis.content(first) for name, axis in self.axes.items()},
            "repeats": self.repeats,
            "redraw": self.resample,
        }


def with_fields(setup: Setup, values: dict[str, object]) -> Setup:
    """The set-up with fields at dotted paths set, validated as a whole.

    Raises ValueError for a value that cannot stand there, or a field that there is not.
    """
    if not values:
        return setup
    data = setup.model_dump(by_alias=True)
    for field, value in values.items():
        set_at(data, field, value)
    try:
        return type(setup).model_validate(data)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from None


def set_at(data: dict[str, object], field: str, value: object) -> None:
    """Set the value at a dotted path of nested mappings, which are created where missing."""
    *way, last = field.split(".")
    for part in way:
        inner = data.get(part)
        if not isinstance(inner, dict):
            inner = data[part] = {}
        data = inner
    data[last] = value
