"""What was found of a claim on theory, in words."""

from __future__ import annotations

from harness.claims.reasons import Reason
from harness.claims.verdict import Verdict
from harness.report.vocabulary import figure, letters, span

GAMES = {"ppv": "positive accuracy", "tpr": "true-positive rate", "fpr": "false-positive rate"}


def theory_sentence(verdict: Verdict) -> str:
    reasons = [verdict.reasons[index] for index in verdict.because]
    if len(reasons) == 1:
        return _theory_part_words(reasons[0])
    if verdict.verdict == "violated":
        return _theory_part_words(next((r for r in reasons if r.found == "refuted"), reasons[0]))
    whole = "Both" if len(reasons) == 2 else f"All {len(reasons)}"
    proved = sum(r.found == "proved" for r in reasons)
    if proved == len(reasons):
        return f"{whole} parts are proved."
    if proved:
        return (
            f"{proved} of {len(reasons)} parts {'is' if proved == 1 else 'are'} proved, the others hold where computed."
        )
    if reasons[0].left is None or reasons[0].found != "computed":
        return f"{whole} parts hold where computed. Closest: {_theory_part_words(reasons[0])}"
    return f"{whole} parts hold wherever they were computed; closest{_sides_words(reasons[0])}."


def _theory_part_words(reason: Reason) -> str:
    """The result of one part of a claim on theory, in words."""
    left, right = (None if side is None else figure(side) for side in (reason.left, reason.right))
    if reason.found == "played":
        name = GAMES.get(reason.left_name, letters(reason.left_name))
        return f"Played out, the {name} is {left}{span((reason.low, reason.high))}, against {right}."
    if left is None:
        text = letters(reason.text())
        return f"{text[:1].upper()}{text[1:]}."
    where = _place_words(reason)
    if reason.found == "refuted":
        often = "" if reason.share is None else f" (at {reason.share:.0%} of the points)"
        often = ", as at every other point" if reason.share == 1 else often
        return f"Refuted{where}{often}: it is {left} where the claim allows {right}."
    word = {"proved": "Proved", "computed": "Holds wherever it was computed"}.get(
        reason.found, "Neither proved nor refuted"
    )
    return f"{word}; closest{_sides_words(reason)}."


def _place_words(reason: Reason) -> str:
    """` at ε = 1`; empty where it is of no place."""
    places = ", ".join(
        f"{letters(name).replace('_', ' ')} = {place_value_text(value)}" for name, value in reason.at.items()
    )
    return f" at {places}" if places else ""


def _sides_words(reason: Reason) -> str:
    """` at ε = 1: 0.3 against 0.5`."""
    left, right = (None if side is None else figure(side) for side in (reason.left, reason.right))
    return f"{_place_words(reason)}: {left} against {right}"


def place_value_text(value: float | str | bool) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
