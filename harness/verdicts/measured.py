"""What claims find in a table of measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import overload

import pandas as pd

from harness.claims.combine import judge_part
from harness.claims.contrasts import Compared
from harness.claims.design import Design
from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.judgement import JudgeClaim, hold_back_turned
from harness.claims.operands import OWNER_SET
from harness.claims.results import Part, PartResult, PointResult
from harness.claims.samples import NothingToTest, Repeats
from harness.claims.testing import Look
from harness.claims.verdict import Outcome
from harness.claims.whole import reason_text, shown_part
from harness.coordinates import place
from harness.errors import HarnessError
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import Scaled
from harness.verdicts.evidence import look_at
from harness.verdicts.left_out import part_left_out
from harness.verdicts.rates import rate_not_shown


class ClaimError(HarnessError):
    """A claim that cannot be judged as it is declared, by its place in the spec."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def judge_of(claim: Claim, spec: Spec, alpha: float) -> JudgeClaim:
    """A function that judges a claim at a look at a table, each part when it is asked for.

    It is for one table: what the parts compare is worked out once, and so is each result, by method, number of
    repeats and width of tolerances.
    """
    parts = spec.parts(claim)
    compared: dict[int, Compared | PartResult] = {}
    known: dict[tuple[int, Design, int, bool, bool], PartResult] = {}

    def judge_one(index: int, look: Look) -> PartResult:
        if index not in compared:
            compared[index] = _compared_or_left_out(parts[index], spec, look.samples.table)
        key = index, look.method, look.repeats, look.doubled, look.halved
        if key not in known:
            which = Part(index, len(parts), alpha / 2, look.method.fewest)
            known[key] = _judge(parts[index], compared[index], which, look)
        return known[key]

    return lambda look: _Parts(lambda index: judge_one(index, look), len(parts))


class _Parts(Sequence[PartResult]):
    """The results of a claim's parts, each worked out when it is asked for."""

    def __init__(self, part: Callable[[int], PartResult], count: int) -> None:
        self._part, self._count = part, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[PartResult]:
        # That of `Sequence` would take an IndexError of a part for the end.
        return map(self._part, range(self._count))

    @overload
    def __getitem__(self, index: int) -> PartResult: ...

    @overload
    def __getitem__(self, index: slice) -> list[PartResult]: ...

    def __getitem__(self, index: int | slice) -> PartResult | list[PartResult]:
        which = range(self._count)[index]
        return self._part(which) if isinstance(which, int) else [self._part(one) for one in which]


def _compared_or_left_out(part: MeasuredClaimKind, spec: Spec, table: Measurements) -> Compared | PartResult:
    """What a part compares; or its result, where the profile leaves it out or no number of runs can show it."""
    left_out = part_left_out(part, spec, table) or rate_not_shown(part, table)
    return part.contrasts(table) if left_out is None else left_out


def _judge(part: MeasuredClaimKind, compared: Compared | PartResult, which: Part, look: Look) -> PartResult:
    if isinstance(compared, PartResult):
        return replace(compared, attacks=part.attacks())
    result = hold_back_turned(_judge_with_doubled_tolerance(part, compared, which, look))
    if result.place is not None and any(operand.chosen is not None for operand in part.operands()):
        result = result.add_to_reason(chosen=tuple(_choices(part, look)))
        if not part.made_of():  # whose points are of several sides
            places = enumerate(result.shown_results)
            result = replace(result, chosen_at={index: _choices_at(one, part, look) for index, one in places})
    return replace(result, attacks=part.attacks())


