"""The whole road on a small real table, as users walk it: run, kill, go on, judge, report, track."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from packaging.version import Version

from harness import tracking
from harness.execution import executors
from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, run_cli, worker_processes

Make = Callable[..., Project]
TABLE = Path("reports/full/own/cancer/measurements.parquet")
SHADOWS = SMALL_SPEC.replace("  repeats: 2", "  pools: {shadows: {count: 2}}\n  repeats: 2").replace(
    "  logloss: {kind: logloss}", "  logloss: {kind: logloss}\n  shokri: {kind: shokri, epochs: 3}"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project run once with two workers and an attack that needs shadow models."""
    from tests.conftest import PARAMS, write_cancer

    root = tmp_path_factory.mktemp("finished")
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "cancer.yaml").write_text(SHADOWS)
    (root / "params.yaml").write_text(PARAMS)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    write_cancer(root / "cancer.csv")
    ran = run_cli(root, "run", "--workers", "2", MLFLOW_TRACKING_URI="")
    assert ran.returncode == 0, ran.stderr
    return Project(root)


def copy_unrun(finished: Project, root: Path) -> Path:
    """The project before it was run, but with the noise that its privacy asks for, which takes seconds to find."""
    ignore = shutil.ignore_patterns(".harness", "reports", "models", "mlflow.db")
    shutil.copytree(finished.root, root, ignore=ignore)
    shutil.copytree(finished.store / "noise", Project(root).store / "noise")
    return root


def cell_files(root: Path) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in (root / ".harness" / "store").rglob("*.npz")}


def test_one_worker_measures_the_same(finished: Project, tmp_path: Path) -> None:
    other = tmp_path / "one"
    shutil.copytree(finished.root, other, ignore=shutil.ignore_patterns(".harness", "reports", "models", "mlflow.db"))
    assert run_cli(other, "run", "--workers", "1").returncode == 0
    assert (other / TABLE).read_bytes() == (finished.root / TABLE).read_bytes()
    for name in ("models/full/own/cancer.parquet", "reports/full/verdicts.json", "reports/full/site/papers/own.html"):
        assert (other / name).read_bytes() == (finished.root / name).read_bytes(), name


def test_kill_and_go_on(finished: Project, tmp_path: Path) -> None:
    """kill -9 amid training: no finished cell is run again, and the tables are those of an undisturbed run."""
    root = copy_unrun(finished, tmp_path / "killed")
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "-j", "2"],
        cwd=root,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list((root / ".harness" / "store" / "train").rglob("*.npz"))) < 3:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # The parent alone is killed: its workers have to notice and end themselves.
    workers = worker_processes(process.pid)
    assert workers
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "orphaned workers live on"
        time.sleep(0.1)
    before = cell_files(root)
    assert not (root / TABLE).exists()
    ran = run_cli(root, "run")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"\d+ of \d+ pieces are there already", ran.stderr)
    after = cell_files(root)
    assert {p: t for p, t in after.items() if p in before} == before
    assert (root / TABLE).read_bytes() == (finished.root / TABLE).read_bytes()
    assert not list((root / "reports").rglob("*.tmp"))


@pytest.mark.parametrize("times", [1, 4])
def test_interrupt_leaves_everything_consistent(finished: Project, tmp_path: Path, times: int) -> None:
    """Once, and by somebody who is impatient; as a terminal does it, which interrupts the workers too."""
    root = copy_unrun(finished, tmp_path / "interrupted")
    # A test runner in the background may have Ctrl-C ignored, which children inherit: put it back.
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "-j", "2"],
        cwd=root,
        stderr=subprocess.PIPE,
        text=True,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
        start_new_session=True,
    )
    while not list((root / ".harness" / "store" / "train").rglob("*.npz")):
        assert process.poll() is None
        time.sleep(0.02)
    workers = worker_processes(process.pid)
    for _ in range(times):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.03)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert "finished pieces are kept" in stderr
    assert "Traceback" not in stderr
    assert "XLA" not in stderr  # the compiler of the noise announces itself where it is let
    kept = cell_files(root)
    assert kept
    assert all(zipfile.is_zipfile(path) for path in kept)
    assert not (root / TABLE).exists()
    assert run_cli(root, "store", "verify").returncode == 0


