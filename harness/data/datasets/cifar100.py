"""CIFAR-100 from the archive that its authors publish.

Models see the principal components of the pixels (jayaraman2019 Section 4.1: 50). Only the archives of plain bytes are
read; those of pickled objects are refused by not being asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd

from harness.data.dataset import DATASETS
from harness.data.datasets.cifar10 import ADDRESS, read_images
from harness.data.images import Images
from harness.data.sources import RawFile, Source


@DATASETS.register
class Cifar100(Images):
    """60,000 photographs of 100 kinds of things (Krizhevsky 2009), training and test images together."""

    kind: Literal["cifar100"] = "cifar100"
    display: ClassVar[str] = "CIFAR-100"
    sources: ClassVar[tuple[Source, ...]] = (
        Source("Toronto", (RawFile("cifar-100-binary.tar.gz", ADDRESS + "cifar-100-binary.tar.gz"),)),
    )
    canonical_sha256: ClassVar[str | None] = "98925476d1e005dd4ec1e1d3af91a1a627df82dc98a30b9405db7a2151392c2d"

    @classmethod
    def parse(cls, files: Mapping[str, Path]) -> pd.DataFrame:
        """The canonical table of the archive, where an image begins with its group and its class.

        Raises HarnessError as `read_images` does.
        """
        (path,) = files.values()
        return read_images(path, ("train.bin", "test.bin"), 2)
