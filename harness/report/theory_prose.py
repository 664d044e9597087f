"""What was found of a claim on theory, in words."""

from __future__ import annotations

from harness.claims.reasons import Reason
from harness.claims.verdict import Verdict
from harness.report.vocabulary import BOUND_WORDS, figure, letters, span

GAMES = {"ppv": "positive accuracy", "tpr": "true-positive rate", "fpr": "false-positive rate"}


def theory_sentence(verdict: Verdict) -> str:
    """What was found of a claim on theory: how it was settled, and its two sides where they come nearest."""
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
        are = "is" if proved == 1 else "are"
        return f"{proved} of {len(reasons)} parts {are} proved; the others were computed and hold."
    if reasons[0].left is None or reasons[0].found != "computed":
        one = _theory_part_words(reasons[0])
        return f"{whole} parts hold. Closest: {one[:1].lower()}{one[1:]}"
    return f"{whole} parts hold at every point computed. {_closest_words(reasons[0])}"


def _theory_part_words(reason: Reason) -> str:
    """The result of one part of a claim on theory, in words."""
    left, right = (None if side is None else figure(side) for side in (reason.left, reason.right))
    if reason.found == "played":
        name = GAMES.get(reason.left_name, letters(reason.left_name))
        return f"Played out, the {name} is {left}{span((reason.low, reason.high))}; the claim compares it with {right}."
    if left is None:
        text = letters(reason.text())
        return f"{text[:1].upper()}{text[1:]}."
    if reason.found == "refuted":
        often = "" if reason.share is None else f" (and at {reason.share:.0%} of the points computed)"
        often = " (as at every other point computed)" if reason.share == 1 else often
        where = f"At {_places(reason)}{often}, " if reason.at else ""
        name = _formula_words(reason.left_name)
        start = f"{where}{name}" if where else f"{name[:1].upper()}{name[1:]}"
        return f"{start} is {left}; the claim allows {right}."
    words = {"proved": "Proved for the whole domain.", "computed": "Holds at every point computed."}
    return f"{words.get(reason.found, 'Neither proved nor refuted.')} {_closest_words(reason)}"


def _formula_words(text: str) -> str:
    """`the bound of Yeom et al.`: a side that is one published bound, by its name; another as the left side."""
    name, _, rest = text.partition("(")
    return f"the {BOUND_WORDS[name]}" if name in BOUND_WORDS and rest.count(")") == 1 else "the left side"


def _closest_words(reason: Reason) -> str:
    """`Closest, at ε = 1: 0.3 against 0.5.`"""
    left, right = (None if side is None else figure(side) for side in (reason.left, reason.right))
    where = f"Closest, at {_places(reason)}:" if reason.at else "Closest:"
    return f"{where} {left} against {right}."


def _places(reason: Reason) -> str:
    return ", ".join(f"{letters(n).replace('_', ' ')} = {place_value_text(v)}" for n, v in reason.at.items())


def place_value_text(value: float | str | bool) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
