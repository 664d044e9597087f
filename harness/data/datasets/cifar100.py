"""CIFAR-100 from the archive that its authors publish, and a substitute of its shape made from CIFAR-10.

The canonical table of either has one row an image: its class and its pixels as bytes (row by row, red, green and blue
of a pixel together). The table in use holds the principal components of the pixels (jayaraman2019 Section 4.1: 50).
Only the archives of plain bytes are read; those of pickled objects are refused by not being asked for.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.data.dataset import DATASETS, Schema, TableDataset
from harness.data.sources import RawFile, Source
from harness.errors import AboutDataset

LABEL, PIXELS = "class", "pixels"
SIDE, CHANNELS = 32, 3
PIXEL_BYTES = SIDE * SIDE * CHANNELS
ADDRESS = "https://www.cs.toronto.edu/~kriz/"
ARCHIVE_ERRORS = (tarfile.TarError, EOFError, OSError)


def image_table(labels: Array, pixels: Array) -> pd.DataFrame:
    """The canonical table of images (n, 32, 32, 3) uint8 and their classes (n,)."""
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(len(labels), -1)
    return pd.DataFrame({LABEL: labels.astype(np.uint8), PIXELS: [row.tobytes() for row in rows]})


def pixels_of(table: pd.DataFrame) -> Array:
    """Pixels (n, 3072) uint8 of a canonical table."""
    return np.frombuffer(b"".join(table[PIXELS]), np.uint8).reshape(len(table), -1)


def planes_to_pixels(planes: Array) -> Array:
    """Images stored as a red, a green and a blue plane, (n, 3072), as (n, 32, 32, 3)."""
    return planes.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)


def principal_components(pixels: Array, count: int) -> Array:
    """Scores (n, count) float32 on the first principal components of pixels (n, d) between 0 and 1.

    A component's sign is free: the entry of its direction that is largest in size is made positive.
    """
    from sklearn.decomposition import PCA

    values = pixels.astype(np.float32)
    values /= 255
    with threadpool_limits(limits=1):
        solver = "covariance_eigh" if len(values) > values.shape[1] else "full"
        found = PCA(count, svd_solver=solver).fit(values)
        largest = np.abs(found.components_).argmax(axis=1)
        signs = np.sign(found.components_[np.arange(count), largest])
        directions = np.ascontiguousarray((found.components_ * signs[:, None]).T, dtype=np.float32)
        return np.asarray((values - found.mean_.astype(np.float32)) @ directions, dtype=np.float32)


class Images(TableDataset):
    """Images of 32 x 32 pixels, as principal components or as pixels."""

    components: int | None = Field(default=50, ge=1, le=PIXEL_BYTES)
    """Principal components that models see, of the pixels of all images; null: the pixels, between 0 and 1."""

    def schema_of_table(self) -> Schema:
        return Schema(LABEL, ())

    @classmethod
    def digest(cls, frame: pd.DataFrame) -> str:
        """SHA-256 of the classes and of the pixels, one byte each."""
        found = hashlib.sha256(",".join(frame.columns).encode())
        found.update(frame[LABEL].to_numpy(np.uint8).tobytes())
        for row in frame[PIXELS]:
            found.update(row)
        return found.hexdigest()

    def derivation(self) -> dict[str, Any] | None:
        return {"components": self.components}

    def derive(self, table: pd.DataFrame) -> pd.DataFrame:
        pixels = pixels_of(table)
        if self.components is None:
            values, letter = pixels.astype(np.float32) / 255, "x"
        else:
            values, letter = principal_components(pixels, self.components), "pc"
        columns = [f"{letter}{i:04d}" for i in range(values.shape[1])]
        labels = pd.DataFrame({LABEL: table[LABEL].to_numpy()})
        return pd.concat([labels, pd.DataFrame(values, columns=columns)], axis=1)


@DATASETS.register
class Cifar100(Images):
    """60,000 photographs of 100 kinds of things (Krizhevsky 2009), training and test images together."""

    kind: Literal["cifar100"] = "cifar100"
    display: ClassVar[str] = "CIFAR-100"
    sources: ClassVar[tuple[Source, ...]] = (
        Source("Toronto", (RawFile("cifar-100-binary.tar.gz", ADDRESS + "cifar-100-binary.tar.gz"),)),
    )
    images_a_class: ClassVar[dict[str, int]] = {"train.bin": 500, "test.bin": 100}
    """Images of each class in each file; in this order they follow each other in the table."""
    names_file: ClassVar[str] = "fine_label_names.txt"
    classes: ClassVar[int] = 100
    groups: ClassVar[int] = 20

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Read the published archive: records of group, class, and three planes of pixels.

        Raises HarnessError for an archive that is damaged, cut short, or not of the published form.
        """
        ((name, path),) = files.items()
        found: dict[str, bytes] = {}
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    base = PurePosixPath(member.name).name
                    stream = archive.extractfile(member) if member.isreg() else None
                    if stream is not None and base in (*cls.images_a_class, cls.names_file):
                        found[base] = stream.read()
        except ARCHIVE_ERRORS as error:
            raise AboutDataset(f"{name}: not a readable archive: {error}") from None
        for wanted in (*cls.images_a_class, cls.names_file):
            if wanted not in found:
                raise AboutDataset(f"{name}: no {wanted} in it; the published archive cifar-100-binary.tar.gz has one")
        classes = found[cls.names_file].decode("ascii", "replace").split()
        if len(classes) != cls.classes or classes != sorted(classes):
            raise AboutDataset(f"{name}: {cls.names_file}: not {cls.classes} names of classes in alphabetical order")
        labels, pixels, groups = [], [], []
        for part, each in cls.images_a_class.items():
            records = cls._records(found[part], each, f"{name}: {part}")
            groups.append(records[:, 0])
            labels.append(records[:, 1])
            pixels.append(records[:, 2:])
        label, group = np.concatenate(labels), np.concatenate(groups)
        for one in range(cls.classes):
            if len(of := np.unique(group[label == one])) != 1:
                shown = ", ".join(map(str, of[:5]))
                raise AboutDataset(f"{name}: class {one} is in the groups {shown}; each belongs to one: mislabelled")
        return image_table(label, planes_to_pixels(np.concatenate(pixels)))

    @classmethod
    def _records(cls, data: bytes, each: int, where: str) -> Array:
        size = 2 + PIXEL_BYTES
        expected = each * cls.classes * size
        if len(data) != expected:
            raise AboutDataset(
                f"{where}: {len(data):,} bytes, {expected:,} are right ({size:,} an image): cut or joined"
            )
        records = np.frombuffer(data, np.uint8).reshape(-1, size)
        for column, count, what in ((0, cls.groups, "group"), (1, cls.classes, "class")):
            wrong = np.flatnonzero(records[:, column] >= count)
            if len(wrong):
                raise AboutDataset(
                    f"{where}: image {wrong[0] + 1}: {what} {records[wrong[0], column]}, below {count} is right; "
                    "an image is its group, its class, and its pixels, in this order"
                )
        counts = np.bincount(records[:, 1], minlength=cls.classes)
        if (counts != each).any():
            odd = int(np.flatnonzero(counts != each)[0])
            raise AboutDataset(f"{where}: class {odd} has {counts[odd]} images, {each} are right: mislabelled")
        return records


