"""Tables and text that commands print: complete in a pipe, wrapped at blanks on a terminal, and no word ever cut."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from harness.auditing.auditor import Bound
from harness.claims.verdict import Verdict, VerdictFile
from harness.commands import alternatives, common, tables
from harness.commands.tables import INDENT, Cell, Table, lay_out, tab_separated, wrap_text
from harness.extensions.audit import command as audit
from harness.extensions.survey import command as survey
from harness.extensions.survey.member_sets import MemberSet
from harness.extensions.survey.ranking import ABOVE, Discovery, MeasuredAdvantage, SetResult
from harness.paths import Project
from tests.conftest import REPO, run_cli

WIDTHS = (40, 80, 120)
LONG_ID = "jayaraman2019/lr-purchase100#attribute-accords-with-noise"
WORD = st.text("abcdefgh-/#ε,.", min_size=1, max_size=18)
SENTENCE = st.lists(WORD, max_size=12).map(" ".join)


@st.composite
def drawn_tables(draw: st.DrawFn) -> Table:
    columns = draw(st.lists(WORD, min_size=1, max_size=5))
    rows = draw(st.lists(st.lists(SENTENCE, min_size=len(columns), max_size=len(columns)), max_size=5))
    return Table.of(columns, rows)


def words_of(lines: Iterable[str]) -> Counter[str]:
    return Counter(word for line in lines for word in line.split())


def in_columns(table: Table) -> Counter[str]:
    """The words of an aligned table."""
    return words_of(cell.text for row in table.with_header for cell in row)


def in_blocks(table: Table) -> Counter[str]:
    """The words of a table in blocks: no header, and each field that says something after the name of its column."""
    fields = [
        text
        for row in table.rows
        for name, cell in zip(table.columns[1:], row[1:], strict=True)
        if cell.words
        for text in (f"{name}:", cell.text)
    ]
    return words_of([*fields, *(row[0].text for row in table.rows)])


def assert_whole_table(table: Table, width: int) -> None:
    lines = [line.plain for line in lay_out(table, width)]
    assert words_of(lines) in (in_columns(table), in_blocks(table))
    assert_fits(lines, width)


def assert_fits(lines: Iterable[str], width: int) -> None:
    """A line that is wider than the terminal is a single word."""
    assert [line for line in lines if Text(line).cell_len > width and len(line.removeprefix("- ").split()) > 1] == []


@given(drawn_tables(), st.integers(1, 150))
def test_no_layout_loses_or_cuts_a_word(table: Table, width: int) -> None:
    assert_whole_table(table, width)
    header, *records = tab_separated(table)
    assert words_of([header, *records]) == in_columns(table)
    assert len(records) == len(table.rows)
    assert {line.count("\t") for line in (header, *records)} == {len(table.columns) - 1}


@given(st.lists(st.tuples(st.sampled_from(["", "  ", "- ", "   - "]), SENTENCE), max_size=4), st.integers(1, 60))
def test_text_is_wrapped_at_blanks(pieces: list[tuple[str, str]], width: int) -> None:
    text = "\n".join(indent + sentence for indent, sentence in pieces)
    lines = wrap_text(Text(text), width).plain.split("\n")
    assert " ".join(lines).split() == text.split()
    assert_fits(lines, width)


def test_columns_where_each_has_its_longest_word_and_blocks_where_not() -> None:
    table = Table.of(("claim", "verdict", "why"), [(LONG_ID, Cell("reproduced", "green"), "as the paper has it")])
    wide = [line.plain for line in lay_out(table, 90)]
    assert wide == [
        f"claim{' ' * 54}verdict     why",
        f"{LONG_ID}  reproduced  as the paper has it",
    ]
    middle = [line.plain for line in lay_out(table, 80)]
    assert middle[1:] == [f"{LONG_ID}  reproduced  as the", f"{' ' * 71}paper has", f"{' ' * 71}it"]
    assert [line.plain for line in lay_out(table, 40)] == [
        LONG_ID,
        f"{INDENT}verdict: reproduced",
        f"{INDENT}why: as the paper has it",
    ]


def test_the_colour_of_a_block_is_of_the_field_alone() -> None:
    table = Table.of(("claim", "verdict"), [("a/b#c-is-long-enough", Cell("reproduced", "green"))])
    _, line = lay_out(table, 24)
    assert [(line.plain[s.start : s.end].strip(), s.style) for s in line.spans] == [("reproduced", "green")]


def test_rows_have_as_many_fields_as_there_are_columns() -> None:
    with pytest.raises(ValueError, match="a row has 1 fields, and there are 2 columns"):
        Table.of(("a", "b"), [("x",)])


class Recorder:
    """What commands hand over to be printed on a terminal."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.texts: list[Text] = []

    def lay_out(self, table: Table, width: int) -> list[Text]:
        self.tables.append(table)
        return lay_out(table, width)

    def wrap_text(self, text: Text, width: int) -> Text:
        self.texts.append(text.copy())
        return wrap_text(text, width)

    def assert_whole(self, printed: str) -> None:
        """At every width no word is cut, and nothing else was printed, by `print` or by Rich itself."""
        assert self.tables
        for width in WIDTHS:
            for table in self.tables:
                assert_whole_table(table, width)
            for text in self.texts:
                lines = wrap_text(text.copy(), width).plain.split("\n")
                assert words_of(lines) == words_of([text.plain])
                assert_fits(lines, width)
        known = sum((in_columns(table) | in_blocks(table) for table in self.tables), Counter())
        known += words_of(text.plain for text in self.texts)
        assert not words_of([printed]) - known


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Commands print as on a terminal, and what they print is recorded."""
    recorder = Recorder()
    monkeypatch.setattr(tables.WholeWordConsole, "is_terminal", True)
    monkeypatch.setattr(tables, "lay_out", recorder.lay_out)
    monkeypatch.setattr(tables, "wrap_text", recorder.wrap_text)
    return recorder


@pytest.mark.parametrize(
    "command",
    [
        "list metrics",
        "list datasets",
        "list humphries2020",
        "status -p sequential",
        "status -p paper --all",
        "explain humphries2020/fig6#logloss-cap -p sequential",
        "explain jayaraman2019/lr-cifar100#table5-exposed -p sequential",
        "data status",
        pytest.param("list", marks=pytest.mark.integration),
        pytest.param("accountants --epsilon 1 -q", marks=pytest.mark.integration),
        pytest.param("plan humphries2020/fig6 -p sequential -q", marks=pytest.mark.integration),
        pytest.param("alternatives --plan humphries2020/fig6 -p sequential", marks=pytest.mark.integration),
    ],
)
def test_commands_on_what_is_committed_cut_no_word(command: str, terminal: Recorder, tmp_path: Path) -> None:
    ran = run_cli(REPO, *command.split(), HARNESS_STORE=str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    terminal.assert_whole(ran.stdout)


@pytest.mark.integration
def test_commands_on_ones_own_project_cut_no_word(make_project: Callable[..., Project], terminal: Recorder) -> None:
    root = make_project().root
    waste = root / ".harness/store/train/ab"
    waste.mkdir(parents=True)
    (waste / f"{'ab' * 32}.npz").write_bytes(b"x" * 100)
    (root / "mine.py").write_text(MINE)
    for name, seed in (("members.csv", 1), ("others.csv", 2)):
        drawn = np.random.default_rng(seed).normal(size=(90, 2)).round(6)
        pd.DataFrame(drawn, columns=["a", "b"]).assign(y=["yes", "no"] * 45).to_csv(root / name, index=False)
    printed = ""
    for typed in (
        "plan own/cancer -q",
        "store gc",
        "survey cancer.csv --label target --list -q",
        "audit mine.py:train --epsilon 1 --runs 8 --records 30 -q",
        "audit mine.py:predict --members members.csv --nonmembers others.csv --label y -q",
    ):
        before = len(terminal.tables)
        ran = run_cli(root, *typed.split())
        assert ran.returncode in (0, 1), (typed, ran.stderr)
        assert len(terminal.tables) > before, (typed, ran.stdout)
        printed += ran.stdout
    terminal.assert_whole(printed)


MINE = """\
import numpy as np

