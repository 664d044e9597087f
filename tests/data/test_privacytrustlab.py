"""Archives of the published form, small ones made here, and the ways in which they can be wrong."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from harness.data.datasets.privacytrustlab import LabelledBits, Location, Purchase, Texas
from harness.data.fetch import fetch, read_table
from harness.data.sources import RawFile, Source
from harness.errors import HarnessError
from harness.paths import Project
from harness.progress import Progress

QUIET = Progress(quiet=True)


class Small(LabelledBits):
    """The published form at a size that a test can write."""

    kind: str = "small"
    rows: ClassVar[int] = 40
    features: ClassVar[int] = 6
    classes: ClassVar[int] = 4
    sources: ClassVar[tuple[Source, ...]] = (Source("the lab", (RawFile("small.tgz", "https://example.invalid/x"),)),)


def lines(seed: int = 0) -> list[list[str]]:
    """Labels in quotation marks, as in the published files, then bits."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (40, 6))
    return [[f'"{i % 4 + 1}"', *map(str, row)] for i, row in enumerate(bits)]


def archive(folder: Path, rows: list[list[str]], members: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    with tarfile.open(folder / "small.tgz", "w:gz") as target:
        for i in range(members):
            info = tarfile.TarInfo(f"records{i}")
            info.size = len(data)
            target.addfile(info, io.BytesIO(data))
    return folder / "small.tgz"


def parsed(folder: Path, rows: list[list[str]], members: int = 1) -> object:
    return Small.parse({"small.tgz": archive(folder, rows, members)})


def test_labels_and_bits_come_out_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = lines()
    archive(tmp_path / "override" / "small", rows)
    monkeypatch.setattr("harness.data.datasets.privacytrustlab.BLOCK", 7)
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    project = Project(tmp_path / "p")
    fetch(project, Small(), QUIET)
    frame = read_table(project, Small()).frame
    assert frame["class"].tolist() == [int(row[0].strip('"')) for row in rows]
    assert frame.drop(columns="class").to_numpy().tolist() == [[int(b) for b in row[1:]] for row in rows]
    changed = frame.copy()
    changed.iloc[3, 2] ^= 1
    assert Small.digest(changed) != Small.digest(frame) == read_table(project, Small()).sha256


def test_the_most_frequent_features_are_kept_in_their_order(tmp_path: Path) -> None:
    rows = [[f'"{i % 4 + 1}"', *(str(int(i < n)) for n in (5, 30, 2, 30, 40, 1))] for i in range(40)]
    frame = Small.parse({"small.tgz": archive(tmp_path, rows)})
    assert Small(most_frequent=3).select(frame).columns.tolist() == ["class", "f0001", "f0003", "f0004"]
    assert Small(most_frequent=2).select(frame).columns.tolist() == [
        "class",
        "f0001",
        "f0004",
    ]  # a tie: the earlier one
    assert Small().select(frame).shape == (40, 7)
    with pytest.raises(HarnessError, match="most_frequent is 7, there are 6 features"):
        Small(most_frequent=7).select(frame)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    rows = lines()
    cases: list[tuple[list[list[str]], str]] = [
        (rows[:-3], "37 rows, 40 are right"),
        ([row[:-1] for row in rows], "6 columns, 7 are right"),
        (
            [*rows[:5], ['"2"', "0", "1", "3", "0", "1", "0"], *rows[6:]],
            r"records0: row 6, column 4: '3' is no binary feature",
        ),
        ([*rows[:5], ['"2"', "0", "1", "x", "0", "1", "0"], *rows[6:]], r"row 6, column 4: 'x' is no binary feature"),
        ([*rows[:5], ['"2"', "0", "1", "", "0", "1", "0"], *rows[6:]], r"row 6, column 4: '' is no binary feature"),
        (
            [*rows[:5], ['"2"', *"0110101"], *rows[6:]],
            "records0: no table of comma-separated values: .* in line 6, saw 8",
        ),
        ([[*row[1:], row[0]] for row in rows], "the label comes first"),
        ([['"1.5"', *row[1:]] if row[0] == '"2"' else row for row in rows], "it has to take the values 1 to 4"),
        ([['"9"', *row[1:]] if row[0] == '"2"' else row for row in rows], "it has to take the values 1 to 4"),
        ([['"1"', *row[1:]] if row[0] == '"4"' else row for row in rows], "it has to take the values 1 to 4"),
    ]
    for number, (wrong, message) in enumerate(cases):
        with pytest.raises(HarnessError, match=message):
            parsed(tmp_path / str(number), wrong)
    with pytest.raises(HarnessError, match="holds 2 files, the published archive holds one"):
        parsed(tmp_path / "two", rows, members=2)


def test_a_truncated_archive_is_one_line(tmp_path: Path) -> None:
    path = archive(tmp_path, lines())
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) * 3 // 4):
        path.write_bytes(whole[:size])
        with pytest.raises(HarnessError, match=r"small\.tgz: (not a readable archive|.* rows, 40 are right)"):
            Small.parse({"small.tgz": path})


def test_the_published_sizes() -> None:
    """Shokri et al. 2017 and the lab's own README."""
    assert [(d.rows, d.features, d.classes) for d in (Location, Purchase, Texas)] == [
        (5010, 446, 30),
        (197324, 600, 100),
        (67330, 6169, 100),
    ]


def test_the_real_location_archive(tmp_path: Path) -> None:
    folder = os.environ.get("HARNESS_DATA")
    if not folder or not (Path(folder) / "location30" / "dataset_location.tgz").is_file():
        pytest.skip("HARNESS_DATA holds no location30/dataset_location.tgz")
    project = Project(tmp_path)
    fetch(project, Location(), QUIET)
    frame = read_table(project, Location()).frame
    assert frame.shape == (5010, 447)
    assert frame["class"].nunique() == 30
    assert frame.drop(columns="class").isin((0, 1)).all(axis=None)
    assert read_table(project, Location()).origin == "HARNESS_DATA (dataset_location.tgz), the published archive"
