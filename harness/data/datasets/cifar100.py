"""CIFAR-100 from the archive that its authors publish.

Models see the principal components of the pixels (jayaraman2019 Section 4.1: 50). Only the archives of plain bytes are
read; those of pickled objects are refused by not being asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.dataset import DATASETS
from harness.data.datasets.cifar10 import ADDRESS, PIXEL_BYTES, planes_to_pixels
from harness.data.images import Images, sorted_images
from harness.data.sources import RawFile, Source, read_members
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
        contents = read_members(path, (*cls.images_a_class, cls.names_file))
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
