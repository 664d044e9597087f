"""What a spec may claim about theory: an inequality over a domain, a trend over a domain, the outcome of a game."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.config import Config
from harness.errors import HarnessError
from harness.theory.simulations import SIMULATIONS
from harness.theory.term import LIFT, Term, definitions

Outcome = Literal["reproduced", "violated", "inconclusive"]
Relation = Literal["<", "<=", "=", ">=", ">"]
TOLERANCE = 1e-9
"""Differences up to this are rounding where a side is a floating-point computation."""


@dataclass(frozen=True)
class TheoryFinding:
    """Outcome, reason, the worst margin found (positive: as claimed), where, and how it was found."""

    outcome: Outcome
    reason: str
    worst: float
    counterexample: dict[str, float] | None
    test: str


class Interval(Config):
    """Every real number from `low` to `high`; for computed quantities, `points` of them."""

    low: float
    high: float
    points: int = Field(default=21, ge=2)
    """How many grid points where a proof over the interval is not possible."""
    spacing: Literal["linear", "log"] = "linear"
    """Spacing of those points."""

    @model_validator(mode="after")
    def _ordered(self) -> Interval:
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise ValueError(f"low ({self.low:g}) must be below high ({self.high:g}), both finite")
        if self.spacing == "log" and self.low <= 0:
            raise ValueError(f"logarithmic spacing needs low above 0, found {self.low:g}")
        return self

    def grid(self) -> tuple[float, ...]:
        """The points."""
        space = np.geomspace if self.spacing == "log" else np.linspace
        return tuple(float(v) for v in space(self.low, self.high, self.points))

    def text(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


class Values(Config):
    """These numbers."""

    values: tuple[float, ...] = Field(min_length=1)

    def grid(self) -> tuple[float, ...]:
        return self.values

    def text(self) -> str:
        shown = ", ".join(f"{v:g}" for v in self.values[:8])
        return "{" + shown + (", ..." if len(self.values) > 8 else "") + "}"


Domain = dict[str, Interval | Values]


def _over(domain: Domain) -> str:
    return f" for {', '.join(f'{n} in {d.text()}' for n, d in domain.items())}" if domain else ""


def _point(at: Mapping[str, float]) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in at.items())


def _number(term: Term, at: Mapping[str, float]) -> float:
    """Value of a term at a point; formulas in high precision, so that far tails neither vanish nor cancel."""
    if not term.exact():
        return _computed(term.evaluate, at)
    from harness.theory.ball import Ball

    lifted: dict[str, Any] = {n: Ball.constant(v, 0) for n, v in at.items()}
    return float(term.evaluate({**lifted, LIFT: lambda value: Ball.constant(value, 0)}).value.mid())


def _computed(function: Callable[[Mapping[str, Any]], Any], at: Mapping[str, float]) -> float:
    """Its value at a point. Raises HarnessError where it has none."""
    try:
        with np.errstate(all="ignore"):
            return float(function(at))
    except (ArithmeticError, ValueError, TypeError) as error:
        where = f" at {_point(at)}" if at else ""
        raise HarnessError(f"cannot be computed{where}: {error}") from None


def _names_fit(used: set[str], domain: Domain) -> None:
    missing, unused = sorted(used - set(domain)), sorted(set(domain) - used)
    if missing:
        raise ValueError(f"no domain is given for {', '.join(missing)}; name it under `over`")
    if unused:
        raise ValueError(f"`over` names {', '.join(unused)}, which neither side uses")


class Inequality(Config):
    """left RELATION right for every point of a domain.

    Where both sides are formulas it is proved or refuted over the whole domain, in ball arithmetic; where one is
    computed (a linear program, an enumeration), it is checked on a grid. A refutation is final in either case.
    """

    kind: Literal["inequality"] = "inequality"
    left: Term
    relation: Relation
    right: Term
    over: Domain = {}
    """Domain of each variable."""
    tolerance: float = Field(default=TOLERANCE, ge=0)
    """Slack: `<=` allows so much excess, `=` so much difference."""

    @model_validator(mode="after")
    def _consistent(self) -> Inequality:
        _names_fit(self.left.variables() | self.right.variables(), self.over)
        if self.relation in ("<", ">") and self.tolerance != TOLERANCE:
            raise ValueError(f"a tolerance has no meaning with {self.relation!r}; use '<=', '>=' or '='")
        return self

    def text(self) -> str:
        slack = ""
        if self.relation == "=":
            slack = f" (within {self.tolerance:g})"
        elif self.tolerance > TOLERANCE:
            slack = f" {'-' if self.relation == '>=' else '+'} {self.tolerance:g}"
        return f"{self.left.text()} {self.relation} {self.right.text()}{slack}{_over(self.over)}"

    def definitions(self) -> dict[str, str]:
        """What the names in the text stand for."""
        return {**definitions(self.left), **definitions(self.right)}

    def judge(self) -> TheoryFinding:
        """Prove, refute or give up."""
        parts = {"<": [(1, True)], "<=": [(1, False)], ">": [(-1, True)], ">=": [(-1, False)],
                 "=": [(1, False), (-1, False)]}[self.relation]  # fmt: skip
        if self.relation == "=" and self._is_identity():
            how = "identity of rational functions in the variables and their exponentials"
            return TheoryFinding("reproduced", "proved: both sides are the same function", 0.0, None, how)
        found = [self._side(sign, strict) for sign, strict in parts]
        order = ("violated", "inconclusive", "reproduced")
        return min(found, key=lambda f: (order.index(f.outcome), f.worst))

    def _is_identity(self) -> bool:
        from harness.theory.identity import identical

        if not (self.left.exact() and self.right.exact() and self.over):
            return False
        return identical(self.left.evaluate, self.right.evaluate, list(self.over))

    def _side(self, sign: int, strict: bool) -> TheoryFinding:
        slack = 0.0 if strict else self.tolerance
        exact = self.left.exact() and self.right.exact()

        def margin(at: Mapping[str, Any]) -> Any:
            left, right = self.left.evaluate(at), self.right.evaluate(at)
            return right - left if sign > 0 else left - right

        return self._prove(margin, slack, strict) if exact else self._scan(margin, slack, strict)

    def _shown(self, at: Mapping[str, float]) -> str:
        if set(self.over) - set(at):  # the two sides are infinitely far apart wherever one looks
            return f"{self.left.text()} against {self.right.text()}, at no finite distance"
        left, right = _number(self.left, at), _number(self.right, at)
        where = f" at {_point(at)}" if at else ""
        return f"{self.left.text()} = {left:.6g} against {right:.6g}{where}"

    def _prove(self, margin: Any, slack: float, strict: bool) -> TheoryFinding:
        from harness.theory.prove import prove

        spans = {n: (d.low, d.high) for n, d in self.over.items() if isinstance(d, Interval)}
        listed = {n: d.values for n, d in self.over.items() if isinstance(d, Values)}
        boxes, worst, outcome, where = 0, math.inf, "proved", dict[str, float]()
        for fixed in product(*listed.values()):
            given = dict(zip(listed, fixed, strict=True))
            box = {**spans, **{n: (v, v) for n, v in given.items()}}
            proof = prove(margin, box, slack, strict)
            boxes += proof.boxes
            rank = ("refuted", "undecided", "proved")
            if (rank.index(proof.outcome), proof.worst) < (rank.index(outcome), worst):
                worst, outcome, where = proof.worst, proof.outcome, proof.at
        how = f"ball arithmetic over the whole domain, {boxes} boxes" if spans else "ball arithmetic at each point"
        if outcome == "proved":
            return TheoryFinding("reproduced", f"proved; closest: {self._shown(where)}", worst, None, how)
        if outcome == "refuted":
            at = {**where, "left": _number(self.left, where), "right": _number(self.right, where)}
            return TheoryFinding("violated", f"refuted: {self._shown(where)}", worst, at, how)
        reason = f"neither proved nor refuted within {boxes} boxes; closest: {self._shown(where)}"
        return TheoryFinding("inconclusive", reason, worst, None, how)

    def _scan(self, margin: Any, slack: float, strict: bool) -> TheoryFinding:
        names = list(self.over)
        points = [dict(zip(names, v, strict=True)) for v in product(*(d.grid() for d in self.over.values()))]
        margins = [_computed(margin, at) for at in points]
        how = (
            f"computed at {len(points)} grid points (a grid refutes for good, supports only where it looked)"
            if any(isinstance(d, Interval) for d in self.over.values()) else f"computed at all {len(points)} points"
        )  # fmt: skip
        if any(math.isnan(m) for m in margins):
            at = points[[math.isnan(m) for m in margins].index(True)]
            return TheoryFinding("inconclusive", f"not computable at {_point(at)}", math.nan, None, how)
        worst = int(np.argmin(margins))
        at, value = points[worst], margins[worst]
        fails = value <= slack if strict else value < -slack
        if not fails:
            return TheoryFinding("reproduced", f"holds; closest: {self._shown(at)}", value, None, how)
        share = sum(m <= slack if strict else m < -slack for m in margins) / len(margins)
        many = f" (at {share:.0%} of the points)" if len(points) > 1 else ""
        shown = {**at, "left": _number(self.left, at), "right": _number(self.right, at)}
        return TheoryFinding("violated", f"refuted{many}: {self._shown(at)}", value, shown, how)


class Trend(Config):
    """A formula rises, or falls, with a variable on the whole domain (its derivative's sign, in ball arithmetic)."""

    kind: Literal["trend"] = "trend"
    of: Term
    along: str
    direction: Literal["rises", "falls"]
    over: Domain

    @model_validator(mode="after")
    def _consistent(self) -> Trend:
        _names_fit(self.of.variables(), self.over)
        if not isinstance(self.over.get(self.along), Interval):
            raise ValueError(f"`along` ({self.along}) must be a variable of `over` with an interval")
        if not self.of.exact():
            raise ValueError(
                f"{self.of.text()} is computed point by point and has no derivative; compare points instead"
            )
        return self

    def text(self) -> str:
        return f"{self.of.text()} {self.direction} with {self.along}{_over(self.over)}"

    def definitions(self) -> dict[str, str]:
        """What the names in the text stand for."""
        return definitions(self.of)

    def judge(self) -> TheoryFinding:
        """Sign of the derivative on the whole domain."""
        from harness.theory.prove import prove_sign

        spans = {n: (d.low, d.high) for n, d in self.over.items() if isinstance(d, Interval)}
        listed = {n: d.values for n, d in self.over.items() if isinstance(d, Values)}
        sign = 1 if self.direction == "rises" else -1
        boxes = 0
        for fixed in product(*listed.values()):
            box = {**spans, **{n: (v, v) for n, v in zip(listed, fixed, strict=True)}}
            proof = prove_sign(self.of.evaluate, box, self.along, sign)
            boxes += proof.boxes
            how = f"sign of the derivative in ball arithmetic over the whole domain, {boxes} boxes"
            if proof.outcome != "proved":
                outcome: Outcome = "violated" if proof.outcome == "refuted" else "inconclusive"
                word = (
                    "the derivative has the other sign" if outcome == "violated" else "sign of the derivative unknown"
                )
                at = proof.at if outcome == "violated" else None
                return TheoryFinding(outcome, f"{word} at {_point(proof.at)}", proof.worst, at, how)
        return TheoryFinding("reproduced", f"proved: {self.direction} everywhere", 0.0, None, how)


class Game(Config):
    """What a simulated game shows, against a term; exact (Clopper-Pearson) intervals of the rates."""

    kind: Literal["game"] = "game"
    game: str
    """A registered game."""
    given: dict[str, float] = {}
    """Its parameters."""
    measure: Literal["advantage", "ppv", "npv", "accuracy", "tpr", "fpr", "epsilon"]
    """`epsilon` is the largest that the rates allow to claim, ln((TPR - delta) / FPR)."""
    delta: float = Field(default=0.0, ge=0, le=1)
    """The delta of the measure `epsilon`."""
    relation: Literal["<=", "=", ">="]
    right: Term
    tolerance: float = Field(gt=0)
    """Slack; for `=` it makes the test one of equivalence."""
    trials: int = Field(default=1_000_000, ge=100, le=100_000_000)
    seed: int = Field(default=0, ge=0)
    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.99
    """Coverage of the interval."""

    @model_validator(mode="after")
    def _consistent(self) -> Game:
        if self.game not in SIMULATIONS:
            raise ValueError(f"unknown game {self.game!r}; known: {', '.join(sorted(SIMULATIONS))}")
        wanted = SIMULATIONS[self.game].parameters
        if set(self.given) != set(wanted):
            raise ValueError(
                f"game {self.game!r} takes {', '.join(wanted)}; given: {', '.join(self.given) or 'nothing'}"
            )
        unknown = sorted(self.right.variables() - set(self.given))
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is not a parameter of the game")
        return self

    def text(self) -> str:
        shown = ", ".join(f"{n}={v:g}" for n, v in self.given.items())
        game = f"{self.measure} of game {self.game}({shown})"
        return f"{game} {self.relation} {self.right.text()} (within {self.tolerance:g})"

    def definitions(self) -> dict[str, str]:
        """What the names in the text stand for."""
        return {self.game: f"a game: {SIMULATIONS[self.game].summary}", **definitions(self.right)}

    def judge(self) -> TheoryFinding:
        """Play, count, compare the interval with the term."""
        from harness.hashing import generator
        from harness.theory.simulations import measure

        rng = generator(self.seed, "game", self.game, sorted(self.given.items()))
        try:
            with np.errstate(all="ignore"):
                counts = SIMULATIONS[self.game].function(rng, self.trials, **self.given)
        except (ArithmeticError, ValueError) as error:
            raise HarnessError(f"game {self.game} cannot be played with {_point(self.given)}: {error}") from None
        value, low, high = measure(counts, self.measure, self.level, self.delta)
        target = _computed(self.right.evaluate, self.given)
        below, above = target + self.tolerance - high, low - (target - self.tolerance)
        margin = {"<=": below, ">=": above, "=": min(below, above)}[self.relation]
        failing = {"<=": low > target + self.tolerance, ">=": high < target - self.tolerance}
        opposed = any(failing.values()) if self.relation == "=" else failing[self.relation]
        outcome: Outcome = "reproduced" if margin >= 0 else "violated" if opposed else "inconclusive"
        how = f"{self.trials:,} simulated games, exact {self.level:.0%} interval"
        reason = f"{self.measure} {value:.5g} [{low:.5g}, {high:.5g}] against {target:.5g}"
        at = {**self.given, "left": value, "right": target} if outcome == "violated" else None
        return TheoryFinding(outcome, reason, margin, at, how)


TheoryExpectation = Inequality | Trend | Game
