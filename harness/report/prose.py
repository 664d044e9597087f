"""A verdict in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.claims.contrasts import Contrast
from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.operands import AxisValue, FormulaValue, MetricSeries, Number
from harness.claims.verdict import Point, Verdict
from harness.claims.words import Word
from harness.coordinates import format_level
from harness.formulas import formula_named
from harness.report.theory_prose import place_value_text, theory_sentence
from harness.report.vocabulary import (
    LETTERS,
    attack_words,
    figure,
    letter,
    letters,
    level_words,
    metric_words,
    span,
    with_article,
)
from harness.spec.model import Spec
from harness.verdicts.counts import is_off_by_tolerances

ON_THE_LINE = ("no number of repeats", "more than 10,000 repeats")
"""How `would_decide` begins where what is left lies too close to its line."""
RELATIONS = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}


def where_words(point: Point, part: ClaimKind, axes: Sequence[str]) -> str:
    """`at ε = 5`; empty where there is only one place, or where each side has its own."""
    places = [level_words(name, value) for name, value in (point.at or {}).items()]
    for name, values in (point.chosen or {}).items():
        least, greatest = format_level(values[0]), format_level(values[-1])
        places.append(
            f"the chosen {LETTERS.get(name, name)} = {least}" + ("" if least == greatest else f" to {greatest}")
        )
    if point.epsilon is not None:
        places.insert(0, level_words("epsilon", point.epsilon))
    elif "epsilon" in axes and not _has_own_epsilon(part):
        places.insert(0, "without noise")
    text = ", ".join(places)
    return text if not text or text.startswith("without") else f"at {text}"


def _has_own_epsilon(part: ClaimKind) -> bool:
    """Whether a side has an epsilon that is fixed or chosen for it, so that points have none."""
    return any(
        (operand.chosen is not None and operand.chosen.axis == "epsilon")
        or operand.fixed_axes.get("epsilon", math.inf) != math.inf
        or "epsilon" in operand.mean_over
        for operand in part.operands()
    )


def curve_words(curve: MetricSeries, spec: Spec) -> str:
    """What a curve measures, of which attack and on what, in words."""
    name = metric_words(curve.metric)
    if curve.minus is not None:
        name = f"{name} less {metric_words(curve.minus)}"
    if curve.attack:
        name = f"{name} of {with_article(attack_words(curve.attack))}"
    arms = spec.experiment.arms if spec.experiment is not None else {}
    if len(arms) > 1 and curve.arm in arms:
        name += f" ({arms[curve.arm].label or curve.arm})"
    if curve.at:
        name += ", " + ", ".join(level_words(n, v) for n, v in curve.at)
    if curve.mean_over:
        name = f"mean over {', '.join(LETTERS.get(axis, axis) for axis in curve.mean_over)} of the {name}"
    return name if curve.times == 1 else f"{curve.times:g} × the {name}"


def curve_with_article(curve: MetricSeries, spec: Spec) -> str:
    """The same as a sentence names it: "the AUC of LiRA", or "10 × the AUC of LiRA"."""
    return f"{'the ' if curve.times == 1 else ''}{curve_words(curve, spec)}"


def _choice_sentence(part: ClaimKind, spec: Spec) -> str:
    """A sentence on how the place of a side is chosen; empty where none is."""
    for operand in part.operands():
        if (chosen := operand.chosen) is not None:
            of = metric_words(chosen.metric)
            if chosen.arm is not None and spec.experiment is not None:
                of += f" ({spec.experiment.arms[chosen.arm].label or chosen.arm})"
            how = "in each run" if chosen.repeats is None else f"by the mean of {chosen.repeats} runs, for all"
            axis = LETTERS.get(chosen.axis, chosen.axis)
            return f" Chosen {how}, as the least {axis} with {of} {chosen.bound}."
    return ""


def pattern_of(part: ClaimKind | None) -> Contrast | None:
    """What the points of a part compare, without the place, or the first of alternatives; None where that differs."""
    return part.patterns()[0] if part is not None and part.patterns() else None


def left_interval(pattern: Contrast, point: Point) -> tuple[float | None, float | None] | None:
    """The 95% interval of the left side, where the right side is not measured; None where it cannot be told."""
    if not isinstance(pattern.right, Number | FormulaValue | AxisValue):
        return None
    low, high = point.low, point.high
    if pattern.relation in (">", ">="):
        return add_bound(point.right, low), add_bound(point.right, high)
    if pattern.relation in ("<", "<="):
        return subtract_bound(point.right, high), subtract_bound(point.right, low)
    if low is not None and high is not None and high < pattern.line:
        above = point.left >= point.right
        near, far = pattern.line - high, pattern.line - low
        return (point.right + near, point.right + far) if above else (point.right - far, point.right - near)
    return None


def interval_of_left(part: ClaimKind, point: Point) -> tuple[float | None, float | None] | None:
    """The same by the part that a point is of."""
    pattern = pattern_of(part)
    return None if pattern is None else left_interval(pattern, point)


def add_bound(x: float, y: float | None) -> float | None:
    """The sum of a number and an end of an interval; None for an unbounded end."""
    return None if y is None else x + y


def subtract_bound(x: float, y: float | None) -> float | None:
    """The difference of a number and an end of an interval; None for an unbounded end."""
    return None if y is None else x - y


def deciding_point(verdict: Verdict) -> Point | None:
    """The point that the verdict's reason is about, with the interval that the verdict rests on."""
    place = verdict.reasons[verdict.because[0]].point if verdict.because else None
    if place is None:
        return None
    point = verdict.numbers.points[place]
    low, high = verdict.numbers.interval or (point.low, point.high)
    return point.model_copy(update={"low": low, "high": high})


