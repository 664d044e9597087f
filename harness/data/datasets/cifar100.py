"""CIFAR-100 from the archive that its authors publish, and a substitute of its shape made from CIFAR-10.

Models see the principal components of the pixels (jayaraman2019 Section 4.1: 50). Only the archives of plain bytes are
read; those of pickled objects are refused by not being asked for.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.datasets.cifar10 import (
    ADDRESS,
    ARCHIVE_ERRORS,
    AS_JPEG,
    AS_PUBLISHED,
    PIXEL_BYTES,
    planes_to_pixels,
    read_cifar10,
)
from harness.data.images import Images, image_table, sorted_images
from harness.data.sources import RawFile, Source
from harness.errors import AboutDataset


@DATASETS.register
class Cifar100(Images):
    """60,000 photographs of 100 kinds of things (Krizhevsky 2009), training and test images together."""

    kind: Literal["cifar100"] = "cifar100"
    display: ClassVar[str] = "CIFAR-100"
    sources: ClassVar[tuple[Source, ...]] = (
        Source("Toronto", (RawFile("cifar-100-binary.tar.gz", ADDRESS + "cifar-100-binary.tar.gz"),)),
    )
    images_a_class: ClassVar[dict[str, int]] = {"train.bin": 500, "test.bin": 100}
    """Images of each class in each file."""
    names_file: ClassVar[str] = "fine_label_names.txt"
    classes: ClassVar[int] = 100
    groups: ClassVar[int] = 20

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """Read the published archive: records of group, class, and three planes of pixels.

        Raises HarnessError for an archive that is damaged, cut short, or not of the published form.
        """
        ((name, path),) = files.items()
        contents: dict[str, bytes] = {}
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    base = PurePosixPath(member.name).name
                    stream = archive.extractfile(member) if member.isreg() else None
                    if stream is not None and base in (*cls.images_a_class, cls.names_file):
                        contents[base] = stream.read()
        except ARCHIVE_ERRORS as error:
            raise AboutDataset(f"{name}: not a readable archive: {error}") from None
        for wanted in (*cls.images_a_class, cls.names_file):
            if wanted not in contents:
                raise AboutDataset(f"{name}: no {wanted} in it; the published archive cifar-100-binary.tar.gz has one")
        classes = contents[cls.names_file].decode("ascii", "replace").split()
        if len(classes) != cls.classes or classes != sorted(classes):
            raise AboutDataset(f"{name}: {cls.names_file}: not {cls.classes} names of classes in alphabetical order")
        labels, pixels, groups = [], [], []
        for part, each in cls.images_a_class.items():
            records = cls._records(contents[part], each, f"{name}: {part}")
            groups.append(records[:, 0])
            labels.append(records[:, 1])
            pixels.append(records[:, 2:])
        label, group = np.concatenate(labels), np.concatenate(groups)
        for one in range(cls.classes):
            if len(of := np.unique(group[label == one])) != 1:
                shown = ", ".join(map(str, of[:5]))
                raise AboutDataset(f"{name}: class {one} is in the groups {shown}; each belongs to one: mislabelled")
        return sorted_images(label, planes_to_pixels(np.concatenate(pixels)))

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
    sources: ClassVar[tuple[Source, ...]] = (AS_JPEG, AS_PUBLISHED)
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
        labels, pixels = read_cifar10(files, cls.images, cls.classes_before)
        return image_table(cls._divided(labels, pixels), pixels)

    @classmethod
    def _divided(cls, labels: Array, pixels: Array) -> Array:
        flat = pixels.reshape(len(pixels), -1)
        scores = coarse_scores(flat, min(cls.skip + cls.used, *flat.shape))[:, cls.skip :]
        classes = np.zeros(len(labels), np.int64)
        for one in range(cls.classes_before):
            rows = np.flatnonzero(labels == one)
            classes[rows] = one * cls.clusters + balanced_clusters(scores[rows], cls.clusters, one)
        return classes


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
    clusters = np.full(len(points), -1)
    room = [len(points) // count + (i < len(points) % count) for i in range(count)]
    wishes = np.argsort(distances, axis=1, kind="stable")
    for point in np.argsort(nearest[:, 0] - nearest[:, 1], kind="stable"):
        for centre in map(int, wishes[point]):
            if room[centre]:
                clusters[point] = centre
                room[centre] -= 1
                break
    return clusters
