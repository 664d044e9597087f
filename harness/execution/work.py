"""Do work: read what it needs from the store, compute, put the result back.

Every seed derives from the spec's root seed and the piece's coordinates, never from a counter, so
results do not depend on who computes what when.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

from harness.errors import HarnessError
from harness.execution.attack_cell import compute_evaluation, compute_fit
from harness.execution.materialize import compute_split
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.execution.train_cell import compute_training
from harness.paths import Project

_COMPUTE: dict[str, Callable[[Project, Store, Piece], Result]] = {
    "split": compute_split,
    "fit": compute_fit,
    "evaluate": compute_evaluation,
}


def run_pieces_here(project: Project, pieces: Sequence[Piece]) -> list[tuple[str, float]]:
    """Compute in this process the pieces that the store lacks. Returns each one's key and seconds (0 where it was
    stored).

    Several pieces are models of one stack (`Piece.stack`); they share the stack's time equally.
    """
    store = Store(project.store)
    missing = [p for p in pieces if not store.has(p.kind, p.key)]
    seconds = dict.fromkeys((p.key for p in pieces), 0.0)
    if missing and missing[0].kind == "train":
        started = time.perf_counter()
        with _one_thread():
            results = compute_training(project, missing)
        share = (time.perf_counter() - started) / len(missing)
        for piece, result in zip(missing, results, strict=True):
            _keep(store, piece, result, share)
            seconds[piece.key] = share
        return list(seconds.items())
    for piece in missing:
        started = time.perf_counter()
        with _one_thread():
            try:
                result = _COMPUTE[piece.kind](project, store, piece)
            except HarnessError as error:
                error.piece = piece.key
                raise
        seconds[piece.key] = time.perf_counter() - started
        _keep(store, piece, result, seconds[piece.key])
    return list(seconds.items())


def _one_thread() -> AbstractContextManager[object]:
    """Context manager: the libraries that are loaded compute on one thread."""
    limited: AbstractContextManager[object] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _thread_pools(_: int) -> ThreadpoolController:
    """The thread pools of the libraries that are loaded, once this many modules are: to look for them takes 6 ms, as
    long as a small piece."""
    return ThreadpoolController()


def _keep(store: Store, piece: Piece, result: Result, seconds: float) -> None:
    meta = {
        **result.meta,
        "seconds": round(seconds, 3),
        "needs": [n.key for n in piece.needs],
        "arrays_sha256": result.digest,
        "description": piece.description,
    }
    store.put(piece.kind, piece.key, Result(result.arrays, meta))
