"""Metrics against scikit-learn and the bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score, roc_curve

from harness.metrics import METRICS, Answers, Outputs, Value, average
from harness.metrics.curves import CURVES
from harness.metrics.membership import (
    _advantage_of,
    _halves,
    advantage,
    auc,
    best_threshold,
    held_out_decisions,
    rates,
    roc,
    tpr_at_fpr,
)
from harness.metrics.metric import measure_answers
from harness.metrics.model import accuracy, accuracy_loss

ENDS = 99.0
"""What infinities are to scikit-learn, which takes none: farther out than any other score here."""
SCORES = st.lists(
    st.one_of(st.integers(-5, 5).map(float), st.sampled_from([-math.inf, math.inf])), min_size=1, max_size=50
).map(np.array)
"""Scores with many ties, those at either infinity among them."""
DECISIONS = st.lists(st.booleans(), min_size=1, max_size=40).map(np.array)


def stacked(members: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Memberships and scores, as scikit-learn takes them."""
    return np.r_[np.ones(len(members)), np.zeros(len(others))], np.clip(np.r_[members, others], -ENDS, ENDS)


def every_metric(members: np.ndarray, others: np.ndarray) -> dict[str, float]:
    """Every metric of an attack's answers, its decisions those of scores above 0."""
    answers = Answers(members, others, members > 0, others > 0)
    return {name: value.value for name, value in measure_answers(answers).items()}


@given(SCORES, SCORES)
def test_auc_and_roc_agree_with_scikit_learn(members: np.ndarray, others: np.ndarray) -> None:
    truth, scores = stacked(members, others)
    assert auc(members, others).value == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    fpr, tpr = roc(members, others)
    sk_fpr, sk_tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(fpr, sk_fpr, atol=1e-12)
    np.testing.assert_allclose(tpr, sk_tpr, atol=1e-12)


@given(SCORES, SCORES)
def test_a_metric_sees_the_order_of_scores_alone(members: np.ndarray, others: np.ndarray) -> None:
    """Infinities count as any other scores that are as far out: no metric is changed by a monotone map."""
    assert every_metric(members, others) == every_metric(np.clip(members, -ENDS, ENDS), np.clip(others, -ENDS, ENDS))
    line, finite = (
        CURVES["roc"].lines({"member_scores": a, "nonmember_scores": b}, {})[0]
        for a, b in ((members, others), (np.clip(members, -ENDS, ENDS), np.clip(others, -ENDS, ENDS)))
    )
    assert np.array_equal(line.y, finite.y)


def test_half_of_both_sides_at_infinity_expose_nobody() -> None:
    """50 members and 50 non-members of 100 each at infinity: whoever calls a member there calls half the others too."""
    members = others = np.r_[np.full(50, np.inf), np.zeros(50)]
    for values in ((members, others), (-others, -members)):
        assert tpr_at_fpr(*values, 0.01).value == 0
        assert every_metric(*values)["max_advantage"] == every_metric(*values)["held_out_advantage"] == 0
        assert auc(*values).value == 0.5


