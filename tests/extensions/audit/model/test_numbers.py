"""Numbers of an audit against others' and hand-written ones, to 1e-9."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from harness.arrays import Array
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.rmia import Rmia
from harness.extensions.audit.model.asking import log_probabilities
from harness.extensions.audit.model.attacks import ModelTarget, attack_model
from harness.extensions.audit.model.intervals import (
    advantage_interval,
    auc_difference,
    auc_interval,
    rate_at,
    rate_interval,
    share_difference,
)
from harness.extensions.audit.model.pool import draw_halves, fill_zeros
from harness.extensions.audit.model.records import Records
from harness.extensions.audit.model.vulnerability import calibrate, exceedance
from harness.metrics.answers import Answers, Outputs
from harness.metrics.membership import tpr_at_fpr

EXACT = {"rel": 0, "abs": 1e-9}


def scored(seed: int, m: int = 37, n: int = 53, digits: int = 1) -> Answers:
    """Scores with ties, members higher."""
    rng = np.random.default_rng(seed)
    inside, outside = rng.normal(0.5, 1, m).round(digits), rng.normal(0, 1, n).round(digits)
    return Answers(inside, outside, inside > 0.3, outside > 0.3)


def clopper_pearson(hits: int, n: int, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    low = scipy.stats.beta.ppf(tail, hits, n - hits + 1) if hits else 0.0
    high = scipy.stats.beta.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (1, 20), (7, 53), (52, 53), (53, 53)])
def test_a_rate_has_the_interval_of_clopper_and_pearson(hits: int, n: int) -> None:
    interval = rate_interval(hits, n, 0.95)
    assert (interval.low, interval.high) == pytest.approx(clopper_pearson(hits, n, 0.95), **EXACT)
    assert interval.value == hits / n


@pytest.mark.parametrize("fpr", [0.3, 0.1, 1 / 53, 0.01])
def test_tpr_at_fpr_is_what_counting_gives(fpr: float) -> None:
    """Every score is tried as a threshold; the project's metric says the same."""
    for seed in range(5):
        answers = scored(seed)
        best = (0, 0)
        for threshold in sorted({*answers.member_scores, *answers.nonmember_scores}):
            caught = sum(score >= threshold for score in answers.member_scores)
            raised = sum(score >= threshold for score in answers.nonmember_scores)
            if raised / 53 <= fpr and caught > best[0]:
                best = (caught, raised)
        rate = rate_at(answers, fpr, 0.95)
        assert (rate.caught, rate.raised) == best
        assert rate.tpr.value == pytest.approx(best[0] / 37, **EXACT)
        assert rate.tpr.value == pytest.approx(tpr_at_fpr(answers.member_scores, answers.nonmember_scores, fpr).value)
        assert (rate.tpr.low, rate.tpr.high) == pytest.approx(clopper_pearson(best[0], 37, 0.95), **EXACT)
        assert (rate.fpr.low, rate.fpr.high) == pytest.approx(clopper_pearson(best[1], 53, 0.95), **EXACT)
        assert rate.visible == (fpr * 53 >= 1 - 1e-9)


def kernel(x: float, y: float) -> float:
    return 1.0 if x > y else 0.5 if x == y else 0.0


def delong(first: Answers, second: Answers) -> tuple[float, Array]:
    """AUC of the first, and the covariance of both AUCs, as DeLong et al. print it (Eqs. 3 to 6)."""
    areas, v10, v01 = [], [], []
    for answers in (first, second):
        table = [[kernel(x, y) for y in answers.nonmember_scores] for x in answers.member_scores]
        v10.append([statistics.fmean(row) for row in table])
        v01.append([statistics.fmean(column) for column in zip(*table, strict=True)])
        areas.append(statistics.fmean(v10[-1]))
    return areas[0], np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])


def test_auc_is_scikit_learns_with_delongs_interval() -> None:
    answers, other = scored(1), scored(2)
    area = roc_auc_score([1] * 37 + [0] * 53, [*answers.member_scores, *answers.nonmember_scores])
    _, covariance = delong(answers, other)
    reach = 1.959963984540054 * math.sqrt(covariance[0, 0])
    interval = auc_interval(answers, 0.95)
    assert (interval.value, interval.low, interval.high) == pytest.approx((area, area - reach, area + reach), **EXACT)


