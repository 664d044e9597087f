"""Atomic writes: the old content or the new, and no litter."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import atomic_path, sha256_file, update_file, write_text


def test_failure_keeps_the_old_file_and_leaves_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "table.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError, match="boom"), atomic_path(target) as temporary:
        temporary.write_text("half of the ne")
        raise RuntimeError("boom")
    assert target.read_text() == "old"
    assert [p.name for p in target.parent.iterdir()] == ["table.txt"]


def test_a_file_that_holds_the_same_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "page.html"
    update_file(target, b"one")
    first = target.stat().st_ino
    update_file(target, b"one")
    assert target.stat().st_ino == first
    update_file(target, b"two")
    assert target.read_bytes() == b"two"
    assert target.stat().st_ino != first
    assert [p.name for p in target.parent.iterdir()] == ["page.html"]


def test_sha256_of_the_empty_file(tmp_path: Path) -> None:
    """Reference: the published SHA-256 of no bytes."""
    (tmp_path / "x").write_bytes(b"")
    assert sha256_file(tmp_path / "x") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
