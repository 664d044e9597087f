"""What was measured at the place that decides a claim, in a sentence or two.

Words come before numbers, both sides are named, and a comparison has both values, their difference with its interval,
and which way the claim says. Why a claim is open, or depends on a reading or a tolerance, is said first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.claims.contrasts import Contrast
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.operands import AxisValue, FormulaValue, MetricSeries
from harness.claims.series import is_of_runs
from harness.claims.verdict import Point, Verdict
from harness.report.places import add_bound, formula_words, left_interval, subtract_bound, where_words
from harness.report.sides import curve_with_article, name_sides, phrase_words, range_of, several_words
from harness.report.vocabulary import digits_apart, figure, figures_apart, figures_of_interval, letters
from harness.spec.model import Spec
from harness.verdicts.counts import is_off_by_tolerances
from harness.verdicts.publish import NOT_RUN

ON_THE_LINE = ("no number of repeats", "more than 10,000 repeats")
"""How `would_decide` begins where what is left lies too close to its line."""
CHANCE, SHARES = 0.5, {0.5: "half"}
"""The AUC of guessing; names of shares."""
RELATIONS = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}


@dataclass(frozen=True)
class Found:
    """What was measured at the place that decides a claim, in words."""

    verdict: Verdict
    spec: Spec
    part: MeasuredClaimKind
    point: Point

    def sentence(self) -> str:
        """The whole of it, by how the claim came out."""
        verdict, body = self.verdict, self._body()
        if verdict.verdict in ("reproduced", "agrees"):
            places = len(verdict.numbers.points)
            if places == 1:
                return f"{capital(body)}."
            if getattr(self.part, "quantifier", "all") == "some":
                return f"Holds, most clearly {body.replace(', ', ': ', 1)}." if self._where else f"Holds: {body}."
            return f"Holds in {'both' if places == 2 else f'all {places}'} comparisons. Least clear: {body}."
        if verdict.verdict == "beside":
            return f"{capital(body)}. Compared, not judged."
        if verdict.verdict in ("violated", "differs"):
            failed = sum(word == verdict.verdict for word in verdict.parts)
            fail = "fails" if failed == 1 else "fail"
            several = f" {failed} of {len(verdict.parts)} parts of the claim {fail}." if len(verdict.parts) > 1 else ""
            return f"{capital(body)}.{several}"
        if provided := provided_words(verdict):
            return f"{provided} {capital(body)}."
        return self._open_sentence(body)

    def _open_sentence(self, body: str) -> str:
        """Why a comparison is open: too few runs, places left out, on the line, on both sides of it, or not clear
        enough of it for as many places as were looked at."""
        reason, point = self.verdict.reasons[self.verdict.because[0]], self.point
        if reason.turned:
            way, side = ("against", "its side") if reason.found == "fails" else ("for", "the other side")
            return f"{capital(body)}. Open: the first runs decide {way} the claim, and the mean of all lies on {side}."
        if reason.found == "few":
            return f"{capital(body)}. Too few runs to judge: a verdict takes at least {reason.fewest}."
        if reason.found == "partly":
            left_out = "1 place" if reason.absent == 1 else f"{reason.absent} places"
            return f"Holds wherever it was run; the profile leaves out {left_out} of the claim. Least clear: {body}."
        if (point.low is not None and point.low > 0) or (point.high is not None and point.high < 0):
            many = len(self.verdict.numbers.points)
            says = "supports" if point.low is not None and point.low > 0 else "contradicts"
            corrected = f"corrected for all {many} comparisons" if many > 2 else "corrected for both comparisons"
            return f"{capital(body)}. Open: by itself this {says} the claim, but not once {corrected}."
        if self.verdict.would_decide.startswith(ON_THE_LINE):
            return f"{capital(body)}. Open: so near to the line that it takes more runs than are within reach."
        return f"{capital(body)}. Open: the interval lies on both sides of the line."

    @property
    def _where(self) -> str:
        patterns = self.part.patterns()
        sides = (patterns[0].left, patterns[0].right) if len(patterns) == 1 else ()
        own = {name for side in sides if isinstance(side, MetricSeries) for name, _ in side.at}
        return where_words(self.point, self.part, self.spec.axes, own)

    def _body(self) -> str:
        """What was measured, beside what the claim needs; it begins with the place."""
        start = f"{self._where}, " if self._where else ""
        patterns = self.part.patterns()
        if not patterns:
            return start + self._of_phrase()
        if len(patterns) > 1:  # of several alternatives the point does not say which it is
            subject = several_words([pattern.left for pattern in patterns], self.spec)
            value, line = self._value(patterns[0]), self._line(patterns[0], "")
            return f"{start}{subject} {verb(subject)} {value}; the claim needs {line}"
        (pattern,) = patterns
        if isinstance(pattern.right, MetricSeries):
            return start + self._of_two(pattern, pattern.right)
        subject = curve_with_article(pattern.left, self.spec)
        return f"{start}{subject} {verb(subject)} {self._value(pattern)}; {self._need(pattern)}"

    def _value(self, pattern: Contrast) -> str:
        """The left side with its interval and the number of runs."""
        point = self.point
        low, high = (None, None) if self._is_few() else left_interval(pattern, point) or (None, None)
        value, *shown = figures_of_interval(point.left, (low, high), *self._lines(pattern))
        if (low is None and high is None) or low == high or (low, high) == range_of(pattern.left):
            return f"{value} ({self._runs})"
        return f"{value} (95%: {interval_text(*shown)}; {self._runs})"

    def _lines(self, pattern: Contrast) -> list[float]:
        """Numbers from which those that are shown have to be told."""
        if pattern.relation == "within":
            return [self.point.right - pattern.line, self.point.right + pattern.line]
        return [self.point.right]

    def _is_few(self) -> bool:
        return bool(self.verdict.because) and self.verdict.reasons[self.verdict.because[0]].found == "few"

    def _need(self, pattern: Contrast) -> str:
        """What the claim needs of the left side where the right side is no curve."""
        point = self.point
        if pattern.relation == "within":
            if isinstance(pattern.right, FormulaValue):
                return f"{formula_words(pattern.right.formula)} gives {figure(point.right)} (± {figure(pattern.line)})"
            is_printed = self.verdict.claim.origin == "paper" and self._is_printed()
            says = "the paper prints" if is_printed else "the claim says"
            return f"{says} {figure(point.right)} (tolerance {figure(pattern.line)})"
        of = ""
        if isinstance(pattern.right, FormulaValue):
            of = f" ({formula_words(pattern.right.formula)})"
        elif isinstance(pattern.right, AxisValue):
            of = f" (the value of {letters(pattern.right.axis).replace('_', ' ')})"
        return f"the claim needs {self._line(pattern, of)}"

    def _line(self, pattern: Contrast, of: str) -> str:
        """`at most 0.9, with a tolerance of 0.005`."""
        if pattern.relation == "within":
            return f"{figure(self.point.right)} (tolerance {figure(pattern.line)})"
        if pattern.doubled is None or not pattern.line:
            return f"{RELATIONS[pattern.relation]} {figure(self.point.right)}{of}"
        claimed = figure(self.point.right - pattern.line)
        return f"{RELATIONS[pattern.relation]} {claimed}{of}, with a tolerance of {figure(abs(pattern.line))}"

    def _is_printed(self) -> bool:
        return self.verdict.verdict == "beside" or bool(self.part.printed_numbers())

    def _of_two(self, pattern: Contrast, right: MetricSeries) -> str:
        """Two measured sides: both values, their difference with its interval, and which way the claim says."""
        point, named = self.point, name_sides(pattern.left, right, self.spec)
        line = 0.0 if pattern.relation == "within" else pattern.line
        other = point.right - line
        if is_of_excess(pattern, right):
            return self._of_excess(pattern, right, other)
        left_text, right_text = figures_apart(point.left, other)
        if named.subject:
            both = f"{named.subject} {verb(named.subject)} {left_text} ({named.left}) and {right_text} ({named.right})"
        else:
            both = f"{named.left} {verb(named.left)} {left_text}, and {named.right} {right_text}"
        return f"{both}: {self._difference(pattern, point.left - other)}; {way_words(pattern)}"

    def _of_excess(self, pattern: Contrast, right: MetricSeries, other: float) -> str:
        """Two sides by what they have above chance, where a claim is of a share of that."""
        whole, share = replace(right, times=1.0), SHARES.get(right.times, f"{right.times:g}")
        named = name_sides(pattern.left, whole, self.spec)
        values = figures_apart(self.point.left, other / right.times)
        above = figures_apart(self.point.left - CHANCE, other / right.times - CHANCE)
        if named.subject:
            both = f"{named.subject} is {values[0]} ({named.left}) and {values[1]} ({named.right})"
        else:
            both = f"{named.left} is {values[0]}, and {named.right} {values[1]}"
        up = pattern.relation in (">", ">=")
        point = self.point
        difference = point.effect if up else -point.effect
        interval = (point.low, point.high) if up else tuple(None if x is None else -x for x in (point.high, point.low))
        told = difference_words(difference, (interval[0], interval[1]), self._runs)
        told = told.replace(" (", f" than {share} of the latter (", 1)
        says = "higher" if up else "lower"
        return f"{both}, so {above[0]} and {above[1]} above chance: {told}; the claim says {says}"

    @property
    def _runs(self) -> str:
        """`6 runs`; of a number of several runs together, that it is."""
        together = any(is_of_runs(metric) for operand in self.part.operands() for metric in operand.metrics)
        return runs_text(self.point.repeats) + (" together" if together and self.point.repeats > 1 else "")

    def _difference(self, pattern: Contrast, difference: float) -> str:
        """`0.56 lower (95%: 0.47 to 0.64; 7 runs)`."""
        point, runs = self.point, self._runs
        low, high = point.low, point.high
        if self._is_few() or (low is None and high is None):
            interval: tuple[float | None, float | None] = (None, None)
        elif pattern.relation == "within":
            near, far = subtract_bound(pattern.line, high), subtract_bound(pattern.line, low)
            near = None if near is None or near <= 0 else near
            digits = digits_apart([abs(difference), pattern.line, *(x for x in (near, far) if x is not None)])
            apart = figure(abs(difference), digits)
            if far is None:
                return f"{apart} apart ({runs})"
            end = figure(far, digits)
            reach = f"up to {end}" if near is None else f"{figure(near, digits)} to {end}"
            return f"{apart} apart (95%: {reach}; {runs})"
        elif pattern.relation in (">", ">="):
            interval = add_bound(pattern.line, low), add_bound(pattern.line, high)
        else:
            interval = subtract_bound(pattern.line, high), subtract_bound(pattern.line, low)
        if pattern.relation == "within":
            return f"{figure(abs(difference), 2)} apart ({runs})"
        return difference_words(difference, interval, runs, [abs(pattern.line)] if pattern.line else [])

    def _of_phrase(self) -> str:
        """A number of a kind of claim whose points are not all of the same two curves."""
        point, words = self.point, self.part.point_in_words()
        left = "what is measured" if words is None else phrase_words(words.left, self.spec).rstrip(",")
        right = "" if words is None else phrase_words(words.right, self.spec)
        value, line = figures_apart(point.left, point.right)
        value = f"{value} ({self._runs})"
        told = f"{line}, {right}" if right else line
        relation = ">" if words is None else words.relation
        comma = "," if left.startswith("the clearest of") else ""
        if relation == "between":
            return f"{left}{comma} is {value}, beside {told}"
        return f"{left}{comma} is {value}; the claim needs {RELATIONS[relation]} {told}"


def is_of_excess(pattern: Contrast, right: MetricSeries) -> bool:
    """Whether a comparison is of a share of what the right side has above chance, as its line then is of chance."""
    left, share = pattern.left, right.times
    if left.metric != "auc" or right.metric != "auc" or left.times != 1 or share == 1 or left.minus or right.minus:
        return False
    return pattern.relation != "within" and abs(pattern.line - CHANCE * (1 - share)) < 1e-9


def verb(subject: str) -> str:
    """`are` of members, else `is`."""
    return "are" if subject.startswith("the members exposed") else "is"


def runs_text(runs: int) -> str:
    """`6 runs`."""
    return f"{runs:,} run{'' if runs == 1 else 's'}"


def interval_text(low: str | None, high: str | None) -> str:
    """`0.92 to 0.93`, or the one end that there is."""
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def difference_words(
    difference: float, interval: tuple[float | None, float | None], runs: str, lines: Sequence[float] = ()
) -> str:
    """`0.56 lower (95%: 0.47 to 0.64; 7 runs)`: a difference in the sense in which it is, its interval likewise.

    It has two digits, or as many as tell it, its ends and the `lines` from one another.
    """
    digits = digits_apart([abs(difference), *lines, *(abs(x) for x in interval if x is not None)])
    lower = difference < 0
    sense = "lower" if lower else "higher"
    size = f"{figure(abs(difference), digits)} {sense}" if difference else "the same"
    low, high = (None if x is None else -x for x in reversed(interval)) if lower else interval
    if low is None and high is None:
        return f"{size} ({runs})"
    other = "higher" if lower else "lower"

    def end(x: float, names_sense: bool) -> str:
        return f"{figure(abs(x), digits)}{f' {sense if x >= 0 else other}' if names_sense else ''}"

    both_sides = low is not None and high is not None and low < 0 < high
    if low is None:
        assert high is not None
        text = f"at most {end(high, high < 0)}"
    elif high is None:
        text = f"at least {end(low, low < 0)}"
    else:
        first, last = (high, low) if (both_sides and lower) or high <= 0 else (low, high)
        text = f"{end(first, both_sides)} to {end(last, both_sides or high <= 0)}"
    return f"{size} (95%: {text}; {runs})"


def way_words(pattern: Contrast) -> str:
    """What a claim says of two curves: which is to be higher, and by how much."""
    line, relation = pattern.line, pattern.relation
    if relation == "within":
        return f"the claim allows {figure(line)}"
    up = relation in (">", ">=")
    if not line:
        return {
            ">": "the claim says higher",
            ">=": "the claim says at least as high",
            "<": "the claim says lower",
            "<=": "the claim says at most as high",
        }[relation]
    if (line > 0) == up:
        return f"the claim says {'higher' if up else 'lower'} by more than {figure(abs(line))}"
    return f"the claim allows up to {figure(abs(line))} {'lower' if up else 'higher'}"


def provided_words(verdict: Verdict) -> str:
    """Of an open claim that other readings or a wider tolerance would decide otherwise: a sentence on these."""
    if not verdict.hangs_on:
        return ""
    if is_off_by_tolerances(verdict):
        return "Off by one to two tolerances."
    words = Counter(match[1] for text in verdict.hangs_on if (match := _READING.fullmatch(text)))
    not_run = len(verdict.rests_on.readings_not_run) if any(t.startswith(NOT_RUN) for t in verdict.hangs_on) else 0
    others = [t for t in verdict.hangs_on if not _READING.fullmatch(t) and not t.startswith(NOT_RUN)]
    holds = all(verdict.reasons[index].found == "holds" for index in verdict.because)
    start = "Holds as declared" if holds else "Fails as declared"
    if not_run and not words:
        were = "1 other reading of the paper was" if not_run == 1 else f"{not_run} other readings of the paper were"
        return f"{start}, but {were} not run."
    if verdict.hangs_on == (HALF,):
        return f"{start}, but not with half of its tolerance."
    if words:
        told = [f"{_COMES_OUT.get(word, 'is open')} in {n}" for word, n in words.items()]
        missing = f"; {not_run} more {'was' if not_run == 1 else 'were'} not run" if not_run else ""
        run = max(sum(words.values()), len(verdict.rests_on.readings))  # with those that say the same
        if run == 1:
            return f"{start}, but {told[0].removesuffix(' in 1')} in another reading of the paper{missing}."
        return f"{start}, but {_listed(told)} of {run} other readings of the paper that were run{missing}."
    if any("in place of" in text for text in others):
        return "Off by more than the tolerance; whether by more than twice that, which a refutation takes, is open."
    return f"{start}, but it depends on {letters('; '.join(others)).replace('_', ' ')}."


_READING = re.compile(r"the reading .*\((\w[\w ]*)\)", re.DOTALL)
"""A reading that a verdict depends on, with how the claim comes out in it."""


HALF = "the reading tolerance = half (violated)"
"""What a claim hangs on that needs its whole tolerance."""
_COMES_OUT = {"reproduced": "holds", "agrees": "holds", "violated": "fails", "differs": "fails"}
"""How a claim comes out in a reading, in words."""


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
