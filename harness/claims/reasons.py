"""Why a part of a claim came out as it did, as data, and in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_serializer, field_validator

from harness.claims.operands import PointQuantifier
from harness.config import Config
from harness.coordinates import Level
from harness.coordinates import text as place_text

DIGITS = 12
"""Of numbers that are written down: as many as two processors agree on."""
OfMeasurements = Literal["holds", "fails", "undecided", "few", "partly", "counted"]
OfTheory = Literal["proved", "refuted", "computed", "unproved", "played", "holds-at"]
Found = Literal[OfMeasurements, OfTheory, "said"]
"""What was found.

`holds`, `fails`, `undecided`: of measurements, at the place that decides. `few`: too few repeats to decide. `partly`:
it holds at every place that the profile runs, and the profile leaves some out.
`counted`: a number that is the same in every run. `proved`, `refuted`, `unproved`: of theory, for a whole domain.
`computed`: holds at every point that was computed. `holds-at`: at one point, where one is asked for. `played`: in a
simulated game. `said`: no numbers say it.
"""


class Counted(Config):
    """A printed count, and what was counted."""

    name: str
    printed: int
    found: tuple[float, ...]
    """Each value that a repeat had, at most seven."""
    several: bool = False
    """Whether there are more than those."""

    @property
    def is_right(self) -> bool:
        """Whether every repeat has the printed count."""
        return self.found == (self.printed,)


class Reason(Config):
    """Why one part of a claim came out as it did."""

    part: int = 0
    """Index of the part, from 0."""
    found: Found
    quantifier: PointQuantifier = "all"
    """Of the places looked at: `all` must hold, `some`, or a `share`."""
    needed: int | None = None
    """Of a share: at how many places it has to hold."""
    looked_at: int | None = None
    """Of a share: at how many it was looked."""
    point: int | None = None
    """Index of the place that decides among the verdict's points."""
    at: dict[str, float | str | bool] = {}
    """That place."""
    left: float | None = None
    right: float | None = None
    left_name: str = ""
    """What is on the left, of theory."""
    right_name: str = ""
    effect: float | None = None
    low: float | None = None
    """Of the effect's 95% interval (measurements), or of the left side's (a game)."""
    high: float | None = None
    repeats: int | None = None
    """Of the place that decides, where their number is what matters."""
    fewest: int | None = None
    """Repeats that may decide."""
    enough: int | None = None
    """Repeats that would decide if the effect stays."""
    detectable: float | None = None
    """Effect that these repeats find with power 0.8."""
    share: float | None = None
    """Of the points computed, those at which it fails."""
    boxes: int | None = None
    """Into which a domain was cut."""
    absent: int | None = None
    """Places that the profile leaves out."""
    counts: tuple[Counted, ...] = ()
    words: str = ""
    """Said in place of what the numbers say."""
    unless: str = ""
    """The wider tolerance with which it would not be violated."""
    between: bool = Field(default=False, exclude_if=lambda between: not between)
    """Whether it is shown to hold with that one: what is claimed is off by one to two tolerances."""
    turned: bool = Field(default=False, exclude_if=lambda turned: not turned)
    """Whether a first look decided it, and the mean of all repeats lies on the other side of the line."""
    chosen: tuple[str, ...] = ()
    """Which values of an axis were chosen in the repeats."""

    @field_validator("left", "right", "effect", "low", "high")
    @classmethod
    def _round(cls, value: float | None) -> float | None:
        """So that a number reads the same from a file, and on another processor."""
        return None if value is None else float(f"{value:.{DIGITS}g}")

    @field_validator("at")
    @classmethod
    def _read_infinity(cls, value: dict[str, object]) -> dict[str, object]:
        """A number without end is written as a word (JSON has no other way), and is a number again when read."""
        return {name: float(one) if one in ("inf", "-inf") else one for name, one in value.items()}

    @field_serializer("left", "right", "effect", "low", "high")
    def _side(self, value: float | None) -> Any:
        return _strict_number(value)

    @field_serializer("at")
    def _place(self, value: dict[str, Any]) -> dict[str, Any]:
        return {name: _strict_number(one) for name, one in value.items()}

    def text(self, effect: bool = True) -> str:
        """In one plain sentence without its full stop; with the effect and its interval, or without."""
        if self.words:
            text = self.words
        elif self.found in ("holds", "fails", "undecided", "few", "partly"):
            text = self._measured_text(effect)
        else:
            text = {"counted": self._counted_text, "played": self._played_text}.get(self.found, self._theory_text)()
        with_wider = (
            f"holds with {self.unless}: off by one to two tolerances" if self.between else f"not with {self.unless}"
        )
        unless = [f"{text}, but {with_wider}"] if self.unless else [text]
        turned = ["so its first repeats say, and the mean of all lies on the other side"] if self.turned else []
        return "; ".join([*unless, *turned, *self.chosen])

    def _measured_text(self, effect: bool) -> str:
        where = self._where_text(effect)
        if self.quantifier == "share" and self.found != "few":
            needed, looked_at = self.needed or 0, self.looked_at or 0
            of = f"{needed} of {looked_at} points"
            if self.found == "holds":
                return f"holds at {of} at least; least clear of these {where}"
            if self.found == "fails":
                more = looked_at - needed + 1
                return f"holds at fewer than {of}: fails at {more} at least; least clear of these {where}"
            where = f"whether it holds at {of}: {where}"
        elif self.found == "holds":
            return f"holds at {'every point; weakest' if self.quantifier == 'all' else 'some point; strongest'} {where}"
        if self.found == "fails":
            return f"fails {where}" if self.quantifier == "all" else f"fails at every point; least clearly {where}"
        if self.found == "partly":
            return f"holds at every point that the profile runs, which leaves out {self.absent}; weakest {where}"
        if self.found == "few":
            many = f"{self.repeats} repeat{'' if self.repeats == 1 else 's'} decide{'s' if self.repeats == 1 else ''}"
            return f"{many} nothing, {self.fewest} may; so far {where}"
        after = "" if self.repeats is None else f" after {self.repeats} repeats"
        noun = "" if after else " repeats"
        enough = "" if self.enough is None else f"; about {self.enough}{noun} would decide if the effect stays"
        if self.detectable is not None:
            enough += f"; {self.fewest} repeats find one of {self.detectable:.2g} (power 0.8)"
        return f"undecided {where}{after}{enough}"

    def _where_text(self, effect: bool) -> str:
        at = f"at {place_text(self.at)}: " if self.at else ""
        sides = f"{at}{self.left:.3g} against {self.right:.3g}"
        if not effect:
            return sides
        low = "-inf" if self.low is None else f"{self.low:.3g}"
        high = "inf" if self.high is None else f"{self.high:.3g}"
        return f"{sides}, effect {self.effect:.3g} [{low}, {high}]"

    def _counted_text(self) -> str:
        wrong = [one for one in self.counts if not one.is_right]
        if not wrong:
            return f"all {len(self.counts)} counts are as printed in every repeat"
        shown = [", ".join(f"{v:,.0f}" for v in one.found) + (", ..." if one.several else "") for one in wrong]
        both = zip(wrong, shown, strict=True)
        return "; ".join(f"{one.name} is {values} (printed: {one.printed:,})" for one, values in both)

    def _played_text(self) -> str:
        return f"{self.left_name} {self.left:.5g} [{self.low:.5g}, {self.high:.5g}] against {self.right:.5g}"

    def _theory_text(self) -> str:
        head = {
            "proved": "proved; closest: ",
            "holds-at": "holds at a point: ",
            "computed": "holds; closest: ",
            "refuted": "refuted: " if self.share is None else f"refuted (at {self.share:.0%} of the points): ",
            "unproved": f"neither proved nor refuted within {self.boxes} boxes; closest: ",
        }[self.found]
        if self.left is None or self.right is None:  # the two sides are infinitely far apart wherever one looks
            return f"{head}{self.left_name} against {self.right_name}, at no finite distance"
        at = ", ".join(f"{name} = {value:.6g}" for name, value in self.at.items())
        return f"{head}{self.left_name} = {self.left:.6g} against {self.right:.6g}{f' at {at}' if at else ''}"


def _strict_number(value: object) -> object:
    """A number that strict JSON has; infinities as words."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def reason_in_words(words: str) -> Reason:
    """What no numbers say."""
    return Reason(found="said", words=words)


def proof_in_words(words: str) -> Reason:
    """A proof that no two numbers illustrate."""
    return Reason(found="proved", words=f"proved: {words}")


def of_parts(reasons: Sequence[Reason], parts: int, numbered: bool = True) -> str:
    """The reasons of parts of a claim, each with its number where there are several."""
    several = numbered and parts > 1
    return "; ".join(f"part {one.part + 1} of {parts}: {one.text()}" if several else one.text() for one in reasons)


def place_of(epsilon: float | None, at: Mapping[str, Level] | None) -> dict[str, Level]:
    """A place with its epsilon first, where it is finite."""
    return ({} if epsilon is None else {"epsilon": epsilon}) | dict(at or {})
