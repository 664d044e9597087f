"""A verdict in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.operands import FormulaValue, MetricSeries
from harness.claims.reasons import Reason
from harness.claims.verdict import Point, Verdict
from harness.claims.words import Word
from harness.report.entries import entries_of_points
from harness.report.found import Found, capital, provided_words, runs_text, verb
from harness.report.places import formula_words, left_interval, where_words
from harness.report.sides import curve_with_article, curve_words
from harness.report.theory_prose import theory_sentence
from harness.report.vocabulary import LETTERS, figure, figure_beside, letter, letters, metric_words, span
from harness.spec.model import Spec


def _choice_sentence(part: ClaimKind, spec: Spec) -> str:
    """A sentence on how the place of a side is chosen; empty where none is."""
    for operand in part.operands():
        if (chosen := operand.chosen) is not None:
            axis = LETTERS.get(chosen.axis, chosen.axis)
            of = metric_words(chosen.metric)
            if chosen.arm is not None and spec.experiment is not None:
                of += f" ({spec.experiment.arms[chosen.arm].label or chosen.arm})"
            how = ", in each run" if chosen.repeats is None else f", by the mean of {chosen.repeats} runs"
            return f" The chosen {axis} is the least at which the {of} is {chosen.bound}{how}."
    return ""


def deciding_point(verdict: Verdict) -> Point | None:
    """The point that the verdict's reason is about, with the interval that the verdict rests on.

    Of a claim that is open for a tolerance alone it is the point that fails with it, and not one that is open.
    """
    failing = [reason for reason in verdict.reasons if reason.found == "fails" and reason.unless]
    shown = [verdict.reasons[index] for index in verdict.because]
    if verdict.verdict == "inconclusive" and failing and not any(reason.found == "fails" for reason in shown):
        shown = failing
    place = shown[0].point if shown else None
    if place is None:
        return None
    point = verdict.numbers.points[place]
    if shown is failing:
        return point
    low, high = verdict.numbers.interval or (point.low, point.high)
    return point.model_copy(update={"low": low, "high": high})


def sentence(verdict: Verdict, spec: Spec) -> str:
    """What was found: words before numbers, both sides by name, their difference, and what the claim needs."""
    if verdict.verdict == "not run":
        return f"Not run: {verdict.reason}."
    if verdict.met_by:
        as_found = verdict.model_copy(update={"verdict": Word.REPRODUCED, "met_by": ""})
        return f"Could not have failed: it is met by {verdict.met_by}. {sentence(as_found, spec)}"
    claim = next((c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}"), None)
    if claim is None or claim.theory:
        return theory_sentence(verdict, [str(getattr(one, "relation", "")) for one in claim.theory] if claim else [])
    parts = spec.parts(claim)
    if parts and all(part.printed_entries() for part in parts):
        return _table_sentence(verdict, spec, parts)
    point = deciding_point(verdict)
    part = parts[point.expectation] if point is not None and point.expectation < len(parts) else None
    if point is None or part is None or verdict.reasons[verdict.because[0]].found == "counted":
        return _sentence_without_numbers(verdict)
    found = Found(verdict, spec, part, point)
    return found.sentence() + _choice_sentence(part, spec)


def compared_numbers(verdict: Verdict, spec: Spec) -> tuple[str, str, str] | None:
    """For a claim that compares numbers: the number with its interval, what and where it is, and what it is compared
    with.

    All at the place that decides; None for other claims.
    """
    claim = next((c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}"), None)
    point = deciding_point(verdict)
    parts = spec.parts(claim) if claim is not None and not claim.theory else ()
    part = parts[point.expectation] if point is not None and point.expectation < len(parts) else None
    if point is None or part is None or len(part.patterns()) != 1:
        return None
    (pattern,) = part.patterns()
    where = where_words(point, part, spec.axes)
    subject = curve_words(pattern.left, spec) + (f", {where}" if where else "")
    if pattern.relation == "within":
        line = f"{figure(point.right)} ± {figure(pattern.line)}"
    else:
        line = f"{letter(pattern.relation)} {figure(point.right)}"
    if isinstance(pattern.right, MetricSeries):
        line += f", {curve_with_article(pattern.right, spec)}"
    elif isinstance(pattern.right, FormulaValue):
        line += f", {formula_words(pattern.right.formula)}"
    return figure(point.left) + span(left_interval(pattern, point)), subject, line


def _table_sentence(verdict: Verdict, spec: Spec, parts: Sequence[MeasuredClaimKind]) -> str:
    """A sentence on how many entries of a printed table agree, and which is farthest off or least clear."""
    entries, point = len(verdict.numbers.points), deciding_point(verdict)
    if point is None:
        return _sentence_without_numbers(verdict)
    many = verdict.tally or ("" if entries == 1 else f"all {entries} entries are within the tolerance")
    place = verdict.reasons[verdict.because[0]].point
    part = parts[point.expectation]
    mine = [i for i, p in enumerate(verdict.numbers.points) if p.expectation == point.expectation]
    listed = entries_of_points(part, [verdict.numbers.points[i] for i in mine])
    of = curve_with_article(listed[mine.index(place)].curve, spec) if place in mine else "it"
    where = where_words(point, part, spec.axes)
    measured, printed = figure_beside(point.left, point.right), figure(point.right)
    runs = f" ({runs_text(point.repeats)})" if point.repeats > 1 else ""
    tolerance = point.effect + abs(point.left - point.right)
    one = f"{f'{where}, ' if where else ''}{of} {verb(of)} {measured}{runs}, and {printed} is printed"
    one += f" (tolerance {figure(tolerance)})" if tolerance > 0 else ""
    if verdict.verdict == "inconclusive" and point.effect >= 0 and point.low is not None and point.low < 0:
        one += ", past which the interval reaches"
    which = "" if entries == 1 else "closest to the edge: " if not verdict.tally else "for one, "
    text = "; ".join(filter(None, [many, which + one]))
    if verdict.verdict == "beside":
        return f"Compared with what the paper prints, not judged: {text}."
    return " ".join(filter(None, [provided_words(verdict), f"{capital(text)}."]))


def _sentence_without_numbers(verdict: Verdict) -> str:
    """What was found where no place decides: of counts, or in the words of the judge."""
    reasons = [verdict.reasons[index] for index in verdict.because]
    of_paper = verdict.claim.origin == "paper"
    text = letters("; ".join(_reason_words(reason, of_paper) for reason in reasons)).replace("_", " ")
    if verdict.verdict == "beside":
        return f"Compared with what the paper prints, not judged: {text}."
    more = f"{capital(verdict.tally)}." if len(set(verdict.parts)) > 1 else ""
    return " ".join(filter(None, [provided_words(verdict), f"{capital(text)}.".replace("..", "."), more]))


def _reason_words(reason: Reason, of_paper: bool) -> str:
    """Why a part came out so; of counts by the paper's print, or by the claim where it is of no paper."""
    if reason.found != "counted":
        return reason.text(effect=False)
    wrong = [one for one in reason.counts if not one.is_right]
    if not wrong:
        count = len(reason.counts)
        which = {1: "the count is", 2: "both counts are"}.get(count, f"all {count} counts are")
        return f"{which} as {'printed' if of_paper else 'claimed'}, in every run"
    texts = []
    for one in wrong:
        found = ", ".join(f"{value:,.0f}" for value in one.found) + (" and others" if one.several else "")
        says = "the paper prints" if of_paper else "the claim says"
        texts.append(f"{one.name}: {found}; {says} {one.printed:,}")
    return "; ".join(texts)


def counterexample_words(counterexample: Mapping[str, float]) -> str:
    """`ε = 0, δ = 1`, without the two sides."""
    return ", ".join(
        f"{LETTERS.get(k, k)} = {figure(v)}" for k, v in counterexample.items() if k not in ("left", "right")
    )
