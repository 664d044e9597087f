"""`harness list`: specs, and everything that a spec may name, plug-ins included."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.attacks import ATTACKS
from harness.metrics import METRICS
from harness.paths import Project
from harness.report.reference import HEADINGS, reference
from tests.conftest import REPO, run_cli


def test_it_says_what_there_is_to_list_and_then_the_specs(make_project: Callable[..., Project]) -> None:
    ran = run_cli(make_project().root, "list")
    assert ran.returncode == 0, ran.stderr
    sorts, specs = ran.stdout.split("\n\n")
    rows = [line.split("\t") for line in sorts.splitlines()[1:]]
    numbers = {command: int(number) for _, number, command in rows}
    expected = {f"harness list {sort}": len(entries) for sort, entries in reference().items()}
    assert numbers == {**expected, "harness list specs": 1}
    assert [line.split("\t")[0] for line in specs.splitlines()] == ["spec", "own/cancer"]
    only_specs = run_cli(make_project().root, "list", "specs")
    assert only_specs.stdout == specs


@pytest.mark.parametrize("sort", HEADINGS)
def test_each_sort_is_listed_with_a_line_of_what_each_thing_is(sort: str) -> None:
    """Also as JSON, and without a project: what is registered is everywhere the same."""
    ran = run_cli(REPO, "list", sort)
    assert ran.returncode == 0, ran.stderr
    header, *lines = ran.stdout.splitlines()
    assert header == "name\twhat it is"
    assert all(text.strip() for line in lines for text in line.split("\t"))
    told = json.loads(run_cli(Path("/"), "list", sort, "--json").stdout)
    assert [line.split("\t")[0] for line in lines] == [one["name"] for one in told]
    assert {"name", "text", "source", "fields"} == set(told[0])


def test_names_are_those_that_are_registered() -> None:
    told = {
        sort: {one["name"] for one in json.loads(run_cli(REPO, "list", sort, "--json").stdout)}
        for sort in ("attacks", "metrics", "games")
    }
    assert told["attacks"] == set(ATTACKS.names())
    assert told["metrics"] == set(METRICS)
    assert "two-coins" in told["games"]


@pytest.mark.integration
def test_a_plug_in_of_another_package_is_listed(tmp_path: Path) -> None:
    ran = run_cli(REPO, "new", "attack", "my-attack", "--into", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    info = tmp_path / "my_attack-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-attack\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[harness.plugins]\nmy_attack = my_attack\n")
    listed = subprocess.run(
        [sys.executable, "-m", "harness", "list", "attacks"],
        cwd=tmp_path, env={"PYTHONPATH": f"{REPO}:{tmp_path}", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert listed.returncode == 0, listed.stderr
    assert "\nmy-attack\t" in listed.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["metrcs"], "list: no sort of things and no spec 'metrcs'; did you mean metrics?"),
        (["ownn"], "list: no sort of things and no spec 'ownn'; did you mean own?"),
        (["zzz"], "list: no sort of things and no spec 'zzz'; `harness list` says what there is"),
        (["own/cancr"], "no spec 'own/cancr'; did you mean own/cancer?"),
        (["mine"], "no spec 'mine'; did you mean the file mine.yaml?"),
        (["metrics", "own/cancer"], "list metrics: takes no other words, found 'own/cancer'; leave out one of the two"),
        (
            ["own/cancer", "attacks"],
            "list attacks: is a sort, which is listed by itself; give it alone, or specs alone",
        ),
    ],
)
def test_a_word_that_is_neither_is_one_line(words: list[str], says: str, make_project: Callable[..., Project]) -> None:
    root = make_project().root
    (root / "mine.yaml").write_text((root / "specs/own/cancer.yaml").read_text())
    ran = run_cli(root, "list", *words)
    assert (ran.returncode, ran.stderr) == (2, f"harness: {says}\n")
