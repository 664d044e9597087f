"""Membership games that are played: a mechanism is sampled, an adversary answers, calls are counted.

Each function takes a random generator, a number of trials and its parameters, and returns counts of calls.
Who is a member is drawn anew in every trial.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.arrays import Array

Generator = np.random.Generator
"""The source of a game's random numbers."""


@dataclass(frozen=True)
class Counts:
    """The number of calls by their truth: true and false positives, true and false negatives."""

    tp: int
    fn: int
    fp: int
    tn: int

    @classmethod
    def of(cls, member: Array, called: Array) -> Counts:
        """The counts of trials, from booleans (trials,): who was a member, and who was called one."""
        return cls(
            int((member & called).sum()),
            int((member & ~called).sum()),
            int((~member & called).sum()),
            int((~member & ~called).sum()),
        )


@dataclass(frozen=True)
class Simulation:
    """A registered game: its function, the names of its parameters, and what it is in a few words."""

    name: str
    function: Callable[..., Counts]
    parameters: tuple[str, ...]
    summary: str


SIMULATIONS: dict[str, Simulation] = {}
"""The registered games by the name that a spec writes."""


def simulation(name: str, summary: str) -> Callable[[Callable[..., Counts]], Callable[..., Counts]]:
    """The decorator that registers a game. Raises ValueError where the name is held already."""

    def register(function: Callable[..., Counts]) -> Callable[..., Counts]:
        if name in SIMULATIONS:
            raise ValueError(f"simulation {name!r} is registered twice")
        SIMULATIONS[name] = Simulation(name, function, tuple(inspect.signature(function).parameters)[2:], summary)
        return function

    return register


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The two-sided exact interval of a proportion; (0, 1) without trials.

    >>> [round(end, 4) for end in clopper_pearson(9, 10, 0.95)]
    [0.555, 0.9975]
    """
    if trials == 0:
        return 0.0, 1.0
    from scipy import stats

    interval = stats.binomtest(successes, trials).proportion_ci(level, "exact")
    return float(interval.low), float(interval.high)


def measure(counts: Counts, what: str, level: float, delta: float = 0.0) -> tuple[float, float, float]:
    """The estimate of a measure of an attack, and the ends of an interval of at least `level` coverage.

    Measures of two rates (advantage, epsilon) take an exact interval of each at half the error.

    >>> [round(number, 3) for number in measure(Counts(tp=90, fn=10, fp=20, tn=80), "advantage", 0.95)]
    [0.7, 0.507, 0.838]
    """
    members, others = counts.tp + counts.fn, counts.fp + counts.tn
    if what in ("ppv", "npv", "accuracy", "tpr", "fpr"):
        hits, of = {
            "ppv": (counts.tp, counts.tp + counts.fp),
            "npv": (counts.tn, counts.tn + counts.fn),
            "accuracy": (counts.tp + counts.tn, members + others),
            "tpr": (counts.tp, members),
            "fpr": (counts.fp, others),
        }[what]
        return (hits / of if of else math.nan, *clopper_pearson(hits, of, level))
    each = 1 - (1 - level) / 2
    tpr_low, tpr_high = clopper_pearson(counts.tp, members, each)
    fpr_low, fpr_high = clopper_pearson(counts.fp, others, each)
    tpr, fpr = counts.tp / max(members, 1), counts.fp / max(others, 1)
    if what == "advantage":
        return tpr - fpr, tpr_low - fpr_high, tpr_high - fpr_low

    def epsilon(t: float, f: float) -> float:
        return math.log((t - delta) / f) if t > delta and f > 0 else (math.inf if t > delta else -math.inf)

    return epsilon(tpr, fpr), epsilon(tpr_low, fpr_high), epsilon(tpr_high, fpr_low)


def _odds(rng: Generator, truth: Array, epsilon: float) -> Array:
    """The answers of randomized response: each bit is told truly with odds exp(epsilon)."""
    lie = rng.random(len(truth)) < 1 / (1 + math.exp(epsilon))
    return np.asarray(truth ^ lie)


@simulation("replace-one", "the trade-off region's own mechanism; the adversary knows z and z'")
def replace_one(rng: Generator, trials: int, epsilon: float, delta: float) -> Counts:
    """The game in which the bit is revealed with probability delta, and else goes through randomized response."""
    member = rng.random(trials) < 0.5
    revealed = rng.random(trials) < delta
    return Counts.of(member, np.where(revealed, member, _odds(rng, member, epsilon)))


@simulation("membership-in-exp", "subset selection for one training record; the adversary knows z alone")
def membership_in_exp(rng: Generator, trials: int, epsilon: float, universe: float) -> Counts:
    """The game of humphries2020's Algorithm 1 with one training record drawn from `universe` equal ones.

    The model is a random set of records, likelier by exp(epsilon) if the training record is in it; its
    size is the share 1 / (1 + exp(epsilon / 2)) of the universe. The adversary asks whether z is in the set.
    """
    k = int(universe)
    size = max(1, round(k / (1 + math.exp(epsilon / 2))))
    inside = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
    record, fresh = rng.integers(k, size=trials), rng.integers(k, size=trials)
    member = rng.random(trials) < 0.5
    z = np.where(member, record, fresh)
    holds = rng.random(trials) < inside  # the set holds the training record
    others = (size - holds) / (k - 1)  # chance that it holds any given other record
    called = np.where(z == record, holds, rng.random(trials) < others)
    return Counts.of(member, called)


@simulation("sub-sampling", "randomized response on 'x is in D', x included with probability `prior`")
def sub_sampling(rng: Generator, trials: int, epsilon: float, prior: float) -> Counts:
    """The game of the mechanism under which every DP inequality of thudi2022 Theorem 1 is an equality."""
    member = rng.random(trials) < prior
    return Counts.of(member, _odds(rng, member, epsilon))


@simulation("user-sub-sampling", "a source that takes all points or all but x, then independent sub-sampling at `rate`")
def user_sub_sampling(rng: Generator, trials: int, epsilon: float, rate: float) -> Counts:
    """The game of thudi2022 Section 5.2: x comes with company or not at all, and is then sub-sampled at `rate`.

    The model answers by randomized response.
    """
    there = rng.random(trials) < 0.5
    member = there & (rng.random(trials) < rate)
    return Counts.of(member, _odds(rng, member, epsilon))


@simulation("group", "an output likelier by exp(epsilon) for each point of the group in D")
def group(rng: Generator, trials: int, epsilon: float, prior: float, size: float) -> Counts:
    """The game of thudi2022 Corollary 3: 'D meets the group' is called when the model shows its rare output."""
    inside = rng.binomial(int(size), prior, trials)
    shown = rng.random(trials) < np.exp(epsilon * (inside - int(size)))
    return Counts.of(inside > 0, shown)


@simulation("rare-event", "an event of probability `chance` with x, and as little without x as (eps, delta) allows")
def rare_event(rng: Generator, trials: int, epsilon: float, delta: float, prior: float, chance: float) -> Counts:
    """The game of thudi2022 Theorem 2: P(S | x) = chance, P(S | not x) = exp(-epsilon) (chance - delta)."""
    member = rng.random(trials) < prior
    without = max(0.0, math.exp(-epsilon) * (chance - delta))
    return Counts.of(member, rng.random(trials) < np.where(member, chance, without))


@simulation("reconstruction", "the exponential mechanism names one of `points` records, likelier one of D")
def reconstruction(rng: Generator, trials: int, epsilon: float, prior: float, points: float) -> Counts:
    """The game of thudi2022 Corollary 4: 'the record named is in D', asked about the first record when it is named."""
    included = rng.random((trials, int(points))) < prior
    weights = np.exp(epsilon * included)
    named = (weights.cumsum(axis=1) > rng.random((trials, 1)) * weights.sum(axis=1, keepdims=True)).argmax(axis=1)
    return Counts.of(included[:, 0], named == 0)


@simulation("threshold", "one noisy step of logistic regression; member iff the weight ends at most at `threshold`")
def threshold(rng: Generator, trials: int, sigma: float, threshold: float) -> Counts:
    """The game of thudi2022 Section 4.1: the step is -1 with x2 and 0 without it."""
    member = rng.random(trials) < 0.5
    weight = -1.0 * member + sigma * rng.standard_normal(trials)
    return Counts.of(member, weight <= threshold)


@simulation("two-coins", "randomized response on a label that is right with probability `accuracy`; call: it is right")
def two_coins(rng: Generator, trials: int, accuracy: float, classes: float) -> Counts:
    """The game of rahimian2021 Section 5.3, coin by coin; its `tpr` is the accuracy of what is revealed."""
    c = int(classes)
    truth = rng.integers(c, size=trials)
    wrong = (truth + rng.integers(1, c, size=trials)) % c
    returned = np.where(rng.random(trials) < accuracy, truth, wrong)
    other = (returned + rng.integers(1, c, size=trials)) % c
    tails, heads_again = rng.random(trials) < 0.5, rng.random(trials) < 0.5
    shown = np.where(tails | heads_again, returned, other)
    return Counts.of(np.ones(trials, bool), shown == truth)


@simulation(
    "noisy-mean", "mean of n records of k bits with Gaussian noise; the all-zero database and the all-one record"
)
def noisy_mean(rng: Generator, trials: int, n: float, k: float, signal: float) -> Counts:
    """The game of tramer2025 Theorem 2, sigma = sqrt(k) / (n signal): inner product with the record, threshold k/n."""
    count, bits = int(n), int(k)
    sigma = math.sqrt(bits) / (count * signal)
    member = rng.random(trials) < 0.5
    answer = member[:, None] / count + sigma * rng.standard_normal((trials, bits))
    return Counts.of(member, answer.sum(axis=1) >= bits / count)


@simulation("canary", "full-batch DP-SGD, all gradients zero but the canary's, every step seen")
def canary(rng: Generator, trials: int, steps: float, noise: float, epsilon: float) -> Counts:
    """The game of tramer2025 Section 6.2: the likelihood ratio of all steps against exp(epsilon), fixed beforehand."""
    count = int(steps)
    member = rng.random(trials) < 0.5
    seen, step = np.zeros(trials), np.empty(trials)
    for _ in range(count):
        # In place, without a new array for each step.
        rng.standard_normal(out=step)
        step *= noise
        step += member
        seen += step
    loss = seen / noise**2 - count / (2 * noise**2)
    return Counts.of(member, loss >= epsilon)


@simulation("blind", "Exp_nonIID on the synthetic mixture; the attack sees z and not the model")
def blind(rng: Generator, trials: int, components: float) -> Counts:
    """The game of humphries2020 Algorithm 3, by a rule that ignores the model: 'member iff hot feature = label'."""
    m = int(components)
    component, fresh = rng.integers(m, size=trials), rng.integers(m, size=trials)
    member = rng.random(trials) < 0.5
    label = rng.integers(m, size=trials)
    hot = (label + np.where(member, component, fresh) - 1) % m
    return Counts.of(member, hot == label)


@simulation("component", "Exp_nonIID on the synthetic mixture; member iff z fits the members' component")
def component(rng: Generator, trials: int, components: float) -> Counts:
    """The game of humphries2020 Section 5.4: the best attack of those that cannot tell non-members of the members'
    component from members."""
    m = int(components)
    own, fresh = rng.integers(m, size=trials), rng.integers(m, size=trials)
    member = rng.random(trials) < 0.5
    label = rng.integers(m, size=trials)
    hot = (label + np.where(member, own, fresh) - 1) % m
    return Counts.of(member, hot == (label + own - 1) % m)
