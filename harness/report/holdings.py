"""What a file holds of records, told from the file itself: a table, a piece of the store, scores, a bundle, MLflow."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow.parquet as pq

from harness.bounds import UNPACKED_BYTES, read_stream
from harness.errors import HarnessError
from harness.execution.curves import ATTRIBUTE
from harness.execution.store import META
from harness.execution.table import COLUMNS, ORIGIN

LARGEST_MEMBER = 1 << 28
"""Bytes of a file in an archive beyond which it is not unpacked."""
LARGEST_TEXT = 1 << 26
"""Bytes of a text that is searched for paths."""
LARGEST_CELL = 1 << 20
"""Bytes of a text in a database."""
DEEPEST = 2
"""Archives in one another that are looked into: one may hold itself."""
STEPS_OF_SQLITE, MOST_ASKED = 100_000, 10_000
"""Of a query: steps between two questions whether it goes on, and how often it may be asked."""
HOME = re.compile(rb"(?:/home|/Users|/root|[A-Za-z]:\\{1,2}Users)[/\\]{1,2}[^\s\"'<>]+")
"""A path in a folder of a user."""
ROW_NUMBERS, LOG_PROBABILITIES, SCORES = "row numbers", "log-probabilities", "scores"
VALUES, PLACES, USER_PATH, WEIGHTS = "values", "named records", "a path of a user's folder", "weights"
AGGREGATES = "numbers of whole models"
KEEP = "not to be given away where records are of people"
LOOK = "may be given away once you have looked at what is listed"
GIVE = "may be given away"
TRACKED = (
    ("experiments", "artifact_location"), ("runs", "artifact_uri"), ("runs", "user_id"), ("params", "value"),
    ("tags", "value"),
)  # fmt: skip
"""Tables and columns of MLflow that may hold a path or a name."""
AUDIT_SCORES = ("record", "member", "label")
OUR_CSV = ("claim", "member_set", "series", "arm")
"""First columns of tables of claims, surveys, curves and figures."""


@dataclass(frozen=True)
class Holding:
    """What one file holds of records."""

    file: str
    kind: str
    records: int
    """Of which it holds something each; 0: none."""
    holds: tuple[str, ...]

    @property
    def advice(self) -> str:
        """Whether it may be given away, in a line."""
        if self.records or {ROW_NUMBERS, LOG_PROBABILITIES, SCORES, PLACES} & {*self.holds}:
            return KEEP
        return LOOK if {VALUES, USER_PATH, WEIGHTS} & {*self.holds} else GIVE


def list_holdings(path: Path) -> Iterator[Holding]:
    """What a file holds, or each regular file below a folder, in order of their names; links are not followed.

    Raises HarnessError where there is no such file.
    """
    if not path.exists():
        raise HarnessError(f"{path}: no such file or folder")
    if not path.is_dir():
        if not path.is_file():
            raise HarnessError(f"{path}: neither a file nor a folder")
        yield from _of_file(path, path.name)
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.is_symlink():
            yield from _of_file(file, file.relative_to(path).as_posix())


def _of_file(path: Path, name: str) -> Iterator[Holding]:
    with path.open("rb") as stream:
        start = stream.read(36)
        stream.seek(0)
        if start.startswith(b"SQLite format 3"):
            yield _of_database(path, name)
        else:
            yield from _of_stream(stream, name, start, path.stat().st_size, _Unpacking(UNPACKED_BYTES.limit))


@dataclass
class _Unpacking:
    """How much of a file's archives is still unpacked."""

    left: int
    """Bytes, over all archives in it."""
    depth: int = 0

    def admits(self, size: int) -> bool:
        """Whether a member of so many bytes is unpacked; then it counts."""
        if size > min(self.left, LARGEST_MEMBER):
            return False
        self.left -= size
        return True


