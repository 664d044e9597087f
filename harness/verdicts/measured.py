"""What claims find in a table of measurements, and how many repeats they would still need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import overload

import pandas as pd

from harness.claims.arm_facts import ArmFacts
from harness.claims.combine import judge_part
from harness.claims.contrasts import Compared
from harness.claims.design import Bounded, Design, design_of
from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import OWNER_SET
from harness.claims.results import Part, PartResult, PointResult
from harness.claims.samples import NothingToTest, Repeats, Samples
from harness.claims.sequential import (
    CEILING,
    SHARE,
    JudgeClaim,
    allocate_repeats,
    by_cell,
    is_decided,
)
from harness.claims.testing import Look
from harness.coordinates import Attacked, Cell, Place, place
from harness.errors import HarnessError
from harness.experiment.results import ResultsFile
from harness.experiment.setup import Setup
from harness.formulas.gaussian import batches_of_epoch
from harness.hashing import fingerprint
from harness.inference.estimates import FEWEST
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
    """A function that judges a claim at a look at a table, each part when it is asked for.

    It is for one table: what the parts compare is worked out once, and so is each result, by method and number of
    repeats.
    """
    parts = spec.parts(claim)
    compared: dict[int, Compared | PartResult] = {}
    known: dict[tuple[int, Design, int], PartResult] = {}

    def judge_one(index: int, look: Look) -> PartResult:
        if index not in compared:
            compared[index] = _compared_or_left_out(parts[index], spec, look.samples.table)
        key = index, look.method, look.repeats
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
    result = _judge_with_doubled_tolerance(part, compared, which, look)
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
    wider = part.doubled_tolerance() if result.outcome == "violated" else None
    if wider is None:
        return result
    again = judge_part(compared, look.with_doubled_tolerance(), which)
    if again.outcome == "violated":
        return result
    return replace(
        result.add_to_reason(unless=wider),
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


def repeats_wanted(
    scaled: Scaled,
    table: pd.DataFrame,
    alpha: float | None = None,
    samples: Samples | None = None,
    judges: dict[str, JudgeClaim] | None = None,
    cheapest: bool = False,
) -> dict[str, dict[Attacked, int]]:
    """Repeats that each cell and attack needs next, by claim; only claims that are open and need some.

    Repeats beyond the spec's are asked for only where no claim needs any within it, and while all models together stay
    within a share of the fixed design's, or where none is added to those that the table has. After that, where the
    profile asks for distribution-free verdicts, decided claims whose verdicts are not get more repeats.

    Args:
        samples: those of the table, where they are at hand.
        judges: filled with what judges each claim.
        cheapest: keep only claims expected to need at most `CHEAPEST_FACTOR` times the fewest further models.

    Raises ClaimError for a claim that cannot be judged.
    """
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    spec_repeats, axes = experiment.repeats, experiment.coordinates
    alpha = scaled.spec.level if alpha is None else alpha
    samples = samples or Samples(evidence_of(scaled.spec, table, scaled.epsilons_left_out))
    look = Look(samples, samples.table.design)
    judges = {} if judges is None else judges
    judges |= {claim.id: judge_of(claim, scaled.spec, alpha) for claim in scaled.spec.claims if not claim.theory}
    by_claim = _all_findings(scaled, look, judges)
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
    by_ranges = _all_findings(scaled, look.by(Bounded()), judges)
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


def _all_findings(scaled: Scaled, look: Look, judges: Mapping[str, JudgeClaim]) -> dict[str, list[PartResult]]:
    """The results of each claim on measurements at a look."""
    by_claim = {}
    for index, claim in enumerate(scaled.spec.claims):
        if claim.theory:
            continue
        try:
            by_claim[claim.id] = [*judges[claim.id](look)]
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return by_claim
