"""CIFAR-10 from the archive that its authors publish, and from JPEG files where that cannot be had."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.images import ScatteredImages, image_table, sorted_images
from harness.data.sources import RawFile, Source
from harness.errors import AboutDataset

SIDE, CHANNELS, CLASSES, IMAGES = 32, 3, 10, 60000
PIXEL_BYTES = SIDE * SIDE * CHANNELS
ADDRESS = "https://www.cs.toronto.edu/~kriz/"
ARCHIVE_ERRORS = (tarfile.TarError, EOFError, OSError)
AS_JPEG = Source("CIFAR-10 as JPEG files", (RawFile("cifar10-jpeg.tar"),), folder="cifar10_jpeg")
AS_PUBLISHED = Source(
    "Toronto (CIFAR-10)", (RawFile("cifar-10-binary.tar.gz", ADDRESS + "cifar-10-binary.tar.gz"),), folder="cifar10"
)


def planes_to_pixels(planes: Array) -> Array:
    """Images stored as a red, a green and a blue plane, (n, 3072), as (n, 32, 32, 3)."""
    return planes.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)


def jpegs(archive: tarfile.TarFile, name: str) -> tuple[Array, Array]:
    from PIL import Image, UnidentifiedImageError

    images: dict[str, tuple[str, Array]] = {}
    for member in archive:
        if member.isreg() and member.name.endswith(".jpg"):
            stream = archive.extractfile(member)
            assert stream is not None
            try:
                image = Image.open(io.BytesIO(stream.read()), formats=["JPEG"])
                values = np.asarray(image.convert("RGB"))
            except (UnidentifiedImageError, OSError) as error:
                raise AboutDataset(f"{name}: {member.name}: no readable JPEG image: {error}") from None
            if values.shape != (SIDE, SIDE, CHANNELS):
                raise AboutDataset(f"{name}: {member.name}: {values.shape[:2]} pixels, 32 by 32 are right")
            images[member.name] = (PurePosixPath(member.name).parent.name, values)
    if not images:
        raise AboutDataset(f"{name}: no JPEG image in it")
    ordered = [images[key] for key in sorted(images)]
    classes = sorted({label for label, _ in ordered})
    labels = np.searchsorted(classes, [label for label, _ in ordered])
    return labels, np.stack([values for _, values in ordered])


def binary(archive: tarfile.TarFile, name: str) -> tuple[Array, Array]:
    parts = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    by_part: dict[str, Array] = {}
    for member in archive:
        base = PurePosixPath(member.name).name
        stream = archive.extractfile(member) if member.isreg() and base in parts else None
        if stream is not None:
            data = stream.read()
            if not data or len(data) % (1 + PIXEL_BYTES):
                raise AboutDataset(f"{name}: {base}: {len(data):,} bytes are no whole number of images")
            by_part[base] = np.frombuffer(data, np.uint8).reshape(-1, 1 + PIXEL_BYTES)
    missing = [part for part in parts if part not in by_part]
    if missing:
        raise AboutDataset(f"{name}: no {', '.join(missing)} in it; cifar-10-binary.tar.gz has them")
    records = np.concatenate([by_part[part] for part in parts])
    return records[:, 0].astype(np.int64), planes_to_pixels(records[:, 1:])


def read_cifar10(files: Mapping[str, Path], images: int = IMAGES, classes: int = CLASSES) -> tuple[Array, Array]:
    """Classes (n,) and pixels (n, 32, 32, 3) of CIFAR-10, from JPEG files by class or from the published archive.

    Raises HarnessError for an archive that is damaged, cut short, or of another form.
    """
    ((name, path),) = files.items()
    read = jpegs if name.endswith(".tar") else binary
    try:
        with tarfile.open(path) as archive:
            labels, pixels = read(archive, name)
    except ARCHIVE_ERRORS as error:
        raise AboutDataset(f"{name}: not a readable archive: {error}") from None
    counts = np.bincount(labels, minlength=classes)
    each = images // classes
    if len(counts) != classes or (counts != each).any():
        raise AboutDataset(f"{name}: {len(labels):,} images in classes of {counts.tolist()}, {each:,} each are right")
    return labels, pixels


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


@DATASETS.register
class Cifar10Substitute(Cifar10):
    """Where CIFAR-10 cannot be had: its photographs after lossy compression as JPEG files."""

    kind: Literal["cifar10-substitute"] = "cifar10-substitute"  # type: ignore[assignment]
    display: ClassVar[str] = "CIFAR-10 as JPEG files"
    stands_in_for: ClassVar[str | None] = "cifar10"
    canonical_sha256: ClassVar[str | None] = None
    sources: ClassVar[tuple[Source, ...]] = (AS_JPEG,)

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Read the archive in the order of its names."""
        return image_table(*read_cifar10(files))
