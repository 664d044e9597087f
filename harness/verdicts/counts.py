"""How many claims came out how: the one place where claims are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.claims.verdict import Certainty, Verdict, Word
from harness.verdicts.publish import DATA_THAT_SETTLES

Group = Literal["papers", "papers elsewhere", "corrected", "ours", "checks"]
GROUPS: dict[Group, str] = {
    "papers": "claims of the papers, proved or on their data",
    "papers elsewhere": "claims of the papers, on other data or a stand-in",
    "corrected": "corrected claims",
    "ours": "claims of our own",
    "checks": "checks of the software",
}
"""In the order of every count, and in words."""
ORDER: tuple[Word, ...] = ("reproduced", "violated", "agrees", "differs", "beside", "inconclusive", "not run")
WORDS: dict[Word, str] = {
    "reproduced": "reproduced",
    "violated": "violated",
    "agrees": "agree",
    "differs": "differ",
    "beside": "compared, not judged",
    "inconclusive": "inconclusive",
    "not run": "not run",
}
"""As they are counted: `5 agree`."""


def group_of(verdict: Verdict) -> Group:
    """The group in which a verdict is counted: whose claim it is, and for a paper's, on what data it was judged."""
    if verdict.origin == "paper":
        return "papers" if verdict.data in DATA_THAT_SETTLES else "papers elsewhere"
    return {"corrected": "corrected", "ours": "ours", "check": "checks"}[verdict.origin]  # type: ignore[return-value]


@dataclass(frozen=True)
class Count:
    """Claims of one group, by what is said of them."""

    group: Group
    by_word: dict[Word, int]
    """Of words that are said of any, in the order of `ORDER`."""

    @property
    def total(self) -> int:
        """How many claims there are."""
        return sum(self.by_word.values())

    @property
    def text(self) -> str:
        """`12 reproduced, 3 violated`."""
        return ", ".join(f"{n} {WORDS[word]}" for word, n in self.by_word.items())


CERTAINTIES: dict[Certainty, str] = {
    "proved": "proved",
    "counted": "counted exactly",
    "stands": "measured, stands among all claims (corrected for all tests, false discovery rate 5%)",
    "by itself": "measured, by itself only (level 5%, not corrected)",
}
"""How sure one is of a verdict, the surest first, in words."""


def count_certainties(verdicts: Sequence[Verdict], group: Group) -> dict[Certainty, Counter[Word]]:
    """Decided claims of a group by certainty and verdict, without combinations that do not occur."""
    counts: dict[Certainty, Counter[Word]] = {certainty: Counter() for certainty in CERTAINTIES}
    for v in verdicts:
        if group_of(v) == group and v.certainty is not None:
            counts[v.certainty][v.verdict] += 1
    return {certainty: words for certainty, words in counts.items() if words}


def count(verdicts: Sequence[Verdict]) -> tuple[Count, ...]:
    """The counts of all groups that have claims, the papers' claims on their data first."""
    counts = []
    for group in GROUPS:
        words = [v.verdict for v in verdicts if group_of(v) == group]
        by_word = {word: n for word in ORDER if (n := words.count(word))}
        if by_word:
            counts.append(Count(group, by_word))
    return tuple(counts)
