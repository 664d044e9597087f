"""Progress: one line that is rewritten on a terminal; elsewhere complete lines, and only where there is long to wait."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import progress
from harness.paths import Project
from harness.progress import Progress
from tests.conftest import REPO, run_cli

Make = Callable[..., Project]


class Clock:
    """A clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


@pytest.mark.parametrize(
    ("total", "seconds", "said"),
    [
        (96, 0.25, ""),  # over in 24 s: when a line is due, little is left
        (96, 0.5, "done: 40/96\n"),  # when the next one is due, the end is near
        (300, 1, " ".join(f"done: {n}/300" for n in (20, 40, 60, 80, 100, 120, 144, 173, 208, 250)) + "\n"),
        (2, 30, "done: 1/2\n"),  # nothing says how long the other takes
    ],
)
def test_a_pipe_has_a_line_where_there_is_long_to_wait(
    total: int, seconds: float, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    with Progress().cells("done", total) as bar:
        for _ in range(total):
            clock.now += seconds
            bar.advance()
    assert capsys.readouterr().err == said.replace(" done", "\ndone")


def test_what_was_there_before_does_not_count_as_fast(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A download that goes on, and one of which nobody knows the length."""
    for have, total in ((900, 1000), (0, 0)):
        clock = Clock(monkeypatch)
        with Progress().bytes("table", total) as bar:
            bar.advance(have)
            for _ in range(5):
                clock.now += 10
                bar.advance(1)
        assert capsys.readouterr().err == f"table: {have + 2}/{total}\ntable: {have + 4}/{total}\n"


def test_an_estimate_of_who_advances_goes_before_the_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    with Progress().cells("train", 9) as bar:
        clock.now += 60
        bar.advance(1, "about 2 s left", 2.0)
        bar.advance(1, "about 600 s left", 600.0)
    assert capsys.readouterr().err == "train: 2/9 about 600 s left\n"


def test_stages_that_judge_and_draw_leave_one_line_each_in_a_pipe(
    make_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where every advance would be a line, as on a slow machine; training has lines with the time left."""
    monkeypatch.setattr(progress, "QUIET_INTERVAL_S", 0.0)
    monkeypatch.setattr(progress, "GROWTH", 1e9)
    project = make_project()
    trained = run_cli(project.root, "run", "--stage", "train", FORCE_COLOR="1")
    assert re.search(r"(?m)^train own/cancer: \d+/\d+ about \d+ s left$", trained.stderr)
    assert "\x1b" not in trained.stderr
    assert run_cli(project.root, "run", "--stage", "attack", "-q").returncode == 0
    for command in ("judge", "report"):
        ran = run_cli(project.root, command, "--brief")
        assert ran.returncode == 0
        assert re.fullmatch(rf"{command} .*; \d+ s\n", ran.stderr), ran.stderr


BAR = """
from harness.pipeline.context import Context
from harness.progress import Progress
progress = Progress()
for bar in (progress.cells("training", 3), progress.tasks("judging", 3)):
    with bar as one:
        for _ in range(3):
            one.advance(1, "x")
progress.say("the end")
"""


def test_a_terminal_has_one_line_that_is_rewritten(tmp_path: Path) -> None:
    """Each bar is erased when it ends; a dumb terminal, which cannot, is treated as a pipe."""
    said = {}
    for term in ("xterm", "dumb"):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": term, "PYTHONPATH": str(REPO)}
        subprocess.run([sys.executable, "-c", BAR], stderr=theirs, env=environment, cwd=tmp_path, check=True)
        os.close(theirs)
        said[term] = os.read(ours, 1 << 16).decode()
        os.close(ours)
    assert said["dumb"] == "the end\r\n"
    assert said["xterm"].endswith("the end\r\n")
    for label in ("training", "judging"):
        last = said["xterm"].rindex(label)
        assert "3/3" in said["xterm"][last:]
        assert "\x1b[2K" in said["xterm"][last:], "the line is erased"
