"""A run of one's own beside the deciding run: the two verdicts on each claim, the runs of one on the interval of the
other, and whether the means of both agree.

Seeds derive from the spec, so both have the same first runs: on processors with the same kernels these are equal to the
last digit, on others they are further draws from the same distribution. Means are therefore compared with those runs of
the deciding run whose seeds this run does not have, by a permutation test at `LEVEL` for all means together
(Bonferroni).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.arrays import Array
from harness.bounds import read_text
from harness.claims.contrasts import Contrast
from harness.claims.operands import MetricSeries
from harness.claims.testing import Look
from harness.claims.verdict import Point, Verdict
from harness.claims.words import Certainty
from harness.errors import HarnessError
from harness.pipeline.context import Context, Run
from harness.pipeline.sources import source_of_run
from harness.pipeline.stages import Stage, read_stages
from harness.pipeline.tables import count_models
from harness.report.claim_record import ClaimRecord, claim_records
from harness.report.headings import datasets_of
from harness.report.means_beside import MeansBeside, compare_means
from harness.report.places import left_interval, where_words
from harness.report.prose import deciding_point
from harness.report.sides import curve_with_article, curve_words
from harness.report.single_runs import estimate_of_runs
from harness.report.vocabulary import figure
from harness.spec.load import Loaded, load_spec
from harness.spec.model import Spec
from harness.verdicts.counts import words_text
from harness.verdicts.evidence import look_at
from harness.verdicts.partial import time_text
from harness.verdicts.provenance import hardware

ON_MODELS = (Certainty.STANDS, Certainty.BY_ITSELF, Certainty.EXPLORATORY)
"""The certainty of what is decided on trained models."""
WIDTH, INSET = 320.0, 10.0
"""Of the plot of a claim, in pixels."""


@dataclass(frozen=True)
class Plot:
    """Runs of one's own as dots on the deciding run's interval; positions in pixels."""

    dots: tuple[float, ...]
    mean: float
    left: float | None
    """Ends of the deciding run's 95% interval; None where it has none."""
    right: float | None
    their_mean: float | None
    line: float
    ends: tuple[str, str]
    """The numbers at both ends of the axis."""


@dataclass(frozen=True)
class ClaimBeside:
    """A claim of this run beside the deciding run's verdict on it."""

    record: ClaimRecord
    verdict: Verdict
    theirs: Verdict | None
    """None where the deciding run has no such claim."""
    what: str
    """What is drawn, and where."""
    mine_text: str
    theirs_text: str
    line_text: str
    plot: Plot | None

    @property
    def rests_on_other_models(self) -> bool:
        """Whether it was tried on models of other readings, too, which are the deciding run's."""
        return any(reading.profile for reading in self.verdict.rests_on.readings)

    @property
    def agrees(self) -> bool:
        """Whether both verdicts are the same."""
        return self.theirs is not None and self.theirs.verdict == self.verdict.verdict


@dataclass(frozen=True)
class SpecRun:
    """What was run of one spec."""

    spec: Spec
    data: str
    models: int
    decided: int
    """Claims that are decided by it."""


@dataclass(frozen=True)
class OwnRun:
    """What the page of a run of one's own says."""

    models: int
    trained: int | None
    """How many of them its last invocation trained; the others were there. None where nothing is noted."""
    time: str
    """How long all stages of that took, in words; empty where this machine has not noted it."""
    machine: str
    stages: tuple[Stage, ...]
    specs: tuple[SpecRun, ...]
    decided: tuple[Verdict, ...]
    """Those decided on models that the run trained."""
    decided_text: str
    """How many of them came out how."""
    others: int
    """Claims that need no models: of theory, and counts."""
    others_text: str
    beside: tuple[ClaimBeside, ...]
    means: MeansBeside

    @property
    def title(self) -> str:
        """`167 models in 9 minutes`; a time is said of those models alone that were trained in it."""
        if not self.time or self.trained is None:
            return f"{self.models} models"
        if self.trained >= self.models:
            return f"{self.models} models in {self.time}"
        now = f"{self.trained} of them trained now" if self.trained else "all of them there already"
        return f"{self.models} models, {now}, in {self.time}"

    @property
    def training(self) -> str:
        """`167 models were trained and attacked`; models of earlier runs are not said to be trained in this one."""
        if self.trained is None or self.trained >= self.models:
            return f"{self.models} models were trained and attacked"
        if self.trained:
            return f"{self.models} models were attacked, {self.trained} trained in this run, the others in earlier ones"
        return f"{self.models} models were attacked, all trained in earlier runs"

    @property
    def agreeing(self) -> int:
        """Claims on which both runs have the same verdict."""
        return sum(one.agrees for one in self.beside)


