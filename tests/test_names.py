"""Names say what a function does or gives: a verb with an object, or a noun. A participle alone says neither."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "harness"
PARTICIPLES = {"apart", "drawn", "found", "given", "held", "kept", "known", "made", "seen", "shown", "taken", "told", "together", "within"}  # fmt: skip
KNOWN = {
    "advanced",  # the formula of advanced composition, by the name that specs use
    "computed",  # the decorator of formulas that are computed
}


def is_participle(name: str) -> bool:
    """Whether a name is one word, and that word a participle or an adverb."""
    word = name.strip("_")
    return "_" not in word and (word in PARTICIPLES or (word.endswith("ed") and not word.endswith("eed")))


def test_no_function_of_a_module_is_called_by_a_participle() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and is_participle(node.name)
        and node.name not in KNOWN
    ]
    assert wrong == []


def test_what_counts_as_a_participle() -> None:
    assert [
        n
        for n in ("_wanted", "found", "read_table", "needed_repeats", "seed", "moments", "together")
        if is_participle(n)
    ] == [
        "_wanted",
        "found",
        "together",
    ]
