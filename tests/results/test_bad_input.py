"""What a file of results, or a spec on one, may have wrong: one line with the place and what would be right; exit 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.paths import Project
from harness.results.rows import read_rows
from tests.conftest import run_cli
from tests.results.files import COMPARE, Make, experiment, load_written, log, write_spec

CLAIM = COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"value": 0.5}}


@pytest.fixture
def project(make_project: Make) -> Project:
    made = make_project()
    log(repeats=2).to_csv(made.root / "results.csv", index=False, float_format="%.3f")
    return made


def line_said(project: Project, declared: dict[str, Any], expect: dict[str, Any] | None = None) -> str:
    """The one line that refuses a spec, or its file, without where the project lies."""
    with pytest.raises(HarnessError) as raised:
        results = load_written(project, declared, expect or CLAIM).spec.results
        assert results is not None
        read_rows(results, project.root / results.path)
    said = str(raised.value)
    assert "\n" not in said
    return said.replace(f"{project.root}/", "")


def edit(project: Project, row: int, **cells: object) -> None:
    """Change cells of a row of the file, counted from 0; its line is two more."""
    path = project.root / "results.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, cell in cells.items():
        frame.loc[row, column] = str(cell)
    frame.to_csv(path, index=False)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"train": 1.3}, "results.csv:5: column 'train': 1.3 is outside of it: train is declared to range over [0, 1]"),
        ({"train": "nan"}, "results.csv:5: column 'train': found 'nan'; a finite number is needed, such as 0.91"),
        ({"train": ""}, "results.csv:5: column 'train': the cell is empty; a finite number is needed, such as 0.91"),
        ({"train": "91%"}, "results.csv:5: column 'train': found '91%'; a finite number is needed, such as 0.91"),
        (
            {"train": "0,91"},
            "results.csv:5: column 'train': found '0,91', which has a decimal comma; write a point; a finite number is",
        ),
        (
            {"epoch": "1,5"},
            "results.csv:5: column 'epoch': found '1,5', which has a decimal comma; write a point; a number",
        ),
        ({"loss": "inf"}, "results.csv:5: column 'loss': found 'inf'; a finite number is needed, such as 0.91"),
        (
            {"method": "Adam"},
            "results.csv:5: column 'method': found 'Adam'; the spec declares: SGD, DP-SGD; add it under "
            "experiment.arms, or write `in_file` there",
        ),
        ({"seed": ""}, "results.csv:5: column 'seed': the cell is empty; each row needs the name of its repeat"),
        ({"epoch": ""}, "results.csv:5: column 'epoch': the cell is empty; an axis has a value in every row"),
        (
            {"seed": 0, "epoch": 1},
            "results.csv:5: a second value of train (arm plain, epoch 1), the first is in line 2; leave one out",
        ),
        (
            {"seed": 77},
            "results.csv: no train of the repeat '10' (arm plain, epoch 1), which other rows of the arm have; give "
            "every repeat of an arm at every place, leave that repeat out, or say that runs stopped early "
            "(stopped_early: true)",
        ),
    ],
)
def test_a_wrong_cell_is_named_with_its_line_and_column(cells: dict[str, object], said: str, project: Project) -> None:
    edit(project, 3, **cells)
    line = line_said(project, experiment())
    assert line.startswith(said.removesuffix(", or leave that repeat out")), line


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"columns": {"arm": "method", "repeat": "run"}},
            "mine.yaml:10: experiment.columns.repeat: results.csv has no column 'run'; it has: method, seed, epoch, "
            "train, test, loss",
        ),
        (
            {"metrics": {"train": [0, 1], "recall": [0, 1]}},
            "experiment.metrics.recall: results.csv has no column 'recall'; it has: method, seed",
        ),
        ({"axes": ["step"]}, "experiment.axes.step: results.csv has no column 'step'; it has: method, seed"),
        (
            {"axes": {"epoch": [1, 2]}},
            "results.csv:4: column 'epoch': 3 is none of the declared values: 1, 2",
        ),
        ({"path": "none.csv"}, "experiment.path: none.csv: no such file; it is looked for at none.csv"),
        ({"repeats": 3}, "experiment.repeats: results.csv: has 2 repeats where the spec declares 3"),
        ({"kind": "tabel"}, "experiment.kind: unknown kind 'tabel'; known: table (results from elsewhere)"),
        ({"format": "long"}, "experiment.format: input should be 'tidy', 'wide', 'scores' or 'summary', found 'long'"),
        ({"metrics": {"train": [1, 0]}}, "is [least, greatest], both finite, such as [0, 1]; found [1, 0]"),
        ({"metrics": {"auc": [0.5, 1]}}, "auc ranges over [0, 1] wherever it is measured; leave its range out"),
        ({"colums": {}}, "experiment.colums: unknown field; did you mean 'columns'?"),
        ({"columns": {"sed": "seed"}}, "columns: 'sed' is nothing that a wide file has; it has: arm, attack, repeat"),
        ({"axes": ["arm"]}, "axes: an axis cannot be named 'arm'; that name is taken"),
        ({"arms": {"plain": {"in_file": "SGD"}, "private": {"in_file": "DP-SGD"}, "third": {}}},
         "experiment.arms.third: results.csv: no row of the arm 'third' (written 'third')"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_what_the_file_has(fields: dict[str, Any], said: str, project: Project) -> None:
    assert said in line_said(project, experiment(**fields))


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"left": {"metric": "recall", "arm": "plain"}}, "unknown metric 'recall' of the model (no attack named)"),
        ({"left": {"metric": "train", "arm": "third"}}, "unknown arm 'third'; known: plain, private"),
        ({"left": {"metric": "train", "arm": "plain", "attack": "loss"}}, "unknown attack 'loss'; known: none"),
        ({"at": {"epoch": [7]}}, "epoch 7 is not on the grid (1, 2, 3)"),
        ({"at": {"epsilon": [1]}}, "unknown axis 'epsilon'; known: epoch"),
        ({"right": {"formula": "humphries"}}, "formula humphries needs epsilon, delta, which is no coordinate of train"),
        ({"kind": "count", "arm": "plain", "equals": {"rows": 1}}, "results from elsewhere count none"),
    ],
)  # fmt: skip
def test_a_claim_on_what_the_file_lacks_is_refused_at_its_line(
    expect: dict[str, Any], said: str, project: Project
) -> None:
    whole = expect if "kind" in expect else CLAIM | expect
    line = line_said(project, experiment(), whole)
    assert line.startswith("mine.yaml:")
    assert "claims.0.expect: claim 'it':" in line
    assert said in line


@pytest.mark.parametrize(
    ("expect", "word"),
    [
        ({"kind": "correlation", "left": {"metric": "train", "arm": "plain"}, "right": {"metric": "test"}}, "correlation"),
        ({"kind": "variance-share", "of": {"metric": "train", "arm": "plain"}, "axis": "a", "than": "b"}, "variance-share"),
        ({"kind": "rank-correlation", "of": {"metric": "train"}, "with": {"metric": "test"}, "above": 0}, "rank-correlation"),
    ],
)  # fmt: skip
def test_a_claim_on_single_repeats_is_refused_of_a_summary(expect: dict[str, Any], word: str, project: Project) -> None:
    (project.root / "results.csv").write_text(
        "method,metric,mean,spread,n\nSGD,train,.6,.1,9\nSGD,test,.5,.1,9\nDP-SGD,train,.6,.1,9\nDP-SGD,test,.5,.1,9\n"
    )
    declared = experiment(format="summary", columns={"arm": "method"}, axes=None,
                          metrics={"train": [0, 1], "test": [0, 1]})  # fmt: skip
    line = line_said(project, declared, expect)
    assert f"{word} needs the result of every repeat, and a summary has their mean alone; give the results" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("member,score,repeat\n1,0.3,0\n2,0.1,0\n", "results.csv:3: column 'member': found '2'; 1 (member) or 0"),
        ("member,score,repeat\n1,0.3,0\n0,nan,0\n", "results.csv:3: column 'score': found 'nan'; a number or inf or -inf is needed"),
        ("member,score,repeat\n1,0.3,0\n1,0.1,0\n", "repeat '0' of the arm 'results' has members alone"),
        ("score,repeat\n0.3,0\n", "experiment.columns.member: results.csv has no column 'member'; it has: score, repeat"),
    ],
)  # fmt: skip
def test_wrong_scores_are_refused(text: str, said: str, project: Project) -> None:
    (project.root / "results.csv").write_text(text)
    declared = experiment(format="scores", columns=None, arms=None, axes=None, metrics=None, attacks=["loss"])
    expect = COMPARE | {"left": {"metric": "auc", "attack": "loss"}, "right": {"value": 0.5}}
    assert said in line_said(project, declared, expect)
    undecided = declared | {"metrics": ["advantage"]}
    (project.root / "results.csv").write_text("member,score\n1,0.3\n0,0.1\n")
    assert "advantage is of an attack's decisions; name their column" in line_said(project, undecided, expect)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean,spread,n\n0.5,-0.1,3\n", "results.csv:2: column 'spread': a standard deviation, or error, is 0 or more"),
        ("mean,spread,n\n0.5,0.1,2.5\n", "results.csv:2: column 'n': found '2.5'; of how many repeats the mean is"),
        ("mean,spread\n0.5,0.1\n", "experiment.repeats: results.csv: has no column 'n'; say of how many repeats"),
        ("mean,n\n0.5,9\n", "results.csv:2: column 'mean': found '0.5'; a mean and its spread are needed, as in 0.91 ± 0.02"),
        ("mean,spread,n\n0.5,0.1,9\n0.6,0.1,9\n", "results.csv:3: a second mean of train (arm results), the first is in line 2"),
    ],
)  # fmt: skip
def test_wrong_summaries_are_refused(text: str, said: str, project: Project) -> None:
    (project.root / "results.csv").write_text(text)
    declared = experiment(format="summary", columns=None, arms=None, axes=None, metrics={"train": [0, 1]})
    expect = COMPARE | {"left": {"metric": "train"}, "right": {"value": 0.5}}
    assert said in line_said(project, declared, expect)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train,test,n\n0.5 ± 0.1,0.5,9\n", "results.csv:2: column 'test': found '0.5'; a mean and its spread are needed, as in 0.91 ± 0.02; or a column `test_spread`"),
        ("train,n\n0.5 ± 0.1,9\n", "experiment.metrics.test: results.csv has no column 'test'; it has: train, n"),
        ("train,test,test_spread,n\n0.5 ± 0.1,0.4,-1,9\n", "results.csv:2: column 'test_spread': a standard deviation, or error, is 0 or more"),
        ("train,test,n\n0.5 ± 0.1,1.4 ± 0.1,9\n", "results.csv:2: column 'test': 1.4 is outside of it: test is declared to range over [0, 1]"),
    ],
)  # fmt: skip
def test_wrong_summaries_with_a_column_each_metric_are_refused(text: str, said: str, project: Project) -> None:
    (project.root / "results.csv").write_text(text, encoding="utf-8")
    declared = experiment(
        format="summary", columns=None, arms=None, axes=None, metrics={"train": [0, 1], "test": [0, 1]}
    )
    assert said in line_said(project, declared, COMPARE | {"left": {"metric": "train"}, "right": {"value": 0.5}})


def test_a_run_that_lacks_a_place_before_its_last_did_not_stop_early(project: Project) -> None:
    frame = log()
    lacking = (frame["seed"] == 10) & (frame["epoch"] == 2) | (frame["seed"] == 20) & (frame["epoch"] == 3)
    frame[~lacking].to_csv(project.root / "results.csv", index=False)
    assert (
        "results.csv: no train of the repeat '10' (arm plain, epoch 2), which has places that fewer repeats reach"
        in line_said(project, experiment(stopped_early=True))
    )
    (project.root / "results.csv").write_text("method,train\nSGD,0.5\n")
    declared = experiment(stopped_early=True, axes=None, columns={"arm": "method"}, metrics={"train": [0, 1]})
    assert "stopped_early: names no axis that runs go along" in line_said(project, declared)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "results.csv: not readable as CSV: the file is empty; a header and records are needed"),
        (b"train,test\n", "results.csv: a header and no row below it; records are needed"),
        (b"train,train\n1,1\n", "results.csv: two columns are called 'train'; name them apart"),
        (b"PAR1 and no more", "results.csv: damaged, not a readable Parquet file"),
        (b"PK\x03\x04", "results.csv: a zip archive or a spreadsheet; export the sheet as CSV"),
        (b"method;seed\n1;2\n", "results.csv: one column alone; it looks separated by ';': write `separator: ';'`"),
    ],
)
def test_a_file_that_holds_no_results_is_refused(content: bytes, said: str, project: Project) -> None:
    (project.root / "results.csv").write_bytes(content)
    assert said in line_said(project, experiment())
    (project.root / "results.csv").unlink()
    (project.root / "results.csv").mkdir()
    assert "results.csv: a folder; a CSV or Parquet file is needed" in line_said(project, experiment())


@pytest.mark.parametrize("command", ["validate", "plan", "run", "judge", "compare"])
def test_every_command_says_it_in_one_line_and_exits_with_2(command: str, project: Project) -> None:
    edit(project, 3, train=1.3)
    path = write_spec(project.root, experiment(), CLAIM)
    before = sorted(project.root.rglob("*"))
    ran = run_cli(project.root, command, "-q", path.name) if command != "validate" else run_cli(
        project.root, command, path.name
    )  # fmt: skip
    assert ran.returncode == 2
    lines = [line for line in ran.stderr.splitlines() if line.startswith("harness: ")]
    assert lines == [
        "harness: results.csv:5: column 'train': 1.3 is outside of it: train is declared to range over [0, 1]"
    ]
    assert "Traceback" not in ran.stderr
    left = {p for p in project.root.rglob("*") if p.is_file()} - {*before}
    assert not [p for p in left if "mlflow" not in Path(p).name]
