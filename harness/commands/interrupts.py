"""Ctrl-C: the first stops a command, and those that follow at once do not disturb how it stops."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

PATIENCE_S = 10.0
"""Seconds after a Ctrl-C in which another is ignored: workers are ended and tables are written meanwhile."""


@contextlib.contextmanager
def heed_one_interrupt() -> Iterator[Callable[[], bool]]:
    """Context manager: of several Ctrl-C within `PATIENCE_S`, the first alone raises KeyboardInterrupt. It yields a
    function that says whether there was one.

    It changes nothing outside of the main thread, or where Ctrl-C is ignored or handled otherwise.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    heeded_at: float | None = None

    def interrupt(_: int, __: FrameType | None) -> None:
        nonlocal heeded_at
        now = time.monotonic()
        if heeded_at is None or now - heeded_at >= PATIENCE_S:
            heeded_at = now
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: heeded_at is not None
    finally:
        # What Python does as it ends is not to be disturbed either.
        signal.signal(signal.SIGINT, signal.default_int_handler if heeded_at is None else signal.SIG_IGN)
