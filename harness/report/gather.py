"""What the page of a profile is made of: each spec with its verdicts, its measurements and what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from harness.claims.design import design_of
from harness.claims.series import RANGES, all_series
from harness.claims.verdict import Verdict
from harness.coordinates import format_level, order_levels
from harness.data.dataset import TableDataset
from harness.data.disclosure import withhold_of_former
from harness.data.steps import preparation_from
from harness.execution.curves import ATTRIBUTE
from harness.execution.table import read_table
from harness.experiment.experiment import Experiment
from harness.experiment.results import ResultsFile
from harness.inference import FEWEST
from harness.paths import path_below
from harness.pipeline.compute import core_seconds
from harness.pipeline.context import Run
from harness.pipeline.judging import has_verdicts, read_verdicts
from harness.pipeline.sources import source_of_run
from harness.pipeline.tables import PREPARED
from harness.report.author_answers import read_answers
from harness.report.drawing import Drawing
from harness.report.figures import draw
from harness.report.noise_table import NoiseTable, compare_noises
from harness.report.panels import Intervals, drawn_metrics, panels_of
from harness.report.pictures import HasSides, draw_bounds, draw_counterexample
from harness.report.preparation import PreparationText, describe_preparation, describe_steps
from harness.report.single_runs import SingleRuns, single_runs
from harness.report.tables import Row, exposed_rows, formula_tables, outcome_rows, printed_tables
from harness.report.vocabulary import metric_words
from harness.spec.model import Spec
from harness.spec.readings import readings
from harness.verdicts.evidence import look_at

DECLARED = "noise_multipliers"
"""The field that declares noise."""
SPENT = "core_seconds"
"""What a table remembers of the time that its models took, by kind of work."""


@dataclass(frozen=True)
class Section:
    """One spec in the report."""

    spec: Spec
    reductions: tuple[str, ...]
    substitution: str | None
    verdicts: tuple[Verdict, ...]
    measured: bool
    """Whether there are measurements."""
    figures: tuple[Drawing, ...]
    """Its panels."""
    counterexamples: dict[str, Drawing]
    """By claim: both sides of what is refuted."""
    means: list[Row]
    tables: list[Row]
    """Tables that the paper prints, in its layout."""
    formulas: list[Row]
    """Printed tables of formulas, in its layout."""
    exposed: list[Row]
    """Members exposed in one, in some and in every run."""
    outcomes: list[Row]
    """Advantage by the outcome that a split draws."""
    sha256: str
    data_sha256: str
    files: str
    """Its folder, from the folder of the profile."""
    called: str
    """How a command names it: its id, or the path of a file outside of specs/."""
    why_not: str
    sequential: bool
    prepared: list[PreparationText]
    """What was done to its tables."""
    models: int
    models_fixed: int
    """Trained targets, and how many the fixed design has."""
    answers: dict[str, str]
    """By claim that the paper's authors answered: their words, as HTML."""
    noises: NoiseTable | None
    """Declared noise beside calibrated noise, where a reading has the latter."""
    core_hours: float | None
    """What all its models took, as the table remembers; None where it does not."""
    runs: dict[str, SingleRuns]
    """By claim: what each run gave at the place that decides it."""


def judged_runs(runs: Iterable[Run]) -> list[Run]:
    """The specs that have verdicts under the profile."""
    return [run for run in runs if has_verdicts(run)]


def gather(run: Run) -> Section:
    """The section of a judged spec."""
    return _section(run, read_verdicts(run).verdicts)


def read_measured(run: Run) -> tuple[pd.DataFrame | None, str]:
    """The measurements of a spec, as `measurements` gives them, with only those metadata that drawings need: pandas
    copies all of them with every part of the table."""
    table, why_not = source_of_run(run).read(run)
    if table is not None:
        kept = ("design", RANGES, ATTRIBUTE, PREPARED, SPENT)
        table.attrs = {key: value for key, value in table.attrs.items() if key in kept}
    return table, why_not


