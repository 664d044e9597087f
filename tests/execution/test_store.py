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
    results = store.get("train", "ab12")
    assert (results.arrays["a"] == result().arrays["a"]).all()
    assert results.meta == {"n": 0}
    assert results.digest == result().digest != result(1).digest


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
        Piece("train", {"x": 1}, (split,)).key,
        Piece("train", {"x": 1}, (other,)).key,
        Piece("train", {"x": 2}, (split,)).key,
        Piece("fit", {"x": 1}, (split,)).key,
    }
    assert len(keys) == 4
    assert Piece("train", {"x": 1}, (split,), cost=9.0) == Piece("train", {"x": 1}, (Piece("split", {"seed": 1}),))


def test_records_of_many_results_come_from_an_index_that_follows_the_files(tmp_path: Path) -> None:
    """Read once from the files, then from the index; a replaced file is read anew, a missing one is an error."""
    store = Store(tmp_path)
    keys = [f"{i:02x}key" for i in range(20)]
    for i, key in enumerate(keys):
        store.put("train", key, Result({}, {"n": i, "description": {"long": "x" * 1000}}))
    assert {k: r["n"] for k, r in store.records("train", keys).items()} == {k: i for i, k in enumerate(keys)}
    assert "description" not in store.records("train", keys)[keys[0]]
    store.meta = lambda *_: pytest.fail("the index was not used")  # type: ignore[method-assign,assignment]
    assert store.records("train", keys)[keys[3]]["n"] == 3
    other = Store(tmp_path)
    other.put("train", keys[3], Result({}, {"n": 333}))
    assert other.records("train", keys)[keys[3]]["n"] == 333
    other._index_path("train").write_bytes(b"damaged")
    assert other.records("train", keys)[keys[3]]["n"] == 333
    other.remove("train", keys[4])
    with pytest.raises(KeyError, match=keys[4]):
        other.records("train", keys)


def test_a_hundred_thousand_measurements_are_one_read(tmp_path: Path) -> None:
    """5,000 evaluations of 20 metrics each: once indexed, records are read without opening a file of results."""
    store = Store(tmp_path)
    metrics = {f"metric{i}": [i / 7, 0.1, 100] for i in range(20)}
    keys = [f"{i % 256:02x}{i}" for i in range(300)]
    for key in keys:
        store.put("evaluate", key, Result({}, {"metrics": metrics}))
    store.records("evaluate", keys)
    store.meta = lambda *_: pytest.fail("a file was opened")  # type: ignore[method-assign,assignment]
    results = store.records("evaluate", keys)
    assert sum(len(r["metrics"]) for r in results.values()) == 6000
    assert results[keys[7]]["metrics"] == metrics
