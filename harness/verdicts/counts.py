"""How many claims came out how: the one place where claims are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.claims.verdict import Verdict
from harness.claims.words import Certainty, Word
from harness.verdicts.publish import DATA_THAT_SETTLES

Group = Literal["papers", "papers elsewhere", "not compared", "corrected", "ours", "checks"]
GROUPS: dict[Group, str] = {
    "papers": "claims of the papers, proved or on their data",
    "papers elsewhere": "claims of the papers, on other data or a stand-in",
    "not compared": "claims given as a paper's, whose quotations were not compared with its text",
    "corrected": "corrected claims",
    "ours": "claims of our own",
    "checks": "checks of the software",
}
"""In the order of every count, and in words."""


def group_of(verdict: Verdict) -> Group:
    """The group in which a verdict is counted: whose claim it is, and for a paper's, on what data it was judged."""
    if verdict.claim.origin == "paper":
        if not all(quote.compared for quote in verdict.claim.quotes):
            return "not compared"
        return "papers" if verdict.rests_on.data in DATA_THAT_SETTLES else "papers elsewhere"
    return {"corrected": "corrected", "ours": "ours", "check": "checks"}[verdict.claim.origin]  # type: ignore[return-value]


@dataclass(frozen=True)
class Count:
    """Claims of one group, by what is said of them."""

    group: Group
    by_word: dict[Word, int]
    """Of words that are said of any, in the order of `Word`."""
    not_severe: int = 0
    """How many of the inconclusive ones could not have failed."""
    off_by_tolerances: int = 0
    """How many of them are shown to be off by one to two tolerances."""
    in_every_reading: dict[Word, int] = field(default_factory=dict)
    """How many that hold do so in every reading, of what the paper leaves open and of what tolerances are ours."""

    @property
    def total(self) -> int:
        """How many claims there are."""
        return sum(self.by_word.values())

    @property
    def text(self) -> str:
        """`12 reproduced (5 in every reading), 3 violated, 4 inconclusive (1 could not have failed)`."""
        apart = {word: f" ({n} {IN_EVERY_READING})" for word, n in self.in_every_reading.items()}
        told = [(self.not_severe, "could not have failed"), (self.off_by_tolerances, "off by one to two tolerances")]
        if of_open := ", ".join(f"{n} {what}" for n, what in told if n):
            apart[Word.INCONCLUSIVE] = f" ({of_open})"
        return ", ".join(f"{n} {word.counted}{apart.get(word, '')}" for word, n in self.by_word.items())


IN_EVERY_READING = "in every reading"
SIMULATED = "simulated"
"""Of a game that was played out: its interval is that of the draws, and no model was trained."""
DISPROVED = "disproved"
CERTAINTIES: dict[str, str] = {
    phrase: meaning
    for one in Certainty
    for phrase, meaning in (
        (one.phrase, one.meaning),
        *([(SIMULATED, "simulated: a game played out by drawing")] if one is Certainty.COUNTED else []),
    )
}
"""The phrases of certainty, the surest first, each explained in a few words."""


def is_off_by_tolerances(verdict: Verdict) -> bool:
    """Whether an open claim is shown to be off by one to two of its tolerances: no further runs would decide it."""
    is_open = verdict.verdict == "inconclusive" and any(reason.between for reason in verdict.reasons)
    return is_open and all(reason.between or reason.found == "holds" for reason in verdict.reasons)


def certainty_phrase(verdict: Verdict) -> str:
    """How sure a verdict is, in one of few phrases; empty where nothing is decided."""
    if verdict.certainty is None:
        return ""
    if verdict.certainty is Certainty.PROVED and verdict.verdict is Word.VIOLATED:
        return DISPROVED
    return SIMULATED if verdict.rests_on.basis == "simulated" else verdict.certainty.phrase


def readings_phrase(verdict: Verdict) -> str:
    """Whether a verdict that holds does so in every other reading: `in every reading`, or `as declared`, with how many
    readings leave it open or were not run. Empty for others, and where there are no other readings."""
    rests_on = verdict.rests_on
    if not verdict.verdict.holds or not (rests_on.readings or rests_on.readings_not_run):
        return ""
    open_ = sum(reading.verdict != verdict.verdict for reading in rests_on.readings)
    told = [(open_, "open"), (len(rests_on.readings_not_run), "not run")]
    rest = ", ".join(f"{n} reading{'' if n == 1 else 's'} {what}" for n, what in told if n)
    return f"as declared; {rest}" if rest else IN_EVERY_READING


def count_certainties(verdicts: Sequence[Verdict], group: Group) -> dict[str, Counter[Word]]:
    """Decided claims of a group by phrase of certainty and verdict, without combinations that do not occur."""
    counts: dict[str, Counter[Word]] = {certainty: Counter() for certainty in CERTAINTIES}
    for v in verdicts:
        if group_of(v) == group and v.certainty is not None:
            phrase = certainty_phrase(v)
            counts[Certainty.PROVED.phrase if phrase == DISPROVED else phrase][v.verdict] += 1
    return {certainty: words for certainty, words in counts.items() if words}


def words_text(verdicts: Sequence[Verdict]) -> str:
    """`12 reproduced, 3 violated`, of all verdicts whosever the claims are."""
    words = [v.verdict for v in verdicts]
    return ", ".join(f"{n} {word.counted}" for word in Word if (n := words.count(word)))


def sentences_of(verdicts: Sequence[Verdict]) -> int:
    """How many distinct sentences of papers these claims are made of: quotations, each counted once."""
    return len({(v.paper, quote.section, quote.text) for v in verdicts for quote in v.claim.quotes})


def count(verdicts: Sequence[Verdict]) -> tuple[Count, ...]:
    """The counts of all groups that have claims, the papers' claims on their data first."""
    counts = []
    for group in GROUPS:
        of_group = [v for v in verdicts if group_of(v) == group]
        words = [v.verdict for v in of_group]
        by_word = {word: n for word in Word if (n := words.count(word))}
        if by_word:
            everywhere = Counter(v.verdict for v in of_group if readings_phrase(v) == IN_EVERY_READING)
            off = sum(map(is_off_by_tolerances, of_group))
            counts.append(Count(group, by_word, sum(bool(v.met_by) for v in of_group), off, dict(everywhere)))
    return tuple(counts)
