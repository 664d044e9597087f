"""What every stage is told: the project, the profile, the workers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from harness.paths import Project, path_below
from harness.progress import Progress
from harness.spec.document import from_here
from harness.spec.load import Loaded, spec_id
from harness.spec.profile import Profile, Scaled, scale

OWN = "own"
"""Where specs outside of `specs/` keep their results: they belong to no profile, and are run as declared."""


@dataclass(frozen=True)
class Context:
    """What every stage is told."""

    project: Project
    profile_name: str
    profile: Profile
    workers: int
    progress: Progress
    scheduler: str | None = None
    """Address of a Dask scheduler; None: local processes."""
    own: str | None = None
    """Id of the spec outside of `specs/` that is run by itself, as declared."""
    until_decided: bool = False
    """Add repeats until claims are decided, whatever the profile says."""
    max_repeats: int | None = None
    """Repeats that a cell may get where an open claim needs them; None: as many as the profile says."""
    deadline: float | None = None
    """In the seconds of `time.monotonic`: after it nothing is begun."""

    @property
    def is_sequential(self) -> bool:
        """Whether repeats are added until claims are decided."""
        return self.until_decided or self.profile.design == "sequential"

    def repeat_factor(self, loaded: Loaded) -> int:
        """How many times a spec's repeats a cell may get: 1 in the fixed design."""
        return self.scale(loaded).repeat_factor if self.is_sequential else 1

    def scale(self, loaded: Loaded) -> Scaled:
        """A spec under the chosen profile."""
        scaled = scale(loaded.spec, self.profile_name, self.profile)
        return scaled if self.max_repeats is None else replace(scaled, max_repeats=self.max_repeats)

    def command(self, verb: str, loaded: Loaded, *options: str) -> str:
        """The command line that runs a verb on a spec, as typed in the user's folder. A spec outside of `specs/` is
        named by its file, from the project's root where it is not in that folder, and without a profile."""
        path = loaded.raw.files[0]
        if self.own is not None:
            here = from_here(path)
            typed = path_below(self.project.root, path) if here.is_absolute() else str(here)
            typed = f"./{typed}" if typed.startswith("-") else typed  # which is no option
            return shlex.join(["harness", verb, *options, typed])
        return shlex.join(["harness", verb, "--profile", self.profile_name, *options, spec_id(self.project, path)])

    @property
    def resolved_folder(self) -> Path:
        """Where the specs lie as they are run; in git, of a profile whose tables are."""
        if self.profile.from_tables:
            return self.project.root / "flagship" / "resolved"
        return self.project.models / self.profile_name / "resolved"

    def models_file(self, spec_id: str) -> Path:
        return self.project.models / self.profile_name / f"{spec_id}.parquet"

    @property
    def page(self) -> Path:
        """Where the page of the profile lies; an own spec has one for itself."""
        root = self.project.reports / self.profile_name
        return root if self.own is None else root / self.own

    def folder(self, spec_id: str) -> Path:
        return self.project.reports / self.profile_name / spec_id

    def measurements_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "measurements.parquet"

    def verdicts_file(self, spec_id: str) -> Path:
        return self.folder(spec_id) / "verdicts.json"
