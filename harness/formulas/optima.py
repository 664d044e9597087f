"""Optima over all mechanisms by linear programming: what the definitions allow, whatever a formula says.

A mechanism over a pool of `points` records matters to an adversary only through h(D), the probability of the
event S it acts on, for each training set D. (eps, delta)-DP between data sets that differ in one record is a set of
linear inequalities on h (for S and for its complement), and every such h belongs to a mechanism with two outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from harness.arrays import Array
from harness.formulas.formula import computed, whole_number

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


def _solve(
    gain: Array,
    *,
    bounds: tuple[float, float | None],
    A_ub: Array | None = None,
    b_ub: Array | None = None,
    A_eq: Array | None = None,
    b_eq: Sequence[float] | Array | None = None,
) -> OptimizeResult:
    """The solution that maximises `gain` @ x under linear constraints; its `fun` is the negated maximum."""
    # Imported where it is used: SciPy's optimizers load slowly, and most commands need none.
    from scipy import optimize

    return optimize.linprog(-gain, A_ub, b_ub, A_eq, b_eq, bounds, method="highs")


DEFINITION = "linear program over all (eps, delta)-DP mechanisms"
"""The source of every optimum of this module, as reports print it."""


def _inclusion(points: int, prior: float) -> Array:
    """The probability of every training set (a bit mask over the pool) under independent inclusion, (2^points,)."""
    sizes = np.array([bin(d).count("1") for d in range(2**points)])
    return np.asarray(prior**sizes * (1 - prior) ** (points - sizes), float)


def _neighbours(points: int) -> list[tuple[int, int]]:
    """The ordered pairs of training sets, as bit masks, that differ by one record."""
    return [(d, d ^ (1 << i)) for d in range(2**points) for i in range(points)]


def _fraction(
    wanted: Array, weights: Array, pairs: list[tuple[int, int]], epsilon: float, delta: float, mass: float | None = None
) -> float:
    """The largest sum(wanted * weights * h) / sum(weights * h) over all mechanisms h; not-a-number where there is none.

    Args:
        wanted: (n,) 1 for the training sets that count, else 0.
        weights: (n,) the probability of each training set.
        pairs: neighbouring training sets, between which (epsilon, delta)-DP holds.
        mass: the value at which the numerator before division is held; None leaves it free.
    """
    # Charnes and Cooper's transform makes the fraction linear: y = t h, with t such that the denominator is 1.
    n = len(weights)
    e = math.exp(epsilon)
    rows: list[Array] = []
    for a, b in pairs:
        row = np.zeros(n + 1)
        row[a], row[b], row[n] = 1.0, -e, -delta
        rows.append(row)
        row = np.zeros(n + 1)  # (t - y_a) <= e (t - y_b) + delta t
        row[a], row[b], row[n] = -1.0, e, 1.0 - e - delta
        rows.append(row)
    for d in range(n):
        row = np.zeros(n + 1)
        row[d], row[n] = 1.0, -1.0
        rows.append(row)
    equal = [np.append(weights, 0.0)]
    value = [1.0]
    if mass is not None:
        equal.append(np.append(wanted * weights, -mass))
        value.append(0.0)
    solution = _solve(
        np.append(wanted * weights, 0.0),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.array(equal),
        b_eq=value,
        bounds=(0, None),
    )
    return float(-solution.fun) if solution.status == 0 else math.nan


def _solve_linear_program(gain: Array, pairs: list[tuple[int, int]], epsilon: float, delta: float) -> float:
    """The largest sum(gain * h) over all mechanisms h, (n,) in [0, 1], under (epsilon, delta)-DP between the pairs."""
    n, e = len(gain), math.exp(epsilon)
    rows, limits = [], []
    for a, b in pairs:
        row = np.zeros(n)
        row[a], row[b] = 1.0, -e
        rows += [row, -row]
        limits += [delta, e - 1.0 + delta]
    # The second of each two: (1 - h_a) <= e (1 - h_b) + delta, that is -h_a + e h_b <= e - 1 + delta.
    solution = _solve(gain, A_ub=np.array(rows), b_ub=np.array(limits), bounds=(0, 1))
    return float(-solution.fun)


def _contains_group(points: int, group: int) -> Array:
    """The number 1 for training sets that contain any of the first `group` points, else 0: (2^points,)."""
    return np.array([float(d & ((1 << group) - 1) != 0) for d in range(2**points)])


@computed("optimal-advantage-lp", "max TPR - FPR between two neighbours", DEFINITION)
@cache
def optimal_advantage_lp(epsilon: float, delta: float) -> float:
    """The largest advantage of a test between two neighbouring data sets under (epsilon, delta)-DP.

    >>> round(optimal_advantage_lp(1.0, 0.0), 4)
    0.4621
    """
    return _solve_linear_program(np.array([-1.0, 1.0]), [(0, 1), (1, 0)], epsilon, delta)


@computed("optimal-ppv", "max P(x in D | S)", DEFINITION)
@cache
def optimal_ppv(epsilon: float, prior: float, points: float, delta: float = 0.0) -> float:
    """The largest positive accuracy of any attack on any (epsilon, delta)-DP mechanism.

    Each of `points` records is in the training set with probability `prior`, independently. Raises ValueError unless
    `points` is a whole number from 1 to 12.
    """
    n = whole_number("points", points, 1, 12)
    return _fraction(_contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, delta)


@computed("least-ppv", "min P(x in D | S)", DEFINITION)
@cache
def least_ppv(epsilon: float, prior: float, points: float) -> float:
    """The smallest positive accuracy of any attack on any epsilon-DP mechanism, of a pool as in `optimal_ppv`."""
    n = whole_number("points", points, 1, 12)
    return 1.0 - _fraction(1.0 - _contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, 0.0)


@computed("optimal-npv", "max P(x not in D | S)", DEFINITION)
def optimal_npv(epsilon: float, prior: float, points: float) -> float:
    """The largest negative accuracy of any attack on any epsilon-DP mechanism, of a pool as in `optimal_ppv`."""
    return 1.0 - least_ppv(epsilon, prior, points)


@computed("least-npv", "min P(x not in D | S)", DEFINITION)
def least_npv(epsilon: float, prior: float, points: float) -> float:
    """The smallest negative accuracy of any attack on any epsilon-DP mechanism, of a pool as in `optimal_ppv`."""
    return 1.0 - optimal_ppv(epsilon, prior, points)


@computed("optimal-ppv-at-mass", "max P(x in D | S) where P(S and x in D) = mass", DEFINITION)
@cache
def optimal_ppv_at_mass(epsilon: float, delta: float, prior: float, mass: float, points: float) -> float:
    """The largest positive accuracy of an event whose joint probability with membership is `mass`.

    It is not-a-number where no mechanism has such an event. Raises ValueError unless `points` is a whole number from 1
    to 12.
    """
    n = whole_number("points", points, 1, 12)
    return _fraction(_contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, delta, mass)


@computed("optimal-accuracy", "max P(the attack is right about x)", DEFINITION)
@cache
def optimal_accuracy(epsilon: float, prior: float, points: float) -> float:
    """The largest accuracy of any attack on any epsilon-DP mechanism, of a pool as in `optimal_ppv`.

    The attack says member on an event S and non-member elsewhere.

    >>> round(optimal_accuracy(1.0, 0.5, 2.0), 4)
    0.7311
    """
    n = whole_number("points", points, 1, 12)
    weights, inside = _inclusion(n, prior), _contains_group(n, 1)
    # P(S, x in D) + P(not S, x not in D) is 1 - prior plus the sum of h over data sets with x, less that without.
    return 1.0 - prior + _solve_linear_program(weights * (2 * inside - 1), _neighbours(n), epsilon, 0.0)


@computed("least-accuracy", "min P(the attack is right about x)", DEFINITION)
def least_accuracy(epsilon: float, prior: float, points: float) -> float:
    """The smallest accuracy of any attack on any epsilon-DP mechanism: what the opposite of the best one has."""
    return 1.0 - optimal_accuracy(epsilon, prior, points)


@computed("optimal-group", "max P(D meets the group | S)", DEFINITION)
@cache
def optimal_group(epsilon: float, prior: float, group: float, points: float = 4.0) -> float:
    """The largest probability, given an event of an epsilon-DP mechanism, that any of `group` points was used.

    Raises ValueError unless `points` is a whole number from 1 to 12, and `group` from 1 to `points`.
    """
    n = whole_number("points", points, 1, 12)
    return _fraction(
        _contains_group(n, whole_number("group", group, 1, n)), _inclusion(n, prior), _neighbours(n), epsilon, 0.0
    )


@computed("least-absence", "min P(none of the group in D | S)", DEFINITION)
def least_absence(epsilon: float, prior: float, group: float) -> float:
    """The smallest probability that none of `group` points was used, given what the model shows."""
    return 1.0 - optimal_group(epsilon, prior, group, group)


@cache
def _sources(points: int, pattern: int) -> tuple[tuple[int, float], ...]:
    """The subsets of the pool, as bit masks, that a dependent source draws, with their probabilities.

    Pattern 0 draws all or nothing, and 1 all or all but x; any other number seeds a random source.
    """
    full = 2**points - 1
    if pattern == 0:
        return ((0, 0.5), (full, 0.5))
    if pattern == 1:
        return ((full, 0.5), (full & ~1, 0.5))
    weights = np.random.default_rng(pattern).dirichlet(np.full(2**points, 0.3))
    return tuple((d, float(w)) for d, w in enumerate(weights))


@computed("optimal-ppv-sub-sampled", "max P(x in D_train | S), D_train sub-sampled from a dependent source", DEFINITION)
@cache
def optimal_ppv_sub_sampled(epsilon: float, rate: float, pattern: float, points: float) -> float:
    """The largest positive accuracy where a dependent source is sub-sampled independently at `rate`.

    Raises ValueError unless `points` is a whole number from 1 to 12, and `pattern` from 0 to 10^9.
    """
    n = whole_number("points", points, 1, 12)
    weights = np.zeros(2**n)
    for source, share in _sources(n, whole_number("pattern", pattern, 0, 10**9)):
        members = [i for i in range(n) if source >> i & 1]
        for bits in product((0, 1), repeat=len(members)):
            chosen = sum(1 << i for i, bit in zip(members, bits, strict=True) if bit)
            weights[chosen] += share * rate ** sum(bits) * (1 - rate) ** (len(bits) - sum(bits))
    return _fraction(_contains_group(n, 1), weights, _neighbours(n), epsilon, 0.0)


@computed("optimal-generalization-gap", "max E[loss | x not in D] - E[loss | x in D], loss in [0, 1]", DEFINITION)
@cache
def optimal_generalization_gap(epsilon: float, points: float) -> float:
    """The largest generalization gap at inclusion probability 1/2, in units of the loss's bound.

    The loss of x is post-processing of the model, so its mean obeys the inequalities of an event. Raises ValueError
    unless `points` is a whole number from 1 to 12.
    """
    n = whole_number("points", points, 1, 12)
    weights, inside = _inclusion(n, 0.5), _contains_group(n, 1)
    return _solve_linear_program(2 * weights * ((1 - inside) - inside), _neighbours(n), epsilon, 0.0)


def _chain(gain: Array, epsilon: float, delta: float) -> float:
    """The largest sum(gain * h) along n steps, (n + 1,), of which each is (epsilon/n, delta/n)-DP."""
    n = len(gain) - 1
    pairs = [(i, i + 1) for i in range(n)] + [(i + 1, i) for i in range(n)]
    return _solve_linear_program(gain, pairs, epsilon / n, delta / n)


@computed("group-delta", "max P_n(S) - exp(eps) P_0(S), n steps of (eps/n, delta/n)-DP", DEFINITION)
@cache
def group_delta(epsilon: float, delta: float, n: float) -> float:
    """The delta at `epsilon` between data sets that differ in `n` records, under (eps/n, delta/n)-DP for one record.

    Raises ValueError unless `n` is a whole number from 1 to 1000.
    """
    gain = np.zeros(whole_number("n", n, 1, 1000) + 1)
    gain[0], gain[-1] = -math.exp(epsilon), 1.0
    return _chain(gain, epsilon, delta)


@computed("group-advantage", "max P_n(S) - P_0(S), n steps of (eps/n, delta/n)-DP", DEFINITION)
@cache
def group_advantage(epsilon: float, delta: float, n: float) -> float:
    """The largest advantage between data sets that differ in `n` records, under (eps/n, delta/n)-DP for one record.

    Raises ValueError unless `n` is a whole number from 1 to 1000.
    """
    gain = np.zeros(whole_number("n", n, 1, 1000) + 1)
    gain[0], gain[-1] = -1.0, 1.0
    return _chain(gain, epsilon, delta)


@computed(
    "optimal-advantage-in-exp", "max advantage in the game where z' stays unknown, universe of K records", DEFINITION
)
@cache
def optimal_advantage_in_exp(epsilon: float, universe: float) -> float:
    """The largest advantage in humphries2020's Algorithm 1, one training record of `universe` equal ones, delta = 0.

    The extreme mechanisms have likelihoods in {1, exp(eps)} up to scale for every output (Kairouz, Oh and
    Viswanath 2016), so a linear program over the 2^K patterns of outputs is exact. Raises ValueError unless
    `universe` is a whole number from 2 to 14.
    """
    k = whole_number("universe", universe, 2, 14)
    patterns = np.array(list(product((1.0, math.exp(epsilon)), repeat=k)))
    excess = np.maximum(patterns - patterns.mean(axis=1, keepdims=True), 0).mean(axis=1)
    solution = _solve(excess, A_eq=patterns.T, b_eq=np.ones(k), bounds=(0, None))
    return float(-solution.fun)


@computed("log-least-absence", "ln min P(none of the group in D | S)", DEFINITION)
def log_least_absence(epsilon: float, prior: float, group: float) -> float:
    """The natural logarithm of `least_absence`."""
    return math.log(least_absence(epsilon, prior, group))
