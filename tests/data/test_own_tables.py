"""Tables of a user's own: what each file may be, and the numbers or the line that come of it."""

from __future__ import annotations

import codecs
import gzip
import math
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.data.datasets.csv_table import CsvTable, OwnTable
from harness.data.encoding import Encoded, Preprocessing, encode
from harness.data.fetch import read_table
from harness.data.inspection import inspect
from harness.data.steps import Step
from harness.errors import HarnessError
from harness.paths import Project

NFC, NFD = "Zürich", unicodedata.normalize("NFD", "Zürich")
SCALINGS = ("none", "min-max", "standard", "unit-norm")


def written(folder: Path, content: bytes | str) -> Path:
    (folder / "own.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(folder: Path, content: bytes | str, **fields: Any) -> OwnTable:
    return CsvTable.model_validate({"path": "own.csv", "label": "y", **fields}).read(written(folder, content))


def encoded(folder: Path, content: bytes | str, how: Preprocessing, **fields: Any) -> tuple[Encoded, tuple[Step, ...]]:
    """What a run has before it trains, and all that was done on the way."""
    dataset = CsvTable.model_validate({"path": "own.csv", "label": "y", **fields})
    table = read_table(Project(written(folder, content)), dataset)
    rows, features, steps = inspect(table.frame, dataset.schema_of_table(), how, (), table.place)
    result = encode(table.frame, dataset.schema_of_table(), how)
    assert result.features.shape == (rows, features)
    return result, (*table.steps, *steps)


def rows(column: Callable[[int], object], count: int = 300, name: str = "x") -> str:
    """A table of one feature, a label of 0 and 1, and a further column."""
    return f"{name},z,y\n" + "".join(f"{column(i)},{i % 7},{i % 2}\n" for i in range(count))


def one_off(value: str, count: int = 300, at: int = 99) -> str:
    return rows(lambda i: value if i == at else i * 0.5, count)


MARKERS = 'write `missing: ["", "?", NA, N/A, unknown]`'
REFUSED: dict[str, tuple[bytes | str | None, dict[str, Any], str]] = {
    # files
    "no file": (None, {}, "own.csv: no such file (dataset csv, field path)"),
    "empty": ("", {}, "own.csv: not readable as CSV: the file is empty"),
    "blank": (" \n\n", {}, "own.csv: not readable as CSV: the file is empty"),
    "mark alone": (codecs.BOM_UTF8, {}, "the file is empty"),
    "header only": ("x,y\n", {}, "own.csv: a header and no row below it"),
    "spreadsheet": (b"PK\x03\x04rest", {}, "own.csv: a zip archive or a spreadsheet; export the sheet as CSV"),
    "parquet": (b"PAR1rest", {}, "own.csv: a Parquet file; write it as CSV"),
    "damaged gzip": (gzip.compress(b"x,y\n1,a\n2,b\n")[:-9], {}, "own.csv: not readable, its compression is damaged"),
    # encodings
    "utf-16": (
        "x,y\n1,ä\n2,b\n".encode("utf-16"),
        {},
        "own.csv: the text is UTF-16; write `encoding: utf-16`",
    ),
    "utf-16 without mark": ("x,y\n1,a\n2,b\n".encode("utf-16-le"), {}, "write `encoding: utf-16-le`"),
    "utf-16 big-endian": ("x,y\n1,a\n2,b\n".encode("utf-16-be"), {}, "write `encoding: utf-16-be`"),
    "windows-1252": (
        "x,y\n1,a\n2,Zürich\n".encode("cp1252"),
        {},
        "own.csv:3: the byte 0xFC is not utf-8; write `encoding: windows-1252` if '2,Zürich' is how it should read",
    ),
    "latin-1": (b"x,y\n1,a\n2,\x81b\n", {}, "write `encoding: latin-1`"),
    "utf-8 said to be ascii": (
        "x,y\n1,ä\n2,b\n",
        {"encoding": "ascii"},
        "own.csv:2: the byte 0xC3 is not ascii; write `encoding: utf-8`",
    ),
    "utf-8 mark, other encoding": (
        codecs.BOM_UTF8 + b"x,y\n1,a\n2,b\n",
        {"encoding": "cp1252"},
        "leave `encoding: cp1252` out",
    ),
    "half of utf-16": ("x,y\n1,a\n2,b\n".encode("utf-16")[:-1], {"encoding": "utf-16"}, "own.csv:"),
    "NUL": (b"x,y\n1,a\n2,\x00b\n", {}, "own.csv:3: a NUL byte"),
    # form
    "semicolons": (
        "x;y\n1;a\n2;b\n",
        {},
        "own.csv: one column alone; it looks separated by ';': write `separator: ';'`",
    ),
    "tabs": ("x\ty\n1\ta\n2\tb\n", {}, 'write `separator: "\\t"`'),
    "bars": ("x|y\n1|a\n", {}, "write `separator: '|'`"),
    "commas after all": ("x,y\n1,a\n2,b\n", {"separator": ";"}, "write `separator: ','`"),
    "decimal commas, semicolons": (
        "a;b,c;y\n1;2,5;a\n2;3,5;b\n",
        {},
        "it looks separated by ';': write `separator: ';'`",
    ),
    "short row": (
        "x,z,y\n1,2,a\n2,b\n",
        {},
        "own.csv:3: 2 cells where the header names 3 columns; each row needs a cell",
    ),
    "long row": ("x,y\n1,a\n2,b,c\n3,d\n", {}, "own.csv:3: 3 cells where the header names 2 columns; quote a cell"),
    "comment": (
        "x,y\n1,a\n# done\n2,b\n",
        {},
        "own.csv:3: 1 cell where the header names 2 columns; CSV has no comments",
    ),
    "comment first": ("# mine\nx,y\n1,a\n2,b\n", {}, "own.csv:1: begins with '#'; CSV has no comments"),
    "row names": (
        "x,y\nr1,1,a\nr2,2,b\n",
        {},
        "own.csv: every row has 3 cells and the header names 2 columns; name the first",
    ),
    "last separators": ("x,y\n1,a,\n2,b,\n", {}, "every row ends with a separator"),
    "open quote": (
        'x,y\n1,a\n2,"b\n3,a\n',
        {},
        "own.csv:3: not readable as CSV: a quote is opened in this row and never closed",
    ),
    "quote inside": ('x,y\n1,"a"b\n2,b\n', {}, "own.csv:2: not readable as CSV: after the closing quote"),
    "very long cell": (
        'x,y\n1,a\n2,"' + "b" * 200_000 + '"\n',
        {},
        "own.csv:3: not readable as CSV: a cell has more than 131,072",
    ),
    "same names": ("x,x,y\n1,2,a\n2,3,b\n", {}, "own.csv: columns 1 and 2 are all called 'x'; name them apart"),
    "same names but for spaces": ("x, x,y\n1,2,a\n2,3,b\n", {}, "columns 1 and 2 are all called 'x'"),
    "index": (
        ",x,y\n0,1,a\n1,2,b\n",
        {},
        'own.csv: column 1 has no name, its cells begin 0, 1; name it, or write `ignore: [""]`',
    ),
    "no header": ("1,2,3\n4,5,6\n7,8,9\n", {}, "the first line has to name the columns"),
    # columns that are asked for
    "no label": ("a,b\n1,2\n3,4\n", {}, "no column 'y' (field label); it has: a, b"),
    "no category": ("a,y\n1,2\n3,4\n", {"categorical": ("z",)}, "no column 'z' (field categorical)"),
    "no ignored": ("a,y\n1,2\n3,4\n", {"ignore": ("z",)}, "no column 'z' (field ignore)"),
    "only a label": ("a,y\n1,2\n3,4\n", {"ignore": ("a",)}, "no column is left beside the label 'y'"),
    # labels
    "label missing": (
        "a,y\n1,1\n2,?\n",
        {},
        "own.csv:3: the label 'y' is missing ('?' is one of the markers in `missing`)",
    ),
    "label empty": ("a,y\n1,1\n2,\n", {}, "own.csv:3: the label 'y' is missing; every row needs one"),
    "label equal to a marker": (
        "a,y\n1,1\n2,-9.0\n",
        {"missing": ("-9",)},
        "own.csv:3: the label 'y' is missing ('-9.0' is",
    ),
    "one class": ("a,y\n1,1\n2,1\n", {}, "the label 'y' has one value only, '1'"),
    "label of prices": (
        "z,y\n" + "".join(f"{i % 5},{i * 0.25}\n" for i in range(300)),
        {},
        "own.csv: the label 'y' has 300 different values in 300 rows (such as '0.0'), more than max_levels (100); choose "
        "another label, or write `max_levels: 300` if each is to be a class",
    ),
    # cells
    "infinite": (
        one_off("inf"),
        {},
        "own.csv:101: column 'x' is 'inf', which is not finite; correct it, or write `missing: ",
    ),
    "minus infinity": (one_off("-Infinity"), {}, "own.csv:101: column 'x' is '-Infinity', which is not finite"),
    "1e400": (one_off("1e400"), {}, "own.csv:101: column 'x' is '1e400', which is too large for a number of 64 bits"),
    "unknown": (
        one_off("unknown"),
        {},
        f"own.csv:101: column 'x' is 'unknown', which is no number as 299 of its 300 cells are; {MARKERS} if it stands "
        "for a missing value, or write `categorical: [x]`",
    ),
    "nan": (
        one_off("nan"),
        {},
        "own.csv:101: column 'x' is 'nan', which is no number as 299 of its 300 cells are; write `missing: ",
    ),
    "null": (one_off("NULL"), {}, "column 'x' is 'NULL', which is no number"),
    "two words": (
        rows(lambda i: {5: "low", 9: "high"}.get(i, i)),
        {},
        "own.csv:7: column 'x' is 'low', which is no number as 298 of its 300 cells are, nor is 1 other value; write",
    ),
    "half words": ("x,y\n1,a\nw,b\n", {}, "own.csv:3: column 'x' is 'w', which is no number as 1 of its 2 cells are"),
    "codes with an X late": (rows(lambda i: "X" if i == 290 else f"0{i % 5}"), {}, "own.csv:292: column 'x' is 'X'"),
    "codes with an X very late": (
        rows(lambda i: "X" if i == 199_990 else f"0{i % 5}", 200_000),
        {},
        "own.csv:199992: column 'x' is 'X'",
    ),
    "decimal commas": (
        rows(lambda i: f'"{i},5"'),
        {},
        "own.csv:2: column 'x' is '0,5', with a decimal comma; write a point",
    ),
    "thousands": (
        rows(lambda i: '"1,234"' if i % 2 else "99"),
        {},
        "own.csv:3: column 'x' is '1,234', a number with a comma",
    ),
    "thousands in spaces": (
        rows(lambda i: "1 234" if i % 2 else "99"),
        {},
        "is '1 234', a number with a comma or spaces in it",
    ),
    "true, false and 2": (
        rows(lambda i: ("true", "false", "2", "3")[i % 4]),
        {},
        "column 'x' is 'true', which is no number",
    ),
    "underscores": (one_off("1_000"), {}, "own.csv:101: column 'x' is '1_000', which is no number"),
    "hexadecimal": (one_off("0x1F"), {}, "own.csv:101: column 'x' is '0x1F', which is no number"),
    "other digits": (one_off("٣"), {}, "own.csv:101: column 'x' is '٣', which is no number"),
    "a value of two lines": (one_off('"un\nknown"'), {}, "own.csv:101: column 'x' is 'un\\nknown', which is no number"),
    # levels
    "dates": (
        rows(lambda i: f"2020-{i % 12 + 1:02}-{i % 28 + 1:02} {i}"),
        {},
        "own.csv: column 'x' has 300 different values in 300 rows (such as '2020-01-01 0'), nearly unique as identifiers, "
        "dates and addresses are, more than max_levels (100); write `ignore: [x]`, or `max_levels: 300`",
    ),
    "dates as ISO 8601 has them": (
        rows(lambda i: f"{1990 + i // 12}-{i % 12 + 1:02}-01"),
        {},
        "(such as '1990-01-01'), nearly unique as identifiers, dates and addresses are, more than max_levels (100); write "
        "`dates: [x]` to take them as numbers of days, `ignore: [x]`, or `max_levels: 300`",
    ),
    "a date that is none": (
        rows(lambda i: "31.1.2024" if i == 7 else "2024-01-31"),
        {"dates": ("x",)},
        "own.csv:9: column 'x': found '31.1.2024'; a date is needed, such as 2024-01-31 (field dates)",
    ),
    "a day that is none": (
        rows(lambda i: "2023-02-29" if i == 7 else "2024-02-29"),
        {"dates": ("x",)},
        "own.csv:9: column 'x': found '2023-02-29'; a date is needed, such as 2024-01-31 (field dates)",
    ),
    "dates of no column": (rows(lambda i: "2024-01-31"), {"dates": ("w",)}, "no column 'w' (field dates)"),
    "addresses": (
        rows(lambda i: f"p{i}@example.org", 20_000),
        {},
        "column 'x' has 20,000 different values in 20,000 rows",
    ),
    "many codes": (
        rows(lambda i: f"c{i % 120}"),
        {},
        "column 'x' has 120 different values in 300 rows (such as 'c0'), more than",
    ),
    "declared codes": (rows(lambda i: i), {"categorical": ("x",)}, "column 'x' has 300 different values"),
    "a name to quote": (rows(lambda i: f"p{i}", name="e: mail"), {}, 'write `ignore: ["e: mail"]`'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    content, fields, line = REFUSED[case]
    if content is not None:
        written(tmp_path, content)
    with pytest.raises(HarnessError) as caught:
        encoded_there(tmp_path, Preprocessing(), **fields)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def encoded_there(folder: Path, how: Preprocessing, **fields: Any) -> Encoded:
    dataset = CsvTable.model_validate({"path": "own.csv", "label": "y", **fields})
    return encode(read_table(Project(folder), dataset).frame, dataset.schema_of_table(), how)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"^own.csv: a folder, not a file \(dataset csv, field path\)$"):
        (tmp_path / "own.csv").mkdir()
        encoded_there(tmp_path, Preprocessing())


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"separator": '"'}, "cannot separate fields"),
        ({"separator": "\n"}, "cannot separate fields"),
        ({"separator": ";;"}, "at most 1 character"),
        ({"encoding": "klingon"}, "'klingon' is no encoding of text; such as utf-8"),
        ({"encoding": "rot13"}, "'rot13' is no encoding of text"),
        ({"max_levels": 1}, "greater than or equal to 2"),
        ({"ignore": ("y",)}, "ignore: 'y' is the label; take it out of one of them"),
        ({"ignore": ("x",), "categorical": ("x",)}, "ignore: 'x' is in categorical too"),
        ({"dates": ("y",)}, "dates: 'y' is the label; take it out of one of them"),
        ({"dates": ("x",), "categorical": ("x",)}, "dates: 'x' is in categorical too"),
        ({"dates": ("x",), "ignore": ("x",)}, "ignore: 'x' is in dates too"),
    ],
)
def test_fields_that_cannot_be(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line.replace("(", r"\(")):
        CsvTable.model_validate({"path": "own.csv", "label": "y", **fields})


