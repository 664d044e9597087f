"""One version: package, citation, changelog, and the examples that pin the action say the same."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

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
