"""The runs behind a claim, each by itself: what each gave at the place that decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.claims.contrasts import Contrast, Right, WeightedSum
from harness.claims.operands import OWNER_SET, MetricSeries
from harness.claims.testing import Look
from harness.claims.verdict import Point, Verdict
from harness.coordinates import Level
from harness.errors import HarnessError
from harness.inference import MeanEstimate
from harness.report.places import where_words
from harness.report.prose import deciding_point
from harness.report.sides import curve_with_article
from harness.report.vocabulary import figure
from harness.spec.model import Spec

APART, RUNS, FEWEST, SHARE = 0.4, 20, 5, 0.1
"""Two groups of at least twenty runs are told apart where nothing lies in two fifths of what they span, and each has at
least five runs and a tenth of all. Of samples of twenty from a uniform distribution about one in a thousand is so."""


@dataclass(frozen=True)
class SingleRuns:
    """The numbers of all runs at one place."""

    of: str
    """What they are of, in words, with the place."""
    values: tuple[float, ...]
    """One a run, in the order of repeats."""

    @property
    def groups(self) -> str:
        """Where the runs fall into two groups that are far apart: how many are in which, in a sentence."""
        ordered = sorted(self.values)
        if len(ordered) < RUNS or ordered[0] == ordered[-1]:
            return ""
        gaps = [b - a for a, b in pairwise(ordered)]
        below = gaps.index(max(gaps)) + 1
        least = min(below, len(ordered) - below)
        if max(gaps) < APART * (ordered[-1] - ordered[0]) or least < max(FEWEST, SHARE * len(ordered)):
            return ""
        low, high = ordered[:below], ordered[below:]
        return (
            f"The runs fall into two groups: {len(low)} of {len(ordered)} from {figure(low[0])} to {figure(low[-1])}, "
            f"{len(high)} from {figure(high[0])} to {figure(high[-1])}, and none between; a mean describes neither."
        )


def single_runs(look: Look, verdicts: Sequence[Verdict], spec: Spec) -> dict[str, SingleRuns]:
    """By claim that compares numbers: those of all runs at the place that decides it; without claims whose number is of
    several runs together."""
    found = {}
    claims = {f"{spec.id}#{c.id}": c for c in spec.claims if not c.theory}
    for verdict in verdicts:
        point = deciding_point(verdict)
        if verdict.id not in claims or point is None:
            continue
        part = spec.parts(claims[verdict.id])[point.expectation]
        if len(part.patterns()) != 1:
            continue
        (pattern,) = part.patterns()
        try:
            estimate, is_difference = estimate_of_runs(look, pattern.left, pattern.right, point)
        except HarnessError:  # the place is chosen by other runs than there are
            continue
        if estimate.repeat_values is None:
            continue
        subject = curve_with_article(pattern.left, spec)
        if is_difference and isinstance(pattern.right, MetricSeries):
            subject = f"{subject}, less {curve_with_article(pattern.right, spec)}"
        where = where_words(point, part, spec.axes)
        text = f"{subject}{f', {where}' if where else ''}"
        found[verdict.id] = SingleRuns(text[:1].upper() + text[1:], tuple(map(float, estimate.repeat_values)))
    return found


def estimate_of_runs(
    look: Look, left: MetricSeries, right: Right | WeightedSum, point: Point
) -> tuple[MeanEstimate, bool]:
    """What all runs say at a point of a claim, and whether it is of the difference of two measured sides.

    Raises HarnessError where nothing was measured there.
    """
    where = place_of_point(look, left, point)
    owner_set = float(point.at[OWNER_SET]) if point.at and OWNER_SET in point.at else None
    sample = look.samples.of_contrast(Contrast(left, right, where, ">", 0.0, owner_set=owner_set))
    if isinstance(right, MetricSeries):
        return sample.gap(sample.left, look.method, look.first)[1], True
    return sample.left.mean(look.method, look.first), False


def place_of_point(look: Look, left: MetricSeries, point: Point) -> Mapping[str, Level]:
    """The values of axes at a point, without noise where it names no epsilon."""
    where: dict[str, Level] = {name: value for name, value in (point.at or {}).items() if name != OWNER_SET}
    if point.epsilon is not None:
        where["epsilon"] = point.epsilon
    elif "epsilon" in look.samples.table.axes_of(left):
        where["epsilon"] = math.inf
    return where
