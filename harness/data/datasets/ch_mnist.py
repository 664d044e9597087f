"""CH-MNIST, tiles of colorectal tissue in grey, from what is published; textures where they cannot be had."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.images import Images, image_table
from harness.data.sources import PublishedHash, RawFile, Source, is_of_system
from harness.errors import DatasetError
from harness.hashing import generator

SIDE, CLASSES, EACH, TILE = 64, 8, 625, 150
"""Pixels of a side, tissues, images of each, and pixels of a side of a published tile."""
# The largest size that is read.
MOST_BYTES = 1_000_000
"""Of an unpacked tile; a published one has 67,500 bytes of pixels."""
# The published archive: its name, where it is, and what it is recognised by.
TILES = "Kather_texture_2016_image_tiles_5000.zip"
ADDRESS = "https://zenodo.org/record/53169/files/"
PUBLISHED = PublishedHash("MD5", "0ddbebfc56344752028fda72602aaade")


def read_tiles(path: Path) -> tuple[Array, Array]:
    """The classes (n,) and pixels (n, 64, 64) of the published archive, whose colour tiles are made grey and smaller.

    Grey is by ITU-R 601.

    Raises HarnessError for an archive that is damaged or of another form.
    """
    from PIL import Image, UnidentifiedImageError

    labels, pixels = [], []
    try:
        with zipfile.ZipFile(path) as archive:
            # Sorted, so that the table does not depend on the order in which somebody packed the files.
            for member in sorted(archive.infolist(), key=lambda entry: entry.filename):
                where = PurePosixPath(member.filename)
                if member.is_dir() or is_of_system(member.filename) or where.suffix.lower() != ".tif":
                    continue
                tissue = where.parent.name[:2]
                if not tissue.isdecimal() or not 1 <= int(tissue) <= CLASSES:
                    raise DatasetError(f"{path.name}: {where}: its folder begins with no tissue from 01 to 08")
                if member.file_size > MOST_BYTES:
                    raise DatasetError(f"{path.name}: {where}: {member.file_size:,} bytes are no tile")
                try:
                    image = Image.open(io.BytesIO(archive.read(member)), formats=["TIFF"])
                    size = image.size
                    grey = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
                except (UnidentifiedImageError, OSError) as error:
                    raise DatasetError(f"{path.name}: {where}: no readable TIFF image: {error}") from None
                if size != (TILE, TILE):
                    raise DatasetError(f"{path.name}: {where}: {size[0]} x {size[1]} pixels, 150 x 150 are right")
                labels.append(int(tissue) - 1)
                pixels.append(np.asarray(grey, np.uint8))
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise DatasetError(f"{path.name}: not a readable archive: {error}") from None
    if not pixels:
        raise DatasetError(f"{path.name}: no TIFF image in it")
    return np.array(labels), np.stack(pixels)


@DATASETS.register
class ChMnist(Images):
    """5,000 tiles of colorectal tissue of 8 kinds, 64 x 64 pixels, grey (Kather et al. 2016)."""

    kind: Literal["ch-mnist"] = "ch-mnist"
    display: ClassVar[str] = "CH-MNIST"
    shape: ClassVar[tuple[int, int, int]] = (SIDE, SIDE, 1)
    each: ClassVar[int] = EACH
    sources: ClassVar[tuple[Source, ...]] = (
        Source("Zenodo 53169", (RawFile(TILES, ADDRESS + TILES, published=PUBLISHED),)),
    )

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the tiles. Raises HarnessError for an archive of another form, or cut short."""
        labels, pixels = read_tiles(files[TILES])
        counts = np.bincount(labels, minlength=CLASSES)
        if (counts != cls.each).any():
            raise DatasetError(
                f"{TILES}: {len(labels):,} images in tissues of {counts.tolist()}, {cls.each} each are right"
            )
        return image_table(labels, pixels[..., None])


# The textures of the substitute, and below how images of one class differ.
TEXTURES = ((3, 3, 90), (9, 9, 110), (5, 13, 130), (13, 5, 130), (3, 9, 150), (9, 3, 150), (15, 15, 120), (2, 2, 200))
"""Of each class: height and width of the box that noise is averaged over, and mean brightness."""
JITTER, SHADES, GAIN = 4, 45, 40
"""Of each image: pixels by which its box may differ, shades by which its brightness may, and its contrast. The first
is such that mean, spread and mean gradients of an image tell its class as often as the paper's network does (0.76)."""
# The seed of the textures.
SEED = 64


def texture(rng: np.random.Generator, kind: int) -> Array:
    """One image (64, 64) uint8 of a class: noise averaged over boxes, in whole numbers, so the same everywhere."""
    # Sums over boxes are differences of running sums, whatever the size of the box.
    height, width, shade = TEXTURES[kind]
    height, width = (max(1, size + int(rng.integers(-JITTER, JITTER + 1))) for size in (height, width))
    shade += int(rng.integers(-SHADES, SHADES + 1))
    noise = rng.integers(-128, 129, (SIDE + height, SIDE + width))
    total = noise.cumsum(axis=0).cumsum(axis=1)
    boxes = total[height:, width:] - total[:-height, width:] - total[height:, :-width] + total[:-height, :-width]
    scale = max(1, round((height * width) ** 0.5 * 74))  # a box's standard deviation: that of noise is 74
    image: Array = np.clip(shade + boxes[:SIDE, :SIDE] * GAIN // scale, 0, 255).astype(np.uint8)
    return image


@DATASETS.register
class ChMnistSubstitute(ChMnist):
    """Where CH-MNIST cannot be had: 5,000 drawn textures of 8 kinds, which are no tissue."""

    kind: Literal["ch-mnist-substitute"] = "ch-mnist-substitute"  # type: ignore[assignment]
    display: ClassVar[str] = "substitute for CH-MNIST (drawn textures)"
    stands_in_for: ClassVar[str | None] = "ch-mnist"
    canonical_sha256: ClassVar[str | None] = "6c64517fbfa93dcfefa46950f51dbe4838878129bdf7017f3ceda55660d7dbe6"
    sources: ClassVar[tuple[Source, ...]] = (Source("generated from a seed", ()),)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of drawn images; there is nothing to read."""
        labels = np.arange(CLASSES * cls.each) % CLASSES
        rng = generator(SEED, "ch-mnist-substitute")
        return image_table(labels, np.stack([texture(rng, int(kind)) for kind in labels])[..., None])
