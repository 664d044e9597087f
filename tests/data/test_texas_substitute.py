"""The table that stands in for Texas-100."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from harness.data.datasets.texas_substitute import (
    FREQUENCY,
    LEVELS,
    SEED,
    SPREAD,
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
    # Of each class and feature, the number of stays that have it is binomial.
    members = np.bincount(labels, minlength=101)[1:]
    expected = limits * members[:, None]
    found = np.stack([bits[labels == c + 1].sum(axis=0) for c in range(100)])
    likely = expected > 2
    deviations = ((found - expected) / np.sqrt(expected * (1 - limits)))[likely]
    assert abs(deviations.mean()) < 4 / np.sqrt(likely.sum())
    assert deviations.std() == pytest.approx(1, abs=0.02)
    assert found[~likely].sum() == pytest.approx(expected[~likely].sum(), rel=0.02)


@pytest.mark.slow
def test_it_is_the_same_wherever_it_is_drawn() -> None:
    frame = TexasSubstitute.parse({})
    assert frame.shape == (67330, 6170)
    assert TexasSubstitute.digest(frame) == TexasSubstitute.canonical_sha256
