"""What files that a run leaves say of a person: nothing that was not asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import PARAMS, REPO, run_cli
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
  repeats: 2
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
    tracking = {"MLFLOW_TRACKING_URI": f"sqlite:///{root / 'mlflow.db'}"}
    survey = ("survey", str(table), "--label", "outcome", "--members", "40", "--epsilon", "1", "--ranges", "2")
    for command in (
        ("run", "own/mine", "-q"),
        (*survey, "--clusters", "2", "--repeats", "2", "-q"),
        ("report",),
        ("site",),
        ("bundle", "own/mine#iid-held", "--out", "claim.zip"),
    ):
        ran = run_cli(root, *command, **tracking)
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
        assert not [word for word in PERSONAL if word in ran.stdout + ran.stderr], (command, ran.stdout, ran.stderr)
    assert not list(root.glob("mlruns*"))
    asked_for = (spec, root / "patients-survey.yaml", table)
    assert places_with(home, PERSONAL, asked_for) == []
    assert "!" in "".join(where for where, _ in places_with(home, ("flu",), asked_for)), "packed files are looked into"
