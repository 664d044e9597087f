"""`harness declare`: put claims on record, with what had been measured when they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import Names, load, project_here
from harness.commands.tables import print_text
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.claims.later import Seen
    from harness.coordinates import Cell
    from harness.paths import Project
    from harness.spec.model import Spec

InFormAlone = Annotated[
    bool,
    typer.Option(
        "--in-form-alone",
        help="What changed means what it meant before, such as a field of another name: what counts as seen before "
        "stays as it is on record.",
    ),
]


def declare(specs: Names = None, in_form_alone: InFormAlone = False) -> None:
    """Put claims on record, in specs/declared.json: what each asserts of measurements, and how many runs of each place
    had been measured by then.

    A claim that is written, or changed, in sight of results is not tested by them: its verdict rests on the runs
    since, and is called exploratory where it takes the earlier ones to decide it. In a project that keeps such a record
    the first run of a spec puts its claims on record, and `harness validate` asks for it where a claim of a spec that
    was run is new or changed. Words about a claim (statement, quotations, notes) may change freely.
    """
    from harness.spec.declared import FILE, claims_on_record
    from harness.spec.recording import put_on_record

    project = project_here()
    loaded = load(project, specs)
    within = project.specs.resolve()
    if outside := [one.raw.files[0] for one in loaded if not one.raw.files[0].is_relative_to(within)]:
        raise HarnessError(f"{outside[0]}: is not in {project.specs}; a record is kept of specs there")
    every = [one.spec for one in loaded]
    told = put_on_record(project, every, lambda spec: _measured(project, spec), in_form_alone)
    for spec in every:
        for claim in told.get(spec.id, ()):
            print_text(f"{spec.id}#{claim}")
    new, known = sum(map(len, told.values())), sum(len(claims_on_record(spec)) for spec in every)
    print_text(f"{new} of {known} claims on measurements are new or changed; on record in specs/{FILE}")


def _measured(project: Project, spec: Spec) -> Seen:
    """The repeats of each cell that tables have. Where a table lacks an axis of the spec, each of an arm's cells counts
    with the most repeats of the arm."""
    from harness.claims.allocation import by_cell, repeats_of
    from harness.coordinates import place
    from harness.execution.table import read_table
    from harness.spec.declared import tables_of

    experiment = spec.own_experiment
    assert experiment is not None
    measured: dict[Cell, int] = {}
    for path in tables_of(project, spec.id):
        table = read_table(path)
        if {*experiment.coordinates} <= {*table.columns}:
            found = by_cell(repeats_of(table, experiment.coordinates))
        else:
            of_arm = table.groupby("arm")["repeat"].nunique().to_dict()
            variants = [one for one in experiment.variants() if one.arm in of_arm]
            found = {(one.arm, place(one.place)): int(of_arm[one.arm]) for one in variants}
        for cell, repeats in found.items():
            measured[cell] = max(repeats, measured.get(cell, 0))
    return measured
