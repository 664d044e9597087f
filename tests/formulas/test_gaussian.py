"""The Gaussian profile against mpmath, dp-accounting's PLD, and the definition."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.formulas.gaussian import epsilon_of_mu, gaussian_delta, shuffled_epsilon


@given(st.floats(0.01, 30), st.floats(0.05, 8))
def test_delta_agrees_with_forty_digits(epsilon: float, mu: float) -> None:
    with mpmath.workdps(40):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    assert gaussian_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-6, abs=1e-13)


@given(st.floats(0.1, 100), st.sampled_from([1e-5, 1e-3]))
def test_epsilon_inverts_delta(mu: float, delta: float) -> None:
    found = epsilon_of_mu(mu, delta)
    assert gaussian_delta(found, mu) == pytest.approx(delta, rel=1e-4)


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
