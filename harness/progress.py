"""Progress on a terminal, one line now and then elsewhere, silence on request."""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress

from harness.addresses import hide_secrets
from harness.escaping import visible_line

QUIET_INTERVAL_S = 20.0
"""Between two lines of progress at least, where the output is no terminal; what ends sooner has none."""
GROWTH = 6
"""Lines come no sooner than after a sixth more of the time gone, so that the log of hours stays one to read."""


class Bar(Protocol):
    """What a piece of long work reports to."""

    def advance(self, amount: float = 1, note: str = "", seconds_left: float | None = None) -> None: ...


class _RichBar:
    def __init__(self, rich: RichProgress, task: int) -> None:
        self._rich, self._task = rich, task

    def advance(self, amount: float = 1, note: str = "", seconds_left: float | None = None) -> None:
        self._rich.update(self._task, advance=amount, note=visible_line(note))  # type: ignore[arg-type]


class _Lines:
    """When the next line of progress is due, over all bars of a process."""

    def __init__(self) -> None:
        self._started = self._last = time.monotonic()

    def is_due(self, seconds_left: float) -> bool:
        """Whether a line may be printed now, with so much time left; then it counts as printed."""
        now = time.monotonic()
        if min(now - self._last, seconds_left) < max(QUIET_INTERVAL_S, (now - self._started) / GROWTH):
            return False
        self._last = now
        return True


def _write_line(text: str) -> None:
    """Write a line on standard error at once, without control characters.

    `print` writes its end apart, and threads write between the two.
    """
    sys.stderr.write(f"{visible_line(hide_secrets(text))}\n")
    sys.stderr.flush()


class _LineBar:
    """Where the output is no terminal: a line now and then."""

    def __init__(self, label: str, total: float, lines: _Lines) -> None:
        self._label, self._total, self._done, self._lines = label, total, 0.0, lines
        self._first: tuple[float, float] | None = None
        """When the first advance came, and how much was done then: it may have been done before."""

    def advance(self, amount: float = 1, note: str = "", seconds_left: float | None = None) -> None:
        self._done += amount
        if self._lines.is_due(self._estimate_seconds_left() if seconds_left is None else seconds_left):
            _write_line(f"{self._label}: {self._done:.0f}/{self._total:.0f} {note}".rstrip())

    def _estimate_seconds_left(self) -> float:
        """The time that the rest takes at the pace since the first advance; infinity where nothing says so."""
        now = time.monotonic()
        since, before = self._first = self._first or (now, self._done)
        if self._done <= before or self._done > self._total:
            return math.inf
        return (now - since) / (self._done - before) * (self._total - self._done)


class _Silent:
    def advance(self, amount: float = 1, note: str = "", seconds_left: float | None = None) -> None:
        pass


def silence_accountant_warnings() -> None:
    """Keep warnings of dp-accounting, such as on orders left out of a search, off the terminal."""
    logging.getLogger("absl").setLevel(logging.ERROR)


class Progress:
    """Makes progress bars.

    With `quiet` they show nothing. On a terminal a bar is one line that is rewritten, and gone when it ends. Without
    `live`, or where the output is no terminal, a line is printed now and then, while there is much to wait for.
    """

    def __init__(self, quiet: bool = False, live: bool = True) -> None:
        self.quiet, self.live = quiet, live
        self.console = Console(stderr=True)
        self._lines = _Lines()

    def __reduce__(self) -> tuple[type[Progress], tuple[bool]]:
        """A copy that is sent to another process is quiet: one process writes to the terminal."""
        return Progress, (True,)

    @property
    def is_live(self) -> bool:
        """Whether bars are lines that are rewritten. FORCE_COLOR, which CI sets, makes no terminal of a pipe."""
        return self.live and sys.stderr.isatty() and self.console.is_interactive

    def warn(self, text: str) -> None:
        """Print a warning, also where `quiet`: something is not as the user believes."""
        _write_line(f"harness: warning: {text}")

    def say(self, message: str) -> None:
        """Print a line on standard error, unless `quiet`."""
        if not self.quiet:
            _write_line(message)

    @contextlib.contextmanager
    def _bar(self, label: str, total: float, *columns: object) -> Iterator[Bar]:
        if self.quiet:
            yield _Silent()
        elif not self.is_live:
            yield _LineBar(label, total, self._lines)
        else:
            shown = [TextColumn("{task.description}", markup=False), BarColumn(), *columns]
            with RichProgress(*shown, console=self.console, transient=True) as rich:  # type: ignore[arg-type]
                yield _RichBar(rich, rich.add_task(visible_line(hide_secrets(label)), total=total, note=""))

    def bytes(self, label: str, total: float) -> contextlib.AbstractContextManager[Bar]:
        """A bar over bytes."""
        return self._bar(label, total, DownloadColumn())

    def tasks(self, label: str, total: float) -> contextlib.AbstractContextManager[Bar]:
        """A bar over the tasks of a stage, on a terminal alone: the stage's own line says what came of them."""
        return self.cells(label, total) if self.is_live else contextlib.nullcontext(_Silent())

    def cells(self, label: str, total: float) -> contextlib.AbstractContextManager[Bar]:
        """A bar over cells; its note carries the estimate of the time left."""
        return self._bar(
            label, total, MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}", markup=False)
        )
