"""`harness alternatives`: do verdicts hang on how one reads what a paper leaves open?"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    RESUME_HINT,
    AsJson,
    Minutes,
    Names,
    ProfileName,
    Quiet,
    Workers,
    deadline_in,
    exit_on_interrupt,
    print_json,
    resolve_specs,
    verdict_cell,
)
from harness.commands.tables import print_table
from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.claims.verdict import Verdict
    from harness.pipeline.context import Context, Run
    from harness.pipeline.reading_costs import ReadingCost


def alternatives(
    specs: Names = None,
    profile: ProfileName = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Only choices whose field ends so, such as `scaling`; may be repeated."),
    ] = None,
    where_violated: Annotated[
        bool,
        typer.Option(
            "--where-violated",
            help="Only the readings that may overturn a claim that is violated as declared, and only for such claims.",
        ),
    ] = False,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Add repeats only where an open claim needs them.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Only list the readings, those that were not run first, with the claims that depend on each and what "
            "the fewest runs that may decide these would take, the cheapest first.",
        ),
    ] = False,
    measure_only: Annotated[
        bool, typer.Option("--measure-only", help="Measure, and leave it to `harness judge` to say what comes of it.")
    ] = False,
    minutes: Minutes = None,
    workers: Workers = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run specs in their other readings: each alternative of each ambiguity that names its field, one at a time.

    Every reading is measured as the spec itself is; models that readings share are trained once. Verdicts then say in
    which readings they hold; a claim that is violated as declared is only called so if every reading says so
    (`--where-violated` runs what that takes, and nothing else). Measurements stay in
    `reports/<profile>/<spec>/readings/`; to drop a reading, delete its folder. Run the spec itself first
    (`harness run`).
    """
    deadline = deadline_in(minutes)
    from harness.execution.executor import OutOfTime
    from harness.pipeline.compute import attack, train, worker_pool_of
    from harness.pipeline.context import Options
    from harness.pipeline.judging import other_readings, readings_needed, write_all_verdicts
    from harness.pipeline.reading_costs import cost_readings

    options = Options(until_decided=until_decided, deadline=deadline)
    groups = [
        (context, [run for run in runs if run.spec.own_experiment is not None])
        for context, runs in resolve_specs(specs, profile, workers, quiet, options=options)
    ]
    readings_of = readings_needed if where_violated else other_readings
    readings_to_run = [
        (one, reading, variant)
        for _, runs in groups
        for one in runs
        for reading, variant in readings_of(one)
        if not only or any(reading.field.endswith(end) for end in only)
    ]
    if not readings_to_run and where_violated:
        if not plan:
            _index_readings(groups)
        print("harness: no claim is violated as declared and waits for a reading", file=sys.stderr)
        return
    if not readings_to_run:
        raise HarnessError("no other readings: no ambiguity has a field and alternatives that change a measurement")
    if plan:
        _show_costs(cost_readings(readings_to_run), as_json)
        return
    for one, _, _ in readings_to_run:
        if not one.is_measured:  # the first run puts the claims on record, before anything of them can be seen
            raise HarnessError(f"{one.id}: nothing of it is measured yet; `harness run {one.id}` comes first")
    try:
        with exit_on_interrupt(), worker_pool_of(groups[0][0]) as worker_pool:
            for _, _, variant in readings_to_run:
                train(variant.context, [variant], worker_pool)
                attack(variant.context, [variant], worker_pool)
    except OutOfTime:
        print(f"harness: out of time at {variant.id}; {RESUME_HINT}", file=sys.stderr)
    _index_readings(groups)
    if measure_only:
        return
    verdicts = [v for context, runs in groups for of_spec in write_all_verdicts(context, runs) for v in of_spec]
    if as_json:
        print_json({v.id: [r.model_dump(mode="json") for r in v.rests_on.readings] for v in verdicts})
        return
    _show(verdicts)


def _show_costs(costs: Sequence[ReadingCost], as_json: bool) -> None:
    from harness.verdicts.partial import time_text

    if as_json:
        rows = [
            {"spec": c.spec, "field": c.reading.field, "value": c.reading.value, "claims": c.claims, "models": c.models}
            | {"core_seconds": c.seconds, "run": c.is_run}
            for c in costs
        ]
        print_json(rows)
        return
    print_table(
        ("spec", "reading", "claims", "models", "on one core", "run"),
        [
            (
                *(c.spec, c.reading.text, str(len(c.claims)), str(c.models)),
                *("not known" if c.seconds is None else time_text(c.seconds), "yes" if c.is_run else "no"),
            )
            for c in costs
        ],
    )


def _index_readings(groups: list[tuple[Context, list[Run]]]) -> None:
    from harness.pipeline.judging import index_readings

    for _, runs in groups:
        for one in runs:
            index_readings(one)


def _show(verdicts: list[Verdict]) -> None:
    from harness.claims.verdict import value_text

    rows = []
    for v in verdicts:
        counts = Counter(r.verdict for r in v.rests_on.readings)
        tally = ", ".join(f"{n} {name}" for name, n in counts.items())
        others = [r for r in v.rests_on.readings if r.verdict != v.verdict]
        differing = "; ".join(f"{r.field.split('.')[-1]} = {value_text(r.value)}" for r in others)
        rows.append((v.id, verdict_cell(v.verdict), tally, differing))
    print_table(("claim", "as the spec reads it", "other readings", "differing"), rows)
