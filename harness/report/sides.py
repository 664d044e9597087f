"""The sides of a comparison in words: each curve by metric, attack, arm and place, and two curves by what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.claims.contrasts import Phrase
from harness.claims.operands import MetricSeries
from harness.metrics import METRICS
from harness.report.vocabulary import (
    ATTACKS_NOT_NAMED,
    LETTERS,
    attack_words,
    letters,
    level_words,
    metric_words,
    of_attack,
    with_article,
)
from harness.spec.model import Spec


@dataclass(frozen=True)
class Sides:
    """Two curves of a comparison, named by what they share and by what tells them apart."""

    subject: str
    """What both are: `the AUC of LRN`; empty where they share no metric."""
    left: str
    """What the left one is beside that; its whole name where there is no subject."""
    right: str


def curve_words(curve: MetricSeries, spec: Spec) -> str:
    """What a curve measures, of which attack and on what, in words, without an article in front."""
    return curve_with_article(curve, spec).removeprefix("the ")


def curve_with_article(curve: MetricSeries, spec: Spec) -> str:
    """The same as a sentence names it: `the AUC of LiRA`, or `10 × the AUC of LiRA`."""
    name = _metric_of_attack(curve, spec)
    name = _mean_over(curve, name)
    own = ", ".join(filter(None, (_arm(curve, spec), *_levels(curve))))
    name += f" ({own})" if own else ""
    return name if curve.times == 1 else f"{curve.times:,g} × {name}"


def name_sides(left: MetricSeries, right: MetricSeries, spec: Spec) -> Sides:
    """Two curves by what they share and by what tells them apart, so that a sentence says the common part once."""
    same = [getattr(left, name) == getattr(right, name) for name in ("metric", "minus", "times", "mean_over")]
    if not all(same) or left.chosen != right.chosen:
        return Sides("", curve_with_article(left, spec), curve_with_article(right, spec))
    shared_levels = tuple(pair for pair in left.at if pair in right.at)
    apart = [replace(one, at=tuple(pair for pair in one.at if pair not in shared_levels)) for one in (left, right)]
    own = [[*_levels(one)] for one in apart]
    common = replace(left, at=shared_levels, attack=left.attack if left.attack == right.attack else "")
    if left.arm != right.arm:
        own = [[_arm(one, spec) or one.arm, *of] for one, of in zip((left, right), own, strict=True)]
        common = replace(common, arm="")
    if left.attack != right.attack:
        attacks = [
            with_article(attack_words(one.attack, spec.attack_labels)) if one.attack else "no attack"
            for one in (left, right)
        ]
        own = [[attack, *of] for attack, of in zip(attacks, own, strict=True)]
    names = [", ".join(of) for of in own]
    if names[0] == names[1] or not all(names):
        return Sides("", curve_with_article(left, spec), curve_with_article(right, spec))
    return Sides(curve_with_article(common, spec), *names)


def several_words(curves: Sequence[MetricSeries], spec: Spec) -> str:
    """What several curves measure, of which any may be meant: what they share, and `A or B` of what they do not."""
    names = list(dict.fromkeys(curve_with_article(curve, spec) for curve in curves))
    metrics = dict.fromkeys((curve.metric, curve.minus) for curve in curves)
    if len(names) <= 2 or len(metrics) > 1:
        return " or ".join(names[:3]) + (f" or {len(names) - 3} others" if len(names) > 3 else "")
    return f"the {metric_words(curves[0].metric)} of one of {len(names)} curves"


def phrase_words(phrase: Phrase, spec: Spec) -> str:
    """A phrase of a kind of claim with its curves and axes in words."""
    texts = []
    for one in phrase:
        if isinstance(one, MetricSeries):
            texts.append(curve_with_article(one, spec))
        elif isinstance(one, tuple):
            texts.append(several_words(one, spec))
        else:
            texts.append(letters(one).replace("_", " "))
    return "".join(texts)


def range_of(curve: MetricSeries) -> tuple[float, float] | None:
    """The range of what a curve measures; None where its metric has none, or it is not known here."""
    if curve.metric not in METRICS or (curve.minus is not None and curve.minus not in METRICS):
        return None
    low, high = METRICS[curve.metric].low, METRICS[curve.metric].high
    if curve.minus is not None:
        low, high = low - METRICS[curve.minus].high, high - METRICS[curve.minus].low
    return low * curve.times, high * curve.times


def _metric_of_attack(curve: MetricSeries, spec: Spec) -> str:
    """`the loss attack's AUC`: a metric, with its attack where it is one's."""
    name = metric_words(curve.metric)
    if curve.minus is not None:
        name = f"{name} less the {metric_words(curve.minus)}"
    if not curve.attack or curve.attack in ATTACKS_NOT_NAMED or curve.metric in ATTACKS_NOT_NAMED:
        return f"the {name}"
    if name.startswith("members exposed"):
        return f"the {name} by {with_article(attack_words(curve.attack, spec.attack_labels))}"
    return of_attack(name, attack_words(curve.attack, spec.attack_labels))


def _mean_over(curve: MetricSeries, name: str) -> str:
    if not curve.mean_over:
        return name
    return f"the mean over {', '.join(LETTERS.get(axis, axis) for axis in curve.mean_over)} of {name}"


def _arm(curve: MetricSeries, spec: Spec) -> str:
    """The label of a curve's arm where the spec has several; else empty."""
    arms = spec.experiment.arms if spec.experiment is not None else {}
    if len(arms) < 2 or curve.arm not in arms:
        return ""
    return arms[curve.arm].label or curve.arm


def _levels(curve: MetricSeries) -> list[str]:
    return [level_words(name, value) for name, value in curve.at]
