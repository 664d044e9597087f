"""`harness list`, `validate`, `schema`: what specs there are, and whether they say what can be said."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from harness.commands.common import AsJson, Names, console, load, print_json, project_here, table_of
from harness.errors import HarnessError
from harness.files import write_text


def list_specs(specs: Names = None, as_json: AsJson = False) -> None:
    """List specs with their place in the paper, their claims, and what they need."""
    rows: list[dict[str, Any]] = []
    for loaded in load(project_here(), specs):
        spec, experiment = loaded.spec, loaded.spec.experiment
        arms = experiment.arms if experiment else {}
        datasets = dict.fromkeys(arm.dataset.plugin_name() for arm in arms.values())
        rows.append(
            {
                "id": spec.id,
                "where": spec.where,
                "title": spec.title,
                "claims": [c.id for c in spec.claims],
                "dataset": ", ".join(datasets) or None,
                "arms": list(arms),
                "axes": list(spec.axes),
                "attacks": list(spec.attacks),
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

        check_names(project, [one.spec for one in loaded])
    if as_json:
        print_json([{"id": one.spec.id, "sha256": one.sha256, "valid": True} for one in loaded])
    else:
        print(f"{len(loaded)} specs are valid")


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
