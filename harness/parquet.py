"""How large a Parquet file is in memory, told before it is read: small files may hold huge tables.

Its footer says how many rows there are, and the headers of its pages what they unpack to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.bounds import DATA_CELLS, TABLE_BYTES, TABLE_CELLS, UNPACKED_BYTES, Bound, check_file, open_file
from harness.parquet_pages import Pages, count_pages

TEXT = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
"""Physical types whose values have lengths of their own."""
BIG = 100_000_000
"""Bytes of texts from which on they are counted one by one."""


@dataclass(frozen=True)
class TableBounds:
    """How large a table may be."""

    bytes: Bound
    """Also of the file itself."""
    cells: Bound


OF_TABLES = TableBounds(TABLE_BYTES, TABLE_CELLS)
OF_DATA_SETS = TableBounds(UNPACKED_BYTES, DATA_CELLS)
"""Of what archives of data sets become: images have thousands of columns."""


def check_parquet(path: Path, name: str | None = None, bounds: TableBounds = OF_TABLES) -> None:
    """Compare a Parquet file, which messages call `name`, with the bounds of tables.

    Raises TooLarge for one above them, NotAFile for what is no regular file, OSError where there is none, and
    ArrowException or ValueError for a footer that is damaged.
    """
    where = name or str(path)
    check_file(path, bounds.bytes, name)
    with open_file(path, name) as stream:
        _check_footer(stream, pq.read_metadata(stream), where, bounds)


def read_parquet(path: Path, bounds: TableBounds = OF_TABLES) -> pd.DataFrame:
    """The table in a Parquet file. Raises as `check_parquet`."""
    check_parquet(path, bounds=bounds)
    return pd.read_parquet(path)


def _check_footer(stream: BinaryIO, footer: pq.FileMetaData, where: str, bounds: TableBounds) -> None:
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    rows = max(footer.num_rows, sum(group.num_rows for group in groups))  # a reader goes by the latter
    bounds.cells.check(rows * footer.num_columns, where, " (rows x columns)")
    total, texts = Pages(), list[str]()
    for column in range(footer.num_columns):
        dense, largest, repeat_beginnings = 0, 0, False
        for group in groups:
            chunk = group.column(column)
            pages = _pages_of(stream, chunk)
            total.bytes += pages.bytes
            total.values += pages.values
            # A value may stand once, in a dictionary, and many times in the table.
            dense += pages.values * pages.bytes if chunk.physical_type in TEXT else 0
            largest = max(largest, pages.largest)
            repeat_beginnings |= pages.repeat_beginnings
        if dense > bounds.bytes.limit // footer.num_columns:
            if repeat_beginnings:
                _check_repeated_beginnings(stream, footer, column, largest, where, bounds.bytes)
            else:
                texts.append(footer.schema.column(column).path.partition(".")[0])
    bounds.cells.check(total.values, where, " in all columns")
    bounds.bytes.check(total.bytes, where, " once it is unpacked")
    if texts:
        bounds.bytes.check(_most_bytes_of_texts(stream, footer, texts), where, " of text once it is unpacked")


def _pages_of(stream: BinaryIO, chunk: pq.ColumnChunkMetaData) -> Pages:
    """What a column in a row group comes to, by its pages; the footer may say less, or more."""
    begin = min(offset for offset in (chunk.data_page_offset, chunk.dictionary_page_offset or 0) if offset > 0)
    pages = count_pages(stream, begin, begin + chunk.total_compressed_size)
    size = max(pages.bytes, chunk.total_uncompressed_size)
    return replace(pages, bytes=size, values=max(pages.values, chunk.num_values))


def _check_repeated_beginnings(
    stream: BinaryIO, footer: pq.FileMetaData, column: int, largest: int, where: str, bound: Bound
) -> None:
    """Raise TooLarge where texts, each of which takes its beginning from the one before it, come to more than a bound.

    They are read a few rows at a time: no text is longer than its page, so that these rows are within the bound.
    Lists of texts are refused unread, since a row of them may hold any number.
    """
    if footer.schema.column(column).max_repetition_level:
        bound.refuse(where, "may have in lists of texts, which only reading them would tell,")
    name = footer.schema.column(column).path.partition(".")[0]
    rows = min(max(bound.limit // max(largest, 1), 1), 1 << 16)
    total = 0
    for batch in pq.ParquetFile(stream, metadata=footer).iter_batches(rows, columns=[name], use_threads=False):
        total += batch.nbytes
        if total > bound.limit:
            bound.refuse(where, "has in its texts, once it is unpacked,")


def _most_bytes_of_texts(stream: BinaryIO, footer: pq.FileMetaData, columns: Sequence[str]) -> int:
    """What the texts of some columns come to at most, by the longest value of each dictionary."""
    names = [*dict.fromkeys(columns)]
    table = pq.ParquetFile(stream, metadata=footer, read_dictionary=names).read(columns=names)
    total = 0
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        if isinstance(chunk, pa.DictionaryArray):
            longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
            bytes_at_most = longest * len(chunk)
            total += bytes_at_most if bytes_at_most < BIG else _bytes_of_texts(chunk)
        else:
            total += chunk.nbytes
    return total


def _bytes_of_texts(chunk: pa.DictionaryArray) -> int:
    """What texts come to that a dictionary holds once."""
    lengths = pc.binary_length(chunk.dictionary).cast("int64")
    return int(pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0)
