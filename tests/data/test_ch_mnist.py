"""CH-MNIST from small files of the published forms, how they can be wrong, and the textures that stand in for it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from harness.data.datasets.ch_mnist import (
    CLASSES,
    SEED,
    TEXTURES,
    TILES,
    ChMnist,
    ChMnistSubstitute,
    read_tiles,
    texture,
)
from harness.data.fetch import fetch, read_table
from harness.data.images import pixels_of
from harness.data.raw_files import check_raw_files, limit_images
from harness.errors import HarnessError
from harness.hashing import generator
from harness.paths import Project
from harness.progress import Progress


class Small(ChMnist):
    """Two images of each tissue."""

    kind: str = "small"  # type: ignore[assignment]
    each: ClassVar[int] = 2


def tile(value: int, size: int = 150) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (size, size), (value, 0, 0)).save(out, "TIFF")
    return out.getvalue()


def tiles(**changed: bytes) -> dict[str, bytes]:
    result = {f"tiles/0{k + 1}_T/{n}.tif": tile(10 * k + n) for k in range(CLASSES) for n in range(2)}
    return result | {name.replace("__", "/").replace("_tif", ".tif"): data for name, data in changed.items()}


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_tiles_become_small_and_grey(tmp_path: Path) -> None:
    table = Small.parse({TILES: zipped(tmp_path / TILES, tiles())})
    assert table["class"].tolist() == [k for k in range(CLASSES) for _ in range(2)]
    pixels = pixels_of(table)
    assert pixels.shape == (16, 64 * 64)
    luma = [round(0.299 * (10 * k + n)) for k in range(CLASSES) for n in range(2)]  # ITU-R 601, of red alone
    assert np.array_equal(pixels, np.repeat(np.array(luma)[:, None], 64 * 64, axis=1))


def test_tiles_are_read_through_their_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "small").mkdir(parents=True)
    zipped(tmp_path / "data" / "small" / TILES, tiles())
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store" / "cells"))
    project = Project(tmp_path / "p")
    fetch(project, Small(), Progress(quiet=True))
    frame = read_table(project, Small(components=None)).frame
    assert frame["class"].tolist() == [k for k in range(8) for _ in range(2)]
    assert np.allclose(frame.iloc[-1, 1:], round(0.299 * 71) / 255)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (tiles(tiles__01_T__0_tif=tile(0, 64)), r"tiles/01_T/0.tif: 64 x 64 pixels, 150 x 150 are right"),
        (tiles(tiles__01_T__0_tif=b"no image"), r"01_T/0.tif: no readable TIFF image"),
        (tiles(tiles__01_T__0_tif=b"\0" * 1_000_001), r"1,000,001 bytes are no tile"),
        (tiles(tiles__09_T__0_tif=tile(0)), r"its folder begins with no tissue from 01 to 08"),
        (tiles(tiles__01_T__9_tif=tile(0)), r"17 images in tissues of \[3, 2, .*\], 2 each are right"),
        ({"readme.txt": b""}, "no TIFF image in it"),
    ],
)
def test_a_wrong_archive_is_one_line(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        Small.parse({TILES: zipped(tmp_path / TILES, members)})


def test_a_file_that_is_no_archive_is_one_line(tmp_path: Path) -> None:
    (tmp_path / TILES).write_bytes(b"no archive")
    with pytest.raises(HarnessError, match="not a readable archive"):
        Small.parse({TILES: tmp_path / TILES})


def test_textures_are_drawn_as_stated() -> None:
    """Whole numbers, so the same everywhere; boxes have the stated standard deviation."""
    rng = generator(SEED, "ch-mnist-substitute")
    first = [texture(rng, kind) for kind in range(CLASSES)]
    again = generator(SEED, "ch-mnist-substitute")
    assert all(np.array_equal(image, texture(again, kind)) for kind, image in enumerate(first))
    assert [image.shape for image in first] == [(64, 64)] * CLASSES
    flat = np.array([texture(rng, 7).astype(float) for _ in range(200)])  # small boxes: pixels are nearly independent
    assert abs(flat.mean() - TEXTURES[7][2]) < 10
    assert abs(np.median(flat.std(axis=(1, 2))) - 40) < 6
    table = ChMnistSubstitute.parse({})
    assert table["class"].value_counts().tolist() == [625] * 8
    assert ChMnistSubstitute.stands_in_for == "ch-mnist"
    assert ChMnistSubstitute.digest(table) == ChMnistSubstitute.canonical_sha256


def test_a_tile_is_told_by_its_size_before_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 x 10,000 pixels in a tile of some kilobytes: nothing is decoded, and the line says how many there are."""
    content = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(content, "TIFF", compression="group4")
    path = tmp_path / TILES
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Kather_texture_2016_image_tiles_5000/01_TUMOR/a.tif", content.getvalue())
    monkeypatch.setattr(TiffImagePlugin.TiffImageFile, "load", lambda *_: pytest.fail("it was decoded"))
    before = Image.MAX_IMAGE_PIXELS
    with pytest.raises(Image.DecompressionBombError, match="100000000 pixels"), limit_images():
        read_tiles(path)
    assert before == Image.MAX_IMAGE_PIXELS
    check_raw_files(ChMnist.sources[0], {TILES: path})
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "1000")
    with pytest.raises(HarnessError, match="more than 1,000; set HARNESS_MAX_UNPACKED_BYTES"):
        check_raw_files(ChMnist.sources[0], {TILES: path})
