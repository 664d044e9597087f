"""The names of this project in words that anybody in the field knows, and numbers as readers want them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from harness.claims.operands import OWNER_SET
from harness.coordinates import format_level

ORIGINS = {
    "paper": "The paper's claim",
    "corrected": "Our correction of a claim of the paper",
    "ours": "A claim of our own",
    "check": "A check of the software, which holds if that is right",
}
DATA = {
    "none": "no data",
    "paper": "the paper's data, at its scale",
    "smaller": "the paper's data, but not all of its set-up",
    "variant": "the paper's data, by a variant of its attack or on another kind of model",
    "other": "other data than the paper's",
    "stand-in": "a stand-in for the paper's data",
    "own": "data of our choice",
    "elsewhere": "results from elsewhere",
}
ATTACK_WORDS = {
    "logloss": "loss attack",
    "shokri": "shadow-model attack",
    "lira": "LiRA",
    "rmia": "RMIA",
    "lira-queries": "LiRA with several queries",
    "lrn": "LRN",
    "lrn-free": "LRN-Free",
    "blind": "blind attack",
    "gap": "gap attack",
    "attribute": "attribute-inference attack",
    "quantile": "quantile-regression attack",
    "boundary": "boundary attack",
    "gradients": "gradient-norm attack",
    "gradient-norm": "gradient-norm attack",
    "points": "likelihood ratios of each record",
    "sampling": "sampling attack",
    "sampling-100": "sampling attack with 100 queries",
    "at-0005": "sampling attack at a scale of 0.005",
    "at-0015": "sampling attack at a scale of 0.015",
    "at-011": "sampling attack at a scale of 0.11",
    "at-013": "sampling attack at a scale of 0.13",
    "images": "sampling attack",
    "places": "sampling attack",
    "purchases": "sampling attack",
    "stays": "sampling attack",
    "lira-8": "LiRA with eight queries",
}
ATTACKS_NOT_NAMED = {
    "points",
    "share_of_members",
    "member_stability",
    "nonmember_stability",
}
"""Attacks and metrics whose numbers a sentence tells without the attack: the metric says it all."""
BOUND_WORDS = {
    "yeom": "bound of Yeom et al.",
    "erlingsson": "bound of Erlingsson et al.",
    "humphries": "bound of Humphries et al.",
    "ppv-upper": "bound of Thudi et al.",
    "ppv-upper-delta": "bound of Thudi et al. with δ",
}
"""Formulas of published bounds."""
METRIC_WORDS = {
    "advantage": "membership advantage",
    "auc": "AUC",
    "tpr": "true-positive rate",
    "fpr": "false-positive rate",
    "accuracy_train": "accuracy on members",
    "accuracy_test": "test accuracy",
    "accuracy_nonmembers": "accuracy on non-members",
    "accuracy_loss_test": "accuracy loss on test records",
    "accuracy_loss_nonmembers": "accuracy loss on non-members",
    "attack_accuracy": "attack accuracy",
    "best_attack_accuracy": "best attack accuracy",
    "best_accuracy_test": "best test accuracy after any epoch",
    "best_precision": "best precision over thresholds",
    "best_precision_gain": "best precision over thresholds, less the share of members",
    "held_out_precision": "precision at a threshold of other records",
    "held_out_precision_gain": "precision at a threshold of other records, less the share of members",
    "shuffled_best_precision": "best precision over thresholds with memberships shuffled",
    "share_of_members": "share of members",
    "max_advantage": "largest advantage over thresholds",
    "held_out_advantage": "advantage at a threshold of other records",
    "value_advantage": "advantage on the attribute's value",
    "exposed_in_every_run_at_1pct_fpr": "members exposed in every run at 1% FPR",
    "exposed_in_every_run_at_2pct_fpr": "members exposed in every run at 2% FPR",
    "exposed_in_every_run_at_5pct_fpr": "members exposed in every run at 5% FPR",
    "member_stability": "share of a member's copies that keep their label",
    "nonmember_stability": "share of a non-member's copies that keep their label",
    "perturbation": "perturbation of copies",
    "loss_train": "mean loss on members",
    "loss_test": "mean loss on test records",
    "loss_nonmembers": "mean loss on non-members",
    "nonmember_precision_1pct": "share of non-members among the 1% with the lowest scores",
    "between_point_share": "share of the losses' variance that is between records",
    "between_inlier_share": "share of the losses' variance that is between inliers",
    "separation": "distance by which training moves a record's confidence",
    "separation_of_top_tenth": "distance by which training moves the confidence of the tenth moved most",
    "hardness_separation": "rank correlation of a record's loss with how far training moves it",
    "share_nearly_always_caught": "share of records caught in 90% of models",
    "median_point_tpr": "true-positive rate on the median record",
    "fpr_of_most_called": "FPR of LiRA on the records it calls most often",
    "loss_fpr_of_most_called": "FPR of the loss attack on the records it calls most often",
    "calibrated_fpr_of_most_called": "FPR at own thresholds on the records that the loss attack calls most often",
    "loss_pooled_tpr": "TPR of the loss attack at one threshold for all records",
    "loss_calibrated_tpr": "TPR of the loss attack at each record's own threshold",
    "loss_calibrated_fpr": "FPR of the loss attack at each record's own threshold",
    "mean_point_tpr": "mean true-positive rate over records",
    "tpr_of_most_vulnerable": "true-positive rate on the most vulnerable records",
    "epsilon_of_most_vulnerable": "lower bound on ε from the most vulnerable records",
}
AXIS_WORDS = {
    "epsilon": "ε = {}",
    "p": "p = {}",
    "queries": "{} queries",
    "bound": "a bound of {}",
    "engine": "the engine {}",
}
"""A value of an axis, by the axis; of others it is the name, an equals sign and the value."""
LETTERS = {
    "epsilon": "ε",
    "eps": "ε",
    "delta": "δ",
    "sigma": "σ",
    "alpha": "α",
    "mu": "μ",
    "lambda": "λ",
    "inf": "∞",
    "Phi": "Φ",
}
_LETTER = re.compile(r"(?<!\w)(?<!\w-)(" + "|".join(LETTERS) + r")(?![\w]|-(?!DP))")
_RATE = re.compile(r"tpr_at_(.+)pct_fpr")


def figure(value: float, digits: int = 3) -> str:
    """A number as a reader wants it: at most so many significant digits, thousands apart, no e-notation near one."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}×10{superscript(int(power))}".replace("-", "−")
    text = f"{value:,.0f}" if abs(value) >= 10 ** min(digits - 1, 2) else f"{value:.{digits}g}"
    return text.replace("-", "−")


