"""Tables on which a claim ought to fail, each drawn from the measured one: as many repeats, of the same places.

Three replace what was measured, curve by curve: `SaysNothing` and `Guesses` by what it is where there is nothing to
measure, `Unprotected` by the same attack on models without noise and without a defence. `ExchangedSamples` keep the
numbers and exchange what they are called, within each repeat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from harness.arrays import Array
from harness.claims.design import Fixed, Series
from harness.claims.evidence import Measurements
from harness.claims.series import is_of_runs
from harness.claims.table_index import Curve, MetricKey, TableIndex
from harness.controls.chance import (
    OF_CALLS,
    WITHOUT_SIGNAL,
    Attacked,
    null_of_calls,
    null_of_runs,
    null_of_scores,
)
from harness.coordinates import Place
from harness.hashing import generator
from harness.metrics import METRICS
from harness.metrics.metric import MODEL_SCOPES

ROUNDING = 1e-9
SHARE = "share_of_members"
"""The metric that says how many of the records attacked are members."""


@dataclass(frozen=True)
class ControlFacts:
    """What is known of a spec's arms and attacks beside its measurements, as far as controls need it."""

    seed: str = ""
    """What draws are named by: the spec."""
    guesses: Mapping[str, float] = field(default_factory=dict)
    """By arm: the accuracy of a model that always says the most frequent class."""
    undefended: Mapping[str, str] = field(default_factory=dict)
    """By arm whose models have a defence: the arm that differs in nothing but that it has none."""
    block_sizes: Mapping[str, int] = field(default_factory=dict)
    """By attack that is asked about blocks of records, each by itself: the records of a block."""


class World(TableIndex):
    """A measurement table whose repeats are drawn anew, with replacement, as many as there are of each cell; in its
    subclasses some curves are others.

    In one draw a repeat is the same one for all metrics of a cell, and for all cells that have as many.
    """

    def __init__(self, base: TableIndex, facts: ControlFacts, draw: int) -> None:
        self.base, self.facts, self.draw = base, facts, draw
        self.repeats, self.drawn, self.attacks = base.repeats, base.drawn, base.attacks
        self.owner_sets, self.records, self.cells = base.owner_sets, base.records, base.cells
        self.outcomes = base.outcomes
        self._curves: dict[MetricKey, Curve | None] = {}
        self._resampled: dict[MetricKey, Curve | None] = {}

    def curve(self, key: MetricKey) -> Curve | None:
        """A metric's measurements in this world; None where there are none."""
        if key not in self._curves:
            known = self.resampled(key)
            if known is not None and self.changes(key):
                series = {where: self.series(key, where, known) for where in known.series}
                known = Curve(series, known.repeats_of)
            self._curves[key] = known
        return self._curves[key]

    def resampled(self, key: MetricKey) -> Curve | None:
        """A metric's measurements in the repeats that are drawn; those of several runs together as they are."""
        if key not in self._resampled:
            known = self.base.curve(key)
            if known is not None and not is_of_runs(key[2]):
                chosen = {where: self._chosen(len(one.values)) for where, one in known.series.items()}
                series = {where: _of_repeats(one, chosen[where]) for where, one in known.series.items()}
                known = Curve(series, {where: of[chosen[where]] for where, of in known.repeats_of.items()})
            self._resampled[key] = known
        return self._resampled[key]

    def _chosen(self, n: int) -> Array:
        """The repeats, of n, that are drawn: (n,) int."""
        chosen: Array = np.floor(self._uniforms[:n] * n).astype(np.int64)
        return chosen

    @cached_property
    def _uniforms(self) -> Array:
        return generator(0, "control", self.facts.seed, "repeats", self.draw).random(self.repeats)

    def changes(self, key: MetricKey) -> bool:
        """Whether a curve is another one in this world."""
        return False

    def series(self, key: MetricKey, where: Place, known: Curve) -> Series:
        """The numbers of a curve at a place in this world, from those of the repeats that are drawn."""
        return known.series[where]

    def generator(self, *what: object) -> np.random.Generator:
        """The random numbers of this draw for one purpose."""
        return generator(0, "control", self.facts.seed, type(self).__name__, self.draw, *map(str, what))


def _of_repeats(series: Series, chosen: Array) -> Series:
    drawn = None if series.drawn is None else series.drawn[chosen]
    return replace(series, values=series.values[chosen], errors=series.errors[chosen], drawn=drawn)


