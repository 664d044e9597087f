"""What the files of an audit say of people: single records in the scores, no rare class and no folder elsewhere."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from tests.conftest import run_cli
from tests.disclosure import RARE_CLASS, USER, places_with

PREDICT = """\
import numpy as np

def predict(features):
    z = np.abs(features.to_numpy().sum(axis=1))
    p = np.stack([0.98 / (1 + np.exp(-z)), 0.98 - 0.98 / (1 + np.exp(-z)), np.full(len(z), 0.02)], axis=1)
    return p
"""


def write_records(path: Path, seed: int, rare: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b"], 60).tolist()
    if rare:
        labels[5] = RARE_CLASS
    rows = [f"{x:.4f},{z:.4f},{label}" for (x, z), label in zip(rng.normal(size=(60, 2)), labels, strict=True)]
    path.write_text("\n".join(["x,z,y", *rows]) + "\n")


def test_pages_and_numbers_of_an_audit_name_no_rare_class_and_no_folder(tmp_path: Path) -> None:
    home = tmp_path / USER
    home.mkdir()
    (home / "mine.py").write_text(PREDICT)
    write_records(home / "in.csv", 0, rare=True)
    write_records(home / "out.csv", 1, rare=False)
    files = ("--members", str(home / "in.csv"), "--nonmembers", str(home / "out.csv"))
    names = ("--classes", "a", "--classes", "b", "--classes", RARE_CLASS)
    ran = run_cli(home, "audit", f"{home / 'mine.py'}:predict", *files, "--label", "y", *names, "--out", "audit", "-q")
    assert ran.returncode == 0, ran.stderr
    audit = home / "audit"
    scores = list(csv.DictReader(io.StringIO((audit / "scores.csv").read_text())))
    assert {row["record"].partition(":")[0] for row in scores} == {"in.csv", "out.csv"}
    assert places_with(audit, (USER,)) == []
    assert [where for where, _ in places_with(audit, (RARE_CLASS,))] == ["/scores.csv"], "the record's own line"
    assert '"classes_of_few": 1' in (audit / "audit.json").read_text()
    assert "personal data" in (audit / "audit.html").read_text()
    assert "scores.csv has a line for each record" in (audit / "PERSONAL-DATA.txt").read_text()
