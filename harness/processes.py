"""Processes that are started: none imports from the folder that the user is in.

`python -c`, `python -m` and the helpers of `multiprocessing` search the current folder before the standard library. In
a stranger's folder a `json.py` or `selectors.py` would so be run before anything is read.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"
SAFE_ENVIRONMENT = {SAFE_PATH: "1"}
"""What keeps a Python that is started from searching the current folder."""
SET_HERE = "by-harness"
"""The variable's value where this program sets it for whatever it starts, and not the user."""


def protect_processes() -> None:
    """Keep every Python that this process starts, itself or by a library, from importing from the current folder."""
    os.environ.setdefault(SAFE_PATH, SET_HERE)


def users_safe_path() -> str | None:
    """The user's own value of the variable, for code of the user's that starts programs of its own."""
    value = os.environ.get(SAFE_PATH)
    return None if value == SET_HERE else value


def set_variable(name: str, value: str | None) -> None:
    """Set a variable of the environment; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Context manager: what is started in it has these variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            set_variable(name, value)


def make_importable(folder: Path) -> None:
    """Put a folder on `sys.path`, behind the standard library and before installed packages."""
    if str(folder) in sys.path:
        return
    library = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    own = [i for i, entry in enumerate(sys.path) if entry in library or Path(entry).parent.as_posix() in library]
    inside = [i for i in own if Path(sys.path[i]).name not in ("site-packages", "dist-packages")]
    sys.path.insert(max(inside, default=-1) + 1, str(folder))
    importlib.invalidate_caches()
