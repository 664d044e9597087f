"""Where files may lie that specs name: anywhere, or only below a folder that the environment names.

Who judges what a stranger wrote, as CI does on a pull request, reads no other file of the machine: an error would print
pieces of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import HarnessError

ONLY_BELOW = "HARNESS_ONLY_BELOW"
PRIVATE = ".git"
"""Folder below which nothing is read either: its `config` can hold a token."""


def check_place(path: Path, name: str | None = None) -> None:
    """Raises HarnessError for a file outside of the folder that HARNESS_ONLY_BELOW names, if it names one.

    `name`: what messages call the file. Links count by where they lead.
    """
    only = os.environ.get(ONLY_BELOW)
    if not only:
        return
    try:
        folder, resolved = Path(only).resolve(), path.resolve()
    except (RuntimeError, ValueError, OSError):  # whoever reads it says what is wrong with it
        return
    if not resolved.is_relative_to(folder) or PRIVATE in resolved.relative_to(folder).parts:
        raise HarnessError(
            f"{name or path}: lies outside of {folder}, below which alone {ONLY_BELOW} has files read; "
            "copy it there, or unset the variable"
        )
