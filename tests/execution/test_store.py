"""The store: whole results or none, and names that follow content."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from harness.execution import store as store_module
from harness.execution.plan import Piece
from harness.execution.store import MissingResults, Result, Store
from harness.hashing import fingerprint


def result(seed: int = 0) -> Result:
    return Result({"a": np.random.default_rng(seed).normal(size=(50, 3))}, {"n": seed})


def name(kind: str, number: int) -> str:
    """The key of a result whose record has this number as its description."""
    return fingerprint([kind, number, []])


def keep(store: Store, number: int = 0, kind: str = "train", one: Result | None = None) -> str:
    """Put a result under its name, which is returned."""
    one = one or result(number)
    store.put(kind, name(kind, number), Result(one.arrays, {**one.meta, "description": number, "needs": []}))
    return name(kind, number)


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path)
    results = store.get("train", keep(store))
    assert (results.arrays["a"] == result().arrays["a"]).all()
    assert results.meta == {"n": 0, "description": 0, "needs": []}
    assert results.digest == result().digest != result(1).digest


@pytest.mark.parametrize("count", [0, 10, 200, -5])
def test_a_damaged_file_counts_as_missing(tmp_path: Path, count: int) -> None:
    store = Store(tmp_path)
    key = keep(store)
    path = store.path("train", key)
    path.write_bytes(path.read_bytes()[:count])
    for read in (store.get, lambda kind, key: store.records(kind, [key])):
        with pytest.raises(MissingResults, match=f"train/{key}: cannot be read whole"):
            read("train", key)
    assert not store.has("train", key)


def test_no_changed_byte_is_read_as_something_else(tmp_path: Path) -> None:
    """At any place, by several values: what is read is what was written, or nothing. Names of arrays differ by a bit."""
    store, rng = Store(tmp_path), np.random.default_rng(0)
    key = keep(store, one=Result({"w0": np.arange(6.0).reshape(2, 3), "w1": np.arange(4)}, {"facts": 1}))
    path = store.path("train", key)
    whole, data = store.get("train", key), path.read_bytes()
    for place in range(len(data)):
        for flip in (1, 1 << int(rng.integers(1, 8)), int(rng.integers(1, 256))):
            path.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            after, record = store.peek("train", key), store_module.read_record(path)
            assert after is None or (after.digest, after.meta) == (whole.digest, whole.meta), (place, flip)
            assert record in (None, whole.meta), (place, flip)


@pytest.mark.parametrize("read", ["get", "records", "faults_of_records"])
def test_the_result_of_another_name_counts_as_missing(tmp_path: Path, read: str) -> None:
    store = Store(tmp_path)
    keys = [keep(store, number) for number in range(3)]
    store.records("train", keys)
    store.path("train", keys[0]).write_bytes(store.bytes("train", keys[1]))
    fault = ("train", keys[0], "its description belongs to another name")
    if read == "faults_of_records":
        assert store.faults_of_records("train", keys) == [fault]
        return
    with pytest.raises(MissingResults) as raised:
        store.get("train", keys[0]) if read == "get" else store.records("train", keys)
    assert raised.value.faults == [fault]
    assert store.get("train", keys[1]).meta["n"] == 1


def test_all_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keys = [keep(store, number) for number in range(4)]
    store.path("train", keys[1]).write_bytes(b"")
    store.remove("train", keys[2])
    with pytest.raises(MissingResults, match=r"cannot be read whole \(and 1 more like it\)") as raised:
        store.records("train", keys)
    assert [(key, fault) for _, key, fault in raised.value.faults] == [
        (keys[1], "cannot be read whole"),
        (keys[2], "is not in the store"),
    ]
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # from a worker process


def test_many_writers_of_one_result_leave_one_whole_file(tmp_path: Path) -> None:
    store, key = Store(tmp_path), name("train", 0)
    threads = [threading.Thread(target=keep, args=(store,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [p.name for p in store.path("train", key).parent.iterdir()] == [f"{key}.npz"]
    assert (store.get("train", key).arrays["a"] == result().arrays["a"]).all()


def test_an_unwritable_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        Store(tmp_path / "file").put("train", name("train", 0), result())
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


def test_records_of_many_results_come_from_an_index_that_follows_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read once from the files, then from the index; a replaced file is read anew, a missing one is an error."""
    store = Store(tmp_path)
    keys = [keep(store, i, one=Result({}, {"n": i})) for i in range(20)]
    assert {k: r["n"] for k, r in store.records("train", keys).items()} == {k: i for i, k in enumerate(keys)}
    assert "description" not in store.records("train", keys)[keys[0]]
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "read_record", lambda *_: pytest.fail("the index was not used"))
        assert store.records("train", keys)[keys[3]]["n"] == 3
    keep(store, 3, one=Result({}, {"n": 333}))
    assert store.records("train", keys)[keys[3]]["n"] == 333
    store._index_path("train").write_bytes(b"damaged")
    assert store.records("train", keys)[keys[3]]["n"] == 333
    store.remove("train", keys[4])
    with pytest.raises(MissingResults, match=keys[4]):
        store.records("train", keys)


def test_no_changed_byte_of_the_index_is_believed(tmp_path: Path) -> None:
    store, rng = Store(tmp_path), np.random.default_rng(1)
    keys = [keep(store, i, one=Result({}, {"metrics": {"tpr": [i / 7, 0.1, 100]}})) for i in range(5)]
    right = store.records("train", keys)
    path = store._index_path("train")
    data = path.read_bytes()
    for place in rng.integers(0, len(data), 200).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :])
        assert store.records("train", keys) == right
        assert path.read_bytes() == data  # and is whole again


def test_a_hundred_thousand_measurements_are_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 evaluations of 20 metrics each: once indexed, records are read without opening a file of results."""
    store = Store(tmp_path)
    metrics = {f"metric{i}": [i / 7, 0.1, 100] for i in range(20)}
    keys = [keep(store, i, "evaluate", Result({}, {"metrics": metrics})) for i in range(300)]
    store.records("evaluate", keys)
    monkeypatch.setattr(store_module, "read_record", lambda *_: pytest.fail("a file was opened"))
    results = store.records("evaluate", keys)
    assert sum(len(r["metrics"]) for r in results.values()) == 6000
    assert results[keys[7]]["metrics"] == metrics
