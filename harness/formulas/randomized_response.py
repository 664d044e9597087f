"""Randomized response on labels (rahimian2021 Section 4.2) and the gap attack, counted from their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

from harness.formulas.formula import computed, formula, whole_number
from harness.formulas.numbers import Number

HALF = Fraction(1, 2)
"""The chance of a fair coin, as a fraction, so that probabilities are exact."""


def response_probabilities(classes: int) -> tuple[Fraction, Fraction]:
    """The probability that the returned label is revealed, and that any given other one is, from the two coins.

    >>> [str(p) for p in response_probabilities(10)]
    ['3/4', '1/36']
    """
    same = HALF + HALF * HALF  # tails, or heads and heads again
    return same, (1 - same) / (classes - 1)


@computed(
    "two-coin-ratio", "max over labels of P(revealed | returned) / P(revealed | other)", "rahimian2021 Section 4.2"
)
def two_coin_ratio(classes: float) -> float:
    """The largest ratio of the probabilities of one revealed label under two returned labels.

    Its logarithm is the label's epsilon. Raises ValueError unless `classes` is a whole number from 2 to a million.

    >>> two_coin_ratio(10)
    27.0
    """
    same, other = response_probabilities(whole_number("classes", classes, 2, 10**6))
    return float(max(same / other, other / same))


@computed("two-coin-epsilon", "ln of the largest such ratio over all vectors of N answers", "rahimian2021 Section 4.2")
def two_coin_epsilon(classes: float, answers: float) -> float:
    """The epsilon of `answers` independent answers about one record, by counting.

    Of a vector with k answers of one label and j of another, the probabilities where either is the returned label have
    the ratio of `two_coin_ratio` to the power k - j. Raises ValueError unless `classes` is a whole number from 2 to a
    million, and `answers` from 1 to 1000.

    >>> round(two_coin_epsilon(10.0, 1.0), 4)
    3.2958
    """
    same, other = response_probabilities(whole_number("classes", classes, 2, 10**6))
    n = whole_number("answers", answers, 1, 1000)
    # With two classes an answer that is not the one label is the other: k + j is n, and k - j is as even as n.
    return max(_log((same / other) ** more) for more in range(-n, n + 1, 2 if classes == 2 else 1))


def _log(ratio: Fraction) -> float:
    """The natural logarithm of a fraction whose parts may be too large for a float."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@computed("two-coin-majority", "P(more than half of N answers are the returned label)", "rahimian2021 Section 4.2")
def two_coin_majority(answers: float) -> float:
    """The probability that more than half of `answers` independent answers about one record are the returned label.

    Raises ValueError unless `answers` is a whole number from 1 to 10,000.

    >>> two_coin_majority(1.0)
    0.75
    """
    n = whole_number("answers", answers, 1, 10_000)
    same, _ = response_probabilities(2)
    return float(sum(math.comb(n, k) * same**k * (1 - same) ** (n - k) for k in range(n // 2 + 1, n + 1)))


@formula("two-coin-accuracy", "0.75 acc + 0.25 (1 - acc) / (C - 1)", "rahimian2021 Section 5.3")
def two_coin_accuracy(accuracy: Number, classes: Number) -> Number:
    """The expected accuracy after randomized response, as rahimian2021 Section 5.3 prints it."""
    return 0.75 * accuracy + 0.25 * (1.0 - accuracy) / (classes - 1.0)


@formula("gap-attack", "(1 + acc_train - acc_test) / 2", "rahimian2021 Section 5.3")
def gap_attack(accuracy_train: Number, accuracy_test: Number) -> Number:
    """The accuracy of the attack 'member iff classified correctly', as rahimian2021 Section 5.3 prints it."""
    return (1.0 + accuracy_train - accuracy_test) / 2.0


@computed("gap-attack-counted", "correct calls over all calls, members and non-members alike in number", "definition")
def gap_attack_counted(accuracy_train: float, accuracy_test: float) -> float:
    """The accuracy of the attack 'member iff classified correctly', by counting 1000 members and 1000 non-members."""
    n = 1000
    members = [i < round(accuracy_train * n) for i in range(n)]
    others = [i < round(accuracy_test * n) for i in range(n)]
    right = sum(correct is True for correct in members) + sum(correct is False for correct in others)
    return right / (2 * n)