def gather_own_run(context: Context, specs: Sequence[Run], verdicts: Sequence[Verdict], flagship: Context) -> OwnRun:
    """The run of a profile beside the deciding run's.

    Args:
        verdicts: all of the profile's, corrected for one another.
        flagship: the context of the profile that decides.
    """
    records = claim_records(verdicts, {one.id: one.spec for one in specs})
    measured = [v for v in verdicts if v.numbers.points and v.claim.kind == "training"]
    theirs = committed_verdicts(flagship, [v.id for v in measured])
    tables, rows, beside = [], [], []
    for one in specs:
        mine = [v for v in measured if v.spec == one.id]
        table = source_of_run(one).read(one)[0] if mine else None
        if table is None or one.spec.own_experiment is None:
            continue
        decided = sum(v.certainty in ON_MODELS for v in mine)
        data = ", ".join(datasets_of(one.spec))
        rows.append(SpecRun(one.spec, data, count_models(one), decided))
        look = look_at(one.scaled, table)
        for v in mine:
            beside.append(place_claim_beside(v, records[v.id], theirs.get(v.id), one.spec, look))
        theirs_of = flagship.resolve(whole_spec(one))
        other = source_of_run(theirs_of).read(theirs_of)[0]
        if other is not None:
            theirs_trained = theirs_of.spec.own_experiment
            same_seeds = theirs_trained is not None and theirs_trained.seed == one.spec.own_experiment.seed
            # Repeats of other seeds are others, though they count from 0, too.
            tables.append((one.spec, table if same_seeds else table.assign(repeat=-1 - table["repeat"]), other))
    decided_on_models = tuple(v for v in measured if v.certainty in ON_MODELS)
    others = [v for v in verdicts if v.claim.kind != "training" or v.certainty == "counted"]
    stages = tuple(read_stages(context.project, context.profile_name))
    counts = [stage.trained for stage in stages if stage.trained is not None]
    return OwnRun(
        models=sum(row.models for row in rows),
        trained=sum(counts) if counts else None,
        time=time_text(sum(stage.seconds for stage in stages)) if stages else "",
        machine=hardware(),
        stages=stages,
        specs=tuple(rows),
        decided=decided_on_models,
        decided_text=words_text(decided_on_models),
        others=len(others),
        others_text=words_text(others),
        beside=tuple(sorted((one for one in beside if one.verdict.certainty != "counted"), key=_order_of_claim)),
        means=compare_means(tables),
    )


def _order_of_claim(one: ClaimBeside) -> tuple[int, bool]:
    """The papers' claims first, then those of our own and checks; of each, what is violated first."""
    origins = ("paper", "corrected", "ours", "check")
    return origins.index(one.verdict.claim.origin), one.verdict.verdict != "violated"


def whole_spec(run: Run) -> Loaded:
    """The spec with all of its claims, of one that a profile restricts to some."""
    declared = run.declared
    if declared.claims is None:
        return declared
    return load_spec(run.context.project, declared.raw.files[0], alternatives=False)


def committed_verdicts(context: Context, claims: Collection[str]) -> dict[str, Verdict]:
    """The verdicts of a profile's report on some claims, by id; empty where it has no report.

    Raises HarnessError for a damaged file.
    """
    path = context.project.reports / context.profile_name / "verdicts.json"
    if not path.is_file():
        return {}
    try:
        written = json.loads(read_text(path))["verdicts"]
        return {v["id"]: Verdict.model_validate(v) for v in written if v["id"] in claims}
    except (ValueError, KeyError, TypeError):
        again = f"harness report --profile {context.profile_name}"
        raise HarnessError(f"{path}: not a verdict file; `{again}` writes it anew") from None