class SaysNothing(World):
    """Attacks whose scores say nothing of membership: as many records, members and calls, in as many blocks.

    `tosses_coins`: half of the records are called members, in place of as many as were.
    """

    def __init__(self, base: TableIndex, facts: ControlFacts, draw: int, tosses_coins: bool = False) -> None:
        super().__init__(base, facts, draw)
        self.tosses_coins = tosses_coins

    def changes(self, key: MetricKey) -> bool:
        """Whether it is a metric of an attack of which it is known what it is without signal."""
        arm, attack, metric = key
        if metric in WITHOUT_SIGNAL:
            return True
        known = METRICS.get(metric)
        if known is None or not attack or key not in self.base.records:
            return False
        return known.scope == "runs" or (known.scope == "attack" and self.base.curve((arm, attack, SHARE)) is not None)

    def series(self, key: MetricKey, where: Place, known: Curve) -> Series:
        arm, attack, metric = key
        measured, repeats = known.series[where], len(known.series[where].values)
        if metric in WITHOUT_SIGNAL:
            return self._declared(key, where, measured)
        if METRICS[metric].scope == "runs":
            return self._of_runs(key, where, known)
        attacked = self._attacked(key, where)
        if metric in OF_CALLS:
            rng, calls = self.generator("calls", arm, attack, where), self._calls(key, where, repeats, attacked)
            values, errors = null_of_calls(metric, attacked, calls, rng)
            return replace(measured, values=values, errors=errors)
        two_valued = self._two_valued(key, where, attacked)
        null = null_of_scores(metric, attacked.members, attacked.others, two_valued)
        rng = self.generator("records", arm, attack, where)
        chosen = rng.integers(0, len(null.values), (repeats, attacked.blocks))
        errors = np.sqrt(np.square(null.errors[chosen]).sum(axis=1)) / attacked.blocks
        return replace(measured, values=null.values[chosen].mean(axis=1), errors=errors)

    def _declared(self, key: MetricKey, where: Place, measured: Series) -> Series:
        """A metric whose value without signal is listed: a number, with the error that it was measured with; or
        another metric."""
        arm, attack, metric = key
        instead = WITHOUT_SIGNAL[metric]
        if isinstance(instead, float):
            noise = self.generator("noise", arm, attack, metric, where).standard_normal(len(measured.values))
            return replace(measured, values=instead + noise * measured.errors)
        other = self.resampled((arm, attack, instead))
        if other is None or where not in other.series:
            return measured
        own = other.series[where].take_first(len(measured.values))
        return replace(measured.take_first(len(own.values)), values=own.values, errors=own.errors)

    def _of_runs(self, key: MetricKey, where: Place, known: Curve) -> Series:
        runs = int(known.repeats_of[where][0]) + 1
        members = self.base.records[key] // runs
        rng = self.generator("runs", *key, where)
        drawn = [null_of_runs(key[2], members, runs, rng) for _ in known.series[where].values]
        values, errors = np.array(drawn).reshape(-1, 2).T
        return replace(known.series[where], values=values, errors=errors)

    def _attacked(self, key: MetricKey, where: Place) -> Attacked:
        curve = self.base.curve((*key[:2], SHARE))
        assert curve is not None
        n, share = self.base.records[key], float(curve.series[where].values.mean())
        size = min(n, self.facts.block_sizes.get(key[1], n))
        members = min(size - 1, max(1, round(size * share)))
        return Attacked(members, size - members, max(1, n // size))

    def _calls(self, key: MetricKey, where: Place, repeats: int, attacked: Attacked) -> Array:
        """The share of records that the attack calls members in each repeat, (n,); one half where it is not known."""
        both = [self.resampled((*key[:2], name)) for name in ("tpr", "fpr")]
        known = [curve.series[where].values for curve in both if curve is not None and where in curve.series]
        if self.tosses_coins or len(known) < 2 or any(len(values) != repeats for values in known):
            return np.full(repeats, 0.5)
        share = attacked.members / (attacked.members + attacked.others)
        calls: Array = share * known[0] + (1 - share) * known[1]
        return calls

    def _two_valued(self, key: MetricKey, where: Place, attacked: Attacked) -> float | None:
        """The share of the records with the higher of two scores, to a twentieth; None where scores have more values.

        An attack whose scores have two values has an AUC that is the accuracy of its calls.
        """
        both = [self.resampled((*key[:2], name)) for name in ("auc", "advantage")]
        known = [curve.series[where].values for curve in both if curve is not None and where in curve.series]
        if len(known) < 2 or len(known[0]) != len(known[1]) or len(known[0]) == 0:
            return None
        if np.abs(known[0] - (1 + known[1]) / 2).max() > ROUNDING or np.ptp(known[1]) == 0:
            return None
        share = float(self._calls(key, where, len(known[0]), attacked).mean())
        return min(0.95, max(0.05, round(20 * share) / 20))


class Guesses(World):
    """Models that always say the most frequent class."""

    def changes(self, key: MetricKey) -> bool:
        arm, attack, metric = key
        known = METRICS.get(metric)
        return (
            not attack
            and arm in self.facts.guesses
            and known is not None
            and known.scope in MODEL_SCOPES
            and "accuracy" in metric
        )

    def series(self, key: MetricKey, where: Place, known: Curve) -> Series:
        arm, _, metric = key
        measured, guess = known.series[where], self.facts.guesses[arm]
        noise = self.generator("guess", arm, metric, where).standard_normal(len(measured.values)) * measured.errors
        if not metric.startswith("accuracy_loss_"):
            return replace(measured, values=guess + noise)
        own = self.resampled((arm, "", metric.replace("accuracy_loss_", "accuracy_")))
        if own is None or where not in own.series:
            return measured
        n = min(len(measured.values), len(own.series[where].values))
        kept = 1 - measured.values[:n]
        baseline = own.series[where].values[:n].mean() / max(ROUNDING, float(kept.mean()))
        return replace(measured.take_first(n), values=1 - guess / max(guess, baseline) + noise[:n])


class Unprotected(World):
    """The same attack on models without protection: at the largest epsilon measured, and without a defence.

    Repeats are drawn from those measured there, as many as the protected models have.
    """

    def changes(self, key: MetricKey) -> bool:
        known = self.base.curve(key)
        return known is not None and any(self.differs(key, where) for where in known.series)

    def differs(self, key: MetricKey, where: Place) -> bool:
        """Whether a place has a counterpart that is another one."""
        known = self.base.curve(key)
        return known is not None and where in known.series and self._counterpart(key, where, known) != (key, where)

    def series(self, key: MetricKey, where: Place, known: Curve) -> Series:
        there, at = self._counterpart(key, where, known)
        source = self.base.curve(there)
        if (there, at) == (key, where) or source is None or not len(source.series[at].values):
            return known.series[where]
        n, of = len(known.series[where].values), source.series[at]
        return _of_repeats(of, np.floor(self._uniforms[:n] * len(of.values)).astype(np.int64))

    def counterpart(self, key: MetricKey, where: Place) -> tuple[MetricKey, Place]:
        """The curve and the place that stand for a place without protection: itself, where there are none."""
        known = self.base.curve(key)
        return (key, where) if known is None else self._counterpart(key, where, known)

    def _counterpart(self, key: MetricKey, where: Place, known: Curve) -> tuple[MetricKey, Place]:
        """The curve and the place that stand for a place without protection: itself, where there are none."""
        arm, attack, metric = key
        if (other := self.facts.undefended.get(arm)) is not None:
            there = other, attack, metric
            if (curve := self.base.curve(there)) is not None:
                at = where if where in curve.series else least_protected(where, curve)
                if at is not None:
                    return there, at
        return key, least_protected(where, known) or where


def least_protected(where: Place, curve: Curve, finite: bool = False) -> Place | None:
    """The measured place that differs from one in a larger epsilon alone, the largest; None where there is none.

    `finite`: among those with noise.
    """
    rest = {name: value for name, value in where if name != "epsilon"}
    own = float(dict(where).get("epsilon", -math.inf))
    at = [
        (float(dict(other)["epsilon"]), other)
        for other in curve.series
        if "epsilon" in dict(other) and {n: v for n, v in other if n != "epsilon"} == rest
    ]
    at = [one for one in at if math.isfinite(one[0])] if finite else at
    largest = max(at, default=None, key=lambda one: one[0])
    return None if largest is None or largest[0] <= own else largest[1]


def in_world(table: Measurements, world: World) -> Measurements:
    """The measurements as they are in a world."""
    return table.with_index(world, Fixed(rarest=1.0))  # a bound on p-values would hide that it is met
