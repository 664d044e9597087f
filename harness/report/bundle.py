"""A verdict with all that it needs to be judged again, as an RO-Crate: spec, table, verdict, code, versions.

RO-Crate (https://w3id.org/ro/crate): a ZIP file whose `ro-crate-metadata.json` says what each file is.
"""

from __future__ import annotations

import datetime
import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import tracking
from harness.claims.verdict import Verdict, in_json
from harness.errors import HarnessError
from harness.files import atomic_path
from harness.pipeline.context import Context
from harness.pipeline.judging import measured_file, read_verdict
from harness.report.prose import sentence
from harness.report.vocabulary import letters
from harness.spec.load import Loaded

PROJECT_FILES = ("LICENSE", "CITATION.cff", "pyproject.toml", "requirements.lock", "params.yaml")
README = """\
# {verdict}: {statement}

{paper}, {where}.

{sentence}

## Judge it again

This archive is a small checkout: the spec, the table of measurements, the verdict and the code that judged it. With
Python 3.11, in the folder that it was unpacked to:

    python3.11 -m venv .venv
    .venv/bin/python -m pip install --no-deps --require-hashes -r requirements.lock
    .venv/bin/python -m {command}

`verdict.json` has every number, and by which code, on which machine and from which data it was measured.
"""


def bundle(context: Context, loaded: Loaded, claim: str, target: Path) -> list[str]:
    """Write the RO-Crate of a claim's verdict to `target`, atomically; returns the names of the files in it.

    Raises HarnessError for a claim that the spec does not have, or that was not judged under the profile.
    """
    from rocrate.rocrate import ROCrate

    verdict = read_verdict(context, loaded, claim)
    root = context.project.root
    crate = ROCrate()
    crate.name = f"{verdict.verdict}: {letters(verdict.statement)}"
    crate.description = sentence(verdict, context.scale(loaded).spec)
    crate.license = "https://spdx.org/licenses/MIT"
    crate.datePublished = _date(context)
    added: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path, about in _files(context, loaded):
            name = path.relative_to(root).as_posix()
            properties = {"name": about, "contentSize": str(path.stat().st_size)}
            added[name] = crate.add_file(path, dest_path=name, properties=properties)
        made = {
            "verdict.json": json.dumps(in_json(verdict), indent=1, ensure_ascii=False) + "\n",
            "README.md": _readme(context, loaded, verdict),
        }
        for name, text in made.items():
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8")
            added[name] = crate.add_file(path, dest_path=name, properties={"name": name.partition(".")[0]})
        crate.add(_judging_action(crate, context, loaded, added))
        with atomic_path(target) as temporary:
            crate.write_zip(temporary.with_suffix(".zip"))
            temporary.with_suffix(".zip").replace(temporary)
    return sorted(added)


def _date(context: Context) -> datetime.datetime:
    """The date of the commit, so that a checkout always gives the same crate; the present time outside of git."""
    asked = ["git", "-C", str(context.project.root), "log", "-1", "--format=%cI"]
    try:
        output = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        return datetime.datetime.fromisoformat(output)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return datetime.datetime.now(datetime.UTC)


def _files(context: Context, loaded: Loaded) -> Iterator[tuple[Path, str]]:
    """Every file that the verdict follows from, with a description."""
    root = context.project.root
    for name in PROJECT_FILES:
        if (root / name).is_file():
            yield root / name, {"requirements.lock": "versions of every package, by hash"}.get(name, name)
    paths = sorted({*loaded.document.files, *loaded.raw.files})
    for path in paths:
        _archive_name(context, path)
        yield path, f"spec {loaded.spec.id}" if path == loaded.document.files[0] else "what the spec extends"
    if loaded.spec.results is not None:
        results = measured_file(context, loaded).resolve()
        _archive_name(context, results)
        yield results, "results from elsewhere"
    for path in (context.project.specs / "papers.yaml", context.measurements_file(loaded.spec.id)):
        if path.is_file():
            yield path, "table of measurements" if path.suffix == ".parquet" else "citations"
    for path in sorted((context.folder(loaded.spec.id) / "readings").glob("*/measurements.parquet")):
        yield path, f"table of measurements in the reading {path.parent.name}"
    yield context.verdicts_file(loaded.spec.id), f"verdicts of {loaded.spec.id}"
    package = Path(__file__).resolve().parents[1]
    code = root / "harness"
    if code.is_dir() and code.resolve() == package:
        for path in sorted(code.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, "code"


def _readme(context: Context, loaded: Loaded, verdict: Verdict) -> str:
    return README.format(
        verdict=verdict.verdict,
        statement=letters(verdict.statement),
        paper=verdict.paper,
        where=letters(verdict.where),
        sentence=sentence(verdict, context.scale(loaded).spec),
        command=_command(context, loaded),
    )


def _command(context: Context, loaded: Loaded) -> str:
    """The command that judges the claim again in the archive's folder."""
    if context.own is None:
        return shlex.join(["harness", "judge", "--profile", context.profile_name, loaded.spec.id])
    return shlex.join(["harness", "judge", _archive_name(context, loaded.raw.files[0])])


def _archive_name(context: Context, path: Path) -> str:
    """A file's name in the archive. Raises HarnessError for one outside of the checkout, which has none there."""
    if not path.is_relative_to(context.project.root):
        raise HarnessError(f"{path}: lies outside of {context.project.root}; copy it there, and run it there")
    return path.relative_to(context.project.root).as_posix()


def _judging_action(crate: object, context: Context, loaded: Loaded, added: dict[str, object]) -> object:
    """The entry of the crate for the act of judging, from table and spec to verdict."""
    from rocrate.model.contextentity import ContextEntity

    table = context.measurements_file(loaded.spec.id)
    inputs = [name for name in added if name.startswith("specs/")]
    inputs += [table.relative_to(context.project.root).as_posix()] if table.is_file() else []
    if loaded.spec.results is not None:
        inputs.append(_archive_name(context, measured_file(context, loaded).resolve()))
    return ContextEntity(
        crate,
        "#judging",
        properties={
            "@type": "CreateAction",
            "name": _command(context, loaded),
            "object": [{"@id": name} for name in inputs],
            "result": [{"@id": "verdict.json"}],
            "description": f"code at commit {tracking.commit(context.project)}",
        },
    )
