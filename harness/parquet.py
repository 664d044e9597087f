"""How large a Parquet file is in memory, told by its footer before it is read: small files may hold huge tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.bounds import TABLE_BYTES, TABLE_CELLS, check_file, open_file

TEXT = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
"""Physical types whose values have lengths of their own."""
BIG = 100_000_000
"""Bytes of texts from which on they are counted one by one."""


def check_parquet(path: Path, name: str | None = None) -> None:
    """Compare a Parquet file, which messages call `name`, with the bounds of tables.

    Raises TooLarge for one above them, NotAFile for what is no regular file, OSError where there is none, and
    ArrowException or ValueError for a footer that is damaged.
    """
    where = name or str(path)
    check_file(path, TABLE_BYTES, name)
    with open_file(path, name) as stream:
        _check_footer(stream, pq.read_metadata(stream), where)


def _check_footer(stream: BinaryIO, footer: pq.FileMetaData, where: str) -> None:
    TABLE_CELLS.check(footer.num_rows * footer.num_columns, where, " (rows x columns)")
    unpacked, texts = 0, list[str]()
    for column in range(footer.num_columns):
        dense = 0
        for group in range(footer.num_row_groups):
            chunk = footer.row_group(group).column(column)
            unpacked += chunk.total_uncompressed_size
            # A value may stand once, in a dictionary, and many times in the table.
            dense += chunk.num_values * chunk.total_uncompressed_size if chunk.physical_type in TEXT else 0
        if dense > TABLE_BYTES.limit // footer.num_columns:
            texts.append(footer.schema.column(column).path.partition(".")[0])
    TABLE_BYTES.check(unpacked, where, " once it is unpacked")
    if texts:
        TABLE_BYTES.check(_most_bytes_of_texts(stream, footer, texts), where, " of text once it is unpacked")


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
