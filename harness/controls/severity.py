"""How severe a test a claim has passed: the share of draws of its controls in which it is not supported.

Which controls a part of a claim has follows from what it compares (docs/severity.md):

- an order of measured sides, or a course along an axis, has to fail where scores say nothing (models guess), and where
  the names of its sides are exchanged;
- more than a number, of what grows with leakage or learning, has to fail where scores say nothing (models guess);
- less than a number has to fail on models without protection;
- closeness to a number, or of two sides, has to fail on one of: scores that say nothing, models without protection,
  one side alone saying nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.claims.contrasts import BetweenEnds, Comparisons, Contrast, RepeatNumber, WeightedSum, leaves_of
from harness.claims.evidence import Measurements
from harness.claims.operands import MetricSeries, Number
from harness.claims.results import Part
from harness.claims.samples import Samples
from harness.claims.support import Support
from harness.claims.table_index import MetricKey
from harness.claims.testing import Look
from harness.claims.verdict import ControlName, ControlOutcome
from harness.controls.chance import FALLING
from harness.controls.exchange import GivenSamples, Point, can_be_exchanged, exchanged
from harness.controls.worlds import (
    ControlFacts,
    Guesses,
    SaysNothing,
    Unprotected,
    World,
    in_world,
    least_protected,
)
from harness.coordinates import Place, place

DRAWS = 100
"""How many tables of a control a claim is judged on."""
MOST_SUPPORTED = 5
"""In how many of them it may be supported."""
ALPHA = 0.01
"""The level of a side at which it is judged on them, by a t-test: what is on its line is supported in one draw of a
hundred, and what holds clearly in most."""
FEWEST_DRAWS = 20
"""Draws after which it is enough that more than `MOST_SUPPORTED` support it."""
SEVERE = 1 - MOST_SUPPORTED / DRAWS
TEXTS: dict[ControlName, str] = {
    "nothing": "scores that say nothing",
    "guess": "models that always say the most frequent class",
    "exchanged": "exchanged labels",
    "unprotected": "models without protection",
    "one-side": "one side that says nothing",
}
"""What a claim is met by, in words."""


Outcomes = tuple[ControlOutcome, ...]
"""What the controls of a part say, the one that counts first; none: no control is known."""


def is_severe(outcomes: Outcomes) -> bool:
    """Whether a claim may be reproduced, as far as its controls go."""
    return not outcomes or outcomes[0].severity >= SEVERE - 1e-9


@dataclass(frozen=True)
class _Sides:
    """What the comparisons of a part ask for."""

    ordered: bool = False
    """Some compare measured sides, or are of a course, and equal sides do not meet them."""
    more: bool = False
    """Some ask for more than a number, of what grows with leakage or learning."""
    less: bool = False
    """Some ask for less than a number."""
    close: bool = False
    """Some are met by a number near another, or by sides that are alike."""


class Worlds:
    """The tables of the controls of a table of measurements: each is drawn once, for all claims."""

    def __init__(self, table: Measurements, facts: ControlFacts) -> None:
        self.table, self.facts = table, facts
        self._samples: dict[tuple[type[World], int, bool], Samples] = {}

    def samples(self, kind: type[World], draw: int, tosses_coins: bool = False) -> Samples:
        """The numbers of one draw of a control."""
        if (key := (kind, draw, tosses_coins)) not in self._samples:
            self._samples[key] = Samples(in_world(self.table, self._world(*key)))
        return self._samples[key]

    def _world(self, kind: type[World], draw: int, tosses_coins: bool) -> World:
        if tosses_coins:
            return SaysNothing(self.table.index, self.facts, draw, tosses_coins)
        return kind(self.table.index, self.facts, draw)


def severity_of_part(compared: Comparisons, worlds: Worlds, part: Part, draws: int = DRAWS) -> Outcomes:
    """What its controls say of a part of a claim that compares this."""
    leaves = [leaf for node in compared.of for leaf in leaves_of(node)]
    sides, trial = _sides_of(leaves), _Trial(compared, worlds, part, leaves, draws)
    signal = trial.without_signal()
    if sides.ordered:
        return _least([signal, trial.exchanged()])
    if sides.more and not (sides.less or sides.close):
        return _least([signal or trial.exchanged_signs()])
    if sides.less and not (sides.more or sides.close):
        there = trial.unprotected()
        if there is None and signal is not None and signal.severity < SEVERE:
            return ()  # met without a signal as it has to be, and nothing is known that it is not met by
        return _most([there, signal])
    others = [trial.unprotected(), *(trial.one_side(which) for which in ("left", "right"))]
    return _most([signal, *others] if sides.more else [*others, signal])


def severity_of_claim(parts: Sequence[Outcomes]) -> Outcomes:
    """What the controls of a claim say all of whose parts have to hold: those of its severest part."""
    return max((one for one in parts if one), key=lambda one: one[0].severity, default=())


def _least(results: Sequence[ControlOutcome | None]) -> Outcomes:
    return tuple(sorted((one for one in results if one is not None), key=lambda one: one.severity))


def _most(results: Sequence[ControlOutcome | None]) -> Outcomes:
    return tuple(sorted((one for one in results if one is not None), key=lambda one: -one.severity))


def _sides_of(leaves: Sequence[Contrast | BetweenEnds | RepeatNumber]) -> _Sides:
    ordered = more = less = close = False
    for leaf in leaves:
        if isinstance(leaf, RepeatNumber):
            ordered = True
        elif isinstance(leaf, BetweenEnds) or leaf.relation == "within":
            close = True
        else:
            upward = leaf.relation in (">", ">=")
            if isinstance(leaf.right, MetricSeries | WeightedSum):
                strict = leaf.line >= 0 if upward else leaf.line <= 0
                ordered, close = ordered or strict, close or not strict
            elif upward != (leaf.left.metric in FALLING):
                more = True
            else:
                less = True
    return _Sides(ordered, more, less, close)


@dataclass(frozen=True)
class _Trial:
    """A part of a claim, judged on the tables of one control after another."""

    compared: Comparisons
    worlds: Worlds
    part: Part
    leaves: Sequence[Contrast | BetweenEnds | RepeatNumber]
    draws: int

    @property
    def table(self) -> Measurements:
        return self.worlds.table

    @property
    def facts(self) -> ControlFacts:
        return self.worlds.facts

    def without_signal(self) -> ControlOutcome | None:
        """Where scores say nothing; for a part that is of models alone, where these guess. None: neither is known."""
        metrics = {curve.metric for curve in self._curves()}
        coins = metrics <= {"tpr", "fpr"}
        if self._changed_by(SaysNothing(self.table.index, self.facts, 0)):
            return self._judge("nothing", lambda draw: self.worlds.samples(SaysNothing, draw, coins))
        if self._changed_by(Guesses(self.table.index, self.facts, 0)):
            return self._judge("guess", lambda draw: self.worlds.samples(Guesses, draw))
        return None

    def unprotected(self) -> ControlOutcome | None:
        """On models without protection; None where no side has such a counterpart."""
        world = Unprotected(self.table.index, self.facts, 0)
        if not any(world.differs(*at) for at in self._measured_at()) or self._is_of_unprotected_too(world):
            return None
        return self._judge("unprotected", lambda draw: self.worlds.samples(Unprotected, draw))

    def _is_of_unprotected_too(self, world: Unprotected) -> bool:
        """Whether the same number is asked of the least protected models, or of those with the least noise.

        Then it is asked of models however well they are protected, and the others are no control of it.
        """
        asked = [
            (leaf.right.value, leaf.line, at)
            for leaf in self.leaves
            if isinstance(leaf, Contrast) and isinstance(leaf.right, Number)
            for at in self._measured_at([(leaf.left, place(leaf.where))])
        ]

        def is_asked_there(value: float, line: float, at: tuple[MetricKey, Place]) -> bool:
            key, where = at
            curve = self.table.index.curve(key)
            noisy = where if curve is None else least_protected(where, curve, finite=True) or where
            return (value, line, (key, noisy)) in asked or (value, line, world.counterpart(key, where)) in asked

        return len(asked) > 0 and all(is_asked_there(*one) for one in asked if world.differs(*one[2]))

    def one_side(self, which: str) -> ControlOutcome | None:
        """Where the left sides alone, or the right ones alone, say nothing; None where no two sides are compared."""
        points = self._left() if which == "left" else self._right()
        others = self._right() if which == "left" else self._left()
        chosen = [point for point in points if point not in others]
        if not chosen or not others:
            return None
        kinds: tuple[type[World], ...] = (SaysNothing, Guesses)
        kind = next((k for k in kinds if self._changed_by(k(self.table.index, self.facts, 0), chosen)), None)
        if kind is None:
            return None

        def samples(draw: int) -> Samples:
            there = self.worlds.samples(kind, draw)
            given = {point: there.series(point[0], dict(point[1])) for point in chosen}
            return GivenSamples(self.worlds.samples(World, draw).table, given)

        return self._judge("one-side", samples)

    def exchanged(self) -> ControlOutcome | None:
        """Where names of sides, or values of an axis, are exchanged within each repeat; None where they cannot be."""
        return self._exchange([*self._groups()])

    def exchanged_signs(self) -> ControlOutcome | None:
        """Where the two metrics of each difference are exchanged; None where sides are not such differences."""
        points = list(dict.fromkeys(self._left()))
        if any(curve.minus is None for curve, _ in points):
            return None
        return self._exchange([("sign", [point]) for point in points])

    def _exchange(self, groups: Sequence[tuple[str, Sequence[Point]]]) -> ControlOutcome | None:
        points = [point for _, group in groups for point in group]
        of_sets = any(isinstance(leaf, Contrast) and leaf.owner_set is not None for leaf in self.leaves)
        if not points or of_sets or not can_be_exchanged(points):
            return None

        def samples(draw: int) -> Samples:
            there = self.worlds.samples(World, draw)
            return GivenSamples(there.table, exchanged(there, groups, self.facts, draw))

        return self._judge("exchanged", samples)

    def _judge(self, control: ControlName, samples: Callable[[int], Samples]) -> ControlOutcome:
        supported, support = 0, Support(self.compared, replace(self.part, alpha=ALPHA))
        for draw in range(self.draws):
            drawn = samples(draw)
            supported += support.is_found(Look(drawn, drawn.table.design))
            if supported > MOST_SUPPORTED and draw + 1 >= min(FEWEST_DRAWS, self.draws):
                return ControlOutcome(control=control, draws=draw + 1, supported=supported)
        return ControlOutcome(control=control, draws=self.draws, supported=supported)

    def _curves(self) -> Iterator[MetricSeries]:
        for curve, _ in self._points():
            yield curve

    def _points(self) -> Iterator[Point]:
        yield from self._left()
        yield from self._right()

    def _left(self) -> list[Point]:
        of: list[Point] = []
        for leaf in self.leaves:
            if isinstance(leaf, RepeatNumber):
                of += [(curve, place(where)) for curve, where in leaf.places]
            else:
                of.append((leaf.left, place(leaf.where)))
        return of

    def _right(self) -> list[Point]:
        of: list[Point] = []
        for leaf in self.leaves:
            if isinstance(leaf, BetweenEnds):
                of += [(curve, place(where)) for curve, where in leaf.ends]
            elif isinstance(leaf, Contrast):
                of += [(curve, place(leaf.where)) for curve in leaf.curves[1:]]
        return of

    def _measured_at(self, points: Sequence[Point] | None = None) -> Iterator[tuple[MetricKey, Place]]:
        """The curves, and their places, that points are measured at; places of those that are chosen left out."""
        for curve, where in self._points() if points is None else points:
            for metric in (curve.metric, *([] if curve.minus is None else [curve.minus])):
                key = curve.arm, curve.attack, metric
                known, at = self.table.index.curve(key), {**dict(where), **dict(curve.at)}
                if known is not None:
                    wanted = {axis: at[axis] for axis in known.axes if axis in at}
                    for there in known.series:
                        if wanted.items() <= dict(there).items():
                            yield key, there

    def _changed_by(self, world: World, points: Sequence[Point] | None = None) -> bool:
        return any(world.changes(key) for key in dict.fromkeys(key for key, _ in self._measured_at(points)))

    def _groups(self) -> Iterator[tuple[str, list[Point]]]:
        """Points whose numbers are dealt out anew together: sides that are compared with each other; of one number of
        many places, those of one curve."""
        linked: dict[Point, set[Point]] = {}
        for leaf in self.leaves:
            if isinstance(leaf, RepeatNumber):
                families: dict[str, dict[Point, None]] = {}
                for curve, where in leaf.places:
                    family = f"{curve.arm} {curve.attack} {curve.metric} {curve.minus}"
                    families.setdefault(family, {})[curve, place(where)] = None
                yield from ((name, [*points]) for name, points in families.items() if len(points) > 1)
                continue
            ends = [(leaf.left, place(leaf.where))]
            if isinstance(leaf, Contrast):
                ends += [(curve, place(leaf.where)) for curve in leaf.curves[1:]]
            else:
                ends += [(curve, place(where)) for curve, where in leaf.ends]
            if len(ends) > 1:
                union = set(ends).union(*(linked.get(end, set()) for end in ends))
                linked.update(dict.fromkeys(union, union))
        done: set[int] = set()
        for union in linked.values():
            if id(union) not in done:
                done.add(id(union))
                ordered = sorted(union, key=lambda point: (point[0].text(), str(point[1])))
                yield "sides", ordered