def _judge_with_doubled_tolerance(part: MeasuredClaimKind, compared: Compared, which: Part, look: Look) -> PartResult:
    """Judge a part; it is violated only if it is so with twice its tolerance too.

    A part that is not keeps its points, with the tolerance as declared, and takes from the wider tolerance what tells
    where more repeats may decide.
    """
    result = judge_part(compared, look, which)
    wider = part.doubled_tolerance() if result.outcome == "violated" and not look.halved else None
    if wider is None:
        return result
    again = judge_part(compared, look.with_doubled_tolerance(), which)
    if again.outcome == "violated":
        return result
    return replace(
        result.add_to_reason(unless=wider, **({"between": True} if again.outcome == "reproduced" else {})),
        outcome="inconclusive",
        shown=result.point_results,
        point_results=tuple(
            replace(new, holds_at=old.holds_at)
            for old, new in zip(result.point_results, again.point_results, strict=True)
        ),
        support=again.support,
        oppose_at=again.oppose_at,
        p_value=None,
    )


def judge_with_half_tolerance(claim: Claim, scaled: Scaled, table: pd.DataFrame) -> tuple[Outcome, str] | None:
    """How a claim comes out on all repeats with half of each tolerance, and why; None where it has no tolerance.

    Raises HarnessError for a claim that cannot be judged.
    """
    spec = scaled.spec
    if all(part.doubled_tolerance() is None for part in spec.parts(claim)):
        return None
    look = look_at(scaled, table).with_half_tolerance()
    findings = [*judge_of(claim, spec, spec.level)(look)]
    outcome, shown = shown_part(findings)
    return outcome, reason_text(findings, outcome, shown)


def _choices(part: MeasuredClaimKind, look: Look) -> list[str]:
    """Texts on the values of axes that were chosen, for sides whose place is chosen in each repeat."""
    choices = dict[str, None]()
    samples, table = look.samples, look.samples.table
    for operand in part.operands():
        if operand.chosen is None:
            continue
        counts: Counter[float] = Counter()
        wheres = table.grid([curve := operand.curve], getattr(part, "at", None))
        # What attacks vary has no part in the choice.
        by = "" if operand.chosen.arm is None else f" by {operand.chosen.arm}"
        try:
            for where in {place((a, v) for a, v in w.items() if a in table.cell_axes): w for w in wheres}.values():
                counts.update(samples.choices(curve, where, Repeats(look.first)))
        except NothingToTest:  # of one claim of several that are counted
            choices[f"{operand.chosen.axis} chosen{by}: none"] = None
            continue
        if operand.chosen.repeats is None:
            levels = ", ".join(f"{level:g} in {n}" for level, n in sorted(counts.items()))
            choices[f"{operand.chosen.axis} chosen{by}: {levels} of {sum(counts.values())} repeats"] = None
        else:
            levels = ", ".join(f"{level:g}" for level in sorted(counts))
            choices[f"{operand.chosen.axis} chosen{by}: {levels}"] = None
    return list(choices)


def _choices_at(one: PointResult, part: MeasuredClaimKind, look: Look) -> dict[str, tuple[float, ...]]:
    """By axis, the values chosen in the repeats for either side of a point."""
    where = {name: value for name, value in one.where.items() if name != OWNER_SET}
    chosen: dict[str, set[float]] = {}
    for operand in part.operands():
        if operand.chosen is not None:
            choices = look.samples.choices(operand.curve, where, Repeats(look.first))
            chosen.setdefault(operand.chosen.axis, set()).update(choices)
    return {axis: tuple(sorted(values)) for axis, values in chosen.items()}


def judges_of(spec: Spec, alpha: float) -> dict[str, JudgeClaim]:
    """What judges each claim of a spec that is about measurements."""
    return {claim.id: judge_of(claim, spec, alpha) for claim in spec.claims if not claim.theory}


def judge_all_claims(spec: Spec, look: Look, judges: Mapping[str, JudgeClaim]) -> dict[str, list[PartResult]]:
    """The results of each claim on measurements at a look."""
    by_claim = {}
    for index, claim in enumerate(spec.claims):
        if claim.theory:
            continue
        try:
            by_claim[claim.id] = [*judges[claim.id](look)]
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return by_claim
