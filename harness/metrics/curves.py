"""Curves that no single number stands for: ROC, losses, the rate of each record (tramer2025 Figures 2 to 4).

A curve is a function of the arrays that an attack on one model left behind, and of what the attack was fitted to. A
spec asks for one in a panel of its figure; its points are kept with the table of measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.arrays import Array
from harness.metrics import membership
from harness.metrics.metric import Scope
from harness.metrics.points import Points

Arrays = Mapping[str, Array]
"""Arrays by name, as an attack or its fitting leaves them behind."""
DIGITS = 5
"""The number of significant digits of a point that are kept."""
LEAST_LOSS = 1e-8
"""The loss at which smaller ones are drawn: a logarithmic axis has no 0."""


Of = Literal["scores", "losses", "rates"]
"""The sorts of attacks that a curve can be drawn of."""


@dataclass(frozen=True)
class Line:
    """A named line (k,) of points, or a histogram: centres of its bins, and shares that sum to one."""

    name: str
    x: Array
    y: Array
    beside: str = ""
    """The panel that the line is in, where a curve has several side by side."""


def round_points(values: Array) -> list[float]:
    """The points as they are kept, to `DIGITS` significant digits.

    >>> round_points(np.array([0.123456789, 2.0]))
    [0.12346, 2.0]
    """
    return [float(f"{value:.{DIGITS}g}") for value in np.asarray(values, float)]


@dataclass(frozen=True)
class Curve:
    """A kind of curve, by the name that specs use."""

    text: str
    of: Of
    """The attacks that it can be drawn of: those with a score for each record, or whose score is the loss, or with
    rates of each record over many models."""
    x: str
    y: str
    logarithmic: tuple[bool, bool]
    histogram: bool
    lines: Callable[[Arrays, Arrays], list[Line]]
    """The function that draws it from what an attack left behind, and from what the attack was fitted to."""
    sums_up: tuple[Scope, ...]
    """The scopes of metrics that it stands for: a claim on a metric of one of them is about this curve."""


def roc(arrays: Arrays, fitted: Arrays) -> list[Line]:
    """The true-positive rate at false-positive rates from one non-member to all of them."""
    inside, outside = arrays["member_scores"], arrays["nonmember_scores"]
    fpr, tpr = membership.roc(inside, outside)
    grid = np.geomspace(1 / len(outside), 1, 61)
    # A rate of exactly k / n is to find the threshold with k false positives, however it was rounded.
    at = np.searchsorted(fpr, grid * (1 + 1e-9), side="right") - 1
    return [Line("", grid, tpr[at])]


def losses(arrays: Arrays, fitted: Arrays) -> list[Line]:
    """The histograms of the losses that the attack sees, of members and of non-members, in common bins."""
    both = {"members": -arrays["member_scores"], "non-members": -arrays["nonmember_scores"]}
    return _histograms(both, 48)


def point_tpr(arrays: Arrays, fitted: Arrays) -> list[Line]:
    """The true-positive rate of each record over the models trained on it, in descending order, by rank."""
    rates = np.sort(arrays["point_tpr"])[::-1]
    ranks = np.unique(np.geomspace(1, len(rates), 160).round().astype(int))
    return [Line("", ranks, rates[ranks - 1])]


def point_losses(arrays: Arrays, fitted: Arrays) -> list[Line]:
    """The histograms of the losses of four records under models that were trained on each and models that were not.

    One record of the easiest tenth and one of the hardest, and those that training on them moves least and most: chosen
    by every other pair of models, drawn of the rest.
    """
    confidences = fitted["confidences"].astype(np.float64)
    inside = np.unpackbits(fitted["inside"], axis=1)[:, : confidences.shape[1]].astype(bool)
    points = Points(confidences, inside, inside, inside)
    chosen_by, drawn = points.halves()
    hard = np.argsort(points.mean(points.losses, chosen_by, False), kind="stable")
    moved = np.argsort(points.separation(chosen_by), kind="stable")
    tenth = max(1, points.count // 20)
    records = {"easy": hard[tenth], "hard": hard[-1 - tenth], "moved least": moved[0], "moved most": moved[-1]}
    lines = []
    for name, record in records.items():
        values, held = points.losses[drawn, record], points.inside[drawn, record]
        lines += _histograms({"trained on it": values[held], "not": values[~held]}, 10, name)
    return lines


def _histograms(of: Mapping[str, Array], bins: int, beside: str = "") -> list[Line]:
    """One histogram for each name, all in the same bins, which are evenly spaced on a logarithmic axis."""
    seen = {name: np.maximum(values, LEAST_LOSS) for name, values in of.items()}
    every = np.concatenate(list(seen.values()))
    edges = np.geomspace(every.min() * 0.999, every.max() * 1.001, bins + 1)
    centres = np.sqrt(edges[1:] * edges[:-1])
    return [Line(name, centres, np.histogram(v, edges)[0] / len(v), beside) for name, v in seen.items()]


# The kinds of curves by the name that a spec's figure asks for.
CURVES: dict[str, Curve] = {
    "roc": Curve(
        "ROC, both axes logarithmic",
        "scores",
        "false-positive rate",
        "true-positive rate",
        (True, True),
        False,
        roc,
        ("attack",),
    ),
    "losses": Curve(
        "losses of members and of non-members",
        "losses",
        "loss",
        "share of records",
        (True, False),
        True,
        losses,
        ("attack", "model"),
    ),
    "point-tpr": Curve(
        "true-positive rate of each record, sorted",
        "rates",
        "records, sorted",
        "TPR",
        (True, False),
        False,
        point_tpr,
        ("per_record",),
    ),
    "point-losses": Curve(
        "losses of four records with and without them",
        "rates",
        "loss",
        "share of models",
        (True, False),
        True,
        point_losses,
        ("per_record",),
    ),
}
