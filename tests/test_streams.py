"""What libraries write to standard error, without the lines that nobody asked for."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from harness.execution.executors import CHATTER
from harness.streams import import_quietly, leave_out_of_stderr


def test_only_lines_of_the_pattern_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    with leave_out_of_stderr(CHATTER):
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n")
        os.write(2, b"I0000 00:00:1796053262.469725   15871 port.cc:153] oneDNN custom operations are on.\n")
        print("E0000 something is wrong", file=sys.stderr)
        os.write(2, b"no end")
    os.write(2, b"; after")
    assert capfd.readouterr().err == "E0000 something is wrong\nno end; after"


def test_nothing_is_lost_where_it_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), leave_out_of_stderr("a"):
        os.write(2, b"a\nb\n")
        raise ZeroDivisionError
    assert capfd.readouterr().err == "b\n"


def test_a_module_is_imported_quietly_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chatty.py").write_text("import os\nos.write(2, b'I0000 chatter\\nthe rest\\n')\nVALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    import_quietly("chatty", CHATTER)
    assert importlib.import_module("chatty").VALUE == 3
    assert capfd.readouterr().err == "the rest\n"
    assert sys.meta_path == before