@given(SCORES, SCORES, st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_tpr_at_fpr_is_the_best_allowed_threshold(members: np.ndarray, others: np.ndarray, level: float) -> None:
    called = [(np.mean(members >= t), np.mean(others >= t)) for t in np.unique(np.r_[members, others])]
    best = max([0.0, *(hit for hit, false in called if false <= level)])
    assert tpr_at_fpr(members, others, level).value == best


@given(DECISIONS, DECISIONS)
def test_advantage_agrees_with_the_confusion_matrix(members: np.ndarray, others: np.ndarray) -> None:
    truth, said = stacked(members, others)
    matrix = confusion_matrix(truth, said.astype(float), labels=[0, 1])
    tpr, fpr = matrix[1, 1] / matrix[1].sum(), matrix[0, 1] / matrix[0].sum()
    assert rates(members, others) == (pytest.approx(tpr), pytest.approx(fpr))
    assert advantage(members, others).value == pytest.approx(tpr - fpr)


def test_advantage_is_twice_the_balanced_success_rate_less_one() -> None:
    """humphries2020 Equation (1): Adv = 2 Pr(success) - 1 with equal numbers of members and non-members."""
    rng = np.random.default_rng(0)
    members, others = rng.random(500) < 0.7, rng.random(500) < 0.4
    success = (members.sum() + (~others).sum()) / 1000
    assert advantage(members, others).value == pytest.approx(2 * success - 1)


def test_standard_errors_agree_with_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    members, others = rng.normal(0.5, 1, 300), rng.normal(0, 1, 200)
    resampled = [(rng.choice(members, 300), rng.choice(others, 200)) for _ in range(1500)]
    aucs = [auc(m, o).value for m, o in resampled]
    advantages = [advantage(m > 0.2, o > 0.2).value for m, o in resampled]
    assert auc(members, others).stderr == pytest.approx(np.std(aucs), rel=0.1)
    assert advantage(members > 0.2, others > 0.2).stderr == pytest.approx(np.std(advantages), rel=0.1)


@pytest.mark.parametrize(("shift", "level"), [(0.5, 0.01), (1.5, 0.01), (2.5, 0.05), (0.0, 0.05)])
def test_the_error_of_tpr_at_fpr_is_that_of_drawing_both_groups_anew(shift: float, level: float) -> None:
    """Against 800 fresh samples of members and non-members, the threshold chosen anew in each: within a quarter, where
    the members' binomial error alone is up to three times too small."""
    rng = np.random.default_rng(3)
    drawn = [tpr_at_fpr(rng.normal(shift, 1, 1500), rng.normal(0, 1, 1500), level) for _ in range(800)]
    true = float(np.std([v.value for v in drawn]))
    assert float(np.mean([v.stderr for v in drawn])) == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("shift", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("tails", ["normal", "exponential", "uniform"])
def test_the_error_of_tpr_at_no_false_positive_is_not_too_small(shift: float, tails: str) -> None:
    """Against 800 fresh samples: from 0.85 to 2.2 times what redrawing gives, for tails that end, thin and fat ones."""
    rng, at = np.random.default_rng(5), shift / 10 if tails == "uniform" else shift
    draw = getattr(rng, tails)
    drawn = [tpr_at_fpr(draw(size=1500) + at, draw(size=1500), 0.0) for _ in range(800)]
    ratio = float(np.mean([v.stderr for v in drawn]) / np.std([v.value for v in drawn]))
    assert 0.85 < ratio < 2.2


def test_at_no_false_positive_members_are_those_above_every_other_record() -> None:
    members, others = np.array([3.0, 2.0, 2.0, 0.5]), np.array([2.0, 1.0, 0.0])
    assert tpr_at_fpr(members, others, 0.0).value == 0.25  # a tie with a non-member is not above it
    assert tpr_at_fpr(members, others, 1e-5).value == 0.25
    assert tpr_at_fpr(-members, others, 0.0).value == 0.0


def test_the_standard_set_is_complete_and_accuracy_agrees() -> None:
    rng = np.random.default_rng(2)
    result = measure_answers(Answers(rng.normal(size=9), rng.normal(size=7), rng.random(9) < 0.5, rng.random(7) < 0.5))
    levels = ("5pct", "2pct", "1pct", "0.1pct", "0.001pct", "0pct")
    precision = {"best_precision", "held_out_precision"}
    precision |= {"share_of_members", "shuffled_best_precision", *(f"{name}_gain" for name in precision)}
    assert set(result) == {
        "advantage",
        "tpr",
        "fpr",
        "auc",
        *(f"tpr_at_{level}_fpr" for level in levels),
    } | precision | {
        "nonmember_precision_1pct",
        "attack_accuracy",
        "best_attack_accuracy",
        "max_advantage",
        "held_out_advantage",
    }
    assert (
        result["attack_accuracy"].value == (1 + result["advantage"].value) / 2 <= result["best_attack_accuracy"].value
    )
    logp, labels = rng.normal(size=(50, 3)), rng.integers(3, size=50)
    assert accuracy(Outputs(logp, labels)).value == accuracy_score(labels, logp.argmax(axis=1))


@given(SCORES, SCORES)
def test_delongs_error_is_that_of_the_placements(members: np.ndarray, others: np.ndarray) -> None:
    """By the definition: every member's share of non-members below it, and the other way round."""
    m, n = len(members), len(others)
    wins = np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in others] for a in members])
    error = np.sqrt(np.var(wins.mean(axis=1), ddof=1) / m + np.var(wins.mean(axis=0), ddof=1) / n) if m > 1 < n else 0
    result = auc(members, others)
    assert (result.value, result.stderr, result.n) == (pytest.approx(wins.mean()), pytest.approx(error), m + n)
    assert auc(members[:1], others).stderr == auc(members, others[:1]).stderr == 0.0


