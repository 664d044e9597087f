"""Damaged results: forget them, and say so, for they are computed anew where something needs them."""

from __future__ import annotations

from collections.abc import Iterable

from harness.execution.store import Fault, Store, fault_of_record
from harness.progress import Progress


def faults_in_store(store: Store, names: Iterable[tuple[str, str]]) -> list[Fault]:
    """Which of the results of these kinds and keys are damaged, or those of another name. Each is read whole."""
    faults = []
    for kind, key in dict.fromkeys(names):
        if store.path(kind, key).is_file():
            result = store.peek(kind, key)
            if (fault := fault_of_record(kind, key, None if result is None else result.meta)) is not None:
                faults.append((kind, key, fault))
    return faults


def discard_damaged(store: Store, faults: Iterable[Fault], progress: Progress) -> list[Fault]:
    """Remove from the store what is damaged of the results that `faults` names, with a line for each. Returns what was
    removed.

    Each is looked at again: another run, or a worker, may have computed it anew meanwhile.
    """
    removed = faults_in_store(store, ((kind, key) for kind, key, _ in faults))
    for kind, key, fault in removed:
        store.remove(kind, key)
        progress.warn(f"{kind}/{key} is damaged ({fault}); it is computed anew where it is needed")
    return removed
