"""Specs as they may be given away: a table outside of the project is called by its file's name, results by the way to
them from the spec.

Where it lies says who lives there. Verdicts do not depend on it: a spec is hashed with the same name
(`harness.paths.portable_path`), and its results are judged without the table.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from harness.errors import HarnessError
from harness.paths import portable_path
from harness.spec.load import Loaded


def portable_specs(loaded: Loaded) -> dict[Path, str]:
    """By file, the text of a spec, and of what it extends, where it differs from the file's: without folders of this
    machine in the path of a table or of results.

    Raises HarnessError where a path is written so that it cannot be replaced, as over several lines.
    """
    experiment, results = loaded.spec.own_experiment, loaded.spec.results
    arms = () if experiment is None else experiment.arms.values()
    declared = dict.fromkeys(getattr(arm.dataset, "path", "") for arm in arms)
    leading_out = [path for path in declared if portable_path(path) != path]
    if results is not None and Path(results.path).is_absolute():
        leading_out.append(results.path)
    changed: dict[Path, str] = {}
    replaced: set[str] = set()
    for file in sorted({*loaded.document.files, *loaded.raw.files}) if leading_out else ():
        text = file.read_text(encoding="utf-8")
        new = text
        for path in leading_out:
            # Results are in the archive too, and are found from the spec; a table is not.
            short = portable_path(path) if results is None else Path(os.path.relpath(path, file.parent)).as_posix()
            for written, shortened in _spellings(path, short):
                replaced |= {path} if written in new else set()
                new = new.replace(written, shortened)
        if new != text:
            changed[file] = new
    if replaced != {*leading_out}:
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