def _of_stream(stream: IO[bytes], name: str, start: bytes, size: int, unpacking: _Unpacking) -> Iterator[Holding]:
    """What is in a file that is open at its beginning."""
    try:
        if start.startswith(b"PK\x03\x04"):
            if unpacking.depth == DEEPEST:
                yield Holding(name, "not looked at: an archive in archives", 0, (VALUES,))
            else:
                yield from _of_archive(stream, name, unpacking)
        elif start.startswith(b"PAR1"):
            yield _of_parquet(stream, name)
        elif start[32:] == b"PAR1":
            rows = pq.ParquetFile(io.BytesIO(read_stream(stream, UNPACKED_BYTES, name)[32:])).metadata.num_rows
            yield Holding(name, f"index of the store, {rows:,} entries", 0, (AGGREGATES,))
        elif size > LARGEST_TEXT:
            yield Holding(name, "not looked at: too large", 0, (VALUES,))
        else:
            yield _of_text(stream.read(), name)
    except Exception as error:  # damaged and hostile files have errors of every reader
        why = (str(error).splitlines() or [type(error).__name__])[0][:80]
        yield Holding(name, f"not readable ({why})", 0, (VALUES,))


# --- archives


def _of_archive(stream: IO[bytes], name: str, unpacking: _Unpacking) -> Iterator[Holding]:
    """A piece of the store, arrays of records, or what is in each file of another archive."""
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if members and all(one.filename.endswith(".npy") for one in members):
            yield _of_arrays(archive, name, unpacking)
            return
        for one in members:
            inside = f"{name}!{one.filename}"
            if one.is_dir():
                continue
            if not unpacking.admits(one.file_size):
                yield Holding(inside, "not looked at: too large", 0, (VALUES,))
                continue
            with archive.open(one) as member:
                content = io.BytesIO(member.read(LARGEST_MEMBER))
            unpacking.depth += 1
            yield from _of_stream(content, inside, content.getvalue()[:36], one.file_size, unpacking)
            unpacking.depth -= 1


def _of_arrays(archive: zipfile.ZipFile, name: str, unpacking: _Unpacking) -> Holding:
    shapes = {one.removesuffix(".npy"): _shape(archive, one) for one in archive.namelist()}
    is_piece = shapes.pop(META, None) is not None
    lengths = {key: shape[0] if shape else 1 for key, shape in shapes.items()}
    holds: list[str] = []
    numbered = {key: n for key, n in lengths.items() if key in ("members", "test", "nonmembers", "leftover")}
    predicted = {key: n for key, n in lengths.items() if key.startswith("logp_")}
    scored = {key: n for key, n in lengths.items() if key.endswith("_scores")}
    for what, those in ((ROW_NUMBERS, numbered), (LOG_PROBABILITIES, predicted), (SCORES, scored)):
        holds += [what] if those else []
    records = max((sum(those.values()) for those in (numbered, predicted, scored)), default=0)
    if not is_piece:
        return Holding(name, "arrays", max(lengths.values(), default=0), (*holds, VALUES))
    if any(re.fullmatch(r"w\d+", key) for key in shapes):
        holds.append(WEIGHTS)
    kind = "split" if numbered else "trained model" if WEIGHTS in holds else "attack" if shapes else "measurements"
    if not unpacking.admits(archive.getinfo(f"{META}.npy").file_size):
        return Holding(name, f"piece of the store: {kind}, its record not looked at: too large", records, (VALUES,))
    if _has_home(archive.read(f"{META}.npy")):
        holds.append(USER_PATH)
    if not records and shapes and not holds:
        holds.append(VALUES)
    return Holding(name, f"piece of the store: {kind}", records, tuple(holds) or (AGGREGATES,))


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """The shape of an array, from its header."""
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)  # type: ignore[no-untyped-call]
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape: tuple[int, ...] = read(member)[0]  # type: ignore[no-untyped-call]
        return shape


# --- tables


def _of_parquet(stream: IO[bytes], name: str) -> Holding:
    file = pq.ParquetFile(stream)
    columns, rows = file.schema_arrow.names, file.metadata.num_rows
    metadata = file.schema_arrow.metadata or {}
    holds = [USER_PATH] if any(map(_has_home, metadata.values())) else []
    if {*COLUMNS} - {*ORIGIN} <= {*columns}:
        noted = json.loads(metadata.get(b"PANDAS_ATTRS", b"{}"))
        steps = [step for one in noted.get("prepared", []) for step in one["steps"]]
        named = any(step["what"] in ("rare class", "nearly unique") and step["detail"] for step in steps)
        if named or '"kind":"attribute"' in str(noted.get("experiment", "")):
            holds.append(VALUES)
        curves = " and curves of scores" if noted.get(ATTRIBUTE) else ""
        return Holding(name, f"table of measurements, {rows:,} numbers{curves}", 0, (AGGREGATES, *holds))
    if (columns[:1] and columns[0] in OUR_CSV) or {"statement", "verdict"} <= {*columns}:
        return Holding(name, f"table of results, {rows:,} rows", 0, (AGGREGATES, *holds))
    if {"cell", "outputs_sha256"} <= {*columns}:
        return Holding(name, f"index of models, {rows:,}", 0, (AGGREGATES, *holds))
    return Holding(name, f"table, {len(columns)} columns", rows, (VALUES, *holds))


