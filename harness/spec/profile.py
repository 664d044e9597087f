"""Profiles: how much of a spec is run. A profile only reduces, and every verdict says by what."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from harness.config import Config
from harness.data.dataset import DATASETS, Dataset, TableDataset
from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.document import load_document
from harness.spec.model import Experiment, Spec, _epsilon
from harness.training.engine import ENGINES

PAPERS_ENGINE = "tf-privacy"


def substitutes() -> dict[str, type[Dataset]]:
    """The datasets that stand in for another, by its name."""
    tables = ((c.stands_in_for, c) for _, c in DATASETS if issubclass(c, TableDataset))
    return {real: c for real, c in tables if real is not None}


class Profile(Config):
    """Ceilings on a spec's own numbers; nothing given means the paper's own scale."""

    repeats: int | None = Field(default=None, ge=1)
    epochs: int | None = Field(default=None, ge=1)
    epsilons: tuple[float, ...] | None = Field(default=None, min_length=1)
    """Kept of the spec's grid."""
    shadows: int | None = Field(default=None, ge=1)
    attack_epochs: int | None = Field(default=None, ge=1)
    attacks: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Kept of the specs' attacks; claims about others are not run."""
    engine: str | None = None
    """Trains in place of the spec's own engine."""
    design: Literal["fixed", "sequential"] = "fixed"
    """`sequential`: repeats are added until claims are decided or out of reach (docs/statistics.md)."""
    substitute: tuple[str, ...] = ()
    """Datasets in place of which their substitutes are used; verdicts then say *substituted*."""
    skip: tuple[str, ...] = ()
    """Specs that are not trained; their claims on measurements are not run."""
    papers: dict[str, Profile] = {}
    """A paper's specs are run by these settings instead, none of the others; `design` and `skip` stay."""

    @field_validator("engine")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in ENGINES.names():
            raise ValueError(f"unknown engine {value!r}; known: {', '.join(ENGINES.names())}")
        return value

    @field_validator("substitute")
    @classmethod
    def _there(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in substitutes():
                raise ValueError(f"no substitute for dataset {name!r}; there is one for: {', '.join(substitutes())}")
        return value

    @field_validator("epsilons", mode="before")
    @classmethod
    def _infinity(cls, value: Any) -> Any:
        return [_epsilon(v) for v in value] if isinstance(value, list | tuple) else value


class Params(Config):
    """`params.yaml`: the chosen profile and what each profile means."""

    profile: str
    profiles: dict[str, Profile]


@dataclass(frozen=True)
class Scaled:
    """A spec after a profile, and in words what the profile took away."""

    spec: Spec
    profile: str
    reductions: tuple[str, ...]
    substitution: str | None = None
    """The dataset that stands in for the spec's own, in words."""

    @property
    def deviations(self) -> tuple[str, ...]:
        """Known differences from the paper, an engine other than the papers' own library included."""
        found = self.spec.deviations
        if self.substitution is not None:
            found = (self.substitution, *found)
        if self.spec.experiment is None or self.spec.experiment.training.engine == PAPERS_ENGINE:
            return found
        engine = self.spec.experiment.training.engine
        what = (ENGINES[engine].__doc__ or "").splitlines()[0].rstrip(".")
        return (*found, f"Trained by the engine {engine!r}: {what[:1].lower()}{what[1:]}.")


def load_params(project: Project) -> Params:
    """Read `params.yaml`. Raises HarnessError with file, line and field."""
    document = load_document(project.params)
    try:
        return Params.model_validate(document.data)
    except ValidationError as error:
        fault = error.errors()[0]
        path, line = document.place(tuple(fault["loc"]))
        field = ".".join(map(str, fault["loc"]))
        raise HarnessError(f"{path}:{line}: {field}: {fault['msg']}") from None


def choose(params: Params, name: str | None) -> tuple[str, Profile]:
    """The named profile, or the one that `params.yaml` selects."""
    name = name or params.profile
    if name not in params.profiles:
        raise HarnessError(f"unknown profile {name!r}; params.yaml has: {', '.join(params.profiles)}")
    return name, params.profiles[name]


def _capped(own: int, ceiling: int | None) -> int:
    return own if ceiling is None else min(own, ceiling)


def scale(spec: Spec, name: str, profile: Profile) -> Scaled:
    """Apply a profile to a spec. Raises HarnessError where no epsilon of the grid is left."""
    before = spec.experiment
    if before is None:
        return Scaled(spec, name, ())
    profile = profile.papers.get(spec.paper, profile)
    dataset, substitution = _substituted(before.dataset, profile)
    grid = before.privacy.epsilons
    kept = tuple(e for e in grid if profile.epsilons is None or e in profile.epsilons)
    if not kept:
        raise HarnessError(f"{spec.id}: profile {name!r} keeps no epsilon of the spec's grid")
    after: Experiment = before.model_copy(
        update={
            "dataset": dataset,
            "repeats": _capped(before.repeats, profile.repeats),
            "training": before.training.model_copy(
                update={
                    "epochs": _capped(before.training.epochs, profile.epochs),
                    "engine": profile.engine or before.training.engine,
                }
            ),
            "privacy": before.privacy.model_copy(update={"epsilons": kept}),
            "pools": {
                key: pool.model_copy(update={"count": _capped(pool.count, profile.shadows)})
                for key, pool in before.pools.items()
            },
        }
    )
    attacks, attack_notes = {}, []
    for key, attack in spec.attacks.items():
        if profile.attacks is not None and key not in profile.attacks:
            continue  # no reduction of what is measured: claims about it are not run
        own = getattr(attack, "epochs", None)
        cut = None if own is None else _capped(own, profile.attack_epochs)
        attacks[key] = attack if cut == own else attack.model_copy(update={"epochs": cut})
        if cut != own:
            attack_notes.append(f"{key}: {cut} of {own} epochs")
    notes = [
        f"{label} {now} of {was}"
        for label, was, now in (
            ("repeats", before.repeats, after.repeats),
            ("epochs", before.training.epochs, after.training.epochs),
            ("epsilons", len(grid), len(kept)),
            *((f"shadow models ({k})", before.pools[k].count, after.pools[k].count) for k in before.pools),
        )
        if was != now
    ]
    scaled = spec.model_copy(update={"experiment": after, "attacks": attacks})
    return Scaled(scaled, name, (*notes, *attack_notes), substitution)


def _substituted(dataset: Dataset, profile: Profile) -> tuple[Dataset, str | None]:
    """The dataset in use, and in words that it stands in for another."""
    if dataset.plugin_name() not in profile.substitute:
        return dataset, None
    kind = substitutes()[dataset.plugin_name()]
    shared = {name: getattr(dataset, name) for name in kind.model_fields if name in type(dataset).model_fields}
    shared = {k: v for k, v in shared.items() if k not in ("kind", "most_frequent")}
    found = kind.model_validate(shared)
    return found, f"{dataset.display} is substituted: {found.display}. {(kind.__doc__ or '').splitlines()[0]}"


def as_run(scaled: Scaled, repeats: int) -> Scaled:
    """The same, with a note where only the first so many repeats have been run."""
    experiment = scaled.spec.experiment
    if experiment is None or repeats >= experiment.repeats:
        return scaled
    return replace(scaled, reductions=(*scaled.reductions, f"repeats {repeats} of {experiment.repeats} (run so far)"))


def stopped_early(scaled: Scaled, open_claims: int) -> Scaled:
    """The same, with a note where a run until decided was stopped before all claims were."""
    note = f"stopped while {open_claims} claim{'s' if open_claims > 1 else ''} asked for more repeats"
    return replace(scaled, reductions=(*scaled.reductions, note))


def shown(epsilon: float) -> str:
    """An epsilon as people write it."""
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"
