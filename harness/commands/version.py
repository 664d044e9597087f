"""`harness --version`: the version of the package, and the commit of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

import harness
from harness.commands.tables import print_text


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
    asked = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
