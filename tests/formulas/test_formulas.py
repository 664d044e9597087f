"""Quantities against what they stand for: brute force, closed forms, published numbers."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from harness.formulas import FORMULAS, games
from harness.formulas.games import corollary_gap, power_gap
from harness.theory.simulations import SIMULATIONS, Counts, clopper_pearson, measure


def value(name: str, *arguments: float) -> float:
    return float(FORMULAS[name].function(*map(float, arguments)))


@given(st.floats(0, 4), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_best_advantage_closed_form_is_the_linear_programs(epsilon: float, delta: float) -> None:
    assert value("optimal-advantage-lp", epsilon, delta) == pytest.approx(
        value("optimal-advantage", epsilon, delta), abs=1e-7
    )


def random_events(rng: np.random.Generator, points: int, epsilon: float) -> np.ndarray:
    """h(D) of a random eps-DP mechanism: a convex mixture of exponentials of Lipschitz functions of D, kept below 1."""
    h = np.zeros(2**points)
    for _ in range(3):
        slopes = rng.uniform(-epsilon, epsilon, points)
        h += rng.random() * np.array(
            [math.exp(sum(s for i, s in enumerate(slopes) if d >> i & 1)) for d in range(2**points)]
        )
    return h / h.max() / (1 + math.exp(epsilon))  # small enough for the complement's inequalities too


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 3), st.floats(0.05, 0.95), st.integers(1, 4))
def test_no_mechanism_beats_the_optimum(seed: int, epsilon: float, prior: float, points: int) -> None:
    h = random_events(np.random.default_rng(seed), points, epsilon)
    for a, b in ((d, d ^ (1 << i)) for d in range(2**points) for i in range(points)):
        assert h[a] <= math.exp(epsilon) * h[b] * (1 + 1e-9)
        assert 1 - h[a] <= math.exp(epsilon) * (1 - h[b]) * (1 + 1e-9)
    weights = np.array(
        [prior ** bin(d).count("1") * (1 - prior) ** (points - bin(d).count("1")) for d in range(2**points)]
    )
    ppv = (weights * h)[1::2].sum() / (weights * h).sum()
    assert (
        value("least-ppv", epsilon, prior, points) - 1e-6 <= ppv <= value("optimal-ppv", epsilon, prior, points) + 1e-6
    )


def test_best_advantage_without_knowing_the_other_record() -> None:
    """At an even universe of 2 the extreme mechanism is randomized response on the record: half of tanh(eps/2)."""
    assert value("optimal-advantage-in-exp", 1, 2) == pytest.approx(math.tanh(0.5) / 2)
    # Subset selection over K records, over all sizes of the set: never above the linear program.
    for k in (3, 5, 8):
        best = 0.0
        for size in range(1, k):
            inside = size * math.e / (size * math.e + k - size)
            outside = inside * (size - 1) / (k - 1) + (1 - inside) * size / (k - 1)
            best = max(best, (inside - outside) * (1 - 1 / k))
        assert best == pytest.approx(value("optimal-advantage-in-exp", 1, k), abs=1e-9)


def test_noise_of_the_gaussian_mechanism() -> None:
    """3.7306 for (1, 1e-5): Balle and Wang's calibration, by mpmath's own root of the exact profile."""
    with mpmath.workdps(30):
        delta = lambda s: mpmath.ncdf(1 / (2 * s) - s) - mpmath.e * mpmath.ncdf(-1 / (2 * s) - s)  # noqa: E731
        root = mpmath.findroot(lambda s: delta(s) - mpmath.mpf("1e-5"), 3.7)
    assert value("noise-exact", 1, 1e-5) == pytest.approx(float(root), rel=1e-9)
    assert value("gaussian-epsilon", 1e-5, 1, float(root)) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 3), (0.5, 5), (1.0, 4)])
def test_worst_composition_by_enumeration(epsilon: float, k: int) -> None:
    """All 2^k outputs of k randomized responses, summed: delta = sum (P - exp(total) Q)_+."""
    tell = math.exp(epsilon) / (1 + math.exp(epsilon))
    for total in (0.0, 0.3, epsilon * k / 2):
        delta = 0.0
        for bits in product((0, 1), repeat=k):
            p = math.prod(tell if b else 1 - tell for b in bits)
            q = math.prod(1 - tell if b else tell for b in bits)
            delta += max(0.0, p - math.exp(total) * q)
        assert value("composed-delta", total, epsilon, k) == pytest.approx(delta, abs=1e-12)


def test_renyi_divergence_of_randomized_response() -> None:
    for epsilon, alpha in ((0.3, 1.5), (1.0, 2.0), (4.0, 20.0)):
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        direct = math.log(p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)) / (alpha - 1)
        assert value("randomized-response-renyi", epsilon, alpha) == pytest.approx(direct, rel=1e-9)


def test_group_privacy_is_reached() -> None:
    assert value("group-delta", 1, 0.01, 5) == pytest.approx(value("group-privacy-delta", 1, 0.01, 5), rel=1e-6)
    assert value("group-delta", 1, 0, 5) == pytest.approx(0, abs=1e-9)


def test_two_coins_counted() -> None:
    assert value("two-coin-ratio", 2) == 3
    assert value("two-coin-ratio", 11) == 30


@pytest.mark.parametrize(("classes", "answers"), [(2, 1), (2, 4), (3, 3), (4, 4), (5, 2)])
def test_several_answers_of_two_coins_are_as_private_as_every_vector_of_them_says(classes: int, answers: int) -> None:
    """Each vector of answers is drawn out, under each of two labels that the model may have returned."""
    chance = [[0.75 if shown == label else 0.25 / (classes - 1) for shown in range(classes)] for label in (0, 1)]
    vectors = list(product(range(classes), repeat=answers))
    of = [[math.prod(row[shown] for shown in vector) for vector in vectors] for row in chance]
    largest = max(math.log(one / other) for one, other in zip(*of, strict=True))
    assert value("two-coin-epsilon", classes, answers) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("answers", [1, 2, 5, 40, 1000])
def test_the_majority_of_coins_is_a_tail_of_the_binomial(answers: int) -> None:
    assert value("two-coin-majority", answers) == pytest.approx(float(binom.sf(answers // 2, answers, 0.75)), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 3), st.floats(0.05, 0.95), st.integers(1, 4))
def test_no_mechanism_beats_the_most_accurate(seed: int, epsilon: float, prior: float, points: int) -> None:
    """The accuracy of an event and its complement, of random mechanisms; and the optimum between two neighbours."""
    h = random_events(np.random.default_rng(seed), points, epsilon)
    weights = np.array(
        [prior ** bin(d).count("1") * (1 - prior) ** (points - bin(d).count("1")) for d in range(2**points)]
    )
    accuracy = (weights * h)[1::2].sum() + (weights * (1 - h))[::2].sum()
    most, least = (value(name, epsilon, prior, points) for name in ("optimal-accuracy", "least-accuracy"))
    assert least - 1e-7 <= accuracy <= most + 1e-7
    # Of one record with even odds: the best test between two neighbours, whose rates it averages.
    best = (1 + value("optimal-advantage-lp", epsilon, 0)) / 2
    assert value("optimal-accuracy", epsilon, 0.5, 1) == pytest.approx(best, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 5), st.floats(0, 1))
def test_a_sampled_step_is_as_private_as_randomized_response_that_takes_a_record_now_and_then(
    epsilon: float, rate: float
) -> None:
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    absent = (right, 1 - right)  # of the answers no and yes
    present = [rate * (1 - p) + (1 - rate) * p for p in absent]
    ratios = [abs(math.log(a / b)) for a, b in zip(present, absent, strict=True)]
    assert value("sampled-epsilon", epsilon, rate) == pytest.approx(max(ratios), abs=1e-9)


def test_an_exact_interval_covers() -> None:
    """3,000 draws of a proportion 0.03 of 200: a 95% interval misses at most 5%, plus four standard errors."""
    rng = np.random.default_rng(5)
    draws = rng.binomial(200, 0.03, 3000)
    limits = {int(k): clopper_pearson(int(k), 200, 0.95) for k in np.unique(draws)}
    missed = np.mean([not limits[int(k)][0] <= 0.03 <= limits[int(k)][1] for k in draws])
    assert missed <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 3000)


def test_measures_of_counts() -> None:
    counts = Counts(tp=60, fn=40, fp=10, tn=90)
    assert measure(counts, "ppv", 0.95)[0] == pytest.approx(60 / 70)
    assert measure(counts, "npv", 0.95)[0] == pytest.approx(90 / 130)
    assert measure(counts, "accuracy", 0.95)[0] == pytest.approx(0.75)
    result, low, high = measure(counts, "advantage", 0.95)
    assert result == pytest.approx(0.5)
    assert low < 0.5 < high
    assert measure(counts, "epsilon", 0.95, 0.1)[0] == pytest.approx(math.log(0.5 / 0.1))
    assert measure(Counts(0, 10, 0, 10), "ppv", 0.95)[1:] == (0.0, 1.0)


@pytest.mark.parametrize("name", sorted(SIMULATIONS))
def test_a_game_counts_every_trial_once(name: str) -> None:
    defaults = {
        "epsilon": 1.0,
        "delta": 0.05,
        "prior": 0.4,
        "universe": 50.0,
        "rate": 0.3,
        "size": 2.0,
        "chance": 0.3,
        "points": 4.0,
        "sigma": 2.0,
        "threshold": -1.0,
        "accuracy": 0.7,
        "classes": 5.0,
        "n": 100.0,
        "k": 10.0,
        "signal": 1.0,
        "steps": 3.0,
        "noise": 2.0,
        "components": 6.0,
    }
    game = SIMULATIONS[name]
    given = {p: defaults[p] for p in game.parameters}
    first, again = (game.function(np.random.default_rng(3), 5000, **given) for _ in range(2))
    assert first == again
    assert first.tp + first.fn + first.fp + first.tn == 5000


@pytest.mark.parametrize(("epsilon", "prior"), [(0.1, 0.5), (1.0, 0.5), (1.0, 0.1), (3.0, 0.8)])
def test_absence_of_two_records_after_an_answer_on_their_parity(epsilon: float, prior: float) -> None:
    """By Bayes' rule over the four data sets; the product is the joint probability at epsilon 0 alone."""
    p, yes = np.array([1 - prior, prior]), math.exp(epsilon) / (1 + math.exp(epsilon))
    joint = np.outer(p, p) * np.array([[yes, 1 - yes], [1 - yes, yes]])
    joint /= joint.sum()
    together, apart = (FORMULAS[name].value for name in ("absence-together", "absence-apart"))
    at = {"epsilon": epsilon, "prior": prior}
    assert together(at) == pytest.approx(joint[0, 0])
    assert apart(at) == pytest.approx(joint[0].sum() * joint[:, 0].sum())
    assert together(at) > apart(at) + 1e-3
    nothing = {"epsilon": 0.0, "prior": prior}
    assert together(nothing) == pytest.approx(apart(nothing))
    ratios = [yes / (1 - yes), (1 - yes) / yes]  # of any two neighbouring data sets, whose parities differ
    assert max(ratios) == pytest.approx(math.exp(epsilon))


