"""A bundle that somebody else made, judged by the installed code: nothing of the archive is run.

The archive's spec and table are read as data. The code that it brings is compared with the installed code by hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from harness.claims.verdict import Verdict, VerdictFile, in_json
from harness.errors import HarnessError, first_fault
from harness.extensions.bundle.pack import LOCK, PINNED, PLUGINS
from harness.pipeline.context import OWN, Run
from harness.pipeline.judging import judge_all
from harness.pipeline.sources import source_of_run
from harness.report.installed import code_files, pinned_versions, plugin_packages_of
from harness.verdicts import baseline

VERDICT, INSTALLED = "verdict.json", "installed.json"
PROGRAMS = frozenset({".py", ".pyc", ".pyd", ".pth", ".so", ".sh", ".exe", ".bat"})
MOST_LISTED = 8
"""Names of files or packages in one line."""
NOT_FOR_SPECS = frozenset({"harness", PLUGINS, "reports", "specs"})
"""Folders of the archive in which no spec of the user's own lies."""


@dataclass(frozen=True)
class CodeComparison:
    """The archive's `harness/` beside the installed one, by path."""

    same: int
    other: tuple[str, ...] = ()
    only_in_archive: tuple[str, ...] = ()
    only_installed: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the archive has the installed code, whole."""
        return bool(self.same) and not (self.other or self.only_in_archive or self.only_installed)


@dataclass(frozen=True)
class Subject:
    """What a bundle is about."""

    profile: str
    spec: str
    path: Path
    """The spec's file."""

    @property
    def is_own(self) -> bool:
        """Whether the spec lies outside of `specs/`, and belongs to no profile."""
        return self.profile == OWN


def find_subject(root: Path, files: Sequence[str]) -> Subject:
    """The spec and profile of an unpacked bundle. Raises HarnessError where it has none, or several."""
    for name in ("params.yaml", VERDICT):
        if name not in files:
            raise HarnessError(f"no {name} in it; it is no archive that `harness bundle` wrote")
    judged = [PurePosixPath(name).parts for name in files if re.fullmatch(r"reports/[^/]+/.+/verdicts\.json", name)]
    if len(judged) != 1:
        raise HarnessError(f"{len(judged)} files reports/PROFILE/SPEC/verdicts.json in it; a bundle has one")
    profile, spec = judged[0][1], "/".join(judged[0][2:-1])
    if profile != OWN:
        if f"specs/{spec}.yaml" not in files:
            raise HarnessError(f"no specs/{spec}.yaml in it; a bundle has the spec that its verdicts are of")
        return Subject(profile, spec, root / "specs" / f"{spec}.yaml")
    own = [name for name in files if PurePosixPath(name).stem == spec and name.endswith((".yaml", ".yml"))]
    own = [name for name in own if name.split("/")[0] not in NOT_FOR_SPECS]
    if len(own) != 1:
        raise HarnessError(f"{len(own)} files {spec}.yaml in it; a bundle of a spec of one's own has one")
    return Subject(profile, spec, root / own[0])


