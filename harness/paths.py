"""Where a project keeps things. Everything hangs off one root, the directory with `specs/`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError


@dataclass(frozen=True)
class Project:
    """The directories of one checkout (all absolute)."""

    root: Path

    @property
    def specs(self) -> Path:
        return self.root / "specs"

    @property
    def params(self) -> Path:
        return self.root / "params.yaml"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def store(self) -> Path:
        """The cell store: a cache, shared by all specs and profiles, never in git or DVC.

        Raises HarnessError where HARNESS_STORE names a file.
        """
        folder = Path(os.environ.get("HARNESS_STORE") or self.root / ".harness" / "store")
        if folder.is_file():
            raise HarnessError(f"HARNESS_STORE: {folder} is a file; name a folder, or unset it")
        return folder

    @property
    def mlflow_uri(self) -> str:
        return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{self.root / 'mlflow.db'}"


def portable_path(path: str) -> str:
    """A file's path as results hold it: as it is declared, or the file's name alone where it leads out of the folder
    that it is relative to; whoever reads results is not told where on a machine that is."""
    return path if not Path(path).is_absolute() and ".." not in Path(path).parts else Path(path).name


def path_below(root: Path, path: Path) -> str:
    """A path relative to `root`; of a file outside of it, its name."""
    path, root = path.resolve(), root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def resolve_links(path: Path) -> Path:
    """The path without links. Raises RuntimeError for links in a circle, which Python 3.13 leaves as they are; OSError
    for what cannot be looked up, ValueError for a name with a NUL."""
    found = path.resolve()
    if found.is_symlink():
        raise RuntimeError(f"Symlink loop from {str(path)!r}")
    return found


def find_project(start: Path | None = None) -> Project:
    """The nearest directory upwards from `start` that has `specs/` and `params.yaml`; where none has both, the nearest
    with a file of YAML below `specs/`.

    Raises HarnessError where there is none.
    """
    try:
        here = resolve_links(start or Path.cwd())
    except (RuntimeError, OSError) as error:
        raise HarnessError(f"{start or '.'}: no folder: {error}") from None
    with_specs = [directory for directory in (here, *here.parents) if (directory / "specs").is_dir()]
    for directory in with_specs:
        if (directory / "params.yaml").is_file():
            return Project(directory)
    for directory in with_specs:
        if next((directory / "specs").rglob("*.yaml"), None) is not None:
            return Project(directory)
    raise HarnessError(
        f"{here}: no harness project here or above (a directory with specs/); "
        "change into one, pass --project, or `harness new project FOLDER` makes one"
    )
