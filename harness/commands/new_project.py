"""`harness new project`: a folder that `harness run` works in and that another repository's CI can judge."""

from __future__ import annotations

import datetime
import os
import shlex
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template

import harness
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.files import write_text

FILES = {
    "params.yaml": "params.yaml",
    "specs/example/mixture.yaml": "spec.yaml",
    "specs/papers.yaml": "papers.yaml",
    "requirements.txt": "requirements.txt",
    ".gitignore": "gitignore",
    ".github/workflows/claims.yml": "workflow.yml",
    "README.md": "README.md",
}
"""By path in the project, the template."""
MAY_BE_THERE = frozenset({".git"})
"""What a folder may hold and count as empty."""


def write_project(folder: Path) -> None:
    """Write a project and print its files and what to type next.

    Raises HarnessError, and leaves everything as it was, where the folder is none or has something in it.
    """
    _check_empty(folder)
    target = folder.resolve()
    given = {"name": target.name or "project", "version": harness.__version__, "year": str(datetime.date.today().year)}
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as temporary:
        whole = Path(temporary) / "project"
        for path, template in FILES.items():
            text = (files("harness.commands") / "templates" / f"project-{template}.in").read_text(encoding="utf-8")
            write_text(whole / path, Template(text).substitute(given))
        if target.exists():
            for one in sorted(whole.iterdir()):
                one.rename(target / one.name)
        else:
            whole.rename(target)
    for path in FILES:
        print_text(os.path.join(folder, path))  # noqa: PTH118  (a Path would lose what was typed, such as `.`)
    where = "" if target == Path.cwd() else f"cd {shlex.quote(str(folder))}; "
    print_text(f"next: {where}harness validate; harness run; harness compare --update")


def _check_empty(folder: Path) -> None:
    """Raises HarnessError for what is no folder, or has something in it."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise HarnessError(f"{folder}: is no folder; name one that is empty or not there; nothing was written")
    names = sorted({path.name for path in folder.iterdir()} - MAY_BE_THERE)
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        raise HarnessError(
            f"{folder}: is not empty, it has {names[0]}{more}; name a folder that is empty or not there; "
            "nothing was written"
        )
