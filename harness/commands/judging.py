"""`harness judge` and `report`: from measurements to verdicts, and to the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.claims.words import Word
from harness.commands.common import (
    AsJson,
    Names,
    ProfileName,
    Quiet,
    Workers,
    lacks_reference_engine,
    print_json,
    print_verdicts,
    project_here,
    resolve_specs,
    runs_on_page,
)
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.offered import load_offered

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.pipeline.context import Context, Run


JudgeBundle = Callable[[Path, int | None, int | None, bool, bool], tuple[Sequence["Verdict"], bool]]
"""Judges a bundle, given its file, most bytes, workers, quiet and whether to print JSON. Returns the verdicts, and
whether they are those in it."""
Brief = Annotated[
    bool, typer.Option("--brief", help="Counts in place of a table of all claims, as the stages of `dvc.yaml` print.")
]
MOST_BYTES = 10**15
"""More than any machine unpacks."""
MOST_LISTED = 20
"""Claims that the closing lines of a run name one by one."""


def judge(
    specs: Names = None,
    profile: ProfileName = None,
    require: Annotated[
        str | None, typer.Option(help="Exit 1 unless every claim has this verdict, such as `reproduced`.")
    ] = None,
    bundle_file: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Judge an archive that `harness bundle` wrote, by the installed code: none of its code is run. Exit 1 "
            "where a verdict in it is not the one found.",
        ),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_BYTES, help="With --bundle: how much it may unpack to; default: 1 GiB."),
    ] = None,
    brief: Brief = False,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Judge claims from measurements that are there; trains nothing and needs no TensorFlow."""
    from harness.claims.verdict import in_json
    from harness.pipeline.judging import write_all_verdicts
    from harness.pipeline.parallel import preload_helpers
    from harness.pipeline.stages import timed_stage
    from harness.verdicts.counts import words_text

    if require is not None and require not in set(Word):
        raise HarnessError(f"--require {require!r}: unknown verdict; it is one of: {', '.join(Word)}")
    if bundle_file is not None:
        if specs or profile is not None:
            raise HarnessError("--bundle: brings its own spec and profile; leave them out")
        judge_bundle: JudgeBundle = load_offered("harness.judges", "bundle")
        judged, is_same = judge_bundle(bundle_file, max_bytes, workers, quiet, as_json)
        if not is_same or not _all_have(judged, require):
            raise typer.Exit(1)
        return
    if max_bytes is not None:
        raise HarnessError("--max-bytes is only for --bundle")
    if not specs:
        preload_helpers(workers, project_here())
    groups, verdicts = resolve_specs(specs, profile, workers, quiet), []
    for context, runs in groups:
        name = "judge" if any(one.spec.experiment is not None for one in runs) else "theory"
        with timed_stage(context, name) as stage:
            mine = [v for of_spec in write_all_verdicts(context, runs) for v in of_spec]
            stage.made = f"{len(mine)} claims judged: {words_text(mine)}"
        verdicts += mine
    if as_json:
        print_json([in_json(v) for v in verdicts])
    elif not brief:
        print_verdicts(verdicts)
    if not _all_have(verdicts, require):
        raise typer.Exit(1)


def _all_have(verdicts: Sequence[Verdict], require: str | None) -> bool:
    """Whether all have the verdict that is required, or none is."""
    return require is None or all(v.verdict in (require, Word(require).elsewhere) for v in verdicts)


def report(specs: Names = None, profile: ProfileName = None, brief: Brief = False) -> None:
    """Write `reports/<profile>/`: all verdicts, a Markdown summary and the site, from what `judge` wrote.

    The site is of all specs of the profile, whichever are named; a file outside of specs/ has one of its own.
    """
    from harness.pipeline.stages import timed_stage

    if not specs:
        begin_drawing()
    for context, runs in resolve_specs(specs, profile, None, not brief, alternatives=False):
        with timed_stage(context, "report") as stage:
            everything = write_page(context, runs, brief)
            stage.made = f"a page of {len(everything)} claims"
        if brief:
            print_outcome(context, everything)


def site(profile: ProfileName = None) -> None:
    """Build the site of a profile from its committed tables and verdicts: `reports/<profile>/site/index.html`.

    Needs no TensorFlow and judges nothing. `report` builds it too, after it has written all verdicts.
    """
    begin_drawing()
    from harness.report.build import build_site

    for context, runs in resolve_specs(None, profile, None, True, alternatives=False):
        front = build_site(context, runs_on_page(context, runs))
        print_text(f"site: {front.relative_to(context.project.root)}")


def begin_drawing() -> None:
    """Let helpers read what draws, while this process reads specs and what draws."""
    from harness.pipeline.parallel import preload_helpers

    modules = ("harness.report.build", "matplotlib.figure", "matplotlib.backends.backend_svg")
    preload_helpers(None, project_here(), *modules)


def print_outcome(context: Context, verdicts: Sequence[Verdict]) -> None:
    """Print how many claims came out how, each claim that was decided on measurements, what is not as accepted, and
    where to look: the closing lines of a run."""
    from harness.report.build import accepted_verdicts, flagship_front, front, judged_specs_of
    from harness.report.claim_record import claim_records
    from harness.verdicts.counts import GROUPS, count

    records = claim_records(verdicts, judged_specs_of(context, runs_on_page(context, [])))
    print_text(f"profile {context.profile_name}: {len(verdicts)} claims")
    for row in count(verdicts):
        print_text(f"  {GROUPS[row.group]}: {row.total}: {row.text}")
    measured = [v for v in verdicts if v.certainty in ("stands", "by itself", "exploratory") and v.numbers.points]
    if measured and len(measured) <= MOST_LISTED:
        print_text("decided on models that this machine trained:")
        for v in measured:
            print_text(f"  {records[v.id].sign} {v.id}  {records[v.id].heading}")
    accepted = accepted_verdicts(context)
    moved = [v for v in verdicts if accepted.get(v.id, v.verdict) != v.verdict and not lacks_reference_engine(v)]
    for v in moved:
        print_text(f"  not as accepted: {v.id} is {v.verdict}, accepted is {accepted[v.id]}")
    if accepted and not moved:
        print_text(f"every verdict is as accepted in reports/{context.profile_name}/baseline.json")
    print_text(f"{'page of this run:':<18} {front(context).relative_to(context.project.root)}")
    following = "harness explain SPEC#CLAIM; harness status"
    if (other := flagship_front(context)) is not None:
        print_text(f"{'the deciding run:':<18} {other.relative_to(context.project.root)}")
        name = other.parents[1].name
        following += f"; harness run -p {name} SPEC goes on where the deciding run stopped"
    print_text(f"{'next:':<18} {following}")


def write_page(context: Context, runs: list[Run], brief: bool = False) -> tuple[Verdict, ...]:
    """Write the page that specs belong to; unless `brief`, print their verdicts and where it is. Returns the page's
    verdicts."""
    from harness.report.build import build, front

    everything = build(context, runs_on_page(context, runs))
    if brief:
        return everything.verdicts
    mine = {one.id for one in runs}
    print_verdicts([v for v in everything.verdicts if v.spec in mine])
    where = front(context).relative_to(context.project.root)
    others = len({v.spec for v in everything.verdicts} - mine)
    print(f"report: {where}" + (f" (with {others} other specs of the profile)" if others else ""))
    return everything.verdicts
