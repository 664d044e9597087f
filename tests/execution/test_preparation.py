"""What `harness plan` says of tables: what is done to them, and what stops a run before anything is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.data.steps import Preparation, Step, What, preparation_from
from harness.paths import Project
from harness.report.preparation import PHRASES, describe_preparation
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]


def with_cells(project: Project, *cells: tuple[int, str, str]) -> Path:
    """The project's table with other cells: (line of the file, column, text)."""
    path = project.root / "cancer.csv"
    lines = [line.split(",") for line in path.read_text().splitlines()]
    for line, column, text in cells:
        lines[line - 1][lines[0].index(column)] = text
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


def test_plan_lists_what_is_done_to_a_table(make_project: Make) -> None:
    project = make_project()
    with_cells(
        project, (4, "size", " small"), (7, "mean area", "?"), (9, "mean area", ""), (1, "worst area", "worst area ")
    )
    ran = run_cli(project.root, "plan")
    assert ran.returncode == 0, ran.stderr
    lines = [line.strip() for line in ran.stdout.splitlines()]
    start = lines.index("table cancer.csv (own/cancer)")
    assert lines[start + 1 : start + 5] == [
        "renamed: 'worst area ' is worst area now",
        "spaces around text taken away: size (1 cell, such as small)",
        "written in several ways and taken as one: size (small)",
        next(line for line in lines if line.startswith("filled: mean area (2 cells: the mean, ")),
    ]
    assert lines[start + 5 : start + 7] == [
        "size: 569 rows, 29 features; left out by the split: size, mean radius; scaled: 29 standard",
        "iid: 569 rows, 32 features; one-hot: size (2); scaled: 30 standard",
    ]
    (spec,) = json.loads(run_cli(project.root, "plan", "--json").stdout)["specs"]
    assert [table["arms"] for table in spec["tables"]] == [["size"], ["iid"]]
    assert {"what": "one-hot", "column": "size", "count": 2, "detail": ""} in spec["tables"][1]["steps"]


@pytest.mark.parametrize(
    ("cells", "old", "new", "line"),
    [
        (
            [(9, "mean area", "inf")],
            "",
            "",
            "cancer.yaml:6: experiment.dataset: cancer.csv:9: column 'mean area' is 'inf', which is not finite",
        ),
        (
            [(9, "mean area", "1e39")],
            "scaling: standard",
            "scaling: none",
            "cancer.yaml:6: experiment.dataset: cancer.csv:9: column 'mean area' is 1e+39, past the range of features",
        ),
        (
            [(line, "mean area", "?") for line in range(2, 571)],
            "impute: mean-mode",
            "impute: drop-rows",
            "cancer.yaml:7: experiment.preprocessing: impute: drop-rows leaves no row: 'mean area' lacks 569 of 569",
        ),
        (
            [(line, "mean area", "?") for line in range(2, 471)],
            "impute: mean-mode",
            "impute: drop-rows",
            "cancer.yaml:8: experiment.sizes: the sizes ask for 280 records (members + test + nonmembers) and impute: "
            "drop-rows leaves 100 of 569; make them smaller",
        ),
        ([], "path: cancer.csv", "path: specs", "cancer.yaml:6: experiment.dataset: specs: a folder, not a file"),
        (
            [],
            "categorical: [size]",
            "categorical: [size], ignore: [target]",
            "cancer.yaml:6: experiment.dataset.csv: ignore: 'target' is the label; take it out of one of them",
        ),
        (
            [],
            "categorical: [size]",
            "encoding: klingon",
            "'klingon' is no encoding of text; such as utf-8, windows-1252, utf-16",
        ),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_stops_a_plan_with_one_line(
    make_project: Make, cells: list[tuple[int, str, str]], old: str, new: str, line: str
) -> None:
    project = make_project(SMALL_SPEC.replace(old, new) if old else SMALL_SPEC)
    with_cells(project, *cells)
    ran = run_cli(project.root, "plan")
    assert ran.returncode == 2, ran.stdout
    assert line in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_each_step_has_its_words_and_comes_back_from_json() -> None:
    from typing import get_args

    assert set(PHRASES) == set(get_args(What))
    steps = tuple(Step(what, "a\nb", 1234, "x" * 100) for what in PHRASES)
    one = Preparation(("iid",), "own.csv", 10, 5, steps)
    assert preparation_from(json.loads(json.dumps(one.in_json()))) == one
    (table,) = describe_preparation([one])
    assert len(table.lines) == len(PHRASES)
    assert all(len(line) < 200 and "\n" not in line for line in table.lines)


def test_many_columns_are_counted() -> None:
    steps = tuple(Step("one-hot", f"c{i}", 2) for i in range(30))
    assert describe_preparation([Preparation(("iid",), "own.csv", 10, 60, steps)])[0].lines == (
        "one-hot: c0 (2), c1 (2), c2 (2), c3 (2), c4 (2), c5 (2), c6 (2), c7 (2) and 22 more",
    )
