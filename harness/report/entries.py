"""Which entry of a printed table each point of a claim on it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.claims.contrasts import PrintedEntry
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.verdict import Point


def entries_of_points(part: MeasuredClaimKind, points: Sequence[Point]) -> list[PrintedEntry]:
    """The printed entry of each of a part's points, in their order; empty where the part is no printed table.

    A profile may leave out values of the table's axis, and these have no points.
    """
    printed = part.printed_entries()
    if not printed:
        return []
    axis = printed[0].axis
    measured_at = {p.epsilon if axis == "epsilon" else (p.at or {}).get(axis) for p in points}
    return [e for e in printed if (None if math.isinf(e.level) else e.level) in measured_at]
