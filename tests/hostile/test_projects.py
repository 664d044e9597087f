"""Commands in projects that an attacker wrote: no traceback, nothing run, nothing beside the folder, no page that loads more.

Each project is drawn from its number, so what fails here fails alone: `pytest -k 'number-17'`.
"""

from __future__ import annotations

import os
import random
import shutil
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import run_cli
from tests.hostile.projects import PWNED, SECRET, build_neighbours, build_project, mutate

SOME, ALL, AT_ONCE = 40, 2000, 20
"""Projects of a usual run of the suite, all of them, and how many one test goes through."""
HELPED = 4
"""Of so many projects one is judged with helper processes."""
COMMANDS = (
    ("compare",),
    ("compare", "--summary", "summary.md", "--junit", "claims.xml"),
    ("report",),
    ("status",),
    ("list", "metrics"),
    ("plan",),
    ("explain", "study/a#mine"),
    ("bundle", "study/a#mine"),
    ("judge", "--json"),
    ("resolve",),
    ("pipeline",),
    ("run",),
    ("data", "fetch"),
    ("store", "verify"),
    ("what-is-in", "."),
)
LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("iframe", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("link", "href"),
    ("image", "href"),
    ("use", "href"),
    ("input", "src"),
    ("body", "background"),
}
"""Elements and attributes by which a page loads something."""


class Loads(HTMLParser):
    """What a page loads, where its links lead, and what it would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.runs: list[str] = []
        self.policies = 0
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        given = {name: value or "" for name, value in attributes}
        for name, value in given.items():
            if (tag, name) in LOADING:
                self.loads.append(value)
            elif name in ("href", "xlink:href", "action", "formaction"):
                self.links.append(value)
            elif name.startswith("on") or name == "srcdoc":
                self.runs.append(f"{tag} {name}={value}")
            elif name == "style" and "url(" in value:
                self.loads.append(value)
        if tag in ("base", "frame", "applet") or (tag == "form" and "action" in given):
            self.runs.append(tag)
        if tag == "meta":
            kind = given.get("http-equiv", "").lower()
            self.policies += kind == "content-security-policy"
            if kind == "refresh":
                self.runs.append(f"refresh {given.get('content')}")
        if tag == "script" and "src" not in given:
            self.runs.append("script")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style" and ("@import" in data or "url(" in data):
            self.loads.append(data)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest project that is judged, accepted, and has a site."""
    root = tmp_path_factory.mktemp("honest") / "project"
    build_project(root)
    for command in (("run", "-q"), ("report",), ("compare", "--update")):
        ran = run_cli(root, *command)
        assert ran.returncode == 0, ran.stderr
    (root / "mlflow.db").unlink(missing_ok=True)
    assert [faults for page in pages(root) if (faults := faults_of_page(page, root))] == []
    return root


def pages(root: Path) -> Iterator[Path]:
    """Pages of a project's sites, links left out."""
    for folder, _, names in os.walk(root):
        yield from (
            Path(folder, name) for name in names if name.endswith(".html") and not Path(folder, name).is_symlink()
        )


def faults_of_page(page: Path, root: Path) -> list[str]:
    """What a page loads from beyond its site, links that are none of the web, and code beside the site's own."""
    site = next((folder for folder in page.parents if folder.name == "site"), page.parent)
    found = Loads(page.read_text(encoding="utf-8", errors="replace"))
    faults = [f"{page.relative_to(root)}: {one}" for one in found.runs if one != "script"]
    for address in found.loads:
        if address == "data:,":  # the empty icon, so that a browser asks for none
            continue
        target = (page.parent / unquote(urlsplit(address).path)).resolve()
        inside = target.is_relative_to(site.resolve())
        if urlsplit(address).scheme or urlsplit(address).netloc or not inside:
            faults.append(f"{page.relative_to(root)}: loads {address[:200]!r}")
    faults += [
        f"{page.relative_to(root)}: leads to {address[:200]!r}"
        for address in found.links
        if "".join(c for c in urlsplit(address.strip()).scheme if c.isprintable()) not in ("", "http", "https")
    ]
    if found.policies != 1:
        faults.append(f"{page.relative_to(root)}: {found.policies} content security policies")
    return faults


