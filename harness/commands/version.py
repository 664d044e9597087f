"""`harness --version`: the version of the package, and the commit of a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import harness
from harness.commands.tables import print_text
from harness.git import ask_git


def _print_version(asked: bool) -> None:
    if asked:
        print_text(version_line())
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_print_version, is_eager=True, help="Print the version, and of a checkout the commit."
    ),
]


def version_line() -> str:
    """The version, and where the package runs from a checkout its commit, marked where files differ from it."""
    root = Path(__file__).resolve().parents[2]
    commit = _commit_of(root) if (root / ".git").exists() else None
    return f"harness {harness.__version__}" + (f" (commit {commit})" if commit else "")


def _commit_of(root: Path) -> str | None:
    """None where git cannot tell."""
    commit = ask_git(root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return None if commit is None else commit.strip()
