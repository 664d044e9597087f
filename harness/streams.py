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
    """Redirect to standard error what Python, C or child processes print on standard output.

    Yields a stream, in UTF-8 whatever the locale, that alone still writes to standard output.
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
    """Redirect standard output to standard error for the rest of this process."""
    sys.stdout.flush()
    os.dup2(2, 1)
    sys.stdout = sys.stderr


def _flush_c() -> None:
    """Flush what C's `printf` has buffered, before standard output changes."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)
