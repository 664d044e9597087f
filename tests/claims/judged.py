"""Expectations judged on made-up tables: what tests of claims share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from harness.claims.arm_facts import ArmFacts
from harness.claims.combine import combine, judge_part
from harness.claims.contrasts import Comparisons, needed_points
from harness.claims.declared import NameScope
from harness.claims.design import Design
from harness.claims.evidence import Measurements
from harness.claims.operands import PointQuantifier
from harness.claims.results import Part, PartResult, PointResult
from harness.claims.samples import Samples
from harness.claims.testing import Look
from harness.claims.verdict import Point
from harness.coordinates import Attacked, Cell
from harness.inference.estimates import MeanEstimate
from harness.inference.t_test import Estimate
from harness.metrics import metrics_of
from harness.spec.claim import AnyExpectation
from harness.verdicts.bounds import bounds_at

PARSE = TypeAdapter(AnyExpectation).validate_python
DELTA = 1e-5
EPSILON = ("epsilon",)


class TableEvidence(Measurements):
    """Evidence that remembers what it was made of."""

    def __init__(self, frame: pd.DataFrame, design: Design | None, axes: tuple[str, ...]) -> None:
        own = [axis for axis in axes if frame.loc[frame["attack"] == "", axis].notna().any() or axis == "epsilon"]
        super().__init__(frame, {arm: ArmFacts(DELTA) for arm in frame["arm"].unique()}, design, axes, own)
        self.frame = frame


def evidence_of(frame: pd.DataFrame, design: Design | None = None, axes: tuple[str, ...] = EPSILON) -> TableEvidence:
    """The table, of arms about which nothing else is known."""
    return TableEvidence(frame, design, axes)


def declared_by(frame: pd.DataFrame, axes: tuple[str, ...] = EPSILON) -> NameScope:
    """A declaration that has everything that a table has."""
    levels = {axis: tuple(frame[axis].dropna().unique()) for axis in axes}
    attacks = {a: metrics_of("attack") for a in frame["attack"].unique() if a}
    return NameScope(dict.fromkeys(frame["arm"].unique(), levels), attacks, frozenset(attacks), None, True)


def parts_of(expectation: Any, evidence: TableEvidence) -> list[Any]:
    """What an expectation comes to."""
    result = PARSE(expectation) if isinstance(expectation, dict) else expectation
    return list(result.parts(declared_by(evidence.frame, evidence.axes)))


def judge(expectation: Any, evidence: Any, alpha: float = 0.05, index: int = 0, parts: int = 1) -> PartResult:
    """Judge it on a table, on evidence, or at a look at one, as one of several parts of a claim."""
    look = look_at(evidence)
    assert isinstance(look.samples.table, TableEvidence)
    (part,) = parts_of(expectation, look.samples.table)
    return judge_one(part, look, Part(index, parts, alpha / 2))


def judge_one(part: Any, evidence: Any, which: Part) -> PartResult:
    """Judge one part of a claim on a table, on evidence, or at a look at one."""
    look = look_at(evidence)
    return judge_part(part.contrasts(look.samples.table), look, which)


def look_at(evidence: Any) -> Look:
    """A look at all repeats of a table, or of evidence, by the method that its design says; a look is one."""
    if isinstance(evidence, Look):
        return evidence
    known = evidence if isinstance(evidence, Measurements) else evidence_of(evidence)
    return Look(Samples(known), known.design)


def point_result(
    support: float = 1.0,
    oppose: float = 1.0,
    effect: MeanEstimate | None = None,
    left: float = 0.0,
    right: float = 0.0,
    repeats: int | None = None,
    cells: frozenset[Cell] = frozenset(),
    holds: np.ndarray | None = None,
) -> PointResult:
    """The result at a point with these p-values."""
    effect = Estimate() if effect is None else effect
    return PointResult(
        {}, left, right, effect, lambda: support, lambda: oppose, cells, effect.interval, lambda: holds, counted=repeats
    )


def combined(
    results: Sequence[PointResult], quantifier: PointQuantifier, part: Part, share: float = 1.0, absent: int = 0
) -> PartResult:
    """The outcome of a part from results at its points, of which `share` have to hold where the quantifier is that."""
    needed = needed_points(share, len(results) + absent)
    return combine(Comparisons((), "", quantifier, needed, absent), results, part, "")


def with_bounds(result: PartResult, evidence: Any) -> list[Point]:
    """The points of a result, with how they stand to bounds."""
    points = zip(result.points, result.shown_results, strict=True)
    return [point.model_copy(update=bounds_at(one, look_at(evidence))) for point, one in points]


def bounded(p_value: float, n: int) -> float:
    """A p-value of a t-test of `n` repeats, which is no smaller than the chance that all of them miss an outcome drawn
    in every third repeat, nor has to be larger than that of six that miss one drawn in every second."""
    return max(p_value, min(1 / 64, (2 / 3) ** n))


def plain(cells: dict[Attacked, int]) -> dict[tuple[str, float], int]:
    """Repeats by (arm, epsilon)."""
    return {(arm, dict(place)["epsilon"]): n for ((arm, place), _), n in cells.items()}