def place_claim_beside(
    verdict: Verdict,
    record: ClaimRecord,
    theirs: Verdict | None,
    spec: Spec,
    look: Look | None,
) -> ClaimBeside:
    """A claim of this run beside the deciding run's verdict.

    Args:
        spec: under this run's profile.
        look: at this run's measurements; None where nothing is drawn.
    """
    claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
    parts = [] if claim.theory else spec.parts(claim)
    mine = deciding_point(verdict)
    part = parts[mine.expectation] if mine is not None and mine.expectation < len(parts) else None
    if mine is None or part is None or not part.patterns() or look is None:
        return ClaimBeside(record, verdict, theirs, "", "", "", "", None)
    attacks = look.samples.table.attacks
    pattern = next(one for one in part.patterns() if not one.left.attack or one.left.attack in attacks)
    left, right = pattern.left, pattern.right
    estimate, shift = estimate_of_runs(look, left, right, mine)
    values = estimate.repeat_values
    other = _same_place(theirs, mine)
    interval = None if other is None else _interval_drawn(left_interval(pattern, other), pattern, other, shift)
    where = where_words(mine, part, spec.axes)
    subject = curve_words(left, spec)
    if isinstance(right, MetricSeries):
        subject = f"difference between the {subject} and {curve_with_article(right, spec)}"
    their_mean = None if other is None else other.left - (other.right if shift else 0.0)
    line = mine.right - mine.right if shift else mine.right
    plot = None if values is None else _plot(values, estimate.mean, their_mean, interval, line)
    runs = f"{estimate.n} run{'' if estimate.n == 1 else 's'}"
    if verdict.certainty is not None and mine.repeats < estimate.n:
        runs += f", decided after {mine.repeats}"
    theirs_text = ""
    if other is not None and their_mean is not None:
        ends = (
            ""
            if interval is None or None in interval
            else f" ({figure(interval[0] or 0.0)} to {figure(interval[1] or 0.0)})"
        )
        theirs_text = f"{figure(their_mean)}{ends} in {other.repeats} runs"
    elif (
        theirs is not None
        and (elsewhere := deciding_point(theirs)) is not None
        and elsewhere.expectation == mine.expectation
    ):
        theirs_text = f"{figure(elsewhere.left)} {where_words(elsewhere, part, spec.axes)}, in {elsewhere.repeats} runs"
    needed = figure(line) if pattern.relation != "within" else f"{figure(line)} ± {figure(pattern.line)}"
    what = f"{subject[:1].upper()}{subject[1:]}{f', {where}' if where else ''}"
    return ClaimBeside(record, verdict, theirs, what, f"{figure(estimate.mean)} in {runs}", theirs_text, needed, plot)


def _same_place(theirs: Verdict | None, mine: Point) -> Point | None:
    """The deciding run's point at the place of one of this run."""
    if theirs is None:
        return None
    return next(
        (
            p
            for p in theirs.numbers.points
            if (p.expectation, p.epsilon, p.at) == (mine.expectation, mine.epsilon, mine.at)
        ),
        None,
    )


def _interval_drawn(
    interval: tuple[float | None, float | None] | None, pattern: Contrast, point: Point, shift: bool
) -> tuple[float | None, float | None] | None:
    """The interval of what is drawn: of the left side, or of the difference of both."""
    if not shift:
        return interval
    if pattern.relation == "within" or point.low is None or point.high is None:
        return None
    low, high = point.low + pattern.line, point.high + pattern.line
    return (low, high) if pattern.relation in (">", ">=") else (-high, -low)


def _plot(
    values: Array,
    mean: float,
    their_mean: float | None,
    interval: tuple[float | None, float | None] | None,
    line: float,
) -> Plot:
    ends = [x for x in (interval or ()) if x is not None and math.isfinite(x)]
    known = [*map(float, values), mean, line, *ends, *([] if their_mean is None else [their_mean])]
    low, high = min(known), max(known)
    room = 0.04 * (high - low) or 0.5
    low, high = low - room, high + room

    def place(x: float) -> float:
        return round(INSET + (WIDTH - 2 * INSET) * (x - low) / (high - low), 1)

    whole = len(ends) == 2
    return Plot(
        dots=tuple(place(float(x)) for x in values),
        mean=place(mean),
        left=place(ends[0]) if whole else None,
        right=place(ends[1]) if whole else None,
        their_mean=None if their_mean is None else place(their_mean),
        line=place(line),
        ends=(figure(float(f"{low:.2g}")), figure(float(f"{high:.2g}"))),
    )
