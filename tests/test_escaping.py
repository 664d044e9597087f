"""Text of strangers in every output: on a terminal, in Markdown, CSV and XML it is text, and gives no orders."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.errors import HarnessError
from harness.escaping import (
    CONTROL,
    csv_cell,
    markdown_code,
    markdown_text,
    table_csv,
    visible_json,
    visible_line,
    visible_text,
)
from harness.paths import Project
from harness.progress import Progress
from tests.conftest import PARAMS, SMALL_SPEC, run_cli
from tests.test_hostile_names import THEORY

CONTROLS = "\x00\x07\x08\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\r\u202e\u2066\u200f\u2028\ufeff"
HOSTILE = (
    "\\e[2J\\e]0;owned\\a\\x9b31m\\r\\u202e [red]x[/red] [/x] <img src=x onerror=alert(1)> </td> `c` | a \\n# forged \\n| y | "
    "![t](https://evil.example/t.gif) [l](javascript:alert(1)) @everyone **bold** =HYPERLINK(0)"
)
"""In double quotes of YAML."""
FORMULA = "=HYPERLINK(0)"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged project, every free text of whose spec is hostile, with a reading that another baseline differs from."""
    root = tmp_path_factory.mktemp("hostile")
    (root / "specs/own").mkdir(parents=True)
    text = THEORY.replace("title: A bound", f'title: "{HOSTILE}"').replace(
        "where: here\nclaims", f'where: "{HOSTILE}"\nclaims'
    )
    text = text.replace("    where: here", f'    where: "{FORMULA} {HOSTILE}"').replace(
        "The bound is tight.", f'"{FORMULA} {HOSTILE}"'
    )
    text = text.replace("    kind: theory", f'    kind: theory\n    note: "{HOSTILE}"\n    hedge: "{HOSTILE}"')
    (root / "specs/own/plain.yaml").write_text(text)
    (root / "params.yaml").write_text(PARAMS)
    for command in ("judge -q", "report", "compare --update"):
        ran = run_cli(root, *command.split())
        assert ran.returncode == 0, ran.stderr
    return root


def assert_calm(output: str) -> None:
    assert CONTROL.search(output) is None, CONTROL.search(output)


