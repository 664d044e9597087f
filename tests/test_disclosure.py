"""What files that a run leaves say of a person: nothing that was not asked for."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.conftest import PARAMS, REPO, empty_tracking_store, run_cli
from tests.disclosure import PERSONAL, USER, places_with, write_patients

SPEC = """\
paper: own
title: Patients
where: a table of one's own
experiment:
  seed: 7
  dataset: {{kind: csv, path: "{path}", label: outcome}}
  preprocessing: {{impute: mean-mode, scaling: standard}}
  sizes: {{members: 60, test: 20, nonmembers: 60}}
  arms:
    flu: {{split: {{kind: attribute, attribute: diag, values: [flu]}}}}
    iid: {{split: {{kind: random}}}}
  model: {{kind: logistic}}
  training: {{engine: fast, learning_rate: 0.05, batch_size: 20, epochs: 1}}
  privacy: {{epsilons: [1, .inf], delta: 1.0e-3}}
  repeats: 1
attacks:
  logloss: {{kind: logloss}}
claims:
  - id: iid-held
    where: here
    statement: The bound holds on the random split.
    expect: {{kind: compare, left: {{metric: advantage, arm: iid, attack: logloss}}, relation: "<=", right: {{formula: humphries}}}}
figure:
  - {{title: Losses, metrics: [advantage], arms: [iid], attacks: [logloss]}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder with a table and, beside it, a project."""
    home = tmp_path / USER
    write_patients(home / "tables" / "patients.csv")
    (home / "work" / "specs").mkdir(parents=True)
    (home / "work" / "params.yaml").write_text(PARAMS)
    (home / "work" / "specs" / "papers.yaml").write_text((REPO / "specs" / "papers.yaml").read_text())
    return home


def test_no_file_of_a_survey_or_a_spec_names_a_person(home: Path) -> None:
    root, table = home / "work", home / "tables" / "patients.csv"
    spec = root / "specs" / "own" / "mine.yaml"
    spec.parent.mkdir()
    spec.write_text(SPEC.format(path=table))
    shutil.copy(empty_tracking_store(), root / "mlflow.db")
    tracking = {"MLFLOW_TRACKING_URI": f"sqlite:///{root / 'mlflow.db'}"}
    survey = ("survey", str(table), "--label", "outcome", "--members", "40", "--epsilon", "1", "--ranges", "2")
    for command in (
        ("run", "own/mine", "-q"),
        (*survey, "--clusters", "0", "--repeats", "2", "-q"),
        ("report",),
        ("site",),
        ("bundle", "own/mine#iid-held", "--out", "claim.zip"),
        ("bundle", "patients-survey.yaml#random-bound", "--out", "survey.zip"),
    ):
        ran = run_cli(root, *command, **tracking)
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
        assert not [word for word in PERSONAL if word in ran.stdout + ran.stderr], (command, ran.stdout, ran.stderr)
    page = (root / "reports" / "own" / "patients-survey" / "site" / "survey.html").read_text()
    assert "<li>90 values of note: fewer than 10 rows each</li>" in page
    assert "<li>1 value of diag: fewer than 10 rows</li>" in page
    assert "diag = flu" in page, "what many rows share is named"
    asked_for = (spec, root / "patients-survey.yaml", table)
    assert places_with(home, PERSONAL, asked_for) == []
    kept = json.loads(pq.read_schema(root / "reports/full/own/mine/measurements.parquet").metadata[b"PANDAS_ATTRS"])
    steps = [step for one in kept["prepared"] for step in one["steps"]]
    assert {"what": "rare class", "column": "outcome", "count": 1, "detail": ""} in steps
    (edge,) = set(re.findall(r"(?:low|high): ([\d.]+)", (root / "patients-survey.yaml").read_text()))
    assert float(edge) not in set(pd.read_csv(table)["income"])
    assert "!" in "".join(where for where, _ in places_with(home, ("flu",), asked_for)), "packed files are looked into"


def test_a_spec_may_ask_for_more_rows_or_state_that_fewer_do(home: Path) -> None:
    """The threshold changes no name of a result: only what is said of the table."""
    root, plans = home / "work", {}
    for line in ("", "least_shown: 300", "least_shown: 1"):
        (root / "mine.yaml").write_text(f"{line}\n" + SPEC.format(path=home / "tables" / "patients.csv"))
        ran = run_cli(root, "plan", "mine.yaml", "--json", "-q")
        assert ran.returncode == 0, ran.stderr
        (plans[line],) = json.loads(ran.stdout)["specs"]
    steps = {line: str([table["steps"] for table in plan["tables"]]) for line, plan in plans.items()}
    assert "'cold'" in steps[""], "the value whose spaces were taken away; many rows share it"
    assert "'cold'" not in steps["least_shown: 300"]
    assert "RARELABEL-QQ" in steps["least_shown: 1"]
    assert "RARELABEL-QQ" not in steps[""] + steps["least_shown: 300"]
    assert [table["dataset"] for table in plans[""]["tables"]] == ["patients.csv"] * 2
    (root / "mine.yaml").write_text("least_shown: 0\n" + SPEC.format(path=home / "tables" / "patients.csv"))
    refused = run_cli(root, "validate", "mine.yaml")
    assert refused.returncode == 2
    assert "mine.yaml:1: least_shown: " in refused.stderr


def test_two_tables_of_one_name_are_two(home: Path) -> None:
    """Results call a table outside of the project by its file's name; what they are of is its content."""
    root = home / "work"
    other = write_patients(home / "elsewhere" / "patients.csv", rows=380)
    text = SPEC.format(path=home / "tables" / "patients.csv")
    text = text.replace(
        "iid: {split: {kind: random}}", f'iid: {{split: {{kind: random}}, dataset: {{path: "{other}"}}}}'
    )
    (root / "mine.yaml").write_text(text)
    ran = run_cli(root, "plan", "mine.yaml", "--json", "-q")
    assert ran.returncode == 0, ran.stderr
    (plan,) = json.loads(ran.stdout)["specs"]
    assert sorted(table["rows"] for table in plan["tables"]) == [380, 400]


def test_the_command_line_of_a_survey_raises_the_number_of_rows_and_does_not_lower_it(home: Path) -> None:
    root = home / "work"
    survey = ("survey", "../tables/patients.csv", "--label", "outcome", "--list", "--json", "--members", "20", "-q")
    refused = run_cli(root, *survey, "--least-shown", "3")
    assert refused.returncode == 2
    assert "--least-shown" in refused.stderr
    listed = run_cli(root, *survey, "--least-shown", "150", "--ranges", "4")
    assert listed.returncode == 0, listed.stderr
    assert "least_shown: 150" in (root / "patients-survey.yaml").read_text()
    told = json.loads(listed.stdout)
    assert all(one["rows"] >= 150 for one in told["member_sets"])
    assert {"label": "4 ranges of income", "why": "fewer than 150 rows each"} in told["left_out"]
    public = run_cli(root, "survey", "adult", "--list", "--least-shown", "20")
    assert public.returncode == 2
    assert "is for a file" in public.stderr
