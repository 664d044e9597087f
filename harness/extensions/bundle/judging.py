"""`harness judge --bundle`: a bundle of somebody else's, judged by the installed code."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import print_json, print_verdicts, resolve_specs, state
from harness.commands.tables import print_text
from harness.commands.version import version_line
from harness.errors import HarnessError
from harness.processes import environment
from harness.reading_bounds import ONLY_BELOW

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.extensions.bundle.verification import CodeComparison


def judge_bundle(
    path: Path, most_bytes: int | None, workers: int | None, quiet: bool, as_json: bool
) -> tuple[list[Verdict], bool]:
    """Judge the spec of a bundle by the installed code, and print how that compares with the verdicts in it.

    The archive is unpacked into a folder of its own, which is removed. No code of it is run, and no file outside of it
    is read. Returns the verdicts found here, and whether they are those in the bundle. Raises HarnessError for an
    archive that cannot be judged.
    """
    from harness.extensions.bundle.archive import MOST_BYTES, unpack_archive

    with tempfile.TemporaryDirectory(prefix="harness-bundle-") as folder:
        root = Path(folder).resolve()
        files = unpack_archive(path, root, most_bytes or MOST_BYTES)
        before = state.get("root")
        state["root"] = root
        try:
            with environment({ONLY_BELOW: str(root)}):
                return _judge_unpacked(path, root, files, workers, quiet, as_json)
        except HarnessError as error:
            lines = str(error).replace(f"{root}/", "").replace(str(root), "it").splitlines()
            raise HarnessError(*(f"{path}: {line}" for line in lines)) from None
        finally:
            state["root"] = before


def _judge_unpacked(
    path: Path, root: Path, files: list[str], workers: int | None, quiet: bool, as_json: bool
) -> tuple[list[Verdict], bool]:
    from harness.claims.verdict import in_json
    from harness.extensions.bundle.verification import (
        compare_code,
        compare_verdicts,
        describe_unknowns,
        find_subject,
        read_installation,
    )

    subject = find_subject(root, files)
    code = compare_code(root, files)
    profile = None if subject.is_own else subject.profile
    ((_, (run,)),) = resolve_specs([str(subject.path)], profile, workers, quiet)
    compared = compare_verdicts(run, root, code.is_same)
    verdicts, differences = list(compared.verdicts), compared.differences
    unknowns = [*describe_unknowns(root, run, files), *compared.unexplained]
    maker = read_installation(root)
    if as_json:
        print_json(
            {
                "bundle": str(path),
                "made_by": {name: maker.get(name) for name in ("harness", "python")},
                "judged_by": version_line(),
                "code": {
                    "same": code.same,
                    "other": code.other,
                    "only_in_bundle": code.only_in_archive,
                    "only_installed": code.only_installed,
                },
                "not_known": unknowns,
                "differences": differences,
                "verdicts": [in_json(one) for one in verdicts],
            }
        )
        return verdicts, not differences
    print_text(f"{path}: {len(files)} files; made by {str(maker.get('harness', 'unknown'))[:100]!r}, by its own word")
    print_text(f"judged by the installed {version_line()}; no code of the archive was run")
    for line in _describe_code(code):
        print_text(line)
    for line in unknowns:
        print_text(f"not known: {line}")
    print_verdicts(verdicts)
    for line in differences:
        print_text(line)
    outcome = f"{len(differences)} differences from the bundle" if differences else "as in the bundle"
    print_text(f"profile {run.context.profile_name}: {len(verdicts)} claims judged, {outcome}")
    return verdicts, not differences


def _describe_code(code: CodeComparison) -> list[str]:
    """The comparison of code, a line for each finding."""
    from harness.extensions.bundle.verification import list_some

    if code.is_same:
        return [f"harness/ of the archive: {code.same} files, all as installed"]
    if not (code.same or code.other or code.only_in_archive):
        return ["harness/ of the archive: none"]
    kinds = {
        "files that differ from the installed ones": code.other,
        "files that the installed harness does not have": code.only_in_archive,
        "files of the installed harness that it lacks": code.only_installed,
    }
    return [
        f"harness/ of the archive: {len(names)} {what}: {list_some(names)}" for what, names in kinds.items() if names
    ]
