"""What claims find in a table of measurements, and how many repeats they would still need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import overload

import pandas as pd

from harness.claims.arm_facts import ArmFacts
from harness.claims.design import Bounded, Design, design_of
from harness.claims.evidence import Measurements, NoneChosen
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.kinds.at_least import AtLeast
from harness.claims.results import Part, PartResult, unknown_part
from harness.claims.sequential import (
    CEILING,
    SHARE,
    JudgeClaim,
    allocate_repeats,
    by_cell,
    is_decided,
)
from harness.claims.verdict import Point
from harness.coordinates import Attacked, Cell, Place, place
from harness.errors import HarnessError
from harness.experiment.results import ResultsFile
from harness.experiment.setup import Setup
from harness.formulas.gaussian import batches_of_epoch
from harness.hashing import fingerprint
from harness.inference import FEWEST
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import Scaled
from harness.verdicts.left_out import part_left_out
from harness.verdicts.partial import repeats_of
from harness.verdicts.rates import rate_not_shown

CHEAPEST_FACTOR = 2
"""Times the fewest models that claims are expected to need: what others may need to be served beside them."""


class ClaimError(HarnessError):
    """A claim that cannot be judged as it is declared, by its place in the spec."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def evidence_of(
    spec: Spec, table: pd.DataFrame, epsilons_left_out: Mapping[str, tuple[float, ...]] | None = None
) -> Measurements:
    """A spec's measurements as claims read them, with the facts of its arms.

    `epsilons_left_out`: by arm, those of the declared grid that the profile does not run.
    """
    if spec.results is not None:
        return _evidence_of_results(spec.results, spec.axes, table)
    experiment = spec.own_experiment
    assert experiment is not None
    arms, places = {}, dict[str, dict[Place, dict[str, float]]]()
    batches = dict[str, dict[Place, tuple[int, float] | None]]()
    for variant in experiment.variants() if experiment.axes else ():
        known = {"delta": variant.setup.privacy.delta, "prior": variant.setup.prior}
        places.setdefault(variant.arm, {})[place(variant.place)] = known
        batches.setdefault(variant.arm, {})[place(variant.place)] = _batches_of(variant.setup)
    for name, arm in experiment.arms.items():
        shuffled = arm.training.sampling == "shuffle" and arm.privacy.sampling != "shuffle"
        drawn = [arm.dataset.content(), arm.preprocessing.model_dump(mode="json"), arm.sizes.model_dump(mode="json")]
        arms[name] = ArmFacts(
            delta=arm.privacy.delta,
            prior=arm.prior,
            at=places.get(name, {}),
            shuffled_epochs=arm.training.epochs if shuffled else None,
            batches=_batches_of(arm),
            batches_at=batches.get(name, {}),
            batch_clipped=arm.training.clipping == "batch",
            draws=fingerprint([*drawn, arm.split.content()]),
            epsilons_left_out=(epsilons_left_out or {}).get(name, ()),
        )
    return Measurements(table, arms, design_of(table), spec.axes, experiment.coordinates)


def _batches_of(setup: Setup) -> tuple[int, float] | None:
    """Batches of an epoch and the share of the records in one of them; None where their number varies by chance."""
    if setup.split.size_varies:
        return None
    return batches_of_epoch(setup.train_size, setup.training.batch_size)


def _evidence_of_results(results: ResultsFile, axes: Sequence[str], table: pd.DataFrame) -> Measurements:
    """The same for results from elsewhere: only what the spec says is known of the arms, nothing of training."""
    draws = "the same in all arms" if results.paired else ""
    arms = {name: ArmFacts(results.delta, results.prior_of(name), draws=draws) for name in results.arms}
    return Measurements(table, arms, design_of(table), axes, results.coordinates)


def judge_of(claim: Claim, spec: Spec, alpha: float) -> JudgeClaim:
    """A function that judges a claim on measurements, each part when it is asked for. It caches its results by design
    and number of repeats, for one table."""
    parts = spec.parts(claim)
    known: dict[tuple[int, Design, int], PartResult] = {}

    def judge_part(index: int, evidence: Measurements) -> PartResult:
        design, first = evidence.design, evidence.repeats
        if evidence.first_repeats is not None:
            first = min(first, evidence.first_repeats)
        for key in ((index, design, first), (index, design.without_intervals(False), first)):
            if key in known:
                return known[key]
        which = Part(index, len(parts), alpha / 2, design.fewest)
        known[index, design, first] = _finding(parts[index], which, spec, evidence)
        return known[index, design, first]

    return lambda evidence: _Parts(lambda index: judge_part(index, evidence), len(parts))


