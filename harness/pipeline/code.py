"""The code that each stage of `dvc.yaml` rests on: what it does and all that this imports, as files and folders.

A stage is named by the modules that do its work, not by the command that starts it, and by the packages of which it
takes what a spec names. What those import follows from their source (`harness.imports`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.imports import closure, modules_within, source

PLUGINS = (
    "harness.attacks",
    "harness.auditing",
    "harness.claims.kinds",
    "harness.data.datasets",
    "harness.data.splits",
    "harness.defences",
    "harness.formulas",
    "harness.metrics",
    "harness.privacy",
    "harness.theory",
    "harness.training",
)
"""Packages of what a spec may name."""


@dataclass(frozen=True)
class StageCode:
    """Which code a stage runs."""

    roots: tuple[str, ...]
    """Modules that do its work."""
    plugin_packages: tuple[str, ...] = ()
    """Packages of which it takes what a spec names."""
    without_imports: tuple[str, ...] = ()
    """Modules that it shares with other stages: what else they import is not this stage's."""

    def modules(self) -> tuple[str, ...]:
        """Every module that the stage rests on, sorted."""
        named = (module for package in self.plugin_packages for module in modules_within(package))
        return tuple(sorted({*closure(*self.roots, *named), *self.without_imports}))


TRAINING_PLUGINS = ("harness.data.datasets", "harness.data.splits", "harness.privacy", "harness.training")
JUDGING_PLUGINS = ("harness.claims.kinds", "harness.formulas", "harness.metrics")
STAGES = {
    "fetch": StageCode(("harness.data.fetch",)),
    "resolve": StageCode(
        ("harness.spec.load", "harness.spec.resolve", "harness.spec.selection"), PLUGINS, ("harness.pipeline.compute",)
    ),
    "train": StageCode(
        ("harness.execution.planner", "harness.execution.train_cell", "harness.execution.table"),
        TRAINING_PLUGINS,
        ("harness.experiment.results", "harness.pipeline.compute"),
    ),
    "attack": StageCode(
        ("harness.execution.planner", "harness.execution.attack_cell", "harness.execution.curves"),
        ("harness.attacks", "harness.data.splits", "harness.defences", "harness.metrics", "harness.training"),
        ("harness.pipeline.compute", "harness.pipeline.tables"),
    ),
    "judge": StageCode(("harness.pipeline.judging",), JUDGING_PLUGINS),
    "theory": StageCode(
        ("harness.pipeline.judging",), ("harness.auditing", "harness.formulas", "harness.privacy", "harness.theory")
    ),
    "report": StageCode(("harness.report.build",), ("harness.report", *JUDGING_PLUGINS)),
}
"""By stage. `measure` and `readings`, of the flagship, train, attack, and ask the judge what to train next."""
STAGES["measure"] = StageCode(
    tuple(dict.fromkeys((*STAGES["train"].roots, *STAGES["attack"].roots, "harness.pipeline.compute"))),
    tuple(dict.fromkeys((*TRAINING_PLUGINS, *STAGES["attack"].plugin_packages, *JUDGING_PLUGINS))),
)
STAGES["readings"] = STAGES["measure"]


def has_code(root: Path) -> bool:
    """Whether a folder is a checkout with the code; elsewhere the harness is an installed package."""
    own, package = source(__name__), source("harness")
    return own is not None and package is not None and (root / own.relative_to(package.parent.parent)).is_file()


def paths_of(modules: tuple[str, ...]) -> list[str]:
    """The files of modules, relative to the checkout's root and sorted; a folder stands for its modules where all are
    listed."""
    files = {path for module in modules if (path := source(module)) is not None}
    package = source("harness")
    assert package is not None
    root = package.parent.parent
    return sorted(path.relative_to(root).as_posix() for path in _fold_folder(package.parent, files))


def _fold_folder(folder: Path, files: set[Path]) -> list[Path]:
    """The given files that lie in a folder: the folder itself where all of its modules are given, else its files and
    folders."""
    own = {path for path in folder.glob("*.py") if path.stat().st_size}
    parts = {
        below: _fold_folder(below, files) for below in sorted(folder.iterdir()) if (below / "__init__.py").is_file()
    }
    whole = {path for path in own if path.name != "__init__.py"} <= files
    if whole and (own or parts) and all(paths == [below] for below, paths in parts.items()):
        return [folder]
    return [*sorted(own & files), *(path for paths in parts.values() for path in paths)]