def test_the_likelihood_ratio_test_is_the_most_powerful_and_another_order_of_outputs_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test that says "member" first at the outputs which members most often give, whatever others do, falls short."""
    places = [(fpr, seed) for fpr in (0.01, 0.2) for seed in (1, 2, 3)]
    assert max(power_gap(fpr, seed) for fpr, seed in places) < 1e-12
    order = np.argsort
    rng = [np.random.default_rng(seed) for _, seed in places]
    members = [(one.dirichlet(np.full(8, 0.5)), one.dirichlet(np.full(8, 0.5)))[1] for one in rng]
    gaps = []
    for (fpr, seed), present in zip(places, members, strict=True):
        monkeypatch.setattr(np, "argsort", lambda _, present=present: order(-present))
        gaps.append(power_gap(fpr, seed))
    assert max(gaps) > 0.01


def test_corollary_gap_sees_a_ratio_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides agree to rounding; with the adversaries alone that name one output they do not."""
    assert max(corollary_gap(delta, seed) for delta in (0.0, 0.01, 0.2) for seed in (1, 2, 3)) < 1e-9
    sets = games._sets
    monkeypatch.setattr(games, "_sets", lambda k: sets(k)[np.isin(sets(k).sum(axis=1), [0, 1, k])])
    assert max(corollary_gap(0.01, seed) for seed in (1, 2, 3)) > 0.01


