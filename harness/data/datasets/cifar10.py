"""CIFAR-10 from the archive that its authors publish."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.data.dataset import DATASETS
from harness.data.images import ScatteredImages, sorted_images
from harness.data.sources import RawFile, Source, read_members

SIDE, CHANNELS = 32, 3
# The bytes of an image without its class, the files of the archive that hold images, and where it is published.
PIXEL_BYTES = SIDE * SIDE * CHANNELS
PARTS = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
ADDRESS = "https://www.cs.toronto.edu/~kriz/"
AS_PUBLISHED = Source(
    "Toronto (CIFAR-10)", (RawFile("cifar-10-binary.tar.gz", ADDRESS + "cifar-10-binary.tar.gz"),), folder="cifar10"
)


def read_images(path: Path, parts: Collection[str], before: int) -> pd.DataFrame:
    """The canonical table of an archive whose files hold images.

    An image is `before` bytes, of which the last is the class, then a red, a green and a blue plane.

    Raises HarnessError for an archive that cannot be read. One that is cut short or has other records gives a table of
    another hash than the published one's.
    """
    data, size = b"".join(read_members(path, parts).values()), before + PIXEL_BYTES
    records = np.frombuffer(data, np.uint8, len(data) // size * size).reshape(-1, size)
    pixels = records[:, before:].reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    return sorted_images(records[:, before - 1], pixels)


@DATASETS.register
class Cifar10(ScatteredImages):
    """60,000 photographs of 10 kinds of things (Krizhevsky 2009), training and test images together."""

    kind: Literal["cifar10"] = "cifar10"
    display: ClassVar[str] = "CIFAR-10"
    canonical_sha256: ClassVar[str | None] = "05971ac36a0ab8f68ae117b75dcc650828a93d46d492a3767879702f60104da3"
    sources: ClassVar[tuple[Source, ...]] = (AS_PUBLISHED,)
    # As the code of Tramèr and Boneh (2020) has them: those of ImageNet.
    normalised: ClassVar[tuple[tuple[float, float], ...] | None] = ((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the archive. Raises HarnessError as `read_images` does."""
        (path,) = files.values()
        return read_images(path, PARTS, 1)
