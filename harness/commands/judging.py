"""`harness judge` and `report`: from measurements to verdicts, and to the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    COLOURS,
    AsJson,
    Names,
    ProfileName,
    Quiet,
    Workers,
    check_writable_file,
    contexts,
    print_json,
    print_verdicts,
    specs_on_page,
)
from harness.commands.explain import ClaimName, find_claim
from harness.commands.tables import print_text
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.pipeline.context import Context
    from harness.spec.load import Loaded


SAME_ELSEWHERE = {"reproduced": "agrees", "violated": "differs"}
"""What a required verdict is called off the paper's data."""


def judge(
    specs: Names = None,
    profile: ProfileName = None,
    require: Annotated[
        str | None, typer.Option(help="Exit 1 unless every claim has this verdict, such as `reproduced`.")
    ] = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Judge claims from measurements that are there; trains nothing and needs no TensorFlow."""
    from harness.claims.verdict import in_json
    from harness.pipeline.judging import write_all_verdicts
    from harness.pipeline.parallel import preload_helpers

    if require is not None and require not in COLOURS:
        raise HarnessError(f"--require {require!r}: unknown verdict; it is one of: {', '.join(COLOURS)}")
    if not specs:
        preload_helpers(workers)
    groups = contexts(specs, profile, workers, quiet)
    verdicts = [v for context, loaded in groups for of_spec in write_all_verdicts(context, loaded) for v in of_spec]
    if as_json:
        print_json([in_json(v) for v in verdicts])
    else:
        print_verdicts(verdicts)
    if require is not None and any(v.verdict not in (require, SAME_ELSEWHERE.get(require)) for v in verdicts):
        raise typer.Exit(1)


def report(specs: Names = None, profile: ProfileName = None) -> None:
    """Write `reports/<profile>/`: all verdicts, a Markdown summary and the site, from what `judge` wrote.

    The site is of all specs of the profile, whichever are named; a file outside of specs/ has one of its own.
    """
    if not specs:
        begin_drawing()
    for context, loaded in contexts(specs, profile, None, True, alternatives=False):
        write_page(context, loaded)


def site(profile: ProfileName = None) -> None:
    """Build the site of a profile from its committed tables and verdicts: `reports/<profile>/site/index.html`.

    Needs no TensorFlow and judges nothing. `report` builds it too, after it has written all verdicts.
    """
    begin_drawing()
    from harness.report.build import build_site

    for context, loaded in contexts(None, profile, None, True, alternatives=False):
        front = build_site(context, specs_on_page(context, loaded))
        print_text(f"site: {front.relative_to(context.project.root)}")


def bundle(
    claim: ClaimName,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: <claim>.crate.zip.")] = None,
    profile: ProfileName = None,
) -> None:
    """Pack a verdict with all that it needs, as an RO-Crate: spec, table, verdict, code, versions.

    The archive is a small checkout: unpacked, `harness judge` judges the claim again from the table in it.
    """
    from harness.report.bundle import bundle as pack

    context, loaded, name = find_claim(claim, profile)
    check_writable_file(out, "--out")
    target = out or Path(f"{loaded.spec.id.replace('/', '-')}--{name}.crate.zip")
    files = pack(context, loaded, name, target)
    print_text(f"{target}: {len(files)} files, {target.stat().st_size:,} bytes")


def begin_drawing() -> None:
    """Let helpers read what draws, while this process reads specs and what draws."""
    from harness.pipeline.parallel import preload_helpers

    preload_helpers(None, "harness.report.build", "matplotlib.figure", "matplotlib.backends.backend_svg")


def write_page(context: Context, loaded: list[Loaded]) -> None:
    """Write the page that specs belong to; print their verdicts and where it is."""
    from harness.report.build import build, front

    everything = build(context, specs_on_page(context, loaded))
    mine = {one.spec.id for one in loaded}
    print_verdicts([v for v in everything.verdicts if v.spec in mine])
    where = front(context).relative_to(context.project.root)
    others = len({v.spec for v in everything.verdicts} - mine)
    print(f"report: {where}" + (f" (with {others} other specs of the profile)" if others else ""))