@given(st.floats(-1, 1), st.floats(0.01, 2), st.integers(1, 1000), st.floats(1, 30))
def test_k_steps_by_cdp_and_by_zcdp(mean: float, tau: float, k: int, log_inverse_delta: float) -> None:
    """Normal losses add up to one whose tail past CDP's epsilon is at most delta; zCDP's of the Gaussian is the same."""
    by_cdp = value("cdp-composed", mean, tau, k, log_inverse_delta)
    assert norm.sf((by_cdp - k * mean) / (tau * math.sqrt(k))) <= math.exp(-log_inverse_delta)
    assert value("zcdp-composed", mean, tau, k, log_inverse_delta) == pytest.approx(by_cdp, rel=1e-9, abs=1e-9)
    gaussian = value("zcdp-epsilon", tau * math.sqrt(k), log_inverse_delta)
    assert value("zcdp-composed", tau * tau / 2, tau, k, log_inverse_delta) == pytest.approx(gaussian)


def test_pairing_gap_sees_other_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert value("pairing-gap", 5, 1) == 0.0
    probability = games._fraction
    monkeypatch.setattr(games, "_fraction", lambda p, inside: probability(p, inside) * (2 if inside[0] else 1))
    assert value("pairing-gap", 5, 1) > 0.0


@pytest.mark.parametrize("points", [1, 2, 5, 9])
def test_pairs_are_counted_by_subsets_of_the_other_points(points: int) -> None:
    pairs = [(d, d | 1) for d in range(0, 2**points, 2)]  # bit 0 is the record that one of each pair has
    assert value("pairs-counted", points) == len(pairs) == value("pairs-as-printed", points) + 1