def content_of(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder: bytes of files, targets of links."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def files_with(root: Path, text: bytes) -> list[str]:
    """Regular files of a project that hold a text, members of archives included."""
    holding = []
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix == ".zip" and zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    holding += [f"{path.name}:{one}" for one in archive.namelist() if text in archive.read(one)]
            elif text in path.read_bytes():
                holding.append(str(path.relative_to(root)))
    return holding


def try_commands(honest: Path, place: Path, number: int) -> list[str]:
    """Make the project of a number and type commands in it. Returns what is wrong.

    A spec may name a file of the user's by its path, unless HARNESS_ONLY_BELOW is set, as it is here for every even
    number.
    """
    root, outside = place / "project", place / "outside"
    shutil.copytree(honest, root)
    build_neighbours(outside)
    mutations = mutate(root, number)
    only_below = {} if number % 2 else {"HARNESS_ONLY_BELOW": str(root)}
    reads_beside = "path_of_results" in mutations and not only_below
    before, draw = content_of(outside), random.Random(-number)
    mutated = {page: page.read_bytes() for page in pages(root)}
    faults = []
    for command in (("validate",), ("judge",), ("site",), *draw.sample(COMMANDS, 2)):
        # Helpers of most would cost a second to find nothing new.
        alone = ("-j", "1") if number % HELPED and command[0] in ("judge", "compare") else ()
        try:
            ran = run_cli(root, *command, *alone, **only_below)
        except BaseException as error:
            faults.append(f"{' '.join(command)} ends in {type(error).__name__}: {str(error)[:300]}")
            continue
        if ran.returncode not in (0, 1, 2) or "Traceback" in ran.stderr:
            faults.append(f"{' '.join(command)}: exit {ran.returncode}: {ran.stderr[-300:]}")
        if ran.returncode == 2 and not ran.stderr.startswith("harness: "):
            faults.append(f"{' '.join(command)}: exit 2 without a line: {ran.stderr[:200]!r}")
        shown = ran.stdout + ran.stderr
        if bad := {c for c in shown if not (c.isprintable() or c in "\n\t ")} - {"\xad", "\u2011", "\u202f", "\xa0"}:
            faults.append(f"{' '.join(command)} prints {bad!r}")
        if SECRET in shown and not reads_beside:
            faults.append(f"{' '.join(command)} prints what lies beside the project")
    faults += [f"{path} was run into being" for path in place.rglob(PWNED)]
    if content_of(outside) != before:
        faults.append("something beside the project was changed")
    if not reads_beside:
        faults += [f"{name} holds what lies beside the project" for name in files_with(root, SECRET.encode())]
    written = (page for page in pages(root) if page.read_bytes() != mutated.get(page))
    faults += [fault for page in written for fault in faults_of_page(page, root)]
    return [f"project {number} ({', '.join(mutations)}): {fault}" for fault in faults]


def _go_through(honest: Path, tmp_path: Path, numbers: range) -> None:
    faults = []
    for number in numbers:
        place = tmp_path / str(number)
        place.mkdir()
        faults += try_commands(honest, place, number)
        shutil.rmtree(place)
    assert not faults, "\n".join(faults)


@pytest.mark.integration
@pytest.mark.parametrize("first", range(0, SOME, AT_ONCE), ids="from-{}".format)
def test_hostile_projects(first: int, honest: Path, tmp_path: Path) -> None:
    _go_through(honest, tmp_path, range(first, first + AT_ONCE))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SOME, ALL, AT_ONCE), ids="from-{}".format)
def test_many_hostile_projects(first: int, honest: Path, tmp_path: Path) -> None:
    _go_through(honest, tmp_path, range(first, first + AT_ONCE))
