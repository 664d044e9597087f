"""README and docs: links lead somewhere, commands are there, numbers are their sources', and pages say what is so now."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from harness.attacks import ATTACKS
from harness.auditing import AUDITORS
from harness.claims.expectation import CLAIM_KINDS
from harness.defences import DEFENCES
from harness.paths import Project
from harness.privacy.accountants import ACCOUNTANTS
from harness.report.manual import PARTS, page_paths
from harness.spec.profile import load_params
from harness.training.engine import ENGINES
from tests.conftest import REPO, whole_program

NOTES = sorted((REPO / "docs" / "notes").glob("*.md"))
PAGES = sorted(
    [
        REPO / "README.md",
        REPO / "CONTRIBUTING.md",
        *(REPO / "docs").glob("*.md"),
        *NOTES,
        *(REPO / "examples").rglob("*.md"),
    ]
)


@pytest.fixture(scope="module")
def fill() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fill", REPO / "docs" / "fill.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fill"] = module
    spec.loader.exec_module(module)
    return module


def anchors(text: str) -> set[str]:
    """Of a page's headings, as they are made where it is read."""
    result = set()
    for heading in re.findall(r"(?m)^#+ (.*)$", text):
        plain = re.sub(r"[`*\[\]]|\(.*?\)", "", heading).strip().lower()
        result.add(re.sub(r"[^\w -]", "", plain).replace(" ", "-"))
    return result


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_paths_are_there(page: Path) -> None:
    """Files and folders of the repository that a page of today names, but for what a run makes."""
    if page in NOTES or page.name == "changelog.md":
        return
    top = "harness|tests|benchmarks|specs|docs|examples|flagship|\\.ci|\\.github"
    for path in re.findall(rf"`((?:{top})/[\w./-]*)`", page.read_text()):
        made = path.startswith("specs/own/")
        assert made or (REPO / path).exists() or (page.parent / path).exists(), path


def faults_of_commands(line: str) -> str:
    """What of a `harness ...` is no command, or an option that it does not have; empty where all is there."""
    words, command = line.split()[1:], whole_program()
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


# --- README


README = (REPO / "README.md").read_text()


def test_the_readme_is_short() -> None:
    """What it is, two commands, one picture, three findings, where to go."""
    assert len(README.splitlines()) < 80
    assert len(README) < 5_000
    assert "make repro" in README
    assert "make test" in README


def test_what_the_readme_says_of_python_is_so() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    low, high = re.findall(r"3\.(\d+)", project["requires-python"])
    assert f"Python 3.{low} to 3.{int(high) - 1}" in README
    assert not [d for d in project["dependencies"] if "tensorflow" in d]
    tried = re.findall(
        r"python3\.(\d+)", (REPO / ".ci/install").read_text().partition("for one in ")[2].partition(";")[0]
    )
    assert [int(minor) for minor in tried] == [*range(int(low), int(high))]


def test_what_the_readme_names_is_made(fill: ModuleType) -> None:
    """The targets of its two commands, the sites that they build, and its findings, which the verdicts still support."""
    makefile = (REPO / "Makefile").read_text()
    for target in re.findall(r"(?m)^make (\w+)", README):
        assert re.search(rf"(?m)^{target}:", makefile), target
    built = {load_params(Project(REPO)).profile, *re.findall(r"harness site --profile (\w+)", makefile)}
    assert {*re.findall(r"reports/(\w+)/site/index\.html", README)} == built
    findings = fill.BLOCKS["findings"](REPO / "README.md")
    titles = re.findall(r"(?m)^- \*\*(.*?)\.\*\*", README)
    assert len(titles) == 3
    for title in titles:
        assert f"**{title}**" in findings, title


# --- every page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_pages_say_how_things_are(page: Path) -> None:
    """No date and no commit: those are for the changelog, and for notes."""
    if page not in NOTES and page.name != "changelog.md":
        prose = re.sub(r"```.*?```|\]\([^)]*\)", "", page.read_text(), flags=re.DOTALL)
        months = "January|February|March|April|May|June|July|August|September|October|November|December"
        dated = rf"\b20[23]\d-[01]\d-[0-3]\d\b|\bcommits? [0-9a-f]{{7}}\b|\b(?:{months}) 20[23]\d\b"
        assert not re.findall(dated, prose)


@pytest.mark.parametrize("page", page_paths(REPO / "docs").values(), ids=lambda page: page.stem)
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    assert re.match(r"# .+\n\nThis (page|note) ", page.read_text())


def test_every_page_has_its_part() -> None:
    named = [name for names in PARTS.values() for name in names]
    assert sorted(named) == sorted(page_paths(REPO / "docs"))


def first_column(page: str, header: str) -> set[str]:
    """The names in code of the first column of the tables of a page whose header begins so."""
    names: set[str] = set()
    for table in re.findall(rf"(?m)^\| {header} \|.*\n\|[ |-]*\n((?:\|.*\n)+)", (REPO / "docs" / page).read_text()):
        names |= {name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    return names


def test_tables_of_what_there_is_are_whole() -> None:
    """Kinds of claims, accountants, auditors, defences, engines, profiles and extras: all of them, and no others."""
    assert first_column("language.md", "kind") == set(CLAIM_KINDS.names())
    assert first_column("accounting.md", "name") == set(ACCOUNTANTS)
    assert first_column("auditing.md", "auditor") == set(AUDITORS.names())
    assert first_column("queries.md", "defence") == {"none", *DEFENCES.names()}
    assert first_column("queries.md", "attack") <= set(ATTACKS.names())
    assert first_column("engines.md", "engine") == set(ENGINES.names())
    assert first_column("profiles.md", "profile") == set(load_params(Project(REPO)).profiles)
    extras = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert first_column("install.md", "extra") == set(extras)


def test_numbers_and_lists_are_those_of_their_sources(fill: ModuleType) -> None:
    """`python docs/fill.py --write` mends what this finds."""
    stale = [page.name for page in fill.PAGES if fill.filled(page) != page.read_text()]
    assert stale == []


def test_a_number_that_drifted_is_filled_in(fill: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    source = "humphries2020/games#cap left"
    page.write_text(f"9.9<!-- {source} --> and 3%<!-- benchmarks/calibration.json alpha -->\n")
    assert fill.filled(page) == f"0.9<!-- {source} --> and 5%<!-- benchmarks/calibration.json alpha -->\n"
    page.write_text("1<!-- humphries2020/games#nothing left -->")
    with pytest.raises(ValueError, match=r"page\.md: humphries2020/games#nothing left"):
        fill.filled(page)
    page.write_text("1<!-- humphries2020/fig6 mean advantage arm=joint attack=logloss -->")
    with pytest.raises(ValueError, match="rows of several values of epsilon"):
        fill.filled(page)
