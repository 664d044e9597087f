"""A plan names every piece of work that a spec needs.

    split ──► train (target) ──────────────► evaluate ──► evaluate (of another repeat, if this one is a rehearsal)
          └─► train (shadow) ──► fit attack ─┘

A piece is named by the hash of its description and of the pieces it stands on, so two specs that
need the same piece share it, and a changed claim or attack never retrains a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from harness.config import Config
from harness.coordinates import Attacked, Cell, Place
from harness.data.steps import Preparation
from harness.execution.store import Fault, Store
from harness.hashing import fingerprint
from harness.identity import KINDS, VERSIONS, Kind, coordinates, seed_of, work_name


@dataclass(frozen=True)
class StackKey:
    """The stack that models may be trained in: those of the same `key`, at most `limit` at a time."""

    key: str
    limit: int


@dataclass(frozen=True)
class Piece:
    """One piece of work: what to do, on which earlier pieces, and roughly how much it costs."""

    kind: Kind
    description: dict[str, Any]
    """The facts that name the piece (`harness.identity`), and the versions of the code by which it is done."""
    needs: tuple[Piece, ...] = ()
    cost: float = 0.0
    """The estimated core-seconds."""
    stack: StackKey | None = None
    """The stack of pieces that it may be computed in as one; None where it is computed alone."""
    settings: Mapping[str, Config] = field(default_factory=dict)
    """The configurations that the description writes down, by their keys there: nobody reads them back from it."""

    @cached_property
    def key(self) -> str:
        """The content hash that is the piece's name in the store."""
        return fingerprint([self.kind, self.description, [n.key for n in self.needs]])

    @cached_property
    def work(self) -> str:
        """The name of what is done, which does not depend on the version of the code."""
        return work_name(self.kind, self.description, (need.work for need in self.needs))

    @cached_property
    def code(self) -> str:
        """The name of the versions of the code, and of the packages it uses, of this piece and of what it needs."""
        versions = {k: v for k, v in self.description.items() if k in VERSIONS}
        return fingerprint([versions, sorted({need.code for need in self.needs})])[:12]

    @cached_property
    def coordinates(self) -> list[object]:
        """The coordinates that the seed derives from; a rehearsal, whose threshold an attack takes, is none of them."""
        return coordinates(self.description, [need.coordinates for need in self.needs if need.kind != "evaluate"])

    @property
    def root(self) -> Piece:
        """The first split of the chain of pieces that this one needs."""
        return self.needs[0].root if self.needs else self

    @property
    def seed(self) -> int:
        """The seed of the piece's own random choices."""
        return seed_of(self.root.description["seed"], self.kind, self.coordinates)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self.key == other.key

    def __getstate__(self) -> dict[str, object]:
        # Without hashes, which are cached: whoever reads the message computes them again.
        names = ("kind", "description", "needs", "cost", "stack", "settings")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class CellRepeat:
    """One repeat of one (arm, place on its axes): its coordinates, the target model and the attacks on it."""

    arm: str
    place: Place
    epsilon: float
    repeat: int
    noise_multiplier: float
    split: Piece
    target: Piece
    model: Piece
    """The piece that measures the target's own accuracy and loss."""
    evaluations: dict[tuple[str, Place], Piece] = field(default_factory=dict)
    """The pieces that attack the target, by attack, and place on its axes."""

    @property
    def group(self) -> Cell:
        """The cell of the repeat, its arm and place, which other repeats share."""
        return self.arm, self.place

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces that measure this repeat, and its target; what they need is not included."""
        return self.target, self.model, *self.evaluations.values()


@dataclass(frozen=True)
class Plan:
    """Everything that one spec at one profile needs."""

    spec_id: str
    data_sha256: str
    cells: tuple[CellRepeat, ...]
    preparations: tuple[Preparation, ...] = ()
    """The ways by which tables become features, in the order of arms."""

    def pieces(self, stage: Literal["train", "all"] = "all") -> list[Piece]:
        """The distinct pieces in an order that respects what each needs; `train` leaves attacks out."""
        wanted: dict[str, Piece] = {}
        for cell in self.cells:
            for root in cell.pieces:
                for piece in iterate_with_needs(root):
                    if stage == "all" or piece.kind in ("split", "train"):
                        wanted.setdefault(piece.key, piece)
        return sort_pieces(wanted.values())


def sort_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces in an order that respects what each needs: by kind, those that need another of their kind last."""
    return sorted(pieces, key=lambda p: (KINDS.index(p.kind), any(need.kind == p.kind for need in p.needs)))


