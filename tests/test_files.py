"""Atomic writes: the old content or the new, and no litter."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from harness.files import atomic_path, sha256_content, sha256_file, update_file, write_text


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


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o027, 0o640)])
def test_who_may_read_a_file_is_what_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    former = os.umask(umask)
    try:
        write_text(tmp_path / "folder" / "scores.csv", "one\n")
        write_text(tmp_path / "folder" / "scores.csv", "two\n")
    finally:
        os.umask(former)
    assert (tmp_path / "folder" / "scores.csv").stat().st_mode & 0o777 == mode
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~umask


def test_sha256_of_the_empty_file(tmp_path: Path) -> None:
    """Reference: the published SHA-256 of no bytes."""
    (tmp_path / "x").write_bytes(b"")
    assert sha256_file(tmp_path / "x") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_line_ends_do_not_count_in_the_hash_of_text(tmp_path: Path) -> None:
    texts = {name: tmp_path / name for name in ("lf", "crlf", "binary", "binary-crlf")}
    for name, content in (("lf", b"a\nb\n"), ("crlf", b"a\r\nb\r\n"), ("binary", b"\0\n"), ("binary-crlf", b"\0\r\n")):
        texts[name].write_bytes(content)
    assert sha256_content(texts["lf"]) == sha256_content(texts["crlf"]) == sha256_file(texts["lf"])
    assert sha256_content(texts["binary"]) == sha256_file(texts["binary"])
    assert sha256_content(texts["binary-crlf"]) == sha256_file(texts["binary-crlf"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk here is always full")
def test_a_disk_that_is_full_names_the_file_that_was_to_be(tmp_path: Path) -> None:
    target = tmp_path / "table.txt"
    full = Path("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised, atomic_path(target), full.open("wb", 0) as disk:
        disk.write(b"x")
    assert raised.value.filename == str(target)
    assert pickle.loads(pickle.dumps(raised.value)).filename == str(target)  # of a worker
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_begun_is_called_by_its_name(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250)
    with pytest.raises(OSError, match="File name too long") as raised:
        write_text(target, "")
    assert raised.value.filename == str(target)
