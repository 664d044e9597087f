"""`harness survey` from the command line: what it writes, going on, and bad input."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.paths import Project
from tests.conftest import run_cli

Make = Callable[..., Project]
SMALL = ("--members", "60", "--epsilon", "1", "--ranges", "2", "--clusters", "0", "--repeats", "4", "-q")


@pytest.fixture
def project(make_project: Make) -> Project:
    """A project with a table in which the label follows from x on one site, and is drawn on the other."""
    project = make_project()
    rng = np.random.default_rng(0)
    x, site = rng.standard_normal(600), rng.choice(["A", "B"], 600)
    label = np.where(site == "A", x > 0, rng.random(600) > 0.5)
    pd.DataFrame({"site": site, "x": x, "label": label}).to_csv(project.root / "leaky.csv", index=False)
    return project


def test_a_survey_writes_a_spec_ranks_the_splits_and_goes_on(project: Project) -> None:
    command = ("survey", "leaky.csv", "--label", "label", *SMALL)
    ran = run_cli(project.root, *command)
    assert ran.returncode == 0, ran.stderr
    folder = project.reports / "own/leaky-survey"
    rows = list(csv.DictReader(io.StringIO((folder / "site/survey.csv").read_text())))
    assert {row["member_set"] for row in rows} >= {"random split", "site = A", "site = B"}
    assert {row["epsilon"] for row in rows} == {"1", "inf"}
    measured = pd.read_parquet(folder / "measurements.parquet").query("metric == 'advantage' and attack == 'logloss'")
    for row in rows:
        arm = {"random split": "random", "site = A": "site-a", "site = B": "site-b"}.get(row["member_set"])
        if arm is not None:
            of = measured[(measured["arm"] == arm) & (measured["epsilon"] == float(row["epsilon"]))]
            first = of.sort_values("repeat")["value"].head(int(row["repeats"]))
            assert float(row["advantage"]) == pytest.approx(first.mean(), abs=1e-9)
    page = (folder / "site/survey.html").read_text()
    assert page.count("<tr id=") == len({row["member_set"] for row in rows})
    assert "survey.html" in ran.stdout
    before = (folder / "measurements.parquet").read_bytes()
    again = run_cli(project.root, *command)
    assert (again.returncode, again.stdout) == (0, ran.stdout)
    assert (folder / "measurements.parquet").read_bytes() == before
    assert run_cli(project.root, "judge", "leaky-survey.yaml").returncode == 0, "its spec is a spec as others are"


def test_columns_of_dates_are_read_as_such(project: Project) -> None:
    frame = pd.read_csv(project.root / "leaky.csv")
    frame["seen"] = pd.date_range("2021-03-01", periods=len(frame)).strftime("%Y-%m-%d")
    frame.to_csv(project.root / "dated.csv", index=False)
    listed = run_cli(project.root, "survey", "dated.csv", "--label", "label", "--list", "--json", *SMALL)
    assert listed.returncode == 0, listed.stderr
    labels = [one["label"] for one in json.loads(listed.stdout)["member_sets"]]
    assert [label for label in labels if label.startswith("seen")] == [
        "seen before 2021-12-29",
        "seen 2021-12-29 and later",
    ]
    assert "dates: [seen]" in (project.root / "dated-survey.yaml").read_text()
    assert run_cli(project.root, "validate", "dated-survey.yaml").returncode == 0


def test_list_trains_nothing_and_says_what_is_left_out(project: Project) -> None:
    listed = run_cli(project.root, "survey", "leaky.csv", "--label", "label", "--list", "--json", "-o", "listed.yaml")
    assert listed.returncode == 0, listed.stderr
    told = json.loads(listed.stdout)
    assert {one["label"] for one in told["member_sets"]} >= {"site = A", "site = B"}
    assert not (project.reports / "own/listed").exists()
    assert run_cli(project.root, "validate", "listed.yaml").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("leaky.csv",), "--label: say which column is to be predicted, such as --label outcome"),
        (("nowhere.csv", "--label", "y"), "nowhere.csv: neither a file nor a data set; there are: adult"),
        (("leaky.csv", "--label", "y"), "leaky.csv: no column 'y' (field label); it has: site, x, label"),
        (("leaky.csv", "--label", "label", "--epsilon", "0"), "--epsilon 0: it has to be above 0"),
        (("leaky.csv", "--label", "label", "--delta", "2"), "--delta 2: it has to lie between 0 and 1"),
        (
            ("leaky.csv", "--label", "label", "--members", "599"),
            "leaky.csv: no value, range or cluster has 748 rows; give fewer --members",
        ),
        (
            ("adult", "--label", "income"),
            "adult is a data set of the harness; --label, --categorical, --ignore are for a file",
        ),
        (
            ("leaky.csv", "--label", "label", "-o", "x.txt"),
            "--out x.txt: what is written is YAML; the name has to end in .yaml",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(project: Project, arguments: tuple[str, ...], message: str) -> None:
    before = {path.name for path in project.root.iterdir()}
    ran = run_cli(project.root, "survey", *arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"harness: {message}"), ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert {path.name for path in project.root.iterdir()} == before


def test_another_survey_is_not_written_over(project: Project) -> None:
    mine = Path(project.root / "mine.yaml")
    mine.write_text("paper: own\n")
    ran = run_cli(project.root, "survey", "leaky.csv", "--label", "label", "-o", "mine.yaml", "--list")
    assert ran.returncode == 2
    assert "mine.yaml: is there already, and declares another survey" in ran.stderr
    assert mine.read_text() == "paper: own\n"
