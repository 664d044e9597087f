"""Ctrl-C, once and again."""

from __future__ import annotations

import os
import signal

import pytest

from harness.commands import interrupts
from harness.commands.interrupts import heed_one_interrupt


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
