"""YAML 1.2 by libyaml, beside ruamel.yaml, which is another reader of the same language."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from harness.errors import HarnessError
from harness.spec.document import load_document
from tests.conftest import REPO

SCALARS = [
    *(
        "1e-5",
        "1E3",
        "-2.5e+3",
        "1_000",
        "0o17",
        "0x1f",
        "0b101",
        "007",
        "+3",
        "-0",
        "1.",
        ".5",
        "-.5",
        "1.5",
        ".inf",
        "-.inf",
    ),
    *(
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "true",
        "False",
        "TRUE",
        "null",
        "~",
        "Null",
        "",
        "12:30",
        "2026-11-25",
        "1.2.3",
    ),
    *(
        "0o8",
        "1e",
        "e5",
        "_1",
        "'5'",
        '"true"',
        "<",
        "a b",
        ". inf",
        "!!str 5",
        "nan",
        "Infinity",
        "-",
        "1-2",
        "#",
    ),
]
KEYS = st.text("abcdefgh_-", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def by_name(data: Any) -> Any:
    """With keys as text, as a document has them."""
    if isinstance(data, list):
        return [by_name(one) for one in data]
    return {str(key): by_name(one) for key, one in data.items()} if isinstance(data, dict) else data


def read(text: str, folder: Path) -> Any:
    path = folder / "one.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    return load_document(path)


@pytest.mark.parametrize("scalar", SCALARS)
def test_plain_values_are_those_of_yaml_1_2(scalar: str, tmp_path: Path) -> None:
    try:
        expected = YAML(typ="safe").load(f"a: {scalar}\n")["a"]
    except Exception:
        with pytest.raises(HarnessError, match="not valid YAML"):
            read(f"a: {scalar}\n", tmp_path)
        return
    if scalar == "2026-11-25":
        expected = str(expected)  # a spec has no dates
    result = read(f"a: {scalar}\n", tmp_path).data["a"]
    assert (type(result), result) == (type(expected), expected)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_what_another_writer_writes_is_read_as_it_was(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    out = io.StringIO()
    YAML(typ="safe").dump(data, out)
    assert read(out.getvalue(), tmp_path_factory.mktemp("yaml")).data == data


@pytest.mark.parametrize(
    "path", [*sorted((REPO / "specs").rglob("*.yaml")), REPO / "params.yaml"], ids=lambda p: p.name
)
def test_every_committed_file_reads_alike_by_both(path: Path, tmp_path: Path) -> None:
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("extends:"))
    assert read(text, tmp_path).data == by_name(YAML(typ="safe").load(text))


def test_lines_and_anchors(tmp_path: Path) -> None:
    text = "a: &x\n  b: 1\n  c: [2,\n      3]\nd:\n  b: 4\ne: *x\n"
    document = read(text, tmp_path)
    assert document.data == {"a": {"b": 1, "c": [2, 3]}, "d": {"b": 4}, "e": {"b": 1, "c": [2, 3]}}
    lines = {keys: line for keys, (_, line) in document.places.items()}
    assert lines[("a", "c", 1)] == 4
    assert lines[("d", "b")] == 6
    assert lines[("e",)] == 7
    assert math.isinf(read("a: .inf", tmp_path).data["a"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: {c: 1,\n  c: 2}\n", r'one.yaml:3: not valid YAML: found duplicate key "c"'),
        ("a: 1\n? [1, 2]\n: 3\n", "one.yaml:2: not valid YAML: a key has to be a plain value"),
        (
            "a: 1\nb: !!timestamp 2026-11-25\n",
            "one.yaml:2: not valid YAML: the tag .*timestamp: a spec has plain values",
        ),
        ("a: 1\nb: !own x\n", "one.yaml:2: not valid YAML: the tag !own"),
        ("a: &x {c: 1}\nb:\n  <<: *x\n", "one.yaml:3: not valid YAML: << is of YAML 1.1; repeat the fields, or say"),
        ("a: &x\n  <<: *x\n", r"one.yaml:2: \*x stands inside what it names"),
        ("a: &x\n  - 1\n  - [2, *x]\n", r"one.yaml:3: \*x stands inside what it names"),
        ("a: 1\nb: !!int x\n", "one.yaml:2: not valid YAML"),
        ("a: [1, 2\nb: 3\n", r"one.yaml:2: not valid YAML"),
        ("a: *nowhere\n", "one.yaml:1: not valid YAML: found undefined alias"),
    ],
)
def test_what_is_no_yaml_of_plain_values_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=said):
        read(text, tmp_path)