class _Parts(Sequence[PartResult]):
    """The results of a claim's parts, each worked out when it is asked for."""

    def __init__(self, part: Callable[[int], PartResult], count: int) -> None:
        self._part, self._count = part, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> PartResult: ...

    @overload
    def __getitem__(self, index: slice) -> list[PartResult]: ...

    def __getitem__(self, index: int | slice) -> PartResult | list[PartResult]:
        which = range(self._count)[index]
        return self._part(which) if isinstance(which, int) else [self._part(one) for one in which]


def _finding(part: MeasuredClaimKind, which: Part, spec: Spec, evidence: Measurements) -> PartResult:
    finding = part_left_out(part, spec, evidence) or rate_not_shown(part, evidence)
    if finding is None:
        try:
            finding = _judge_with_doubled_tolerance(part, evidence, which)
        except NoneChosen as none:
            finding = unknown_part(str(none))
    if finding.points and any(operand.chosen is not None for operand in part.operands()):
        why = finding.why.model_copy(update={"chosen": tuple(_choices(part, evidence))})
        finding = replace(finding, why=why)
        if not isinstance(part, AtLeast):  # whose points are of several sides
            points = tuple(p.model_copy(update={"chosen": _choices_at(p, part, evidence)}) for p in finding.points)
            finding = replace(finding, points=points)
    return replace(finding, attacks=part.attacks())


def _judge_with_doubled_tolerance(part: MeasuredClaimKind, evidence: Measurements, which: Part) -> PartResult:
    """Judge a part; it is violated only if it is so with twice its tolerance too.

    A part that is not keeps its points, with the tolerance as declared, and takes from the wider tolerance what tells
    where more repeats may decide.
    """
    finding = part.judge(evidence, which)
    wider = part.relax() if finding.outcome == "violated" else None
    if wider is None:
        return finding
    text, relaxed = wider
    again = relaxed.judge(evidence, which)
    if again.outcome == "violated":
        return finding
    return replace(
        finding,
        outcome="inconclusive",
        why=finding.why.model_copy(update={"unless": text}),
        point_results=tuple(
            replace(new, holds=old.holds) for old, new in zip(finding.point_results, again.point_results, strict=True)
        ),
        support=again.support,
        oppose=again.oppose,
        p_value=None,
    )


def _choices(part: MeasuredClaimKind, evidence: Measurements) -> list[str]:
    """Texts on the values of axes that were chosen, for sides whose place is chosen in each repeat."""
    choices = dict[str, None]()
    for operand in part.operands():
        if operand.chosen is None:
            continue
        counts: Counter[float] = Counter()
        wheres = evidence.grid([curve := operand.curve], getattr(part, "at", None))
        # What attacks vary has no part in the choice.
        by = "" if operand.chosen.arm is None else f" by {operand.chosen.arm}"
        try:
            for where in {place((a, v) for a, v in w.items() if a in evidence.cell_axes): w for w in wheres}.values():
                counts.update(evidence.choices(curve, where))
        except NoneChosen:  # of one claim of several that are counted
            choices[f"{operand.chosen.axis} chosen{by}: none"] = None
            continue
        if operand.chosen.repeats is None:
            levels = ", ".join(f"{level:g} in {n}" for level, n in sorted(counts.items()))
            choices[f"{operand.chosen.axis} chosen{by}: {levels} of {sum(counts.values())} repeats"] = None
        else:
            levels = ", ".join(f"{level:g}" for level in sorted(counts))
            choices[f"{operand.chosen.axis} chosen{by}: {levels}"] = None
    return list(choices)


def _choices_at(point: Point, part: MeasuredClaimKind, evidence: Measurements) -> dict[str, tuple[float, ...]]:
    """By axis, the values chosen in the repeats for either side of a point."""
    where = dict(point.at or {}) | ({} if point.epsilon is None else {"epsilon": point.epsilon})
    chosen: dict[str, set[float]] = {}
    for operand in part.operands():
        if operand.chosen is not None:
            chosen.setdefault(operand.chosen.axis, set()).update(evidence.choices(operand.curve, where))
    return {axis: tuple(sorted(values)) for axis, values in chosen.items()}