def _path(run: Run) -> str:
    return path_below(run.context.project.root, run.declared.raw.files[0])


def _section(run: Run, judged: tuple[Verdict, ...]) -> Section:
    scaled = run.scaled
    experiment, results = scaled.spec.own_experiment, scaled.spec.results
    measured = scaled.spec.experiment is not None
    table, why_not = read_measured(run) if measured else (None, "")
    sequential = table is not None and design_of(table).name == "sequential"
    listed = _listed_metrics(results)
    drawn = drawn_metrics(panels_of(scaled.spec)) if table is not None else []
    intervals = {} if table is None else shown_intervals(table, [*listed, *drawn], scaled.spec.axes)
    return Section(
        runs={} if table is None else single_runs(look_at(scaled, table), judged, scaled.spec),
        sequential=sequential,
        prepared=_preparations(scaled.spec, table),
        models=0 if table is None or experiment is None else _models(table, experiment.coordinates),
        answers=read_answers(scaled.spec, run.declared.raw.files[0]),
        noises=_noises(run, experiment, table),
        core_hours=None if table is None or not table.attrs.get(SPENT) else sum(table.attrs[SPENT].values()) / 3600,
        models_fixed=experiment.models() if experiment else 0,
        spec=scaled.spec,
        reductions=next((v.rests_on.reductions for v in judged if v.rests_on.reductions), ()),
        substitution=scaled.substitution,
        verdicts=judged,
        measured=table is not None,
        figures=_figures(scaled.spec, table, intervals),
        counterexamples={v.id: drawing for v in judged if (drawing := counterexample(v, scaled.spec))},
        means=_means(intervals, listed, scaled.spec.axes),
        tables=printed_tables(scaled.spec, judged),
        formulas=formula_tables(scaled.spec, judged),
        exposed=[] if table is None else exposed_rows(table),
        outcomes=[] if table is None else outcome_rows(table),
        sha256=run.declared.sha256,
        files=run.folder.relative_to(run.context.page).as_posix(),
        called=run.id if run.context.own is None else _path(run),
        why_not=why_not,
        data_sha256=next((v.provenance.data_sha256 for v in judged if v.provenance.data_sha256), ""),
    )


def shown_intervals(table: pd.DataFrame, metrics: Sequence[str], axes: Sequence[str]) -> Intervals:
    """Mean and 95% interval by arm, attack, metric and place; of fewer runs than a verdict takes the mean alone, with
    not-a-number for the ends: an interval of two runs says nothing and fills the figure."""
    known = all_series(table, metrics, axes)
    intervals = zip(known.items(), design_of(table).intervals(list(known.values())), strict=True)
    nothing = math.nan, math.nan
    return {key: ends if len(one.values) >= FEWEST else (ends[0], *nothing) for (key, one), ends in intervals}


def _preparations(spec: Spec, table: pd.DataFrame | None) -> list[PreparationText]:
    """What was done to a spec's tables: as its measurements record it, else as its data sets declare it."""
    noted, experiment = [] if table is None else table.attrs.get(PREPARED, []), spec.own_experiment
    if noted or experiment is None or table is None:
        made = [preparation_from(one) for one in noted]
        return describe_preparation(
            [replace(one, steps=withhold_of_former(one.steps, spec.least_shown)) for one in made]
        )
    datasets = {v.setup.dataset: None for v in experiment.variants()}
    kept = [d for d in datasets if isinstance(d, TableDataset) and d.prepared]
    return [describe_steps(dataset.plugin_name(), dataset.prepared) for dataset in kept]


def _noises(run: Run, experiment: Experiment | None, table: pd.DataFrame | None) -> NoiseTable | None:
    """Declared beside calibrated noise, where a spec has one of them and a reading that was run has the other."""
    left_open = any((one.field or "").endswith(DECLARED) for one in run.spec.ambiguities)
    if experiment is None or table is None or not left_open:
        return None
    for reading in readings(run.declared.spec, run.declared.raw, DECLARED):
        path = run.of_reading(reading).measurements_file
        if not path.is_file():
            continue
        other = read_table(path)
        if reading.value is None:
            return compare_noises(experiment, table, other, attack_labels=run.spec.attack_labels)
        assert reading.spec.own_experiment is not None
        return compare_noises(reading.spec.own_experiment, other, table, "calibrated", run.spec.attack_labels)
    return None


