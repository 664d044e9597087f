"""YAML 1.2 as nodes with their lines, by libyaml, which takes a tenth of the time of a parser in Python.

PyYAML reads YAML 1.1, where `no` is false and `1e-5` is text; the plain values here are those of YAML 1.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from harness.errors import HarnessError

Plain = str | int | float | bool | None
PREFIX = "tag:yaml.org,2002:"
INTEGER = re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
FLOATING = re.compile(
    r"([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
)
BASES = {"0b": 2, "0o": 8, "0x": 16}
LARGEST = 10**308
"""Whole numbers beyond it, on either side of 0, are no floating-point numbers, and Python prints none that is far
longer."""
MOST_DIGITS = 1100
"""Of a number as it is written; those of LARGEST take 1,024 to the base of 2."""


Base: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader


class Loader(Base):  # type: ignore[misc]
    """Text to events and nodes, whose tags say which plain scalars are numbers, truth values and nulls in YAML 1.2."""


for _tag, _pattern, _first in (
    ("bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$"), [*"tTfF"]),
    ("int", INTEGER, [*"-+0123456789"]),
    ("float", FLOATING, [*"-+0123456789."]),
    ("null", re.compile(r"(~|null|Null|NULL|)$"), [*"~nN", ""]),
    ("merge", re.compile(r"<<$"), ["<"]),
):
    Loader.add_implicit_resolver(PREFIX + _tag, _pattern, _first)


def compose(text: str) -> Node | None:
    """The tree of a text; None of an empty one. Raises yaml.YAMLError with the place of what is no YAML."""
    tree: Node | None = yaml.compose(text, Loader=Loader)
    return tree


def events(text: str) -> Iterator[yaml.Event]:
    """What a text comes to before anything is built of it: that takes no memory however it is nested."""
    stream: Iterator[yaml.Event] = yaml.parse(text, Loader=Loader)
    return stream


def line_of(node: Node) -> int:
    """On which line a node begins, from 1."""
    return int(node.start_mark.line) + 1


def value_of(node: ScalarNode) -> Plain:
    """A scalar as a value. Raises HarnessError without a place for a tag of YAML's that is none of a plain value."""
    text, tag = node.value, node.tag.removeprefix(PREFIX)
    if tag == "null":
        return None
    if tag == "bool":
        return bool(text.lower() == "true")
    if tag == "int":
        return _integer(text.replace("_", ""))
    if tag == "float":
        return float(re.sub(r"\.(?=inf|nan)", "", text.replace("_", "").lower()))
    if tag in ("str", "merge"):
        return str(text)
    raise HarnessError(f"the tag {node.tag}: a spec has plain values alone")


def _integer(text: str) -> int:
    sign, digits = (-1 if text.startswith("-") else 1), text.lstrip("+-")
    base = BASES.get(digits[:2], 10)
    digits = digits[2:] if base != 10 else digits
    value = int(digits, base) if len(digits) <= MOST_DIGITS else None
    if value is None or value > LARGEST:
        raise HarnessError(f"a whole number of {len(digits):,} digits; numbers from -1e308 to 1e308 are read")
    return sign * value


def items_of(node: MappingNode) -> Iterator[tuple[ScalarNode, Node]]:
    """Keys and values of a mapping.

    Raises yaml.constructor.ConstructorError for a key that is there twice, is no plain value, or is YAML 1.1's `<<`.
    """
    seen = set()
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise _error("a key has to be a plain value", key)
        if key.tag == PREFIX + "merge":
            raise _error("<< is of YAML 1.1; repeat the fields, or say `extends`", key)
        if key.value in seen:
            raise _error(f'found duplicate key "{key.value}"', key)
        seen.add(key.value)
        yield key, value


def _error(problem: str, node: Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
