"""Archives of the published form, small ones made here, the ways in which they can be wrong."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from harness.data.datasets.cifar10 import PIXEL_BYTES, Cifar10
from harness.data.datasets.cifar100 import Cifar100
from harness.data.fetch import MissingData, fetch, read_table
from harness.data.images import image_table, pixels_of, principal_components
from harness.data.sources import RawFile, Source
from harness.errors import HarnessError
from harness.paths import Project
from harness.progress import Progress

QUIET = Progress(quiet=True)
CORRUPTED = r"known: corrupted: the table made from it has SHA-256 \w+, expected \w+;"
FIRST = ("cifar-100-binary.tar.gz",)


class Small(Cifar100):
    """The published form with four classes in two groups."""

    kind: str = "small"
    canonical_sha256: ClassVar[str | None] = None
    sources: ClassVar[tuple[Source, ...]] = (Source("Toronto", (RawFile(FIRST[0], "https://example.invalid/x"),)),)


def records(each: int, seed: int = 0) -> np.ndarray:
    """(group, class, pixels) of `each` images of each class."""
    rng = np.random.default_rng(seed)
    result = rng.integers(0, 256, (4 * each, 2 + PIXEL_BYTES), dtype=np.uint8)
    result[:, 1] = np.arange(len(result)) % 4
    result[:, 0] = result[:, 1] // 2
    return result


def archive(path: Path, parts: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as target:
        for name, data in parts.items():
            info = tarfile.TarInfo(f"folder/{name}")
            info.size = len(data)
            target.addfile(info, io.BytesIO(data))
    return path


def good() -> dict[str, bytes]:
    return {"train.bin": records(3).tobytes(), "test.bin": records(1, 1).tobytes()}


def test_images_come_out_with_their_class_and_their_pixels_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(tmp_path / "override" / "small" / FIRST[0], good())
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    project = Project(tmp_path / "p")
    fetch(project, Small(components=None), QUIET)
    frame = read_table(project, Small(components=None)).frame
    raw = np.concatenate([records(3), records(1, 1)])
    assert frame["class"].tolist() == sorted(raw[:, 1].tolist())
    # The file holds a red, a green and a blue plane; a row of the table holds pixel after pixel.
    images = frame.iloc[:, 1:].to_numpy(float).reshape(-1, 32, 32, 3)
    for record in raw:
        planes = record[2:].reshape(3, 32, 32)
        (row,) = np.flatnonzero((np.round(images[:, 5, 7] * 255) == planes[:, 5, 7]).all(axis=1))
        assert frame["class"][row] == record[1]
        assert np.array_equal(np.round(images[row] * 255), planes.transpose(1, 2, 0))
    changed = Small.parse(
        {FIRST[0]: archive(tmp_path / "other.tar.gz", good() | {"test.bin": records(1, 2).tobytes()})}
    )
    assert Small.digest(changed) != read_table(project, Small(components=None)).sha256


def test_the_order_of_an_archive_does_not_count(tmp_path: Path) -> None:
    """Nor does which part an image of the training file is in: the table, and so every split, is the same."""
    orders = [np.arange(12), np.arange(12)[::-1], np.random.default_rng(5).permutation(12)]
    frames = []
    for number, order in enumerate(orders):
        parts = good() | {"train.bin": records(3)[order].tobytes()}
        frames.append(Small.parse({FIRST[0]: archive(tmp_path / f"{number}.tar.gz", parts)}))
    assert len({Small.digest(frame) for frame in frames}) == 1
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0])
    within = [hashlib.sha256(pixels).digest() for pixels in frames[0].loc[frames[0]["class"] == 0, "pixels"]]
    assert within == sorted(within)


@pytest.mark.integration
def test_cifar_10_as_it_is_published_gives_the_table_that_is_named() -> None:
    """The archive in HARNESS_DATA has the published records in their order; the table's hash is checked as it is read."""
    folder = os.environ.get("HARNESS_DATA")
    path = Path(folder or ".") / "cifar10" / "cifar-10-binary.tar.gz"
    if not path.is_file():
        pytest.skip("no CIFAR-10 in HARNESS_DATA")
    frame = Cifar10.parse({path.name: path})
    assert Cifar10.digest(frame) == Cifar10.canonical_sha256
    assert frame["class"].value_counts().tolist() == [6000] * 10


def test_components_are_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(tmp_path / "override" / "small" / FIRST[0], good())
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store" / "cells"))
    project = Project(tmp_path / "p")
    fetch(project, Small(components=2), QUIET)
    first = read_table(project, Small(components=2))
    assert first.frame.columns.tolist() == ["class", "pc0000", "pc0001"]
    kept = list((tmp_path / "store" / "derived").glob("*.parquet"))
    assert len(kept) == 1
    stamp = kept[0].stat().st_mtime_ns
    again = read_table(project, Small(components=2))
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert kept[0].stat().st_mtime_ns == stamp
    assert again.sha256 == read_table(project, Small(components=3)).sha256  # the data are the images
    kept[0].write_bytes(b"cut short")
    pd.testing.assert_frame_equal(first.frame, read_table(project, Small(components=2)).frame)


