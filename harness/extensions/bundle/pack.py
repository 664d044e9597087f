"""A verdict with all that it needs to be judged again, as an RO-Crate: spec, table, verdict, code, versions.

RO-Crate (https://w3id.org/ro/crate): a ZIP file whose `ro-crate-metadata.json` says what each file is.
"""

from __future__ import annotations

import datetime
import re
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from harness import tracking
from harness.claims.verdict import Verdict, in_json
from harness.errors import HarnessError
from harness.escaping import markdown_text
from harness.files import atomic_path, json_text
from harness.git import ask_git
from harness.links import check_inside
from harness.pipeline.context import Context, Run
from harness.pipeline.judging import read_verdict
from harness.pipeline.sources import source_of_run
from harness.report.citations import read_project_citation
from harness.report.installed import (
    PluginPackage,
    code_files,
    describe_installation,
    pinned_versions,
    plugin_packages_of,
)
from harness.report.portable import portable_specs
from harness.report.prose import sentence
from harness.report.vocabulary import letters
from harness.spec.functions import files_of_functions
from harness.spec.profile import DECLARED

PROJECT_FILES = (
    *("LICENSE", "CITATION.cff", "pyproject.toml", "requirements.lock", "requirements.txt", "params.yaml"),
    *("specs/papers.yaml", "specs/quotations.json", "specs/declared.json"),
)
LOCK, PINNED = "requirements.lock", "requirements.installed.txt"
"""The checkout's lock file; outside of it, the versions that are installed."""
PLUGINS = "plugins"
"""Folder of the archive: the packages of plug-ins that the spec uses, as Python finds them."""
README = """\
# {verdict}: {statement}

{paper}, {where}.

{sentence}

## Judge it again

This archive holds the spec, the {evidence}, the verdict and the code that judged it.
There are two ways to judge the claim again, and they differ in whose code runs.

**Without trusting this archive.** With a harness that you installed yourself, from where you trust it:

    harness judge --bundle FILE

`FILE` is the archive, not unpacked. No code of it is run: the spec and the numbers are read as data, by the installed
code. It prints in which files the code in the archive differs from the installed one, which plug-ins and versions it
does not have, and whether its verdicts are those in the archive.

**With the code in this archive.** This runs code that is in this archive, with all of your rights: whoever made it can
run anything, and print any verdict. It is no check of them; it shows what they ran. With Python {python}, in the folder
that the archive was unpacked to:

    python{python} -P -m venv .venv
    .venv/bin/python -P -m pip install --no-deps {install}
    {search}.venv/bin/python -m {command}

Neither way tells whether the numbers were measured as the spec says: whoever made the archive wrote them.

`installed.json` names the harness{plugins}, with versions and hashes. `verdict.json` has every
number, and by which code, on which machine and from which data it was measured.
{records}"""
OF_RECORDS = """
`{file}` has a score of each record that was attacked: personal data, where records are of people.
"""


def bundle(run: Run, claim: str, target: Path, code: str) -> list[str]:
    """Write the RO-Crate of a claim's verdict to `target`, atomically; returns the names of the files in it.

    Args:
        code: the harness' version, and its commit where it is known.

    Raises HarnessError for a claim that the spec does not have, or that was not judged under the profile.
    """
    from rocrate.rocrate import ROCrate

    verdict = read_verdict(run, claim)
    root = run.context.project.root
    crate = ROCrate()
    crate.name = f"{verdict.verdict}: {letters(verdict.claim.statement)}"
    crate.description = sentence(verdict, run.spec)
    if licence := _licence(root):
        crate.license = licence
    crate.datePublished = _date(run.context)
    packages = plugin_packages_of([run.declared.raw.data, run.context.profile.model_dump(mode="json")])
    added: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        portable = portable_specs(run.declared)
        for number, (name, path, about) in enumerate(_files(run)):
            if path in portable:
                path = _write_file(Path(folder) / "portable" / str(number), portable[path].encode())
            properties = {"name": about, "contentSize": str(path.stat().st_size)}
            added[name] = crate.add_file(path, dest_path=name, properties=properties)
        made = {
            "verdict.json": json_text(in_json(verdict)) + "\n",
            "installed.json": json_text(describe_installation(code, packages)) + "\n",
            "README.md": _readme(run, verdict, packages),
            **_project_files_made(run.context, added),
        }
        if LOCK not in added:
            made[PINNED] = "\n".join(pinned_versions(packages)) + "\n"
        contents = {name: text.encode() for name, text in made.items()}
        contents |= {f"{PLUGINS}/{name}": text for package in packages for name, text in package.files.items()}
        for name, content in contents.items():
            path = _write_file(Path(folder) / name, content)
            about = "code of a plug-in" if name.startswith(f"{PLUGINS}/") else name.partition(".")[0]
            added[name] = crate.add_file(path, dest_path=name, properties={"name": about})
        crate.add(_judging_action(crate, run, added, code))
        with atomic_path(target) as temporary:
            crate.write_zip(temporary.with_suffix(".zip"))
            temporary.with_suffix(".zip").replace(temporary)
    return sorted(added)


