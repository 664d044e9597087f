"""The schedule of pieces: each waits for what it needs, and models of one stack go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from harness.execution.plan import Piece

Batch = tuple[Piece, ...]
"""The pieces that a worker computes at a time: one, or models of one stack."""


class Schedule:
    """The pieces that are left to compute.

    A batch is taken, then finished, or given back where its worker died. Pieces `ahead` may be wanted later: only
    workers that would otherwise wait take them.
    """

    def __init__(self, pieces: Sequence[Piece], ahead: Sequence[Piece] = (), busy: Collection[str] = ()) -> None:
        """Take pieces in the order of a plan; `busy` are the keys of those that are being computed already."""
        self.wanted = dict.fromkeys(p.key for p in pieces)
        """The keys of pieces that are asked for and not finished."""
        self._left = {p.key: p for p in (*ahead, *pieces)}
        self._needs = {key: {n.key for n in p.needs if n.key in self._left} for key, p in self._left.items()}
        self._dependants: dict[str, list[str]] = defaultdict(list)
        for key, needs in self._needs.items():
            for need in needs:
                self._dependants[need].append(key)
        # In the plan's order, repeat by repeat; a dict keeps order and removes quickly.
        self._ready: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for key in (*self.wanted, *self._left):
            if not self._needs[key] and key not in busy:
                self._ready[key in self.wanted][key] = None

    def take(self, workers: int, ahead: bool = False) -> Batch | None:
        """The next batch, one piece or a stack of models, at most its share among the workers; None: none is ready.

        With `ahead` it is of pieces that may be wanted later.
        """
        ready = self._ready[not ahead]
        if not ready:
            return None
        first = self._left[next(iter(ready))]
        chosen = [first.key]
        if first.stack is not None:
            alike = [k for k in ready if self._left[k].stack == first.stack]
            chosen = alike[: min(first.stack.limit, -(-len(alike) // workers))]
        for key in chosen:
            del ready[key]
        return tuple(self._left[key] for key in chosen)

    def finish(self, key: str) -> Piece | None:
        """Mark a piece as done. Returns it, or None where it was not wanted.

        Pieces that waited for it alone become ready and go first: a long fit is not left to the end, when other workers
        have nothing to do.
        """
        if key not in self._left:
            return None
        freed: list[str] = []
        for dependant in self._dependants[key]:
            self._needs[dependant].discard(key)
            if not self._needs[dependant] and dependant in self._left:
                freed.append(dependant)
        self._put_first(freed)
        asked = key in self.wanted
        self.wanted.pop(key, None)
        piece = self._left.pop(key)
        return piece if asked else None

    def give_back(self, tasks: Iterable[Batch]) -> None:
        """Make batches that will not finish ready again."""
        self._put_first([p.key for task in tasks for p in task if p.key in self._left])

    def _put_first(self, keys: Sequence[str]) -> None:
        """Make pieces ready, before all that are."""
        for wanted, ready in self._ready.items():
            if first := [key for key in keys if (key in self.wanted) == wanted]:
                self._ready[wanted] = dict.fromkeys([*first, *ready])
