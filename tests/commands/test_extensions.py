"""Commands of other packages: named by one line of their metadata, loaded when typed, and never in the others' way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.paths import Project
from tests.conftest import REPO, run_process

GREET = """\
from pathlib import Path
from typing import Annotated
import typer
from harness.errors import HarnessError

Path("imported").touch()
things = typer.Typer(help="Things of mine.")

def greet(name: Annotated[str, typer.Option(help="Who.")] = "nobody") -> None:
    "Say **hello** to somebody."
    if name == "nobody":
        raise HarnessError("--name: say who")
    print("hello", name)

@things.command()
def one() -> None:
    "The first thing."
    print("one thing")

@things.command()
def two() -> None:
    "The second thing."
"""


def write_package(folder: Path, name: str, entries: str, code: str = GREET) -> None:
    """An installed package with one module."""
    described = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    described.mkdir(parents=True)
    (folder / f"{name.replace('-', '_')}.py").write_text(code)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[harness.commands]\n{entries}\n")


Typed = Callable[..., CompletedProcess[str]]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return tmp_path / "packages"


@pytest.fixture
def typed(packages: Path, make_project: Callable[..., Project]) -> Typed:
    """What the program does in a project where the packages are installed."""
    root = make_project().root
    return lambda *words: run_process(root, *words, PYTHONPATH=f"{packages}:{REPO}")


def test_a_package_adds_a_command_by_one_line(packages: Path, typed: Typed) -> None:
    write_package(packages, "my-greetings", "greet = my_greetings:greet\nthings = my_greetings:things")
    ran = typed("greet", "--name", "you")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "hello you\n", "")
    assert typed("things", "one").stdout == "one thing\n"
    refused = typed("greet")
    assert (refused.returncode, refused.stderr) == (2, "harness: --name: say who\n")
    mistyped = typed("greet", "--nam")
    assert mistyped.returncode == 2
    assert mistyped.stderr.startswith("harness: greet: ")
    assert "`harness greet --help`" in mistyped.stderr
    unknown = typed("gret")
    assert unknown.returncode == 2
    assert "Did you mean 'greet'" in unknown.stderr


def test_help_has_a_panel_for_each_extension_after_the_commands_of_the_harness(packages: Path, typed: Typed) -> None:
    write_package(packages, "my-greetings", "greet = my_greetings:greet\nthings = my_greetings:things")
    ran = typed("--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    own, _, theirs = ran.stdout.partition("Extension my-greetings")
    assert "validate" in own
    assert "greet" not in own
    assert "Say hello to somebody." in theirs
    assert "Things of mine." in theirs


def test_a_command_of_the_harness_imports_no_package(packages: Path, typed: Typed) -> None:
    write_package(
        packages, "my-greetings", "greet = my_greetings:greet", GREET.replace('"imported"', "__file__ + '.imported'")
    )
    for words in (["validate"], ["run", "--help"], ["list", "metrics"]):
        assert typed(*words).returncode == 0
    assert not (packages / "my_greetings.py.imported").exists()
    assert typed("--help").returncode == 0
    assert (packages / "my_greetings.py.imported").exists()


def test_an_installation_from_before_extensions_says_what_is_missing(packages: Path, typed: Typed) -> None:
    write_package(packages, "mi-dp-harness", "", "")  # found before the one that is installed
    (packages / "mi_dp_harness-1.0.dist-info" / "entry_points.txt").write_text("")
    for words, code in ((["--help"], 0), (["survey", "x.csv"], 2)):
        ran = typed(*words)
        assert ran.returncode == code
        assert ran.stderr.startswith(
            "harness: the harness is not installed here, or was before its extensions had comm"
        )
        assert "pip install -e ." in ran.stderr.splitlines()[0]
        assert len(ran.stderr.splitlines()) == (1 if code == 0 else 2)


def test_help_lists_the_extensions_of_the_harness_and_imports_nothing_heavy(packages: Path) -> None:
    code = (
        "import sys; sys.argv = ['harness', *sys.argv[1:]]\n"
        "from harness.commands.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith('harness.extensions.')], file=sys.stderr)\n"
        "print([m for m in sys.modules if m in ('pandas', 'sklearn', 'scipy', 'distributed', 'fsspec')], file=sys.stderr)"
    )
    told = {}
    for words in (("--help",), ("run", "--help"), ("judge", "--help")):
        ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=REPO)
        told[words] = ran.stdout, *ran.stderr.splitlines()
    help_text, loaded, heavy = told[("--help",)]
    assert "Extension audit" in help_text
    assert "Extension survey" in help_text
    assert "harness.extensions.survey.command" in loaded
    assert heavy == "[]"
    assert told[("run", "--help")][1:] == told[("judge", "--help")][1:] == ("[]", "[]")


MEND = "; mend it, or pip uninstall the package"
LOADED = "the command {0} ({0}:it) of the package {0} cannot be loaded: "
RIGHT = f"names no module; right is `name = module`, or `name = module:attribute`{MEND}"
BROKEN = {
    "raises": ("raises = raises:it", "raise RuntimeError('no\\nluck')", LOADED + "no luck"),
    "missing": ("missing = missing:it", "import nowhere_at_all", LOADED + "No module named 'nowhere_at_all'"),
    "exits": ("exits = exits:it", "import sys; sys.exit(0)", LOADED + "0"),
    "lacks": ("lacks = lacks:it", "", LOADED + "module 'lacks' has no attribute 'it'"),
    "number": ("number = number:it", "it = 3", LOADED + "it is a int, and right is a function or a typer.Typer"),
    "options": ("options = options:it", "def it(x: 'Nowhere'): ...", LOADED + "name 'Nowhere' is not defined"),
    "dashed": ("dashed = my-module", "", "the package {0}: entry point 'dashed = my-module' of the group harness.commands "),
    "bare": ("bare", "", "the package {0}: entry point 'bare' of the group harness.commands "),
    "named": ("--it = named:it", "", "the package {0}: '--it' of the group harness.commands is no name of a command; right are small letters, digits and -, a letter first"),
    "taken": ("run = taken:it", "", "the package {0}: its command run has the name of one of the harness"),
}  # fmt: skip
"""By the name of a package: its line, its module, and what is said of it."""


def test_each_package_that_is_broken_costs_one_line(packages: Path, typed: Typed) -> None:
    write_package(packages, "my-greetings", "greet = my_greetings:greet")
    for name, (entry, code, _) in BROKEN.items():
        if name != "bare":
            write_package(packages, name, entry, code)
    for words, out in ((["greet", "--name", "you"], "hello you\n"), (["run", "--help"], None), (["validate"], None)):
        other = typed(*words)
        assert (other.returncode, other.stderr) == (0, "")
        assert out in (None, other.stdout)
    write_package(packages, "bare", "bare", "")  # with which other libraries fail, but help does not need them
    ran = typed("--help")
    assert ran.returncode == 0
    assert "Say hello to somebody." in ran.stdout
    ends = {name: RIGHT if name in ("dashed", "bare") else MEND for name in BROKEN}
    lines = {f"harness: {says.format(name)}{ends[name]}" for name, (*_, says) in BROKEN.items()}
    assert set(ran.stderr.splitlines()) == lines
    assert len(ran.stderr.splitlines()) == len(BROKEN)
    refused = typed("exits")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"harness: {LOADED.format('exits')}0{MEND}\n"


def test_a_command_that_two_packages_offer_is_neither_ones(packages: Path, typed: Typed) -> None:
    for name in ("greetings", "my-greetings"):
        write_package(packages, name, f"greet = {name.replace('-', '_')}:greet")
    line = (
        "harness: the command greet is offered by the packages greetings and my-greetings; pip uninstall one of them\n"
    )
    ran = typed("greet")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", line)
    ran = typed("--help")
    assert (ran.returncode, ran.stderr) == (0, line)
    assert "Say hello" not in ran.stdout
