"""What keys and kinds of specs and of `params.yaml` were called before: they are read, with a warning."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.escaping import visible_line

Keys = tuple[str | int, ...]

KEYS = {
    "unstated": "ambiguities",
    "redraw": "resample",
    "twins": "proxy_columns",
    "keep_twins": "keep_proxies",
    "turned": "swap_roles",
    "reach": "max_repeats",
}
"""By the name of before, the name of now."""
KINDS = {"collapse": "same-curve", "either": "any-of", "hump": "interior-peak", "explains-more": "variance-share"}
"""Of claims."""
_warned: set[tuple[Path, str]] = set()


def current_key(key: str, parents: Keys) -> str:
    """The present name of a key below `parents`."""
    top = parents[0] if parents else None
    stands = {
        "unstated": not parents,
        "redraw": parents == ("experiment",),
        "reach": top == "profiles" and (len(parents) == 2 or parents[2:3] == ("papers",)),
    }
    return KEYS[key] if key in KEYS and stands.get(key, parents[-1:] == ("split",)) else key


def current_value(value: object, keys: Keys) -> object:
    """The present name of a value: of a claim's kind, or of the fields in a path."""
    if keys[:1] == ("claims",) and keys[-1] == "kind" and "expect" in keys:
        return KINDS.get(str(value), value)
    if keys[:1] == ("ambiguities",) and keys[-1] == "field" and isinstance(value, str):
        parts = value.split(".")
        return ".".join(KEYS.get(part, part) for part in parts) if KEYS.keys() & set(parts) else value
    return value


def warn(path: Path, line: int, former: object, current: object) -> None:
    """Print a warning about a former name, once per file and name."""
    if (path, str(former)) not in _warned:
        _warned.add((path, str(former)))
        text = f"harness: warning: {path}:{line}: `{former}` is called `{current}` now"
        print(visible_line(text), file=sys.stderr)
