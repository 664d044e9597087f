"""Housekeeping keeps the store whole and small: it finds what is damaged, and what no spec asks for any more."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError
from harness.execution.names import SMALL_KINDS
from harness.execution.plan import Plan
from harness.execution.planner import make_plan
from harness.execution.store import Fault, Store, fault_of
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import Loaded
from harness.spec.model import Spec
from harness.spec.profile import Profile, scale

ABANDONED_AFTER_S = 3600.0
"""The age in seconds at which a temporary file belongs to no writer any more."""


@dataclass
class Health:
    """The number of results that were checked, and the faults that were found."""

    checked: int = 0
    faults: list[Fault] = field(default_factory=list)


def verify_results(store: Store, progress: Progress) -> Health:
    """The health of a store: every result is read whole and compared with its name and with the hash of its arrays."""
    health = Health()
    names = [(kind, key) for kind in store.kinds() for key, _ in store.files(kind)]
    with progress.cells("verify", len(names)) as bar:
        for kind, key in names:
            health.checked += 1
            fault = fault_of(kind, key, store.peek(kind, key))
            if fault is not None:
                health.faults.append((kind, key, fault))
            bar.advance()
    return health


@dataclass(frozen=True)
class Waste:
    """The files that `harness store gc` would remove."""

    unnamed: dict[str, list[tuple[str, int]]]
    """The key and size in bytes of results that no spec names, by kind."""
    abandoned: list[Path]
    """The temporary files that a killed writer left behind, and indices of earlier versions."""
    kept: int

    @property
    def bytes(self) -> int:
        """The total size in bytes of what would be removed."""
        files = sum(size for entries in self.unnamed.values() for _, size in entries)
        return files + sum(p.stat().st_size for p in self.abandoned if p.is_file())


def plans_of(project: Project, specs: Iterable[Loaded], profiles: dict[str, Profile]) -> Iterator[Plan]:
    """The plan of every spec under every profile, of as many repeats as a run until decided may take, one at a time.

    Raises HarnessError where one cannot be planned.
    """
    for loaded in specs:
        planned: list[tuple[Spec, int]] = []
        for name, profile in profiles.items():
            try:
                scaled = scale(loaded.spec, name, profile)
                one = scaled.spec, scaled.repeat_factor
                if one not in planned:  # profiles that differ only in their design
                    yield make_plan(project, *one)
                    planned.append(one)
            except HarnessError as error:
                raise HarnessError(
                    f"{loaded.spec.id} ({name}): {error}; without its plan its cells cannot be told from waste"
                ) from None


def waste(store: Store, plans: Iterable[Plan]) -> Waste:
    """The results that none of `plans` names, temporary files an hour old, and indices that earlier versions wrote."""
    named: dict[str, set[str]] = {}
    for plan in plans:
        for piece in plan.pieces():
            named.setdefault(piece.kind, set()).add(piece.key)
    unnamed: dict[str, list[tuple[str, int]]] = {}
    kept = 0
    for kind in store.kinds():
        for key, status in store.files(kind):
            if kind in SMALL_KINDS or key in named.get(kind, set()):
                kept += 1
            else:
                unnamed.setdefault(kind, []).append((key, status.st_size))
    before = time.time() - ABANDONED_AFTER_S
    abandoned = [p for p in store.root.rglob(".*.tmp") if p.is_file() and p.stat().st_mtime < before]
    abandoned += (store.root / "index").glob("*.parquet")
    return Waste(unnamed, sorted(abandoned), kept)


def remove_waste(store: Store, garbage: Waste) -> None:
    """Remove what `waste` found."""
    for kind, entries in garbage.unnamed.items():
        for key, _ in entries:
            store.remove(kind, key)
    for path in garbage.abandoned:
        path.unlink(missing_ok=True)
