"""How sure one is of a verdict, in words."""

from __future__ import annotations

import math

from harness.claims.basis import basis_text
from harness.claims.verdict import Point, Verdict
from harness.claims.words import Word
from harness.controls.severity import TEXTS
from harness.report.vocabulary import figure
from harness.verdicts.multiplicity import TARGETS


def is_too_few(verdict: Verdict) -> bool:
    """Whether a claim has too few runs for any verdict."""
    return bool(verdict.because) and verdict.reasons[verdict.because[0]].found == "few"


def severity_sentence(verdict: Verdict) -> str:
    """How severe a test a claim on measurements was put to; empty for others."""
    controls = verdict.controls
    if controls is None:
        return ""
    if controls.severity is None:
        if verdict.numbers.test == "exact count":
            return "It could have failed: any other count would have failed it."
        return "No control is known on which it ought to fail."
    if is_too_few(verdict):
        reason = verdict.reasons[verdict.because[0]]
        return (
            f"Controls say nothing yet: they have as few runs as the claim, {reason.repeats}, and no verdict takes "
            f"fewer than {reason.fewest}."
        )
    met = " and ".join(f"{one.supported} of {one.draws} draws of {TEXTS[one.control]}" for one in controls.outcomes)
    few = "" if verdict.verdict != "inconclusive" or verdict.met_by else " They have as few runs as it has so far."
    return f"Controls, where it ought to fail: it is met in {met} (severity {controls.severity:.2f}).{few}"


def as_declared(verdict: Verdict) -> tuple[Word, ...]:
    """The words by which another reading says the same as the claim does as declared, whatever leaves it open."""
    if verdict.verdict == "inconclusive" and verdict.hangs_on:
        holds = all(verdict.reasons[index].found == "holds" for index in verdict.because)
        return (Word.REPRODUCED, Word.AGREES) if holds else (Word.VIOLATED, Word.DIFFERS)
    return (verdict.verdict,)


def count_readings(verdict: Verdict) -> list[tuple[int, str, str]]:
    """In how many other readings a claim comes out as declared, is open, or comes out otherwise, in words."""
    words, same_words = [reading.verdict for reading in verdict.rests_on.readings], as_declared(verdict)
    same = sum(word in same_words for word in words)
    open_ = 0 if "inconclusive" in same_words else sum(word in ("inconclusive", "not run") for word in words)
    the_same = ("leave", "it open, too") if "inconclusive" in same_words else ("say", "the same")
    return [(same, *the_same), (open_, "leave", "it open"), (len(words) - same - open_, "say", "otherwise")]


def _readings_sentence(verdict: Verdict) -> str:
    """In how many other readings the verdict is the same, open, or another."""
    words = [reading.verdict for reading in verdict.rests_on.readings]
    if not words:
        n = len(verdict.rests_on.readings_not_run)
        return f"Of what the paper leaves open {n} other reading{' was' if n == 1 else 's were'} not run."
    told = count_readings(verdict)
    counts = [f"{n} {verb}{'s' if n == 1 else ''} {what}" for n, verb, what in told if n]
    were = "reading was" if len(words) == 1 else "readings were"
    missing = len(verdict.rests_on.readings_not_run)
    others = f" {missing} more {'was' if missing == 1 else 'were'} not run." if missing else ""
    return f"Of what the paper leaves open {len(words)} other {were} run: {', '.join(counts)}.{others}"


def _standing_sentence(verdict: Verdict) -> str:
    """Whether a verdict stands among all claims, by which test, and what is missing."""
    numbers = verdict.numbers
    if numbers.stands is None:
        return ""
    if verdict.rests_on.exploratory and not numbers.stands:
        return (
            f" Among the {numbers.claims_tested} claims tested it is not counted as standing, since it is exploratory."
        )
    among = f" Among the {numbers.claims_tested} claims tested it"
    if numbers.stands_by is not None:
        by_records = verdict.rests_on.basis == "record-sampling"
        tested = "by errors of drawing records, for the models that were trained" if by_records else "by the t-test"
        how = "by bets alone" if numbers.stands_by == "bets" else tested
        return f"{among} stands {how} at a false discovery rate of 5%."
    if numbers.p_anytime is None:
        return f"{among} does not stand at a false discovery rate of 5%."
    reached = 1 / max(numbers.p_anytime, 1e-300)
    target = TARGETS["t-test"]
    return (
        f"{among} does not stand: over all its runs 1 over its two-sided p-value is {figure(reached)}, and the target "
        f"is {target:g}."
    )


def _declared_sentence(verdict: Verdict) -> str:
    """Which runs a verdict rests on, where some had been measured before its claim was declared as it is."""
    seen = verdict.rests_on.seen
    if not seen:
        return ""
    when = f"The claim was declared, or last changed, when up to {seen} run{'' if seen == 1 else 's'} of a place"
    if verdict.rests_on.exploratory:
        return (
            f"{when} had been measured. The runs since do not decide it by themselves, so the verdict is exploratory: "
            "the claim may have been written in sight of what decides it."
        )
    return f"{when} had been measured. The verdict and its numbers are of the runs since."


def certainty_sentences(verdict: Verdict, point: Point | None) -> list[str]:
    """Sentences on how sure a verdict is."""
    sentences = []
    if point is not None and point.holds is not None and point.share is not None and verdict.verdict.holds:
        sentences.append(
            f"At the closest place it holds in {point.holds} of {point.repeats} runs, each taken by itself, and so in "
            f"at least {point.share:.0%} of all runs (97.5% sure)."
        )
    elif point is not None:
        sentences.append(f"{point.repeats} run{'s' if point.repeats != 1 else ''} at the place that decides.")
    if text := basis_text(verdict):
        if verdict.rests_on.basis in ("proof", "computed", "simulated", "exact"):
            sentences.append(
                f"It is no estimate: {text}."
                if verdict.rests_on.basis != "simulated"
                else f"It rests on simulation: {text}."
            )
        else:
            sentences.append(f"The interval is at 95%. It rests on {text}.")
    if verdict.numbers.e_value is not None and math.isfinite(verdict.numbers.e_value):
        sentences.append(
            "Its e-value, the evidence against the opposite at the look that decided, is "
            f"{figure(verdict.numbers.e_value)}.{_standing_sentence(verdict)}"
        )
    if text := _declared_sentence(verdict):
        sentences.append(text)
    if verdict.numbers.stopped is not None:
        sentences.append(f"Runs were added until it was decided, first after {verdict.numbers.stopped}.")
    if verdict.rests_on.readings or (verdict.verdict.holds and verdict.rests_on.readings_not_run):
        sentences.append(_readings_sentence(verdict))
    if verdict.tally:
        corrected = "With the correction for all comparisons" if verdict.claim.kind == "training" else "By parts"
        sentences.append(f"{corrected}: {verdict.tally}.")
    return sentences
