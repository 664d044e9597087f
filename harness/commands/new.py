"""`harness new`: a working file of each sort to start from, with a test that passes."""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Literal

import typer

from harness.commands.common import project_here
from harness.commands.new_paper import write_paper
from harness.commands.new_project import write_project
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.files import write_text
from harness.links import check_inside

Sort = Literal["project", "paper", "spec", "results", "attack", "dataset", "formula", "claim"]

TEMPLATES = files("harness.commands") / "templates"
"""What is written, with `$name` and the like in the place of names."""


def new(
    sort: Annotated[
        Sort, typer.Argument(metavar="project|paper|spec|results|attack|dataset|formula|claim", help="What to begin.")
    ],
    name: Annotated[
        str,
        typer.Argument(help="Lower case, with hyphens; of `results`, the file with them; of `project`, its folder."),
    ],
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="Default: specs/own; here for results; or a folder of its name."),
    ] = None,
    install: Annotated[
        str | None,
        typer.Option(
            "--install",
            metavar="REQUIREMENT",
            help="What a project's workflow installs to judge, as pip takes it; default: this version.",
        ),
    ] = None,
) -> None:
    """Begin a project, a paper, a spec, or a package with an attack, a data set, a formula or a kind of claim; with a
    test that passes.

    `project FOLDER` writes a folder to run in: an example spec, a profile, citations, a workflow for GitHub.
    `paper KEY` begins the claims of a paper: its citation, a list of what can be checked in it, a first claim.
    `results FILE` begins a spec on results from elsewhere, CSV or Parquet: it says what it guessed of the columns. A
    package's `pip install -e .` makes it known to the harness. Nothing that is there is overwritten.
    """
    if sort == "project":
        if into is not None:
            raise HarnessError("new project: FOLDER says where it is written; leave --into out")
        write_project(Path(name), install)
        return
    if install is not None:
        raise HarnessError("--install: says what a project's workflow installs; it is only for `harness new project`")
    if sort == "paper":
        if into is not None:
            raise HarnessError("new paper: its claims go below specs/, in a folder of its key; leave --into out")
        write_paper(name)
        return
    if sort == "results":
        _write_results_spec(Path(name), into)
        return
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise HarnessError(f"{name!r} is no name; write it in lower case, with hyphens, such as my-{sort}")
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        raise HarnessError(f"{name!r} is a word of Python's; choose another")
    if sort != "spec":
        _check_name_is_free(sort, name, module)
    if sort == "spec":
        written = _spec_file(name, into)
    else:
        folder = into or Path(name)
        given = {"name": name, "module": module, "cls": "".join(part.capitalize() for part in name.split("-"))}
        written = {
            folder / "pyproject.toml": _fill_in("pyproject.toml", given),
            folder / f"{module}.py": _fill_in(f"{sort}.py", given),
            folder / "tests" / f"test_{module}.py": _fill_in(f"test_{sort}.py", given),
        }
    existing = [path for path in written if path.exists()]
    if existing:
        raise HarnessError(f"{existing[0]}: is there already; nothing was written")
    for path, text in written.items():
        write_text(path, text)
        print_text(str(path))
    if sort == "spec":
        typed = shlex.quote(str(next(iter(written))))
        print_text(f"next: harness validate {typed}, then harness run {typed}")
    else:
        typed = shlex.quote(str(folder))
        print_text(f"next: pip install -e {typed}; python -m pytest {typed}")


def _check_name_is_free(sort: Sort, name: str, module: str) -> None:
    """Raises HarnessError where a Python module or a plug-in of that name exists."""
    from harness.attacks.attack import ATTACKS
    from harness.claims.expectation import CLAIM_KINDS
    from harness.data.dataset import DATASETS
    from harness.formulas import FORMULAS
    from harness.spec import model  # noqa: F401  (registers all that there are)

    if importlib.util.find_spec(module) is not None:
        raise HarnessError(f"{name!r}: a Python module {module} is there already; choose another name")
    known = {
        "attack": ATTACKS.names(),
        "dataset": DATASETS.names(),
        "formula": list(FORMULAS),
        "claim": CLAIM_KINDS.names(),
    }
    if name in known[sort]:
        raise HarnessError(f"{name!r}: a name of the harness' own, among: {', '.join(known[sort])}")


def _spec_file(name: str, into: Path | None) -> dict[Path, str]:
    """Path and text of a new spec. Raises HarnessError where the usual folder leads out of the project."""
    project = project_here()
    path = (into or project.specs / "own") / f"{name}.yaml"
    if into is None:
        check_inside(path, project.root)
    schema = os.path.relpath(project.specs / "schema.json", path.parent)
    try:
        shown = path.resolve().relative_to(Path.cwd())
    except ValueError:
        shown = path
    return {shown: _fill_in("spec.yaml", {"name": name, "path": shlex.quote(str(shown)), "schema": schema})}


def _write_results_spec(path: Path, into: Path | None) -> None:
    """Write a spec on a file of results, and print what was guessed of its columns.

    Raises HarnessError for a file that holds no results, or no column that could be a metric, with the first cell that
    keeps one from it.
    """
    from harness.data.cells import guess_separator
    from harness.experiment.results import ResultsFile
    from harness.results.cells import read_results
    from harness.results.draft import draft_spec
    from harness.results.guess import guess_columns

    target = (into or Path()) / f"{re.sub(r'[^a-z0-9]+', '-', path.stem.lower()).strip('-') or 'results'}.yaml"
    if target.exists():
        raise HarnessError(f"{target}: is there already; nothing was written")
    separator = guess_separator(path) if path.is_file() else ","
    asked = ResultsFile(path=str(path), format="scores", attacks={"any": {}}, separator=separator)
    try:
        guess = guess_columns(read_results(asked, path.absolute()))
    except HarnessError as error:  # there is no spec yet that could name an encoding
        raise HarnessError(re.sub(r"; write (the )?`encoding.*", "; save it as UTF-8", str(error))) from None
    if guess.format != "scores" and not guess.metrics:
        what = next(iter(guess.doubtful.values()), f"{path}: no column of numbers that could be a metric")
        raise HarnessError(what if guess.doubtful else f"{what}; name its columns, or write the spec")
    written_path = Path(os.path.relpath(path.absolute(), target.absolute().parent)).as_posix()
    if separator != ",":
        guess.separator = separator
        guess.why.append(f"separator {separator!r}: the header has most of it")
    write_text(target, draft_spec(guess, written_path, f"Results in {path.name}"))
    print_text(str(target))
    for line in guess.why:
        print_text(f"  {line}")
    typed = shlex.quote(str(target))
    print_text(f"next: check {typed}, write your claims, then harness run {typed}")


def _fill_in(template: str, given: Mapping[str, str]) -> str:
    return Template((TEMPLATES / f"{template}.in").read_text(encoding="utf-8")).substitute(given)
