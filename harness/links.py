"""Symbolic links: what is written, copied or removed never goes through one that leads elsewhere.

A project may be a stranger's, and archives and git carry links: a folder of it may lead to one of the user's own.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.errors import HarnessError


def first_link(path: Path, root: Path) -> Path | None:
    """The first part of a path below `root` that is a symbolic link; None where none is. What is not there is none.

    Raises ValueError for a path that does not lie below `root` as it is written.
    """
    parts = path.relative_to(root).parts
    if os.pardir in parts:
        raise ValueError(f"{path} leads out of {root}")
    at = root
    for part in parts:
        at = at / part
        if at.is_symlink():
            return at
    return None


def refuse_links(path: Path, root: Path) -> None:
    """Raise HarnessError where a path below `root` goes through a symbolic link."""
    if (link := first_link(path, root)) is not None:
        raise HarnessError(f"{link}: is a link, and files are written and removed there; put a folder in its place")


def is_regular_file(path: Path, root: Path) -> bool:
    """Whether a path is a file below `root`, not by way of a link."""
    try:
        return first_link(path, root) is None and path.is_file()
    except ValueError:
        return False


def check_inside(path: Path, root: Path, remedy: str = "") -> None:
    """Raise HarnessError where a path below `root` leads out of it by a link, or nowhere. It need not be there.

    `remedy`: what else the message says can be done.
    """
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (RuntimeError, OSError):  # links that lead in a circle
        raise HarnessError(f"{first_link(path, root) or path}: is a link that leads to itself; remove it") from None
    if not inside:
        link = first_link(path, root) or path
        raise HarnessError(
            f"{link}: is a link that leads out of {root}; put the file or folder itself in its place{remedy}"
        )


def check_folders_inside(folder: Path, root: Path, depth: int, remedy: str = "") -> None:
    """Raise HarnessError as `check_inside` for a path below `root`, and for the folders in it, so many levels down.

    Links to files are passed over: a file is replaced, and not written through a link.
    """
    check_inside(folder, root, remedy)
    folders: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # a file, or nothing there
        folders = [Path(entry.path) for entry in entries if depth and entry.is_dir()]
    for one in folders:
        check_folders_inside(one, root, depth - 1, remedy)
