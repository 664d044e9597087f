"""What commands share: options, the project at hand, tables and JSON on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from harness.paths import Project, find_project
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.pipeline import Context
    from harness.spec.load import Loaded

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[SPEC]...", help="Ids (paper/figure), papers or files; default: all.")
]
ProfileName = Annotated[str | None, typer.Option("--profile", "-p", help="Profile of params.yaml; default: its own.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Workers = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Worker processes; default: one a core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Root = Annotated[Path | None, typer.Option("--project", help="The checkout; default: found from here upwards.")]

console = Console()
state: dict[str, Any] = {}


def project_here() -> Project:
    return find_project(state.get("root"))


def context_for(profile: str | None, workers: int | None, quiet: bool) -> Context:
    from harness.execution.executor import default_workers
    from harness.pipeline import Context
    from harness.spec.profile import choose, load_params

    project = project_here()
    name, chosen = choose(load_params(project), profile)
    return Context(project, name, chosen, workers or default_workers(), Progress(quiet))


def load(project: Project, names: list[str] | None) -> list[Loaded]:
    from harness.spec.load import load_specs

    return load_specs(project, names or [])


def table_of(*columns: str) -> Table:
    """A table whose first column, the name that one types, is never cut."""
    table = Table(box=None, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, overflow="fold")
    return table


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


COLOURS = {"reproduced": "green", "violated": "red", "inconclusive": "yellow", "not run": "dim"}


def print_verdicts(verdicts: Any) -> None:
    table = table_of("claim", "verdict", "why")
    for v in verdicts:
        table.add_row(v.id, f"[{COLOURS[v.verdict]}]{v.verdict}[/]", v.reason)
    console.print(table)
