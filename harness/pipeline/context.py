"""What stages are told: the project, the profile and the options of a command; and each spec as it is run there."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.paths import Project, path_below
from harness.progress import Progress
from harness.spec.declared import mark_seen, tables_of
from harness.spec.document import from_here
from harness.spec.load import Loaded, spec_id
from harness.spec.model import Spec
from harness.spec.profile import Profile, Scaled, scale
from harness.spec.readings import Reading
from harness.spec.selection import is_of_theory

OWN = "own"
"""Where specs outside of `specs/` keep their results: they belong to no profile, and are run as declared."""


@dataclass(frozen=True)
class Options:
    """What a command is told beside a profile: where to compute, how much, and until when."""

    scheduler: str | None = None
    """Address of a Dask scheduler; None: local processes."""
    until_decided: bool = False
    """Add repeats until claims are decided, whatever the profile says."""
    max_repeats: int | None = None
    """Repeats that a cell may get where an open claim needs them; None: as many as the profile says."""
    deadline: float | None = None
    """In the seconds of `time.monotonic`: after it nothing is begun."""


@dataclass(frozen=True)
class Context:
    """What every stage is told."""

    project: Project
    profile_name: str
    profile: Profile
    workers: int
    progress: Progress
    own: str | None = None
    """Id of the spec outside of `specs/` that is run by itself, as declared."""
    options: Options = field(default_factory=Options)

    @property
    def is_sequential(self) -> bool:
        """Whether repeats are added until claims are decided."""
        return self.options.until_decided or self.profile.design == "sequential"

    @property
    def resolved_folder(self) -> Path:
        """Where the specs lie as they are run; in git, of a profile whose tables are."""
        if self.profile.from_tables:
            return self.project.root / "flagship" / "resolved"
        return self.project.models / self.profile_name / "resolved"

    @property
    def page(self) -> Path:
        """Where the page of the profile lies; an own spec has one for itself."""
        root = self.project.reports / self.profile_name
        return root if self.own is None else root / self.own

    def resolve(self, loaded: Loaded) -> Run:
        """A spec as it is run in this context. Raises HarnessError where the profile keeps no epsilon of an arm."""
        scaled = scale(loaded.spec, self.profile_name, self.profile)
        if self.options.max_repeats is not None:
            scaled = replace(scaled, max_repeats=self.options.max_repeats)
        if self.profile.own_seeds:
            marked = mark_seen(self.project, loaded.spec, loaded.raw.files[0], self.profile_name)
            scaled = replace(scaled, spec=scaled.spec.with_seen(marked.seen_of_all))
        return Run(self, loaded, scaled)


@dataclass(frozen=True)
class Run:
    """A spec as it is run: what its files declare, what is left of that under a profile, and where its results lie.

    Commands make it once, at the door (`Context.resolve`); nothing below applies the profile again.
    """

    context: Context
    declared: Loaded
    """The spec as its files say it, with their lines."""
    scaled: Scaled
    """The spec under the profile, and in words what the profile took away."""

    @property
    def spec(self) -> Spec:
        """The spec under the profile."""
        return self.scaled.spec

    @property
    def id(self) -> str:
        """`paper/figure`, or how a reading and a spec outside of `specs/` are called."""
        return self.scaled.spec.id

    @property
    def is_of_theory(self) -> bool:
        """Whether nothing is measured: there is no experiment, or the run is for claims of theory alone."""
        return is_of_theory(self.declared)

    @property
    def repeat_factor(self) -> int:
        """How many times its spec's repeats a cell may get: 1 in the fixed design."""
        return self.scaled.repeat_factor if self.context.is_sequential else 1

    def resolve(self, loaded: Loaded) -> Run:
        """Another spec in the same context: a reading of this one, or this one with other claims."""
        return self.context.resolve(loaded)

    def for_claims(self, claims: Collection[str]) -> Run:
        """The same spec, to be run for some of its claims only."""
        return self.resolve(self.declared.for_claims(claims))

    def of_reading(self, reading: Reading) -> Run:
        """The same spec where the paper's silence is read differently."""
        return self.resolve(replace(self.declared, spec=reading.spec, raw=reading.raw))

    def command(self, verb: str, *options: str) -> str:
        """The command line that runs a verb on the spec, as typed in the user's folder. A spec outside of `specs/` is
        named by its file, from the project's root where it is not in that folder, and without a profile."""
        project, path = self.context.project, self.declared.raw.files[0]
        if self.context.own is not None:
            here = from_here(path)
            typed = path_below(project.root, path) if here.is_absolute() else str(here)
            typed = f"./{typed}" if typed.startswith("-") else typed  # which is no option
            return shlex.join(["harness", verb, *options, typed])
        return shlex.join(["harness", verb, "--profile", self.context.profile_name, *options, spec_id(project, path)])

    @property
    def folder(self) -> Path:
        """Where its tables and verdicts lie."""
        return self.context.project.reports / self.context.profile_name / self.id

    @property
    def models_file(self) -> Path:
        return self.context.project.models / self.context.profile_name / f"{self.id}.parquet"

    @property
    def measurements_file(self) -> Path:
        return self.folder / "measurements.parquet"

    @property
    def is_measured(self) -> bool:
        """Whether there is a table of it, under this profile or, where the seeds are the same, another."""
        profile = self.context.profile_name if self.context.profile.own_seeds else None
        return bool(tables_of(self.context.project, self.declared.spec.id, profile)) or self.measurements_file.is_file()

    @property
    def verdicts_file(self) -> Path:
        return self.folder / "verdicts.json"