def figure_beside(value: float, *others: float) -> str:
    """A number with two significant digits, or with as many more as tell it from each of the others, from 0 and from 1
    on the side on which it is."""
    lines = [x for x in (*others, 0.0, 1.0) if math.isfinite(x)]
    for digits in (2, 3, 4, 5):
        shown = float(f"{value:.{digits}g}")
        if all((shown > x) - (shown < x) == (value > x) - (value < x) for x in lines):
            return figure(value, digits)
    return figure(value, 5)


def figures_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers to the same decimal, with at least two significant digits of the larger, and so many that their
    difference shows about as it is."""
    largest = max(abs(one), abs(other))
    if not 1e-3 <= largest < 100:
        return figure_beside(one, other), figure_beside(other, one)
    first = 1 - math.floor(math.log10(largest))
    for decimals in range(max(first, 0), max(first, 0) + 3):
        shown = [round(x, decimals) for x in (one, other)]
        if abs((shown[0] - shown[1]) - (one - other)) <= 0.25 * abs(one - other):
            break
    left, right = (f"{x:.{decimals}f}".replace("-", "−") if x else "0" for x in shown)
    return left, right


def digits_apart(values: Sequence[float]) -> int:
    """The significant digits, from two to four, with which numbers that differ look different."""
    for digits in (2, 3):
        if len({float(f"{x:.{digits}g}") for x in values}) == len({*values}):
            return digits
    return 4


def figures_of_interval(
    value: float, interval: tuple[float | None, float | None], *lines: float
) -> tuple[str, str | None, str | None]:
    """A number and the ends of its interval, with two significant digits or as many more as tell them from one another
    and from the lines."""
    ends = [x for x in interval if x is not None]
    for digits in (2, 3, 4):
        shown = [float(f"{x:.{digits}g}") for x in (value, *ends)]
        if len({*shown}) == len({value, *ends}):
            break

    def text(x: float) -> str:
        enough = figure(x, digits)
        return max(enough, figure_beside(x, *lines), key=len)

    low, high = (None if x is None else text(x) for x in interval)
    return text(value), low, high


def superscript(power: int) -> str:
    """The digits of a power, raised."""
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def letter(name: str) -> str:
    """A name or an operator of an inequality as its letter or its sign, where it has one."""
    return {"<=": "≤", ">=": "≥", "log_inverse_delta": "ln(1/δ)"}.get(name) or LETTERS.get(name, name)


def letters(text: str) -> str:
    """Names of Greek letters as the letters, and signs of order as such."""
    text = text.replace("<=", "≤").replace(">=", "≥").replace("log_inverse_delta", "ln(1/δ)")
    return _LETTER.sub(lambda m: LETTERS[m.group(1)], text)


def metric_words(metric: str) -> str:
    """A metric by the name that the field has for it."""
    if rate := _RATE.fullmatch(metric):
        return f"TPR at {rate.group(1)}% FPR"
    return METRIC_WORDS.get(metric, metric.replace("_", " "))


def bound_words(name: str) -> str:
    """A formula that is drawn as a bound, in words."""
    return BOUND_WORDS.get(name, f"bound ({name})")


def attack_words(attack: str, labels: Mapping[str, str]) -> str:
    """An attack by the label that its spec gives it, else by the name that the field has for it; one with its threshold
    chosen on a shadow model is rehearsed.

    Args:
        attack: its name in the spec.
        labels: the labels that the spec gives attacks, by name.
    """
    if attack in labels:
        return labels[attack]
    if attack.endswith("-rehearsed"):
        return f"rehearsed {attack_words(attack.removesuffix('-rehearsed'), labels)}"
    return ATTACK_WORDS.get(attack, f"{attack.replace('-', ' ')} attack")


def of_attack(name: str, attack: str) -> str:
    """A metric with its attack: `the loss attack's AUC`, `LiRA's AUC`, or `the AUC of` an attack with a longer name."""
    if any(word in attack for word in (" with ", " at ", " on ", " of ")):
        return f"the {name} of {with_article(attack)}"
    return f"{with_article(attack)}'s {name}".replace("s's ", "s' ")


def with_article(attack: str) -> str:
    """An attack's name with its article, where it is none that goes by its letters: `the loss attack`, `LiRA`."""
    return (
        attack
        if attack.startswith(("LiRA", "RMIA", "LRN", "likelihood ratios"))
        else f"the {attack.removeprefix('the ')}"
    )


def level_words(axis: str, value: object) -> str:
    """`ε = 5`, `without noise`, `q = 0.1`, `an owner set of 2,811 records`."""
    if axis == OWNER_SET:
        return f"an owner set of {float(str(value)):,.0f} records"
    if axis == "epsilon" and value in (math.inf, None):
        return "without noise"
    text = figure(value) if axis == "bound" and isinstance(value, float) else format_level(value)
    if axis in AXIS_WORDS:
        return AXIS_WORDS[axis].format(text)
    return f"{LETTERS.get(axis, axis.replace('_', ' '))} = {text}"


def span(interval: tuple[float | None, float | None] | None) -> str:
    """` (0.92 to 0.93)`, or an empty text without an interval."""
    if interval is None or interval == (None, None):
        return ""
    low, high = interval
    if low is None:
        return f" (at most {figure(high or 0.0)})"
    return f" (at least {figure(low)})" if high is None else f" ({figure(low)} to {figure(high)})"
