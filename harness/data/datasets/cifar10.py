"""CIFAR-10 from the archive that its authors publish."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.images import ScatteredImages, sorted_images
from harness.data.sources import RawFile, Source, read_members
from harness.errors import AboutDataset

SIDE, CHANNELS, CLASSES, IMAGES = 32, 3, 10, 60000
PIXEL_BYTES = SIDE * SIDE * CHANNELS
PARTS = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
ADDRESS = "https://www.cs.toronto.edu/~kriz/"
AS_PUBLISHED = Source(
    "Toronto (CIFAR-10)", (RawFile("cifar-10-binary.tar.gz", ADDRESS + "cifar-10-binary.tar.gz"),), folder="cifar10"
)


def planes_to_pixels(planes: Array) -> Array:
    """Images stored as a red, a green and a blue plane, (n, 3072), as (n, 32, 32, 3)."""
    return planes.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)


def read_cifar10(files: Mapping[str, Path], images: int = IMAGES, classes: int = CLASSES) -> tuple[Array, Array]:
    """Classes (n,) and pixels (n, 32, 32, 3) of CIFAR-10, from the published archive.

    Raises HarnessError for an archive that is damaged, cut short, or of another form.
    """
    ((name, path),) = files.items()
    parts = []
    for part, data in read_members(path, PARTS).items():
        if not data or len(data) % (1 + PIXEL_BYTES):
            raise AboutDataset(f"{name}: {part}: {len(data):,} bytes are no whole number of images")
        parts.append(np.frombuffer(data, np.uint8).reshape(-1, 1 + PIXEL_BYTES))
    records = np.concatenate(parts)
    labels = records[:, 0].astype(np.int64)
    counts = np.bincount(labels, minlength=classes)
    each = images // classes
    if len(counts) != classes or (counts != each).any():
        raise AboutDataset(f"{name}: {len(labels):,} images in classes of {counts.tolist()}, {each:,} each are right")
    return labels, planes_to_pixels(records[:, 1:])


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
        """Read the archive (see `read_cifar10`)."""
        return sorted_images(*read_cifar10(files))
