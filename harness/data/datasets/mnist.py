"""MNIST and Fashion-MNIST from the IDX files that their authors publish."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.images import ScatteredImages, image_table
from harness.data.sources import RawFile, Source
from harness.errors import DatasetError

PARTS = {"train": 60000, "t10k": 10000}
"""Images in each part; training images first."""


def files_at(address: str) -> tuple[RawFile, ...]:
    """The four files below an address: images and then labels of each part."""
    kinds = ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz")
    names = [f"{part}-{kind}" for part in PARTS for kind in kinds]
    return tuple(RawFile(name, address + name) for name in names)


def read_idx(path: Path, shape: tuple[int, ...]) -> Array:
    """The bytes of a gzipped IDX file as an array. Raises HarnessError where it is damaged or of another shape."""
    # The header is four bytes, and four for the extent of each axis.
    try:
        with gzip.open(path) as stream:
            return np.frombuffer(stream.read(), np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DatasetError(f"{path.name}: not the published IDX file: {error}") from None


@DATASETS.register
class Mnist(ScatteredImages):
    """70,000 handwritten digits of 28 x 28 pixels (LeCun et al. 1998), training and then test images."""

    kind: Literal["mnist"] = "mnist"
    display: ClassVar[str] = "MNIST"
    shape: ClassVar[tuple[int, int, int]] = (28, 28, 1)
    parts: ClassVar[Mapping[str, int]] = PARTS
    sources: ClassVar[tuple[Source, ...]] = (
        Source("cvdf-datasets", files_at("https://storage.googleapis.com/cvdf-datasets/mnist/")),
        Source("ossci-datasets", files_at("https://ossci-datasets.s3.amazonaws.com/mnist/")),
    )
    canonical_sha256: ClassVar[str | None] = "8b9f862dbf67b2318fba68860d74f890b2c5bc61dad2756ab0abbc1d37f1f1bd"

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the four files. Raises HarnessError for one that is damaged or of another shape."""
        labels, pixels = [], []
        for part, count in cls.parts.items():
            pixels.append(read_idx(files[f"{part}-images-idx3-ubyte.gz"], (count, *cls.shape[:2])))
            labels.append(read_idx(files[f"{part}-labels-idx1-ubyte.gz"], (count,)))
        return image_table(np.concatenate(labels), np.concatenate(pixels)[..., None])


@DATASETS.register
class FashionMnist(Mnist):
    """70,000 pictures of clothes in MNIST's form (Xiao, Rasul, Vollgraf 2017)."""

    kind: Literal["fashion-mnist"] = "fashion-mnist"  # type: ignore[assignment]
    display: ClassVar[str] = "Fashion-MNIST"
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "Zalando",
            files_at("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"),
            folder="fashion_mnist",
        ),
    )
    canonical_sha256: ClassVar[str | None] = "caa07be3b01ea8fedeeb691db1238ba0bf23c6fb3c1cd8e9de765bbaa0e07114"
