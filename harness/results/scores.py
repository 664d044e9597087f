"""Metrics of an attack from what it scored each record, as privacy libraries write scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.experiment import ResultsFile
from harness.metrics import METRICS, Value
from harness.metrics.answers import Answers
from harness.metrics.curves import CURVES, round_points
from harness.results.cells import BOTH_INFINITE, ResultsCells
from harness.results.places import Places


class NeedsDecisions(Exception):
    """A metric asks for an attack's decisions, which scores alone do not give."""


class ScoresAlone:
    """Scores of members and of non-members, (m,) and (n,), and no decisions."""

    def __init__(self, member_scores: Array, nonmember_scores: Array) -> None:
        self.member_scores, self.nonmember_scores = member_scores, nonmember_scores

    def __getattr__(self, name: str) -> Array:
        raise NeedsDecisions(name)


def metrics_from_scores(with_decisions: bool, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Metrics of attacks that scores give, or scores and decisions; of those `asked` for, where any are."""
    known = _metrics_known(with_decisions)
    return tuple(name for name in known if name in asked) if asked else known


@cache
def _metrics_known(with_decisions: bool) -> tuple[str, ...]:
    every = tuple(name for name, metric in METRICS.items() if metric.scope == "attack")
    return every if with_decisions else tuple(name for name in every if not _needs_decisions(name))


def _needs_decisions(metric: str) -> bool:
    try:
        METRICS[metric].function(ScoresAlone(np.arange(8.0), np.arange(8.0) - 0.5))
    except NeedsDecisions:
        return True
    return False


def read_scores(declared: ResultsFile, cells: ResultsCells, places: Places) -> pd.DataFrame:
    """Rows of measurements of each attack in each repeat. Raises ResultsFault for a cell that is wrong, and where a
    repeat lacks members or non-members."""
    score = declared.column("score")
    scores = cells.numbers(score, "columns.score", BOTH_INFINITE)
    member = cells.flags(declared.column("member"), "columns.member")
    decided = declared.column("decision") in cells.columns
    decisions = cells.flags(declared.column("decision"), "columns.decision") if decided else None
    wanted = metrics_from_scores(decided, tuple(declared.metrics))
    by = ["arm", "attack", *declared.coordinates, "repeat"]
    rows = []
    for key, where in places.frame.groupby(by, sort=False).indices.items():
        place, index = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True)), np.asarray(where)
        _check_sides(cells, place, member[index], index, declared.column("member"), places)
        answers = _answers(scores[index], member[index], None if decisions is None else decisions[index])
        for metric in wanted:
            value: Value = METRICS[metric].function(answers)
            measured = {"metric": metric, "value": value.value, "stderr": value.stderr, "n": value.n}
            rows.append({**place, **measured, "row": int(index[0])})
    return pd.DataFrame(rows)


def read_roc(declared: ResultsFile, cells: ResultsCells, places: Places) -> list[dict[str, object]]:
    """ROC curves of each attack's first repeat, as tables of measurements keep them: by arm, attack and place."""
    scores = cells.numbers(declared.column("score"), "columns.score", BOTH_INFINITE)
    member = cells.flags(declared.column("member"), "columns.member")
    frame = places.frame[places.frame["repeat"] == 0]
    by = ["arm", "attack", *declared.coordinates]
    curves: list[dict[str, object]] = []
    for key, of in frame.groupby(by, sort=True):
        own = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        inside, outside = (scores[of.index[member[of.index] == side]] for side in (True, False))
        lines = CURVES["roc"].lines({"member_scores": inside, "nonmember_scores": outside}, {})
        points = [[line.beside, line.name, round_points(line.x), round_points(line.y)] for line in lines]
        at = {name: own[name] for name in declared.coordinates}
        curves.append({"curve": "roc", "arm": own["arm"], "attack": own["attack"], "at": at, "lines": points})
    return curves


def _answers(scores: Array, member: Array, decisions: Array | None) -> Answers | ScoresAlone:
    if decisions is None:
        return ScoresAlone(scores[member], scores[~member])
    return Answers(scores[member], scores[~member], decisions[member], decisions[~member])


def _check_sides(
    cells: ResultsCells, place: dict[str, object], member: Array, rows: Array, column: str, places: Places
) -> None:
    if member.all() or not member.any():
        label = places.labels[str(place["arm"])][int(str(place["repeat"]))]
        of = f"repeat {label!r} of the arm {place['arm']!r}" if label else f"the arm {place['arm']!r}"
        has, lacks = ("members", "non-members (0)") if member.all() else ("non-members", "members (1)")
        cells.refuse(int(rows[0]), column, f"{of} has {has} alone; {lacks} are needed beside them")
