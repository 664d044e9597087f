"""Do one piece of work: read what it needs from the store, compute, put the result back.

Every seed derives from the spec's root seed and the piece's coordinates, never from a counter, so
results do not depend on who computes what when.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits

from harness.execution.attack_cell import do_evaluate, do_fit
from harness.execution.materialize import do_split
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.execution.train_cell import do_train
from harness.paths import Project

_DOERS: dict[str, Callable[[Project, Store, Piece], Result]] = {
    "split": do_split,
    "train": do_train,
    "fit": do_fit,
    "evaluate": do_evaluate,
}


def run_piece(project: Project, piece: Piece) -> tuple[str, float]:
    """Compute one piece unless the store has it. Returns its key and the seconds it took (0: it was there)."""
    store = Store(project.store)
    if store.has(piece.kind, piece.key):
        return piece.key, 0.0
    started = time.perf_counter()
    with threadpool_limits(limits=1):
        result = _DOERS[piece.kind](project, store, piece)
    seconds = time.perf_counter() - started
    meta = {**result.meta, "seconds": round(seconds, 3), "needs": [n.key for n in piece.needs]}
    store.put(piece.kind, piece.key, Result(result.arrays, {**meta, "description": piece.description}))
    return piece.key, seconds