def train(features, labels, seed):
    return [np.random.default_rng(seed).normal(size=(features.shape[1], 1))]

def predict(features):
    likely = 1 / (1 + np.exp(-np.asarray(features, dtype=float)[:, 0]))
    return np.stack([1 - likely, likely], axis=1)
"""


@pytest.fixture(scope="module")
def committed() -> tuple[Verdict, ...]:
    path = REPO / "reports/sequential/verdicts.json"
    return VerdictFile.model_validate_json(path.read_text(encoding="utf-8")).verdicts


def test_tables_of_what_takes_training_cut_no_word(
    committed: tuple[Verdict, ...], terminal: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judged claims, readings, audits and surveys, of results that are there."""
    common.print_verdicts(committed)
    alternatives._show([v for v in committed if v.rests_on.readings])
    bound = Bound("clopper-pearson", 1.5, 0.95, "TPR 0.9, FPR 0.1", "scores are normal")
    audit._show([(1.0, bound), (4.0, bound)], "fast, add-remove-one neighbours", 1e-5, 100)
    survey._print_ranking(list(surveyed()), Project(REPO).root / "reports/own/site/a.html")
    assert len(terminal.tables) == 4
    assert len(terminal.tables[0].rows) == len(committed)
    terminal.assert_whole(capsys.readouterr().out)