@DATASETS.register
class Cifar100Substitute(Images):
    """Where CIFAR-100 cannot be had: the 60,000 photographs of CIFAR-10, each of its classes divided into ten.

    Within a class, images are put into ten clusters of equal size by k-means on the principal components after
    `skip`, of all images. Models see the first 50, so how well the clusters can be learnt depends on `skip`;
    it was set so that a regression on 10,000 records of unit length, without privacy, lands near the paper's 0.225
    and 0.155 on members and others.
    """

    kind: Literal["cifar100-substitute"] = "cifar100-substitute"
    display: ClassVar[str] = "substitute for CIFAR-100 (CIFAR-10, classes divided into clusters)"
    stands_in_for: ClassVar[str | None] = "cifar100"
    sources: ClassVar[tuple[Source, ...]] = (
        Source("CIFAR-10 as JPEG files", (RawFile("cifar10-jpeg.tar"),), folder="cifar10_jpeg"),
        Source(
            "Toronto (CIFAR-10)",
            (RawFile("cifar-10-binary.tar.gz", ADDRESS + "cifar-10-binary.tar.gz"),),
            folder="cifar10",
        ),
    )
    classes_before: ClassVar[int] = 10
    clusters: ClassVar[int] = 10
    images: ClassVar[int] = 60000
    skip: ClassVar[int] = 44
    used: ClassVar[int] = 100

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Read CIFAR-10, from JPEG files by class or from the published archive, and divide its classes.

        Raises HarnessError for an archive that is damaged, cut short, or of another form.
        """
        ((name, path),) = files.items()
        read = cls._jpegs if name.endswith(".tar") else cls._binary
        try:
            with tarfile.open(path) as archive:
                labels, pixels = read(archive, name)
        except ARCHIVE_ERRORS as error:
            raise AboutDataset(f"{name}: not a readable archive: {error}") from None
        counts = np.bincount(labels, minlength=cls.classes_before)
        each = cls.images // cls.classes_before
        if len(counts) != cls.classes_before or (counts != each).any():
            raise AboutDataset(
                f"{name}: {len(labels):,} images in classes of {counts.tolist()}, {each:,} each are right"
            )
        return image_table(cls._divided(labels, pixels), pixels)

    @classmethod
    def _jpegs(cls, archive: tarfile.TarFile, name: str) -> tuple[Array, Array]:
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

    @classmethod
    def _binary(cls, archive: tarfile.TarFile, name: str) -> tuple[Array, Array]:
        parts = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
        found: dict[str, Array] = {}
        for member in archive:
            base = PurePosixPath(member.name).name
            stream = archive.extractfile(member) if member.isreg() and base in parts else None
            if stream is not None:
                data = stream.read()
                if not data or len(data) % (1 + PIXEL_BYTES):
                    raise AboutDataset(f"{name}: {base}: {len(data):,} bytes are no whole number of images")
                found[base] = np.frombuffer(data, np.uint8).reshape(-1, 1 + PIXEL_BYTES)
        missing = [part for part in parts if part not in found]
        if missing:
            raise AboutDataset(f"{name}: no {', '.join(missing)} in it; cifar-10-binary.tar.gz has them")
        records = np.concatenate([found[part] for part in parts])
        return records[:, 0].astype(np.int64), planes_to_pixels(records[:, 1:])

    @classmethod
    def _divided(cls, labels: Array, pixels: Array) -> Array:
        flat = pixels.reshape(len(pixels), -1)
        scores = coarse_scores(flat, min(cls.skip + cls.used, *flat.shape))[:, cls.skip :]
        found = np.zeros(len(labels), np.int64)
        for one in range(cls.classes_before):
            rows = np.flatnonzero(labels == one)
            found[rows] = one * cls.clusters + balanced_clusters(scores[rows], cls.clusters, one)
        return found


def coarse_scores(pixels: Array, count: int) -> Array:
    """Scores (n, count) float64 on the first principal components, the same on every machine.

    The covariance is of whole numbers, and exact; scores are rounded to 2^-20, far above what processors differ in, so
    what is drawn from them does not depend on who computes it.
    """
    values = pixels.astype(np.float64)  # sums of products of bytes stay below 2^53, so their order does not matter
    with threadpool_limits(limits=1):
        total = values.sum(axis=0)
        covariance = (values.T @ values - np.outer(total, total) / len(values)) / len(values)
        _, directions = np.linalg.eigh(covariance)
        directions = directions[:, ::-1][:, :count]
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(count)])
        scores = (values - total / len(values)) @ directions / 255
    return np.asarray(np.round(scores * 2**20) / 2**20)


def balanced_clusters(points: Array, count: int, seed: int) -> Array:
    """Clusters (n,) of equal size: k-means, then each point goes to the nearest centre that has room.

    Points that have most to lose by another centre choose first. Sizes differ by one where `count` does not divide n.
    """
    from sklearn.cluster import KMeans

    with threadpool_limits(limits=1):
        centres = KMeans(count, n_init=1, random_state=seed).fit(points)
        distances = np.round(centres.transform(points) * 2**20) / 2**20
    nearest = np.sort(distances, axis=1)
    found = np.full(len(points), -1)
    room = [len(points) // count + (i < len(points) % count) for i in range(count)]
    wishes = np.argsort(distances, axis=1, kind="stable")
    for point in np.argsort(nearest[:, 0] - nearest[:, 1], kind="stable"):
        for centre in map(int, wishes[point]):
            if room[centre]:
                found[point] = centre
                room[centre] -= 1
                break
    return found
