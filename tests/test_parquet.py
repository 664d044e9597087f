"""Parquet files whose footers say less than is there, and what pages say of themselves."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.bounds import DATA_CELLS, TooLarge
from harness.data.dataset import DATASETS
from harness.data.datasets.privacytrustlab import LabelledBits
from harness.parquet import OF_DATA_SETS, check_parquet, read_parquet
from harness.parquet_pages import count_pages


def varint(number: int, length: int = 0) -> bytes:
    """A whole number as Thrift writes it, in so many bytes at least."""
    written = b""
    number <<= 1
    while number > 0x7F or len(written) < length - 1:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])


def lie(path: Path, true: int, claimed: int) -> None:
    """Have a file's footer say another number wherever it says this one."""
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    footer, old = data[-8 - length : -8], varint(true)
    assert old in footer
    path.write_bytes(data[: -8 - length] + footer.replace(old, varint(claimed, len(old))) + data[-8:])


def large_text(path: Path) -> int:
    """Write a column whose dictionary is 40 MB, in some kB. Returns what its footer says of that."""
    table = pa.table({"arm": ["x" * 20_000_000 + end for end in "ab"]})
    pq.write_table(table, path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 10_000
    return int(pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size)


def test_a_footer_that_understates_what_pages_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MAX_TABLE_BYTES", "10000000")
    path = tmp_path / "x.parquet"
    lie(path, large_text(path), 1000)
    assert pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1000
    with pytest.raises(TooLarge, match=r"40,000,0.. bytes once it is unpacked, more than 10,000,000"):
        check_parquet(path)


def test_a_footer_that_understates_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows stands in it twice: readers go by the row groups."""
    monkeypatch.setenv("HARNESS_MAX_TABLE_CELLS", "100000")
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.zeros(3_000_001)}), path, row_group_size=3_000_000, write_statistics=False)
    lie(path, 3_000_001, 1)
    assert pq.read_metadata(path).num_rows == 1
    with pytest.raises(TooLarge, match=r"3,000,001 cells \(rows x columns\)"):
        check_parquet(path)


def test_a_list_has_as_many_values_as_its_pages_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MAX_TABLE_CELLS", "100000")
    path = tmp_path / "x.parquet"
    lists = pa.ListArray.from_arrays([0, 1_000_000], pa.array(np.zeros(1_000_000, np.int8)))
    pq.write_table(pa.table({"a": lists}), path, write_statistics=False)
    lie(path, 1_000_000, 1)
    with pytest.raises(TooLarge, match="1,000,000 cells in all columns"):
        check_parquet(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"version": "1.0"},
        {"data_page_version": "2.0"},
        {"compression": "gzip"},
        {"compression": "none", "use_dictionary": False},
        {"row_group_size": 100},
        {"compression": "brotli", "data_page_size": 100, "write_batch_size": 10},
        {"write_page_index": True, "write_page_checksum": True},
    ],
)
def test_pages_of_an_honest_file_are_those_that_its_footer_counts(options: dict[str, object], tmp_path: Path) -> None:
    rows = 3000
    table = pa.table(
        {
            "whole": np.arange(rows),
            "text": [f"x{i % 7}" for i in range(rows)],
            "other": [f"{i} of many" for i in range(rows)],
            "none": [None] * rows,
            "list": [[i, 1] for i in range(rows)],
        }
    )
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, **options)
    check_parquet(path)
    footer = pq.read_metadata(path)
    with path.open("rb") as stream:
        for group in range(footer.num_row_groups):
            for one in (footer.row_group(group).column(n) for n in range(footer.num_columns)):
                begin = one.dictionary_page_offset or one.data_page_offset
                pages = count_pages(stream, begin, begin + one.total_compressed_size)
                assert pages.values == one.num_values
                assert 0 <= one.total_uncompressed_size - pages.bytes < 100 * rows  # its headers count there
    assert len(read_parquet(path)) == rows


def test_damaged_pages_end_in_errors_that_readers_know(tmp_path: Path) -> None:
    """Bytes of headers that are changed at random: the table, or an error that readers of tables know."""
    draw = np.random.default_rng(0)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(50), "b": ["x", "y"] * 25}), path)
    whole = path.read_bytes()
    for _ in range(300):
        changed = bytearray(whole)
        for at in draw.integers(4, len(whole) - 8, 3):
            changed[at] = draw.integers(256)
        path.write_bytes(bytes(changed))
        try:
            check_parquet(path)
        except (TooLarge, OSError, ValueError, pa.ArrowException):
            continue


def test_tables_of_known_data_sets_are_within_their_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images and bits have more cells than a table of one's own may have."""
    sets = [one for one in dict(DATASETS).values() if issubclass(one, LabelledBits)]
    assert max(one.rows * (one.features + 1) for one in sets) < DATA_CELLS.default
    assert any(one.rows * (one.features + 1) > 100_000_000 for one in sets)
    assert DATA_CELLS.default > 60_000 * (32 * 32 * 3 + 1), "CIFAR"
    monkeypatch.setenv("HARNESS_MAX_TABLE_CELLS", "1")
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "x.parquet")
    assert len(read_parquet(tmp_path / "x.parquet", OF_DATA_SETS)) == 2
    with pytest.raises(TooLarge):
        read_parquet(tmp_path / "x.parquet")
