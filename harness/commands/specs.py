"""`harness list`, `validate`, `schema`: what specs there are, and whether they say what can be said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.common import AsJson, Names, console, load, print_json, project_here, table_of
from harness.errors import HarnessError
from harness.files import write_text

if TYPE_CHECKING:
    from harness.spec.load import Loaded


def list_specs(specs: Names = None, as_json: AsJson = False) -> None:
    """List specs with their place in the paper, their claims, and what they need."""
    rows: list[dict[str, Any]] = []
    for loaded in load(project_here(), specs):
        spec, experiment = loaded.spec, loaded.spec.experiment
        arms = experiment.arms if experiment else {}
        datasets = (
            []
            if spec.own_experiment is None
            else [arm.dataset.plugin_name() for arm in spec.own_experiment.arms.values()]
        )
        datasets = list(dict.fromkeys(datasets)) if spec.results is None else [spec.results.path]
        rows.append(
            {
                "id": spec.id,
                "where": spec.where,
                "title": spec.title,
                "claims": [c.id for c in spec.claims],
                "dataset": ", ".join(datasets) or None,
                "arms": list(arms),
                "axes": list(spec.axes),
                "attacks": list(spec.attack_names),
                "catalogue": sorted({c for claim in spec.claims for c in claim.catalogue}),
                "sha256": loaded.sha256,
            }
        )
    if as_json:
        print_json(rows)
        return
    table = table_of("spec", "where", "dataset", "arms", "attacks", "claims")
    for row in rows:
        names = (", ".join(row[key]) for key in ("arms", "attacks"))
        table.add_row(row["id"], row["where"], row["dataset"] or "theory", *names, str(len(row["claims"])))
    console.print(table)


def validate(specs: Names = None, as_json: AsJson = False) -> None:
    """Check specs without running anything: every fault with its file, line and field; exit 2 if there is one."""
    project = project_here()
    loaded = load(project, specs)
    if not specs:
        from harness.spec.profile import check_names
        from harness.spec.selection import check_decided_names

        check_names(project, [one.spec for one in loaded])
        check_decided_names(project, [one.spec for one in loaded])
    _check_results(loaded)
    if as_json:
        print_json([{"id": one.spec.id, "sha256": one.sha256, "valid": True} for one in loaded])
    else:
        print(f"{len(loaded)} specs are valid")


def _check_results(loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError for what is wrong in files of results, one line a file."""
    from harness.results.rows import read_rows

    faults = []
    for results in (one.spec.results for one in loaded):
        if results is not None and results.content_of_file is not None:
            try:
                read_rows(results, Path(results.content_of_file.path))
            except HarnessError as error:
                faults.append(str(error))
    if faults:
        raise HarnessError("\n".join(faults))


def schema(
    check: Annotated[bool, typer.Option("--check", help="Exit 2 if the committed schemas are out of date.")] = False,
) -> None:
    """Write the JSON Schemas: `specs/schema.json` for editors, `reports/verdicts.schema.json` for readers."""
    from harness.claims import verdict
    from harness.spec import schema as spec_schema

    project = project_here()
    files = {project.root / spec_schema.PATH: spec_schema.schema_text()}
    files[project.reports / "verdicts.schema.json"] = verdict.schema_text()
    for path, text in files.items():
        if check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                raise HarnessError(f"{path}: out of date; run `harness schema`")
        else:
            write_text(path, text)
            print(path.relative_to(project.root))
