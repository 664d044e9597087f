"""The files of a site: written below its folder alone, and removed only where an earlier site wrote them.

`manifest.json` lists what was written. A folder without it, as one of a former version has none, keeps what it holds.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from harness.bounds import read_text
from harness.errors import HarnessError
from harness.files import update_file
from harness.links import refuse_links

MANIFEST = "manifest.json"


def write_files(root: Path, project: Path, contents: Mapping[str, bytes]) -> list[str]:
    """Write the files of a site, by their path below `root`, and remove those of the site before that it has no more.

    `project`: the folder that is the user's own choice; from there on, no part of the path may be a link. Returns the
    pages in the folder that no site is known to have written, which stay.

    Raises HarnessError for a folder that is a link.
    """
    _refuse_linked_folders(root, project, contents)
    before = _read_manifest(root)
    for name, content in contents.items():
        _write(root / name, content)
    for name in before - contents.keys():
        _remove(root, name)
    _write(root / MANIFEST, _manifest(contents))
    pages = {path.relative_to(root).as_posix() for path in root.rglob("*.html")}
    return sorted(pages - contents.keys())


def add_files(root: Path, project: Path, contents: Mapping[str, bytes]) -> None:
    """Write further files into a site; the next one removes them. Raises HarnessError for a folder that is a link."""
    _refuse_linked_folders(root, project, contents)
    for name, content in contents.items():
        _write(root / name, content)
    _write(root / MANIFEST, _manifest({*_read_manifest(root), *contents}))


def _refuse_linked_folders(root: Path, project: Path, names: Iterable[str]) -> None:
    start = project if root.is_relative_to(project) else root.parent
    for folder in sorted({(root / name).parent for name in names} | {root}):
        refuse_links(folder, start)


def _write(path: Path, content: bytes) -> None:
    if path.is_symlink():  # whose target may hold the same
        path.unlink()
    update_file(path, content)


def _manifest(names: Iterable[str]) -> bytes:
    return (json.dumps(sorted(names), indent=0, ensure_ascii=False) + "\n").encode()


def _read_manifest(root: Path) -> set[str]:
    """What the manifest lists; of a damaged one, nothing."""
    try:
        names = json.loads(read_text(root / MANIFEST))
    except (OSError, ValueError, RecursionError, HarnessError):
        return set()
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def _remove(root: Path, name: str) -> None:
    """Remove a file of the site; what a manifest says of other places is passed over."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return
    if any((root / part).is_symlink() for part in path.parents):
        return
    with contextlib.suppress(OSError, ValueError):
        (root / path).unlink()
