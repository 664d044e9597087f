"""The Gaussian profile against mpmath, dp-accounting's PLD, and the definition."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.formulas.gaussian import (
    _epsilon_of_largest,
    epsilon_of_mu,
    gaussian_delta,
    least_shuffled_epsilon,
    shuffled_epsilon,
    whole_batches,
)
from harness.privacy.accountants import ACCOUNTANTS
from harness.privacy.accountants.accountant import Run
from harness.training.batches import batches
from harness.training.settings import Training


@given(st.floats(0.01, 30), st.floats(0.05, 8))
def test_delta_agrees_with_forty_digits(epsilon: float, mu: float) -> None:
    with mpmath.workdps(40):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    assert gaussian_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-6, abs=1e-13)


@given(st.floats(0.1, 100), st.sampled_from([1e-5, 1e-3]))
def test_epsilon_inverts_delta(mu: float, delta: float) -> None:
    result = epsilon_of_mu(mu, delta)
    assert gaussian_delta(result, mu) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("noise", "epochs"), [(1.0, 1), (4.0, 10), (20.0, 100)])
def test_it_is_what_exact_accounting_gives(noise: float, epochs: int) -> None:
    import dp_accounting as dpa

    for replace in (False, True):
        accountant = dpa.pld.PLDAccountant()
        accountant.compose(dpa.GaussianDpEvent(noise / (2 if replace else 1)), epochs)
        assert shuffled_epsilon(noise, epochs, 1e-5, replace) == pytest.approx(accountant.get_epsilon(1e-5), rel=2e-3)


def test_extremes() -> None:
    assert shuffled_epsilon(0.0, 100, 1e-5) == math.inf
    assert epsilon_of_mu(0.0, 1e-5) == 0.0
    assert gaussian_delta(1.0, math.inf) == 1.0
    assert epsilon_of_mu(1e-6, 1e-5) == 0.0
    assert epsilon_of_mu(math.inf, 1e-5) == math.inf


def test_of_one_batch_both_sides_are_the_exact_epsilon() -> None:
    for sigma in (0.3, 1.0, 5.0):
        for replace in (False, True):
            exact = shuffled_epsilon(sigma, 1, 1e-5, replace)
            assert least_shuffled_epsilon(sigma, 1, 1, 1e-5, replace) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("sigma", "batches", "pair"), [(1.0, 4, (2, 1)), (0.6, 7, (1, 0)), (1.6, 5, (2, 0))])
def test_the_largest_sum_of_an_epoch_shows_as_much_where_it_is_drawn(
    sigma: float, batches: int, pair: tuple[int, int]
) -> None:
    """Two million epochs with the record and as many without it, at delta 0.01: the best threshold on the largest sum."""
    rng, delta, n = np.random.default_rng(7), 0.01, 2_000_000
    largest = []
    for shift in pair:
        sums = sigma * rng.standard_normal((n, batches), dtype=np.float32)
        sums[:, 0] += shift  # which batch has it does not matter to the largest
        largest.append(np.sort(sums.max(axis=1)))
    cuts = np.linspace(largest[0][0], largest[0][-1], 400)
    above = [1 - np.searchsorted(one, cuts) / n for one in largest]
    often = above[1] > 1e-4  # 200 of them: a rate that is known to 7%
    seen = np.log(np.maximum(above[0] - delta, 1e-12)[often] / above[1][often]).max()
    shown = _epsilon_of_largest(sigma, batches, delta, *map(float, pair))
    assert shown == pytest.approx(seen, abs=0.1)
    assert least_shuffled_epsilon(sigma, batches, 1, delta, pair == (2, 0)) >= shown


@given(st.floats(0.2, 50), st.integers(1, 500), st.integers(1, 200), st.sampled_from([1e-3, 1e-5, 1e-7]), st.booleans())
def test_what_is_known_from_below_is_never_above(
    sigma: float, batches: int, epochs: int, delta: float, replace: bool
) -> None:
    least = least_shuffled_epsilon(sigma, batches, epochs, delta, replace)
    assert 0 <= least <= shuffled_epsilon(sigma, epochs, delta, replace) * (1 + 1e-9)
    assert least_shuffled_epsilon(sigma, batches, epochs + 1, delta, replace) >= least * (1 - 1e-9)


def test_batches_are_whole_where_every_record_is_trained_on_in_each_epoch() -> None:
    """As they are cut for training: otherwise no bound from below is known."""
    for n, size in ((2059, 200), (10000, 200), (12, 5), (12, 12)):
        training = Training(epochs=1, batch_size=size)
        trained = np.unique(batches(n, training, seed=1))
        assert (whole_batches(n, size) is not None) == (len(trained[trained >= 0]) == n)
    assert ACCOUNTANTS["gaussian"].sides(7.0, Run(2059, 200, 100, 1e-5)).low == 0.0
    assert ACCOUNTANTS["gaussian"].sides(7.0, Run(2000, 200, 100, 1e-5)).low > 0.0
