"""Expectations judged on made-up tables: what tests of claims share."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from harness.claims.arm_facts import ArmFacts
from harness.claims.declared import NameScope
from harness.claims.design import Design
from harness.claims.evidence import Measurements
from harness.claims.results import Part, PartResult
from harness.coordinates import Attacked
from harness.metrics import metrics_of
from harness.spec.claim import AnyExpectation

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
    """Judge it on a table, or on evidence, as one of several parts of a claim."""
    known = evidence if isinstance(evidence, TableEvidence) else evidence_of(evidence)
    (part,) = parts_of(expectation, known)
    return part.judge(known, Part(index, parts, alpha / 2))  # type: ignore[no-any-return]


def plain(cells: dict[Attacked, int]) -> dict[tuple[str, float], int]:
    """Repeats by (arm, epsilon)."""
    return {(arm, dict(place)["epsilon"]): n for ((arm, place), _), n in cells.items()}
