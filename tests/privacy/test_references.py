"""Accountants against mpmath and closed forms, over noise 0.1 to 10^4, delta 1e-3 to 1e-30 and rates 1e-6 to 1."""

from __future__ import annotations

import itertools
import json
import math
from importlib.metadata import version
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from harness.errors import HarnessError
from harness.formulas.gaussian import epsilon_of_mu, exact_noise_multiplier, gaussian_delta
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.privacy.accounting import epsilon_of
from harness.privacy.lattice import OneStep, Step
from harness.privacy.moments import best_order, log_moment
from harness.privacy.sampled_gaussian import TOLERANCE, Steps, sampled_epsilon
from tests.privacy.references import FILE, one_step

REFERENCES: list[dict[str, Any]] = json.loads(FILE.read_text())["deltas"]
MOMENTS: list[dict[str, Any]] = json.loads(FILE.read_text())["moments"]
NOISES = (0.1, 1.0, 100.0, 1e4)
DELTAS = (1e-3, 1e-6, 1e-15, 1e-30)
RATES = (1e-6, 1e-3, 0.1, 0.9, 1.0)


def profile(epsilon: Any, mu: Any) -> Any:
    """Delta of one Gaussian mechanism (Balle and Wang 2018), to 60 digits."""
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def assert_epsilon(epsilon: float, delta: float, exact: Any, tolerance: float) -> None:
    """At epsilon, larger or smaller by the tolerance, the exact delta lies on either side of delta; 0 if it never does."""
    if epsilon == 0:
        assert exact(0.0) <= delta
        return
    assert exact(epsilon * (1 + tolerance)) < delta < exact(epsilon * (1 - tolerance))


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda r: "{noise}-{rate}-{steps}-{epsilon}".format(**r))
def test_both_sides_hold_what_mpmath_says(reference: dict[str, Any]) -> None:
    result = sampled_epsilon(Steps(reference["noise"], reference["rate"], reference["steps"]), reference["delta"])
    assert result.low * (1 - 1e-6) <= reference["epsilon"] <= result.high * (1 + 1e-6)
    assert result.high - result.low <= TOLERANCE * result.high


@pytest.mark.parametrize(("noise", "delta"), list(itertools.product(NOISES, (*DELTAS, 1e-200))))
@pytest.mark.parametrize("steps", [1, 100])
def test_full_batches_are_gaussian(noise: float, delta: float, steps: int) -> None:
    mu = math.sqrt(steps) / noise
    for name, epochs in (("pld", steps), ("gaussian", steps)):
        result = ACCOUNTANTS[name].epsilon(noise, Run(50, 50, epochs, delta))
        assert_epsilon(result, delta, lambda e: profile(e, mu), 1e-6)


@pytest.mark.parametrize(("noise", "delta", "rate"), list(itertools.product(NOISES, DELTAS, RATES[:-1])))
def test_one_step(noise: float, delta: float, rate: float) -> None:
    result = sampled_epsilon(Steps(noise, rate, 1), delta).high
    with mpmath.workdps(60):
        q, s = mpmath.mpf(rate), mpmath.mpf(noise)
        assert_epsilon(result, delta, lambda e: one_step(mpmath.mpf(e), s, q), 1e-6)


VALLEY = {(1.0, 1e-30, 1e-6)}
"""Corners where the loss has next to no mass between most outcomes and the largest: no tilt reaches epsilon."""


@pytest.mark.parametrize(("noise", "delta", "rate"), list(itertools.product(NOISES, (1e-3, 1e-30), RATES[:-1])))
def test_every_corner_has_an_answer_or_a_line(noise: float, delta: float, rate: float) -> None:
    """And what two steps spend is at least what one does, and at most twice that at half of delta each."""
    if (noise, delta, rate) in VALLEY:
        with pytest.raises(HarnessError, match="out of reach"):
            sampled_epsilon(Steps(noise, rate, 2), delta)
        return
    one, half, two = (sampled_epsilon(Steps(noise, rate, k), d) for k, d in ((1, delta), (1, delta / 2), (2, delta)))
    assert two.high - two.low <= TOLERANCE * two.high
    assert two.high >= one.low * (1 - 1e-9)
    assert two.low <= 2 * half.high * (1 + 1e-9)


