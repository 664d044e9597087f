"""A training function of the user's own, from a file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from harness.auditing.trials import TrainMany, one_at_a_time
from harness.errors import HarnessError


def own_function(where: str) -> TrainMany:
    """The function that `file.py:name` names, as a training function of an audit.

    Raises HarnessError for a file that is not there or cannot be run, and for a name that is no function in it.
    """
    path, _, name = where.rpartition(":")
    if not path.endswith(".py") or not name.isidentifier():
        raise HarnessError(f"audit: {where!r} is neither an engine nor a function; write it as file.py:function")
    if not Path(path).is_file():
        raise HarnessError(f"{path}: no such file; a training function is named as file.py:function")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else ""
        raise HarnessError(f"{path}: cannot be run: {type(error).__name__}: {text}") from error
    found = getattr(module, name, None)
    if not callable(found):
        known = ", ".join(n for n, v in vars(module).items() if callable(v) and not n.startswith("_")) or "none"
        raise HarnessError(f"{path}: no function {name!r} in it; there are: {known}")
    return one_at_a_time(found)
