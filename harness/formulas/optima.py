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
    """Maximise `gain` @ x under linear constraints."""
    from scipy import optimize

    return optimize.linprog(-gain, A_ub, b_ub, A_eq, b_eq, bounds, method="highs")


DEFINITION = "linear program over all (eps, delta)-DP mechanisms"


def _inclusion(points: int, prior: float) -> Array:
    """Probability of every training set (a bit mask over the pool) under independent inclusion, (2^points,)."""
    sizes = np.array([bin(d).count("1") for d in range(2**points)])
    return np.asarray(prior**sizes * (1 - prior) ** (points - sizes), float)


def _neighbours(points: int) -> list[tuple[int, int]]:
    """Ordered pairs of training sets that differ by one record."""
    return [(d, d ^ (1 << i)) for d in range(2**points) for i in range(points)]


def _fraction(
    wanted: Array, weights: Array, pairs: list[tuple[int, int]], epsilon: float, delta: float, mass: float | None = None
) -> float:
    """Largest sum(wanted * weights * h) / sum(weights * h) (Charnes and Cooper's transform: y = t h, denominator 1).

    `mass`: the numerator before division is held at this value.
    """
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
    """Largest sum(gain * h) over h in [0, 1]."""
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
    """1 for training sets that contain any of the first `group` points."""
    return np.array([float(d & ((1 << group) - 1) != 0) for d in range(2**points)])


@computed("optimal-advantage-lp", "max TPR - FPR between two neighbours", DEFINITION)
@cache
def optimal_advantage_lp(epsilon: float, delta: float) -> float:
    """Largest advantage of a test between two neighbouring data sets."""
    return _solve_linear_program(np.array([-1.0, 1.0]), [(0, 1), (1, 0)], epsilon, delta)


@computed("optimal-ppv", "max P(x in D | S)", DEFINITION)
@cache
def optimal_ppv(epsilon: float, prior: float, points: float, delta: float = 0.0) -> float:
    """Largest positive accuracy of any attack on any mechanism."""
    n = whole_number("points", points, 1, 12)
    return _fraction(_contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, delta)


@computed("least-ppv", "min P(x in D | S)", DEFINITION)
@cache
def least_ppv(epsilon: float, prior: float, points: float) -> float:
    """Smallest positive accuracy."""
    n = whole_number("points", points, 1, 12)
    return 1.0 - _fraction(1.0 - _contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, 0.0)


@computed("optimal-npv", "max P(x not in D | S)", DEFINITION)
def optimal_npv(epsilon: float, prior: float, points: float) -> float:
    """Largest negative accuracy."""
    return 1.0 - least_ppv(epsilon, prior, points)


@computed("least-npv", "min P(x not in D | S)", DEFINITION)
def least_npv(epsilon: float, prior: float, points: float) -> float:
    """Smallest negative accuracy."""
    return 1.0 - optimal_ppv(epsilon, prior, points)


@computed("optimal-ppv-at-mass", "max P(x in D | S) where P(S and x in D) = mass", DEFINITION)
@cache
def optimal_ppv_at_mass(epsilon: float, delta: float, prior: float, mass: float, points: float) -> float:
    """Largest positive accuracy of an event of given joint probability with membership."""
    n = whole_number("points", points, 1, 12)
    return _fraction(_contains_group(n, 1), _inclusion(n, prior), _neighbours(n), epsilon, delta, mass)


@computed("optimal-group", "max P(D meets the group | S)", DEFINITION)
@cache
def optimal_group(epsilon: float, prior: float, group: float, points: float = 4.0) -> float:
    """Largest positive accuracy about a group of points."""
    n = whole_number("points", points, 1, 12)
    return _fraction(
        _contains_group(n, whole_number("group", group, 1, n)), _inclusion(n, prior), _neighbours(n), epsilon, 0.0
    )


@computed("least-absence", "min P(none of the group in D | S)", DEFINITION)
def least_absence(epsilon: float, prior: float, group: float) -> float:
    """Smallest probability that none of `group` points was used, given what the model shows."""
    return 1.0 - optimal_group(epsilon, prior, group, group)


@cache
def _sources(points: int, pattern: int) -> tuple[tuple[int, float], ...]:
    """A source over subsets of the pool: 0 all or nothing, 1 x with company or company alone, else random."""
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
    """Largest positive accuracy where a dependent source is sub-sampled independently at `rate`."""
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
    """Largest generalization gap at inclusion probability 1/2, in units of the loss's bound.

    The loss of x is post-processing of the model, so its mean obeys the inequalities of an event.
    """
    n = whole_number("points", points, 1, 12)
    weights, inside = _inclusion(n, 0.5), _contains_group(n, 1)
    return _solve_linear_program(2 * weights * ((1 - inside) - inside), _neighbours(n), epsilon, 0.0)


def _chain(gain: Array, epsilon: float, delta: float) -> float:
    n = len(gain) - 1
    pairs = [(i, i + 1) for i in range(n)] + [(i + 1, i) for i in range(n)]
    return _solve_linear_program(gain, pairs, epsilon / n, delta / n)


@computed("group-delta", "max P_n(S) - exp(eps) P_0(S), n steps of (eps/n, delta/n)-DP", DEFINITION)
@cache
def group_delta(epsilon: float, delta: float, n: float) -> float:
    """Delta at epsilon between data sets that differ in n records, under (eps/n, delta/n)-DP for one record."""
    gain = np.zeros(whole_number("n", n, 1, 1000) + 1)
    gain[0], gain[-1] = -math.exp(epsilon), 1.0
    return _chain(gain, epsilon, delta)


@computed("group-advantage", "max P_n(S) - P_0(S), n steps of (eps/n, delta/n)-DP", DEFINITION)
@cache
def group_advantage(epsilon: float, delta: float, n: float) -> float:
    """Membership advantage between data sets that differ in n records, under (eps/n, delta/n)-DP for one record."""
    gain = np.zeros(whole_number("n", n, 1, 1000) + 1)
    gain[0], gain[-1] = -1.0, 1.0
    return _chain(gain, epsilon, delta)


@computed(
    "optimal-advantage-in-exp", "max advantage in the game where z' stays unknown, universe of K records", DEFINITION
)
@cache
def optimal_advantage_in_exp(epsilon: float, universe: float) -> float:
    """Largest advantage in humphries2020's Algorithm 1, one training record out of `universe` equal ones, delta = 0.

    The extreme mechanisms have likelihoods in {1, exp(eps)} up to scale for every output (Kairouz, Oh and
    Viswanath 2016), so a linear program over the 2^K patterns of outputs is exact.
    """
    k = whole_number("universe", universe, 2, 14)
    patterns = np.array(list(product((1.0, math.exp(epsilon)), repeat=k)))
    excess = np.maximum(patterns - patterns.mean(axis=1, keepdims=True), 0).mean(axis=1)
    solution = _solve(excess, A_eq=patterns.T, b_eq=np.ones(k), bounds=(0, None))
    return float(-solution.fun)


@computed("log-least-absence", "ln min P(none of the group in D | S)", DEFINITION)
def log_least_absence(epsilon: float, prior: float, group: float) -> float:
    """Logarithm of `least-absence`."""
    return math.log(least_absence(epsilon, prior, group))
