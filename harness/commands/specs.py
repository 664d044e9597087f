"""`harness validate` and `schema`: whether specs say what can be said, and what that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import AsJson, Names, load, print_json, project_here
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.files import write_text
from harness.paths import Project

if TYPE_CHECKING:
    from harness.spec.coverage import Listed
    from harness.spec.load import Loaded


Papers = Annotated[
    list[Path] | None,
    typer.Option(
        "--paper",
        metavar="TEXT",
        help="A text of the paper that the specs are of, `<paper>.txt`, or a folder of such; may be repeated.",
    ),
]


def validate(specs: Names = None, paper: Papers = None, as_json: AsJson = False) -> None:
    """Check specs, lists of what can be checked in a paper, and what pages are made of, without running anything: every
    fault with its file, line and field; exit 2 if there is one. A paper's claim is tried on the numbers that the same
    paper prints; one that they contradict has to say so (against_printed), and one with a tolerance where that comes
    from (tolerance_from).

    With --paper, quotations are compared with the paper's text, letter by letter but for what typesetting adds. Those
    that stand in it are noted in specs/quotations.json, without the text. A claim of a paper with a quotation that is
    not noted there is shown as not compared, and not counted as the paper's.
    """
    from harness.report.page_inputs import check_page_inputs, describe_uncited_papers
    from harness.spec.corrected import check_corrected
    from harness.spec.coverage import check_coverage
    from harness.spec.recording import check_declared
    from harness.spec.tolerances import check_tolerances
    from harness.verdicts.printed import check_printed_numbers

    project = project_here()
    loaded = load(project, specs)
    if not specs:
        from harness.spec.profile import check_names
        from harness.spec.selection import check_decided_names

        check_names(project, [one.spec for one in loaded])
        check_decided_names(project, [one.spec for one in loaded])
    _check_results(loaded)
    check_corrected(loaded)
    check_printed_numbers(loaded)
    check_tolerances(loaded)
    check_declared(project, loaded)
    check_page_inputs(project, loaded)
    listed = check_coverage(project, loaded)
    if paper:
        summary = _compare_quotations(project, loaded, listed, paper)
        if not as_json:
            print_text(summary)
    if as_json:
        print_json([{"id": one.spec.id, "sha256": one.sha256, "valid": True} for one in loaded])
    else:
        print_text(f"{len(loaded)} specs are valid")
        if uncited := describe_uncited_papers(project, loaded):
            print_text(uncited)


def _compare_quotations(
    project: Project, loaded: Sequence[Loaded], listed: Sequence[Listed], paths: Sequence[Path]
) -> str:
    """Compare quotations of specs and lists with texts, note those that stand in them, and say how many. Raises
    HarnessError with a line on each that does not."""
    from harness.spec.quotations import compare_quotations, note_compared, quotations_of, read_texts

    quoting = [one for one in loaded if any(True for _ in quotations_of(one.spec))]
    papers = tuple(dict.fromkeys([one.spec.paper for one in quoting] + [one.paper for one in listed]))
    if not papers:
        raise HarnessError("--paper: none of these specs quotes a paper")
    texts = read_texts(paths, papers)
    compared, faults = dict[str, list[str]](), list[str]()
    for one in quoting:
        if one.spec.paper in texts:
            keys, wrong = compare_quotations(one.spec, one.document, texts[one.spec.paper])
            compared.setdefault(one.spec.paper, []).extend(keys)
            faults += wrong
    for places in listed:
        if places.paper in texts:
            keys, wrong = places.compare(texts[places.paper])
            compared.setdefault(places.paper, []).extend(keys)
            faults += wrong
    if faults and not any(compared.values()):
        raise HarnessError(
            f"--paper {paths[0]}: none of {len(faults)} quotations is in it; give the text that is quoted"
        )
    path = note_compared(project, compared)
    if faults:
        raise HarnessError(*faults)
    count = sum(map(len, compared.values()))
    left = sorted(set(papers) - set(compared))
    others = f"; no text of {', '.join(left)}" if left else ""
    return f"{count} quotations stand in the texts of {', '.join(compared)}{others}; noted in {path.name}"


def _check_results(loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError for what is wrong in files of results, one line a file."""
    from harness.results.rows import read_rows

    faults = list[str]()
    for results in (one.spec.results for one in loaded):
        if results is not None and results.content_of_file is not None:
            try:
                read_rows(results, Path(results.content_of_file.path))
            except HarnessError as error:
                faults += error.lines
    if faults:
        raise HarnessError(*faults)


def schema(
    check: Annotated[bool, typer.Option("--check", help="Exit 2 if the committed schemas are out of date.")] = False,
) -> None:
    """Write the JSON Schemas: `specs/schema.json` for editors, and in `reports/` that of verdicts and of the feed."""
    from harness.claims import verdict
    from harness.report import feed
    from harness.spec import schema as spec_schema

    project = project_here()
    files = {project.root / spec_schema.PATH: spec_schema.schema_text()}
    files[project.reports / "verdicts.schema.json"] = verdict.schema_text()
    files[project.reports / "feed.schema.json"] = feed.schema_text()
    for path, text in files.items():
        if check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                raise HarnessError(f"{path}: out of date; run `harness schema`")
        else:
            write_text(path, text)
            print_text(str(path.relative_to(project.root)))