def _of_text(content: bytes, name: str) -> Holding:
    holds = (USER_PATH,) if _has_home(content) else ()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Holding(name, "not text, and of no kind that the harness writes", 0, holds)
    if name.endswith(".csv"):
        return _of_csv(text, name, holds)
    if name.endswith(".html"):
        return _of_page(text, name, holds)
    if name.endswith((".yaml", ".yml")):
        splits = re.findall(r"\bvalues: *\[", text)
        return Holding(name, "YAML: what its author wrote", 0, (*((VALUES,) if splits else ()), *holds))
    if name.endswith(".json"):
        return Holding(name, f"JSON{_facts_of_json(text)}", 0, (AGGREGATES, *holds))
    return Holding(name, "text", 0, holds)


def _facts_of_json(text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError:
        return ", not readable"
    if isinstance(document, dict) and isinstance(document.get("verdicts"), list):
        return f", {len(document['verdicts']):,} verdicts"
    if isinstance(document, dict) and "audited" in document:
        return ", numbers of an audit"
    return ""


def _of_csv(text: str, name: str, holds: tuple[str, ...]) -> Holding:
    header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    names, count = {one.strip().lower() for one in header}, len(rows)
    if {*AUDIT_SCORES} <= names:
        return Holding(name, "scores of an audit", count, (PLACES, "membership", SCORES, VALUES, *holds))
    if names & {"member", "membership", "is_member"} and names & {"score", "loss"}:
        return Holding(name, "scores of single records", count, ("membership", SCORES, *holds))
    if "member_set" in names:
        labels = {row[header.index("member_set")] for row in rows}
        return Holding(name, f"ranking of a survey, {len(labels):,} member sets", 0, (AGGREGATES, VALUES, *holds))
    if (header and header[0] in OUR_CSV) or {"statement", "verdict"} <= names or {"mean", "low", "high"} <= names:
        return Holding(name, f"table of results, {count:,} rows", 0, (AGGREGATES, *holds))
    return Holding(name, f"table, {len(header)} columns", count, (VALUES, *holds))


def _of_page(text: str, name: str, holds: tuple[str, ...]) -> Holding:
    if "{%" in text:
        return Holding(name, "text", 0, holds)  # a template
    vulnerable = re.search(r'aria-label="The most vulnerable records".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    if vulnerable is not None:
        named = vulnerable.group(1).count("<tr>")
        return Holding(name, "page of an audit", named, (PLACES, "membership", *holds))
    if 'class="survey"' in text:
        sets = text.count("<tr id=")
        return Holding(name, f"page of a survey, {sets:,} member sets", 0, (AGGREGATES, VALUES, *holds))
    return Holding(name, "page", 0, (AGGREGATES, *holds))


# --- MLflow


def _of_database(path: Path, name: str) -> Holding:
    """What MLflow's tables hold; the file is opened to be read alone, and a query that goes on and on is ended."""
    asked = itertools.count(1)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_CELL)
            database.set_progress_handler(lambda: next(asked) > MOST_ASKED, STEPS_OF_SQLITE)
            tables = {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}
            if not {"experiments", "runs", "metrics", "params"} <= tables:
                return Holding(name, f"database, {len(tables)} tables", 0, (VALUES,))
            (runs,) = database.execute("select count(*) from runs").fetchone()
            texts = (
                str(row[0]).encode()
                for table, column in TRACKED
                for row in database.execute(f"select distinct {column} from {table}")
            )
            holds = [USER_PATH] if any(map(_has_home, texts)) else []
    except sqlite3.Error as error:
        return Holding(name, f"database, not readable ({error})", 0, (VALUES,))
    return Holding(name, f"MLflow's store, {runs:,} runs", 0, (AGGREGATES, *holds))


def _has_home(content: bytes) -> bool:
    return HOME.search(content) is not None