def test_principal_components_are_those_of_a_singular_value_decomposition() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (200, 30), dtype=np.uint8)
    pixels[:, :10] //= 8  # so that components are well apart
    result = principal_components(pixels, 4)
    values = pixels / 255 - (pixels / 255).mean(axis=0)
    _, singular, right = np.linalg.svd(values, full_matrices=False)
    expected = values @ right[:4].T
    assert np.allclose(np.abs(result), np.abs(expected), atol=1e-3 * singular[0])
    for column, direction in zip(result.T, right, strict=False):
        sign = np.sign(direction[np.abs(direction).argmax()])
        assert np.corrcoef(column, sign * (values @ direction))[0, 1] > 0.999


def test_an_archive_that_is_not_the_published_one_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Known(Small):
        """Small, and its table is known."""

        kind: str = "known"
        canonical_sha256: ClassVar[str | None] = Small.digest(
            Small.parse({FIRST[0]: archive(tmp_path / "good.tar.gz", good())})
        )
        sources: ClassVar[tuple[Source, ...]] = (Source("here", (RawFile(FIRST[0]),)),)

    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    path = tmp_path / "override" / "known" / FIRST[0]

    def fault() -> str:
        with pytest.raises(MissingData) as caught:
            fetch(Project(tmp_path / "p"), Known(components=None), QUIET)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    mislabelled, shuffled = records(3), records(3)
    mislabelled[0, 1] = 1
    shuffled[:, 2:] = shuffled[::-1, 2:]
    for change in (
        {"train.bin": good()["train.bin"][:-1]},
        {"train.bin": good()["train.bin"][1:]},
        {"train.bin": mislabelled.tobytes()},
        {"train.bin": shuffled.tobytes()},
    ):
        archive(path, good() | change)
        assert re.search(CORRUPTED, fault())
    archive(path, {"train.bin": b"12"})
    assert f"{FIRST[0]}: no test.bin in it" in fault()
    whole = archive(path, good()).read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    path.write_bytes(damaged)
    assert re.search(CORRUPTED, fault())
    for content in (whole[:-4000], b"a page that says 404", b""):
        path.write_bytes(content)
        assert f"{FIRST[0]}: not a readable archive: " in fault()
    path.write_bytes(whole)
    assert fetch(Project(tmp_path / "p"), Known(components=None), QUIET) is not None


def test_the_archive_of_pickles_is_not_asked_for() -> None:
    files = [raw.name for source in (*Cifar100.sources, *Cifar10.sources) for raw in source.files]
    assert files == ["cifar-100-binary.tar.gz", "cifar-10-binary.tar.gz"]


def test_an_archive_of_cifar10_is_read(tmp_path: Path) -> None:
    raw = np.zeros((12, 1 + PIXEL_BYTES), np.uint8)
    raw[:, 0] = np.arange(12)
    raw[:, 1:] = np.random.default_rng(0).integers(0, 256, (12, PIXEL_BYTES))
    parts = {f"data_batch_{i}.bin": raw[2 * i - 2 : 2 * i].tobytes() for i in range(1, 6)}
    name = "cifar-10-binary.tar.gz"
    frame = Cifar10.parse({name: archive(tmp_path / name, parts | {"test_batch.bin": raw[10:].tobytes()})})
    assert frame["class"].tolist() == [*range(12)]
    assert pixels_of(frame)[3, :3].tolist() == raw[3, [1, 1025, 2049]].tolist()
    with pytest.raises(HarnessError, match=r"no data_batch_1\.bin, .* in it"):
        Cifar10.parse({name: archive(tmp_path / "bad.tar.gz", {"test_batch.bin": bytes(1 + PIXEL_BYTES)})})


def test_where_nothing_can_be_had_the_folder_to_fill_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(Cifar100):
        """No source answers."""

        kind: str = "unreachable"
        sources: ClassVar[tuple[Source, ...]] = (Source("here", (RawFile("one.tar"),), folder="elsewhere"),)

    monkeypatch.delenv("HARNESS_DATA", raising=False)
    with pytest.raises(MissingData, match=r"set HARNESS_DATA to a directory that has elsewhere/one\.tar"):
        fetch(Project(tmp_path), Unreachable(), QUIET)


def test_an_image_table_gives_its_pixels_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    assert np.array_equal(pixels_of(image_table(np.arange(5), pixels)), pixels.reshape(5, -1))
