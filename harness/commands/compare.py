"""`harness compare`: the verdicts now against the committed ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    AsJson,
    Names,
    ProfileName,
    Quiet,
    Workers,
    check_writable_file,
    lacks_reference_engine,
    print_json,
    project_here,
    resolve_specs,
)
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.escaping import markdown_code, markdown_text, visible_text
from harness.files import write_text

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.verdicts.baseline import Difference


MOST_TOLERANCE = 1.0
"""As far apart as the shares of records that most metrics are can be."""


def compare(
    specs: Names = None,
    profile: ProfileName = None,
    update: Annotated[
        bool, typer.Option("--update", help="Accept what is found: write it as the new baseline.")
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="With --update: accept means within so much of these, in place of tables of the same bytes. "
            "For a profile whose tables are not committed.",
        ),
    ] = None,
    baseline_file: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Compare with this file in place of the profile's own, such as the one of the base branch.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result as JUnit XML, one test case a claim.")
    ] = None,
    summary: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as Markdown.")] = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Judge all claims again from the measurements that are there, and compare with `reports/<profile>/baseline.json`.

    Exit 1 if a verdict differs, a claim is new or gone, or a spec or a table of measurements is not the accepted one.
    A claim that is not run for want of the reference engine is not compared. Needs no TensorFlow and trains nothing.
    Nothing under `reports/` changes, but for the baseline with --update.
    """
    from harness.pipeline.judging import judge_all
    from harness.pipeline.parallel import preload_helpers
    from harness.pipeline.sources import baseline_means, source_of_run
    from harness.verdicts import baseline

    if tolerance is not None and not update:
        raise HarnessError("--tolerance is only for --update; without it, the baseline's own tolerance holds")
    if tolerance is not None and not tolerance <= MOST_TOLERANCE:
        raise HarnessError(
            f"--tolerance {tolerance:g}: would accept whatever is found; give a distance of means up to "
            f"{MOST_TOLERANCE:g}, such as 0.05"
        )
    if baseline_file is not None and update:
        raise HarnessError("--baseline: is read, and --update writes the profile's own; leave out one of them")
    for file, option in ((junit, "--junit"), (summary, "--summary")):
        check_writable_file(file, option)
    if not specs:
        preload_helpers(workers, project_here())
    all_verdicts, differences, not_compared, profile_names = [], [], list[str](), []
    groups = resolve_specs(specs, profile, workers, quiet)
    if baseline_file is not None and len(groups) > 1:
        raise HarnessError("--baseline: is of one profile; name its specs, or one file outside of specs/, alone")
    for context, runs in groups:
        path = context.page / "baseline.json"
        profile_given = () if context.own is not None else ("--profile", context.profile_name)
        writes = shlex.join(["harness", "compare", "--update", *profile_given, *(specs or ())])
        if baseline_file is not None:
            accepted: baseline.Baseline | None = baseline.read_of_profile(baseline_file, context.profile_name)
        else:
            accepted = baseline.read(path, writes) if path.is_file() else None
        tolerance_in_use = tolerance if tolerance is not None or accepted is None else accepted.tolerance
        judged = dict(zip((one.id for one in runs), judge_all(context, runs), strict=True))
        now = baseline.gather(
            context.profile_name,
            [(one.declared, source_of_run(one).file(one), judged[one.id]) for one in runs],
            tolerance_in_use,
            {} if tolerance_in_use is None else {one.id: baseline_means(one) for one in runs},
            context.is_sequential,
        )
        if accepted is None and not update:
            baseline.read(path, writes)  # says what is missing, after faults of what is there
        if accepted is not None and specs:  # a part is compared, and accepted, as a part
            others = {k: v for k, v in accepted.specs.items() if k not in now.specs}
            now = now.model_copy(update={"specs": {**others, **now.specs}})
        verdicts = [v for of_spec in judged.values() for v in of_spec]
        left_out = {v.id: v.reason for v in verdicts if lacks_reference_engine(v)}
        found = [] if accepted is None else baseline.compare(accepted, now)
        differences += [one for one in found if one.where not in left_out]
        not_compared += [f"{where}: not compared: {reason}" for where, reason in left_out.items()]
        all_verdicts += verdicts
        profile_names.append(context.profile_name)
        if update:
            write_text(path, baseline.text(now))
    name = ", ".join(dict.fromkeys(profile_names))
    if junit is not None:
        write_text(junit, _junit(name, all_verdicts, differences))
    if summary is not None:
        write_text(summary, _markdown(name, all_verdicts, differences))
    if as_json:
        shown = [d.model_dump() for d in differences]
        print_json({"profile": name, "claims": len(all_verdicts), "differences": shown, "updated": update})
    else:
        for line in not_compared:
            print_text(line)
        for d in differences:
            print_text(f"{d.where}: {d.what}")
        outcome = "accepted" if update else f"{len(differences)} differences" if differences else "as accepted"
        print_text(f"profile {name}: {len(all_verdicts)} claims judged, {outcome}")
    if differences and not update:
        raise typer.Exit(1)


def _junit(profile: str, verdicts: list[Verdict], differences: list[Difference]) -> str:
    """A test case a claim; a difference is a failure, of a claim or of its whole spec."""
    from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
    from junitparser.junitparser import FinalResult

    by_place: dict[str, list[str]] = {}
    for d in differences:
        by_place.setdefault(d.where, []).append(d.what)
    suites: dict[str, TestSuite] = {}

    def add(spec: str, name: str, result: list[FinalResult]) -> None:
        case = TestCase(name, classname=spec)
        case.result = result
        suites.setdefault(spec, TestSuite(f"{spec} ({profile})")).add_testcase(case)

    for v in verdicts:
        faults = by_place.pop(v.id, [])
        result: list[FinalResult] = [Failure(f"{what}: {v.reason}") for what in faults]
        if not result and v.verdict == "not run":
            result = [Skipped(v.reason)]
        add(v.spec, f"{v.id.split('#')[1]}: {v.verdict}", result)
    for where, faults in by_place.items():
        add(where.split("#")[0], where.partition("#")[2] or "spec and measurements", [Failure("; ".join(faults))])
    xml = JUnitXml(f"harness compare ({profile})")
    for suite in suites.values():
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    encoded: bytes = xml.tostring()  # type: ignore[no-untyped-call]
    return visible_text(encoded.decode())  # XML has no control characters


def _markdown(profile: str, verdicts: list[Verdict], differences: list[Difference]) -> str:
    from harness.report.summary import counts_table

    lines = [f"# Claims, profile `{profile}`", "", *counts_table(verdicts), ""]
    if not differences:
        lines.append("All as accepted.")
    else:
        lines += ["| where | difference from the baseline |", "| --- | --- |"]
        lines += [f"| {markdown_code(d.where)} | {markdown_text(d.what)} |" for d in differences]
    return "\n".join(lines) + "\n"