def compare_code(root: Path, files: Iterable[str]) -> CodeComparison:
    """The code that an unpacked bundle brings, beside the installed one."""
    here, there = code_files(), {name: root / name for name in files if name.startswith("harness/")}
    both = here.keys() & there.keys()
    other = {name for name in both if _digest(here[name]) != _digest(there[name])}
    return CodeComparison(
        len(both) - len(other),
        tuple(sorted(other)),
        tuple(sorted(there.keys() - both)),
        tuple(sorted(here.keys() - both)),
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class VerdictComparison:
    """The verdicts on all claims of a bundle's spec, judged here, beside those in the bundle."""

    verdicts: tuple[Verdict, ...]
    differences: tuple[str, ...]
    """A line for each verdict, effect or interval that is another here; and for each other field, where the same code
    judged it."""
    unexplained: tuple[str, ...]
    """A line for each verdict with another field that is another here, where other code judged it."""


def compare_verdicts(run: Run, root: Path, same_code: bool) -> VerdictComparison:
    """Judge the spec of an unpacked bundle, and compare.

    Args:
        same_code: whether the bundle brings the installed code.

    Raises HarnessError for a file of verdicts that is none.
    """
    (verdicts,) = judge_all(run.context, [run])
    path = run.verdicts_file
    try:
        recorded = VerdictFile.model_validate_json(path.read_text(encoding="utf-8")).verdicts
        name = path = root / VERDICT
        chosen = Verdict.model_validate_json(name.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise HarnessError(f"{path}: not a verdict: {first_fault(error)}") from None
    except (ValueError, OSError) as error:
        raise HarnessError(f"{path}: not a verdict: {error}") from None
    if any("#" not in one.id for one in (*recorded, chosen)):
        raise HarnessError(f"{path}: a verdict whose id names no claim")
    sides = [
        baseline.gather(run.context.profile_name, [(run.declared, source_of_run(run).file(run), side)])
        for side in (recorded, verdicts)
    ]
    differences = [f"{d.where}: {d.what}" for d in baseline.compare(sides[0], sides[1], "in the bundle")]
    ours = {one.id: in_json(one) for one in verdicts}
    theirs = {one.id: in_json(one) for one in recorded}
    if in_json(chosen) != theirs.get(chosen.id):
        differences.append(f"{chosen.id}: {VERDICT} is not what verdicts.json of the bundle says of it")
    unexplained = []
    for claim in sorted(ours.keys() & theirs.keys()):
        mine, other = _fields_of(ours[claim]), _fields_of(theirs[claim])
        fields = sorted(key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key) and key != "code")
        if not fields or any(line.startswith(f"{claim}: ") for line in differences):
            continue
        line = f"{claim}: in the bundle it has another {', '.join(fields)}"
        if same_code and mine.get("code") == other.get("code"):
            differences.append(line)
        else:
            unexplained.append(f"why {line}; another version of the harness judged it")
    return VerdictComparison(tuple(verdicts), tuple(differences), tuple(unexplained))


def _fields_of(verdict: dict[str, object]) -> dict[str, object]:
    """The fields of a verdict's JSON, those of its records by their own names."""
    fields: dict[str, object] = {}
    for name, value in verdict.items():
        fields |= value if isinstance(value, dict) else {name: value}
    return fields


def read_installation(root: Path) -> dict[str, object]:
    """What the bundle says of the harness, Python and plug-ins that made it; nothing where it does not say."""
    try:
        description = json.loads((root / INSTALLED).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return description if isinstance(description, dict) else {}


def describe_unknowns(root: Path, run: Run, files: Sequence[str]) -> list[str]:
    """What judging a bundle here does not tell, a line each: plug-ins, versions, programs, and where the numbers are
    from."""
    lines = []
    named_in = [run.declared.raw.data, run.context.profile.model_dump(mode="json")]
    here = {one.name: one for one in plugin_packages_of(named_in)}
    plugins = read_installation(root).get("plugins")
    for plugin in plugins if isinstance(plugins, list) else ():
        name, version = (
            (str(plugin.get(key, ""))[:80] for key in ("package", "version")) if isinstance(plugin, dict) else ("", "")
        )
        mine = here.get(name)
        if mine is None:
            lines.append(f"plug-ins of {name!r} {version!r}: the package is not installed here; its code is not run")
        elif mine.sha256 != plugin.get("sha256"):
            lines.append(f"plug-ins of {name!r} {version!r}: other code is installed here, {mine.version}; that judges")
    there = _versions(root)
    mine_by_name = dict(line.split("==", 1) for line in pinned_versions(list(here.values())))
    other = [
        f"{name} {there[name]} ({version} here)"
        for name, version in mine_by_name.items()
        if there.get(name, version) != version
    ]
    if other:
        lines.append(f"packages of other versions: {list_some(other)}")
    if not there:
        lines.append("which versions of packages judged it: the archive has no list of them")
    programs = [
        name for name in files
        if PurePosixPath(name).suffix.lower() in PROGRAMS and name.split("/")[0] not in ("harness", PLUGINS)
    ]  # fmt: skip
    if programs:
        lines.append(f"programs, none of which is run: {list_some(programs)}")
    if run.spec.experiment is not None:
        where = source_of_run(run).file(run).resolve()
        name = (where.relative_to(root) if where.is_relative_to(root) else where).as_posix()
        lines.append(
            f"whether the numbers in {name} were measured as the spec says: whoever made the bundle wrote them"
        )
    return lines


def _versions(root: Path) -> dict[str, str]:
    """The versions of packages that the bundle lists."""
    for name in (LOCK, PINNED):
        if (root / name).is_file():
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            named = re.findall(r"(?m)^([A-Za-z0-9][\w.-]*)==([\w.+!-]+)", text)
            return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in named}
    return {}


def list_some(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
