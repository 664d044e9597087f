"""`harness new paper`: its citation, a list of what can be checked in it, and a first claim."""

from __future__ import annotations

import datetime
import os
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from harness.commands.common import project_here
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.files import write_text
from harness.links import check_inside
from harness.spec.document import load_document

FILES = {"theory.yaml": "paper-theory.yaml.in", "_coverage.yaml": "paper-coverage.yaml.in"}
"""In the paper's folder, the template of each file."""


def write_paper(key: str) -> None:
    """Begin the declaration of a paper under its key, such as `lira2022`.

    Raises HarnessError, and writes nothing, where the key is none or the paper is there already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", key):
        raise HarnessError(f"{key!r} is no key of a paper; write it in lower case, such as lira2022")
    project = project_here()
    citations, folder = project.specs / "papers.yaml", project.specs / key
    check_inside(folder, project.root)
    known = load_document(citations).data if citations.exists() else {}
    if key in known:
        raise HarnessError(f"{citations}: has {key} already; nothing was written")
    if folder.exists():
        raise HarnessError(f"{folder}: is there already; nothing was written")
    schema = os.path.relpath(project.specs / "schema.json", folder)
    given = {"key": key, "schema": schema, "year": str(datetime.date.today().year)}
    written = {folder / name: _fill_in(template, given) for name, template in FILES.items()}
    before = citations.read_text(encoding="utf-8") if citations.exists() else ""
    separator = "" if before.endswith("\n") or not before else "\n"
    written[citations] = before + separator + _fill_in("paper-citation.yaml.in", given)
    for path, text in written.items():
        write_text(path, text)
        print_text(_from_here(path))
    print_text(f"next: fill in {_from_here(citations)} and the quotations; harness judge {key}/theory")


def _fill_in(template: str, given: dict[str, str]) -> str:
    return Template((files("harness.commands") / "templates" / template).read_text(encoding="utf-8")).substitute(given)


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
