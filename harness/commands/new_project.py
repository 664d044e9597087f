"""`harness new project`: a folder that `harness run` works in and that GitHub judges on every commit."""

from __future__ import annotations

import datetime
import json
import os
import shlex
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
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


PACKAGE = "mi-dp-harness"


def write_project(folder: Path, requirement: str | None = None) -> None:
    """Write a project and print its files, what its workflow installs, and what to type next.

    `requirement`: what the workflow installs to judge, as pip takes it; default: this version, from where it came.
    Raises HarnessError, and leaves everything as it was, where the folder is none or has something in it, and for what
    is no requirement.
    """
    _check_empty(folder)
    installed = _own_requirement() if requirement is None else _check_requirement(requirement)
    target = folder.resolve()
    given = {"name": target.name or "project", "version": harness.__version__, "year": str(datetime.date.today().year)}
    given["requirement"] = json.dumps(installed, ensure_ascii=False)
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
    print_text(f"the workflow installs {installed}; --install names another source")
    where = "" if target == Path.cwd() else f"cd {shlex.quote(str(folder))}; "
    print_text(f"next: {where}harness validate; harness run; harness compare --update")


def _own_requirement() -> str:
    """What installs this version of the harness, as pip takes it: the commit of a public repository that it was
    installed from, else this version in the package index; other machines have no folder of this one."""
    try:
        origin = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
        url, commit = origin["url"], origin["vcs_info"]["commit_id"]
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return f"{PACKAGE}=={harness.__version__}"
    return f"{PACKAGE} @ git+{url}@{commit}" if url.startswith("https://") else f"{PACKAGE}=={harness.__version__}"


def _check_requirement(text: str) -> str:
    """The requirement without blanks around it. Raises HarnessError for what pip would not take for one package."""
    requirement = text.strip()
    if not requirement or not requirement.isprintable() or requirement.startswith("-") or "${{" in requirement:
        raise HarnessError(
            f"--install {text!r}: is no package, as pip takes it; right is {PACKAGE}=={harness.__version__}, or "
            f"{PACKAGE} @ git+https://HOST/OWNER/NAME@TAG"
        )
    return requirement


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
