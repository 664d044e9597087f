"""Judging or drawing many specs at once: each in a process of its own, as far as there are cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from harness.pipeline.context import Context
from harness.progress import hush
from harness.spec.load import Loaded

T = TypeVar("T")
FEW = 3
"""So many specs are judged in this process: others would be there after they are done."""


def for_each(
    stage: Callable[[Context, Loaded], T], context: Context, loaded: Sequence[Loaded], doing: str = "judging"
) -> list[T]:
    """What a stage such as `judge` finds for each spec, in the order of `loaded`, whichever process it ran in.

    The specs with the most claims go first, so that the last ones to finish are short. Raises what `stage` raises.
    """
    workers = min(context.workers, len(loaded))
    with context.progress.cells(doing, len(loaded)) as bar:
        if workers == 1 or len(loaded) <= FEW:
            found = []
            for one in loaded:
                found.append(stage(context, one))
                bar.advance(1, one.spec.id)
            return found
        longest = sorted(loaded, key=lambda one: -len(one.spec.claims))
        # Not forked: a process that has read a table has threads, and a copy of it may wait for one of them for ever.
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=hush)
        try:
            running = {pool.submit(stage, context, one): one for one in longest}
            results = {}
            for done in as_completed(running):
                one = running[done]
                results[one.spec.id] = done.result()
                bar.advance(1, one.spec.id)
        finally:
            pool.shutdown(cancel_futures=True)
        return [results[one.spec.id] for one in loaded]
