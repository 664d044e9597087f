"""Processes: none that is started imports from the folder that the user is in; how often one looks for dead objects.

`python -c`, `python -m` and the helpers of `multiprocessing` search the current folder before the standard library. In
a stranger's folder a `json.py` or `selectors.py` would so be run before anything is read.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"
SAFE_ENVIRONMENT = {SAFE_PATH: "1"}
"""What keeps a Python that is started from searching the current folder."""
SET_HERE = "by-harness"
"""The variable's value where this program sets it for whatever it starts, and not the user."""

ALLOCATIONS = 500_000
"""Objects, over those that are gone, after which the interpreter looks for cycles of dead ones. By itself it does so
after 700, and reads again and again what lives as long as the process: modules, specs and verdicts. That is a tenth of
the time that imports take, and of what a site costs."""
USUAL_ALLOCATIONS = gc.get_threshold()[0]
"""The same number as Python has it."""


def collect_rarely() -> None:
    """Make this process' garbage collector run more seldom, and not at all as the process ends.

    To look through all modules once more, and to free what they hold, takes a quarter of a second as Python ends, and
    a whole one where TensorFlow and MLflow are loaded.
    """
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
    end_without_collecting()


@cache
def end_without_collecting() -> None:
    """Leave to the system what this process holds in memory as it ends; exit handlers run, and files are closed."""
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """Undo `collect_rarely`, for work whose dead cycles hold much memory, as graphs of TensorFlow do."""
    gc.set_threshold(USUAL_ALLOCATIONS, *gc.get_threshold()[1:])


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
