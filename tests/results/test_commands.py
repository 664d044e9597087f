"""Commands on results from elsewhere: `new results`, then everything that a spec of one's own goes through."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from harness.paths import Project
from tests.conftest import REPO, run_cli
from tests.results.files import COMPARE, Make, experiment, log, write_spec

EXAMPLES = REPO / "docs" / "examples" / "results"
CLAIM = COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"value": 0.4}, "at": {"epoch": [3]}}


def tidy_file(folder: Path) -> Path:
    """Metrics and attacks as a benchmark writes them, in Parquet."""
    rng = np.random.default_rng(0)
    rows = [
        (method, seed, attack, metric, rng.uniform(0.6, 0.7))
        for method in ("No Defence", "DP-SGD")
        for seed in range(7)
        for attack, metric in (("LiRA", "auc"), ("RMIA", "auc"))
    ]
    path = folder / "Benchmark 1.parquet"
    pd.DataFrame(rows, columns=["method", "seed", "attack", "metric", "value"]).to_parquet(path, index=False)
    return path


def means_file(folder: Path) -> Path:
    """Means and errors as pandas writes them, a column each."""
    path = folder / "means.csv"
    path.write_text(
        "method,acc_mean,acc_sem,auc_mean,auc_sem,n\nSGD,0.9,0.006,0.7,0.003,10\nDP,0.8,0.01,0.55,0.006,10\n"
    )
    return path


MADE = {"tidy": tidy_file, "means": means_file}


@pytest.mark.parametrize(
    ("name", "told", "verdict"),
    [
        (
            "log.csv",
            ["format wide: a column each metric", "repeat: the column 'seed'", "range of val_acc: [0, 1]"],
            None,
        ),
        ("scores.csv", ["format scores:", "member: the column 'membership'", "arm: the column 'model'"], "reproduced"),
        ("printed.csv", ["format summary:", "mean: the column 'leakage'", "repeats 1: no column says"], "inconclusive"),
        (
            "means",
            ["acc: the column 'acc_mean'", "auc_spread: the column 'auc_sem'", "spread stderr", "scope of auc: model"],
            "reproduced",
        ),
        ("tidy", ["format tidy:", "attack: the column 'attack'", "range of auc: [0, 1], the harness' own"], None),
    ],
)
def test_new_results_writes_a_spec_that_runs_and_says_what_it_guessed(
    name: str, told: list[str], verdict: str | None, make_project: Make
) -> None:
    project = make_project()
    path = MADE[name](project.root) if name in MADE else project.root / name
    if name not in MADE:
        path.write_bytes((EXAMPLES / name).read_bytes())
    ran = run_cli(project.root, "new", "results", path.name)
    assert ran.returncode == 0, ran.stderr
    assert all(line in ran.stdout for line in told), ran.stdout
    spec = project.root / ran.stdout.splitlines()[0]
    columns = YAML(typ="safe").load(spec)["experiment"].get("columns", {})
    for what, column in columns.items():
        assert f"  {what}: the column {column!r}" in ran.stdout
    assert run_cli(project.root, "validate", spec.name).returncode == 0
    ran = run_cli(project.root, "run", "-q", spec.name)
    assert ran.returncode == 0, ran.stderr
    judged = json.loads(run_cli(project.root, "judge", spec.name, "--json").stdout)
    assert [one["id"] for one in judged] == [f"{spec.stem}#mine"]
    assert judged[0]["rests_on"]["data"] == "elsewhere"
    if verdict is not None:
        assert judged[0]["verdict"] == verdict
    before = spec.read_bytes()
    again = run_cli(project.root, "new", "results", path.name)
    assert again.returncode == 2
    assert "is there already; nothing was written" in again.stderr
    assert spec.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "none.csv: no such file"),
        ("name\nadam\n", "no column of numbers that could be a metric"),
        ("", "the file is empty"),
    ],
)
def test_new_results_refuses_a_file_that_has_none(text: str | None, said: str, make_project: Make) -> None:
    project = make_project()
    if text is not None:
        (project.root / "none.csv").write_text(text)
    ran = run_cli(project.root, "new", "results", "none.csv")
    assert ran.returncode == 2
    assert said in ran.stderr
    assert not (project.root / "none.yaml").exists()


@pytest.fixture
def project(make_project: Make) -> Project:
    made = make_project()
    log().to_csv(made.root / "results.csv", index=False)
    figure = [{"title": "Accuracy", "metrics": ["train", "test"], "x": "epoch"}, {"title": "Ends", "metrics": ["train"],
               "x": "arm", "at": {"epoch": 3}}]  # fmt: skip
    write_spec(made.root, experiment(), CLAIM, figure=figure)
    return made


def test_every_command_takes_results_from_elsewhere(project: Project) -> None:
    def typed(*arguments: str) -> str:
        ran = run_cli(project.root, *arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert "1 specs are valid" in typed("validate", "mine.yaml")
    listed = json.loads(typed("list", "mine.yaml", "--json"))[0]
    assert (listed["dataset"], listed["arms"], listed["axes"]) == ("results.csv", ["plain", "private"], ["epoch"])
    planned = json.loads(typed("plan", "mine.yaml", "--json"))
    assert planned["core_seconds"] == 0
    assert planned["specs"][0]["cells"] == 2 * 3 * 8
    assert "mine#it" in typed("judge", "mine.yaml")  # before any run
    typed("run", "-q", "mine.yaml")
    table = pd.read_parquet(project.reports / "own/mine/measurements.parquet")
    assert len(table) == 2 * 3 * 8 * 3
    page = (project.reports / "own/mine/site/papers/own.html").read_text()
    assert page.count("<svg") >= 2
    assert "results.csv" in page
    told = typed("explain", "mine.yaml#it")
    assert "A claim of our own; on results from elsewhere." in told
    assert "Nothing was trained or attacked here: the results are read from results.csv." in told
    assert re.search(r"train\(plain\) > 0.4 for every epoch|train\(plain\) > 0.4 at epoch = 3", told)
    typed("compare", "mine.yaml", "--update")
    assert "as accepted" in typed("compare", "mine.yaml")
    spec = (project.root / "mine.yaml").read_text()
    (project.root / "mine.yaml").write_text(spec.replace("results.csv", str(project.root / "results.csv")))
    assert "are read from results.csv." in typed("judge", "mine.yaml", "--json"), "whatever the path says of a machine"
    typed("bundle", "mine.yaml#it", "--out", "it.zip")
    archive = zipfile.ZipFile(project.root / "it.zip")
    assert {"results.csv", "mine.yaml", "verdict.json"} <= {*archive.namelist()}
    unpacked = project.root / "unpacked"
    archive.extractall(unpacked)
    assert str(project.root) not in (unpacked / "mine.yaml").read_text()
    (unpacked / "specs").mkdir(exist_ok=True)
    ran = run_cli(unpacked, "judge", "mine.yaml", "--json")
    assert json.loads(ran.stdout)[0]["verdict"] == json.loads(archive.read("verdict.json"))["verdict"]


def test_a_verdict_follows_from_the_file_as_it_is(project: Project) -> None:
    """No table that was written before stands in for it."""
    run_cli(project.root, "run", "-q", "mine.yaml")
    first = json.loads(run_cli(project.root, "judge", "mine.yaml", "--json").stdout)[0]
    frame = log()
    frame["train"] /= 2
    frame.to_csv(project.root / "results.csv", index=False)
    second = json.loads(run_cli(project.root, "judge", "mine.yaml", "--json").stdout)[0]
    assert second["numbers"]["effect"] == pytest.approx(first["numbers"]["effect"] / 2 - 0.2, abs=1e-9)
    assert second["provenance"]["data_sha256"] != first["provenance"]["data_sha256"]
    assert second["provenance"]["spec_sha256"] != first["provenance"]["spec_sha256"]


def test_the_pipeline_depends_on_the_file_of_results(project: Project) -> None:
    (project.specs / "own" / "cancer.yaml").unlink()
    (project.root / "mine.yaml").rename(project.specs / "own" / "mine.yaml")
    (project.root / "results.csv").rename(project.specs / "own" / "results.csv")
    assert run_cli(project.root, "pipeline").returncode == 0
    stages = YAML(typ="safe").load(project.root / "dvc.yaml")["stages"]
    assert "specs/own/results.csv" in stages["resolve"]["deps"]
    for command in (["resolve"], ["run", "--stage", "train"], ["run", "--stage", "attack"], ["judge"], ["report"]):
        ran = run_cli(project.root, *command, "--profile", "full", *(["own/mine"] if command[0] == "run" else []))
        assert ran.returncode == 0, ran.stderr
    for stage in ("train", "attack", "judge"):
        for out in stages[stage]["outs"]:
            name = (out if isinstance(out, str) else next(iter(out))).replace("${profile}", "full")
            assert (project.root / name).exists(), name


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("method,acc_mean,acc_sem,n\nSGD,0.9,0.006,10\nDP,0.8,0.01,10\n", "n: the column 'n'"),
        ("metric,arm,mean,std,n\nacc,a,0.8,0.01,10\nacc,b,0.7,0.01,10\n", "n: the column 'n'"),
        ("arm,repeat,acc\na,0,0.8\na,1,0.9\nb,0,0.7\nb,1,0.6\n", "repeat: the column 'repeat'"),
    ],
)
def test_new_results_takes_repeats_from_a_column_of_the_very_name(content: str, line: str, make_project: Make) -> None:
    root = make_project("unused: 1\n").root
    (root / "runs.csv").write_text(content)
    ran = run_cli(root, "new", "results", "runs.csv")
    assert ran.returncode == 0, ran.stderr
    assert line in ran.stdout
    assert "no column" not in ran.stdout
    assert "repeats:" not in (root / "runs.yaml").read_text()


def test_new_results_writes_the_separator_that_the_header_has(make_project: Make) -> None:
    root = make_project().root
    (root / "semi.csv").write_text("epsilon;seed;auc\n0.5;1;0.6\n0.5;2;0.7\n")
    ran = run_cli(root, "new", "results", "semi.csv")
    assert ran.returncode == 0, ran.stderr
    assert "separator ';': the header has most of it" in ran.stdout
    assert run_cli(root, "run", "semi.yaml", "-q").returncode == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("seed,auc\n1,nan\n2,0.7\n", "bad.csv:2: column 'auc': found 'nan'; a finite number is needed, such as 0.91"),
        ("seed,auc\n1,0.6\n2,\n", "bad.csv:3: column 'auc': the cell is empty; a finite number is needed"),
        ("seed;auc\n1;0,6\n2;0,7\n", "bad.csv:2: column 'auc': found '0,6', which has a decimal comma; write a point"),
        ("seed,auc\n1,é\n".encode("latin-1"), "bad.csv:2: the byte 0xE9 is not utf-8; save it as UTF-8"),
        ("seed,auc\n1,0.6\n".encode("utf-16"), "bad.csv: the text is UTF-16; save it as UTF-8"),
        ("seed,who\n1,a\n2,b\n", "bad.csv: no column of numbers that could be a metric; name its columns"),
    ],
)
def test_new_results_says_what_can_be_done_without_a_spec(content: str | bytes, said: str, make_project: Make) -> None:
    root = make_project().root
    (root / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = run_cli(root, "new", "results", "bad.csv")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"harness: {said}")
    assert "`" not in line
    assert not (root / "bad.yaml").exists()


def test_line_ends_of_windows_change_nothing(make_project: Make) -> None:
    """Of the spec and of the file: what was accepted on one system stands on the other."""
    root = make_project().root
    log().to_csv(root / "results.csv", index=False, lineterminator="\n")
    path = write_spec(root, experiment(), CLAIM)
    for command in (["run", "mine.yaml", "-q"], ["compare", "mine.yaml", "--update"]):
        assert run_cli(root, *command).returncode == 0
    for file in (path, root / "results.csv", root / "params.yaml", root / "reports/own/mine/baseline.json"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    ran = run_cli(root, "run", "mine.yaml", "-q")
    assert ran.returncode == 0, ran.stderr
    ran = run_cli(root, "compare", "mine.yaml")
    assert ran.returncode == 0, ran.stdout


def test_a_project_without_citations_has_pages_too(make_project: Make) -> None:
    root = make_project().root
    (root / "specs/papers.yaml").unlink()
    log().to_csv(root / "results.csv", index=False)
    write_spec(root, experiment(), CLAIM)
    ran = run_cli(root, "run", "mine.yaml", "-q")
    assert ran.returncode == 0, ran.stderr


def test_a_column_of_numbers_with_a_gap_is_no_axis(make_project: Make) -> None:
    root = make_project().root
    (root / "gap.csv").write_text("seed,auc,loss\n1,nan,1\n2,0.7,2\n3,0.8,3\n")
    ran = run_cli(root, "new", "results", "gap.csv")
    assert ran.returncode == 0, ran.stderr
    assert "left out: gap.csv:2: column 'auc': found 'nan'" in ran.stdout
    assert "axes" not in (root / "gap.yaml").read_text()
