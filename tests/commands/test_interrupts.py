"""Ctrl-C, once and again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.commands import interrupts
from harness.commands.interrupts import heed_one_interrupt
from tests.conftest import REPO


@pytest.fixture(autouse=True)
def handled_by_python() -> object:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_second_interrupt_at_once_is_ignored() -> None:
    with heed_one_interrupt():
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        interrupt()
    interrupt()


def test_a_later_one_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE_S", 0.0)
    with heed_one_interrupt():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                interrupt()


def test_what_was_not_interrupted_leaves_ctrl_c_as_it_was() -> None:
    with heed_one_interrupt():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_it_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with heed_one_interrupt():
        interrupt()


TRAPS = {
    "typing_extensions": "os.kill(os.getpid(), signal.SIGINT)",  # of the command line itself
    "numpy": "os.kill(os.getpid(), signal.SIGINT)",  # of what a command imports
    "pandas": "try: os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\nexcept KeyboardInterrupt: raise ImportError('x')",
    "typer": "try: os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException: pass",
}
"""By module that sends Ctrl-C while it is imported, what it does."""


@pytest.mark.parametrize("way", ["script", "-m"])
@pytest.mark.parametrize("module", TRAPS)
def test_ctrl_c_while_modules_are_imported_is_one_line(module: str, way: str, tmp_path: Path) -> None:
    """Whatever the module makes of it."""
    (tmp_path / f"{module}.py").write_text(f"import os, signal, time\n{TRAPS[module]}\nraise SystemExit(9)\n")
    (tmp_path / "script").write_text("from harness.__main__ import main\nmain()\n")
    ran = subprocess.run(
        [sys.executable, *([str(tmp_path / "script")] if way == "script" else ["-P", "-m", "harness"]), "validate"],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPO}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,  # a test runner may have it ignored
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("", "harness: stopped\n")
    assert ran.returncode in (130, -signal.SIGINT)  # Python itself chooses between the two; in a shell both are 130


def test_the_script_is_what_the_module_runs() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"harness": "harness.__main__:main"}
