"""The curves that a spec's figure asks for: the pieces that they are of, and their points."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from harness.coordinates import Level, Place, place
from harness.execution.plan import Piece, Plan, iterate_with_needs, sort_pieces
from harness.execution.store import Store
from harness.hashing import canonical_json
from harness.identity import curve_name
from harness.metrics.curves import CURVES, Line, round_points

if TYPE_CHECKING:
    from harness.spec.model import Spec
    from harness.spec.page import Panel

ATTRIBUTE = "curves"
"""The attribute of a table of measurements that holds its curves, as JSON, since pandas copies attributes that it can
look into at each step."""


@dataclass(frozen=True)
class RequestedCurve:
    """A curve that a figure requests, of an attack on one model."""

    curve: str
    arm: str
    attack: str
    where: Place
    piece: Piece

    @property
    def key(self) -> str:
        """The name of the curve, which does not depend on the version of the code."""
        return curve_name(self.curve, self.arm, self.piece.work)


class CurvePlace(TypedDict):
    """The place at which a curve of a table was measured."""

    arm: str
    attack: str
    at: dict[str, Level]


def requested_curves(plan: Plan, spec: Spec) -> list[RequestedCurve]:
    """The curves that a spec's figure requests, each of the first repeat of its cells."""
    curves: dict[str, RequestedCurve] = {}
    for panel in spec.figure:
        for cell in plan.cells if panel.curve else ():
            if cell.repeat or (panel.arms and cell.arm not in panel.arms):
                continue
            for (attack, own), piece in cell.evaluations.items():
                where = place({**dict(cell.place), **dict(own), "epsilon": cell.epsilon})
                if attack in panel.attacks and panel.at.items() <= dict(where).items():
                    one = RequestedCurve(str(panel.curve), cell.arm, attack, where, piece)
                    curves.setdefault(one.key, one)
    return list(curves.values())


def pieces_to_draw(requested: Sequence[RequestedCurve]) -> list[Piece]:
    """The pieces that curves are drawn from, in an order that respects what each needs."""
    pieces = {piece.key: piece for request in requested for piece in iterate_with_needs(request.piece)}
    return sort_pieces(pieces.values())


def draw_curves(store: Store, requested: Sequence[RequestedCurve], known: str | None) -> str:
    """The points of curves as JSON, from the JSON `known` of an earlier table where it has them, else from the store.

    Raises MissingResults where the store lacks what they are drawn from.
    """
    before = json.loads(known) if known else {}
    curves = {}
    for request in requested:
        if request.key in before:
            curves[request.key] = before[request.key]
            continue
        fits = [store.get("fit", need.key).arrays for need in request.piece.needs if need.kind == "fit"]
        arrays = store.get("evaluate", request.piece.key).arrays
        lines = CURVES[request.curve].lines(arrays, fits[0] if fits else {})
        curves[request.key] = {
            "curve": request.curve,
            "arm": request.arm,
            "attack": request.attack,
            "at": dict(request.where),
            "code": request.piece.code,
            "lines": [[line.beside, line.name, round_points(line.x), round_points(line.y)] for line in lines],
        }
    return canonical_json(curves)


def missing_curves(requested: Sequence[RequestedCurve], known: str | None) -> list[RequestedCurve]:
    """The requested curves that `known`, the JSON of an earlier table, does not have."""
    before = json.loads(known) if known else {}
    return [request for request in requested if request.key not in before]


def lines_of_panel(table: pd.DataFrame, panel: Panel) -> Iterator[tuple[CurvePlace, list[Line]]]:
    """The curves of a table that a panel draws: the place and the lines of each."""
    for one in json.loads(table.attrs.get(ATTRIBUTE) or "{}").values():
        named = one["curve"] == panel.curve and one["attack"] in panel.attacks
        if named and (not panel.arms or one["arm"] in panel.arms) and panel.at.items() <= one["at"].items():
            yield one, [Line(name, np.array(x), np.array(y), beside) for beside, name, x, y in one["lines"]]