def _write_file(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _date(context: Context) -> datetime.datetime:
    """The date of the commit, so that a checkout always gives the same crate; the present time outside of git."""
    output = ask_git(context.project.root, "log", "-1", "--format=%cI")
    try:
        return datetime.datetime.fromisoformat((output or "").strip())
    except ValueError:
        return datetime.datetime.now(datetime.UTC)


def _licence(root: Path) -> str:
    """The address of the project's licence; empty where it states none, or several."""
    cited = read_project_citation(root)
    licence = "" if cited is None else cited.license
    return f"https://spdx.org/licenses/{licence}" if re.fullmatch(r"[\w.+-]+", licence) else ""


def _project_files_made(context: Context, added: Collection[str]) -> dict[str, str]:
    """What makes the archive a project where this one's files do not: a profile, and a folder of specs."""
    made = {}
    if "params.yaml" not in added:
        made["params.yaml"] = f"profile: {DECLARED}\nprofiles: {{{DECLARED}: {{}}}}\n"
    if not any(name.startswith("specs/") for name in added):
        made["specs/papers.yaml"] = "{}\n"
    return made


def _files(run: Run) -> Iterator[tuple[str, Path, str]]:
    """Every file that the verdict follows from: its name in the archive, where it is, and a description."""
    root = run.context.project.root
    for path, about in _files_of_project(run):
        check_inside(path, root)  # what a link leads to would be packed
        yield path.relative_to(root).as_posix(), path, about
    for name, path in code_files().items():
        yield name, path, "code"


def _files_of_project(run: Run) -> Iterator[tuple[Path, str]]:
    root = run.context.project.root
    abouts = {
        LOCK: "versions of every package, by hash",
        "specs/papers.yaml": "citations",
        "specs/quotations.json": "which quotations stand in the papers, by hash",
        "specs/declared.json": "what had been measured when each claim was declared, or last changed",
    }
    for name in PROJECT_FILES:
        if (root / name).is_file():
            yield root / name, abouts.get(name, name)
    paths = sorted({*run.declared.document.files, *run.declared.raw.files})
    for path in paths:
        _archive_name(run.context, path)
        yield path, f"spec {run.id}" if path == run.declared.document.files[0] else "what the spec extends"
    if run.spec.results is not None:
        results = source_of_run(run).file(run).resolve()
        _archive_name(run.context, results)
        yield results, "results from elsewhere"
    for path in files_of_functions(run.spec):
        _archive_name(run.context, path.resolve())
        yield path.resolve(), "training function"
    if (table := run.measurements_file).is_file():
        yield table, "table of measurements"
    for path in sorted((run.folder / "readings").glob("*/measurements.parquet")):
        yield path, f"table of measurements in the reading {path.parent.name}"
    yield run.verdicts_file, f"verdicts of {run.id}"


def _readme(run: Run, verdict: Verdict, packages: Sequence[PluginPackage]) -> str:
    has_lock = (run.context.project.root / LOCK).is_file()
    return README.format(
        python="3.11" if has_lock else f"{sys.version_info.major}.{sys.version_info.minor}",
        install=f"--require-hashes -r {LOCK}" if has_lock else f"-r {PINNED}",
        search=f"PYTHONPATH={PLUGINS} " if packages else "",
        plugins=" and the packages of plug-ins" if packages else "",
        evidence="table of measurements" if run.spec.experiment is not None else "inequality that is proved",
        verdict=verdict.verdict,
        statement=markdown_text(letters(verdict.claim.statement)),
        paper=verdict.paper,
        where=markdown_text(letters(verdict.claim.where)),
        sentence=markdown_text(sentence(verdict, run.spec)),
        command=_command(run),
        records=_sentence_on_records(run),
    )


def _sentence_on_records(run: Run) -> str:
    """What the archive has of single records, where it has any."""
    results = run.spec.results
    if results is None or results.format != "scores":
        return ""
    return OF_RECORDS.format(file=_archive_name(run.context, source_of_run(run).file(run).resolve()))


def _command(run: Run) -> str:
    """The command that judges the claim again in the archive's folder."""
    if run.context.own is None:
        return shlex.join(["harness", "judge", "--profile", run.context.profile_name, run.id])
    return shlex.join(["harness", "judge", _archive_name(run.context, run.declared.raw.files[0])])


def _archive_name(context: Context, path: Path) -> str:
    """A file's name in the archive. Raises HarnessError for one outside of the checkout, which has none there."""
    if not path.is_relative_to(context.project.root):
        raise HarnessError(f"{path}: lies outside of {context.project.root}; copy it there, and run it there")
    return path.relative_to(context.project.root).as_posix()


def _judging_action(crate: object, run: Run, added: dict[str, object], code: str) -> object:
    """The entry of the crate for the act of judging, from table and spec to verdict."""
    from rocrate.model.contextentity import ContextEntity

    table = run.measurements_file
    inputs = [name for name in added if name.startswith("specs/")]
    inputs += [table.relative_to(run.context.project.root).as_posix()] if table.is_file() else []
    if run.spec.results is not None:
        inputs.append(_archive_name(run.context, source_of_run(run).file(run).resolve()))
    return ContextEntity(
        crate,
        "#judging",
        properties={
            "@type": "CreateAction",
            "name": _command(run),
            "object": [{"@id": name} for name in inputs],
            "result": [{"@id": "verdict.json"}],
            "description": f"by {code}; project at commit {tracking.commit(run.context.project)}",
        },
    )