def surveyed() -> Iterator[SetResult]:
    for label in ("sex = Female", "date of the first visit to the clinic = 1987 to 1991"):
        advantages = (MeasuredAdvantage(0.1, 0.2, 0.1, 0.3, 4), MeasuredAdvantage(float("inf"), 0.5, 0.4, 0.6, 4))
        found = (Discovery("x", ABOVE, 0.1, 30.0),)
        yield SetResult(MemberSet("a", label, 1200, {"kind": "attribute"}), advantages, float("nan"), found, ())


def test_a_pipe_gets_whole_records_whatever_its_columns() -> None:
    told = {run_cli(REPO, "list", "humphries2020", COLUMNS=str(width), FORCE_COLOR="1").stdout for width in WIDTHS}
    (text,) = told
    header, *records = text.splitlines()
    assert header.split("\t") == ["spec", "where", "dataset", "arms", "attacks", "claims"]
    assert len(records) == len(list((REPO / "specs/humphries2020").glob("[!_]*.yaml")))
    assert {record.count("\t") for record in records} == {5}


def test_nobody_prints_but_by_this_module() -> None:
    """`print` and Rich know of no rule for words; for standard error and JSON they are right."""
    for path in sorted((REPO / "harness/commands").glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if path.name == "tables.py" or "file=" in line:
                continue
            assert not re.search(r"(?<![\w.])print\(|rich\.|typer\.echo", line) or line.lstrip().startswith(
                'print(f"report: '
            ), f"{path.name}:{number}"


@pytest.mark.integration
def test_a_real_terminal_forty_columns_wide() -> None:
    """As a user sees it: colours, and each word as in a pipe."""
    command = [sys.executable, "-m", "harness", "explain", "humphries2020/fig6#logloss-cap", "-p", "sequential"]
    usual = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    environment = {**usual, "PYTHONPATH": str(REPO), "COLUMNS": "40", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=REPO, env=environment, stdout=theirs, stdin=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[31m" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown.decode())
    assert_fits([line.rstrip() for line in plain.splitlines()], 40)
    piped = subprocess.run(command, cwd=REPO, env=environment, capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    columns = {f"{word}:" for word in ("measured", "95%", "line")} | {"holds", "in:"}
    assert not set(plain.split()) - set(piped.split()) - columns