def test_the_difference_of_two_aucs_is_paired() -> None:
    answers = scored(1)
    noise = np.random.default_rng(3).normal(0, 0.5, 90).round(1)
    other = Answers(answers.member_scores + noise[:37], answers.nonmember_scores + noise[37:], *[np.zeros(1, bool)] * 2)
    (first, covariance), (second, _) = delong(answers, other), delong(other, answers)
    stderr = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    interval = auc_difference(answers, other, 0.95)
    assert interval.value == pytest.approx(first - second, **EXACT)
    assert interval.high - interval.value == pytest.approx(1.959963984540054 * stderr, **EXACT)


def test_where_all_are_told_apart_the_interval_has_a_width() -> None:
    """With 30 of each, an AUC of 0.88 orders 30 disjoint pairs alike with a chance of 0.88^30 = 2.5%."""
    apart = Answers(np.arange(30) + 100.0, np.arange(40) + 0.0, np.ones(30, bool), np.zeros(40, bool))
    interval = auc_interval(apart, 0.95)
    assert interval.high == 1
    assert interval.low**30 == pytest.approx(0.025, **EXACT)
    turned = auc_interval(Answers(apart.nonmember_scores[:30], apart.member_scores, *[np.ones(30, bool)] * 2), 0.95)
    assert (turned.low, turned.high) == pytest.approx((0, 1 - interval.low), **EXACT)
    none = auc_interval(Answers(np.zeros(30), np.zeros(40), np.ones(30, bool), np.ones(40, bool)), 0.95)
    assert none.low < 0.5 < none.high
    same = auc_difference(apart, apart, 0.95)
    assert same.low < 0 == same.value < same.high


def test_differences_of_rates_lie_between_the_ends_of_both() -> None:
    answers = scored(4)
    ends = [
        clopper_pearson(int(d.sum()), len(d), 0.975) for d in (answers.member_decisions, answers.nonmember_decisions)
    ]
    interval = advantage_interval(answers, 0.95)
    value = answers.member_decisions.mean() - answers.nonmember_decisions.mean()
    expected = (value, ends[0][0] - ends[1][1], ends[0][1] - ends[1][0])
    assert (interval.value, interval.low, interval.high) == pytest.approx(expected, **EXACT)
    first, second = np.array([1, 1, 1, 0, 0] * 8, bool), np.array([1, 0, 0, 1, 0] * 8, bool)
    paired = share_difference(first, second, 0.95)
    (a, b), (c, d) = clopper_pearson(16, 40, 0.975), clopper_pearson(8, 40, 0.975)
    assert (paired.value, paired.low, paired.high) == pytest.approx((0.2, a - d, b - c), **EXACT)


# --- what attacks answer


