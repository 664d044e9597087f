"""The table that stands in for Texas-100."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from harness.data.datasets.texas_substitute import (
    FREQUENCY,
    LEVELS,
    SEED,
    SIZES,
    SPREAD,
    UNLIKE,
    VARIETY,
    TexasSubstitute,
    chances,
)
from harness.hashing import generator


class Part(TexasSubstitute):
    """The first stays of it."""

    kind: str = "part"  # type: ignore[assignment]
    rows: ClassVar[int] = 4000


def test_features_are_set_as_the_stated_distribution_says() -> None:
    limits = chances(generator(SEED, "texas100-substitute"), 100, 6169, SPREAD) / LEVELS
    odds = np.log(limits / (1 - limits))
    common = odds.mean(axis=0)
    assert abs(common.mean() - FREQUENCY) < 4 * VARIETY / np.sqrt(6169)
    assert abs(common.std() - VARIETY) < 0.08
    assert abs((odds - common).std() - SPREAD) < 0.01
    frame = Part.parse({})
    assert frame.shape == (4000, 6170)
    labels, bits = frame["class"].to_numpy(), frame.iloc[:, 1:].to_numpy()
    assert set(labels) == set(range(1, 101))
    # A kind is that of the stay's procedure, or of any stay's: of each procedure and feature, a known share has it.
    weights = np.array(SIZES) / sum(SIZES)
    shares = (1 - UNLIKE) * limits + UNLIKE * weights @ limits
    members = np.bincount(labels, minlength=101)[1:]
    expected = shares * members[:, None]
    result = np.stack([bits[labels == c + 1].sum(axis=0) for c in range(100)])
    likely = expected > 2
    deviations = ((result - expected) / np.sqrt(expected))[likely]
    assert abs(deviations.mean()) < 0.02
    assert deviations.std() < 1.2
    assert result[~likely].sum() == pytest.approx(expected[~likely].sum(), rel=0.02)
    # Without that share the rates of kinds would be farther from what is found.
    kinds_alone = limits * members[:, None]
    assert ((result - kinds_alone)[likely] ** 2).sum() > 1.2 * ((result - expected)[likely] ** 2).sum()


@pytest.mark.slow
def test_it_is_the_same_wherever_it_is_drawn() -> None:
    frame = TexasSubstitute.parse({})
    assert frame.shape == (67330, 6170)
    assert np.array_equal(np.bincount(frame["class"], minlength=101)[1:], SIZES)
    assert TexasSubstitute.digest(frame) == TexasSubstitute.canonical_sha256
