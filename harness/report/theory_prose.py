"""What was found of a claim on theory, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from harness.claims.reasons import Reason
from harness.claims.verdict import Verdict
from harness.report.vocabulary import BOUND_WORDS, figure, figures_apart, letters, span

GAMES = {"ppv": "positive accuracy", "tpr": "true-positive rate", "fpr": "false-positive rate"}


NEAR = 0.1
"""Sides that are no further from each other than this share of the larger are told with as many digits as tell them
apart."""
RELATIONS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least ", "=": ""}


def theory_sentence(verdict: Verdict, relations: Sequence[str]) -> str:
    """What was found of a claim on theory: how it was settled, and its two sides where they come nearest.

    `relations`: of each part's two sides, as a spec writes them; empty where a part has none.
    """
    reasons = [verdict.reasons[index] for index in verdict.because]

    def part_words(reason: Reason) -> str:
        return _part_words(reason, RELATIONS.get(relations[reason.part] if reason.part < len(relations) else ""))

    if len(reasons) == 1:
        return part_words(reasons[0])
    if verdict.verdict == "violated":
        return part_words(next((r for r in reasons if r.found == "refuted"), reasons[0]))
    whole = "Both" if len(reasons) == 2 else f"All {len(reasons)}"
    proved = sum(r.found == "proved" for r in reasons)
    if proved == len(reasons):
        return f"{whole} parts are proved."
    if proved:
        are = "is" if proved == 1 else "are"
        others = (
            "the other was computed and holds" if len(reasons) - proved == 1 else "the others were computed and hold"
        )
        return f"{proved} of {len(reasons)} parts {are} proved; {others}."
    closest = min(reasons, key=_distance_from_line)
    one = part_words(closest)
    if closest.left is None or closest.found != "computed":
        return f"{whole} parts hold. Closest: {one[:1].lower()}{one[1:]}"
    told = one.removeprefix(COMPUTED).removeprefix(" Closest")
    return f"{whole} parts hold at every point computed. Closest, in part {closest.part + 1}{told}"


def _sides(reason: Reason) -> tuple[str | None, str | None]:
    """Both sides with two digits, or as many as tell them apart; nearer ones by their distance."""
    left, right = reason.left, reason.right
    if left is None or right is None or _distance_from_line(reason) > NEAR:
        return None if left is None else figure(left), None if right is None else figure(right)
    left_text, right_text = figures_apart(left, right)
    if left_text != right_text or left == right:
        return left_text, right_text
    right_text = figure(right, 4)
    return f"{figure(abs(left - right))} {'above' if left > right else 'below'} {right_text}", right_text


def _distance_from_line(reason: Reason) -> float:
    """How far both sides are from each other, as a share of the larger one; infinite where they are not numbers."""
    left, right = reason.left, reason.right
    if left is None or right is None or not math.isfinite(left) or not math.isfinite(right):
        return math.inf
    return abs(left - right) / max(abs(left), abs(right), 1e-300)


COMPUTED = "Holds at every point computed."


def _part_words(reason: Reason, relation: str | None) -> str:
    """The result of one part of a claim on theory, in words; `relation` of its two sides, None where it has none."""
    left, right = _sides(reason)
    if reason.found == "played":
        name = GAMES.get(reason.left_name, letters(reason.left_name))
        needs = "the claim compares it with " if relation is None else f"the claim needs {relation}"
        return f"Played out, the {name} is {left}{span((reason.low, reason.high))}; {needs}{right}."
    if left is None:
        text = letters(reason.text())
        return f"{text[:1].upper()}{text[1:]}."
    needs = f"; the claim needs {relation}" if relation is not None else ", and the right side "
    sides = f"{_side_name(reason.left_name)} is {left}{needs}{right}"
    if reason.found == "holds-at":
        return f"Holds where one point is enough, at {_places(reason)}: {sides}."
    if reason.found == "refuted":
        often = "" if reason.share is None else f" (and at {reason.share:.0%} of the points computed)"
        where = f"At {_places(reason)}{'' if reason.share == 1 else often}, " if reason.at else ""
        text = f"{where}{sides}" + (". It fails at every other point computed, too" if reason.share == 1 else "")
        return f"{text[:1].upper()}{text[1:]}."
    words = {"proved": "Proved for the whole domain.", "computed": COMPUTED}
    where = f"Closest, at {_places(reason)}:" if reason.at else "Closest:"
    return f"{words.get(reason.found, 'Neither proved nor refuted.')} {where} {sides}."


def _side_name(text: str) -> str:
    """`the bound of Yeom et al.`, `the value of “deletions”`: a side of one formula by its name, else the left side."""
    name, _, rest = text.partition("(")
    if not name.strip() or not rest.endswith(")") or not _is_one_bracket(rest):
        return "the left side"
    if name in BOUND_WORDS:
        return f"the {BOUND_WORDS[name]}"
    given = _GIVEN.findall(rest)
    of = f" of “{letters(given[0].replace('-', ' '))}”" if len(given) == 1 else ""
    return f"the value of “{letters(name.replace('-', ' '))}”{of}"


_GIVEN = re.compile(r"\w+=([a-z][\w-]*)\(")
"""A formula that another one is given in place of a variable."""


def _is_one_bracket(rest: str) -> bool:
    """Whether what follows an opening bracket ends with the bracket that closes it, and no sooner."""
    depth = 1
    for place, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(rest) - 1
    return False


def _places(reason: Reason) -> str:
    return ", ".join(f"{letters(n).replace('_', ' ')} = {place_value_text(v)}" for n, v in reason.at.items())


def place_value_text(value: float | str | bool) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