def small_pool(models: int = 8, n: int = 60, sure: float = 0.0) -> tuple[Records, Outputs, list[InOutModel]]:
    """Two classes; a model is surer of the records that it was trained on. `sure`: mean log-odds of all records."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, n + 24)
    hard = rng.normal(sure, 1, n + 24)

    def outputs(inside: Array) -> Outputs:
        confidence = hard + rng.normal(0, 0.3, n + 24) + np.append(1.0 * inside, np.zeros(24))
        own, other = -np.logaddexp(0, -confidence), -np.logaddexp(0, confidence)
        return Outputs(np.where(np.eye(2, dtype=bool)[labels], own[:, None], other[:, None]), labels)

    halves = draw_halves(labels[:n], models, 0)
    pool = []
    for half in halves:
        of_all = outputs(half)
        pool.append(
            InOutModel(
                Outputs(of_all.log_probabilities[:n], labels[:n]),
                Outputs(of_all.log_probabilities[n:], labels[n:]),
                half,
            )
        )
    features = rng.normal(size=(n + 24, 3))
    records = Records(
        features, labels, tuple(f"r:{i}" for i in range(n + 24)), n // 2, n // 2, np.ones(n + 24, int), (0, 0, 0)
    )
    return records, outputs(np.arange(n) < n // 2), pool


def test_loss_and_lira_are_what_their_formulas_give() -> None:
    records, outputs, pool = small_pool()
    answers = {name: one for name, (_, one) in attack_model(records, outputs, Pool(pool), 0).items()}
    assert list(answers) == ["blind", "loss", "quantile", "lira", "rmia"]
    own = [math.log(p) for p in np.exp(outputs.log_probabilities)[np.arange(84), outputs.labels]]
    assert answers["loss"].member_scores == pytest.approx(own[:30], **EXACT)
    assert answers["loss"].nonmember_scores == pytest.approx(own[30:60], **EXACT)

    def logit(p: float) -> float:
        return math.log(p / (1 - p))

    def of(model: Outputs, at: int) -> float:
        return logit(float(np.exp(model.log_probabilities[at, model.labels[at]])))

    sides = [
        (
            [of(m.candidates, i) for m in pool if m.trained_on[i]],
            [of(m.candidates, i) for m in pool if not m.trained_on[i]],
        )
        for i in range(60)
    ]
    spread_in, spread_out = (  # of fewer than 64 models the variance is pooled
        math.sqrt(statistics.fmean(statistics.variance(one[side]) for one in sides)) for side in (0, 1)
    )
    expected = [
        scipy.stats.norm.logpdf(of(outputs, i), statistics.fmean(inside), spread_in)
        - scipy.stats.norm.logpdf(of(outputs, i), statistics.fmean(outside), spread_out)
        for i, (inside, outside) in enumerate(sides)
    ]
    scores = np.concatenate([answers["lira"].member_scores, answers["lira"].nonmember_scores])
    assert scores == pytest.approx(expected, **EXACT)


def test_rmia_is_the_share_of_reference_records_that_a_record_is_favoured_over() -> None:
    """By soft-margin likelihoods at temperature 2, of two classes 1 / (1 + exp(0.6 - (log odds) / 2)), in loops."""
    records, outputs, pool = small_pool()
    answers = attack_model(records, outputs, Pool(pool), 0)["rmia"][1]

    def p(of: Outputs, at: int) -> float:
        own = float(of.log_probabilities[at, of.labels[at]])
        other = float(of.log_probabilities[at, 1 - of.labels[at]])
        return 1 / (1 + math.exp(0.6 - (own - other) / 2))

    others = [p(outputs, 60 + z) / statistics.fmean(p(m.test, z) for m in pool) for z in range(24)]
    for i, score in enumerate([*answers.member_scores, *answers.nonmember_scores]):
        inside = statistics.fmean(p(m.candidates, i) for m in pool if m.trained_on[i])
        outside = statistics.fmean(p(m.candidates, i) for m in pool if not m.trained_on[i])
        ratio = p(outputs, i) / ((inside + outside) / 2)
        assert score == pytest.approx(statistics.fmean(ratio / other >= 1 for other in others), **EXACT)


def test_rmia_is_not_blind_where_a_model_is_sure_of_every_record() -> None:
    """Every probability is near 1, in or out: the published gamma of 2 gives all records one score, the audit's not."""
    records, outputs, pool = small_pool(models=12, n=400, sure=6.0)
    assert np.exp(outputs.log_probabilities.max(axis=1)).min() > 0.9
    answers = attack_model(records, outputs, Pool(pool), 0)["rmia"][1]
    truth = np.arange(400) < 200
    scores = np.concatenate([answers.member_scores, answers.nonmember_scores])
    assert len(np.unique(scores)) > 20
    assert roc_auc_score(truth, scores) > 0.75
    assert answers.member_decisions.mean() - answers.nonmember_decisions.mean() > 0.3
    published = Rmia()
    published_answers = published.answers(ModelTarget(records, outputs), published.fit(Pool(pool), 0))
    assert not published_answers.member_scores.any()


# --- single records