@pytest.mark.parametrize("rate", [1e-6, 0.02, 0.9])
@pytest.mark.parametrize("noise", [0.1, 1.0, 300.0])
def test_masses_from_both_sides_bracket_the_curve_of_one_step(noise: float, rate: float) -> None:
    """Delta as a function of epsilon: what is split lies above the exact one, what is lowered below, and both nearby."""
    step = Step(noise, rate)
    spread = rate * math.sqrt(math.expm1(noise**-2)) if noise > 0.2 else 1.0
    one = OneStep(step, 12.0, 0.2 * spread)
    above, below = one.from_above("remove"), one.from_below()

    def curve(masses: Any, epsilon: float) -> float:
        return float(np.exp(masses.log_mass) @ np.maximum(0.0, -np.expm1(epsilon - masses.losses)))

    for epsilon in np.linspace(-2, 8, 41) * spread:
        with mpmath.workdps(40):
            exact = float(one_step(mpmath.mpf(float(epsilon)), mpmath.mpf(noise), mpmath.mpf(rate)))
        # outcomes further out than 12 deviations are left to whoever composes
        assert curve(below, epsilon) <= exact * (1 + 1e-9) + 1e-30
        assert exact <= curve(above, epsilon) * (1 + 1e-9) + 1e-30


@pytest.mark.integration
def test_accountants_say_so_where_they_cannot() -> None:
    for run, noise in ((Run(10**6, 1, 100, 1e-30), 1.0), (Run(100, 10, 1, 1e-280), 1.0), (Run(100, 10, 1, 1e-5), 1e-9)):
        with pytest.raises(HarnessError, match=r"^privacy: .*out of reach"):
            ACCOUNTANTS["pld"].epsilon(noise, run)
    with pytest.raises(HarnessError, match=r"finds no noise for epsilon 1e\+12"):
        ACCOUNTANTS["pld"].noise_multiplier(1e12, Run(100, 10, 10, 1e-5))
    with pytest.raises(HarnessError, match="central limit's epsilon is beyond 1e300"):
        ACCOUNTANTS["gdp"].epsilon(0.01, Run(100, 10, 10, 1e-5))


@pytest.mark.parametrize("reference", MOMENTS, ids=lambda r: "{noise}-{rate}-{order}".format(**r))
def test_moments_are_those_of_mpmath(reference: dict[str, Any]) -> None:
    result = log_moment(Step(reference["noise"], reference["rate"]), reference["order"])
    assert result == pytest.approx(reference["log_moment"], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("noise", "delta", "rate", "steps"), [
    (13256.0, 1e-5, 0.02, 5000), (48.1, 1e-5, 0.02, 5000), (1.0, 1e-5, 0.02, 5000), (0.3, 1e-5, 0.02, 500),
    (0.1, 1e-3, 0.9, 10), (1.0, 1e-30, 0.5, 100), (1e4, 1e-30, 1e-6, 10**6), (5.0, 1e-15, 1e-3, 1000),
])  # fmt: skip
def test_renyi_is_at_its_best_order(noise: float, delta: float, rate: float, steps: int) -> None:
    """No order of a fine grid does better; the listed ones at most as well; and it is above the exact epsilon."""
    step = Step(noise, rate)
    best = best_order(step, steps, delta)
    for order in 1 + (best.order - 1) * np.exp(np.linspace(-4, 4, 33)):
        moment = steps * log_moment(step, order)
        there = (moment - math.log(delta * order)) / (order - 1) + math.log1p(-1 / order)
        assert best.epsilon <= there * (1 + 1e-4)
    records = round(1 / rate) if rate < 1e-3 else 1000
    if noise == 1e4 and Version(version("dp-accounting")) < Version("0.6"):
        with pytest.raises(HarnessError, match="dp-accounting has no epsilon"):
            epsilon_of(noise, records, round(records * rate), steps, delta)
    else:
        assert best.epsilon <= epsilon_of(noise, records, round(records * rate), steps, delta) * (1 + 1e-4)
    exact = sampled_epsilon(Steps(noise, rate, steps), delta)
    assert exact.low <= best.epsilon < 2 * exact.high


