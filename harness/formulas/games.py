"""Games that are small enough to be counted out, outcome by outcome."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import scipy

from harness.arrays import Array
from harness.formulas.formula import computed, whole_number

Joint = dict[tuple[int, int, int], float]
"""Probability of (membership bit, model, record)."""


def _algorithm(universe: int, n: int, models: int, seed: int, ordered: bool) -> dict[tuple[int, ...], Array]:
    """A random training algorithm: for every training set the distribution of the model, (models,).

    With `ordered` the algorithm looks at the last record alone, so that the order of records matters to it.
    """
    rng = np.random.default_rng(seed)
    known: dict[tuple[int, ...], Array] = {}
    distributions = {}
    for records in product(range(universe), repeat=n):
        key = records[-1:] if ordered else tuple(sorted(records))
        if key not in known:
            known[key] = rng.dirichlet(np.ones(models))
        distributions[records] = known[key]
    return distributions


@computed("experiment-distance", "total variation between (b, a, z) in Exp and in Exp'", "humphries2020 Lemma 3.1")
def experiment_distance(n: float, universe: float, seed: float, ordered: float = 0.0) -> float:
    """The total variation distance between the two membership experiments of humphries2020 Lemma 3.1.

    It is counted over all data sets of `n` records from a universe of so many, for an algorithm drawn by `seed`.
    Raises ValueError unless `n` is a whole number from 1 to 5, and `universe` from 1 to 8.
    """
    size, count, models = whole_number("n", n, 1, 5), whole_number("universe", universe, 1, 8), 3
    rng = np.random.default_rng([int(seed), 1])
    draw = rng.dirichlet(np.ones(count))
    algorithm = _algorithm(count, size, models, int(seed), bool(ordered))
    first: Joint = {}
    second: Joint = {}

    def add(joint: Joint, bit: int, z: int, weight: float, records: tuple[int, ...]) -> None:
        for a, p in enumerate(algorithm[records]):
            joint[bit, a, z] = joint.get((bit, a, z), 0.0) + weight * float(p)

    for records in product(range(count), repeat=size):
        weight = 0.5 * math.prod(float(draw[r]) for r in records)
        for z in records:
            add(first, 0, z, weight / size, records)
        for z in range(count):
            add(first, 1, z, weight * float(draw[z]), records)
        z, rest = records[-1], records[:-1]  # the last record is the one of Exp' that the coin puts in
        add(second, 0, z, weight, (*rest, z))
        for other in range(count):
            add(second, 1, other, weight * float(draw[other]), records)
    keys = set(first) | set(second)
    return 0.5 * sum(abs(first.get(k, 0.0) - second.get(k, 0.0)) for k in keys)


def _mixture(m: int) -> dict[int, dict[tuple[int, int], Fraction]]:
    """The mixture of humphries2020 equation (18) without noise: of each component, (hot feature, label) to probability.

    It is in fractions, so that distances which are 0 come out as 0.
    """
    return {j: {((y + j - 2) % m + 1, y): Fraction(1, m) for y in range(1, m + 1)} for j in range(1, m + 1)}


@computed(
    "marginal-distance", "total variation between members and non-members in Exp_nonIID", "humphries2020 Def. 5.1"
)
def marginal_distance(components: float) -> float:
    """The total variation distance between a member and a non-member of the synthetic mixture, counted.

    Raises ValueError unless `components` is a whole number from 1 to 1000.

    >>> marginal_distance(5)
    0.0
    """
    m = whole_number("components", components, 1, 1000)
    mixture = _mixture(m)
    member: dict[tuple[int, int], Fraction] = {}
    for table in mixture.values():  # the component is drawn, then a training record from it
        for z, p in table.items():
            member[z] = member.get(z, Fraction(0)) + p / m
    every = {z for table in mixture.values() for z in table}
    other = {z: sum((table.get(z, Fraction(0)) for table in mixture.values()), Fraction(0)) / m for z in every}
    return float(sum((abs(member.get(z, Fraction(0)) - other[z]) for z in every), Fraction(0)) / 2)


@computed("component-advantage", "TPR - FPR of 'from the members' component'", "humphries2020 Section 5.4, counted")
def component_advantage(components: float) -> float:
    """The advantage of calling every record of the members' mixture component a member, counted.

    Raises ValueError unless `components` is a whole number from 1 to 1000.

    >>> component_advantage(5)
    0.8
    """
    m = whole_number("components", components, 1, 1000)
    mixture = _mixture(m)
    tpr = fpr = Fraction(0)
    for table in mixture.values():
        tpr += sum(table.values(), Fraction(0))
        for other in mixture.values():
            fpr += sum((other[z] for z in table.keys() & other.keys()), Fraction(0))
    return float(tpr / m - fpr / m / m)


FIGURE_5 = ((1, 2, 3, 4, 5), (2, 3, 4, 5, 1), (3, 4, 5, 1, 2), (4, 5, 1, 2, 3), (5, 1, 2, 3, 4))
"""The labels that humphries2020 Figure 5 prints, by row (the feature that is 1) and subpopulation."""


@computed(
    "figure5-differences",
    "entries of Figure 5 whose label is another than by equation (18), of 25",
    "humphries2020 Figure 5 and Eq. (18), counted",
)
def figure5_differences(inverse: float = 0.0) -> float:
    """The number of the 25 entries of humphries2020 Figure 5 whose label is not that of equation (18) at m = 5.

    By the equation a record of label y in subpopulation j has its 1 at feature (y + j - 2 mod m) + 1. With `inverse`
    the feature is (y - j mod m) + 1.

    >>> figure5_differences(), figure5_differences(1.0)
    (20.0, 0.0)
    """
    m = len(FIGURE_5)
    labels = {}
    for y, j in product(range(1, m + 1), repeat=2):
        feature = (y - j if inverse else y + j - 2) % m + 1
        labels[feature, j] = y
    return float(sum(labels[row, j] != FIGURE_5[row - 1][j - 1] for row, j in labels))


@computed("kov-gap", "|least delta by the definition - least delta by all adversaries' errors|", "tramer2025 Theorem 1")
def kov_gap(epsilon: float, seed: float, outcomes: float = 8.0) -> float:
    """The gap between two least deltas of a random mechanism: by (eps, delta)-DP, and by all adversaries' errors.

    The first is the definition's: the larger of the two sums over outputs of (P - exp(eps) Q)_+. The second is the
    least delta under which both inequalities of tramer2025 Theorem 1 hold for each of the 2^outcomes deterministic
    adversaries. Raises ValueError unless `outcomes` is a whole number from 1 to 14.
    """
    k, e = whole_number("outcomes", outcomes, 1, 14), math.exp(epsilon)
    rng = np.random.default_rng(int(seed))
    absent, present = rng.dirichlet(np.full(k, 0.5)), rng.dirichlet(np.full(k, 0.5))
    defined = max(np.maximum(absent - e * present, 0).sum(), np.maximum(present - e * absent, 0).sum())
    needed = 0.0
    for size in range(k + 1):
        for said_absent in combinations(range(k), size):
            tnr, fnr = absent[list(said_absent)].sum(), present[list(said_absent)].sum()
            fpr, tpr = 1 - tnr, 1 - fnr
            needed = max(needed, tnr - e * fnr, tpr - e * fpr)
    return abs(float(defined) - float(needed))


def _sets(outcomes: int) -> Array:
    """The outputs, 1 or 0, at which each deterministic adversary says "member", (2^outcomes, outcomes); first none."""
    return np.array(list(product((0.0, 1.0), repeat=outcomes)))


@computed(
    "corollary-gap",
    "|least epsilon by the definition - ln of the largest ratio of errors over all adversaries|",
    "tramer2025 Corollary 1",
)
def corollary_gap(delta: float, seed: float, outcomes: float = 8.0) -> float:
    """The gap between two least epsilons of a random mechanism: by (eps, delta)-DP, and by ratios of errors.

    The first is the least epsilon at which the larger of the two sums over outputs of (P - exp(eps) Q)_+ is at most
    delta. The second is the largest logarithm of (TNR - delta)/FNR and (TPR - delta)/FPR over all deterministic
    adversaries, or 0 (tramer2025 Corollary 1). Raises ValueError unless `outcomes` is a whole number from 1 to 14.
    """
    k = whole_number("outcomes", outcomes, 1, 14)
    rng = np.random.default_rng(int(seed))
    absent, present = rng.dirichlet(np.full(k, 0.5)), rng.dirichlet(np.full(k, 0.5))

    def excess(epsilon: float) -> float:
        e = math.exp(epsilon)
        sums = np.maximum(absent - e * present, 0).sum(), np.maximum(present - e * absent, 0).sum()
        return float(max(sums) - delta)

    if delta == 0:  # where the sums are 0 from the least epsilon on, and no root is crossed
        defined = float(np.abs(np.log(absent / present)).max())
    else:
        defined = 0.0 if excess(0) <= 0 else float(scipy.optimize.brentq(excess, 0, 700, xtol=1e-13))
    member = _sets(k)[1:-1]
    other = 1 - member
    above = np.concatenate([member @ present, other @ absent]) - delta  # TPR and TNR
    below = np.concatenate([member @ absent, other @ present])  # FPR and FNR
    return abs(defined - float(max(0.0, *np.log(above[above > 0] / below[above > 0]))))


def _fraction(chances: tuple[Fraction, ...], inside: tuple[int, ...]) -> Fraction:
    """The probability that just the records marked 1 are drawn, exactly: a gap of 0 is to come out as 0."""
    return math.prod((p if drawn else 1 - p for p, drawn in zip(chances, inside, strict=True)), start=Fraction(1))


@computed(
    "pairing-gap", "largest |P(D) P(x not drawn)/P(x drawn) - P(D')| over data sets D with x", "thudi2022 Lemma 1"
)
def pairing_gap(points: float, seed: float) -> float:
    """The largest gap of the pairing in thudi2022 Lemma 1, over all data sets D from a pool that have a record x.

    The records are drawn independently with random probabilities, and D' is D without x. The gap is infinite where the
    pairing is not one to one: where two data sets share a D', or a data set without x is the D' of none. Raises
    ValueError unless `points` is a whole number from 1 to 12.
    """
    n = whole_number("points", points, 1, 12)
    rng = np.random.default_rng(int(seed))
    chances = tuple(Fraction(int(c), 100) for c in rng.integers(1, 100, n))
    sets = list(product((0, 1), repeat=n))
    partners = [(drawn, (0, *drawn[1:])) for drawn in sets if drawn[0]]
    without = [drawn for drawn in sets if not drawn[0]]
    if sorted(partner for _, partner in partners) != without:
        return math.inf
    odds = (1 - chances[0]) / chances[0]
    return float(
        max(abs(_fraction(chances, whole) * odds - _fraction(chances, partner)) for whole, partner in partners)
    )


@computed("pairs-counted", "pairs of data sets that differ in one given record", "definition")
def pairs_counted(points: float) -> float:
    """The number of pairs of data sets from a pool of `points` records that differ in one given record, counted.

    Raises ValueError unless `points` is a whole number from 1 to 16.

    >>> pairs_counted(4), pairs_as_printed(4)
    (8.0, 7.0)
    """
    n = whole_number("points", points, 1, 16)
    sets = set(product((0, 1), repeat=n))
    return float(sum(1 for drawn in sets if drawn[0] and (0, *drawn[1:]) in sets))


@computed("pairs-as-printed", "sum of (n - 1 choose j) over j from 1 to n - 1", "thudi2022 Section 4.3")
def pairs_as_printed(points: float) -> float:
    """The number of pairs of data sets for a pool of `points` records as thudi2022 Section 4.3 prints it.

    Raises ValueError unless `points` is a whole number from 1 to 1000.
    """
    n = whole_number("points", points, 1, 1000)
    return float(sum(math.comb(n - 1, j) for j in range(1, n)))


@computed(
    "power-gap",
    "|TPR of the best randomized test - TPR of the likelihood ratio test|, at one FPR",
    "tramer2025 Section 5.3",
)
def power_gap(fpr: float, seed: float, outcomes: float = 8.0) -> float:
    """The gap in TPR between the best test and the likelihood ratio test of a random mechanism, at one FPR.

    The first is a linear program over all tests that say "member" at each output with some probability. The second
    says it from the output with the largest ratio on, and at the last one with the probability that uses up the FPR
    (Neyman and Pearson's lemma, as tramer2025 Section 5.3 uses it). Raises ValueError unless `outcomes` is a whole
    number from 1 to 1000.
    """
    k, level = whole_number("outcomes", outcomes, 1, 1000), float(fpr)
    rng = np.random.default_rng(int(seed))
    absent, present = rng.dirichlet(np.full(k, 0.5)), rng.dirichlet(np.full(k, 0.5))
    best = scipy.optimize.linprog(-present, A_ub=absent[None], b_ub=[level], bounds=(0, 1))
    order = np.argsort(-present / absent)
    left = np.maximum(level - np.concatenate([[0.0], np.cumsum(absent[order])[:-1]]), 0.0)
    ratio_test = np.minimum(left / absent[order], 1.0) @ present[order]
    return abs(float(present @ np.asarray(best.x, float)) - float(ratio_test))
