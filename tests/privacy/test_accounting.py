"""Calibrated noise against dp-accounting itself, an exact accountant, and group privacy in closed form."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import dp_accounting as dpa
import pytest
from dp_accounting import pld
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from harness.errors import HarnessError
from harness.privacy.accounting import _FewOrders, epsilon_of, noise_multiplier_for, steps_of, to_replace_one

N, BATCH, DELTA = 10000, 200, 1e-5


def rdp_epsilon(sigma: float, steps: int) -> float:
    """dp-accounting, called directly."""
    accountant = dpa.rdp.RdpAccountant()
    event = dpa.PoissonSampledDpEvent(BATCH / N, dpa.GaussianDpEvent(sigma))
    return accountant.compose(event, steps).get_epsilon(DELTA)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 10, 100])
@pytest.mark.parametrize("epochs", [20, 100])
def test_noise_spends_the_epsilon_and_no_more(epsilon: float, epochs: int) -> None:
    steps = steps_of(N, BATCH, epochs)
    assert steps == 50 * epochs
    sigma = noise_multiplier_for(epsilon, N, BATCH, steps, DELTA)
    spent = rdp_epsilon(sigma, steps)
    assert spent <= epsilon * (1 + 1e-9)
    assert spent == pytest.approx(epsilon, rel=2e-3)
    assert epsilon_of(sigma, N, BATCH, steps, DELTA) == spent


def test_the_best_order_is_reached_from_that_of_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As over all 156 orders, of which few are computed wherever the best one was before."""
    computed: list[float] = []
    accountant = dpa.rdp.RdpAccountant

    def count_orders(orders: list[float], *rest: Any) -> Any:
        computed.extend(orders)
        return accountant(orders, *rest)

    known: dict[Any, tuple[float, int]] = {}
    sigmas = [0.5, 8.0, 1.0, 1.001, 30.0, 0.6]
    expected = [rdp_epsilon(sigma, 500) for sigma in sigmas]
    monkeypatch.setattr(dpa.rdp, "RdpAccountant", count_orders)
    for sigma, epsilon in zip(sigmas, expected, strict=True):
        step = dpa.PoissonSampledDpEvent(BATCH / N, dpa.GaussianDpEvent(sigma))
        assert _FewOrders(known).compose(dpa.SelfComposedDpEvent(step, 500)).get_epsilon(DELTA) == epsilon
    assert len(computed) < 20 * len(sigmas)


def test_rdp_is_above_the_exact_epsilon() -> None:
    """Reference: dp-accounting's privacy loss distribution accountant, exact up to discretisation."""
    steps = steps_of(N, BATCH, 20)
    sigma = noise_multiplier_for(1.0, N, BATCH, steps, DELTA)
    exact = pld.PLDAccountant()
    event = dpa.PoissonSampledDpEvent(BATCH / N, dpa.GaussianDpEvent(sigma))
    result = exact.compose(event, steps).get_epsilon(DELTA)
    assert 0.8 < result <= 1.0


def test_infinite_epsilon_needs_no_noise() -> None:
    assert noise_multiplier_for(math.inf, N, BATCH, 50, DELTA) == 0.0
    assert epsilon_of(0.0, N, BATCH, 50, DELTA) == math.inf


def test_replace_one_noise_implies_the_guarantee_by_group_privacy() -> None:
    steps, epsilon = steps_of(N, BATCH, 20), 2.0
    sigma = noise_multiplier_for(epsilon, N, BATCH, steps, DELTA, "replace-one")
    assert sigma > noise_multiplier_for(epsilon, N, BATCH, steps, DELTA)
    half = epsilon / 2
    assert epsilon_of(sigma, N, BATCH, steps, DELTA / (1 + math.exp(half))) <= half * (1 + 1e-9)


@given(st.floats(0.001, 20), st.floats(1e-9, 1e-3))
def test_two_steps_of_group_privacy(epsilon: float, delta: float) -> None:
    """Dwork and Roth 2014, Theorem 2.2 and its (epsilon, delta) form: delta grows by 1 + e^epsilon."""
    doubled, grown = to_replace_one(epsilon, delta)
    assert doubled == 2 * epsilon
    assert grown == pytest.approx(min(1.0, delta + math.exp(epsilon) * delta))


def test_what_the_accountant_cannot_calibrate_is_named() -> None:
    try:
        noise = noise_multiplier_for(1e-9, N, BATCH, 50, 1e-200)
    except HarnessError as error:
        assert "no noise for epsilon 1e-09 at delta 1e-200 and 50 steps" in str(error)
    else:  # later versions of dp-accounting find some
        assert version("dp-accounting") != "0.4.3"
        assert epsilon_of(noise, N, BATCH, 50, 1e-200) <= 1e-9 * (1 + 1e-6)


def test_group_privacy_never_takes_a_delta_that_numbers_cannot_hold() -> None:
    with pytest.raises(HarnessError, match="replace-one at epsilon 5000 follows by group privacy from a delta below"):
        noise_multiplier_for(5000.0, N, BATCH, 50, DELTA, "replace-one")
    assert noise_multiplier_for(math.inf, N, BATCH, 50, DELTA, "replace-one") == 0.0


def test_a_batch_larger_than_the_data_is_named() -> None:
    with pytest.raises(HarnessError, match="a batch of 200 from 100 records"):
        noise_multiplier_for(1.0, 100, BATCH, 5, DELTA)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("epochs", [1, 20])
def test_shuffled_batches_are_one_gaussian_an_epoch(epsilon: float, epochs: int) -> None:
    """Reference: the exact (epsilon, delta) of a Gaussian mechanism of mu = sqrt(epochs) / sigma (Balle and Wang 2018).

    RDP is an upper bound on it: the exact epsilon is at most the accounted one, and not far below.
    """
    sigma = noise_multiplier_for(epsilon, N, BATCH, steps_of(N, BATCH, epochs), DELTA, sampling="shuffle")
    mu = math.sqrt(epochs) / sigma

    def delta(eps: float) -> float:
        return float(stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu))

    exact = float(optimize.brentq(lambda eps: delta(eps) - DELTA, 1e-6, 50))
    assert 0.7 * epsilon < exact <= epsilon
    assert epsilon_of(sigma, N, BATCH, steps_of(N, BATCH, epochs), DELTA, "shuffle") <= epsilon + 1e-4
    assert sigma > noise_multiplier_for(epsilon, N, BATCH, steps_of(N, BATCH, epochs), DELTA)