def test_a_step_of_logistic_regression_is_the_clipped_derivative() -> None:
    for weight, feature, label in [(0.3, 0.5, 1.0), (-0.2, 4.0, 0.0), (0.1, 0.7, 0.0)]:

        def loss(w: float, x: float = feature, y: float = label) -> float:
            return math.log1p(math.exp(w * x)) - y * w * x

        derivative = (loss(weight + 1e-6) - loss(weight - 1e-6)) / 2e-6
        assert value("logistic-gradient", weight, feature, label) == pytest.approx(derivative, abs=1e-6)
        step = -math.copysign(min(1.0, abs(derivative)), derivative)
        assert value("clipped-logistic-step", weight, feature, label) == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize(("rate", "steps", "step"), [(0.1, 1, 1), (0.1, 20, 5), (0.5, 7, 7), (1.0, 3, 2)])
def test_what_a_final_weight_shows_of_a_step_is_what_the_descent_hands_on(rate: float, steps: int, step: int) -> None:
    """The recursion is run on impulses: on the record of one step, and on the noise of each."""

    def final(records: np.ndarray, noise: np.ndarray) -> float:
        weight = 0.0
        for record, draw in zip(records, noise, strict=True):
            weight -= rate * (weight - record + draw)
        return weight

    nothing, unit = np.zeros(steps), np.eye(steps)
    deviation = math.sqrt(sum(final(nothing, draw) ** 2 for draw in unit))
    signal = final(unit[step - 1], nothing) / deviation
    assert value("final-weight-mu", rate, steps, step) == pytest.approx(signal, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("threshold", "mu"), [(0.0, 0.5), (2.0, 0.25), (6.0, 0.25)])
def test_rates_of_a_threshold_on_a_gaussian(threshold: float, mu: float) -> None:
    tpr, fpr = mpmath.ncdf(mu - threshold), mpmath.ncdf(-threshold)
    assert value("gaussian-rate-ratio", threshold, mu) == pytest.approx(float(tpr / fpr), rel=1e-9)


def test_classical_noise_is_the_textbooks() -> None:
    """sigma = sqrt(2 ln(1.25/delta)) sensitivity / epsilon."""
    assert 1 / value("classical-mu", math.log(1e5)) == pytest.approx(math.sqrt(2 * math.log(1.25e5)))
