"""`dvc.yaml`, from the specs and the profile that `params.yaml` selects; `flagship/dvc.yaml`, of its flagship.

A spec is named by its file alone. Specs of which the profile decides nothing have no stages. A stage depends on the
whole of `harness/`: an edit there re-enters it, and the store answers for what the edit left as it was. Outside of the
checkout the code is an installed package: stages then depend on `requirements.txt`, where there is one, in its place.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
import yaml

from harness.data.dataset import TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.escaping import visible_json
from harness.pipeline.context import Context, Run
from harness.pipeline.results import results_file
from harness.pipeline.sources import source_of_run
from harness.spec.functions import files_of_functions
from harness.spec.plugin_packages import REQUIREMENTS

PLAIN = re.compile(r"[\w./${}-]+")
"""Paths that YAML may read as they are."""


def pipeline_text(context: Context, specs: Sequence[Run]) -> str:
    """`dvc.yaml`, for the specs of the profile."""
    used = [d for one in specs for d in source_of_run(one).datasets(one)]
    fetched = sorted({d.name for d in used if isinstance(d, TableDataset) and not isinstance(d, CsvTable)})
    return _render(
        "dvc.yaml.in",
        context,
        specs,
        fetched=fetched,
        code_of_data=_paths_of_code(context.project.root, "harness/data"),
        data=[*(f"data/{name}" for name in fetched), *map(_literal, _own_tables(context, specs))],
    )


def flagship_text(context: Context, specs: Sequence[Run]) -> str:
    """`flagship/dvc.yaml`: the flagship, whose tables and resolved specs are in git; a stage for each spec, since some
    take hours."""
    return _render(
        "flagship.yaml.in",
        context,
        specs,
        profile=context.profile_name,
        data=[_literal(path) for path in _own_tables(context, specs)],
    )


def _render(template: str, context: Context, specs: Sequence[Run], **given: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.pipeline"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"each": _list_items, "each_uncached": _list_uncached, "lines": _lines, "words": shlex.join}
    environment.filters |= {"scalar": _scalar, "listed": _flow_items}
    measured = [one.id for one in specs if not one.is_of_theory]
    theory = [one.id for one in specs if one.is_of_theory]
    papers = dict.fromkeys(one.split("/")[0] for one in (*measured, *theory))
    docs = ["docs"] if (context.project.root / "docs").is_dir() else []
    return environment.get_template(template).render(
        at=lambda names, pattern: [pattern.replace("*", name) for name in names],
        code=_paths_of_code(context.project.root, "harness"),
        measured=measured,
        sequential=context.is_sequential,
        theory=theory,
        shown=[*docs, *(f"reports/${{profile}}/{paper}" for paper in papers)],
        **given,
    )


def _paths_of_code(root: Path, folder: str) -> list[str]:
    """What a stage that rests on a folder of the code depends on, from the project's root."""
    if (root / "harness" / "pipeline" / Path(__file__).name).is_file():
        return [folder]
    return [REQUIREMENTS] if (root / REQUIREMENTS).is_file() else []


def _own_tables(context: Context, specs: Sequence[Run]) -> list[str]:
    """Paths of one's own tables, files of results and training functions."""
    tables = {d.path for one in specs for d in source_of_run(one).datasets(one) if isinstance(d, CsvTable)}
    files = [results_file(one.spec.results) for one in specs if one.spec.results]
    files += [path for one in specs for path in files_of_functions(one.spec)]
    return sorted(tables | {_path_in_project(context, path) for path in files})


def _path_in_project(context: Context, file: Path) -> str:
    """From the checkout's root, where it is in it."""
    path, root = file.resolve(), context.project.root.resolve()
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def _list_items(paths: Iterable[str], indent: int = 6) -> str:
    return "\n".join(f"{' ' * indent}- {_scalar(path)}" for path in paths)


def _literal(path: str) -> str:
    """A path in which DVC fills in nothing."""
    return path.replace("${", "\\${")


def _scalar(text: str) -> str:
    """Text as YAML has it, in quotes where it would be read as something else, such as a comment or a number."""
    is_number = "/" not in text and text[:1] in "+-.0123456789"  # versions of YAML differ in what is one
    if PLAIN.fullmatch(text) and not is_number and yaml.safe_load(text) == text:
        return text
    return visible_json(json.dumps(text, ensure_ascii=False))


def _list_uncached(paths: Iterable[str], *options: str) -> str:
    """Outputs that DVC hashes and does not keep, each with more options."""
    return "\n".join(f"      - {_scalar(path)}: {{{', '.join(('cache: false', *options))}}}" for path in paths)


def _flow_items(names: Iterable[str]) -> str:
    """Items of a list that YAML has between brackets; none of them may hold `${`, which DVC fills in elsewhere only."""
    return _wrap(", ".join(map(_scalar, names)))


def _lines(specs: Iterable[str]) -> str:
    """Words for a shell, in a command that YAML folds into one line."""
    return _wrap(shlex.join(specs))


def _wrap(text: str) -> str:
    """Text on lines of 120 characters."""
    wrap = textwrap.TextWrapper(120, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False)
    wrap.break_long_words = wrap.replace_whitespace = wrap.expand_tabs = False
    return wrap.fill(text)