def test_what_the_list_of_orders_cost() -> None:
    """At noise 13,256 the last listed order gives 35 times the epsilon of the best."""
    run = Run(10000, 200, 100, 1e-5)
    assert epsilon_of(13256.0, 10000, 200, 5000, 1e-5) == pytest.approx(0.0035, rel=0.02)
    result = ACCOUNTANTS["rdp"].epsilon(13256.0, run)
    assert ACCOUNTANTS["pld"].epsilon(13256.0, run) < result < 6e-4
    assert "over dp-accounting's listed orders" in ACCOUNTANTS["rdp"].remark(result, run)
    assert "at order" in ACCOUNTANTS["rdp"].remark(0.01, run)
    assert ACCOUNTANTS["rdp"].remark(1.0, run) == ""


@pytest.mark.parametrize("name", sorted(ACCOUNTANTS))
@pytest.mark.parametrize("delta", [1e-3, 1e-15, 1e-30])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 1e4])
def test_noise_of_an_extreme_epsilon_spends_it(name: str, delta: float, epsilon: float) -> None:
    run = Run(1000, 20, 10, delta)
    accountant = ACCOUNTANTS[name]
    if name == "rdp-2019" and epsilon <= math.log(1 / delta) / 511:  # which no noise reaches
        with pytest.raises(HarnessError, match="its largest order reaches"):
            accountant.noise_multiplier(epsilon, run)
        return
    spent = accountant.epsilon(accountant.noise_multiplier(epsilon, run), run)
    # an epsilon far below the deviation of the loss hangs on the last digits of the noise
    assert spent == pytest.approx(epsilon, rel=0.05 if name == "pld" and epsilon < 1 else 1e-3)
    if name == "pld":
        assert spent <= epsilon


@settings(max_examples=60, deadline=None)
@given(st.floats(-8, 4), st.floats(-30, -3))
def test_the_gaussian_mechanism_at_any_delta(log_mu: float, log_delta: float) -> None:
    mu, delta = 10**log_mu, 10**log_delta
    assert_epsilon(epsilon_of_mu(mu, delta), delta, lambda e: profile(e, mu), 1e-6)


@settings(max_examples=60, deadline=None)
@given(st.floats(-9, 6), st.floats(-30, -3))
def test_the_noise_of_one_release_at_any_epsilon_and_delta(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    noise = exact_noise_multiplier(epsilon, delta)
    assert profile(epsilon, 1 / noise * (1 - 1e-6)) < delta < profile(epsilon, 1 / noise * (1 + 1e-6))


@settings(max_examples=60, deadline=None)
@given(st.floats(-8, 3), st.floats(-4, 34))
def test_small_deltas_have_their_digits(log_mu: float, deviations: float) -> None:
    mu = 10**log_mu
    epsilon = mu * (mu / 2 + deviations)
    if epsilon > 0:
        a = (epsilon / mu - mu / 2) ** 2 + epsilon
        assert gaussian_delta(epsilon, mu) == pytest.approx(float(profile(epsilon, mu)), rel=1e-6 + 1e-14 * a)


def test_ends_of_the_gaussian_profile() -> None:
    assert epsilon_of_mu(1.0, 0.0) == math.inf
    assert exact_noise_multiplier(1.0, 0.0) == math.inf
    with pytest.raises(ArithmeticError, match="beyond 1e300"):
        epsilon_of_mu(1e200, 1e-5)
    with pytest.raises(HarnessError, match="beyond 1e300"):
        ACCOUNTANTS["gaussian"].epsilon(1e-200, Run(10, 1, 1, 1e-5))
