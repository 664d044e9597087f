"""Claims judged on the repeats that nobody had seen when they were declared, or last changed.

What had been seen before a claim was written is no test of it. A claim is judged on the repeats since; where these do
not decide it and all repeats do, its verdict is that of all and is called exploratory.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.claims.contrasts import BetweenEnds, Comparisons, Contrast, RepeatNumber, SeriesAt, leaves_of
from harness.claims.design import Design
from harness.claims.judgement import JudgeClaim, Judgement, judge_on_basis
from harness.claims.later import Seen, leave_out_seen
from harness.claims.operands import MetricSeries
from harness.claims.results import PartResult
from harness.claims.samples import Samples
from harness.claims.series import is_of_runs
from harness.claims.testing import Look
from harness.claims.whole import combined_outcome, is_decided
from harness.coordinates import Cell, Place, place
from harness.errors import HarnessError
from harness.spec.claim import Claim
from harness.spec.profile import Scaled
from harness.verdicts.evidence import look_at
from harness.verdicts.measured import judges_of

Places = frozenset[tuple[MetricSeries, Place, frozenset[Cell]]]
"""What a part of a claim compares: curves at places, with the cells that they are measured on."""


class LaterRepeats:
    """What the repeats since their declaration say of the claims of a spec."""

    def __init__(self, scaled: Scaled, table: pd.DataFrame, look: Look) -> None:
        """`table` has all repeats, and `look` is at all of them."""
        self._scaled, self._table, self._look = scaled, table, look
        self._looks: dict[int, Look | None] = {}
        self._judges: dict[tuple[int, float], dict[str, JudgeClaim]] = {}
        self._judged: dict[tuple[str, float], tuple[Judgement, Look] | None] = {}
        self._compared: dict[str, list[Places] | None] = {}

    def seen(self, claim: Claim) -> Seen:
        """What had been measured when a claim was declared, where that is on record."""
        return self._scaled.spec.seen_before(claim.id) or {}

    def seen_before(self, claim: Claim) -> int:
        """The most repeats of a place of a claim that had been measured when it was declared; where it is not on record
        as it is, all that there are."""
        seen = self._scaled.spec.seen_before(claim.id)
        if seen is None:
            return self._look.repeats
        if not seen or (every := self._places_of_all(claim)) is None:
            return 0
        return max((seen.get(cell, 0) for places in every for _, _, cells in places for cell in cells), default=0)

    def can_be_new(self, claim: Claim) -> bool:
        """Whether further repeats tell anything new of a claim of which some had been seen.

        They do not where it is not on record as it is; nor where a number is of several runs together, whose error is
        that of drawing records, which all groups of runs share.
        """
        parts = self._scaled.spec.parts(claim)
        of_runs = any(is_of_runs(metric) for part in parts for operand in part.operands() for metric in operand.metrics)
        return self._scaled.spec.seen_before(claim.id) is not None and not of_runs

    def find(self, claim: Claim, alpha: float, method: Design | None = None) -> Sequence[PartResult] | None:
        """The results of a claim's parts on the repeats since; None where these do not have all places of all
        repeats. `method`: another one than that of the table's design."""
        look = self._look_since(claim)
        try:
            return None if look is None else [*self._judge(claim, alpha)(look if method is None else look.by(method))]
        except HarnessError:  # something was not measured since
            return None

    def judge(self, claim: Claim, alpha: float) -> tuple[Judgement, Look] | None:
        """A claim judged on the repeats since; None where these do not decide it."""
        if (key := (claim.id, alpha)) not in self._judged:
            self._judged[key] = self._judge_since(claim, alpha)
        return self._judged[key]

    def _judge_since(self, claim: Claim, alpha: float) -> tuple[Judgement, Look] | None:
        look = self._look_since(claim)
        try:
            judgement = None if look is None else judge_on_basis(self._judge(claim, alpha), look, alpha)
        except HarnessError:
            return None
        return None if look is None or judgement is None or not is_decided(judgement.findings) else (judgement, look)

    def _look_since(self, claim: Claim) -> Look | None:
        """A look at the repeats since a claim was declared; None where they do not have all that it compares."""
        if not self.can_be_new(claim):
            return None
        seen = self.seen(claim)
        if id(seen) not in self._looks:
            experiment = self._scaled.spec.own_experiment
            assert experiment is not None
            later = leave_out_seen(self._table, seen, experiment.coordinates)
            self._looks[id(seen)] = look_at(self._scaled, later) if len(later) else None
        look, every = self._looks[id(seen)], self._places_of_all(claim)
        return look if look is not None and every is not None and self._places(claim, look.samples) == every else None

    def _places_of_all(self, claim: Claim) -> list[Places] | None:
        if claim.id not in self._compared:
            self._compared[claim.id] = self._places(claim, self._look.samples)
        return self._compared[claim.id]

    def _places(self, claim: Claim, samples: Samples) -> list[Places] | None:
        """What each part of a claim compares in a table, whatever the results are there; None where something of it is
        not measured. Owner sets are not told apart, which later repeats may draw in another order."""
        every = []
        try:
            for part in self._scaled.spec.parts(claim):
                compared, found = part.contrasts(samples.table), set()
                nodes = compared.of if isinstance(compared, Comparisons) else ()
                for leaf in (leaf for node in nodes for leaf in leaves_of(node)):
                    sides = _sides_of(leaf)
                    found |= {(curve, place(at), samples.cells([curve], at)) for curve, at in sides}
                every.append(frozenset(found))
        except HarnessError:
            return None
        return every

    def _judge(self, claim: Claim, alpha: float) -> JudgeClaim:
        key = id(self.seen(claim)), alpha
        if key not in self._judges:
            self._judges[key] = judges_of(self._scaled.spec, alpha)
        return self._judges[key][claim.id]


def _sides_of(leaf: Contrast | BetweenEnds | RepeatNumber) -> list[SeriesAt]:
    """The curves that a comparison is of, each with its place."""
    if isinstance(leaf, Contrast):
        return [(curve, leaf.where) for curve in leaf.curves]
    if isinstance(leaf, RepeatNumber):
        return [*leaf.places]
    return [(leaf.left, leaf.where), *leaf.ends]


def is_exact(findings: Sequence[PartResult]) -> bool:
    """Whether nothing that findings rest on varies from repeat to repeat."""
    deciding = [f for f in findings if f.outcome == combined_outcome([f.outcome for f in findings])]
    return bool(deciding) and all(f.is_exact for f in deciding)
