"""A table with a person that nobody else is like, and every file under a folder as text that can be searched."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

USER = "janedoe-at-home"
"""In the path of the folder that all lies in."""
DISEASE, RARE_CLASS = "RAREDISEASE-XYZ", "RARELABEL-QQ"
NAMES = tuple(f"Quentin{chr(65 + i % 26)} Zyx{i}" for i in range(90))
"""Of people, in a column of notes; each has a few rows."""
PERSONAL = (DISEASE, RARE_CLASS, "Zyx", USER)


def write_patients(path: Path, rows: int = 400) -> Path:
    """A table of patients: one has a disease, and one a class, that no other has."""
    rng = np.random.default_rng(3)
    diag = rng.choice(["flu", "cold"], rows)
    outcome = rng.choice(["better", "worse"], rows)
    diag[17], outcome[101] = DISEASE[:4], RARE_CLASS[:6]
    frame = pd.DataFrame(
        {
            "income": np.round(rng.lognormal(8, 1, rows), 2),
            "diag": diag.astype(object),
            "note": [NAMES[i % len(NAMES)] for i in range(rows)],
            "outcome": outcome.astype(object),
        }
    )
    frame.loc[17, "diag"], frame.loc[101, "outcome"] = DISEASE, RARE_CLASS
    frame.loc[40, "diag"] = f" {frame.loc[40, 'diag']}"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False)
    return path


def texts_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """What a file holds, by where in it: its bytes, and what is packed or encoded in it."""
    yield from _texts(str(path), path.read_bytes(), path)


def _texts(name: str, content: bytes, path: Path | None = None) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"PK\x03\x04"):  # three letters stand in megabytes of what is packed by chance
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield f"{name}!comment", archive.comment
            for member in archive.infolist():
                yield f"{name}!{member.filename}!header", member.filename.encode() + member.comment + member.extra
                yield from _texts(f"{name}!{member.filename}", archive.read(member))
        return
    yield name, content
    if content[:4] == b"PAR1" or content[32:36] == b"PAR1":  # an index of the store begins with its hash
        table = pq.read_table(io.BytesIO(content[content.index(b"PAR1") :]))
        yield f"{name}!metadata", b"\n".join(k + v for k, v in (table.schema.metadata or {}).items())
        yield f"{name}!rows", str(table.to_pydict()).encode()
    elif content.startswith(b"SQLite format 3") and path is not None:
        with sqlite3.connect(path) as connection:
            yield f"{name}!dump", "\n".join(connection.iterdump()).encode()


def places_with(root: Path, words: tuple[str, ...], but: tuple[Path, ...] = ()) -> list[tuple[str, str]]:
    """Each place in a file below `root`, besides those in `but`, that has one of the words, and the word."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path not in but]
    return [
        (where.removeprefix(str(root)), word)
        for path in files
        for where, content in texts_of(path)
        for word in words
        if word.encode() in content
    ]