def test_errors_of_averages_and_of_what_noise_costs() -> None:
    values = np.array([0.1, 0.4, 0.7])
    assert average(values) == Value(pytest.approx(0.4), pytest.approx(0.3 / np.sqrt(3)), 3)  # type: ignore[arg-type]
    assert average(np.array([0.4])) == Value(0.4, 0.0, 1)
    result = accuracy_loss(Value(0.6, 0.02, 100), Value(0.8, 0.03, 100))
    assert result.value == pytest.approx(0.25)
    assert result.stderr == pytest.approx(np.hypot(0.02 / 0.8, 0.6 / 0.8 * 0.03 / 0.8))


def test_every_metric_has_a_range() -> None:
    assert all(metric.low < metric.high for metric in METRICS.values())
    assert METRICS["accuracy_loss_test"].low == -np.inf


@given(SCORES, SCORES)
def test_the_best_threshold_is_the_highest_of_the_best(members: np.ndarray, others: np.ndarray) -> None:
    gained = {t: np.mean(members >= t) - np.mean(others >= t) for t in np.r_[members, others]}
    largest = max(gained.values())
    assert best_threshold(members, others) == max(t for t, gain in gained.items() if gain > largest - 1e-12)
    no = np.zeros(len(members), bool), np.zeros(len(others), bool)
    result = METRICS["best_attack_accuracy"].function(Answers(members, others, *no))
    assert result.value == pytest.approx((1 + max(0.0, largest)) / 2)
    assert result.n == len(members) + len(others)


def test_an_accuracy_and_its_error_are_halves_of_an_advantages() -> None:
    scores, said = np.zeros(9), np.arange(9) < 6
    answers = Answers(scores, scores, said, ~said)
    result, of = METRICS["attack_accuracy"].function(answers), METRICS["advantage"].function(answers)
    assert (result.value, result.stderr, result.n) == (pytest.approx(2 / 3), pytest.approx(of.stderr / 2), 18)
    alike = METRICS["best_attack_accuracy"].function(answers)  # no threshold tells them apart
    assert alike.value == 0.5
    assert alike.stderr == 0.0


@pytest.mark.parametrize(("m", "n", "surest"), [(120, 180, 3), (6, 8, 1), (300, 449, 7)])
def test_precision_of_the_surest_calls_of_non_member(m: int, n: int, surest: int) -> None:
    """Of the lowest hundredth of all scores, rounded, and of one score at least."""
    members, others = np.arange(m) * 1.0 + 0.5, np.arange(n) * 1.0
    lowest = sorted([(s, 0) for s in members] + [(s, 1) for s in others])[:surest]
    nothing = np.zeros(m, bool), np.zeros(n, bool)
    result = METRICS["nonmember_precision_1pct"].function(Answers(members, others, *nothing))
    assert (result.value, result.n) == (pytest.approx(np.mean([other for _, other in lowest])), surest)


@pytest.mark.parametrize(("fpr", "n"), [(0.1, 50), (0.3, 50), (0.5, 30)])
def test_the_error_of_a_tpr_by_hand(fpr: float, n: int) -> None:
    members, others = np.linspace(0.03, 5.0, 83), np.linspace(0, 4, n)
    result = tpr_at_fpr(members, others, fpr)
    spread = np.sqrt(fpr * (1 - fpr) / n)
    at = [
        float(np.mean(members > np.sort(others)[::-1][int(level * n)])) for level in (fpr, fpr - spread, fpr + spread)
    ]
    assert result.value == at[0]
    assert result.stderr == pytest.approx(np.hypot(np.sqrt(at[0] * (1 - at[0]) / 83), (at[2] - at[1]) / 2))
    assert result.n == 83 + n


def ends_of(members: np.ndarray, others: np.ndarray) -> tuple[Value, Value]:
    """What is on average not too high, and not too low, of the largest advantage over thresholds."""
    values = measure_answers(Answers(members, others, members > 0, others > 0))
    return values["held_out_advantage"], values["max_advantage"]


@given(SCORES, SCORES)
def test_the_largest_advantage_is_that_of_the_best_point_of_the_roc(members: np.ndarray, others: np.ndarray) -> None:
    truth, scores = stacked(members, others)
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    low, high = ends_of(members, others)
    answers = Answers(members, others, members > 0, others > 0)
    assert high.value == pytest.approx(max(0.0, np.max(tpr - fpr)), abs=1e-12)
    assert high.value == pytest.approx(2 * METRICS["best_attack_accuracy"].function(answers).value - 1, abs=1e-12)
    assert min(low.stderr, high.stderr) > 0