TWO = "x,c,y\n1.5,a,no\n2.5,b,yes\n"
READ: dict[str, tuple[bytes | str, dict[str, Any], dict[str, list[Any]], list[Step]]] = {
    # what it is, the file, fields, columns as they are read, steps
    "plain": (TWO, {}, {"x": [1.5, 2.5], "c": ["a", "b"], "y": ["no", "yes"]}, []),
    "mark of UTF-8": (codecs.BOM_UTF8 + TWO.encode(), {}, {"x": [1.5, 2.5]}, []),
    "utf-16": (TWO.encode("utf-16"), {"encoding": "utf-16"}, {"c": ["a", "b"]}, []),
    "windows-1252": ("c,y\nä,1\nb,2\n".encode("cp1252"), {"encoding": "windows-1252"}, {"c": ["ä", "b"]}, []),
    "not windows-1252": (
        "c,y\nä,1\nb,2\n", {"encoding": "windows-1252"}, {"c": ["Ã¤", "b"]}, [Step("doubtful encoding", detail="windows-1252")],
    ),
    "carriage returns": (TWO.replace("\n", "\r\n"), {}, {"c": ["a", "b"], "y": ["no", "yes"]}, []),
    "old Macintosh": (TWO.replace("\n", "\r"), {}, {"c": ["a", "b"], "y": ["no", "yes"]}, []),
    "no last newline": (TWO[:-1], {}, {"y": ["no", "yes"]}, []),
    "blank lines": (TWO.replace("\n", "\n\n"), {}, {"y": ["no", "yes"]}, [Step("blank lines", count=3)]),
    "compressed": (gzip.compress(TWO.encode()), {}, {"x": [1.5, 2.5]}, []),
    "spaces around names": (" x ,y\n1,a\n2,b\n", {}, {"x": [1, 2]}, [Step("renamed", "x", 1, "' x '")]),
    "spaces around numbers": ("x,y\n 1 ,a\n2 ,b\n", {}, {"x": [1, 2]}, []),
    "spaces around words": (
        "c,y\na ,1\na,2\n b,1\n", {}, {"c": ["a", "a", "b"]}, [Step("trimmed", "c", 2, "a"), Step("merged", "c", 1, "a")],
    ),
    "spaces before quotes": ('c, y\n"a", "1"\n"b", "2"\n', {}, {"c": ["a", "b"], "y": [1, 2]}, [Step("spaced")]),
    "separator in quotes": ('c,y\n"a,b",1\n"c ""d""",2\n', {}, {"c": ["a,b", 'c "d"']}, []),
    "newline in quotes": ('c,y\n"a\nb",1\nc,2\n', {}, {"c": ["a\nb", "c"]}, []),
    "NFC and NFD": (
        f"c,y\n{NFC},1\n{NFD},2\nBern,1\n",
        {},
        {"c": [NFC, NFC, "Bern"]},
        [Step("normalised", "c", 1, NFC), Step("merged", "c", 1, NFC)],
    ),
    "NFD name": (f"{NFD},y\n1,1\n2,2\n", {}, {NFC: [1, 2]}, [Step("renamed", NFC, 1, repr(NFD))]),
    "zeros before numbers": (
        "x,y\n007,a\n8,b\n", {}, {"x": [7, 8]}, [Step("leading zeros", "x", 1, "007")],
    ),
    "zeros before categories": ("x,y\n007,a\n7,b\n", {"categorical": ("x",)}, {"x": ["007", "7"]}, []),
    "zeros in a column of text": ("x,y\n00,a\n0,b\nX,a\nY,b\nZ,a\n", {}, {"x": ["00", "0", "X", "Y", "Z"]}, []),
    "exponents": ("x,y\n1e3,a\n-2.5E-2,b\n+.5,a\n5.,b\n", {}, {"x": [1000.0, -0.025, 0.5, 5.0]}, []),
    "large whole numbers": (f"x,y\n{2**62},a\n{2**70},b\n", {}, {"x": [float(2**62), float(2**70)]}, []),
    "truth values": ("x,y\nTrue,a\nFALSE,b\n", {}, {"x": [True, False]}, [Step("booleans", "x")]),
    "truth values, one missing": ("x,y\ntrue,a\nfalse,b\n?,a\n", {}, {"x": ["true", "false", None]}, []),
    "missing markers": ("x,c,y\n?,NA,a\n2,b,b\n,c,a\n", {}, {"x": [None, 2.0, None], "c": [None, "b", "c"]}, []),
    "a number as marker": ("x,y\n-999,a\n-999.0,b\n3,a\n", {"missing": ("-999",)}, {"x": [None, None, 3.0]}, []),
    "unknown as marker": ("x,y\nunknown,a\n3,b\n", {"missing": ("unknown",)}, {"x": [None, 3.0]}, []),
    "infinite as marker": ("x,y\ninf,a\n3,b\n", {"missing": ("inf",)}, {"x": [None, 3.0]}, []),
    "unknown as category": ("x,y\nunknown,a\n3,b\n", {"categorical": ("x",)}, {"x": ["unknown", "3"]}, []),
    "label as category": ("x,y\n1,00\n2,0\n", {"categorical": ("y",)}, {"y": ["00", "0"]}, [Step("rare class", "y", 1, "00"), Step("rare class", "y", 1, "0")]),
    "label in two notations": (
        "x,y\n1,1\n2,1.0\n3,0\n4,0\n", {}, {"y": [1.0, 1.0, 0.0, 0.0]}, [Step("merged", "y", 1, "1, 1.0")],
    ),
    "label of numbers and words": (
        "x,y\n" + "1,0\n2,1\n3,yes\n4,no\n" * 2, {}, {"y": ["0", "1", "yes", "no"] * 2}, [],
    ),
    "ignored": ("id,x,y\n1,2,a\n2,3,b\n", {"ignore": ("id",)}, {"x": [2, 3]}, [Step("ignored", "id", 1)]),
    "ignored without a name": (",x,y\n0,2,a\n1,3,b\n", {"ignore": ("",)}, {"x": [2, 3]}, [Step("ignored", '""', 1)]),
    "ignored twice": ("x,x,z,y\n1,2,3,a\n2,3,4,b\n", {"ignore": ("x",)}, {"z": [3, 4]}, [Step("ignored", "x", 1)] * 2),
    "index": (
        "id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(1, 21)), {}, {"id": list(range(1, 21))}, [Step("index", "id", 20)],
    ),
    "nearly unique": (
        "c,y\n" + "".join(f"p{i}@x.org,{i % 2}\n" for i in range(20)), {}, {}, [Step("nearly unique", "c", 20, "p0@x.org")],
    ),
    "more levels as the spec says": (
        "c,y\n" + "".join(f"c{i % 150},{i % 2}\n" for i in range(600)), {"max_levels": 150}, {}, [],
    ),
    "dates": (
        "x,c,y\n1970-01-02,2024-02-29T12:00,a\n,2024-03-01 00:00Z,b\n1969-12-31,2024-03-01T02:00+02:00,a\n",
        {"dates": ("x", "c")},
        {"x": [1.0, None, -1.0], "c": [19782.5, 19783.0, 19783.0]},
        [Step("dates", "x"), Step("dates", "c")],
    ),
    "a comment's name": ("#x,y\n1,a\n2,b\n", {}, {"#x": [1, 2]}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_table_is_read_as_it_stands_and_what_is_done_to_it_is_listed(tmp_path: Path, case: str) -> None:
    content, fields, columns, steps = READ[case]
    result = read(tmp_path, content, **fields)
    for name, values in columns.items():
        assert [None if pd.isna(v) else v for v in result.frame[name]] == values
    rare = [step for step in result.steps if step.what == "rare class"]
    assert [s for s in result.steps if s not in rare] == [s for s in steps if s.what != "rare class"]
    assert [s for s in steps if s.what == "rare class"] in ([], rare)


def test_types_are_decided_on_whole_columns(tmp_path: Path) -> None:
    """200,000 rows, the label 0 or 1 for most and yes or no after: four classes, whichever chunk they stand in."""
    text = "x,y\n" + "".join(f"{i % 9},{i % 2 if i < 190_000 else ('yes', 'no')[i % 2]}\n" for i in range(200_000))
    result, _ = encoded(tmp_path, text, Preprocessing())
    assert result.classes == ("0", "1", "no", "yes")
    assert np.bincount(result.labels).tolist() == [95_000, 95_000, 5_000, 5_000]


def test_faults_are_at_the_line_of_the_file_past_lines_in_quotes(tmp_path: Path) -> None:
    text = 'c,x,y\n"a\nb\nc",1,p\n\nd,2,q\ne,inf,p\n'
    with pytest.raises(HarnessError, match=r"^own.csv:7: column 'x' is 'inf'"):
        read(tmp_path, text)


EXTREMES: dict[str, list[str]] = {
    "huge range": ["1e308", "-1e308", "0", "1.7e308"],
    "huge": ["1.7e308", "1.6e308", "1.7e308", "1.5e308"],
    "subnormal spread": ["5e-324", "0", "1e-323", "0"],
    "tiny spread": ["1e-200", "2e-200", "3e-200", "0"],
    "spread of one unit in the last place": ["1", "1.0000000000000002", "1", "1"],
    "constant": ["0.1", "0.1", "0.1", "0.1"],
    "constant and huge": ["1.7e308"] * 4,
    "large whole numbers": [str(2**63), str(-(2**63)), "0", "1"],
    "huge, some missing": ["1.7e308", "?", "1.7e308", "1.6e308"],
    "opposite, some missing": ["1.7e308", "?", "-1.7e308", ""],
    "past float32": ["3.5e38", "1", "2", "3"],
    "zero and minus zero": ["0", "-0.0", "0", "-0"],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("case", EXTREMES)
def test_features_are_finite_or_the_cell_is_named(tmp_path: Path, case: str, scaling: str) -> None:
    text = "x,z,y\n" + "".join(f"{x},{i},{i % 2}\n" for i, x in enumerate(EXTREMES[case]))
    how = Preprocessing.model_validate({"scaling": scaling})
    values = np.array([math.nan if x in ("?", "") else float(x) for x in EXTREMES[case]])
    if scaling == "none" and np.nanmax(np.abs(values)) > np.finfo(np.float32).max:
        with pytest.raises(HarnessError, match=r"^own.csv:2: column 'x' is .*, past the range of features \(3.4e38\)"):
            encoded(tmp_path, text, how)
        return
    result = encoded(tmp_path, text, how)[0].features
    assert np.isfinite(result).all()
    if not np.isnan(values).any():
        np.testing.assert_allclose(
            result, exact(np.stack([values, np.arange(4.0)], axis=1), scaling), rtol=1e-6, atol=1e-45
        )


def exact(values: np.ndarray, scaling: str) -> np.ndarray:
    """Scaled in numbers of 400 digits."""
    import mpmath

    with mpmath.workdps(700):
        table = [[mpmath.mpf(float(v)) for v in row] for row in values]
        if scaling == "unit-norm":
            norms = [mpmath.sqrt(sum(v * v for v in row)) for row in table]
            return np.array([[float(v / n) if n else 0.0 for v in row] for row, n in zip(table, norms, strict=True)])
        columns = []
        for column in zip(*table, strict=True):
            low, high, mean = min(column), max(column), sum(column) / len(column)
            spread = mpmath.sqrt(sum((v - mean) ** 2 for v in column) / len(column))
            shift, scale = {"none": (0, 1), "min-max": (low, high - low), "standard": (mean, spread)}[scaling]
            columns.append([float((v - shift) / scale) if high > low or scaling == "none" else 0.0 for v in column])
        return np.array(columns).T


def test_rows_dropped_to_nothing_name_the_columns_that_did_it(tmp_path: Path) -> None:
    how = Preprocessing(impute="drop-rows")
    text = "a,b,c,y\n" + "".join(f"{i},{'?' if i else i},{'?' if i < 5 else i},{i % 2}\n" for i in range(20))
    with pytest.raises(HarnessError, match=r"leaves no row: 'b' lacks 19, 'c' lacks 5 of 20; leave such a column out"):
        encoded(tmp_path, text, how)
    text = "a,b,y\n" + "".join(f"{i},{'?' if i % 2 else i},{i % 2}\n" for i in range(20))
    with pytest.raises(
        HarnessError, match=r"leaves one class of the label 'y', 0: of the rows of other classes 'b' lac"
    ):
        encoded(tmp_path, text, how)


def test_what_encoding_does_is_listed(tmp_path: Path) -> None:
    text = "a,b,c,k,y\n" + "".join(
        f"{'?' if i < 3 else i / 2},{'?' if i < 2 else 'pq'[i % 2]},{'missing' if i else ''},7,{i % 2}\n"
        for i in range(20)
    )
    _, steps = encoded(tmp_path, text, Preprocessing())
    assert set(steps) == {
        Step("filled", "a", 3, "the mean, 5.5"),
        Step("filled", "b", 2, "the mode, p"),
        Step("filled", "c", 1, "the mode, missing"),
        Step("one-hot", "b", 2),
        Step("one-hot", "c", 1),
        Step("constant", "c", 20),
        Step("constant", "k", 20),
        Step("scaled", "", 2, "min-max"),
    }
    _, steps = encoded(tmp_path, text, Preprocessing(impute="category", scaling="none"))
    assert Step("merged", "c", 1, "missing and what is missing") in steps
    _, steps = encoded(tmp_path, text, Preprocessing(impute="drop-rows"))
    assert Step("dropped rows", "", 3, "a value is missing") in steps


def test_rows_that_repeat_one_are_counted_and_dropped_on_request(tmp_path: Path) -> None:
    text = "id,a,b,y\n" + "".join(f"{i},{i % 7},{'pq'[i % 2]},{i % 2}\n" for i in range(30))
    _, steps = encoded(tmp_path, text, Preprocessing(scaling="none"), ignore=("id",))
    assert Step("repeated", "", 16) in steps  # 14 differ: a is i mod 7, b and y are i mod 2
    _, steps = encoded(tmp_path, text, Preprocessing(scaling="none"), ignore=("id",), repeated="drop")
    assert Step("dropped rows", "", 16, "they repeat an earlier one") in steps
    assert not any(step.what == "repeated" for step in steps)
    _, steps = encoded(tmp_path, text, Preprocessing(scaling="none"))
    assert not any(step.what == "repeated" for step in steps)


def test_a_dropped_row_does_not_shift_the_lines_of_others(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("a,y\n1,p\n1,p\n2,q\n1,p\n3,p\n")
    table = CsvTable(path="own.csv", label="y", repeated="drop").read(tmp_path)
    assert table.lines.tolist() == [2, 4, 6]
    assert table.frame["a"].tolist() == [1, 2, 3]


def test_a_column_without_any_value_is_named(tmp_path: Path) -> None:
    for fields in ({}, {"categorical": ("x",)}):
        with pytest.raises(HarnessError, match=r"column 'x' holds no value; leave it out"):
            encoded(tmp_path, "x,y\n?,a\n,b\n", Preprocessing(), **fields)


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (pd.DataFrame({"x": [1, 2], "q": [0, 1]}), "no column 'y', the label; the table has: x, q"),
        (pd.DataFrame({"x": [1.0, np.inf], "y": [0, 1]}), "row 2: column 'x' is inf, which is not finite"),
        (pd.DataFrame({"x": [1, 2], "y": [0, None]}), "row 2: the label 'y' is missing"),
        (pd.DataFrame({"x": [1, 2], "y": [0, "a"]}), "the label 'y' has values of several types: int, str"),
        (pd.DataFrame({"x": [], "y": []}), "the table has no row"),
        (pd.DataFrame([[1, 2, 0]], columns=["x", "x", "y"]), "two columns are called 'x'"),
    ],
)
def test_a_table_of_a_plug_in_is_looked_at_too(frame: pd.DataFrame, line: str) -> None:
    from harness.data.dataset import Schema

    with pytest.raises(HarnessError) as caught:
        encode(frame, Schema("y", ()), Preprocessing())
    assert line in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_unusual_types_of_a_plug_in_become_features() -> None:
    from harness.data.dataset import Schema

    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "mixed": pd.Series(["a", 1, None], dtype=object),
            "when": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
            "kind": pd.Categorical(["p", None, "q"], categories=["q", "p", "unused"]),
            "y": pd.array([1, 0, 1], dtype="Int64"),
        }
    )
    result = encode(frame, Schema("y", ()), Preprocessing(scaling="none"))
    assert result.columns[:1] == ("nullable",)
    assert result.features[:, 0].tolist() == [1, 2, 3]
    assert np.isfinite(result.features).all()
    assert result.labels.tolist() == [1, 0, 1]
    assert [c for c in result.columns if c.startswith(("mixed", "kind"))] == ["mixed=1", "mixed=a", "kind=p", "kind=q"]
