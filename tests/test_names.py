"""Names say what a function does or gives: a verb with an object, or a noun. A participle, an adverb, an adjective or a
preposition alone says neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "harness"
NO_NAMES = (
    "above absent again against alike alone along apart at away before below beside best between beyond both brief "
    "briefly but by caught chosen done drawn each early either else enough every everyone everywhere exact except far "
    "few found free full given gone greatest grown held here identical independent inside irregular kept known large "
    "largest last late later least left less like linear made many matters meant missing more most near nearest next "
    "none once only other others otherwise out outside own past plain plainly private quietly rare rarest rarely "
    "regular relative resident rest rough said same seen sequential shown short similar simple small smallest some "
    "strict sure taken tested their there thought times together told too unique unknown unlike up usual vulnerable "
    "what when where which whole whose wide widest with within without won worn worse worst worthwhile written"
)
WORDS = frozenset(NO_NAMES.split())
EXCEPT = {
    "advanced": "the formula of advanced composition, by the name that specs use",
    "computed": "the decorator of formulas that are computed",
    "like": "a method that formulas ask numbers for by its name (harness.formulas.numbers)",
}
"""Functions that are called so all the same, and why."""
VARIABLES = frozenset({"found", "most", "said"})
"""Names of variables, arguments and fields that say nothing of what they hold."""
SERIALIZED = {("Reason", "found"), ("Counted", "found")}
"""Fields that `verdicts.json` has."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def says_nothing(name: str) -> bool:
    """Whether a name is one word, and that word a participle, an adverb, an adjective or a preposition."""
    word = name.strip("_")
    if name.startswith("__") or "_" in word:
        return False
    return (
        word in WORDS or (word.endswith("ed") and not word.endswith("eed")) or (word.endswith("ly") and word != "apply")
    )


def functions() -> Iterator[tuple[str, Function]]:
    """Every function of the package, methods and those within others too, and where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def test_no_function_is_called_by_a_word_that_says_nothing() -> None:
    assert [
        f"{place}: {node.name}" for place, node in functions() if says_nothing(node.name) and node.name not in EXCEPT
    ] == []
    assert EXCEPT.keys() <= {node.name for _, node in functions()}


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, class (of a field) and name of what a module binds: variables, arguments and fields."""
    fields = {
        id(statement.target): node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, fields.get(id(node), ""), node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, "", node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, "", node.arg


def test_no_variable_is_called_by_a_word_that_says_nothing() -> None:
    assert [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, owner, name in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_") in VARIABLES and (owner, name) not in SERIALIZED
    ] == []


def test_what_counts_as_saying_nothing() -> None:
    names = (
        "_wanted",
        "found",
        "read_table",
        "needed_repeats",
        "seed",
        "moments",
        "together",
        "quietly",
        "__len__",
        "by",
    )
    assert [name for name in names if says_nothing(name)] == ["_wanted", "found", "together", "quietly", "by"]


def test_what_a_module_binds_is_seen() -> None:
    code = "class Reason:\n    found: int\ndef f(said):\n    self.most, g = 1, [found for found in said]\n"
    assert {(owner, name) for _, owner, name in bound_names(ast.parse(code))} == {
        ("Reason", "found"),
        ("", "found"),
        ("", "said"),
        ("", "most"),
        ("", "g"),
    }
