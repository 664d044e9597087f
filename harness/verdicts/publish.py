"""From what a test finds to what is said of a claim: on what it was judged, how sure it is, and what it hangs on.

The rules, which stand in docs/verdicts.md:

1. A claim on measurements that would be violated, with a doubled tolerance too (`harness.verdicts.measured`), is so
   only if every reading of what the paper leaves open says so. Else it is inconclusive, and names what it hangs on. On
   the paper's data a reading that was not run counts as one that might say otherwise. A claim that is reproduced as
   declared is inconclusive where a reading that was run contradicts it; half of each tolerance is one.
2. A printed count that does not come out refutes nothing where the paper leaves its preprocessing open.
3. Results from elsewhere are judged as they are: a paper's claim on the results that its authors published, or on
   others' as on other data. What stays open says that no repeats can be added.
4. A claim that would be reproduced, and that a control supports on which it ought to fail, could not have failed: it is
   inconclusive, and says by what else it is met (docs/severity.md).
5. On other data, on a stand-in, of a variant of a published attack (`harness.verdicts.departures`), and of another kind
   of model than the paper's, a relation agrees or differs. A printed number is set beside the measured one there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.claims.expectation import MeasuredClaimKind
from harness.claims.verdict import Controls, Data, Outcome, ReadingVerdict, RestsOn, Verdict
from harness.claims.words import Certainty, Word
from harness.controls.severity import TEXTS, is_severe
from harness.data.dataset import TableDataset
from harness.experiment.results import ResultsFile
from harness.inference.estimates import FEWEST
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import Scaled
from harness.spec.readings import AnyReading, Reading
from harness.verdicts.departures import variants_used
from harness.verdicts.partial import parts_text, time_text

DATA_THAT_SETTLES: tuple[Data, ...] = ("none", "paper", "smaller", "own", "elsewhere")
"""Where a claim is reproduced or violated."""
OPEN_BEFORE_COUNTING = ("what the paper leaves open before counting: not finding a printed count refutes nothing",)
WAITS_FOR = "it waits for "
NOT_RUN = "readings that were not run"


def data_of(claim: Claim, scaled: Scaled, used: int | None = None) -> tuple[Data, tuple[str, ...]]:
    """What a claim is judged on, and in words what there is less of than in the paper.

    `used`: repeats that a verdict rests on; None: those that the profile allows.
    """
    spec = scaled.spec
    if claim.theory:
        return ("stand-in" if any(part.on_toy for part in claim.theory) else "none"), ()
    if spec.results is not None:
        of_paper = claim.origin in ("paper", "corrected")
        return ("other" if of_paper and spec.results.whose != "paper" else "elsewhere"), ()
    trained = spec.own_experiment
    assert trained is not None
    named = dict.fromkeys(arm for part in spec.parts(claim) for arm in part.arms()) or trained.arms
    arms = [trained.arms[name] for name in named]
    datasets = [arm.dataset for arm in arms]
    if any(isinstance(one, TableDataset) and one.stands_in_for is not None for one in datasets):
        return "stand-in", ()
    if spec.paper_run is None:
        return "own", ()
    if any(one.plugin_name() not in spec.paper_run.data for one in datasets):
        return "other", ()
    allowed = trained.repeats if scaled.max_repeats is None else scaled.repeat_limit
    smaller = (*spec.paper_run.reductions(arms, allowed if used is None else min(allowed, used)),)
    variants: tuple[str, ...] = ()
    if claim.origin in ("paper", "corrected"):
        other_model = (spec.paper_run.other_model,) if spec.paper_run.other_model else ()
        variants = (*variants_used(spec, spec.parts(claim)), *other_model)
    if variants:
        return "variant", (*variants, *smaller)
    return ("smaller" if smaller else "paper"), smaller


def is_about_printed_numbers(parts: Sequence[MeasuredClaimKind]) -> bool:
    """Whether a claim is about numbers that a paper prints and nothing else."""
    return bool(parts) and all(part.is_of_printed_numbers for part in parts)


def is_about_counts(parts: Sequence[MeasuredClaimKind]) -> bool:
    """Whether a claim is about numbers of records and nothing else."""
    return all(part.is_counted for part in parts)


def reading_matters(reading: Reading, parts: Sequence[MeasuredClaimKind], spec: Spec) -> bool:
    """Whether a reading changes anything that the parts of a claim depend on."""
    path = reading.field.split(".")
    attacks = {attack for part in parts for names in part.attacks().values() for attack in names}
    if path[0] == "attacks":
        return path[1] in attacks
    if path[:2] == ["experiment", "pools"]:
        return any(spec.attacks[name].shadow_pool == path[2] for name in attacks if name)
    if path[-2:] == ["split", "shadows"] and not any(spec.attacks[name].shadow_pool for name in attacks if name):
        return False  # which records shadow models are trained on
    if path[:2] == ["experiment", "privacy"] and spec.experiment is not None:  # nothing to models without noise
        arms = {arm for part in parts for arm in part.arms()}
        return any(math.isfinite(float(e)) for arm in arms for e in spec.experiment.levels(arm).get("epsilon", ()))
    if path[:2] == ["experiment", "arms"]:
        return path[2] in {arm for part in parts for arm in part.arms()}
    return True


def publish(
    verdict: Verdict,
    claim: Claim,
    scaled: Scaled,
    readings: Sequence[tuple[AnyReading, Verdict | None]],
    seconds: float | None = None,
    controls: Controls | None = None,
) -> Verdict:
    """The verdict that is published, from what the test finds.

    Args:
        verdict: what the test finds.
        readings: the readings that matter to the claim, with what the test finds in each; None: it was not run.
        seconds: core-seconds that a model of the spec takes with all attacks on it; None: not known.
        controls: what controls say of a claim on measurements.
    """
    data, smaller = data_of(claim, scaled, verdict.numbers.repeats)
    parts = [] if claim.theory else scaled.spec.parts(claim)
    outcome: Outcome = verdict.verdict  # type: ignore[assignment]
    told_in_readings = tuple(
        ReadingVerdict(
            choice=reading.choice,
            field=reading.field,
            value=reading.value,
            verdict=word_for(other.verdict, data),  # type: ignore[arg-type]
            reason=other.reason,
            profile="" if other.profile == verdict.profile else other.profile,
        )
        for reading, other in readings
        if other is not None and other.verdict != "not run"
    )
    not_run = tuple(reading.text for reading, other in readings if not _was_run(other))
    rests_on = verdict.rests_on.model_copy(
        update={"data": data, "smaller": smaller, "readings": told_in_readings, "readings_not_run": not_run}
    )
    update: dict[str, object] = {"certainty": certainty(verdict), "rests_on": rests_on, "controls": controls}
    told_otherwise = [f"the reading {r.text} ({v.verdict})" for r, v in readings if v is not None and _contradicts(v)]
    if outcome == "reproduced" and told_otherwise:
        reason = f"reproduced as declared ({verdict.reason}), but it hangs on {'; '.join(told_otherwise)}"
        update |= {**_undecided(verdict, rests_on), "hangs_on": tuple(told_otherwise), "reason": reason}
        outcome = "inconclusive"
    if outcome == "reproduced" and controls is not None and not is_severe(controls.outcomes):
        else_met = met_by(controls)
        reason = f"it could not have failed: met by {else_met} ({verdict.reason})"
        update |= {**_undecided(verdict, rests_on), "met_by": else_met, "reason": reason}
        outcome = "inconclusive"
    if outcome == "violated" and not claim.theory:
        uncounted = claim.origin == "paper" and is_about_counts(parts)
        hangs = (
            OPEN_BEFORE_COUNTING if uncounted and scaled.spec.ambiguities else tuple(_flipping_readings(readings, data))
        )
        if hangs:
            reason = f"violated as declared ({verdict.reason}), but it hangs on {'; '.join(hangs)}"
            update |= {**_undecided(verdict, rests_on), "hangs_on": hangs, "reason": reason}
            if hangs == OPEN_BEFORE_COUNTING:
                update["would_decide"] = "a way to prepare the data that gives the printed count"
            elif not any(other is not None and other.verdict.holds for _, other in readings):
                told = [(r, other) for r, other in readings if _counts_if_not_run(data) or _was_run(other)]
                update["would_decide"] = _what_readings_take(verdict, told, scaled.spec, seconds)
            outcome = "inconclusive"
    if outcome == "inconclusive" and scaled.spec.results is not None:
        update["reason"] = f"{update.get('reason', verdict.reason)}; {_no_more_repeats(scaled.spec.results)}"
    word = word_for(outcome, data)
    if data not in DATA_THAT_SETTLES and outcome != "not run" and is_about_printed_numbers(parts):
        word = Word.BESIDE
        update |= {**_undecided(verdict, rests_on), "hangs_on": (), "would_decide": ""}
    words = tuple(word_for(part, data) for part in verdict.parts)  # type: ignore[arg-type]
    update |= {"verdict": word, "parts": words, "tally": "; ".join(filter(None, (parts_text(words), verdict.tally)))}
    return verdict.model_copy(update=update)


def met_by(controls: Controls) -> str:
    """By what else a claim is met that could not have failed, in words."""
    first = controls.outcomes[0]
    return f"{TEXTS[first.control]} in {first.supported / first.draws:.0%} of draws"


def _undecided(verdict: Verdict, rests_on: RestsOn) -> dict[str, object]:
    """Fields of a claim that is not decided after all: nothing is said of how sure it would be."""
    nothing = dict.fromkeys(("p_value", "e_value", "p_anytime", "p_by_bets", "p_catalogue", "stands", "stands_by"))
    # Without a verdict it does not matter which runs it would take; the numbers of those since stay so.
    unsaid = {"basis": None, "rarest": None} | ({"exploratory": False, "seen": 0} if rests_on.exploratory else {})
    return {
        "certainty": None,
        "numbers": verdict.numbers.model_copy(update=nothing),
        "rests_on": rests_on.model_copy(update=unsaid),
    }


def _what_readings_take(
    verdict: Verdict,
    read: Sequence[tuple[AnyReading, Verdict | None]],
    spec: Spec,
    seconds: float | None,
) -> str:
    """What would settle the readings that are open or were not run: a command and its cost, or what they wait for."""
    open_ = [
        f"in the reading {reading.text}, {other.would_decide or 'more models'}"
        for reading, other in read
        if other is not None and other.verdict == "inconclusive"
    ]
    reasons = ["" if other is None else other.reason for _, other in read if not _was_run(other)]
    if not reasons:
        return "; ".join(open_)
    if all(reason.startswith(WAITS_FOR) for reason in reasons):
        return "; ".join([*open_, *(reason.removeprefix(WAITS_FOR) for reason in reasons)])
    cost = ""
    if seconds is not None and verdict.numbers.models_fixed and spec.own_experiment is not None:
        models = len(reasons) * FEWEST * verdict.numbers.models_fixed // spec.own_experiment.repeats
        cost = f", at least {models:,} models, {time_text(models * seconds)} on one core"
    which = "this reading" if len(reasons) == 1 else f"these {len(reasons)} readings"
    return "; ".join([*open_, f"{which}{cost} (harness alternatives --where-violated {spec.id})"])


def _contradicts(other: Verdict) -> bool:
    return other.verdict == "violated"


def _was_run(other: Verdict | None) -> bool:
    return other is not None and other.verdict != "not run"


def _counts_if_not_run(data: Data) -> bool:
    """Whether a reading that was not run keeps a claim on such data from being violated."""
    return data in ("paper", "smaller")


def _no_more_repeats(results: ResultsFile) -> str:
    repeats = 0 if results.content_of_file is None else results.content_of_file.repeats
    return f"none can be added to {results.portable_path}, which has {repeats} repeat{'' if repeats == 1 else 's'}"


def word_for(outcome: Outcome, data: Data) -> Word:
    """The word for an outcome on such data."""
    word = Word(outcome)
    return word if data in DATA_THAT_SETTLES else word.elsewhere


def certainty(verdict: Verdict) -> Certainty | None:
    """How sure a decided verdict is, before all claims are looked at together."""
    if verdict.verdict not in ("reproduced", "violated"):
        return None
    known: dict[str | None, Certainty] = {
        "proof": Certainty.PROVED,
        "computed": Certainty.COUNTED,
        "exact": Certainty.COUNTED,
    }
    measured = Certainty.EXPLORATORY if verdict.rests_on.exploratory else Certainty.BY_ITSELF
    return known.get(verdict.rests_on.basis, measured)


def _flipping_readings(readings: Sequence[tuple[AnyReading, Verdict | None]], data: Data) -> list[str]:
    """Texts on the readings that turn a violated verdict, or might since they were not run."""
    flipping = [
        f"the reading {reading.text} ({other.verdict})"
        for reading, other in readings
        if other is not None and other.verdict not in ("violated", "not run")
    ]
    if _counts_if_not_run(data):
        unknown = [reading.text for reading, other in readings if not _was_run(other)]
        if unknown:
            flipping.append(f"{NOT_RUN}: {', '.join(unknown)}")
    return flipping
