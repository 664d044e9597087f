"""YAML with a memory of where everything stood, and `extends`.

A spec may say `extends: other.yaml` (relative to itself). Mappings merge key by key (a key set to
null is removed), everything else is replaced. `extends` may chain; a cycle is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from yaml import MarkedYAMLError, YAMLError
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from harness.bounds import SPEC_BYTES, SPEC_VALUES, read_text
from harness.errors import HarnessError
from harness.paths import resolve_links
from harness.reading_bounds import check_place
from harness.spec.yaml_nodes import compose, events, items_of, line_of, value_of

SourceLine = tuple[Path, int]
Keys = tuple[str | int, ...]
Fields = dict[str, Any]
"""A mapping of YAML, as it is read."""
Places = dict[Keys, SourceLine]
MOST_DEPTH = 40
BETWEEN_VALUES = (",", "\n", ":", "[", "{", "- ", "? ")
"""What stands before a value of YAML, at least one for each but the first."""


@dataclass
class Document:
    """Plain data, and for each path of keys the file and line that set it."""

    data: Fields
    places: dict[Keys, SourceLine]
    files: list[Path] = field(default_factory=list)
    """The file itself and everything that it extends."""
    names: dict[Keys, Keys] = field(default_factory=dict)
    """Paths that were made of others: how the file calls them."""

    def place(self, keys: Keys) -> SourceLine:
        """File and line of the longest prefix of `keys` that is known."""
        written = self.keys_in_file(keys) if self.names else keys
        while written not in self.places and written:
            written = written[:-1]
        return self.places.get(written, (self.files[0], 1))

    def rename(self, keys: Keys, written: Keys) -> None:
        """Record that what stands at `keys` is written in the file at `written`."""
        self.names[keys] = self.keys_in_file(written)
        self.places[keys] = self.place(written)

    def keys_in_file(self, keys: Keys) -> Keys:
        """The path as the file writes it."""
        for length in range(len(keys), 0, -1):
            if keys[:length] in self.names:
                return (*self.names[keys[:length]], *keys[length:])
        return keys

    def value(self, keys: Keys) -> object:
        """What stands at a path; None where nothing does."""
        value: object = self.data
        for key in keys:
            if isinstance(value, dict):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                return None
        return value

    def has(self, keys: Keys) -> bool:
        """Whether something in the file sets what stands at a path."""
        return keys in self.places or self.keys_in_file(keys) in self.places


def locate(document: Document, keys: Keys) -> str:
    """`file:line` of a path; the file is relative to the current folder."""
    path, line = document.place(keys)
    return f"{from_here(path)}:{line}"


def from_here(path: Path) -> Path:
    """A path relative to the current folder, where it lies in it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def load_document(path: Path) -> Document:
    """Read a YAML file and what it extends. Raises HarnessError with file and line."""
    return _load(path, ())


