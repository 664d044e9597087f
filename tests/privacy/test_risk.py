"""Noise for what attacks may reach, against closed forms and integration."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from harness.errors import HarnessError
from harness.privacy.accountants import Run
from harness.privacy.risk import Risk, _losses, noise_by_epsilon, noise_for_risk, success_bound
from tests.conftest import run_cli

ONE = Run(100, 100, 1, 1e-5)


@pytest.mark.parametrize("risk", [Risk(0.1), Risk(0.5), Risk(0.1, 0.01), Risk(0.9, 0.05)])
def test_one_whole_batch_is_the_gaussian_mechanism(risk: Risk) -> None:
    """By losses on a lattice as by the normal distribution."""
    noise = noise_for_risk(risk, ONE, "shuffle")
    mu = 1 / noise
    exact = 2 * stats.norm.cdf(mu / 2) - 1 if risk.fpr is None else stats.norm.cdf(stats.norm.ppf(risk.fpr) + mu)
    assert exact == pytest.approx(risk.limit, rel=1e-9)
    assert success_bound(risk, noise, ONE, "poisson") == pytest.approx(risk.limit, rel=3e-3)


def test_one_sampled_step_is_what_integration_gives() -> None:
    """Half of the difference of the densities with the record and without it."""
    noise = 0.8

    def density(z: float, with_it: bool) -> float:
        without = stats.norm.pdf(z, 0, noise)
        return 0.7 * without + 0.3 * stats.norm.pdf(z, 1, noise) if with_it else without

    exact = integrate.quad(lambda z: abs(density(z, True) - density(z, False)) / 2, -9, 10, limit=200)[0]
    assert success_bound(Risk(0.1), noise, ONE, "poisson") > exact  # of the whole batch
    assert float(_losses(noise, 0.3, 1).get_delta_for_epsilon(0.0)) == pytest.approx(exact, rel=1e-4)


@given(st.floats(0.02, 0.9), st.floats(0.001, 0.9), st.floats(1e-9, 1e-6))
@settings(max_examples=60, deadline=None)
def test_the_epsilon_that_keeps_a_limit_keeps_it(limit: float, share: float, delta: float) -> None:
    """At it an attack on randomized response with a chance of failure, the worst there is, reaches the limit at most."""
    for risk in (Risk(limit), Risk(limit, share * limit)):
        epsilon = risk.epsilon(delta)
        if risk.fpr is None:
            worst = (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)
        else:
            worst = min(math.exp(epsilon) * risk.fpr + delta, 1 - math.exp(-epsilon) * (1 - risk.fpr - delta))
        assert worst == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("risk", [Risk(0.2), Risk(0.2, 0.05)])
def test_less_noise_is_needed_than_by_way_of_an_epsilon(risk: Risk) -> None:
    run = Run(1000, 100, 5, 1e-5)
    for sampling in ("shuffle", "poisson"):
        noise = noise_for_risk(risk, run, sampling)  # type: ignore[arg-type]
        assert success_bound(risk, noise, run, sampling) <= risk.limit * (1 + 1e-9)  # type: ignore[arg-type]
        assert success_bound(risk, noise * 0.999, run, sampling) > risk.limit  # type: ignore[arg-type]
        epsilon, other = noise_by_epsilon(risk, run, sampling)  # type: ignore[arg-type]
        assert other > 1.2 * noise
        assert epsilon > 0


def test_limits_that_are_none() -> None:
    for risk, says in (
        (lambda: Risk(0.0), "--advantage 0: it has to lie between 0 and 1"),
        (lambda: Risk(1.0, 0.1), "--tpr 1: it has to lie between 0 and 1"),
        (lambda: Risk(0.1, 0.1), r"--at-fpr 0\.1: it has to lie between 0 and the TPR"),
        (lambda: Risk(0.001, 1e-4).epsilon(0.01), "no epsilon bounds it at delta 0.01"),
    ):
        with pytest.raises(HarnessError, match=says):
            risk()


def test_the_command_gives_both_noises(tmp_path: Path) -> None:
    asked = ["accountants", "--n", "1000", "--batch-size", "100", "--epochs", "5", "-q"]
    ran = run_cli(tmp_path, *asked, "--advantage", "0.2", "--json")
    assert ran.returncode == 0, ran.stderr
    rows = {row["batches"]: row for row in json.loads(ran.stdout)["noise"]}
    assert rows["shuffle"]["noise_multiplier"] == pytest.approx(math.sqrt(5) / (2 * stats.norm.ppf(0.6)), rel=1e-9)
    assert 0 < rows["poisson"]["noise_multiplier"] < rows["shuffle"]["noise_multiplier"]
    assert all(row["ratio"] > 1.2 for row in rows.values())
    for options, says in (
        (("--tpr", "0.1"), "--tpr: a TPR is of an FPR; give --at-fpr 0.01 too"),
        (("--at-fpr", "0.1"), "--at-fpr: a TPR is of an FPR; give --tpr 0.1 too"),
        (("--advantage", "0.1", "--tpr", "0.1"), "two limits: give one of them"),
        (("--advantage", "0.1", "--epsilon", "1"), "--epsilon and --plot are for the table over epsilon"),
        (("--advantage", "2"), "--advantage 2: it has to lie between 0 and 1"),
    ):
        ran = run_cli(tmp_path, *asked, *options)
        assert ran.returncode == 2
        assert says in ran.stderr
        assert ran.stderr.count("\n") == 1