def sentence(verdict: Verdict, spec: Spec) -> str:
    """What was found, in words before numbers, each with its uncertainty."""
    if verdict.verdict == "not run":
        return f"Not run: {verdict.reason}."
    if verdict.met_by:
        as_found = verdict.model_copy(update={"verdict": Word.REPRODUCED, "met_by": ""})
        return f"Could not have failed: met by {verdict.met_by}, too. {sentence(as_found, spec)}"
    claim = next((c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}"), None)
    if claim is None or claim.theory:
        return theory_sentence(verdict)
    parts = spec.parts(claim)
    if parts and all(part.printed_entries() for part in parts):
        return _table_sentence(verdict)
    point = deciding_point(verdict)
    part = parts[point.expectation] if point is not None and point.expectation < len(parts) else None
    if point is None or part is None or not part.patterns():
        return _bare_sentence(verdict)
    return _measured_sentence(verdict, spec, part, point) + _choice_sentence(part, spec)


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


def formula_words(name: str) -> str:
    """A formula by what it is and where it is from: `the bound of humphries2020 Theorem 3.1, Eq. (8)`."""
    formula = formula_named(name)
    return f"the {'bound' if formula.bounds is not None else 'value'} of {formula.source}"


def _table_sentence(verdict: Verdict) -> str:
    """A sentence on how many entries of a printed table agree, and which is farthest off or least clear."""
    entries, point = len(verdict.numbers.points), deciding_point(verdict)
    if point is None:
        return _bare_sentence(verdict)
    many = verdict.tally or ("" if entries == 1 else f"all {entries} entries are within the tolerance")
    places = ", ".join(
        f"{letters(name)} = {place_value_text(value)}" for name, value in verdict.reasons[verdict.because[0]].at.items()
    )
    one = f"{f'at {places} ' if places else ''}{figure(point.left)} was measured where {figure(point.right)} is printed"
    which = "" if entries == 1 else "closest to the edge, " if not verdict.tally else "for one, "
    text = "; ".join(filter(None, [many, which + one]))
    if verdict.verdict == "beside":
        return f"Compared with what the paper prints, not judged: {text}."
    hangs = f", but that hangs on {_hangs_on(verdict)}" if verdict.hangs_on else ""
    return f"{text[:1].upper()}{text[1:]}{hangs}."


def _bare_sentence(verdict: Verdict) -> str:
    """The judge's own reason, for kinds of claims other than comparisons."""
    reasons = [verdict.reasons[index] for index in verdict.because]
    text = letters("; ".join(reason.text(effect=False) for reason in reasons)).replace("_", " ")
    if verdict.hangs_on:
        holds = all(reason.found == "holds" for reason in reasons)
        text = f"{'holds as declared' if holds else 'not decided'}: {text}, but that hangs on {_hangs_on(verdict)}"
    text = text[:1].upper() + text[1:]
    if verdict.verdict == "beside":
        text = f"Compared with what the paper prints, not judged: {text[:1].lower()}{text[1:]}"
    more = f" {verdict.tally[:1].upper()}{verdict.tally[1:]}." if len(set(verdict.parts)) > 1 else ""
    return f"{text}.{more}".replace("..", ".")


def _measured_sentence(verdict: Verdict, spec: Spec, part: MeasuredClaimKind, point: Point) -> str:
    pattern, *others = part.patterns()
    # Of several alternatives the point does not say which it is.
    subject, right = ("measured value", None) if others else (curve_words(pattern.left, spec), pattern.right)
    where = where_words(point, part, spec.axes)
    value = figure(point.left) + span(left_interval(pattern, point))
    line = _line_words(pattern, right, point, spec)
    places = len(verdict.numbers.points)
    if verdict.verdict in ("reproduced", "agrees"):
        close = f"{where[:1].upper()}{where[1:]} the" if where else "The"
        whole = "both" if places == 2 else f"all {places}"
        many = f"Holds in {whole} comparisons. Closest: {close[:1].lower()}{close[1:]}" if places > 1 else close
        if getattr(part, "quantifier", "all") == "some":
            many = f"Holds, and most clearly {where}: the" if where else "The"
        return f"{many} {subject} is {value}, {line}."
    if verdict.verdict == "beside":
        at = f"{where[:1].upper()}{where[1:]} the" if where else "The"
        return f"{at} {subject} is {value}; the paper prints {figure(point.right)}. Compared, not judged."
    if verdict.verdict in ("violated", "differs"):
        at = f"{where[:1].upper()}{where[1:]} the" if where else "The"
        several = "" if len(verdict.parts) < 2 else f" ({_count(verdict, verdict.verdict)})"
        return f"{at} {subject} is {value}, {line}{several}."
    at = f" {where}" if where else ""
    if verdict.hangs_on and verdict.reasons[verdict.because[0]].found == "holds":
        return f"Holds as declared{at}: the {subject} is {value}, {line}, but that hangs on {_hangs_on(verdict)}."
    if is_off_by_tolerances(verdict):
        start = f"{at.strip()[:1].upper()}{at.strip()[1:]} the" if at else "The"
        return f"Off by one to two tolerances. {start} {subject} is {value}, {line}."
    if verdict.hangs_on:
        return f"Not decided{at}: the {subject} is {value}, {line}, but that hangs on {_hangs_on(verdict)}."
    return _open_sentence(verdict, spec, pattern, point, subject, right, at)


def _open_sentence(
    verdict: Verdict, spec: Spec, pattern: Contrast, point: Point, subject: str, right: object, at: str
) -> str:
    """Why a comparison is open: too few runs, places left out, on the line, on both sides of it, or not clear enough of
    it for as many places as were looked at."""
    reason = verdict.reasons[verdict.because[0]]
    if reason.found == "few":
        bare = point.model_copy(update={"low": None, "high": None})
        runs = f"{point.repeats} run{'' if point.repeats == 1 else 's'}"
        start = f"{at.strip()[:1].upper()}{at.strip()[1:]} the" if at else "The"
        is_ = f"{start} {subject} is {figure(point.left)} in {runs}, {_line_words(pattern, right, bare, spec)}"
        return f"{is_}: too few runs (a verdict takes at least {reason.fewest})."
    value = figure(point.left) + span(left_interval(pattern, point))
    text = f"{at}: the {subject} is {value}, {_line_words(pattern, right, point, spec)}"
    if reason.found == "partly":
        left_out = "1 place" if reason.absent == 1 else f"{reason.absent} places"
        return f"It holds wherever it was run, most closely{text}; the profile leaves out {left_out} of the claim."
    if (point.low is not None and point.low > 0) or (point.high is not None and point.high < 0):
        return (
            f"Not clear enough{text}; the interval clears the line by itself, but not once it is corrected for all "
            "places and parts of the claim."
        )
    left_open = _largest_difference(pattern, right, point)
    if verdict.would_decide.startswith(ON_THE_LINE):
        return f"On the line{text}; no number of runs within reach would tell it from the line.{left_open}"
    return f"Open{text}; the interval lies on both sides of the line.{left_open}"


def _largest_difference(pattern: Contrast, right: object, point: Point) -> str:
    """Of an open claim that one measured side is above the other: how far above it may be at most."""
    if pattern.relation not in (">", "<") or not isinstance(right, MetricSeries) or point.high is None:
        return ""
    most = point.high + (pattern.line if pattern.relation == ">" else -pattern.line)
    return f" The claimed difference is at most {figure(most)} (95%)." if most > 0 else ""


def _hangs_on(verdict: Verdict) -> str:
    """Readings and tolerances that a verdict hangs on, fields of specs by their words."""
    return letters("; ".join(verdict.hangs_on)).replace("_", " ")


def _count(verdict: Verdict, outcome: str) -> str:
    return f"{sum(p == outcome for p in verdict.parts)} of {len(verdict.parts)} parts fail"


def _line_words(pattern: Contrast, right: object, point: Point, spec: Spec) -> str:
    """What the left side has to clear, in words."""
    line = figure(point.right)
    if pattern.relation == "within":
        if isinstance(right, Number):
            return f"where {line} is claimed, give or take {figure(pattern.line)}"
        what = f"{curve_with_article(right, spec)} is" if isinstance(right, MetricSeries) else "the formula gives"
        return f"and {what} {line}; they may differ by {figure(pattern.line)}"
    need = RELATIONS[pattern.relation]
    if isinstance(right, MetricSeries):
        gap = span((point.low, point.high)).removeprefix(" (").removesuffix(")")
        room = f"; {figure(abs(point.effect))} {'to spare' if point.effect >= 0 else 'short'}"
        room += f", 95% interval {gap}" if gap else ""
        shift = ", margin included" if pattern.line else ""
        return f"where {need} {curve_with_article(right, spec)} is claimed, {line}{shift}{room}"
    if isinstance(right, FormulaValue):
        return f"where {need} {line} is claimed ({formula_words(right.formula)})"
    return f"where {need} {line} is claimed"


def counterexample_words(counterexample: Mapping[str, float]) -> str:
    """`ε = 0, δ = 1`, without the two sides."""
    return ", ".join(
        f"{LETTERS.get(k, k)} = {figure(v)}" for k, v in counterexample.items() if k not in ("left", "right")
    )
