"""The two-dimensional scattering transform (Mallat 2012; Oyallon and Mallat 2015), on which linear models compare well.

An image is filtered by wavelets of several scales and angles, its modulus is taken, that is filtered by the wavelets of
larger scales, and everything is averaged over 2^scales pixels. Filters are kymatio's, so that its results are had
(docs/scattering.md); that package itself asks for a SciPy that is older than this project's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import scipy
from pydantic import Field

from harness.arrays import Array
from harness.config import Config

# The number of angles of a wavelet.
ANGLES = 8
BATCH = 250
"""Images that are transformed at a time."""
EPSILON = 1e-5
"""Added to a group's variance, as in PyTorch's GroupNorm."""


class Scattering(Config):
    """The way by which images become scattering features."""

    scales: int = Field(default=2, ge=1, le=4)
    """J: averages are over 2^J pixels, at which the image is sampled."""
    pooled: int = Field(default=1, ge=1)
    """Means of so many by so many places are taken in place of each: fewer features, at some cost in accuracy."""
    groups: int | None = Field(default=27, ge=1)
    """Channels are put into so many groups, and each group of a record to mean 0 and variance 1 (GroupNorm; 27 of them
    in Tramèr and Boneh 2020): a function of the record alone, so it costs no privacy. null: as they come."""


def channels(scales: int, colours: int = 1) -> int:
    """The number of paths of order 0, 1 and 2, of all colours.

    >>> channels(2), channels(2, colours=3)
    (81, 243)
    """
    return colours * (1 + ANGLES * scales + ANGLES**2 * scales * (scales - 1) // 2)


def gabor(size: tuple[int, int], sigma: float, angle: float, frequency: float, slant: float) -> Array:
    """A Gabor filter, complex (rows, columns), periodic over `size`.

    It is a Gaussian envelope, wider by 1 / `slant` across the wave than along it, times a wave.
    """
    rows, columns = (np.arange(-2 * n, 3 * n, dtype=np.float64) for n in size)
    x, y = rows[:, None], columns[None, :]
    along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    values = np.exp(-(along**2 + (slant * across) ** 2) / (2 * sigma**2) + 1j * frequency * along)
    folded: Array = values.reshape(5, size[0], 5, size[1]).sum(axis=(0, 2))
    return folded * slant / (2 * math.pi * sigma**2)


def morlet(size: tuple[int, int], scale: int, angle: float) -> Array:
    """The wavelet of a scale: a Gabor filter less what makes its sum differ from zero."""
    sigma, slant = 0.8 * 2**scale, 4.0 / ANGLES
    wave = gabor(size, sigma, angle, 3 * math.pi / 4 / 2**scale, slant)
    envelope = gabor(size, sigma, angle, 0.0, slant)
    wavelet: Array = wave - envelope * (wave.sum() / envelope.sum())
    return wavelet


def in_frequency(values: Array) -> Array:
    """The Fourier transform of a filter, which is real."""
    return np.ascontiguousarray(scipy.fft.fft2(values).real, dtype=np.float32)


def coarsen(transform: Array, by: int) -> Array:
    """The transform of a filter for images sampled at every `by`-th pixel, without the high frequencies."""
    kept = transform.copy()
    for axis, n in enumerate(transform.shape):
        if by > 1:
            high = slice(n // (2 * by), n // (2 * by) + n - n // by)
            kept[(slice(None),) * axis + (high,)] = 0
    rows, columns = (n // by for n in transform.shape)
    coarse: Array = kept.reshape(by, rows, by, columns).sum(axis=(0, 2))
    return coarse


def subsample(transforms: Array, by: int) -> Array:
    """The transforms of images, of whose transforms (n, rows, columns) are given, sampled at every `by`-th pixel."""
    n, rows, columns = transforms.shape
    subsampled: Array = transforms.reshape(n, by, rows // by, by, columns // by).mean(axis=(1, 3))
    return subsampled


@lru_cache(maxsize=4)
def filters(size: tuple[int, int], scales: int) -> tuple[dict[tuple[int, int], list[Array]], list[Array]]:
    """The transforms of wavelets, by scale and resolution (a list over angles), and of averages, by resolution."""
    wavelets: dict[tuple[int, int], list[Array]] = {}
    for scale in range(scales):
        angles = [(ANGLES // 2 - 1 - turn) * math.pi / ANGLES for turn in range(ANGLES)]
        whole = [in_frequency(morlet(size, scale, angle)) for angle in angles]
        for resolution in range(scale + 1):
            wavelets[scale, resolution] = [coarsen(w, 2**resolution) for w in whole]
    average = in_frequency(gabor(size, 0.8 * 2 ** (scales - 1), 0.0, 0.0, 1.0))
    return wavelets, [coarsen(average, 2**resolution) for resolution in range(scales)]


def scatter(images: Array, scales: int = 2) -> Array:
    """The scattering coefficients (n, channels, h / 2^scales, w / 2^scales) float32 of images (n, h, w).

    Channels are the average, then of each wavelet its modulus and those of the wavelets of larger scales upon it.
    Borders are reflected. Raises ValueError for sides that 2^scales does not divide.
    """
    step, (n, h, w) = 2**scales, images.shape
    if h % step or w % step:
        raise ValueError(f"images of {h} x {w} pixels cannot be averaged over {step} x {step}")
    coefficients = np.empty((n, channels(scales), h // step, w // step), np.float32)
    for start in range(0, n, BATCH):
        for place, values in enumerate(_in_order(images[start : start + BATCH], scales)):
            coefficients[start : start + BATCH, place] = values
    return coefficients


def _in_order(images: Array, scales: int) -> Iterator[Array]:
    """The coefficients of one channel after another, (n, h / 2^scales, w / 2^scales) each."""
    step = 2**scales
    size = tuple(((n + step) // step + 1) * step for n in images.shape[1:])
    extra = [(big - n) for big, n in zip(size, images.shape[1:], strict=True)]
    padding = [(0, 0), *((e // 2, (e + 1) // 2) for e in extra)]
    whole = scipy.fft.fft2(np.pad(images.astype(np.float32), padding, mode="reflect"), workers=-1)
    wavelets, averages = filters((size[0], size[1]), scales)

    def average(transforms: Array, resolution: int) -> Array:
        low = scipy.fft.ifft2(subsample(transforms * averages[resolution], 2 ** (scales - resolution)), workers=-1)
        kept: Array = low.real[:, 1:-1, 1:-1]
        return kept

    def modulus(transforms: Array, wavelet: Array, by: int) -> Array:
        spectrum: Array = scipy.fft.fft2(
            np.abs(scipy.fft.ifft2(subsample(transforms * wavelet, by), workers=-1)), workers=-1
        )
        return spectrum

    first = [(scale, modulus(whole, wavelet, 2**scale)) for scale in range(scales) for wavelet in wavelets[scale, 0]]
    yield average(whole, 0)
    for scale, transforms in first:
        yield average(transforms, scale)
    for scale, transforms in first:
        for larger in range(scale + 1, scales):
            for wavelet in wavelets[larger, scale]:
                yield average(modulus(transforms, wavelet, 2 ** (larger - scale)), larger)


def average_pool(maps: Array, by: int) -> Array:
    """The means over `by` x `by` places of maps (n, channels, h, w).

    Raises ValueError for sides that `by` does not divide.
    """
    n, k, h, w = maps.shape
    if h % by or w % by:
        raise ValueError(f"maps of {h} x {w} places cannot be averaged over {by} x {by}")
    pooled: Array = maps.reshape(n, k, h // by, by, w // by, by).mean(axis=(3, 5))
    return pooled


def group_normalised(maps: Array, groups: int) -> Array:
    """The maps with each group of channels of each record at mean 0 and variance 1 (Wu and He 2018).

    No scales are learnt.

    Raises ValueError where the groups do not divide the channels.
    """
    n, k = maps.shape[:2]
    if k % groups:
        raise ValueError(f"{k} channels cannot be put into {groups} groups of equal size")
    values = maps.reshape(n, groups, -1)
    centred = values - values.mean(axis=2, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + EPSILON)
    normalised: Array = (centred / spread).reshape(maps.shape)
    return normalised


def features(images: Array, how: Scattering) -> Array:
    """The features (n, d) float32 of images (n, h, w, colours): channels of the first colour, then of the next.

    Raises ValueError where sides or channels cannot be divided as asked.
    """
    n, colours = len(images), images.shape[3]
    parts: list[Array] = []
    for start in range(0, n, BATCH):
        batch = images[start : start + BATCH]
        maps = np.concatenate([scatter(batch[..., c], how.scales) for c in range(colours)], axis=1)
        maps = average_pool(maps, how.pooled)
        if how.groups is not None:
            maps = group_normalised(maps, how.groups)
        parts.append(maps.reshape(len(maps), -1).astype(np.float32))
    return np.concatenate(parts)
