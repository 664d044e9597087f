"""Random tables through a real file, the reader and the encoder: finite features or one line, and no silent change."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.data.datasets.csv_table import CsvTable
from harness.data.encoding import Preprocessing, encode
from harness.data.fetch import read_table
from harness.data.inspection import inspect
from harness.data.steps import Step
from harness.errors import HarnessError
from harness.paths import Project

MARKERS = ("", "?", "NA", "N/A")
PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
WORDS = st.sampled_from(["a", "b", "Zürich", unicodedata.normalize("NFD", "Zürich"), " a", "a ", "true", "missing"])
WHOLE = st.integers(-(2**70), 2**70).map(str) | st.integers(0, 9).map(str)
REAL = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.sampled_from(
    ["1e308", "-1.7e308", "5e-324", "3.5e38", "1e-50", "0.1", "+.5", "007", "-0.0"]
)
ODD = st.sampled_from(
    ["inf", "-Infinity", "nan", "1e400", "unknown", "X", "1,5", "1.234,5", "1 234", "None", "٣", "1_0"]
)
KINDS: dict[str, st.SearchStrategy[str]] = {
    "whole": WHOLE,
    "real": REAL,
    "small": st.floats(-10, 10).map(lambda x: f"{x:.2f}"),
    "words": WORDS,
    "text": PLAIN,
    "booleans": st.sampled_from(["True", "False", "TRUE", "false"]),
    "codes": st.sampled_from(["00", "0", "01", "1"]),
    "dates": st.dates().map(str),
    "addresses": st.emails(),
    "odd": ODD,
    "numbers and odd": REAL | ODD,
    "words and numbers": WORDS | WHOLE,
    "constant": st.just("0.1"),
    "near": st.sampled_from(["1", "1.0000000000000002", "0.9999999999999999"]),
    "nothing": st.sampled_from(MARKERS),
    "long": st.just("x" * 5000) | st.just("1" * 500),
}
TAME = ["whole", "real", "small", "words", "booleans", "codes", "near", "constant", "text"]
"""Kinds of columns that are seldom refused."""
LABELS = {
    "two": st.sampled_from(["no", "yes"]),
    "bits": st.sampled_from(["0", "1"]),
    "booleans": st.sampled_from(["True", "FALSE"]),
    "mixed": st.sampled_from(["0", "1", "yes", "no"]),
    "notations": st.sampled_from(["1", "1.0", "0", "00"]),
    "numbers": REAL,
    "text": PLAIN,
    "missing": st.sampled_from(["a", "b", "?"]),
}


@dataclass(frozen=True)
class Drawn:
    """A file and what a spec says of it."""

    content: bytes
    header: list[str]
    cells: list[list[str]]
    """By column."""
    fields: dict[str, Any]
    harmed: bool
    """Whether bytes were changed at random: then the cells are not known."""


@st.composite
def drawn_tables(draw: st.DrawFn) -> Drawn:
    tame = draw(st.integers(0, 3)) > 0
    n = draw(st.integers(4 if tame else 0, 30))
    kinds = draw(st.lists(st.sampled_from(TAME if tame else sorted(KINDS)), min_size=1, max_size=4))
    cells = []
    for kind in kinds:
        cell = KINDS[kind]
        if draw(st.booleans()):
            cell = st.one_of(cell, cell, cell, st.sampled_from(MARKERS))
        if draw(st.integers(0, 3)) == 0:
            cell = cell | cell.map(lambda text: f" {text} ")
        cells.append(draw(st.lists(cell, min_size=n, max_size=n)))
    label = LABELS[draw(st.sampled_from(["bits", "booleans", "mixed", "two"] if tame else sorted(LABELS)))]
    cells.append(draw(st.lists(label, min_size=n, max_size=n)))
    names = st.sampled_from([f"c{i}" for i in range(8)]) | PLAIN | st.sampled_from(["", " c1", "c0 "])
    header = [*draw(st.lists(names, min_size=len(kinds), max_size=len(kinds))), "y"]
    if tame:
        header = [*(f"c{i}" for i in range(len(kinds))), "y"]
    separator = draw(st.sampled_from([",", ",", ";", "\t", "|"]))
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=separator,
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerow(header)
    writer.writerows(zip(*cells, strict=True))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "latin-1"]))
    content = text.getvalue().encode(encoding, "replace")
    told = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    harmed = not tame and draw(st.booleans())
    if harmed:
        at = draw(st.integers(0, len(content)))
        content = (
            content[:at]
            + draw(st.binary(max_size=3) | st.sampled_from([b'"', b"\n", b"\x00", b",", b"#"]))
            + content[at:]
        )
        told = draw(st.sampled_from([told, "utf-8"]))
    replaced = text.getvalue() != text.getvalue().encode(encoding, "replace").decode(encoding)
    chosen = st.sets(st.sampled_from([name.strip() for name in header[:-1]]))
    fields: dict[str, Any] = {
        "separator": draw(st.sampled_from([separator] * 5 + [","])),
        "encoding": told,
        "categorical": tuple(sorted(draw(chosen) if draw(st.integers(0, 3)) == 0 else ())),
        "ignore": tuple(sorted(draw(chosen) if draw(st.integers(0, 5)) == 0 else ())),
        "max_levels": draw(st.sampled_from([100, 5])),
    }
    return Drawn(content, header, cells, fields, harmed or replaced or fields["separator"] != separator)


HOW = st.builds(
    Preprocessing,
    impute=st.sampled_from(["mean-mode", "mean-mode", "drop-rows", "category"]),
    scaling=st.sampled_from(["none", "min-max", "standard", "unit-norm"]),
)


def prepared(folder: Path, drawn: Drawn, how: Preprocessing) -> None:
    """A run up to its training. Raises AssertionError unless it gives finite features, or refuses in one line."""
    (folder / "own.csv").write_bytes(drawn.content)
    try:
        dataset = CsvTable.model_validate({"path": "own.csv", "label": "y", **drawn.fields})
    except ValidationError as error:
        assert "ignore" in str(error)  # the label, or a category
        return
    try:
        table = read_table(Project(folder), dataset)
        rows, width, steps = inspect(table.frame, dataset.schema_of_table(), how, (), table.place)
    except HarnessError as refused:
        line = str(refused)
        assert "\n" not in line
        assert 20 < len(line) < 1500
        return
    result = encode(table.frame, dataset.schema_of_table(), how)
    assert result.features.dtype == np.float32
    assert result.features.shape == (rows, width) == (len(result.labels), len(result.columns))
    assert np.isfinite(result.features).all()
    if not drawn.harmed:
        check_nothing_is_silent(drawn, how, result, (*table.steps, *steps))


def check_nothing_is_silent(drawn: Drawn, how: Preprocessing, result: Any, steps: tuple[Step, ...]) -> None:
    """Each cell is its number or its level, or a step says that it is another."""
    said = {(step.what, step.column) for step in steps}
    filled = {step.column: step.count for step in steps if step.what == "filled"}
    ignored = {step.column for step in steps if step.what == "ignored"}
    known = [one(name) for name in drawn.header]
    for written, name, cells in zip(drawn.header, known, drawn.cells, strict=True):
        assert written == name or ("renamed", name) in said
        if name == "y":
            continue
        if (name or '""') in ignored:
            continue
        used = [cells[row] for row in result.rows]
        missing = [text.strip() in MARKERS for text in used]
        assert how.impute == "drop-rows" or filled.get(name, 0) == sum(missing)
        if name in result.columns and ("one-hot", name) not in said:
            if how.scaling == "none" and ("booleans", name) not in said:
                values = result.features[:, result.columns.index(name)]
                for text, lacking, value in zip(used, missing, values, strict=True):
                    assert lacking or value == np.float32(float(text))
                    if float(text or "0" if not lacking else "0") != 0 and value == 0:
                        assert ("vanished", name) in said
            continue
        assert ("one-hot", name) in said
        for text, lacking in zip(used, missing, strict=True):
            if not lacking:
                assert f"{name}={one(text)}" in result.columns
                assert text == text.strip() or ("trimmed", name) in said or ("spaced", "") in said
                assert text.strip() == one(text) or ("normalised", name) in said
    labels = [result.classes[i] for i in result.labels]
    for text, label in zip((drawn.cells[-1][row] for row in result.rows), labels, strict=True):
        same = label == one(text) or label.lower() == text.strip().lower()
        assert same or math.isclose(float(label), float(text), rel_tol=0, abs_tol=0)
    if len(set(labels)) < len({one(drawn.cells[-1][row]) for row in result.rows}):
        assert ("merged", "y") in said


def one(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def test_a_random_table_gives_finite_features_or_one_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("tables")

    @settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
    @given(drawn_tables(), HOW)
    def test(drawn: Drawn, how: Preprocessing) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prepared(folder, drawn, how)

    test()