@pytest.mark.parametrize(
    "command", ["judge", "explain own/plain#c1", "list", "report", "status", "plan", "bundle own/plain#c1"]
)
@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_gets_no_orders(
    hostile: Path, command: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if terminal:
        monkeypatch.setattr("harness.commands.tables.WholeWordConsole.is_terminal", True)
    ran = run_cli(hostile, *command.split(), NO_COLOR="1", TERM="dumb")
    assert ran.returncode == 0, ran.stderr
    assert_calm(re.sub(r"\x1b\[[\d;]*m", "", ran.stdout) + ran.stderr)  # colours that are our own
    if command.startswith("explain"):
        words = " ".join(ran.stdout.split())
        assert r"\x1b[2J\x1b]0;owned\x07\x9b31m" in words
        assert "[red]x[/red] [/x]" in words
        assert "\n# forged" not in ran.stdout


def test_json_for_programs_says_the_same_without_control_characters(hostile: Path) -> None:
    ran = run_cli(hostile, "explain", "own/plain#c1", "--json")
    assert_calm(ran.stdout)
    assert "\x1b]0;owned\x07" in json.loads(ran.stdout)["claim"]["statement"]
    document = json.dumps({"a": CONTROLS}, ensure_ascii=False)
    assert json.loads(visible_json(document)) == {"a": CONTROLS}


def test_the_summary_shows_text_and_no_more(hostile: Path) -> None:
    summary = (hostile / "reports/full/summary.md").read_text()
    assert_calm(summary)
    html = MarkdownIt("commonmark").enable("table").render(summary)
    assert not re.search(r"<img|<a |<td>\s*y|<code>c", html), html
    assert html.count("<h1>") == 1
    assert len(re.findall("<h2>", html)) == 1
    assert "@everyone" not in summary
    assert len(re.findall(r"(?m)^\|", summary)) == 2 + 1 + 2 + 1


def test_the_summary_and_the_xml_of_a_comparison(hostile: Path, tmp_path: Path) -> None:
    path = hostile / "reports/full/baseline.json"
    kept = path.read_text()
    hostile_name = "c\x1b[2J`|<img src=x>\n# forged"
    baseline = json.loads(kept)
    (verdicts,) = [of["verdicts"] for of in baseline["specs"].values()]
    verdicts[hostile_name] = "reproduced"
    path.write_text(json.dumps(baseline))
    try:
        ran = run_cli(hostile, "compare", "--junit", str(tmp_path / "x.xml"), "--summary", str(tmp_path / "x.md"))
    finally:
        path.write_text(kept)
    assert ran.returncode == 1, ran.stderr
    assert_calm(ran.stdout + ran.stderr)
    summary, xml = (tmp_path / "x.md").read_text(), (tmp_path / "x.xml").read_text()
    assert_calm(summary + xml)
    html = MarkdownIt("commonmark").enable("table").render(summary)
    assert not re.search(r"<img", html)
    assert html.count("<h1>") == 1
    assert html.count("<td>") % 3 in (0, 2)
    cases = list(ElementTree.fromstring(xml).iter("testcase"))
    assert len(cases) == 2


def test_cells_of_a_spreadsheet_are_no_formulas(hostile: Path) -> None:
    for path in ("reports/full/claims.csv", "reports/full/site/claims.csv"):
        (row,) = list(csv.DictReader(io.StringIO((hostile / path).read_text())))
        assert row["statement"].startswith(f"'{FORMULA}")
        assert row["where"].startswith(f"'{FORMULA}")
        assert not [cell for cell in row.values() if cell[:1] in tuple("=+@\t\r")]


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@x", "\t=1", "-", "=", "-1-1", "+1,5"])
def test_a_cell_that_begins_a_formula_is_text(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    table = pd.DataFrame({text: [text, "plain"], "n": [-1.5, 2.0]})
    (header, first, second) = list(csv.reader(io.StringIO(table_csv(table), newline="")))
    assert header == [f"'{text}", "n"]
    assert first == [f"'{text}", "-1.5"]
    assert second == ["plain", "2.0"]


def test_a_cell_begins_no_row() -> None:
    text = table_csv(pd.DataFrame({"x": ["a\r=1", "\r=1", "b\n=1"]}))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [["x"], ["a\\r=1"], ["\\r=1"], ["b\n=1"]]


@pytest.mark.parametrize("value", ["-0.1", "+1", "-inf", "-1e-5", -0.1, -3, math.nan, None, "a=b", "", "−1"])
def test_numbers_and_other_text_stay(value: object) -> None:
    assert repr(csv_cell(value)) == repr(value)
    table = pd.DataFrame({"x": [value], "y": ["a"]})
    assert table_csv(table) == table.to_csv(index=False, lineterminator="\n")


texts = st.text(st.one_of(st.sampled_from("|`<>[]()!*_#@=-+\\\n\r\t&~:/ abimgsrc1"), st.characters()), max_size=60)


@given(texts)
def test_any_text_in_markdown_is_text_of_one_cell(text: str) -> None:
    for shown in (markdown_text(text), markdown_code(text)):
        assert "\n" not in shown
        assert CONTROL.search(shown) is None
        if not shown.strip():
            continue
        html = (
            MarkdownIt("commonmark", {"html": True})
            .enable("table")
            .render(f"| a | b |\n| - | - |\n| x {shown} y | z |\n")
        )
        assert html.count("<td>") == 2
        assert "<td>z</td>" in html
        assert not re.search(r"<(?!/?(?:table|thead|tbody|tr|th|td|code|p|em)\b)[a-z!?/]", html), html
    assert not re.search("<(?:a|img|strong|code)", MarkdownIt("commonmark").render(f"x {markdown_text(text)} y"))
    html = MarkdownIt("commonmark").render(markdown_text(text))
    assert not re.search("<(?:h[1-6]|ul|ol|blockquote|pre|hr)", html), html


@given(texts)
def test_any_text_on_a_terminal_is_without_orders(text: str) -> None:
    assert CONTROL.search(visible_text(text)) is None
    assert visible_line(text).isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f]", visible_line(text))
    assert "\n" not in visible_line(text)
    assert visible_text("plain é ε ⁢ 👩‍👩 text") == "plain é ε ⁢ 👩‍👩 text"


def test_a_fault_is_one_line_whatever_its_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "params.yaml").write_text(PARAMS)
    name = "a\nharness: all is well\x1b[2J\u202e.yaml"
    (tmp_path / name).write_text("paper: own\n")
    for arguments in (["validate", name], ["judge", name], ["survey", name, "--label", "x"], ["new", "results", name]):
        ran = run_cli(tmp_path, *arguments)
        assert ran.returncode == 2, arguments
        assert [line for line in ran.stderr.splitlines() if not line.startswith("harness: ")] == []
        assert "harness: all is well" not in [line[:20] for line in ran.stderr.splitlines()]
        assert_calm(ran.stderr)
        assert r"\nharness: all is well\x1b[2J\u202e" in ran.stderr


def test_several_faults_are_several_lines() -> None:
    error = HarnessError("one", "two\nlines")
    assert (str(error), error.lines) == ("one\ntwo\nlines", ("one", "two\nlines"))
    assert HarnessError("one").lines == ("one",)


def test_progress_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.say(f"a\n{CONTROLS}")
    progress.warn(f"b\n{CONTROLS}")
    written = capsys.readouterr().err
    assert_calm(written)
    assert written.count("\n") == 2


def test_a_column_of_a_table_and_its_cells_are_text_in_faults(make_project: Callable[..., Project]) -> None:
    column = "\x1b[2J[red]\u202e=1"
    project = make_project(SMALL_SPEC.replace("label: target", "label: missing"))
    table = project.root / "cancer.csv"
    table.write_text(table.read_text().replace("mean texture", f'"{column}"', 1))
    ran = run_cli(project.root, "plan", "own/cancer")
    assert ran.returncode == 2
    assert_calm(ran.stderr)
    assert len(ran.stderr.splitlines()) == 1
