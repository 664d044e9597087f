"""The scattering transform against kymatio's own numbers, and its properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.arrays import Array
from harness.data.scattering import Scattering, average_pool, channels, features, group_normalised, scatter

CHANNELS = (0, 1, 5, 9, 16, 17, 40, 80)


def image(side: int, colour: int) -> Array:
    """A picture that a formula gives, so that another program can be asked about it."""
    r, s = np.arange(side)[:, None], np.arange(side)[None, :]
    values = 0.5 + 0.3 * np.sin(0.37 * r + 0.11 * s * s / side + colour) + 0.2 * np.cos(0.9 * s - 0.05 * r * colour)
    return values.astype(np.float32)


@pytest.mark.parametrize(
    ("side", "scales", "expected", "total"),
    [
        (28, 2, (0.390691, 0.026211, 0.02009, 0.038513, 0.083086, 0.003456, 0.001415, 0.001303), 56.439796),
        (32, 2, (0.407236, 0.026284, 0.020857, 0.038696, 0.083319, 0.003307, 0.001464, 0.001312), 72.705177),
        (32, 3, (0.628061, 0.031188, 0.013524, 0.045102, 0.085033, 0.017936, 0.000433, 0.00007), 26.045198),
    ],
)
def test_coefficients_are_kymatios(side: int, scales: int, expected: tuple[float, ...], total: float) -> None:
    """Printed by kymatio 0.3.0 (docs/scattering.md), which takes 3.1415 for pi: 3e-5 of the largest."""
    result = scatter(image(side, 0)[None], scales)[0]
    assert result.shape == (channels(scales), side // 2**scales, side // 2**scales)
    assert result[list(CHANNELS), 2, 3] == pytest.approx(expected, rel=3e-4, abs=2e-6)
    assert float(result.sum()) == pytest.approx(total, rel=1e-4)


def test_many_images_are_transformed_as_one_is() -> None:
    images = np.stack([image(16, c % 7) for c in range(260)])  # more than a batch
    whole = scatter(images)
    for place in (0, 249, 250, 259):
        assert np.allclose(whole[place], scatter(images[place][None])[0], atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.1, 5), st.integers(0, 100))
def test_it_is_homogeneous_and_wavelets_do_not_see_the_mean(factor: float, seed: int) -> None:
    values = np.random.default_rng(seed).random((1, 16, 16)).astype(np.float32)
    result = scatter(values)
    assert np.allclose(scatter(values * np.float32(factor)), factor * result, rtol=1e-3, atol=1e-5)
    lifted = scatter(values + np.float32(2))
    assert np.allclose(lifted[:, 0], result[:, 0] + 2, atol=1e-3)
    assert np.allclose(lifted[:, 1:], result[:, 1:], atol=1e-4)
    assert (result[:, 1:] > -1e-4).all()  # averages of moduli


def test_groups_have_mean_zero_and_variance_one() -> None:
    maps = np.random.default_rng(0).gamma(2.0, 1.0, (5, 12, 3, 3))
    result = group_normalised(maps, 4)
    for record in range(5):
        for group in range(4):
            block = maps[record, 3 * group : 3 * group + 3]
            expected = (block - block.mean()) / np.sqrt(block.var() + 1e-5)
            assert result[record, 3 * group : 3 * group + 3] == pytest.approx(expected)
    assert average_pool(maps[..., :2, :2], 2)[3, 7, 0, 0] == pytest.approx(maps[3, 7, :2, :2].mean())


def test_colours_follow_each_other_and_pooling_makes_features_fewer() -> None:
    images = np.stack([np.stack([image(16, c), image(16, c + 1)], axis=-1) for c in range(3)])
    plain = features(images, Scattering(groups=None))
    assert plain.shape == (3, 2 * 81 * 16)
    assert plain[:, : 81 * 16] == pytest.approx(scatter(images[..., 0]).reshape(3, -1))
    assert features(images, Scattering(groups=27, pooled=2)).shape == (3, 2 * 81 * 4)


def test_what_does_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="30 x 30 pixels cannot be averaged over 4 x 4"):
        scatter(np.zeros((1, 30, 30)))
    with pytest.raises(ValueError, match="12 channels cannot be put into 5 groups"):
        group_normalised(np.zeros((1, 12, 2, 2)), 5)
    with pytest.raises(ValueError, match="7 x 7 places cannot be averaged over 2 x 2"):
        average_pool(np.zeros((1, 3, 7, 7)), 2)
