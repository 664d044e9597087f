"""Datasets of images, in one canonical form, and what models see of them.

The canonical table has one row an image: its class and its pixels as bytes, row by row, the colours of a pixel
together. The table in use holds pixels, their principal components, or scattering coefficients, and is kept on disk.
"""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, model_validator
from threadpoolctl import threadpool_limits

from harness.arrays import Array
from harness.data.dataset import Schema, TableDataset
from harness.data.scattering import Scattering, channels, features
from harness.errors import DatasetError

# The columns of a canonical table.
LABEL, PIXELS = "class", "pixels"


def image_table(labels: Array, pixels: Array) -> pd.DataFrame:
    """The canonical table of images (n, height, width, colours) uint8 and their classes (n,)."""
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(len(labels), -1)
    return pd.DataFrame({LABEL: labels.astype(np.uint8), PIXELS: [row.tobytes() for row in rows]})


def sorted_images(labels: Array, pixels: Array) -> pd.DataFrame:
    """The canonical table of images (n, height, width, colours) uint8 and their classes (n,), in an order of their own.

    Images are sorted by class and then by the SHA-256 of their pixels: the table, and so the splits, are the same in
    whatever order an archive has its images.
    """
    table = image_table(labels, pixels)
    digests = [hashlib.sha256(image).digest() for image in table[PIXELS]]
    order = sorted(range(len(table)), key=lambda row: (table[LABEL].iat[row], digests[row]))
    return table.iloc[order].reset_index(drop=True)


def pixels_of(table: pd.DataFrame) -> Array:
    """The pixels of a canonical table, (n, height * width * colours) uint8."""
    return np.frombuffer(b"".join(table[PIXELS]), np.uint8).reshape(len(table), -1)


def principal_components(pixels: Array, count: int) -> Array:
    """The scores (n, count) float32 on the first principal components of pixels (n, d), scaled to between 0 and 1.

    A component's sign is free: the entry of its direction that is largest in size is made positive.
    """
    from sklearn.decomposition import PCA

    values = pixels.astype(np.float32)
    values /= 255
    # One thread, since sums depend on how they are cut among threads; a solver that draws no random numbers.
    with threadpool_limits(limits=1):
        solver = "covariance_eigh" if len(values) > values.shape[1] else "full"
        pca = PCA(count, svd_solver=solver).fit(values)
        largest = np.abs(pca.components_).argmax(axis=1)
        signs = np.sign(pca.components_[np.arange(count), largest])
        directions = np.ascontiguousarray((pca.components_ * signs[:, None]).T, dtype=np.float32)
        return np.asarray((values - pca.mean_.astype(np.float32)) @ directions, dtype=np.float32)


class Images(TableDataset):
    """Images of one size, as principal components or as pixels."""

    shape: ClassVar[tuple[int, int, int]] = (32, 32, 3)
    """Height, width and colours."""
    components: int | None = Field(default=50, ge=1)
    """Principal components that models see, of the pixels of all images; null: the pixels, between 0 and 1."""

    @model_validator(mode="after")
    def _as_many(self) -> Images:
        pixels = int(np.prod(self.shape))
        if self.components is not None and self.components > pixels:
            raise ValueError(f"components: {self.components} of {pixels} pixels; at most {pixels} are there")
        return self

    def schema_of_table(self) -> Schema:
        return Schema(LABEL, ())

    @classmethod
    def digest(cls, frame: pd.DataFrame) -> str:
        """The SHA-256 of the classes and of the pixels, one byte each."""
        hasher = hashlib.sha256(",".join(frame.columns).encode())
        hasher.update(frame[LABEL].to_numpy(np.uint8).tobytes())
        for row in frame[PIXELS]:
            hasher.update(row)
        return hasher.hexdigest()

    def derivation(self) -> dict[str, Any] | None:
        return {"components": self.components}

    def derive(self, table: pd.DataFrame) -> pd.DataFrame:
        pixels = pixels_of(table)
        if self.components is None:
            return feature_table(table, pixels.astype(np.float32) / 255, "x")
        return feature_table(table, principal_components(pixels, self.components), "pc")


def feature_table(table: pd.DataFrame, values: Array, letter: str) -> pd.DataFrame:
    """The table in use: the classes of a canonical one, and features (n, d) in columns of a letter and a number."""
    frame = pd.DataFrame(values, columns=[f"{letter}{i:04d}" for i in range(values.shape[1])], copy=False)
    frame.insert(0, LABEL, table[LABEL].to_numpy())
    return frame


class ScatteredImages(Images):
    """Images that models may also see by their scattering coefficients."""

    components: int | None = Field(default=None, ge=1)
    """Principal components that models see, of the pixels of all images; null: the pixels, between 0 and 1."""
    also_decided_by: ClassVar[tuple[str, ...]] = ("harness.data.scattering",)
    scattering: Scattering | None = None
    """Scattering coefficients in place of pixels (Tramèr and Boneh 2020)."""
    normalised: ClassVar[tuple[tuple[float, float], ...] | None] = None
    """Of each colour, the mean and the spread that it is set to before the transform; None: between 0 and 1."""

    @model_validator(mode="after")
    def _check_one_of_both(self) -> ScatteredImages:
        if self.components is not None and self.scattering is not None:
            raise ValueError("components and scattering are two ways to see an image; take one of them away")
        if self.scattering is not None:
            self._check(self.scattering)
        return self

    def _check(self, how: Scattering) -> None:
        """Raise ValueError for sides or channels that cannot be divided as asked."""
        height, width, colours = self.shape
        step, paths = 2**how.scales * how.pooled, channels(how.scales, colours)
        if height % step or width % step:
            raise ValueError(f"scattering: {height} x {width} pixels cannot be averaged over {step} x {step}")
        if how.groups is not None and paths % how.groups:
            raise ValueError(f"scattering.groups: {paths} channels cannot be put into {how.groups} groups of one size")

    def derivation(self) -> dict[str, Any] | None:
        if self.scattering is None:
            return super().derivation()
        return {"scattering": self.scattering.model_dump(mode="json")}

    def derive(self, table: pd.DataFrame) -> pd.DataFrame:
        if self.scattering is None:
            return super().derive(table)
        images = pixels_of(table).reshape(len(table), *self.shape).astype(np.float32) / 255
        for colour, (mean, spread) in enumerate(self.normalised or ()):
            images[..., colour] = (images[..., colour] - mean) / spread
        try:
            return feature_table(table, features(images, self.scattering), "s")
        except MemoryError:
            raise DatasetError(f"{self.name}: scattering features need more memory; raise scattering.pooled") from None