def arms_using(plan: Plan, key: str) -> list[str]:
    """The arms that need the piece with this key."""
    arms = (
        cell.arm for cell in plan.cells if any(p.key == key for root in cell.pieces for p in iterate_with_needs(root))
    )
    return list(dict.fromkeys(arms))


def first_repeats(plan: Plan, repeats: Mapping[Attacked, int]) -> Plan:
    """The part of a plan with so many first repeats of each cell under each attack ("": of the models themselves)."""
    cells = []
    for cell in plan.cells:
        kept = {
            (name, where): piece
            for (name, where), piece in cell.evaluations.items()
            if cell.repeat < repeats.get((cell.group, name), 0)
        }
        if kept or cell.repeat < repeats.get((cell.group, ""), 0):
            cells.append(replace(cell, evaluations=kept))
    return replace(plan, cells=tuple(cells))


def faults_of_models(plan: Plan, store: Store) -> list[Fault]:
    """The faults of the models of a plan that the store lacks, or that cannot be read."""
    return store.faults((piece.kind, piece.key) for piece in plan.pieces("train") if piece.kind == "train")


def trained_repeats(plan: Plan, lacking: Collection[str]) -> Plan:
    """The part of a plan with, in each cell, the repeats 0, 1, ... before the first that needs a lacking model.

    `lacking` are keys of models.
    """
    first_lacking: dict[Cell, int] = {}
    plan = _with_rehearsals(plan, lacking)
    for cell in plan.cells:
        if not _is_trained(cell, lacking):
            first_lacking[cell.group] = min(cell.repeat, first_lacking.get(cell.group, cell.repeat))
    kept = (c for c in plan.cells if c.repeat < first_lacking.get(c.group, c.repeat + 1))
    return replace(plan, cells=tuple(kept))


def complete_repeats(plan: Plan, lacking: Collection[str]) -> Plan:
    """The part of a plan with those repeats of which no target or shadow model is lacking in any cell.

    `lacking` are keys of models.
    """
    plan = _with_rehearsals(plan, lacking)
    incomplete = {cell.repeat for cell in plan.cells if not _is_trained(cell, lacking)}
    return replace(plan, cells=tuple(cell for cell in plan.cells if cell.repeat not in incomplete))


def _with_rehearsals(plan: Plan, lacking: Collection[str]) -> Plan:
    """The plan without attacks whose rehearsal is not trained completely, of which no repeat can be measured."""

    def can_be_measured(piece: Piece) -> bool:
        return all(_is_trained_for(lacking, need) for need in piece.needs if need.kind == "evaluate")

    return replace(
        plan,
        cells=tuple(
            replace(cell, evaluations={at: piece for at, piece in cell.evaluations.items() if can_be_measured(piece)})
            for cell in plan.cells
        ),
    )


def _is_trained(cell: CellRepeat, lacking: Collection[str]) -> bool:
    """Whether neither the target of a repeat nor a shadow model of its attacks is lacking."""
    return _is_trained_for(lacking, cell.target, *cell.evaluations.values())


def _is_trained_for(lacking: Collection[str], *pieces: Piece) -> bool:
    """Whether no model that pieces need is lacking, nor a piece that is a model."""
    return not any(one.key in lacking for piece in pieces for one in iterate_with_needs(piece))


def iterate_with_needs(piece: Piece) -> Iterator[Piece]:
    """The pieces that a piece needs, directly or not, each before what needs it; then the piece. May repeat pieces."""
    for need in piece.needs:
        yield from iterate_with_needs(need)
    yield piece
