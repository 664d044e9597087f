"""What RMIA takes for a likelihood, against the published formulas written out anew, and on models that are sure."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.arrays import Array
from harness.attacks import InOutModel, Outputs, Pool
from harness.attacks.rmia import Rmia, softmax_likelihood
from harness.identity import canonical
from harness.metrics.membership import auc
from tests.attacks.test_pooled import Known

SIGNALS = ("softmax", "soft-margin", "taylor", "soft-margin-taylor")
LOGITS = st.lists(st.floats(-30, 30), min_size=2, max_size=5)


def of_logits(logits: Array, labels: Array) -> Outputs:
    """Log-probabilities of logits (n, classes)."""
    logits = np.asarray(logits, dtype=np.float64)
    return Outputs(logits - np.logaddexp.reduce(logits, axis=1)[:, None], np.asarray(labels))


def published(logits: list[float], label: int, signal: str, temperature: float, margin: float, order: int) -> float:
    """One record's likelihood: z / T in place of z; exp(x), or its polynomial; the class's own z less the margin.

    Softmax with a temperature; soft-margin softmax (Liang et al. 2017); Taylor softmax (de Brebisson and Vincent 2016);
    both, SM-Taylor softmax (Banerjee et al. 2020). In 60 digits.
    """
    with mpmath.workdps(60):
        z = [mpmath.mpf(float(value)) / mpmath.mpf(temperature) for value in logits]

        def f(x: mpmath.mpf) -> mpmath.mpf:
            if "taylor" in signal:
                return mpmath.fsum(x**i / mpmath.factorial(i) for i in range(order + 1))
            return mpmath.exp(x)

        own = f(z[label] - (mpmath.mpf(margin) if "margin" in signal else 0))
        return float(own / (own + mpmath.fsum(f(x) for i, x in enumerate(z) if i != label)))


@pytest.mark.parametrize("signal", SIGNALS)
@given(
    LOGITS, st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0.0, 0.6]), st.sampled_from([2, 4])
)
def test_likelihoods_are_the_published_ones(
    signal: str, logits: list[float], label: int, temperature: float, margin: float, order: int
) -> None:
    """Polynomials are of logits with mean 0, since log-probabilities do not say by what all of them are moved."""
    label %= len(logits)
    centred = [value - float(np.mean(logits)) for value in logits]
    attack = Rmia(signal=signal, temperature=temperature, margin=margin, order=order)  # type: ignore[arg-type]
    (mine,) = attack.likelihood(of_logits(np.array([logits]), np.array([label])))
    assert mine == pytest.approx(published(centred, label, signal, temperature, margin, order), rel=1e-9, abs=1e-300)


@given(st.floats(20, 40), st.sampled_from([1.0, 2.0]))
def test_digits_near_one_are_kept(gap: float, temperature: float) -> None:
    """Two classes: what a likelihood lacks of 1 is the other class's share, as far as doubles have it."""
    sure = of_logits(np.array([[gap, 0.0]]), np.array([0]))
    (mine,) = softmax_likelihood(sure, temperature)
    assert 1 - mine == pytest.approx(1 / (1 + np.exp(gap / temperature)), abs=2.3e-16)


def test_probabilities_of_zero_have_likelihoods() -> None:
    """Answers that put everything on one class are wholly sure or wholly wrong, whichever signal."""
    with np.errstate(divide="ignore"):
        answers = Outputs(np.log(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])), np.array([0, 0]))
    for signal, temperature in itertools.product(SIGNALS, (1.0, 2.0)):
        right, wrong = Rmia(signal=signal, temperature=temperature).likelihood(answers)  # type: ignore[arg-type]
        assert 0 <= wrong < 0.5 < right <= 1


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("signal", SIGNALS)
def test_scores_are_shares_of_the_population_by_the_signal(signal: str, online: bool) -> None:
    """Record by record in loops: ratios of likelihoods, as the paper writes them, from the formulas above."""
    rng, a, gamma = np.random.default_rng(4), 0.4, 1.2
    labels, test_labels = rng.integers(4, size=12), rng.integers(4, size=9)

    def logits(n: int) -> Array:
        values = rng.normal(0, 2, (n, 4))
        return values - values.mean(axis=1, keepdims=True)

    seen = [(logits(12), logits(9)) for _ in range(5)]
    masks = [np.arange(12) % 2 == index % 2 for index in range(4)]
    pool = Pool(
        InOutModel(of_logits(own, labels), of_logits(others, test_labels), mask)
        for (own, others), mask in zip(seen, masks, strict=False)
    )
    own, others = seen[-1]
    target = Known(of_logits(own[:6], labels[:6]), of_logits(own[6:], labels[6:]), of_logits(others, test_labels))
    attack = Rmia(signal=signal, temperature=2, online=online, a=a, gamma=gamma)  # type: ignore[arg-type]
    result = attack.answers(target, attack.fit(pool, 0))

    def p(values: Array, label: int) -> float:
        return published(list(values), int(label), signal, 2.0, 0.6, 4)

    def completed(out: float) -> float:
        return (out + a * out + 1 - a) / 2

    ratios = []
    for z in range(9):
        without = float(np.mean([p(models[z], test_labels[z]) for _, models in seen[:4]]))
        ratios.append(p(others[z], test_labels[z]) / (without if online else completed(without)))
    for x, score in enumerate([*result.member_scores, *result.nonmember_scores]):
        sides = {
            held: float(
                np.mean(
                    [p(models[x], labels[x]) for (models, _), mask in zip(seen, masks, strict=False) if mask[x] == held]
                )
            )
            for held in (True, False)
        }
        reference = (sides[True] + sides[False]) / 2 if online else completed(sides[False])
        wanted = np.mean([p(own[x], labels[x]) / reference / ratio >= gamma for ratio in ratios])
        assert score == pytest.approx(wanted)


