"""`harness what-is-in`: what files hold of records, told from the files."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.execution.store import Result, Store
from harness.execution.table import COLUMNS
from harness.report import holdings
from harness.report.holdings import GIVE, KEEP, LOOK, Holding, list_holdings
from tests.conftest import run_cli


def only(path: Path) -> Holding:
    (one,) = list_holdings(path)
    return one


def write_measurements(path: Path, prepared: list[dict[str, object]] | None = None, where: str = "p.csv") -> Path:
    table = pd.DataFrame({name: ["x"] for name in COLUMNS})
    table.attrs = {"prepared": prepared or [], "experiment": json.dumps({"path": where})}
    table.to_parquet(path)
    return path


def test_pieces_of_a_store_say_of_how_many_records_they_are(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.put("split", "ab" + "0" * 62, Result({"members": np.arange(7), "nonmembers": np.arange(5)}, {}))
    outputs = {"w0": np.zeros((3, 2)), "logp_members": np.zeros((7, 2)), "logp_test": np.zeros((4, 2))}
    store.put("train", "cd" + "0" * 62, Result(outputs, {"description": {"path": "/home/jane/p.csv"}}))
    store.put("evaluate", "ef" + "0" * 62, Result({"member_scores": np.zeros(7), "nonmember_scores": np.zeros(5)}, {}))
    store.put("evaluate", "00" + "0" * 62, Result({}, {"metrics": {}}))
    by_kind = {one.kind: one for one in list_holdings(store.root)}
    split, model = by_kind["piece of the store: split"], by_kind["piece of the store: trained model"]
    assert (split.records, split.holds, split.advice) == (12, ("row numbers",), KEEP)
    assert (model.records, model.holds) == (11, ("log-probabilities", "weights", "a path of a user's folder"))
    assert by_kind["piece of the store: attack"].records == 12
    assert by_kind["piece of the store: measurements"].advice == GIVE
    assert "row numbers" not in (store.root / "PERSONAL-DATA.txt").read_text().splitlines()
    assert "was a member" in (store.root / "PERSONAL-DATA.txt").read_text()


def test_a_table_of_measurements_that_names_a_class_or_a_folder_says_so(tmp_path: Path) -> None:
    assert only(write_measurements(tmp_path / "good.parquet")).advice == GIVE
    steps = [{"steps": [{"what": "rare class", "column": "y", "count": 1, "detail": "RARE"}]}]
    rare = only(write_measurements(tmp_path / "rare.parquet", steps))
    assert ("values" in rare.holds, rare.advice) == (True, LOOK)
    far = only(write_measurements(tmp_path / "far.parquet", where="/home/jane/p.csv"))
    assert "a path of a user's folder" in far.holds


def test_tables_of_records_and_scores_are_told_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("record,member,label,loss_score\na.csv:2,1,x,0.5\nb.csv:2,0,x,0.1\n")
    (tmp_path / "patients.csv").write_text('age,diag\n1,"two\nlines"\n2,b\n3,c\n')
    (tmp_path / "survey.csv").write_text("rank,member_set,rows\n1,diag = flu,80\n2,site = A,70\n")
    pd.DataFrame({"age": [1, 2]}).to_parquet(tmp_path / "patients.parquet")
    np.savez(tmp_path / "members.npz", features=np.zeros((9, 2)), labels=np.zeros(9))
    by_file = {one.file: one for one in list_holdings(tmp_path)}
    counts = {name: one.records for name, one in by_file.items()}
    assert counts == {"members.npz": 9, "patients.csv": 3, "patients.parquet": 2, "scores.csv": 2, "survey.csv": 0}
    assert "named records" in by_file["scores.csv"].holds
    assert {one.advice for name, one in by_file.items() if name != "survey.csv"} == {KEEP}
    assert by_file["survey.csv"].kind == "ranking of a survey, 2 member sets"


def test_what_is_packed_is_looked_into(tmp_path: Path) -> None:
    write_measurements(tmp_path / "m.parquet", where="/Users/jane/p.csv")
    with zipfile.ZipFile(tmp_path / "claim.zip", "w") as archive:
        archive.write(tmp_path / "m.parquet", "reports/measurements.parquet")
        archive.writestr("results.csv", "member,score\n1,0.3\n0,0.2\n")
    by_file = {one.file: one for one in list_holdings(tmp_path / "claim.zip")}
    assert by_file["claim.zip!results.csv"].records == 2
    assert "a path of a user's folder" in by_file["claim.zip!reports/measurements.parquet"].holds


def test_a_store_of_mlflow_says_whether_it_names_a_folder(tmp_path: Path) -> None:
    for name, location in (("mine.db", "mlflow-artifacts:/own"), ("old.db", "file:///home/jane/study/mlruns/1")):
        with sqlite3.connect(tmp_path / name) as database:
            database.executescript(
                "create table experiments(artifact_location); create table runs(artifact_uri, user_id);"
                "create table params(value); create table tags(value); create table metrics(value);"
            )
            database.execute("insert into experiments values (?)", (location,))
            database.execute("insert into runs values ('x', 'unknown')")
        database.close()
    mine, old = only(tmp_path / "mine.db"), only(tmp_path / "old.db")
    assert (mine.kind, mine.advice) == ("MLflow's store, 1 runs", GIVE)
    assert old.advice == LOOK


def test_what_cannot_be_read_is_said_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "half.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04 and no more" + b" " * 40)
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    (tmp_path / "wide.csv").write_text("a,b\n" + "x" * 200_000 + ",1\n")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    by_file = {one.file: one for one in list_holdings(tmp_path)}
    assert sorted(by_file) == ["bytes", "half.parquet", "half.zip", "wide.csv"]
    assert by_file["wide.csv"].kind.startswith("not readable")
    assert by_file["half.parquet"].kind.startswith("not readable")
    assert {one.advice for name, one in by_file.items() if name.startswith("half")} == {LOOK}


def test_the_command_sums_up_and_lists(make_project: Callable[..., object], tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / "scores.csv").write_text("record,member,label\na.csv:2,1,x\nb.csv:2,0,x\n")
    (folder / "metrics.json").write_text("{}")
    ran = run_cli(tmp_path, "what-is-in", "audit")
    assert ran.returncode == 0, ran.stderr
    first, _, row, *_ = ran.stdout.splitlines()
    assert first == f"audit: {KEEP}"
    assert row.split("\t")[:3] == ["scores.csv", "scores of an audit", "2"]
    told = json.loads(run_cli(tmp_path, "what-is-in", "audit", "audit/metrics.json", "--json").stdout)
    assert told["advice"] == {"audit": KEEP, "audit/metrics.json": GIVE}
    assert [one["records"] for one in told["files"]] == [0, 2, 0]


@pytest.mark.parametrize("name", ["nowhere", "/dev/null"])
def test_what_is_no_file_is_one_line(tmp_path: Path, name: str) -> None:
    ran = run_cli(tmp_path, "what-is-in", name)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"harness: {name}: n")
    assert len(ran.stderr.splitlines()) == 1


def test_archives_in_archives_are_unpacked_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One may hold itself, or eight that hold eight that hold eight."""
    path = tmp_path / "deep.zip"
    content = b"a,b\n1,2\n"
    for depth in range(5):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{depth}.csv" if not depth else f"{depth}.zip", content)
        content = path.read_bytes()
    (told,) = list_holdings(path)
    assert told.file == "deep.zip!4.zip!3.zip"
    assert (told.kind, told.advice) == ("not looked at: an archive in archives", LOOK)
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "2500000")
    with zipfile.ZipFile(tmp_path / "inner.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "x" * 1_000_000)
        archive.writestr("b.txt", "x" * 1_000_000)
    with zipfile.ZipFile(tmp_path / "wide.zip", "w") as archive:
        for number in range(4):
            archive.write(tmp_path / "inner.zip", f"{number}.zip")
    kinds = [one.kind for one in list_holdings(tmp_path / "wide.zip")]
    assert (kinds.count("text"), kinds.count("not looked at: too large")) == (2, 6)


def test_a_record_of_a_piece_is_read_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "1000000")
    np.savez_compressed(tmp_path / "x.npz", __meta__=np.zeros(5_000_000, np.uint8))
    assert only(tmp_path / "x.npz").kind.endswith("its record not looked at: too large")


def test_a_database_that_computes_without_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.executescript(
            "create table experiments(artifact_location); create table runs(artifact_uri, user_id);"
            "create table metrics(value); create table tags(value);"
            "create table params(number, value as (hex(zeroblob(900000 + number))));"
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 30)"
            " insert into params select i from n;"
        )
    database.close()
    assert only(tmp_path / "x.db").kind == "database, not readable (string or blob too big)"
    monkeypatch.setattr(holdings, "STEPS_OF_SQLITE", 10)
    monkeypatch.setattr(holdings, "MOST_ASKED", 3)
    assert only(tmp_path / "x.db").kind == "database, not readable (interrupted)"
