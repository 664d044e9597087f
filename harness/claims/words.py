"""The words for a verdict and for how sure one is of it, each with what pages, counts and terminals show of it.

It imports the standard library alone, since the command line reads it before anything else.
"""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """What is said of a claim, in the order of every count.

    On the paper's data, and of theory, a claim is reproduced or violated, or stays inconclusive. On other data and on a
    stand-in, where the paper is neither reproduced nor refuted, it agrees or differs; a printed number is set beside
    the measured one there, and not judged.
    """

    sign: str
    """One character, before the word."""
    colour: str
    """In a terminal."""
    shown: str
    """The word as it is shown of one claim."""
    counted: str
    """The word as it is counted: `5 agree`."""

    def __new__(cls, word: str, sign: str = "", colour: str = "", shown: str = "", counted: str = "") -> Word:
        """A word with its sign, its colour, and how it is shown of one claim and counted of several."""
        self = str.__new__(cls, word)
        self._value_ = word
        self.sign, self.colour, self.shown = sign, colour, shown or word
        self.counted = counted or self.shown
        return self

    REPRODUCED = "reproduced", "✓", "green"
    VIOLATED = "violated", "✗", "red"
    AGREES = "agrees", "≈", "cyan", "", "agree"
    DIFFERS = "differs", "≠", "blue", "", "differ"
    BESIDE = "beside", "∥", "dim", "compared, not judged"
    INCONCLUSIVE = "inconclusive", "?", "yellow"
    NOT_RUN = "not run", "–", "dim"

    @property
    def elsewhere(self) -> Word:
        """The word for the same outcome where the data are not the paper's."""
        return {Word.REPRODUCED: Word.AGREES, Word.VIOLATED: Word.DIFFERS}.get(self, self)

    @property
    def holds(self) -> bool:
        """Whether the claim holds, on whatever data."""
        return self in (Word.REPRODUCED, Word.AGREES)


class Certainty(StrEnum):
    """How sure one is of a decided verdict, the surest first."""

    phrase: str
    """The word in one of few phrases."""
    meaning: str
    """What the phrase stands for."""

    def __new__(cls, word: str, phrase: str = "", meaning: str = "") -> Certainty:
        """A degree of certainty with the phrase for it and what that stands for."""
        self = str.__new__(cls, word)
        self._value_ = word
        self.phrase, self.meaning = phrase, meaning
        return self

    PROVED = "proved", "proved", "proved or disproved"
    """For the whole domain."""
    COUNTED = "counted", "counted or computed", "counted exactly, or computed at every point listed"
    STANDS = (
        "stands",
        "measured, corrected for all claims",
        "measured, corrected for all claims tested (false discovery rate 5%)",
    )
    """Measured, and among the verdicts of which at most 5% are expected to be wrong over all claims."""
    BY_ITSELF = "by itself", "measured, uncorrected", "measured, not corrected for the number of claims (level 5%)"
    """Measured, at level 0.05 for this claim alone."""
    EXPLORATORY = (
        "exploratory",
        "measured, exploratory",
        "exploratory: the claim was declared, or last changed, after what decides it was measured",
    )
    """Decided by all runs, and not by those since the claim was declared."""
