"""One quantity beside itself: what was measured of it in every paper, data set and set-up, at a few epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.attacks.attack import ScoringAttack
from harness.report.gather import Section
from harness.report.headings import datasets_of
from harness.report.vocabulary import attack_words, metric_words

QUANTITIES = ("advantage", "auc", "tpr_at_0.1pct_fpr")
"""Metrics of attacks that several papers measure."""
EPSILONS = (0.1, 1.0, 10.0, math.inf)
"""At which they are shown; infinity is without noise."""


@dataclass(frozen=True)
class ComparedRow:
    """One set-up under one attack."""

    section: Section
    datasets: tuple[str, ...]
    setup: str
    attack: str
    values: tuple[str, ...]
    """Mean and half-width of its 95% interval at each of `EPSILONS`; empty where it was not measured."""


@dataclass(frozen=True)
class Comparison:
    """One quantity, wherever it was measured."""

    metric: str
    title: str
    rows: tuple[ComparedRow, ...]


def comparisons(sections: Iterable[Section]) -> list[Comparison]:
    """Each quantity that was measured at one of `EPSILONS`, in the order of the sections."""
    listed = list(sections)
    every = (
        Comparison(metric, metric_words(metric), tuple(row for section in listed for row in _rows_of(section, metric)))
        for metric in QUANTITIES
    )
    return [one for one in every if one.rows]


def _rows_of(section: Section, metric: str) -> list[ComparedRow]:
    arms = section.spec.experiment.arms if section.spec.experiment is not None else {}
    on_membership = {name for name, attack in section.spec.attacks.items() if isinstance(attack, ScoringAttack)}
    if section.spec.results is not None:
        on_membership = set(section.spec.results.attacks)
    rows = []
    for row in section.means:
        if row["of"] != metric or row["attack"] not in on_membership or row["across"] != "epsilon":
            continue
        at = dict(zip(row["levels"], row["values"], strict=True))
        values = tuple(at.get(epsilon, "") for epsilon in EPSILONS)
        if any(values):
            arm, comma, others = row["arm"].partition(", ")
            setup = (arms[arm].label or arm if arm in arms else arm) + comma + others
            rows.append(ComparedRow(section, datasets_of(section.spec), setup, attack_words(row["attack"]), values))
    return rows
