"""Auditors against independent references, and on mechanisms of known epsilon: how often they are wrong, how tight."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binomtest, chi, norm

from harness.auditing import AUDITORS, OneRun, Trials
from harness.auditing.auditors.all_thresholds import AllThresholds
from harness.auditing.auditors.clopper_pearson import ClopperPearson
from harness.auditing.auditors.gaussian import Gaussian, _least_mu
from harness.auditing.auditors.one_run import OneRunAuditor, largest_refused, p_value
from harness.errors import HarnessError
from harness.formulas.gaussian import exact_noise_multiplier
from harness.metrics.value import rate_at_least, rate_at_most

DELTA = 1e-5


def randomised_response(epsilon: float, m: int, n: int, rng: np.random.Generator) -> Trials:
    """Says the truth with the chance exp(eps) / (1 + exp(eps)): exactly (eps, 0)-DP."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return Trials((rng.random(m) < truth).astype(float), (rng.random(n) >= truth).astype(float))


def gaussian(epsilon: float, m: int, n: int, rng: np.random.Generator) -> Trials:
    """The Gaussian mechanism whose epsilon at DELTA is exactly this."""
    mu = 1 / exact_noise_multiplier(epsilon, DELTA)
    return Trials(rng.normal(mu, 1, m), rng.normal(0, 1, n))


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.51, 0.999))
def test_rates_are_clopper_pearsons(hits: int, n: int, level: float) -> None:
    hits = min(hits, n)
    low, high = binomtest(hits, n).proportion_ci(2 * level - 1, method="exact")
    assert rate_at_least(hits, n, level) == pytest.approx(low, abs=1e-9)
    assert rate_at_most(hits, n, level) == pytest.approx(high, abs=1e-9)


def test_clopper_pearson_by_hand() -> None:
    """90 of 100 runs with the canary pass and 20 of 100 without: both rates at 97.5%, the better of two directions."""
    trials = Trials(np.r_[np.ones(90), np.zeros(10)], np.r_[np.ones(20), np.zeros(80)])
    tpr = binomtest(90, 100).proportion_ci(0.95, method="exact").low
    fpr = binomtest(20, 100).proportion_ci(0.95, method="exact").high
    result = ClopperPearson(threshold=0.5).bound(trials, 1e-3)
    assert result.epsilon == pytest.approx(max(math.log((tpr - 1e-3) / fpr), math.log((1 - fpr - 1e-3) / (1 - tpr))))
    assert "90 of 100 with and 20 of 100 without" in result.why


def test_the_normal_bound_is_where_what_was_seen_has_the_chance_of_the_error() -> None:
    """The chance by an integral over the pooled deviation, given which the distance of the means is normal."""
    for seen, m, n in ((0.3, 500, 500), (2.0, 300, 100), (5.0, 200, 200), (0.35, 10_000, 10_000)):
        scale, degrees = math.sqrt(1 / m + 1 / n), m + n - 2
        mu = _least_mu(seen, scale**2, degrees, 0.05)
        deviation = chi(degrees, scale=1 / math.sqrt(degrees))

        def chance(s: float, mu: float = mu, seen: float = seen, scale: float = scale) -> float:
            return float(norm.sf((seen * s - mu) / scale) * deviation.pdf(s))  # noqa: B023

        assert quad(chance, 0.7, 1.3, points=[1.0])[0] == pytest.approx(0.05, abs=1e-4)


