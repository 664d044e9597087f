"""The glossary has every word that a verdict or a claim is labelled with, once."""

from __future__ import annotations

import re
from typing import get_args

from harness.claims.operands import PointQuantifier
from harness.claims.verdict import Origin
from harness.claims.words import Certainty, Word
from tests.conftest import REPO

TEXT = (REPO / "docs" / "glossary.md").read_text()
TERMS = [
    term.strip().lower()
    for row in re.findall(r"^\| ([^|]+) \|", TEXT, re.M)
    for term in row.split(",")
    if row.strip() not in ("term", "---")
]


def test_every_word_of_a_verdict_is_explained() -> None:
    assert set(Word) <= set(TERMS)
    body = re.sub(r"[`*]", "", TEXT)
    for word in (*get_args(Origin), *Certainty, *get_args(PointQuantifier)):
        assert re.search(rf"\b{re.escape(word)}\b", body), word


def test_a_term_is_explained_once_and_in_a_sentence() -> None:
    assert len(TERMS) == len(set(TERMS))
    assert len(TERMS) >= 60
    for meaning in re.findall(r"^\| [^|]+ \| (.+) \|$", TEXT, re.M):
        assert meaning in ("meaning", "---") or re.search(r"[.)]$|;\s`\w+`\.$", meaning), meaning
