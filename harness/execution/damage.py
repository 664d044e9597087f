"""Damaged results are forgotten, and this is said, for they are computed anew where something needs them."""

from __future__ import annotations

from collections.abc import Iterable

from harness.execution.store import Fault, Store, fault_of_record
from harness.progress import Progress


def faults_in_store(store: Store, names: Iterable[tuple[str, str]]) -> list[Fault]:
    """The faults of the results of these kinds and keys that are damaged, or of another name. Each is read whole."""
    faults = []
    for kind, key in dict.fromkeys(names):
        if store.path(kind, key).is_file():
            result = store.peek(kind, key)
            if (fault := fault_of_record(kind, key, None if result is None else result.meta)) is not None:
                faults.append((kind, key, fault))
    return faults


def discard_damaged(store: Store, faults: Iterable[Fault], progress: Progress) -> list[Fault]:
    """Remove from the store those results that `faults` names and that are damaged, with a line for each.

    Each is looked at again: another run, or a worker, may have computed it anew meanwhile. Returns what was removed.
    """
    removed = faults_in_store(store, ((kind, key) for kind, key, _ in faults))
    for kind, key, fault in removed:
        store.remove(kind, key)
        progress.warn(f"{kind}/{key} is damaged ({fault}); it is computed anew where it is needed")
    return removed
