"""`harness alternatives`: do verdicts hang on how one reads what a paper leaves open?"""

from __future__ import annotations

import dataclasses
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
    contexts,
    deadline_in,
    exit_on_interrupt,
    print_json,
    verdict_cell,
)
from harness.commands.tables import print_table
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.pipeline.context import Context
    from harness.spec.load import Loaded


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
        bool, typer.Option("--plan", help="Only list the readings and how many models each trains.")
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
    from harness.pipeline.compute import attack, plan_of, train, worker_pool_of
    from harness.pipeline.judging import other_readings, readings_needed, write_all_verdicts

    groups = [
        (
            dataclasses.replace(context, until_decided=until_decided, deadline=deadline),
            [s for s in loaded if s.spec.own_experiment is not None],
        )
        for context, loaded in contexts(specs, profile, workers, quiet)
    ]
    readings_of = readings_needed if where_violated else other_readings
    readings_to_run = [
        (context, one, reading, variant)
        for context, loaded in groups
        for one in loaded
        for reading, variant in readings_of(context, one)
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
        counts = [(one, r, len(plan_of(context, v).pieces("train"))) for context, one, r, v in readings_to_run]
        if as_json:
            print_json([{"spec": o.spec.id, "field": r.field, "value": r.value, "models": n} for o, r, n in counts])
            return
        print_table(("spec", "reading", "models"), [(o.spec.id, r.text, str(n)) for o, r, n in counts])
        return
    try:
        with exit_on_interrupt(), worker_pool_of(groups[0][0]) as worker_pool:
            for context, _, _, variant in readings_to_run:
                train(context, [variant], worker_pool)
                attack(context, [variant], worker_pool)
    except OutOfTime:
        print(f"harness: out of time at {variant.spec.id}; {RESUME_HINT}", file=sys.stderr)
    _index_readings(groups)
    if measure_only:
        return
    verdicts = [v for context, loaded in groups for of_spec in write_all_verdicts(context, loaded) for v in of_spec]
    if as_json:
        print_json({v.id: [r.model_dump(mode="json") for r in v.readings] for v in verdicts})
        return
    _show(verdicts)


def _index_readings(groups: list[tuple[Context, list[Loaded]]]) -> None:
    from harness.pipeline.judging import index_readings

    for context, loaded in groups:
        for one in loaded:
            index_readings(context, one)


def _show(verdicts: list[Verdict]) -> None:
    from harness.claims.verdict import value_text

    rows = []
    for v in verdicts:
        counts = Counter(r.verdict for r in v.readings)
        tally = ", ".join(f"{n} {name}" for name, n in counts.items())
        others = [r for r in v.readings if r.verdict != v.verdict]
        differing = "; ".join(f"{r.field.split('.')[-1]} = {value_text(r.value)}" for r in others)
        rows.append((v.id, verdict_cell(v.verdict), tally, differing))
    print_table(("claim", "as the spec reads it", "other readings", "differing"), rows)
