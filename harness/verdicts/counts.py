"""How many claims came out how: the one place where claims are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.claims.verdict import Verdict, Word
from harness.verdicts.publish import ON_PAPERS_DATA

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
    "beside": "set beside print",
    "inconclusive": "inconclusive",
    "not run": "not run",
}
"""As they are counted: `5 agree`."""


def group_of(verdict: Verdict) -> Group:
    """Whose claim it is, and of a paper's on what it was judged."""
    if verdict.origin == "paper":
        return "papers" if verdict.data in ON_PAPERS_DATA else "papers elsewhere"
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


def count(verdicts: Sequence[Verdict]) -> tuple[Count, ...]:
    """One count a group, of groups that have any claim; the papers' claims on their data first."""
    counts = []
    for group in GROUPS:
        words = [v.verdict for v in verdicts if group_of(v) == group]
        by_word = {word: n for word in ORDER if (n := words.count(word))}
        if by_word:
            counts.append(Count(group, by_word))
    return tuple(counts)
