"""Types a walk-through again: `python docs/walk.py PAGE FOLDER [--write]`, in a fresh copy of the checkout.

A block of YAML whose first line is a comment is the file that the comment names; the lines of a block of shell are
typed, `cd` alone for all that follow; a block of text after them is what came. `--write` puts what comes now into
the page.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?ms)^```(yaml|sh|text)\n(.*?)^```$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    span: tuple[int, int]
    """Where its text stands in the page."""

    @property
    def path(self) -> str | None:
        """The file that it is, where its first line names one."""
        found = re.match(r"# (\S+\.yaml)\n", self.text) if self.language == "yaml" else None
        return found.group(1) if found else None


def blocks(page: str) -> list[Block]:
    """All of them, in order."""
    return [Block(found.group(1), found.group(2), found.span(2)) for found in _BLOCK.finditer(page)]


def type_line(line: str, root: Path, environment: dict[str, str]) -> tuple[str, str]:
    """What a line of shell prints on a terminal, where tables have columns, and on standard error."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, int(environment["COLUMNS"])))
    with tempfile.TemporaryFile() as errors:
        ran = subprocess.Popen(["bash", "-c", line], cwd=root, env=environment, stdout=theirs, stderr=errors)
        os.close(theirs)
        pieces = []
        # A terminal whose other end is closed gives an error where a pipe gives its end.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 65536):
                pieces.append(piece)
        os.close(ours)
        ran.wait()
        errors.seek(0)
        return b"".join(pieces).decode().replace("\r\n", "\n"), errors.read().decode()


def play(page: str, root: Path) -> Iterator[tuple[Block, str]]:
    """Write the files and type the lines of a page in `root`: each block of text, and what came instead."""
    said, here = "", root
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "TF_CPP_MIN_LOG_LEVEL": "3"}
    for block in blocks(page):
        if block.path is not None:
            (here / block.path).parent.mkdir(parents=True, exist_ok=True)
            (here / block.path).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            said = ""
            for line in block.text.splitlines():
                if folder := re.fullmatch(r"cd (\S+)", line):
                    here = here / folder.group(1)
                    continue
                out, errors = type_line(line, here, environment)
                said += out + "".join(x for x in errors.splitlines(keepends=True) if x.startswith("harness:"))
        elif block.language == "text":
            yield block, "".join(f"{line.rstrip()}\n" for line in said.splitlines())


def main() -> None:
    """Print what comes, or write it."""
    path, root = Path(sys.argv[1]), Path(sys.argv[2])
    page = path.read_text(encoding="utf-8")
    for block, said in reversed(list(play(page, root))):
        print(said)
        page = page[: block.span[0]] + said + page[block.span[1] :]
    if "--write" in sys.argv:
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
