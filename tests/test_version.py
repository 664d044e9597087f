"""One version: package, citation, changelog, and the examples that pin the action say the same."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import harness
from harness.commands import version
from tests.conftest import REPO, run_cli


def test_package_citation_and_changelog_agree() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", harness.__version__)
    assert project["version"] == harness.__version__
    citation = (REPO / "CITATION.cff").read_text()
    assert re.findall(r"(?m)^version: (.*)$", citation) == [harness.__version__]
    headings = re.findall(r"(?m)^## (.*)$", (REPO / "docs/changelog.md").read_text())
    assert headings[:2] == ["Unreleased", harness.__version__]
    numbers = [tuple(map(int, heading.split("."))) for heading in headings[1:]]
    assert numbers == sorted(set(numbers), reverse=True)


@pytest.mark.parametrize("name", ["docs/ci.md", "action.yml"])
def test_examples_pin_the_action_by_the_tag_of_this_version(name: str) -> None:
    others = {"actions/checkout", "actions/setup-python", "actions/upload-artifact"}
    lines = [line for line in (REPO / name).read_text().splitlines() if "uses:" in line]
    own = [line for line in lines if not any(other in line for other in others)]
    assert own
    for line in own:
        assert re.search(r"@(\S+)", line)[1] == f"v{harness.__version__}"  # type: ignore[index]


def test_the_command_prints_version_and_commit() -> None:
    ran = run_cli(REPO, "--version")
    assert (ran.returncode, ran.stderr) == (0, "")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPO, capture_output=True, text=True, check=False).stdout
    line = rf"harness {re.escape(harness.__version__)}"
    if head:
        line += rf" \(commit {head[:12]}(-dirty)?\)"
    assert re.fullmatch(f"{line}\n", ran.stdout)


def test_a_package_that_is_no_checkout_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is installed somewhere below another repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "site-packages/harness/commands").mkdir(parents=True)
    monkeypatch.setattr(version, "__file__", str(tmp_path / "site-packages/harness/commands/version.py"))
    assert version.version_line() == f"harness {harness.__version__}"


@pytest.mark.parametrize(
    ("lock", "python"),
    [("requirements.lock", "3.11"), ("requirements-3.12.lock", "3.12"), ("requirements-3.12.lock", "3.13")],
)
def test_the_lock_file_has_what_the_package_asks_for(lock: str, python: str) -> None:
    """Each dependency, of the extras too, in a version that its bounds admit; floors are where known holes are mended."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    asked = [Requirement(line) for line in (*project["dependencies"], *extras)]
    pinned = re.findall(r"(?m)^([A-Za-z0-9][\w.-]*)==([^\s;]+)", (REPO / lock).read_text())
    locked = {canonicalize_name(name): version for name, version in pinned}
    assert len(locked) > len(asked) > 30
    of_lock = {"python_version": python, "python_full_version": f"{python}.1"}
    needed = [one for one in asked if one.marker is None or one.marker.evaluate(of_lock)]
    wrong = [
        f"{one}: {locked.get(canonicalize_name(one.name))} is locked"
        for one in needed
        if one.name != project["name"]
        and not one.specifier.contains(locked.get(canonicalize_name(one.name), "0"), prereleases=True)
    ]
    assert wrong == []
    without_holes = {"jinja2": "3.1.6", "requests": "2.32.4", "pillow": "11.3"}
    for name, mended in without_holes.items():
        (floor,) = [one for one in asked if one.name == name]
        most, _, last = mended.rpartition(".")
        before = f"{most}.{int(last) - 1}"
        assert floor.specifier.contains(mended)
        assert not floor.specifier.contains(before), f"{name} {before} has known holes"