def _load(path: Path, chain: tuple[Path, ...]) -> Document:
    try:
        path = resolve_links(path)
    except (RuntimeError, ValueError, OSError) as error:  # links in a circle, a NUL in the name
        raise HarnessError(f"{_printable_path(path)}: no path of a file: {error}") from None
    check_place(path, f"{chain[-1]}:1: extends: {path}" if chain else None)
    if path in chain:
        raise HarnessError(f"{path}:1: extends: a cycle: {' -> '.join(p.name for p in (*chain, path))}")
    try:
        text = read_text(path, SPEC_BYTES)
    except FileNotFoundError:
        user = f"{chain[-1]}:1: extends: " if chain else ""
        raise HarnessError(f"{user}{path}: no such file") from None
    except IsADirectoryError:
        user = f"{chain[-1]}:1: extends: " if chain else ""
        raise HarnessError(f"{user}{path}: is a folder; a spec is a file in YAML") from None
    except HarnessError as error:
        if not chain:
            raise
        raise HarnessError(f"{chain[-1]}:1: extends: {error}") from None
    except UnicodeDecodeError as error:
        raise HarnessError(f"{path}: no text in UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise HarnessError(f"{path}: cannot be read: {error.strerror}") from None
    tree = _parse_tree(path, text)
    if not isinstance(tree, MappingNode):
        raise HarnessError(f"{path}:1: a mapping of fields is expected here")
    places: dict[Keys, SourceLine] = {(): (path, 1)}
    try:
        data = _plain_mapping(tree, (), path, places)
    except MarkedYAMLError as error:
        raise _invalid(path, error) from None
    base_name = data.pop("extends", None)
    if base_name is None:
        return Document(data, places, [path])
    if not isinstance(base_name, str):
        raise HarnessError(f"{path}:{places[('extends',)][1]}: extends: a file name is expected")
    base = _load(path.parent / base_name, (*chain, path))
    _keeps_claims(base, data, f"{path}:{places.get(('claims',), (path, 1))[1]}: claims", base_name)
    merged_places = dict(base.places)
    merged = _merge(base.data, data, (), merged_places, places, ([*base.places], [*places]))
    merged_places[()] = (path, 1)
    return Document(merged, merged_places, [path, *base.files])


def _keeps_claims(base: Document, data: Fields, where: str, name: str) -> None:
    """Raises HarnessError where a list would silently replace inherited claims."""
    inherited, own = base.data.get("claims"), data.get("claims")
    if inherited and own is not None and not (isinstance(inherited, dict) and isinstance(own, dict)):
        lists = " and ".join(n for n, c in (("this", own), (name, inherited)) if not isinstance(c, dict))
        raise HarnessError(
            f"{where}: would take the place of the claims of {name}; write those of {lists} as a mapping by id, "
            "which adds to them (null takes one away)"
        )


def _printable_path(path: Path) -> str:
    """A path without characters that cannot be printed on one line."""
    return str(path).encode("unicode_escape").decode() if not str(path).isprintable() else str(path)


@lru_cache(maxsize=64)
def _parse_tree(path: Path, text: str) -> Node | None:
    """The tree of a text. Raises HarnessError for what is no YAML, or too deep."""
    try:
        _within_limits(path, text)
        return compose(text)
    except MarkedYAMLError as error:
        raise _invalid(path, error) from None
    except (YAMLError, ValueError, TypeError) as error:
        raise HarnessError(f"{path}:1: not valid YAML: {str(error).splitlines()[0]}") from None


def _invalid(path: Path, error: MarkedYAMLError) -> HarnessError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    return HarnessError(f"{path}:{line}: not valid YAML: {(error.problem or 'syntax error').strip()}")


def _within_limits(path: Path, text: str) -> None:
    """Raises HarnessError for a file that is nested too deeply, or whose aliases expand to too many values."""
    deep = f"nested more than {MOST_DEPTH} deep; a spec is far flatter"
    level = highest = 0
    for number, line in enumerate(text.splitlines(), 1):  # the parser itself is slow on thousands of brackets
        for character in re.findall(r"[\[\]{}]", line):
            level += 1 if character in "[{" else -1
            highest = max(highest, level)
            if level > 10 * MOST_DEPTH:
                raise HarnessError(f"{path}:{number}: {deep}")
        highest = max(highest, len(line) - len(line.lstrip(" -?")))
    limit = SPEC_VALUES.limit
    is_small = sum(map(text.count, BETWEEN_VALUES)) < limit
    if highest <= MOST_DEPTH and is_small and not ("&" in text and "*" in text):
        return
    # The stream of events, before anything is built of it: that takes no memory however it is nested.
    depth, total, sizes, begun = 0, 0, dict[str, int](), list[tuple[str | None, int]]()
    for event in events(text):
        where = f"{path}:{event.start_mark.line + 1}"
        if isinstance(event, AliasEvent):
            if any(anchor == event.anchor for anchor, _ in begun):
                raise HarnessError(f"{where}: *{event.anchor} stands inside what it names")
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, ScalarEvent):
            total += 1
        elif isinstance(event, CollectionStartEvent):
            depth, total = depth + 1, total + 1
            begun.append((event.anchor, total))
            if depth > MOST_DEPTH:
                raise HarnessError(f"{where}: {deep}")
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
            anchor, before = begun.pop()
            if anchor is not None:
                sizes[anchor] = total - before + 1
        if total > limit:
            SPEC_VALUES.refuse(where, "once aliases are followed it has")