def _figures(spec: Spec, table: pd.DataFrame | None, intervals: Intervals) -> tuple[Drawing, ...]:
    if table is not None:
        return tuple(draw(spec, table, intervals))
    return tuple(draw_bounds(spec)) if spec.experiment is None else ()


def counterexample(verdict: Verdict, spec: Spec, small: bool = False) -> Drawing | None:
    """A drawing of both sides of a refuted inequality through the point that refutes it; None without a line."""
    if verdict.numbers.counterexample is None:
        return None
    claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
    names = verdict.numbers.counterexample.keys() - {"left", "right"}
    for part, outcome in zip(claim.theory, verdict.parts or (verdict.verdict,) * len(claim.theory), strict=False):
        if isinstance(part, HasSides) and outcome == "violated" and set(part.over) == names:
            return draw_counterexample(part, verdict.numbers.counterexample, verdict.id, small)
    return None


def timings(runs: Iterable[Run]) -> dict[str, dict[str, dict[str, float]]] | None:
    """Core-seconds of each spec's cells, by their kind; None where the store of this machine lacks some."""
    ran = [one for one in runs if one.spec.own_experiment is not None and not one.is_of_theory]
    by_spec = {}
    for one in ran:  # up to the first that the store lacks: what comes after it may need features that take minutes
        if (seconds := core_seconds(one)) is None:
            return None
        by_spec[one.id] = seconds
    return by_spec


def _models(table: pd.DataFrame, axes: Sequence[str]) -> int:
    return len(table.drop_duplicates(["arm", *axes, "repeat"]))


def _listed_metrics(results: ResultsFile | None) -> tuple[str, ...]:
    """The metrics that the table of means lists, in its order."""
    rates = ("advantage", "tpr", "fpr", "auc", "tpr_at_0.1pct_fpr")
    usual = (*rates, "accuracy_train", "accuracy_test", "accuracy_nonmembers")
    own = () if results is None else tuple(name for name in results.metrics if name not in usual)
    return tuple(dict.fromkeys([*own, *usual]))


def _means(intervals: Intervals, metrics: Sequence[str], axes: Sequence[str]) -> list[Row]:
    """Mean and 95% interval of every metric except counts, by arm, attack and place, as rows to print.

    Columns are the values of epsilon, or of the first axis where epsilon follows from others; one where there is no
    axis.
    """
    rows: dict[tuple[str, ...], Row] = {}
    every = {key: numbers for key, numbers in intervals.items() if key[2] in metrics}
    across = "epsilon" if "epsilon" in axes else axes[0] if axes else ""
    levels = order_levels({dict(where)[across]: None for *_, where in every if across in dict(where)})
    levels = levels if across else [""]
    for (arm, attack, metric, where), (mean, low, high) in every.items():
        at = dict(where) if across else {"": ""}
        if across not in at:
            continue
        half = max(high - mean, mean - low)
        others = "".join(f", {axis} {format_level(value)}" for axis, value in where if axis != across)
        label = f"{attack}: {metric_words(metric)}" if attack else metric_words(str(metric))
        blank = {"arm": arm + others, "attack": attack, "metric": label, "of": metric}
        row = rows.setdefault((arm, label, others), blank | {"cells": {}, "numbers": {}})
        row["numbers"][at[across]] = mean
        row["cells"][at[across]] = f"{mean:.3f}" + (f" ± {half:.3f}" if math.isfinite(half) else "")
    listed = sorted(rows.values(), key=lambda r: (r["arm"], metrics.index(r["of"])))
    return [
        {**r, "values": [r["cells"].get(e, "") for e in levels], "across": across, "levels": levels} for r in listed
    ]
