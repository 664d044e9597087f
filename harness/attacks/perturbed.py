"""Copies of records with small random changes: bits flipped, or Gaussian noise on every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from harness.arrays import Array
from harness.defences import Oracle

Perturbation = Literal["flip", "gaussian"]
ROWS = 8192
"""Copies asked about at a time."""


def label_counts(
    oracle: Oracle, features: Array, copies: int, by: Perturbation, scale: float, rng: np.random.Generator
) -> Array:
    """How many of a record's copies are answered with each class: features (k, d) to (k, n_classes) integers.

    This is Algorithm 1 of rahimian2021 times N. `by: flip` changes each bit with probability `scale`; `gaussian` adds
    noise of that standard deviation. Asks the oracle exactly k * copies times.
    """
    counts = np.zeros((len(features), oracle.n_classes), dtype=np.int64)
    for first, last, repeated in _slices(len(features), copies):
        rows = np.repeat(np.arange(first, last), repeated)
        changed = np.repeat(features[first:last].astype(np.float32), repeated, axis=0)
        _change(changed, by, scale, rng)
        low, width = first * oracle.n_classes, (last - first) * oracle.n_classes
        places = rows * oracle.n_classes + oracle.labels(changed) - low
        counts.reshape(-1)[low : low + width] += np.bincount(places, minlength=width)
    return counts


def _slices(records: int, copies: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of records, and how many copies of each at a time."""
    if copies >= ROWS:
        for record in range(records):
            for start in range(0, copies, ROWS):
                yield record, record + 1, min(ROWS, copies - start)
        return
    step = max(1, ROWS // copies)
    for first in range(0, records, step):
        yield first, min(records, first + step), copies


def perturb(features: Array, by: Perturbation, scale: float, rng: np.random.Generator) -> Array:
    """A changed copy of features (k, d) float32: bits become their opposite, or numbers are moved."""
    changed = np.array(features, dtype=np.float32, order="C")
    _change(changed, by, scale, rng)
    return changed


def _change(records: Array, by: Perturbation, scale: float, rng: np.random.Generator) -> None:
    if by == "gaussian":
        noise = rng.standard_normal(records.shape, dtype=np.float32)
        noise *= np.float32(scale)
        records += noise
        return
    bits = records.reshape(-1)
    at = draw_places(bits.size, scale, rng)
    bits[at] = 1 - bits[at]


def draw_places(n: int, probability: float, rng: np.random.Generator) -> Array:
    """Places below n of which each is there with this probability, independently: sorted integers.

    Drawn by the gaps between them, which are geometric, so the work is in proportion to how many there are.
    """
    if probability <= 0:
        return np.zeros(0, dtype=np.int64)
    if probability >= 1:
        return np.arange(n)
    drawn: list[Array] = []
    last, rate = -1, -np.log1p(-probability)
    while last < n:
        expected = (n - last) * probability
        # Whole steps of an exponential variable are geometric.
        gaps = rng.standard_exponential(size=int(expected + 4 * np.sqrt(expected + 1)) + 1)
        gaps /= rate
        places = np.floor(gaps, out=gaps).astype(np.int64)
        places += 1
        np.cumsum(places, out=places)
        places += last
        drawn.append(places)
        last = int(places[-1])
    places = drawn[0] if len(drawn) == 1 else np.concatenate(drawn)
    kept: Array = places[: np.searchsorted(places, n)]
    return kept
