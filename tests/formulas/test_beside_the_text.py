"""Formulas of what texts say in passing, against brute force, closed forms and high precision."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from harness.formulas import FORMULAS


def value(name: str, *arguments: float) -> float:
    return float(FORMULAS[name].function(*map(float, arguments)))


@pytest.mark.parametrize(("n", "m", "epsilon"), [(1, 3, 0.7), (2, 3, 0.7), (3, 4, 0.2), (4, 2, 1.5)])
def test_the_exponential_mechanism_is_private_and_its_advantage_is_played_out(n: int, m: int, epsilon: float) -> None:
    def named(records: tuple[int, ...]) -> np.ndarray:
        scores = np.exp([epsilon * records.count(v) / 2 for v in range(m)])
        return scores / scores.sum()

    for records in product(range(m), repeat=n):
        for i, other in product(range(n), range(m)):
            neighbour = (*records[:i], other, *records[i + 1 :])
            assert np.all(named(records) <= math.exp(epsilon) * named(neighbour) * (1 + 1e-12))
    tpr = fpr = 0.0
    for truth, output in product(range(m), repeat=2):  # all records are `truth`; the attack says member iff z is output
        chance = named((truth,) * n)[output] / m
        tpr += chance * (output == truth)
        fpr += chance / m  # z is drawn from the marginal, whatever the training set is
    assert value("dependent-advantage", epsilon, n, m) == pytest.approx(tpr - fpr, abs=1e-12)


@given(st.floats(0.01, 20), st.floats(1.01, 40))
@settings(max_examples=60, deadline=None)
def test_log_moments_of_randomized_response(epsilon: float, alpha: float) -> None:
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        right = 1 / (1 + mpmath.e**-e)
        mean = right * mpmath.e ** ((a - 1) * e) + (1 - right) * mpmath.e ** (-(a - 1) * e)
        divergence = mpmath.log(right**a * (1 - right) ** (1 - a) + (1 - right) ** a * right ** (1 - a)) / (a - 1)
        assert value("randomized-response-log-moment", epsilon, alpha) == pytest.approx(
            float(mpmath.log(mean) / (a - 1)), rel=1e-9, abs=1e-12
        )
        assert value("randomized-response-renyi", epsilon, alpha) == pytest.approx(
            float(divergence), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("k", [1, 30, 10_000])
@pytest.mark.parametrize("log_inverse_delta", [2.3, 11.5129, 30.0])
def test_the_numerical_total_is_valid_and_least(epsilon: float, k: int, log_inverse_delta: float) -> None:
    total = value("rdp-numerical", epsilon, k, log_inverse_delta)
    assert value("composed-delta-share", total, epsilon, k, log_inverse_delta) <= 1
    for alpha in 1 + np.geomspace(1e-5, 1e5, 400):
        right = 1 / (1 + math.exp(-epsilon))
        moments = np.logaddexp(
            math.log(right) + (alpha - 1) * epsilon, math.log1p(-right) - (alpha - 1) * epsilon
        )  # ln E exp((alpha - 1) loss)
        assert total <= (k * moments + log_inverse_delta) / (alpha - 1) + 1e-9 * (1 + total)


def test_figure_5_has_other_labels_than_equation_18() -> None:
    """Row k of subpopulation j is printed as (k + j - 2 mod 5) + 1; by the equation its label y has its 1 at k."""
    differ = [
        (k, j)
        for k, j in product(range(1, 6), repeat=2)
        for y in range(1, 6)
        if (y + j - 2) % 5 + 1 == k and y != (k + j - 2) % 5 + 1
    ]
    assert (2, 3) in differ  # the row that the text takes for its example: 4 as printed, 5 by the equation
    assert value("figure5-differences") == len(differ) == 20
    assert value("figure5-differences", 1) == 0


@pytest.mark.parametrize("penalty", [0.01, 0.3, 10.0])
def test_one_record_has_a_solution_in_closed_form(penalty: float) -> None:
    """The minimiser is t times the record, with lambda t = 1 / (1 + exp(t)); seeds draw records as the formula does."""
    t = brentq(lambda x: penalty * x - 1 / (1 + math.exp(x)), 0, 1 / penalty, xtol=1e-14)
    for seed in range(5):
        records = np.random.default_rng(seed).normal(size=(2, 3))
        records /= np.linalg.norm(records, axis=1, keepdims=True)
        expected = penalty * t * np.linalg.norm(records[0] - records[1])
        assert value("erm-solution-change", 1, penalty, seed) == pytest.approx(expected, abs=1e-8)


def test_solutions_move_by_no_more_than_strong_convexity_allows() -> None:
    for n, penalty, seed in product((1, 2, 5, 20), (0.001, 0.1, 1.0), range(3)):
        assert 0 < value("erm-solution-change", n, penalty, seed) <= 2
