"""Inequalities as trees: their plain text, what is written of them, and that nobody takes a text apart."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from harness.claims.expectation import CLAIM_KINDS, ClaimKind, For, points_part
from harness.claims.expression import (
    DomainPart,
    Expression,
    HasTree,
    Name,
    Numeral,
    Operation,
    Row,
    Words,
    aside,
    chain,
    domains,
    level,
    listing,
    names,
    numeral,
    phrase,
    width,
)
from harness.claims.verdict import Verdict, VerdictFile, dump
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from tests.conftest import REPO, committed_specs
from tests.verdict_fields import change

TREES: TypeAdapter[Expression] = TypeAdapter(Expression)
VERDICTS = REPO / "reports/sequential/verdicts.json"


@pytest.fixture(scope="module")
def claims() -> dict[str, list[ClaimKind]]:
    """Every part of every committed claim."""
    specs = [one.spec for one in committed_specs()]
    return {f"{spec.id}#{claim.id}": list(claim.theory or spec.parts(claim)) for spec in specs for claim in spec.claims}


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return list(VerdictFile.model_validate_json(VERDICTS.read_text()).verdicts)


def test_every_committed_claim_reads_as_it_was_written(
    claims: dict[str, list[ClaimKind]], verdicts: list[Verdict]
) -> None:
    assert len(verdicts) > 400
    for verdict in verdicts:
        assert tuple(part.text() for part in claims[verdict.id]) == verdict.claim.inequality


def test_text_is_made_of_the_tree_and_of_nothing_else() -> None:
    for name, kind in CLAIM_KINDS:
        assert kind.text is HasTree.text, name


def test_trees_come_back_from_a_file_as_they_were(claims: dict[str, list[ClaimKind]], verdicts: list[Verdict]) -> None:
    schema = json.loads((REPO / "reports/verdicts.schema.json").read_text())
    written = [change(v, expressions=tuple(p.tree() for p in claims[v.id])) for v in verdicts]
    text = dump(VerdictFile(profile="sequential", alpha=0.05, verdicts=tuple(written)))
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    again = VerdictFile.model_validate_json(text).verdicts
    assert [v.claim.expressions for v in again] == [v.claim.expressions for v in written]
    for verdict in again:
        assert tuple(tree.text() for tree in verdict.claim.expressions) == verdict.claim.inequality
    assert len(text) < 1.25 * VERDICTS.stat().st_size


def test_judging_gives_the_trees_with_the_texts() -> None:
    """Of a spec that is not run, which are those of its declaration."""
    one = next(one for one in committed_specs() if one.spec.id == "humphries2020/fig6")
    judged = judge_spec(scale(one.spec, "full", Profile()), "0" * 64, None)
    assert len(judged) == len(one.spec.claims)
    for verdict, claim in zip(judged, one.spec.claims, strict=True):
        assert verdict.claim.expressions == tuple(part.tree() for part in one.spec.parts(claim))
        assert verdict.claim.inequality == tuple(tree.text() for tree in verdict.claim.expressions)


def test_a_verdict_without_trees_is_written_without() -> None:
    text = VERDICTS.read_text()
    file = VerdictFile.model_validate_json(text)
    bare = change(file.verdicts[0], expressions=())
    assert '"expressions"' not in dump(file.model_copy(update={"verdicts": (bare,)}))


@pytest.mark.parametrize(
    ("tree", "text", "written"),
    [
        (numeral(0.1), "0.1", 0.1),
        (numeral(1e-5), "1e-05", 1e-5),
        (numeral(-math.inf), "-inf", {"operator": "-", "terms": ["inf"], "tight": True}),
        (Numeral(number=48842123), "48842123", 48842123),
        (Numeral(number=0.9, percent=True), "90%", {"number": 0.9, "percent": True}),
        (level("fast"), "fast", "fast"),
        (level(math.inf, "∞"), "∞", "∞"),
        (Name(name="f", of=()), "f()", {"name": "f", "of": []}),
        (Name(name="a", minus="b", of=tuple(names("cd"))), "a - b(c, d)", {"name": "a", "minus": "b", "of": ["c", "d"]}),
        (chain("<", *names("ab"), numeral(2.0)), "a < b < 2", {"operator": "<", "terms": ["a", "b", 2.0]}),
        (chain("<", Name(name="a")), "a", "a"),
        (phrase("about", Name(name="a"), None, aside("or", numeral(1.0))),
         "about a (or 1)", [{"words": "about"}, "a", {"brackets": "()", "inside": [{"words": "or"}, 1.0]}]),
        (listing([*names("ab"), width(0.5)], ";"),
         "a; b; +- 0.5", {"row": ["a", "b", {"operator": "+-", "terms": [0.5]}], "separator": ";"}),
    ],
)  # fmt: skip
def test_nodes_have_a_plain_text_and_are_written_bare_where_they_can_be(
    tree: Expression, text: str, written: object
) -> None:
    assert tree.text() == text
    assert TREES.dump_python(tree, mode="json") == written
    again = TREES.validate_json(json.dumps(written))
    assert again == tree
    assert again.text() == text


def test_what_is_no_node_is_refused() -> None:
    for wrong in (True, None, {}, {"word": "a"}, {"operator": "+", "terms": []}):
        with pytest.raises(ValidationError):
            TREES.validate_python(wrong)


@pytest.mark.parametrize(
    ("quantifier", "at", "text"),
    [
        ("all", None, "for every epsilon"),
        ("some", {"epsilon": (0.1, math.inf)}, "for some epsilon in {0.1, inf}"),
        ("all", {"epsilon": (0.1,), "q": ("a",)}, "at epsilon = 0.1, q = a"),
        ({"arm": "some"}, None, "for some arm, every other grid point"),
        ({"arm": "some"}, {"p": (1.0, 2.0), "q": (True,)}, "for some arm, every other p in {1, 2}, q = True"),
    ],
)
def test_grid_points_are_a_part_of_their_own(quantifier: For, at: dict[str, tuple[object, ...]], text: str) -> None:
    part = points_part(quantifier, at)
    assert part.text() == text
    assert domains(phrase("so", part)) == [part]


def test_the_domain_of_a_theorem_is_found_where_its_words_are_elsewhere_too() -> None:
    over = DomainPart(domain="for", over=(Operation(operator="in", terms=(Name(name="x"), Row(row=()))),))
    tree = phrase(Name(name="f"), "is good for y", over)
    assert [part.of() for part in domains(tree)] == ["x in "]
    assert domains(Words(words="f for x in [0, 1]")) == []


TAKES_APART = {"partition", "rpartition", "split", "rsplit", "splitlines", "find", "index", "startswith", "endswith"}


def texts_taken_apart(tree: ast.AST) -> Iterator[int]:
    """Lines where a text that is rendered from a claim or a verdict is cut or searched."""
    rendered = {"inequality", "reason", "tally"}

    def is_rendered(node: ast.AST) -> bool:
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "text"
        return called or (isinstance(node, ast.Attribute) and node.attr in rendered)

    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            if is_rendered(node.comparators[-1]):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if of_re and any(map(is_rendered, node.args)):
                yield node.lineno
            if node.func.attr in TAKES_APART:
                cuts_words = any(
                    isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value.strip() != a.value and
                    a.value.strip().isalpha() for a in node.args
                )  # fmt: skip
                if cuts_words or is_rendered(node.func.value):
                    yield node.lineno


def test_no_text_of_a_claim_is_taken_apart() -> None:
    wrong = [
        f"{path.relative_to(REPO)}:{line}"
        for path in sorted((REPO / "harness").rglob("*.py"))
        for line in texts_taken_apart(ast.parse(path.read_text()))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "code",
    ['text.partition(" for ")', '"part" in verdict.tally', "claim.text().split()", "re.sub('a', 'b', v.inequality)"],
)
def test_what_counts_as_taking_apart(code: str) -> None:
    assert list(texts_taken_apart(ast.parse(code))) == [1]


def test_mathml_knows_no_regular_expression() -> None:
    path = Path(REPO, "harness/report/mathml.py")
    tree = ast.parse(path.read_text())
    imported = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"re", "regex", "tokenize", "shlex"}
    called = {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}  # fmt: skip
    assert not called & TAKES_APART


def test_a_file_of_verdicts_has_a_tree_on_a_line() -> None:
    file = VerdictFile.model_validate_json((REPO / "reports/sequential/humphries2020/games/verdicts.json").read_text())
    written = dump(file)
    assert VerdictFile.model_validate_json(written) == file
    trees = [tree for verdict in json.loads(written)["verdicts"] for tree in verdict["claim"]["expressions"]]
    lines = [
        json.loads(line.strip().rstrip(",")) for line in written.splitlines() if line.lstrip().startswith(("[{", '{"'))
    ]
    assert len(trees) > 5
    assert lines == trees