def repeats_wanted(
    scaled: Scaled,
    table: pd.DataFrame,
    alpha: float | None = None,
    evidence: Measurements | None = None,
    judges: dict[str, JudgeClaim] | None = None,
    cheapest: bool = False,
) -> dict[str, dict[Attacked, int]]:
    """Repeats that each cell and attack needs next, by claim; only claims that are open and need some.

    Repeats beyond the spec's are asked for only where no claim needs any within it, and while all models together stay
    within a share of the fixed design's, or where none is added to those that the table has. After that, where the
    profile asks for distribution-free verdicts, decided claims whose verdicts are not get more repeats.

    Args:
        evidence: that of the table, where it is at hand.
        judges: filled with what judges each claim.
        cheapest: keep only claims expected to need at most `CHEAPEST_FACTOR` times the fewest further models.

    Raises ClaimError for a claim that cannot be judged.
    """
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    spec_repeats, axes = experiment.repeats, experiment.coordinates
    alpha = scaled.spec.level if alpha is None else alpha
    evidence = evidence or evidence_of(scaled.spec, table, scaled.epsilons_left_out)
    judges = {} if judges is None else judges
    judges |= {claim.id: judge_of(claim, scaled.spec, alpha) for claim in scaled.spec.claims if not claim.theory}
    by_claim = _all_findings(scaled, evidence, judges)
    repeat_limit = scaled.repeat_limit
    within_spec = {
        claim: allocate_repeats(findings, alpha, spec_repeats, repeats_in_reach=repeat_limit)
        for claim, findings in by_claim.items()
    }
    cells = experiment.models() / spec_repeats
    repeats_present = by_cell(repeats_of(table, axes))

    def keep_cheapest(needs: dict[str, dict[Attacked, int]]) -> dict[str, dict[Attacked, int]]:
        needed = {claim: repeats for claim, repeats in needs.items() if repeats}
        if not cheapest or not needed:
            return needed
        repeats_to_decide = {
            c: allocate_repeats(
                by_claim[c], alpha, spec_repeats, repeat_limit, until_decision=True, repeats_in_reach=repeat_limit
            )
            for c in needed
        }
        models_missing = {
            c: max(1, _count_models(repeats_present, [repeats_to_decide[c]]) - sum(repeats_present.values()))
            for c in needed
        }
        return {
            claim: needed[claim]
            for claim in needed
            if models_missing[claim] <= CHEAPEST_FACTOR * min(models_missing.values())
        }

    if any(within_spec.values()):
        return keep_cheapest(within_spec)
    models_allowed = cells * max(
        SHARE * spec_repeats, 2 * FEWEST, SHARE * repeat_limit if repeat_limit > CEILING * spec_repeats else 0
    )
    models_present = sum(repeats_present.values())
    past_spec = {
        claim: allocate_repeats(findings, alpha, spec_repeats, repeat_limit, until_decision=True)
        for claim, findings in by_claim.items()
    }
    chosen: dict[str, dict[Attacked, int]] = {}
    for claim in sorted(past_spec, key=lambda claim: _count_models(repeats_present, [past_spec[claim]])):
        reserved = [*(past_spec[other] for other in chosen), past_spec[claim]]
        next_needs = allocate_repeats(by_claim[claim], alpha, spec_repeats, repeat_limit)
        adds_none = _count_models(repeats_present, [past_spec[claim], next_needs]) == models_present
        if past_spec[claim] and (adds_none or _count_models(repeats_present, reserved) <= models_allowed):
            chosen[claim] = next_needs
    if chosen or scaled.basis != "distribution-free":
        return keep_cheapest(chosen)
    settled = {claim for claim, findings in by_claim.items() if is_decided(findings)}
    by_ranges = _all_findings(scaled, evidence, judges, Bounded())
    at_most = min(CEILING * spec_repeats, repeat_limit)
    continued = {
        claim: allocate_repeats(by_ranges[claim], alpha, spec_repeats, at_most, only_likely=True) for claim in settled
    }
    return {claim: needs for claim, needs in continued.items() if needs}


def _count_models(repeats_present: Mapping[Cell, int], needs: list[dict[Attacked, int]]) -> int:
    """Number of models of a table once it has the repeats `repeats_present` and these needs."""
    repeats = dict(repeats_present)
    for cell, target in (item for asked in needs for item in by_cell(asked).items()):
        repeats[cell] = max(repeats.get(cell, 0), target)
    return sum(repeats.values())


def _all_findings(
    scaled: Scaled, evidence: Measurements, judges: Mapping[str, JudgeClaim], design: Design | None = None
) -> dict[str, list[PartResult]]:
    """The results of each claim on measurements at all repeats, without intervals; with a `design`, as it tests."""
    by_claim, without_intervals = {}, (evidence if design is None else evidence.with_design(design)).without_intervals()
    for index, claim in enumerate(scaled.spec.claims):
        if claim.theory:
            continue
        try:
            by_claim[claim.id] = [*judges[claim.id](without_intervals)]
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return by_claim
