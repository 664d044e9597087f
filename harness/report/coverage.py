"""What can be checked in a paper, as its page lists it: section by section, each place with its claims' verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.claims.verdict import Verdict
from harness.spec.coverage import Coverage, Place


@dataclass(frozen=True)
class ShownPlace:
    """A place of a paper, and the verdicts on it."""

    place: Place
    verdicts: tuple[Verdict, ...]
    """On its claims, in their order, of those that the profile judged."""

    @property
    def not_judged(self) -> int:
        """How many of its claims the profile did not judge."""
        return len(self.place.claims) - len(self.verdicts)


@dataclass(frozen=True)
class ShownSection:
    """A section of a paper with its places."""

    name: str
    heading: str
    places: tuple[ShownPlace, ...]

    @property
    def without(self) -> int:
        """How many of its places have no claim."""
        return sum(not shown.place.claims for shown in self.places)

    @property
    def title(self) -> str:
        """`Section 4.2: Cluster Split`; the heading alone where that is the section's name."""
        return self.name if self.name == self.heading else f"{self.name}: {self.heading}"

    @property
    def counts(self) -> str:
        """`8 places, 2 without a claim`."""
        if not self.places:
            return "nothing that can be checked"
        places = "1 place" if len(self.places) == 1 else f"{len(self.places)} places"
        return places + (f", {self.without} without a claim" if self.without else "")


def sections_shown(coverage: Coverage, verdicts: Mapping[str, Verdict]) -> tuple[ShownSection, ...]:
    """The sections of a paper in its order, each place with those verdicts that there are, by claim."""
    return tuple(
        ShownSection(
            name,
            heading,
            tuple(
                ShownPlace(place, tuple(verdicts[claim] for claim in place.claims if claim in verdicts))
                for place in coverage.of_section(name)
            ),
        )
        for name, heading in coverage.sections.items()
    )


def count_sentence(coverage: Coverage, not_compared: int) -> str:
    """`214 places: 160 have a claim, 54 have none.` With the number of quotations that were not found in a text of the
    paper, where there are such."""
    total, with_claims = len(coverage.places), sum(bool(place.claims) for place in coverage.places)
    words = ("has" if with_claims == 1 else "have", "has" if total - with_claims == 1 else "have")
    places = "1 place" if total == 1 else f"{total} places"
    sentence = f"{places}: {with_claims} {words[0]} a claim, {total - with_claims} {words[1]} none."
    return sentence + (f" Quotations not compared with the paper’s text: {not_compared}." if not_compared else "")
