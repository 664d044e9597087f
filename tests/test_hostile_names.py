"""Names of files, profiles and stored results as an attacker would choose them: refused in one line, or harmless."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from harness.errors import HarnessError
from harness.ids import check_distinct_pages, check_id, id_of_own_file, page_stem
from harness.paths import Project
from harness.pipeline.dvc import _lines, _scalar
from harness.report.contents import slug
from tests.conftest import PARAMS, SMALL_SPEC, run_cli, write_cancer
from tests.dvc_runs import dvc

Make = Callable[..., Project]
REFUSED = (
    *("x$(touch PWNED)", "x;touch PWNED", "`touch PWNED`", "a b", "a'b", 'a"b', "a\nb", "a\x1b[2Jb", "a\u202eb"),
    *("[red]", "[", '"><b>', "a#b", "-x", "x-", ".x.", "x.", "${profile}", "é", "a~b", "a,b", "site", "readings"),
)
THEORY = """\
paper: own
title: A bound
where: here
claims:
  - id: c1
    where: here
    kind: theory
    statement: The bound is tight.
    expect: {kind: inequality, left: {formula: optimal-advantage}, relation: "=", right: {formula: humphries}, over: {epsilon: {low: 0, high: 1}, delta: {low: 0, high: 1}}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose only spec needs no training."""
    (tmp_path / "specs/own").mkdir(parents=True)
    (tmp_path / "specs/own/plain.yaml").write_text(THEORY)
    (tmp_path / "params.yaml").write_text(PARAMS)
    return tmp_path


@pytest.mark.parametrize("name", REFUSED)
def test_the_name_of_a_spec_that_is_none_is_one_line_with_its_file(root: Path, name: str) -> None:
    (root / "specs/own" / f"{name}.yaml").write_text(THEORY)
    for command in ("validate", "pipeline", "judge", "list"):
        ran = run_cli(root, command)
        assert ran.returncode == 2, (command, ran.stdout)
        (line,) = ran.stderr.splitlines()
        assert line.startswith("harness: specs/own/"), line
        assert line.isprintable()
        assert "rename it" in line
    assert not (root / "dvc.yaml").exists()
    assert not list(root.glob("**/PWNED*"))


@pytest.mark.parametrize("folder", ["x$(touch PWNED)", "a b", "a\nb", "-x"])
def test_so_is_a_folder_of_specs(root: Path, folder: str) -> None:
    (root / "specs" / folder).mkdir()
    (root / "specs" / folder / "x.yaml").write_text(THEORY)
    ran = run_cli(root, "pipeline")
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert not (root / "dvc.yaml").exists()


@pytest.mark.parametrize("name", ["a b", "sp ace é", "x$(touch PWNED)", "it's", '"><b>', "[red]", "[", "表", "-x"])
def test_a_file_of_ones_own_may_be_called_anything_that_can_be_shown(root: Path, name: str) -> None:
    """Its results and pages have a plain name, and what is printed can be typed."""
    path = root / f"{name}.yaml"
    path.write_text(THEORY)
    ran = run_cli(root, "judge", f"./{path.name}")
    assert ran.returncode == 0, ran.stderr
    (folder,) = (root / "reports/own").iterdir()
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", folder.name), folder
    assert f"{folder.name}#c1" in ran.stdout
    assert run_cli(root, "report", f"./{path.name}").returncode == 0
    assert (folder / "site/claims" / f"{folder.name}--c1.html").is_file()
    (folder / "verdicts.json").unlink()
    asked = run_cli(root, "explain", f"./{path.name}#c1")
    typed = shlex.split(re.search(r"`(harness [^`]+)`", asked.stderr.replace("`touch PWNED`", ""))[1])  # type: ignore[index]
    assert run_cli(root, *typed[1:]).returncode == 0
    assert not list(root.glob("**/PWNED*"))


def test_two_files_of_ones_own_keep_two_names() -> None:
    names = ["a b", "a-b", "a  b", "a_b", "a b ", "表", "図"]
    assert len({id_of_own_file(name) for name in names}) == len(names)
    assert id_of_own_file("my-table.2") == "my-table.2"


@pytest.mark.parametrize("name", ["a\nharness: all is well", "a\x1b]0;owned\x07", "a\u202eb"])
def test_a_file_of_ones_own_that_cannot_be_shown_is_refused(root: Path, name: str) -> None:
    (root / f"{name}.yaml").write_text(THEORY)
    ran = run_cli(root, "validate", f"{name}.yaml")
    assert ran.returncode == 2
    assert "cannot be printed" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.strip().isprintable()


@pytest.mark.parametrize("name", ["../../elsewhere", "a b", "x; touch PWNED", "[red]", "..", "", "a/b"])
def test_a_profile_of_another_name_is_one_line(root: Path, name: str) -> None:
    """`reports/<profile>` stays inside of `reports`."""
    (root / "params.yaml").write_text(f"profile: {name!r}\nprofiles:\n  {name!r}: {{}}\n")
    before = sorted(root.parent.iterdir())
    for command in ("site", "judge", "pipeline"):
        ran = run_cli(root, command)
        assert ran.returncode == 2
        (line,) = ran.stderr.splitlines()
        assert re.search(r"params\.yaml:3: profiles\..*is no name of a profile; letters, digits", line), line
    assert not (root / "reports").exists()
    assert sorted(root.parent.iterdir()) == before


def test_pages_of_different_claims_have_different_names() -> None:
    ids = ["own/a-b", "own/a/b", "own/a--b", "own/a", "own-a/b", "a/b", "a/b/c", "a-b/c", "a/b-c", "a/b--c", "a/b_c"]
    claims = ["c1", "b--c1", "1", "1--1"]
    names = [slug(f"{spec}#{claim}") for spec in ids for claim in claims]
    figures = [f"{page_stem(spec)}-{number}" for spec in ids for number in (1, 11)]
    assert len({*names, *figures}) == len(names) + len(figures)
    assert slug("humphries2020/fig6#logloss-cap") == "humphries2020-fig6--logloss-cap"  # as links have it
    assert slug("humphries2020/fig6-a#x") == "humphries2020-fig6-a--x"


def test_two_claims_that_shared_a_page_have_one_each(root: Path) -> None:
    for name, text in (("a-b", "The first one."), ("a/b", "The second one.")):
        path = root / "specs/own" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(THEORY.replace("The bound is tight.", text))
    assert run_cli(root, "judge", "-q").returncode == 0
    assert run_cli(root, "report").returncode == 0
    pages = root / "reports/full/site/claims"
    assert "The first one." in (pages / "own-a-b--c1.html").read_text()
    assert "The second one." in (pages / "own~a~b--c1.html").read_text()
    assert "The first one." not in (pages / "own~a~b--c1.html").read_text()


@pytest.mark.parametrize("name", ["own-plain", "own/Plain"])
def test_names_that_still_meet_are_refused_with_both_files(root: Path, name: str) -> None:
    (root / f"specs/{name}.yaml").write_text(THEORY)
    for command in ("judge", "judge own/plain", "report own/plain", "site"):
        ran = run_cli(root, *command.split())
        assert ran.returncode == 2, command
        assert re.search(rf"{name}\.yaml: .*plain\.yaml|plain\.yaml: .*{name}\.yaml", ran.stderr), ran.stderr
        assert "rename one of them" in ran.stderr


def test_ids_that_are_right() -> None:
    for name in ("humphries2020/fig6", "a", "own/My_table.2", "x/y/z_", "a--b"):
        check_id(name, "file")
    with pytest.raises(HarnessError, match="file: called ''"):
        check_id("a//b", "file")
    check_distinct_pages([("a", Path("a")), ("a", Path("a"))])


def test_text_of_a_pipeline_is_what_it_was_in_yaml_and_in_a_shell() -> None:
    hostile = [
        "a b",
        "x$(touch PWNED)",
        "it's",
        'a"b',
        "a: b",
        "# x",
        "- x",
        "1e5",
        "0x1f",
        "no",
        "a\nb",
        "{a: b}",
        "é",
        "😀",
    ]
    for text in hostile:
        (value,) = YAML(typ="safe").load(f"- {_scalar(text)}\n")
        assert value == text
        shown = subprocess.run(
            ["sh", "-c", f"printf %s {_lines([text]).strip()}"], capture_output=True, text=True, check=True
        )
        assert shown.stdout == text


def test_a_path_of_a_table_is_no_command_of_the_pipeline(make_project: Make) -> None:
    """Under real DVC: what a spec says of its table is a dependency as it is written, and runs nothing."""
    name = "x$(touch PWNED) ${profile} it's.csv"
    root = make_project(SMALL_SPEC.replace("path: cancer.csv", f'path: "{name}"')).root
    write_cancer(root / name)
    assert run_cli(root, "pipeline").returncode == 0
    pipeline = YAML(typ="safe").load((root / "dvc.yaml").read_text())
    assert name.replace("${", "\\${") in pipeline["stages"]["resolve"]["deps"]
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    assert "resolve" in dvc(root, "stage", "list")
    dvc(root, "repro", "resolve")
    assert name in (root / "dvc.lock").read_text()
    assert not list(root.glob("**/PWNED*"))
