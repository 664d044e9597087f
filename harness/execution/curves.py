"""The curves that a spec's figure asks for: of which pieces they are, and their points."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from harness.coordinates import Level, Place, place
from harness.execution.plan import Piece, Plan, sort_pieces, with_needs
from harness.execution.store import Store
from harness.hashing import canonical_json
from harness.identity import curve_name
from harness.metrics.curves import CURVES, Line, round_points

if TYPE_CHECKING:
    from harness.spec.model import Spec
    from harness.spec.page import Panel

ATTRIBUTE = "curves"
"""Where a table of measurements keeps them, as JSON: pandas copies what it can look into at each step."""


@dataclass(frozen=True)
class Asked:
    """A curve of an attack on one model."""

    curve: str
    arm: str
    attack: str
    where: Place
    piece: Piece

    @property
    def key(self) -> str:
        """Names what it is of; the same whichever version of the code measured it."""
        return curve_name(self.curve, self.arm, self.piece.work)


class CurvePlace(TypedDict):
    """What a curve of a table is of."""

    arm: str
    attack: str
    at: dict[str, Level]


def curves_asked(plan: Plan, spec: Spec) -> list[Asked]:
    """The curves of a spec's figure, each of the first repeat of its cells."""
    curves: dict[str, Asked] = {}
    for panel in spec.figure:
        for cell in plan.cells if panel.curve else ():
            if cell.repeat or (panel.arms and cell.arm not in panel.arms):
                continue
            for (attack, own), piece in cell.evaluations.items():
                where = place({**dict(cell.place), **dict(own), "epsilon": cell.epsilon})
                if attack in panel.attacks and panel.at.items() <= dict(where).items():
                    one = Asked(str(panel.curve), cell.arm, attack, where, piece)
                    curves.setdefault(one.key, one)
    return list(curves.values())


def pieces_of(wanted: Sequence[Asked]) -> list[Piece]:
    """What has to be in the store to draw these, in an order that respects what each needs."""
    pieces = {piece.key: piece for one in wanted for piece in with_needs(one.piece)}
    return sort_pieces(pieces.values())


def draw_curves(store: Store, wanted: Sequence[Asked], known: str | None) -> str:
    """The points of the curves as JSON, from the store, or as an earlier table has them (`known`)."""
    before = json.loads(known) if known else {}
    curves = {}
    for one in wanted:
        if one.key in before:
            curves[one.key] = before[one.key]
            continue
        fits = [store.get("fit", need.key).arrays for need in one.piece.needs if need.kind == "fit"]
        arrays = store.get("evaluate", one.piece.key).arrays
        lines = CURVES[one.curve].lines(arrays, fits[0] if fits else {})
        curves[one.key] = {
            "curve": one.curve,
            "arm": one.arm,
            "attack": one.attack,
            "at": dict(one.where),
            "code": one.piece.code,
            "lines": [[line.beside, line.name, round_points(line.x), round_points(line.y)] for line in lines],
        }
    return canonical_json(curves)


def missing_curves(wanted: Sequence[Asked], known: str | None) -> list[Asked]:
    """Those that an earlier table does not have."""
    before = json.loads(known) if known else {}
    return [one for one in wanted if one.key not in before]


def curves_of(table: pd.DataFrame, panel: Panel) -> Iterator[tuple[CurvePlace, list[Line]]]:
    """What a table keeps of a panel's curve: what each is of (`arm`, `attack`, `at`), and its lines."""
    for one in json.loads(table.attrs.get(ATTRIBUTE) or "{}").values():
        named = one["curve"] == panel.curve and one["attack"] in panel.attacks
        if named and (not panel.arms or one["arm"] in panel.arms) and panel.at.items() <= one["at"].items():
            yield one, [Line(name, np.array(x), np.array(y), beside) for beside, name, x, y in one["lines"]]
