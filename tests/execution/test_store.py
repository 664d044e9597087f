"""The store: whole results or none, and names that follow content."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from harness.execution.plan import Piece
from harness.execution.store import Result, Store


def result(seed: int = 0) -> Result:
    return Result({"a": np.random.default_rng(seed).normal(size=(50, 3))}, {"n": seed})


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("train", "ab12", result())
    found = store.get("train", "ab12")
    assert (found.arrays["a"] == result().arrays["a"]).all()
    assert found.meta == {"n": 0}
    assert found.digest == result().digest != result(1).digest


@pytest.mark.parametrize("keep", [0, 10, 200, -5])
def test_a_damaged_file_counts_as_missing_and_is_removed(tmp_path: Path, keep: int) -> None:
    store = Store(tmp_path)
    store.put("train", "ab12", result())
    path = store.path("train", "ab12")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(KeyError):
        store.get("train", "ab12")
    assert not store.has("train", "ab12")


def test_flipped_bytes_are_noticed(tmp_path: Path) -> None:
    """Every member carries a CRC; a flipped byte in the data is found on reading."""
    store = Store(tmp_path)
    store.put("train", "ab12", result())
    path = store.path("train", "ab12")
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(KeyError):
        store.get("train", "ab12")


def test_many_writers_of_one_result_leave_one_whole_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    threads = [threading.Thread(target=store.put, args=("train", "ab12", result())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [p.name for p in store.path("train", "ab12").parent.iterdir()] == ["ab12.npz"]
    assert (store.get("train", "ab12").arrays["a"] == result().arrays["a"]).all()


def test_an_unwritable_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        Store(tmp_path / "file").put("train", "ab12", result())
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_piece_is_named_by_all_it_stands_on() -> None:
    split = Piece("split", {"seed": 1})
    other = Piece("split", {"seed": 2})
    keys = {
        Piece("train", {"x": 1}, (split,)).key, Piece("train", {"x": 1}, (other,)).key,
        Piece("train", {"x": 2}, (split,)).key, Piece("fit", {"x": 1}, (split,)).key,
    }  # fmt: skip
    assert len(keys) == 4
    assert Piece("train", {"x": 1}, (split,), cost=9.0) == Piece("train", {"x": 1}, (Piece("split", {"seed": 1}),))
