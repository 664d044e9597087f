"""YAML with a memory of where everything stood, and `extends`.

A spec may say `extends: other.yaml` (relative to itself). Mappings merge key by key (a key set to
null is removed), everything else is replaced. `extends` may chain; a cycle is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from harness.errors import HarnessError

Place = tuple[Path, int]
Keys = tuple[str | int, ...]


@dataclass
class Document:
    """Plain data, and for each path of keys the file and line that set it."""

    data: dict[str, Any]
    places: dict[Keys, Place]
    files: list[Path] = field(default_factory=list)
    """The file itself and everything that it extends."""

    def place(self, keys: Keys) -> Place:
        """File and line of the longest known prefix of `keys`."""
        while keys not in self.places and keys:
            keys = keys[:-1]
        return self.places.get(keys, (self.files[0], 1))


def load_document(path: Path) -> Document:
    """Read a YAML file and what it extends. Raises HarnessError with file and line."""
    return _load(path, ())


def _load(path: Path, chain: tuple[Path, ...]) -> Document:
    path = path.resolve()
    if path in chain:
        raise HarnessError(f"{path}:1: extends: a cycle: {' -> '.join(p.name for p in (*chain, path))}")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        user = f"{chain[-1]}:1: extends: " if chain else ""
        raise HarnessError(f"{user}{path}: no such file") from None
    except (UnicodeDecodeError, OSError) as error:
        raise HarnessError(f"{path}: unreadable: {error}") from None
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise HarnessError(f"{path}:{line}: not valid YAML: {(error.problem or 'syntax error').strip()}") from None
    except (YAMLError, ValueError, TypeError) as error:
        raise HarnessError(f"{path}:1: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(tree, CommentedMap):
        raise HarnessError(f"{path}:1: a mapping of fields is expected here")
    places: dict[Keys, Place] = {(): (path, 1)}
    data = _plain(tree, (), path, places, 1)
    base_name = data.pop("extends", None)
    if base_name is None:
        return Document(data, places, [path])
    if not isinstance(base_name, str):
        raise HarnessError(f"{path}:{places[('extends',)][1]}: extends: a file name is expected")
    base = _load(path.parent / base_name, (*chain, path))
    merged_places = dict(base.places)
    merged = _merge(base.data, data, (), merged_places, places)
    merged_places[()] = (path, 1)
    return Document(merged, merged_places, [path, *base.files])


def _plain(node: Any, keys: Keys, path: Path, places: dict[Keys, Place], line: int) -> Any:
    if isinstance(node, CommentedMap):
        result: dict[str, Any] = {}
        for key, value in node.items():
            at = node.lc.key(key)[0] + 1 if key in node.lc.data else line
            name = key if isinstance(key, str) else str(key)
            places[(*keys, name)] = (path, at)
            result[name] = _plain(value, (*keys, name), path, places, at)
        return result
    if isinstance(node, CommentedSeq):
        items: list[Any] = []
        for index, value in enumerate(node):
            at = node.lc.item(index)[0] + 1 if index in (node.lc.data or {}) else line
            places[(*keys, index)] = (path, at)
            items.append(_plain(value, (*keys, index), path, places, at))
        return items
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)


def _merge(
    base: dict[str, Any], own: dict[str, Any], keys: Keys,
    places: dict[Keys, Place], own_places: dict[Keys, Place],
) -> dict[str, Any]:  # fmt: skip
    merged = dict(base)
    for key, value in own.items():
        path = (*keys, key)
        below = {k: v for k, v in own_places.items() if k[: len(path)] == path}
        if isinstance(value, dict) and isinstance(merged.get(key), dict) and not _reselects(merged[key], value):
            places[path] = own_places[path]
            merged[key] = _merge(merged[key], value, path, places, own_places)
        else:
            for stale in [k for k in places if k[: len(path)] == path]:
                del places[stale]
            places.update(below)
            merged[key] = value
            if value is None and key in base:
                del merged[key]
    return merged


def _reselects(base: dict[str, Any], own: dict[str, Any]) -> bool:
    """Another `kind` replaces a plug-in's mapping: its old fields would make no sense."""
    return "kind" in own and own["kind"] != base.get("kind")
