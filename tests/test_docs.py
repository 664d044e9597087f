"""README and docs: every link leads somewhere, every command that they show is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from harness.commands.app import FORMER_VERBS, app
from tests.conftest import REPO, run_cli

PAGES = sorted(
    [REPO / "README.md", REPO / "CONTRIBUTING.md", *(REPO / "docs").glob("*.md"), *(REPO / "examples").rglob("*.md")]
)


def anchors(text: str) -> set[str]:
    """Of a page's headings, as they are made where it is read."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.*)$", text):
        plain = re.sub(r"[`*\[\]]|\(.*?\)", "", heading).strip().lower()
        found.add(re.sub(r"[^\w -]", "", plain).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not fragment or fragment in anchors(there.read_text()), target


def faults_of_commands(line: str) -> str:
    """What of a `harness ...` is no command, or an option that it does not have; empty where all is there."""
    words, command = line.split()[1:], typer.main.get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith(("-", "<", "…", ".")):
        name = re.sub(r"[,.;:]$", "", words.pop(0))
        if name not in command.commands:
            return name
        command = command.commands[name]
    if hasattr(command, "commands"):
        return ""
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    options = [word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)]
    return next((word for word in options if word not in known), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_commands_are_there(page: Path) -> None:
    """Each `harness ...` in a block of shell or in running text names a command, and options that it has."""
    text = page.read_text()
    shown = re.findall(r"`(harness [^`]+)`", text)
    for block in re.findall(r"```(?:sh|bash|console)?\n(.*?)```", text, flags=re.DOTALL):
        shown += re.findall(r"(?m)^\s*(?:\$ )?(harness .*?)(?:\s+#.*)?$", block)
    assert not [line for line in shown if faults_of_commands(line)]


def test_the_readme_is_short() -> None:
    """What it is, two commands, one picture, three findings, where to go."""
    text = (REPO / "README.md").read_text()
    assert len(text) < 5_000
    assert "make repro" in text
    assert "make test" in text


HISTORY = ("changelog.md", "moved.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_pages_say_how_things_are(page: Path) -> None:
    """No date and no commit: those are for the changelog, and for what moved."""
    if page.name not in HISTORY:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"\b20[23]\d-[01]\d-[0-3]\d\b|\bcommits? [0-9a-f]{7}\b", prose)


def test_commands_are_carried_out_by_their_names_of_before() -> None:
    for former, current in FORMER_VERBS.items():
        before, now = run_cli(REPO, former, "--help"), run_cli(REPO, current, "--help")
        assert (before.returncode, before.stdout) == (0, now.stdout)
        assert before.stderr == f"harness: warning: `harness {former}` is called `harness {current}` now\n"