def test_gamma_only_says_where_scores_end() -> None:
    """All of RMIA's scores rank by one ratio: with a larger gamma more records share the lowest score."""
    rng = np.random.default_rng(6)
    hardness, others = rng.normal(4, 1, 400), rng.normal(4, 1, 300)

    def two_classes(values: Array) -> Outputs:
        return of_logits(np.stack([np.zeros(len(values)), values], axis=1), np.ones(len(values), dtype=int))

    pool, chosen = [], np.zeros(400, dtype=bool)
    for index in range(8):
        if index % 2 == 0:
            chosen = rng.permutation(np.arange(400) % 2 == 0)
        mask = chosen if index % 2 == 0 else ~chosen
        seen = hardness + mask + rng.normal(size=400)
        pool.append(InOutModel(two_classes(seen), two_classes(others + rng.normal(size=300)), mask))
    own = hardness + (np.arange(400) < 200) + rng.normal(size=400)
    target = Known(two_classes(own[:200]), two_classes(own[200:]), two_classes(others + rng.normal(size=300)))
    found = {}
    for gamma in (1.0, 2.0):
        attack = Rmia(gamma=gamma)
        found[gamma] = attack.answers(target, attack.fit(Pool(pool), 0))
    one, two = (np.concatenate([of.member_scores, of.nonmember_scores]) for of in found.values())
    assert not ((one[:, None] > one) & (two[:, None] < two)).any()  # no pair is ranked the other way round
    assert (two == 0).mean() > 0.8 > 0.05 > (one == 0).mean()
    areas = {gamma: auc(of.member_scores, of.nonmember_scores).value for gamma, of in found.items()}
    assert areas[1.0] > 0.6
    assert areas[2.0] < areas[1.0] - 0.05


def test_a_temperature_tells_apart_what_is_sure() -> None:
    """Where every answer rounds to 1, in or out, the plain likelihood has no score to give; half of the logit has."""
    rng = np.random.default_rng(2)

    def answers(inside: Array) -> Outputs:
        gap = 50 + 3 * inside + rng.normal(size=len(inside))
        return of_logits(np.stack([np.zeros(len(gap)), gap], axis=1), np.ones(len(gap), dtype=int))

    masks = [np.arange(200) % 2 == index % 2 for index in range(4)]
    nobody = np.zeros(100, dtype=bool)
    pool = Pool([InOutModel(answers(mask), answers(nobody), mask) for mask in masks])
    target = Known(answers(np.ones(100, dtype=bool)), answers(nobody), answers(nobody))
    plain, halved = (Rmia(gamma=1, temperature=temperature) for temperature in (1.0, 2.0))
    scores = [attack.answers(target, attack.fit(pool, 0)) for attack in (plain, halved)]
    assert len(np.unique(np.concatenate([scores[0].member_scores, scores[0].nonmember_scores]))) == 1
    assert auc(scores[1].member_scores, scores[1].nonmember_scores).value > 0.85


def test_names_of_earlier_results_are_as_they_were() -> None:
    later = {"signal", "temperature", "margin", "order"}
    assert not later & set(Rmia().content())
    assert later <= set(canonical(Rmia()))
    assert Rmia(temperature=2).content() == {**Rmia().content(), "temperature": 2.0}


@pytest.mark.parametrize("given", [{"order": 3}, {"temperature": 0}, {"margin": -0.1}, {"signal": "logits"}])
def test_what_is_no_likelihood_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Rmia(**given)  # type: ignore[arg-type]