def p_value_in_high_precision(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Theorem 5.2 of Steinke, Nasr and Jagielski as it is written, in sums over the binomial distribution."""
    with mpmath.workdps(60):
        q = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        mass = [mpmath.binomial(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
        most = max([mpmath.fsum(mass[right - i : right]) / i for i in range(1, right + 1)], default=mpmath.mpf(0))
        return float(min(mpmath.mpf(1), mpmath.fsum(mass[right:]) + 2 * canaries * delta * most))


@given(st.integers(1, 40), st.integers(0, 40), st.floats(0, 5), st.sampled_from([0.0, 1e-5, 1e-2]))
def test_one_runs_p_value_is_the_theorems(guesses: int, right: int, epsilon: float, delta: float) -> None:
    right = min(right, guesses)
    wanted = p_value_in_high_precision(100, guesses, right, epsilon, delta)
    assert p_value(100, guesses, right, epsilon, delta) == pytest.approx(wanted, rel=1e-8, abs=1e-12)


def test_half_right_says_nothing_and_all_right_what_their_chance_says() -> None:
    """At delta 0 all of 1,000 guesses are right with the chance (1 / (1 + exp(-eps)))^1000."""
    assert largest_refused(1000, 1000, 500, 0.0, 0.05) == 0
    everything = largest_refused(1000, 1000, 1000, 0.0, 0.05)
    assert (1 / (1 + math.exp(-everything))) ** 1000 == pytest.approx(0.05, rel=1e-3)


MECHANISMS = {
    "clopper-pearson": (ClopperPearson(), randomised_response, 0.0),
    "all-thresholds": (AllThresholds(), gaussian, DELTA),
    "gaussian": (Gaussian(), gaussian, DELTA),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_at_most_five_in_a_hundred_audits_claim_too_much(name: str, epsilon: float) -> None:
    """400 audits of a mechanism of known epsilon; up to 2.3 standard errors above 5% may be chance (1 in 100)."""
    auditor, mechanism, delta = MECHANISMS[name]
    rng = np.random.default_rng([1, int(epsilon)])
    wrong = sum(auditor.bound(mechanism(epsilon, 120, 120, rng), delta).epsilon > epsilon for _ in range(400))
    assert wrong <= 20 + 10


@pytest.mark.integration
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_at_most_five_in_a_hundred_runs_claim_too_much(epsilon: float) -> None:
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(400):
        inside = rng.random(400) < 0.5
        truth = rng.random(400) < math.exp(epsilon) / (1 + math.exp(epsilon))
        run = OneRun(np.where(truth, inside, ~inside) + 0.01 * rng.random(400), inside)
        wrong += OneRunAuditor().bound_of_one(run, 0.0).epsilon > epsilon
    assert wrong <= 20 + 10


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", ["clopper-pearson", "gaussian"])
def test_ten_thousand_trials_of_each_come_to_nine_tenths(name: str, epsilon: float) -> None:
    """The median of 21 audits."""
    auditor, mechanism, delta = MECHANISMS[name]
    if name == "clopper-pearson":
        auditor = ClopperPearson(threshold=0.5)
    rng = np.random.default_rng(5)
    result = [auditor.bound(mechanism(epsilon, 10_000, 10_000, rng), delta).epsilon for _ in range(21)]
    assert 0.9 * epsilon < np.median(result) < epsilon


@example(inside=[0.0, 1.77e-56], outside=[-1.0, -1.0])
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=30), st.lists(st.floats(-3, 3), min_size=2, max_size=30))
def test_bounds_are_never_negative_and_fall_with_delta(inside: list[float], outside: list[float]) -> None:
    trials = Trials(np.array(inside), np.array(outside))
    for _, kind in AUDITORS:
        if kind.sees == "many runs":
            small, large = (kind().bound(trials, delta).epsilon for delta in (1e-6, 0.1))
            assert small >= large >= 0


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda: Trials(np.array([1.0]), np.zeros(5)), "1 runs with the canary; at least 2"),
        (lambda: Trials(np.ones(3), np.array([0, np.nan, 0])), "run 1 without the canary has the score nan, no number"),
        (lambda: OneRun(np.ones(3), np.ones(4, bool)), "3 scores for 4 canaries"),
        (lambda: Gaussian().bound(Trials(np.ones(3), np.zeros(3)), 0.0), "delta above 0"),
        (lambda: ClopperPearson().bound(Trials(np.ones(3), np.zeros(3)), 2.0), "delta is 2"),
        (lambda: AllThresholds().bound(Trials(np.ones(3), np.zeros(3)), 0.0, 1.0), "level is 1"),
        (lambda: OneRunAuditor().bound(Trials(np.ones(3), np.zeros(3)), 0.0), "many canaries in one run"),
    ],
)
def test_what_cannot_be_is_one_clear_line(what, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(HarnessError, match=says) as result:
        what()
    assert "\n" not in str(result.value)
