"""A paper's claims, tried first on the numbers that the paper prints.

A rendering of a sentence that the paper's own numbers do not meet is a fault of the rendering, or a contradiction in
the paper. Both are to be known before anything is measured: `harness validate` refuses a claim that the printed numbers
contradict, unless it says how (`against_printed`).

The numbers are those that the claims of a spec give as printed: entries of tables, and values that a sentence names.
Each other claim of the paper in that spec is judged on a table of them, as if every repeat had given the printed
number. A part of a claim that asks for a number which is not printed is not tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.claims.combine import judge_part
from harness.claims.design import Fixed
from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.results import Part
from harness.claims.samples import Samples
from harness.claims.testing import Look
from harness.coordinates import Place, place
from harness.errors import HarnessError
from harness.spec.document import locate
from harness.spec.load import Loaded
from harness.spec.model import Spec
from harness.verdicts.evidence import evidence_of

REPEATS = 40
"""Repeats that are all taken to have given the printed number: so many that no claim is open for too few."""
LEVEL = 0.025
_Key = tuple[str, str, str, Place]
"""Arm, attack, metric and place of a printed number."""


@dataclass(frozen=True)
class Trial:
    """What a claim of a paper comes to on the numbers that the paper prints."""

    met: int
    """Number of its parts that the printed numbers meet."""
    missed: int
    """Number of its parts that they contradict."""
    parts: int

    @property
    def text(self) -> str:
        """The outcome in words."""
        tried = self.met + self.missed
        of = "" if tried == self.parts else f", in the {tried} of its {self.parts} parts that can be tried on them"
        return f"the paper's own printed numbers {'contradict' if self.missed else 'meet'} it{of}"


def try_on_printed_numbers(spec: Spec) -> dict[str, Trial]:
    """What the paper's claims on measurements come to on the numbers that other claims of the spec give as printed.

    Returns:
        Trials by the claim's id; of the claims of which at least one part can be tried.
    """
    if spec.experiment is None:
        return {}
    parts = {c.id: spec.parts(c) for c in spec.claims if not c.theory and c.origin == "paper"}
    printed = {claim: _printed_by(own) for claim, own in parts.items()}
    tables, found = dict[tuple[tuple[_Key, float], ...], Look](), dict[str, Trial]()
    for claim, own in parts.items():
        numbers: dict[_Key, float] = {}
        for other, theirs in printed.items():
            if other != claim:
                numbers = {**theirs, **numbers}
        known = {key[:2] for key in numbers}
        if not any(_asks_only_for(part, known) for part in own):
            continue
        if (key := tuple(numbers.items())) not in tables:
            tables[key] = _look_at_printed(spec, numbers)
        trial = _try(own, tables[key])
        if trial.met or trial.missed:
            found[claim] = trial
    return found


def check_printed_numbers(loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError with a line on each claim of a paper that the numbers which it prints contradict without the
    claim's word, and on each that says so and is not contradicted."""
    faults = list[str]()
    for one in loaded:
        trials = try_on_printed_numbers(one.spec)
        for index, claim in enumerate(one.spec.claims):
            trial = trials.get(claim.id)
            contradicted = trial is not None and trial.missed > 0
            if trial is not None and contradicted and not claim.against_printed:
                say = f"claim {claim.id!r}: {trial.text}; mend the rendering, or say in `against_printed` which do"
            elif claim.against_printed and not contradicted:
                say = (
                    f"claim {claim.id!r}: `against_printed` says that printed numbers contradict it; none of them does"
                )
            else:
                continue
            faults.append(f"{locate(one.document, ('claims', index))}: {say}")
    if faults:
        raise HarnessError(*faults)


def _printed_by(parts: Sequence[MeasuredClaimKind]) -> dict[_Key, float]:
    """The numbers that a claim gives as printed, of curves as they are measured."""
    return {
        (curve.arm, curve.attack, curve.metric, place({**where, **dict(curve.at)})): value
        for part in parts
        for curve, where, value in part.printed_numbers()
        if curve.minus is None and curve.times == 1 and not curve.mean_over and curve.chosen is None
    }


def _asks_only_for(part: MeasuredClaimKind, known: set[tuple[str, str]]) -> bool:
    """Whether a part compares nothing but metrics of these arms and attacks."""
    curves = [one.curve for operand in part.operands() for one in operand.expand()]
    return bool(curves) and all((curve.arm, curve.attack) in known for curve in curves)


def _look_at_printed(spec: Spec, numbers: Mapping[_Key, float]) -> Look:
    """A look at a table in which each repeat gave the printed numbers."""
    rows = [
        {"arm": arm, "attack": attack, "metric": metric, **dict(where), "value": value, "repeat": repeat}
        for (arm, attack, metric, where), value in numbers.items()
        for repeat in range(REPEATS)
    ]
    table = pd.DataFrame(rows).assign(stderr=0.0)
    evidence = evidence_of(spec, table.assign(**{axis: math.nan for axis in spec.axes if axis not in table}))
    return Look(Samples(evidence), Fixed())


def _try(parts: Sequence[MeasuredClaimKind], look: Look) -> Trial:
    outcomes = [outcome for part in parts if (outcome := _outcome(part, look)) is not None]
    return Trial(outcomes.count("reproduced"), outcomes.count("violated"), len(parts))


def _outcome(part: MeasuredClaimKind, look: Look) -> str | None:
    """What a part comes to; None where it asks for a number that is not there."""
    table = look.samples.table
    if not _is_measured(part, table):
        return None
    try:
        return judge_part(part.contrasts(table), look, Part(0, 1, LEVEL, 1)).outcome
    except HarnessError:  # a number is missing at one of the places alone
        return None


def _is_measured(part: MeasuredClaimKind, table: Measurements) -> bool:
    curves = [one.curve for operand in part.operands() for one in operand.expand()]
    return all(table.index.curve((curve.arm, curve.attack, curve.metric)) is not None for curve in curves)
