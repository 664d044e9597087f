"""Standard output for what a program reads: whatever else is printed goes to standard error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Send to standard error what is printed, by Python, by C or by a process begun here.

    Yields the stream that alone reaches standard output meanwhile. It takes UTF-8, whatever the locale.
    """
    before = sys.stdout
    before.flush()
    kept = os.dup(1)
    own = None
    if before is sys.__stdout__:
        own = open(os.dup(kept), "w", encoding="utf-8")  # noqa: SIM115, PTH123 (it outlives this statement; it has no path)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield own or before
    finally:
        sys.stderr.flush()
        _flush_c()
        if own is not None:
            with contextlib.suppress(BrokenPipeError):
                own.close()
        os.dup2(kept, 1)
        os.close(kept)


def send_stdout_to_stderr() -> None:
    """The same for the rest of this process."""
    sys.stdout.flush()
    os.dup2(2, 1)
    sys.stdout = sys.stderr


def _flush_c() -> None:
    """Write what C's `printf` still holds, before its file is another."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)