def _plain_mapping(node: MappingNode, keys: Keys, path: Path, places: dict[Keys, SourceLine]) -> Fields:
    result: Fields = {}
    for key, value in items_of(node):
        name = _text(_scalar(key, path))
        places[(*keys, name)] = (path, line_of(key))
        result[name] = _plain_value(value, (*keys, name), path, places)
    return result


def _plain_value(node: Node, keys: Keys, path: Path, places: dict[Keys, SourceLine]) -> object:
    if isinstance(node, MappingNode):
        return _plain_mapping(node, keys, path, places)
    if isinstance(node, SequenceNode):
        items: list[object] = []
        for index, value in enumerate(node.value):
            places[(*keys, index)] = (path, line_of(value))
            items.append(_plain_value(value, (*keys, index), path, places))
        return items
    return _scalar(node, path)


def _scalar(node: Node, path: Path) -> object:
    assert isinstance(node, ScalarNode)
    try:
        return value_of(node)
    except (HarnessError, ValueError) as error:
        raise HarnessError(f"{path}:{line_of(node)}: not valid YAML: {error}") from None


def _text(key: object) -> str:
    return key if isinstance(key, str) else str(key)


def _merge(
    base: Fields, own: Fields, keys: Keys, places: Places, own_places: Places, below: tuple[list[Keys], list[Keys]]
) -> Fields:
    """`own` over `base`; `places` become those of the result.

    `below` are the paths of both that begin with `keys`: each is looked at once a level, so that long files merge in a
    time that is linear in them.
    """
    merged = dict(base)
    in_base, in_own = (_group_by_key(paths, len(keys)) for paths in below)
    for key, value in own.items():
        path = (*keys, key)
        stale, new = in_base.get(key, []), in_own.get(key, [])
        if _can_merge(merged.get(key), value):
            places[path] = own_places[path]
            merged[key] = _merge(merged[key], value, path, places, own_places, (stale, new))
        else:
            for one in stale:
                del places[one]
            places.update({one: own_places[one] for one in new})
            merged[key] = value
            if value is None and key in base:
                del merged[key]
    return merged


def _group_by_key(paths: Iterable[Keys], depth: int) -> dict[str | int, list[Keys]]:
    """Paths by their key at a depth, without those that end before it."""
    groups: dict[str | int, list[Keys]] = {}
    for path in paths:
        if len(path) > depth:
            groups.setdefault(path[depth], []).append(path)
    return groups


def merge(base: Fields, own: Fields) -> Fields:
    """`own` over `base`: mappings merge key by key, everything else is replaced; nulls stay."""
    merged = dict(base)
    for key, value in own.items():
        merged[key] = merge(merged[key], value) if _can_merge(merged.get(key), value) else value
    return merged


def without_nulls(merged: Fields, base: Fields) -> Fields:
    """The mapping without keys whose null removes something that `base` has."""
    kept = {key: value for key, value in merged.items() if value is not None or base.get(key) is None}
    return {
        key: without_nulls(value, base[key]) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in kept.items()
    }


def _can_merge(base: object, own: object) -> bool:
    """Whether two values are merged key by key. A mapping of another `kind` replaces the inherited one."""
    if not isinstance(base, dict) or not isinstance(own, dict):
        return False
    return not ("kind" in own and own["kind"] != base.get("kind"))
