"""Parquet files whose footers say less than is there, and what pages say of themselves."""

from __future__ import annotations

import struct
from collections.abc import Iterator
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


def growing_texts(path: Path, rows: int, **options: object) -> int:
    """Write texts each of which is the one before it and a letter. Returns the bytes that they come to."""
    table = pa.table({"arm": ["x" * row for row in range(rows)]})
    pq.write_table(table, path, use_dictionary=False, column_encoding={"arm": "DELTA_BYTE_ARRAY"}, **options)
    return rows * (rows - 1) // 2


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_that_repeat_their_beginnings_are_counted_at_full_length(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_MAX_TABLE_BYTES", "30000000")
    path = tmp_path / "x.parquet"
    options = {"write_statistics": False, "data_page_version": version}
    assert growing_texts(path, 7000, **options) < 30_000_000  # bytes of text, to which offsets come
    assert len(read_parquet(path)) == 7000
    assert growing_texts(path, 8000, **options) > 30_000_000
    assert path.stat().st_size < 100_000
    with pytest.raises(TooLarge, match="has in its texts, once it is unpacked, more than 30,000,000 bytes"):
        check_parquet(path)


def test_no_more_of_texts_that_repeat_their_beginnings_is_read_than_their_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_MAX_TABLE_BYTES", "3000000")
    path = tmp_path / "x.parquet"
    long = pa.table({"arm": ["x" * 1_000_000 + str(row) for row in range(100)]})
    pq.write_table(
        long, path, use_dictionary=False, column_encoding={"arm": "DELTA_BYTE_ARRAY"}, write_statistics=False
    )
    rows, read = list[int](), pq.ParquetFile.iter_batches

    def counted(*arguments: object, **options: object) -> Iterator[pa.RecordBatch]:
        for batch in read(*arguments, **options):
            rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    with pytest.raises(TooLarge, match="3,000,000 bytes"):
        check_parquet(path)
    assert max(rows) <= 3
    assert sum(rows) <= 6


def test_lists_of_texts_that_repeat_their_beginnings_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_MAX_TABLE_BYTES", "1000000")
    path = tmp_path / "x.parquet"
    lists = pa.table({"arm": [["x" * row for row in range(3000)]]})
    pq.write_table(lists, path, use_dictionary=False, column_encoding={"arm.list.element": "DELTA_BYTE_ARRAY"})
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(TooLarge, match="may have in lists of texts"):
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
