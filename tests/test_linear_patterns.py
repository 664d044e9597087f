"""Texts that a user brings are read in a time that is linear in them, whatever they repeat."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.commands.tables import print_text
from harness.data.columns import DATE, DECIMAL_COMMA, THOUSANDS, yaml_word
from harness.report.glossary import read_glossary
from harness.report.manual import anchor, first_sentence, strip_comments, title_of, without_links
from harness.report.tex import untex
from harness.results.guess import MEAN_OF
from harness.results.rows import split_spread
from harness.spec.yaml_nodes import FLOATING, INTEGER

LONG = 130_000
"""Characters; the longest cell of a CSV file has 131,072."""
SECONDS = 5.0
"""What each takes milliseconds for; a quadratic reading takes most of a minute."""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0.91 ± 0.02", ("0.91", "0.02")),
        ("0.91+/-0.02", ("0.91", "0.02")),
        ("0.91 +- 0.02", ("0.91", "0.02")),
        ("-1 ± 1 ± 2", ("-1", "1 ± 2")),
        ("±1", None),
        ("1±", None),
        ("1 ", None),
        ("", None),
        ("+-+-1", ("+-", "1")),
        ("1" + " " * LONG + "± 2", ("1", "2")),
        ("1" + " " * LONG + "x", None),
        ("1" + "+" * LONG + "-2", ("1" + "+" * (LONG - 1), "2")),
    ],
    ids=["sign", "slash", "plain", "two", "no-mean", "no-spread", "one", "empty", "marks", "blanks", "none", "plus"],
)
def test_a_mean_and_its_spread_are_split_in_linear_time(text: str, parts: tuple[str, str] | None) -> None:
    began = time.perf_counter()
    assert split_spread(text) == parts
    assert time.perf_counter() - began < SECONDS


READERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "comments": (strip_comments, ("<!--", "<!-- -->", "\n<!--")),
    "links": (without_links, ("[", "[a](", "[a]", "![")),
    "anchor": (anchor, ("<", "<a", "`")),
    "sentence": (first_sentence, ("<!--", "[", ". A", "\n# ")),
    "title": (title_of, ("# ", "\n")),
    "formulas": (untex, ("\\text{", "\\frac{", "\\hat ", "^{", "_{", "\\sqrt{", "{", "\\")),
    "means": (MEAN_OF.fullmatch, ("_", "_mean", " mean ", ".avg")),
    "commas": (DECIMAL_COMMA, ("1", "1.", "123.", "1,")),
    "thousands": (THOUSANDS, ("123,", "1 ", "1")),
    "dates": (DATE, ("2024-01-31", "0")),
    "words": (yaml_word, ("a ", "a.", "a/")),
    "integers": (INTEGER.match, ("0", "0x", "_", "1_")),
    "numbers": (FLOATING.match, ("1", "1_", "1.", "1e", ".")),
}


@pytest.mark.parametrize("name", READERS)
def test_no_text_is_read_in_quadratic_time(name: str) -> None:
    read, repeated = READERS[name]
    for part in repeated:
        began = time.perf_counter()
        read(part * (LONG // len(part)) + "!")
        assert time.perf_counter() - began < SECONDS, part


def test_blanks_at_the_end_of_a_line_are_printed_in_linear_time(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    print_text("a" + " " * LONG)
    assert time.perf_counter() - began < SECONDS


def test_a_glossary_is_read_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "glossary.md"
    for part in ("<!-- Everyday words", "| a ", "| a | b |\n", "## <"):
        path.write_text(part * (LONG // len(part)) + "!")
        began = time.perf_counter()
        read_glossary(path)
        assert time.perf_counter() - began < SECONDS, part
