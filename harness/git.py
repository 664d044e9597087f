"""What git says of a folder, asked so that nothing runs which the folder's own configuration names.

A `.git/config` can name programs for what git does while it only reads: a monitor of files, hooks, filters of content,
a check of signatures, a way to fetch what is missing. A stranger's folder brings its own.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

OPTIONS = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false", "-c", "status.submoduleSummary=false", "-c", "diff.ignoreSubmodules=all"),
)
VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""Nothing is fetched, by whatever program: a clone may lack parts that git would ask its origin for. And nothing is
written: git would refresh its index."""
FILTER = re.compile(r"(filter\..*)\.(?:clean|smudge|process|required)", re.DOTALL)
USERS = frozenset({"system", "global"})
"""Scopes of configuration that are the user's own; a repository has two, in `config` and `config.worktree`."""


def ask_git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints about a folder; None where git is missing or the folder is in no repository.

    A filter that the repository itself configures is not run: its files then count by their content. None, too, where
    such a filter has a name that git cannot be told to leave alone.
    """
    named = _filters_of_repository(folder)
    if any("=" in name for name in named):  # `-c` would set another variable
        return None
    without = [
        part
        for name in sorted(named)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        for part in ("-c", f"{name}.{key}={value}")
    ]
    return _run(folder, *without, *arguments)


def _filters_of_repository(folder: Path) -> set[str]:
    """Names of the filters, such as `filter.lfs`, that a repository's own configuration defines, wherever it lies."""
    listing = ("config", "--includes", "--name-only", "--null", "--get-regexp", r"^filter\.")
    scoped = _run(folder, *listing[:1], "--show-scope", *listing[1:])
    if scoped is None:  # there is none, or git is older than 2.26: whose they are cannot be told
        names = (_run(folder, *listing) or "").split("\0")
        return {match[1] for name in names if (match := FILTER.fullmatch(name))}
    fields = scoped.split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return {match[1] for scope, name in pairs if scope not in USERS and (match := FILTER.fullmatch(name))}


def _run(folder: Path, *arguments: str) -> str | None:
    try:
        ran = subprocess.run(
            ["git", *OPTIONS, "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **VARIABLES},
        )
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return ran.stdout
