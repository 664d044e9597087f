"""The Gaussian profile against mpmath, dp-accounting's PLD, and the definition."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.formulas import presence
from harness.formulas.gaussian import (
    _epsilon_of_largest,
    _epsilon_of_total,
    batches_of_epoch,
    epsilon_of_mu,
    gaussian_delta,
    least_shuffled_epsilon,
    shuffled_epsilon,
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


@pytest.mark.parametrize(
    ("sigma", "batches", "pair", "share"),
    [(1.0, 4, (2, 1), 1.0), (0.6, 7, (1, 0), 1.0), (1.6, 5, (2, 0), 1.0), (1.0, 4, (2, 1), 0.8), (0.6, 7, (1, 0), 0.6)],
)
def test_the_largest_sum_of_an_epoch_shows_as_much_where_it_is_drawn(
    sigma: float, batches: int, pair: tuple[int, int], share: float
) -> None:
    """Two million epochs with the record and as many without it, at delta 0.01: the best threshold on the largest sum."""
    rng, delta, n = np.random.default_rng(7), 0.01, 2_000_000
    largest = []
    for shift in pair:
        sums = sigma * rng.standard_normal((n, batches), dtype=np.float32)
        # Which batch has it does not matter to the largest, nor what an epoch that leaves it out has instead.
        sums[:, 0] += shift * (rng.random(n) < share)
        largest.append(np.sort(sums.max(axis=1)))
    cuts = np.linspace(largest[0][0], largest[0][-1], 400)
    above = [1 - np.searchsorted(one, cuts) / n for one in largest]
    often = above[1] > 1e-4  # 200 of them: a rate that is known to 7%
    seen = np.log(np.maximum(above[0] - delta, 1e-12)[often] / above[1][often]).max()
    shown = _epsilon_of_largest(sigma, batches, delta, *map(float, pair), share)
    assert shown == pytest.approx(seen, abs=0.1)
    assert least_shuffled_epsilon(sigma, batches, 1, delta, pair == (2, 0), share) >= shown


def test_the_total_of_all_epochs_shows_as_much_where_it_is_drawn() -> None:
    """Two million runs of twelve epochs, of which each has the record with chance 0.7."""
    rng, delta, n, epochs, share, deviation = np.random.default_rng(11), 0.01, 2_000_000, 12, 0.7, 12.0
    noise = deviation * rng.standard_normal((2, n))
    with_it, without = np.sort(noise[0] + rng.binomial(epochs, share, n)), np.sort(noise[1])
    cuts = np.linspace(with_it[0], with_it[-1], 400)
    above, above_without = (1 - np.searchsorted(one, cuts) / n for one in (with_it, without))
    often = above_without > 1e-4
    seen = np.log(np.maximum(above - delta, 1e-12)[often] / above_without[often]).max()
    assert _epsilon_of_total(deviation, 1, epochs, share, delta) == pytest.approx(seen, abs=0.1)


@given(
    st.floats(0.2, 50),
    st.integers(1, 500),
    st.integers(1, 200),
    st.sampled_from([1e-3, 1e-5, 1e-7]),
    st.booleans(),
    st.floats(0.5, 1),
)
def test_what_is_known_from_below_is_never_above(
    sigma: float, batches: int, epochs: int, delta: float, replace: bool, share: float
) -> None:
    least = least_shuffled_epsilon(sigma, batches, epochs, delta, replace, share)
    assert 0 <= least <= shuffled_epsilon(sigma, epochs, delta, replace) * (1 + 1e-9)
    whole = least_shuffled_epsilon(sigma, batches, epochs, delta, replace)
    assert least <= whole * (1 + 1e-9)
    # Thresholds of a mixture are tried on a grid.
    assert least_shuffled_epsilon(sigma, batches, epochs + 1, delta, replace, share) >= least * (1 - 1e-4) - 1e-6
    assert least_shuffled_epsilon(sigma, batches, epochs + 1, delta, replace) >= whole * (1 - 1e-9)


def test_nearly_whole_epochs_of_little_noise_show_nearly_as_much_as_whole_ones() -> None:
    whole = least_shuffled_epsilon(0.219, 1, 100, 1e-5)
    assert whole > 1000
    assert least_shuffled_epsilon(0.219, 1, 100, 1e-5, share=1 - 1e-9) == pytest.approx(whole, rel=0.01)
    assert _epsilon_of_largest(0.04, 1000, 1e-5, 2.0, 0.0) > 1000


def test_records_that_an_epoch_leaves_out_are_counted_as_training_leaves_them_out() -> None:
    for n, size in ((2059, 200), (10000, 200), (12, 5), (12, 12)):
        training = Training(epochs=1, batch_size=size)
        trained = batches(n, training, seed=1)
        count, share = batches_of_epoch(n, size)
        assert len(trained) == count
        assert len(np.unique(trained[trained >= 0])) == pytest.approx(share * n)
    # Nearly whole epochs show nearly as much as whole ones.
    whole, nearly, less = (ACCOUNTANTS["gaussian"].sides(1.0, Run(n, 200, 100, 1e-5)).low for n in (2000, 2001, 2199))
    assert whole > nearly > less > 0.8 * whole > 1
    assert nearly == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize(("sigma", "share"), [(0.7, 0.6), (2.0, 0.9)])
def test_a_single_batch_that_may_leave_the_record_out_shows_what_is_known(sigma: float, share: float) -> None:
    """A replaced record: ln(1 - q + q exp(eps)) of eps at delta / q (Balle, Barthe and Gaboardi 2018). A removed one: the
    others' gradients nearly show whether its place was in the batch, so that little but delta is divided by q."""
    exact = math.log1p(share * math.expm1(shuffled_epsilon(sigma, 1, 1e-5 / share, True)))
    assert least_shuffled_epsilon(sigma, 1, 1, 1e-5, True, share) == pytest.approx(exact, rel=1e-4)
    exact = shuffled_epsilon(sigma, 1, 1e-5 / share)
    least = least_shuffled_epsilon(sigma, 1, 1, 1e-5, False, share)
    assert math.log1p(share * math.expm1(exact)) < least <= exact * (1 + 1e-9)
    assert least == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("share", [0.5, 0.98, 0.9999])
@pytest.mark.parametrize("sigma", [0.3, 3.0, 300.0])
def test_the_bound_of_many_epochs_is_that_of_each_number_of_them_or_a_little_less(
    share: float, sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several numbers a group, of all shares but the last."""
    asked = sigma * math.sqrt(1200 * 14), 1, 1200, share, 1e-5
    of_each = _epsilon_of_total(*asked)
    monkeypatch.setattr(presence, "MOST_TIMES", 400)
    monkeypatch.setattr(presence, "GROUPS", 80)
    grouped = _epsilon_of_total(*asked)
    assert of_each * 0.98 <= grouped <= of_each * (1 + 1e-9)


def test_a_billion_epochs_take_no_more_memory_than_a_few() -> None:
    """All numbers of epochs at all thresholds are 30 TB. Of whole epochs it is known exactly."""
    sigma = 2e5
    least = least_shuffled_epsilon(sigma, 14, 10**9, 1e-5, share=0.98)
    assert least == pytest.approx(epsilon_of_mu(0.98 * math.sqrt(10**9 / 14) / sigma, 1e-5), rel=0.01)
