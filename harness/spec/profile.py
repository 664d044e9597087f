"""Profiles: how much of a spec is run. A profile only reduces, and every verdict says by what."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from harness.claims.allocation import CEILING
from harness.config import Config
from harness.data.dataset import DATASETS, Dataset, TableDataset
from harness.errors import HarnessError, first_fault
from harness.experiment.axes import Derived
from harness.experiment.experiment import Arm, Experiment
from harness.hashing import derive_seed
from harness.ids import PART, RIGHT, plain_name
from harness.paths import Project
from harness.spec.counts import check_counts
from harness.spec.document import Keys, load_document
from harness.spec.model import Spec
from harness.training.engine import ENGINES

PAPERS_ENGINE = "tf-privacy"
DECLARED = "declared"
"""The profile of a project without `params.yaml`: specs are run as they are declared."""


def substitutes() -> dict[str, type[Dataset]]:
    """The datasets that stand in for another, by the name of that other."""
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
    basis: Literal["t-test", "distribution-free"] = "t-test"
    """Of a sequential design. `distribution-free`: decided claims go on until their verdicts rest on the metrics'
    ranges alone, where at most three times the spec's repeats are likely to do (docs/statistics.md)."""
    own_seeds: bool = False
    """Whether runs draw by seeds of the profile's own, so that they are others than those of the specs' committed
    tables: another sample of the same experiments, of which nothing had been seen when a claim was declared."""
    max_repeats: int | None = Field(default=None, ge=1)
    """Of a sequential design: repeats that a cell may get where an open claim needs them, never fewer than the spec's.
    Default: three times the spec's. All cells together get a third of the fixed design's models, or of as many repeats
    where that is more; attacks on models that are there go on past that."""
    from_tables: bool = False
    """Of a sequential design. What the committed tables of any profile hold of an experiment is not measured again, by
    whichever version of the code it was; verdicts say by which."""
    substitute: tuple[str, ...] = ()
    """Datasets in place of which their substitutes are used; verdicts then say *substituted*."""
    decide: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The claims that it is to decide: papers, specs, claims (`humphries2020/fig6#logloss-cap`), and `theory` for all
    that need no training. What is trained follows from them (`harness.spec.selection`). Default: every claim."""
    leave_out: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Papers and specs that `theory` does not stand for in `decide`."""
    readings_of: str | None = None
    """A profile whose tables of other readings count here, where a claim is violated as declared and its readings were
    not run under this one."""
    papers: dict[str, Profile] = {}
    """A paper's specs, or one that is named (`thudi2022/adult`), are run by these settings instead, none of the
    others; `design`, `basis`, `decide`, `own_seeds` and `readings_of` stay, and `max_repeats` where it says none."""

    @field_validator("engine")
    @classmethod
    def _check_engine(cls, value: str | None) -> str | None:
        if value is not None and value not in ENGINES.names():
            raise ValueError(f"unknown engine {value!r}; known: {', '.join(ENGINES.names())}")
        return value

    @field_validator("substitute")
    @classmethod
    def _check_substitutes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in substitutes():
                raise ValueError(f"no substitute for dataset {name!r}; there is one for: {', '.join(substitutes())}")
        return value

    @field_validator("epsilons")
    @classmethod
    def _check_above_zero(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        for epsilon in value or ():
            if not epsilon > 0:
                raise ValueError(f"epsilons have to be above 0, found {epsilon:g}")
        return value


def _check_profile_name(name: str) -> str:
    if not PART.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a profile; {RIGHT}, as in {plain_name(name)}")
    return name


ProfileName = Annotated[str, AfterValidator(_check_profile_name)]
"""Names a folder of reports, and stands in commands."""


class Params(Config):
    """`params.yaml`: the chosen profile and what each profile means."""

    profile: str
    flagship: str | None = None
    """The profile whose tables are committed, and whose pipeline is `flagship/dvc.yaml`."""
    profiles: dict[ProfileName, Profile]
    plugins: dict[str, tuple[str, ...]] = {}
    """By package of plug-ins that specs use: the kinds, formulas and metrics that it adds."""

    @model_validator(mode="after")
    def _flagship_is_kept(self) -> Params:
        if self.flagship is not None:
            if self.flagship not in self.profiles:
                raise ValueError(f"flagship: unknown profile {self.flagship!r}; there are: {', '.join(self.profiles)}")
            if not self.profiles[self.flagship].from_tables:
                raise ValueError(f"flagship: profile {self.flagship!r} needs from_tables: true, as its tables are kept")
            if self.flagship == self.profile:
                raise ValueError(
                    f"profile: {self.profile!r} is the flagship, which has a pipeline of its own: run "
                    "`dvc repro flagship/dvc.yaml`, and choose another profile here"
                )
        kept = [name for name, profile in self.profiles.items() if profile.from_tables and name != self.flagship]
        if kept:
            raise ValueError(f"profiles.{kept[0]}: from_tables is for the flagship alone; say `flagship: {kept[0]}`")
        for name, profile in self.profiles.items():
            if profile.readings_of is not None and profile.readings_of not in self.profiles:
                raise ValueError(
                    f"profiles.{name}.readings_of: unknown profile {profile.readings_of!r}; there are: "
                    f"{', '.join(self.profiles)}"
                )
        return self


@dataclass(frozen=True)
class Scaled:
    """A spec after a profile, and in words what the profile took away."""

    spec: Spec
    profile: str
    reductions: tuple[str, ...]
    substitution: str | None = None
    """The dataset that stands in for the spec's own, in words."""
    basis: Literal["t-test", "distribution-free"] = "t-test"
    """What the verdicts of a sequential design shall rest on."""
    max_repeats: int | None = None
    """Repeats that a cell may get in a sequential design, where the profile says so."""
    epsilons_left_out: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By arm: those of the spec's grid that the profile does not keep. Nothing is known of a claim there."""

    @property
    def repeat_limit(self) -> int:
        """Repeats that a cell may get in a sequential design."""
        usual = 0 if self.spec.own_experiment is None else self.spec.own_experiment.repeats
        return max(usual, self.max_repeats or CEILING * usual)

    @property
    def repeat_factor(self) -> int:
        """The same as times of the spec's own repeats, rounded up."""
        usual = 1 if self.spec.own_experiment is None else self.spec.own_experiment.repeats
        return -(-self.repeat_limit // usual)

    @property
    def deviations(self) -> tuple[str, ...]:
        """Known differences from the paper, an engine other than the papers' own library included."""
        deviations = self.spec.deviations
        if self.substitution is not None:
            deviations = (self.substitution, *deviations)
        trained = self.spec.own_experiment
        if trained is None or "engine" in {a.field.split(".")[-1] for a in trained.axes.values()}:
            return deviations
        engines = dict.fromkeys(arm.training.engine for arm in trained.arms.values())
        for engine in engines:
            if engine != PAPERS_ENGINE:
                what = (ENGINES[engine].__doc__ or "").splitlines()[0].rstrip(".")
                deviations = (*deviations, f"Trained by the engine {engine!r}: {what[:1].lower()}{what[1:]}.")
        return deviations


def load_params(project: Project) -> Params:
    """Read `params.yaml`; without the file there is one profile, which reduces nothing. Raises HarnessError with file,
    line and field."""
    if not project.params.exists():
        return Params(profile=DECLARED, profiles={DECLARED: Profile()})
    document = load_document(project.params)
    check_counts(document)
    try:
        return Params.model_validate(document.data)
    except ValidationError as error:
        path, line = document.place(tuple(error.errors()[0]["loc"]))
        raise HarnessError(f"{path}:{line}: {first_fault(error).replace('.[key]', '')}") from None


def check_names(project: Project, specs: Sequence[Spec]) -> None:
    """Raises HarnessError for what a profile keeps or sets apart that no spec of the project is or has.

    `specs` are all of the project's.
    """
    if not project.params.exists():
        return
    document, params = load_document(project.params), load_params(project)
    ids = [spec.id for spec in specs]
    papers = list(dict.fromkeys(spec.paper for spec in specs))
    attacks = sorted({attack for spec in specs for attack in spec.attacks})
    for name, profile in params.profiles.items():
        asked: list[tuple[Keys, str, str, Sequence[str]]] = []
        asked += [(("papers", one), one, "paper or spec", [*papers, *ids]) for one in profile.papers]
        settings = [((), profile), *((("papers", one), own) for one, own in profile.papers.items())]
        for keys, own in settings:
            asked += [((*keys, "attacks", i), one, "attack", attacks) for i, one in enumerate(own.attacks or ())]
        for place, one, noun, known in asked:
            if one not in known:
                path, line = document.place(("profiles", name, *place))
                field = ".".join(str(key) for key in ("profiles", name, *place) if isinstance(key, str))
                near = difflib.get_close_matches(one, known, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; there is no {noun} of that name"
                raise HarnessError(f"{path}:{line}: {field}: {one!r} names no {noun}{hint}")


def choose(params: Params, name: str | None) -> tuple[str, Profile]:
    """The named profile, or the one that `params.yaml` selects. Raises HarnessError for a name that is none."""
    name = name or params.profile
    if name not in params.profiles:
        raise HarnessError(f"unknown profile {name!r}; there are: {', '.join(params.profiles)}")
    return name, params.profiles[name]


def _cap(own: int, ceiling: int | None) -> int:
    return own if ceiling is None else min(own, ceiling)


def scale(spec: Spec, name: str, profile: Profile) -> Scaled:
    """Apply a profile to a spec. Raises HarnessError where no epsilon of an arm's grid is left."""
    before = spec.own_experiment
    if before is None:  # theory, and results from elsewhere, which are what they are
        return Scaled(spec, name, ())
    basis, own = profile.basis, profile.papers.get(spec.id, profile.papers.get(spec.paper, profile))
    seed = derive_seed(before.seed, "profile", name) if profile.own_seeds else before.seed
    own_seeds, max_repeats, profile = profile.own_seeds, own.max_repeats or profile.max_repeats, own
    arms = {key: _scaled_arm(spec, name, arm, profile) for key, arm in before.arms.items()}
    after = before.model_copy(update={"arms": arms, "repeats": _cap(before.repeats, profile.repeats), "seed": seed})
    attacks, notes = {}, []
    for key, attack in spec.attacks.items():
        if profile.attacks is not None and key not in profile.attacks:
            continue  # no reduction of what is measured: claims about it are not run
        attacks[key] = attack if profile.attack_epochs is None else attack.shorten(profile.attack_epochs)
        if attacks[key] != attack:
            notes.append(f"{key}: {attacks[key].learns_for} of {attack.learns_for} epochs")
    axes = {key: value for key, value in spec.attack_axes.items() if key in attacks}
    scaled = spec.with_values(experiment=after, attacks=attacks, attack_axes=axes)
    scaled = scaled.with_seen({}) if own_seeds else scaled
    substitutions = [s for arm in before.arms.values() if (s := _substitute(arm.dataset, profile)[1]) is not None]
    substitution = " ".join(dict.fromkeys(substitutions)) or None
    reductions, left_out = (*_reductions(before, after), *notes), _epsilons_left_out(before, after)
    return Scaled(scaled, name, reductions, substitution, basis, max_repeats, left_out)


def _epsilons_left_out(before: Experiment, after: Experiment) -> dict[str, tuple[float, ...]]:
    """By arm: the epsilons of a grid that a smaller one does not have; without arms that lose none."""
    lost = {}
    for name, arm in before.arms.items():
        grid, kept = arm.privacy.epsilons, after.arms[name].privacy.epsilons
        if not isinstance(grid, Derived) and not isinstance(kept, Derived) and len(kept) < len(grid):
            lost[name] = tuple(epsilon for epsilon in grid if epsilon not in kept)
    return lost


def _scaled_arm(spec: Spec, name: str, arm: Arm, profile: Profile) -> Arm:
    grid = arm.privacy.epsilons
    if not isinstance(grid, Derived):
        grid = tuple(e for e in grid if profile.epsilons is None or e in profile.epsilons)
        if not grid:
            raise HarnessError(f"{spec.id}: profile {name!r} keeps no epsilon of the spec's grid")
    training = {
        "epochs": _cap(arm.training.epochs, profile.epochs),
        "engine": profile.engine or arm.training.engine,
    }
    pools = {key: pool.cap(profile.shadows, profile.epochs, profile.engine) for key, pool in arm.pools.items()}
    return arm.model_copy(
        update={
            "dataset": _substitute(arm.dataset, profile)[0],
            "training": arm.training.model_copy(update=training),
            "privacy": arm.privacy.model_copy(update={"epsilons": grid}),
            "pools": pools,
        }
    )


def _reductions(before: Experiment, after: Experiment) -> list[str]:
    """What the profile took away, in words; where arms differ, by the most that is left in any."""

    def largest_of_arms(experiment: Experiment, of: Callable[[Arm], int]) -> int:
        return max(of(arm) for arm in experiment.arms.values())

    counts = [("repeats", before.repeats, after.repeats)]
    measures: list[tuple[str, Callable[[Arm], int]]] = [
        ("epochs", lambda arm: arm.training.epochs),
        ("epsilons", lambda arm: 1 if isinstance(arm.privacy.epsilons, Derived) else len(arm.privacy.epsilons)),
    ]
    for pool in dict.fromkeys(pool for arm in before.arms.values() for pool in arm.pools):
        measures.append((f"shadow models ({pool})", partial(_shadows, pool)))
    counts += [(label, largest_of_arms(before, of), largest_of_arms(after, of)) for label, of in measures]
    return [f"{label} {now} of {was}" for label, was, now in counts if was != now]


def _shadows(pool: str, arm: Arm) -> int:
    return arm.pools[pool].count if pool in arm.pools else 0


def _substitute(dataset: Dataset, profile: Profile) -> tuple[Dataset, str | None]:
    """The dataset in use, and in words that it stands in for another."""
    if dataset.plugin_name() not in profile.substitute:
        return dataset, None
    kind = substitutes()[dataset.plugin_name()]
    shared = {name: getattr(dataset, name) for name in kind.model_fields if name in type(dataset).model_fields}
    shared = {k: v for k, v in shared.items() if k not in ("kind", "most_frequent")}
    stand_in = kind.model_validate(shared)
    return stand_in, f"{dataset.display} is substituted: {stand_in.display}. {(kind.__doc__ or '').splitlines()[0]}"


def as_run(scaled: Scaled, repeats: int) -> Scaled:
    """The spec with a note, where only its first `repeats` repeats have been run."""
    experiment = scaled.spec.own_experiment
    if experiment is None or repeats >= experiment.repeats:
        return scaled
    return replace(scaled, reductions=(*scaled.reductions, f"repeats {repeats} of {experiment.repeats} (run so far)"))


def note_early_stop(scaled: Scaled, open_claims: int) -> Scaled:
    """The spec with a note that a run until decided was stopped with so many claims open."""
    note = f"stopped while {open_claims} claim{'s' if open_claims > 1 else ''} asked for more repeats"
    return replace(scaled, reductions=(*scaled.reductions, note))