@given(SCORES, SCORES)
def test_a_record_has_no_say_in_the_threshold_that_calls_it(members: np.ndarray, others: np.ndarray) -> None:
    called = held_out_decisions(members, others)[0][0]
    moved = np.r_[members[0] + (1000 if called else -1000), members[1:]]
    assert held_out_decisions(moved, others)[0][0] == called


def test_where_no_threshold_gains_anything_nobody_is_called_a_member() -> None:
    """Members score lower: held out, too, the advantage is 0 and not negative."""
    low, high = ends_of(np.zeros(20), np.ones(20))
    assert (low.value, high.value) == (0.0, 0.0)


def drawn_attack(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores of `n` members and as many others, and the largest advantage that any threshold has."""
    normal = scipy.stats.norm
    if kind == "few far members":
        members = np.where(rng.random(n) < 0.3, rng.normal(8, 1, n), rng.normal(0, 1, n))
        return members, rng.normal(0, 1, n), 0.3 * (normal.sf(-3.8) - normal.sf(4.2))
    if kind == "ties":
        at = np.arange(-1, 11)
        best = np.max(scipy.stats.binom.sf(at, 10, 0.62) - scipy.stats.binom.sf(at, 10, 0.5))
        return rng.binomial(10, 0.62, n) / 10, rng.binomial(10, 0.5, n) / 10, float(best)
    shift = {"no signal": 0.0, "weak": 0.2, "clear": 1.0, "strong": 4.0}[kind]
    return rng.normal(shift, 1, n), rng.normal(0, 1, n), float(2 * normal.cdf(shift / 2) - 1)


KINDS = ("no signal", "weak", "clear", "strong", "few far members", "ties")


def miss_rates(kind: str, n: int, draws: int) -> tuple[float, float, float]:
    """How often the 95% interval from the two ends is above the truth, and below it; its mean width."""
    rng = np.random.default_rng(KINDS.index(kind))
    above, below, width = 0, 0, 0.0
    for _ in range(draws):
        members, others, true = drawn_attack(kind, n, rng)
        low, high = ends_of(members, others)
        interval = low.value - 1.96 * low.stderr, high.value + 1.96 * high.stderr
        above += interval[0] > true
        below += interval[1] < true
        width += interval[1] - interval[0]
    return above / draws, below / draws, width / draws


def dkw_width(n: int) -> float:
    """Of a 95% interval, simultaneous in the threshold, from the Dvoretzky-Kiefer-Wolfowitz inequality."""
    return 4 * math.sqrt(math.log(4 / 0.05) / (2 * n))


@pytest.mark.parametrize("kind", KINDS)
def test_the_two_ends_cover_the_largest_advantage(kind: str) -> None:
    above, below, width = miss_rates(kind, 300, 300)
    assert above + below <= 0.05
    assert width < 0.75 * dkw_width(300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_two_ends_cover_the_largest_advantage_of_many_attacks(kind: str) -> None:
    above, below, width = miss_rates(kind, 300, 10_000)
    assert above <= 0.025
    assert below <= 0.035
    assert above + below <= 0.05
    assert width < 2 / 3 * dkw_width(300)


def test_decisions_that_are_all_alike_have_an_error_of_two_more_of_each() -> None:
    """Agresti and Coull 1998: 12 of 14, and 2 of 14."""
    estimate = _advantage_of(np.ones(10, bool), np.zeros(10, bool))
    assert estimate.value == 1.0
    assert estimate.stderr == pytest.approx(math.sqrt(2 * (12 / 14) * (2 / 14) / 14))


def test_a_threshold_of_the_other_half_is_that_of_a_search_over_all_scores() -> None:
    """Few records, so that the label of each counts."""
    rng = np.random.default_rng(5)
    for m, n in ((3, 4), (4, 4), (5, 3), (8, 6)):
        for _ in range(40):
            sides = rng.integers(6, size=m) / 5 + 0.2, rng.integers(6, size=n) / 5
            halves = _halves(m), _halves(n)
            for asked in (0, 1):
                inside, outside = (scores[half != asked] for scores, half in zip(sides, halves, strict=True))
                gains = {t: (inside >= t).mean() - (outside >= t).mean() for t in np.concatenate([inside, outside])}
                best = max(gains.values())
                threshold = max(t for t, gain in gains.items() if gain > best - 1e-9) if best > 1e-9 else math.inf
                for scores, half, decided in zip(sides, halves, held_out_decisions(*sides), strict=True):
                    assert decided[half == asked].tolist() == (scores[half == asked] >= threshold).tolist()
