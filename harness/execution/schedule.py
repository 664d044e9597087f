"""Which pieces can be computed now: each waits for what it needs, models of one stack go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from harness.execution.plan import Piece

Task = tuple[Piece, ...]


class Schedule:
    """The pieces that are left. A task is taken, then finished, or given back where its worker died."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.left = {p.key: p for p in pieces}
        self._needs = {key: {n.key for n in p.needs if n.key in self.left} for key, p in self.left.items()}
        self._dependants: dict[str, list[str]] = defaultdict(list)
        for key, needs in self._needs.items():
            for need in needs:
                self._dependants[need].append(key)
        # In the plan's order, repeat by repeat; a dict keeps order and removes quickly.
        self._ready = dict.fromkeys(key for key, needs in self._needs.items() if not needs)

    def take(self, workers: int) -> Task | None:
        """The next task: a piece, or a stack that leaves enough stacks for all workers. None: nothing is ready."""
        if not self._ready:
            return None
        first = self.left[next(iter(self._ready))]
        chosen = [first.key]
        if first.stack is not None:
            alike = [k for k in self._ready if self.left[k].stack == first.stack]
            chosen = alike[: min(first.stack.limit, -(-len(alike) // workers))]
        for key in chosen:
            del self._ready[key]
        return tuple(self.left[key] for key in chosen)

    def finish(self, key: str) -> Piece:
        """Mark a piece as done; what waited for it alone becomes ready."""
        for dependant in self._dependants[key]:
            self._needs[dependant].discard(key)
            if not self._needs[dependant] and dependant in self.left:
                self._ready[dependant] = None
        return self.left.pop(key)

    def give_back(self, tasks: Iterable[Task]) -> None:
        """Tasks that were taken and will not finish are ready again."""
        back = [p.key for task in tasks for p in task if p.key in self.left]
        self._ready = dict.fromkeys([*back, *self._ready])