def test_a_records_own_rate_is_a_prediction_from_its_out_models() -> None:
    rng = np.random.default_rng(6)
    inside = draw_halves(np.zeros(12, int), 10, 1)
    of_pool, scores = rng.normal(size=(10, 12)), rng.normal(size=12)
    expected = []
    for i in range(12):
        outs = [float(of_pool[k, i]) for k in range(10) if not inside[k, i]]
        width = statistics.stdev(outs) * math.sqrt(1 + 1 / len(outs))
        expected.append(1 - scipy.stats.t.cdf((scores[i] - statistics.fmean(outs)) / width, len(outs) - 1))
    assert exceedance(scores, of_pool, inside) == pytest.approx(expected, **EXACT)
    flat = exceedance(np.array([1.0, 3.0]), np.full((10, 2), 2.0), inside[:, :2])
    assert flat == pytest.approx([1.0, 1 / 6], **EXACT)


def test_a_pooled_rate_is_not_that_of_a_record_and_a_calibrated_one_is() -> None:
    """Records that are easy in every model are above a common threshold as non-members; 1 in 20 is above its own."""
    rng = np.random.default_rng(7)
    n, models = 4000, 32
    easy = np.where(np.arange(n) % 10 == 0, 6.0, 0.0)
    inside = draw_halves(np.zeros(n, int), models, 2)
    of_pool, scores = easy + rng.normal(size=(models, n)), easy + rng.normal(size=n)
    result = calibrate("loss", scores, of_pool, inside, n // 2, 0.05, 0.95)
    assert result.pooled_tpr.value == pytest.approx(0.05, abs=0.02)
    assert np.median(result.own_fprs[easy > 0]) > 0.3
    assert np.median(result.own_fprs[easy == 0]) < 0.001
    assert result.own_fprs.mean() == pytest.approx(0.05, abs=0.01)
    called = exceedance(scores, of_pool, inside) <= 0.05
    assert result.calibrated_fpr.value == called[n // 2 :].mean()
    assert called.mean() == pytest.approx(0.05, abs=0.01)
    assert called[easy > 0].mean() == pytest.approx(0.05, abs=0.025)
    assert result.at_once == int((called & (scores > np.sort(scores[n // 2 :])[-101]))[: n // 2].sum())


@given(st.lists(st.integers(0, 3), min_size=4, max_size=60), st.integers(4, 8), st.integers(0, 1000))
def test_halves_share_every_class(labels: list[int], pairs: int, seed: int) -> None:
    inside = draw_halves(np.array(labels), 2 * pairs, seed)
    assert (inside[::2] ^ inside[1::2]).all()
    for label in set(labels):
        mine = inside[:, np.array(labels) == label]
        assert np.abs(mine.sum(axis=1) - mine.shape[1] / 2).max() <= 1
    assert np.abs(inside.sum(axis=1) - len(labels) / 2).max() <= 1


# --- what a model may say


def test_logits_are_as_scipys_log_softmax() -> None:
    logits = np.random.default_rng(8).normal(0, 30, (20, 4))
    assert log_probabilities(logits, 20, True, "f") == pytest.approx(scipy.special.log_softmax(logits, axis=1), **EXACT)
    of_two = log_probabilities(logits[:, 0], 20, True, "f")
    assert of_two[:, 1] == pytest.approx(scipy.special.log_expit(logits[:, 0]), **EXACT)
    second = np.linspace(0, 1, 20)
    assert np.exp(log_probabilities(second, 20, False, "f")) == pytest.approx(
        np.stack([1 - second, second], 1), **EXACT
    )
    assert log_probabilities(second[:, None], 20, False, "f") == pytest.approx(
        log_probabilities(second, 20, False, "f")
    )


def test_a_probability_of_zero_is_half_of_the_smallest_other() -> None:
    filled = np.exp(fill_zeros(np.log(np.array([[0.98, 0.02], [1.0, 1e-300]])) * [[1, 1], [1, np.inf]]))
    assert filled == pytest.approx(np.array([[0.98, 0.02], [1.0, 0.01]]), **EXACT)
