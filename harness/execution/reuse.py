"""Measurements that tables hold already, by the work that they are of: a run need not do that again.

A piece of work is the same whichever version of the code does it (`Piece.work`): its seeds derive from its
coordinates. A profile may take what its tables hold as done, so a clone without the store goes on where the committed
tables stop; the table remembers by row which code measured it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from harness.attacks import ScoringAttack
from harness.attacks.attack import table_metrics
from harness.coordinates import Attacked, Cell, Place
from harness.execution.plan import CellRepeat, Piece, Plan, iterate_with_needs, sort_pieces
from harness.execution.store import Store
from harness.identity import runs_name
from harness.metrics import Value
from harness.metrics.metric import metrics_of

if TYPE_CHECKING:
    from harness.spec.model import Spec

RUNS_PER_GROUP = 5
"""The number of runs of which one says whether a member is exposed in each, or in some (jayaraman2019 trains five)."""


@dataclass
class MeasurementCache:
    """The measurements that tables hold, by the name of the work."""

    metrics: dict[str, dict[str, Value]] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    """The name of the code that measured the work."""
    cell: dict[str, str] = field(default_factory=dict)
    """The name that the work had in the store of whoever measured it."""
    borrowed: set[str] = field(default_factory=set)
    """The work that tables of other specs hold: at hand where a run asks for it, and no reason to ask."""

    def add(self, table: pd.DataFrame, wanted: Collection[str] | None = None) -> None:
        """Add what a table holds and is not known yet. A table without a column of work is ignored.

        `wanted` are the names of the work to take, for the table of another spec; None takes everything.
        """
        if not {"work", "code"} <= set(table.columns):
            return
        new = table[(table["work"] != "") & ~table["work"].isin(list(self.metrics))]
        if wanted is not None:
            new = new[new["work"].isin(list(wanted))]
            self.borrowed |= set(new["work"])
        names = ("work", "code", "cell", "metric", "value", "stderr", "n")
        for work, code, cell, metric, value, stderr, n in zip(*(new[name].tolist() for name in names), strict=True):
            self.metrics.setdefault(work, {})[metric] = Value(value, stderr, n)
            self.code[work], self.cell[work] = code, cell

    def has(self, work: str, wanted: Collection[str] = ()) -> bool:
        """Whether the work is known with all of these metrics."""
        return work in self.metrics and all(name in self.metrics[work] for name in wanted)

    def owns(self, work: str) -> bool:
        """Whether one of the spec's own tables holds the work."""
        return work in self.metrics and work not in self.borrowed


def groups_of_runs(plan: Plan, spec: Spec) -> Iterator[tuple[list[CellRepeat], str, Place]]:
    """The whole groups of runs of a plan, which are repeats on the same records, with the attack and its place."""
    if spec.own_experiment is None or spec.own_experiment.resample != "training":
        return
    size = min(RUNS_PER_GROUP, spec.own_experiment.repeats)
    if size < 2:
        return
    groups: dict[tuple[Cell, str, Place, int], list[CellRepeat]] = {}
    for cell in plan.cells:
        for name, where in cell.evaluations:
            if isinstance(spec.attacks[name], ScoringAttack):
                groups.setdefault((cell.group, name, where, cell.repeat // size), []).append(cell)
    for key, cells in groups.items():
        if len(cells) == size:
            _, name, where, _ = key
            yield cells, name, where


def known_repeats(plan: Plan, known: MeasurementCache, store: Store | None = None) -> dict[Attacked, int]:
    """The number of repeats of each cell that are known, from the first on, under each attack ("": the models' own).

    Without a `store` only what the spec's own tables hold counts, whether or not a claim still asks for it. With one,
    what the store and other specs' tables hold counts too.
    """

    def is_known(piece: Piece) -> bool:
        return known.owns(piece.work) if store is None else known.has(piece.work) or store.has(piece.kind, piece.key)

    first_unknown: dict[Attacked, int] = {}
    repeats_planned: dict[Attacked, int] = {}
    for cell in plan.cells:
        pieces = {"": [cell.split, cell.model]}
        for (name, _), piece in cell.evaluations.items():
            pieces.setdefault(name, []).append(piece)
        for name, wanted in pieces.items():
            attacked = (cell.group, name)
            repeats_planned[attacked] = max(repeats_planned.get(attacked, 0), cell.repeat + 1)
            if not all(map(is_known, wanted)):
                first_unknown[attacked] = min(cell.repeat, first_unknown.get(attacked, cell.repeat))
    return {attacked: first_unknown.get(attacked, count) for attacked, count in repeats_planned.items()}


def work_of(plan: Plan, spec: Spec) -> set[str]:
    """The names of all work that a plan's table can hold."""
    names = {
        work_of_runs([cell.evaluations[name, where] for cell in cells])
        for cells, name, where in groups_of_runs(plan, spec)
    }
    for cell in plan.cells:
        names |= {piece.work for piece in (cell.split, cell.model, *cell.evaluations.values())}
    return names


def work_of_runs(runs: Iterable[Piece]) -> str:
    """The name of the work that a group of evaluations gives together."""
    return runs_name(piece.work for piece in runs)


def pieces_to_run(plan: Plan, spec: Spec, known: MeasurementCache, metrics_needed: Collection[str] = ()) -> list[Piece]:
    """The pieces of a plan whose measurements are not known, with what they need, in an order that respects it.

    `metrics_needed` are those that claims are about; work that is known without one of them is measured again.
    """
    of_model = set(metrics_needed) & {*metrics_of("model"), *metrics_of("epochs")}
    roots: dict[str, Piece] = {}
    for cell in plan.cells:
        if not known.has(cell.split.work):
            roots[cell.split.key] = cell.split
        if not known.has(cell.model.work, of_model):
            roots[cell.model.key] = cell.model
        for (name, _), piece in cell.evaluations.items():
            if not known.has(piece.work, set(metrics_needed) & {*table_metrics(spec.attacks[name])}):
                roots[piece.key] = piece
    for cells, name, where in groups_of_runs(plan, spec):
        runs = [cell.evaluations[name, where] for cell in cells]
        if not known.has(work_of_runs(runs)):
            roots |= {piece.key: piece for piece in runs}
    wanted_pieces: dict[str, Piece] = {}
    for root in roots.values():
        for piece in iterate_with_needs(root):
            wanted_pieces.setdefault(piece.key, piece)
    return sort_pieces(wanted_pieces.values())