def test_a_second_run_computes_nothing_and_changes_nothing(finished: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it start a worker."""
    monkeypatch.setattr(executors._Process, "_start", lambda self: pytest.fail("a worker"))
    before, table = cell_files(finished.root), (finished.root / TABLE).read_bytes()
    runs = mlflow_counts(finished.root)
    assert run_cli(finished.root, "run", "-j", "2", MLFLOW_TRACKING_URI="").returncode == 0
    assert cell_files(finished.root) == before
    assert (finished.root / TABLE).read_bytes() == table
    assert mlflow_counts(finished.root) == runs


def test_a_damaged_cell_is_computed_again(finished: Project, tmp_path: Path) -> None:
    root = tmp_path / "damaged"
    shutil.copytree(finished.root, root)
    victim = sorted((root / ".harness" / "store" / "train").rglob("*.npz"))[0]
    victim.write_bytes(victim.read_bytes()[:100])
    assert run_cli(root, "run", "-j", "1").returncode == 0
    assert (root / TABLE).read_bytes() == (finished.root / TABLE).read_bytes()


def mlflow_counts(root: Path) -> tuple[int, int, int]:
    with sqlite3.connect(root / "mlflow.db") as db:
        roles = dict(db.execute("select value, count(*) from tags where key = 'role' group by value").fetchall())
        (metrics,) = db.execute("select count(*) from latest_metrics").fetchone()
    return roles["spec"], roles["cell"], metrics


def test_mlflow_has_one_parent_and_one_child_a_cell(finished: Project) -> None:
    table = pd.read_parquet(finished.root / TABLE)
    parents, cells, metrics = mlflow_counts(finished.root)
    assert (parents, cells) == (1, 12)
    assert metrics == len(table)
    with sqlite3.connect(finished.root / "mlflow.db") as db:
        names = [n for (n,) in db.execute("select name from runs order by name")]
        assert "cancer (full)" in names
        assert "iid eps=∞ repeat=1" in names
        value = db.execute(
            "select m.value from latest_metrics m join runs r on r.run_uuid = m.run_uuid "
            "where r.name = 'size eps=1 repeat=0' and m.key = 'logloss.advantage'"
        ).fetchone()[0]
    row = table.query(
        "arm == 'size' and epsilon == 1 and repeat == 0 and attack == 'logloss' and metric == 'advantage'"
    )
    assert value == pytest.approx(float(row["value"].iloc[0]))


def test_a_run_goes_on_without_mlflow(finished: Project) -> None:
    (finished.root / "not-a-db").mkdir(exist_ok=True)
    uri = f"sqlite:///{finished.root / 'not-a-db'}"
    ran = run_cli(finished.root, "run", "-j", "1", MLFLOW_TRACKING_URI=uri)
    assert ran.returncode == 0
    assert "MLflow: not logged" in ran.stderr


@pytest.mark.parametrize("server", ["nothing listens", "it is silent", "it answers 503", "its name is unknown"])
def test_a_tracking_server_that_is_down_costs_seconds_and_is_said_quietly_too(
    server: str, finished: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow itself tries again for minutes."""
    monkeypatch.setattr(tracking, "SERVER_TIMEOUT_S", 1.0)
    before = (finished.root / TABLE).read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        uri = f"http://me:secret@127.0.0.1:{port}"
        if server == "nothing listens":
            listener.close()
        elif server == "it answers 503":
            answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            threading.Thread(target=lambda: listener.accept()[0].sendall(answer), daemon=True).start()
        elif server == "its name is unknown":
            uri = f"http://me:secret@nowhere.invalid:{port}"
        started = time.monotonic()
        ran = run_cli(finished.root, "run", "-j", "1", "-q", MLFLOW_TRACKING_URI=uri)
        assert time.monotonic() - started < 60
    assert ran.returncode == 0
    (line,) = ran.stderr.splitlines()
    assert line.startswith("harness: warning: MLflow: not logged (")
    assert line.endswith("; the results are complete without it")
    assert "secret" not in line
    assert (finished.root / TABLE).read_bytes() == before


def test_verdict_files_follow_the_committed_schema(finished: Project) -> None:
    schema = json.loads((REPO / "reports" / "verdicts.schema.json").read_text())
    content = json.loads((finished.root / "reports/full/verdicts.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(content)
    assert [v["id"] for v in content["verdicts"]] == [
        "own/cancer#biased-beats-iid",
        "own/cancer#iid-held",
        "own/cancer#counts",
    ]
    assert content["verdicts"][2]["verdict"] == "reproduced"
    assert content["verdicts"][1]["rests_on"]["flags"]
    assert content["verdicts"][0]["numbers"]["repeats"] == 2


def test_check_exits_1_when_a_required_verdict_differs(finished: Project, tmp_path: Path) -> None:
    root = tmp_path / "edited"
    shutil.copytree(finished.root, root, ignore=shutil.ignore_patterns(".harness"))
    path = root / "specs/own/cancer.yaml"
    text = SHADOWS[: SHADOWS.index("  - id: biased")] + SHADOWS[SHADOWS.index("  - id: counts") :]
    path.write_text(text)
    assert run_cli(root, "judge", "--require", "reproduced").returncode == 0
    path.write_text(text.replace("rows: 569", "rows: 570"))
    ran = run_cli(root, "judge", "--require", "reproduced", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)[0]["reason"] == "rows is 569 (printed: 570)"
    assert run_cli(root, "judge").returncode == 0


def test_stale_measurements_are_not_judged(finished: Project, tmp_path: Path) -> None:
    root = tmp_path / "stale"
    shutil.copytree(finished.root, root, ignore=shutil.ignore_patterns(".harness"))
    path = root / "specs/own/cancer.yaml"
    path.write_text(SHADOWS.replace("learning_rate: 0.05", "learning_rate: 0.06"))
    verdicts = json.loads(run_cli(root, "judge", "--json").stdout)
    assert {v["verdict"] for v in verdicts} == {"not run"}
    assert "another version of the experiment" in verdicts[0]["reason"]


def test_the_papers_reading_of_shadow_models_runs(make_project: Make) -> None:
    """Shadow models trained with the target's noise, the other reading of "same architecture as the target"."""
    text = SHADOWS.replace("{count: 2}", "{count: 1, privacy: like-target}").replace("[1, 10, .inf]", "[1]")
    project = make_project(text.replace("repeats: 2", "repeats: 1"))
    assert run_cli(project.root, "run", "--stage", "attack").returncode == 0
    table = pd.read_parquet(project.root / TABLE)
    assert set(table["attack"]) == {"", "logloss", "shokri"}


def test_one_repeat_is_inconclusive_and_labelled(finished: Project) -> None:
    ran = run_cli(finished.root, "run", "--profile", "one", "-j", "1")
    assert ran.returncode == 0, ran.stderr
    verdicts = json.loads((finished.root / "reports/one/verdicts.json").read_text())["verdicts"]
    assert verdicts[0]["verdict"] == "inconclusive"
    assert verdicts[0]["rests_on"]["reductions"]
    assert verdicts[0]["rests_on"]["reductions"] == ["repeats 1 of 2"]


def test_missing_data_is_not_run_and_stops_nothing(finished: Project, tmp_path: Path) -> None:
    root = tmp_path / "without"
    shutil.copytree(finished.root, root)
    other = SMALL_SPEC.replace("{kind: csv, path: cancer.csv, label: target, categorical: [size]}", "{kind: compas}")
    other = other.replace(
        "attribute: size, values: [small], proxy_columns: [mean radius]", "attribute: sex, values: [Male]"
    )
    (root / "specs/own/elsewhere.yaml").write_text(other)
    folder = root / "data/compas"
    folder.mkdir(parents=True)
    (folder / "missing.json").write_text('{"missing": "dataset compas: not to be had; tried: nothing"}')
    ran = run_cli(root, "run", "-j", "1")
    assert ran.returncode == 0, ran.stderr
    verdicts = {v["id"]: v for v in json.loads((root / "reports/full/verdicts.json").read_text())["verdicts"]}
    assert verdicts["own/elsewhere#counts"]["verdict"] == "not run"
    assert "not to be had" in verdicts["own/elsewhere#counts"]["reason"]
    assert verdicts["own/cancer#counts"]["verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nope"], "no spec 'nope'"),
        (["run", "--profile", "nope"], "unknown profile 'nope'; there are: full, one"),
        (["run", "--stage", "nope"], "'--stage': 'nope' is not one of"),
        (["judge", "--require", "nope"], "--require 'nope': unknown verdict"),
        (["data", "fetch", "nope"], "no dataset 'nope' to fetch; known: adult, ch-mnist"),
        (["validate", "nowhere.yaml"], "nowhere.yaml: no such file"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(finished: Project, arguments: list[str], message: str) -> None:
    ran = run_cli(finished.root, *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_the_page_says_what_was_done_to_the_table(finished: Project) -> None:
    page = (finished.reports / "full/site/papers/own.html").read_text()
    assert "What was done to the data before training" in page
    assert "left out by the split: size, mean radius; scaled: 29 standard" in page


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "members: 120",
            "members: 500",
            r"cancer.yaml:8: experiment.sizes: the sizes ask for 1040 records .* and the table has 569",
        ),
        (
            "members: 120",
            "members: 250",
            r"cancer.yaml:10: experiment.arms.size.split: split attribute: the owner set has \d+ records",
        ),
        pytest.param(
            "epsilons: [1, 10, .inf], delta: 1.0e-3",
            "epsilons: [1.0e-9], delta: 1.0e-200",
            r"cancer.yaml:14: experiment.privacy: ",
            marks=pytest.mark.skipif(
                Version(version("dp-accounting")) >= Version("0.6"), reason="it has a noise for that"
            ),
        ),
        ("path: cancer.csv", "path: nothing.csv", r"cancer.yaml:6: experiment.dataset: nothing.csv: no such file"),
        (
            "values: [small]",
            "values: [tiny]",
            r"cancer.yaml:10: experiment.arms.size.split: split attribute: 'size' is never tiny; it is: large, small",
        ),
        ("learning_rate: 0.05", "learning_rate: 1.0e+38", r"cancer.yaml:13: experiment.training: training diverged"),
    ],
)
def test_bad_specs_stop_a_run_with_one_line(make_project: Make, old: str, new: str, message: str) -> None:
    project = make_project(SMALL_SPEC.replace(old, new))
    ran = run_cli(project.root, "run", "-j", "1", "-q")
    assert ran.returncode == 2, ran.stderr
    assert re.search(message, ran.stderr), ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (project.root / TABLE).exists()


def test_an_unwritable_store_and_a_full_disk_are_one_line(make_project: Make, finished: Project) -> None:
    """The store below a regular file; and a file size limit, which fails writes just as a full disk does."""
    project = make_project()
    (project.root / "file").write_text("")
    ran = run_cli(project.root, "run", "-j", "1", "-q", HARNESS_STORE=str(project.root / "file" / "store"))
    assert ran.returncode == 2
    assert "Not a directory" in ran.stderr
    assert "Traceback" not in ran.stderr
    shutil.copytree(finished.store / "noise", project.store / "noise")
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; exec {sys.executable} -m harness run -j 1 -q"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert limited.returncode == 2, limited.stderr
    assert "File too large" in limited.stderr
    assert "Traceback" not in limited.stderr
    assert not (project.root / TABLE).exists()
    assert not list((project.root / ".harness").rglob("*.tmp"))


def test_help_teaches_and_json_parses(finished: Project) -> None:
    for command in ("list", "validate", "schema", "plan", "run", "judge", "report", "data"):
        ran = run_cli(finished.root, command, "--help")
        assert ran.returncode == 0
        assert len(ran.stdout) > 200
    listed = json.loads(run_cli(finished.root, "list", "--json").stdout)
    assert listed[0]["id"] == "own/cancer"
    planned = json.loads(run_cli(finished.root, "plan", "--json").stdout)
    assert planned["specs"][0]["cells"] == 12
    assert planned["specs"][0]["missing"] == 0
    assert json.loads(run_cli(finished.root, "validate", "--json").stdout)[0]["valid"] is True
    known = {row["dataset"] for row in json.loads(run_cli(finished.root, "data", "status", "--json").stdout)}
    tables = {
        "adult",
        "ch-mnist",
        "ch-mnist-substitute",
        "compas",
        "location30",
        "purchase100",
        "texas100",
        "cifar10",
        "cifar100",
        "mnist",
        "fashion-mnist",
    }
    substitutes = {"purchase100-substitute", "texas100-substitute"}
    assert known == tables | substitutes
