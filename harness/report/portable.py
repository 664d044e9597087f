"""Specs as they may be given away: a table outside of the project is called by its file's name.

Where it lies says who lives there. Verdicts do not depend on it: a spec is hashed with the same name
(`harness.paths.portable_path`), and its results are judged without the table.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import HarnessError
from harness.paths import Project, portable_path
from harness.spec.load import Loaded


def portable_specs(project: Project, loaded: Loaded) -> dict[Path, str]:
    """By file, the text of a spec, and of what it extends, that differs from the file's: without folders outside of the
    project in the path of a table.

    Raises HarnessError where a path is written so that it cannot be replaced, as over several lines.
    """
    experiment = loaded.spec.own_experiment
    arms = () if experiment is None else experiment.arms.values()
    declared = dict.fromkeys(getattr(arm.dataset, "path", "") for arm in arms)
    leading_out = [path for path in declared if portable_path(path) != path]
    changed: dict[Path, str] = {}
    for file in sorted({*loaded.document.files, *loaded.raw.files}) if leading_out else ():
        text = file.read_text(encoding="utf-8")
        new = text
        for path in leading_out:
            name = portable_path(path)
            for written, short in _spellings(path, name):
                new = new.replace(written, short)
        if new != text:
            changed[file] = new
    if leading_out and not changed:
        raise HarnessError(
            f"{loaded.raw.files[0]}: the path of a table leads out of the project, and is written so that it cannot be "
            "taken out of what a bundle holds; write it on one line, or copy the table into the project"
        )
    return changed


def _spellings(path: str, name: str) -> list[tuple[str, str]]:
    """How YAML may write a path, in quotes or without, with its file's name written alike; the longest first."""
    pairs = {(path, name), (path.replace("'", "''"), name.replace("'", "''"))}
    pairs |= {(json.dumps(path, ensure_ascii=a)[1:-1], json.dumps(name, ensure_ascii=a)[1:-1]) for a in (True, False)}
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair))
