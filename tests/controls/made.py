"""Tables of attacks of known strength, measured by the metrics' own functions: what tests of controls share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from harness.claims.contrasts import Comparisons
from harness.claims.design import Sequential
from harness.claims.results import Part
from harness.controls.severity import DRAWS, Outcomes, Worlds, severity_of_part
from harness.controls.worlds import ControlFacts
from harness.metrics.answers import Answers
from harness.metrics.metric import measure_answers
from tests.claims.judged import declared_by, evidence_of, parts_of

Strength = Callable[[str, str, float, float], float]
"""By arm, attack, p and epsilon: how many standard deviations members' scores are above others'."""
AXES = ("p", "epsilon")


@cache
def _answers(shift: float, members: int, others: int, seed: int, levels: int) -> dict[str, tuple[float, float, int]]:
    rng = np.random.default_rng([seed, members, others, round(1e6 * abs(shift))])
    scores = rng.normal(size=members + others) + np.append(np.full(members, shift), np.zeros(others))
    if levels:
        scores = np.floor(scores * levels) / levels
    called = scores > 0.5
    parts = scores[:members], scores[members:], called[:members], called[members:]
    return {name: (v.value, v.stderr, v.n) for name, v in measure_answers(Answers(*parts)).items()}


def attack_table(
    strength: Strength,
    arms: Sequence[str] = ("a",),
    attacks: Sequence[str] = ("x",),
    ps: Sequence[float] = (0.5,),
    epsilons: Sequence[float] = (1.0,),
    repeats: int = 24,
    records: int = 400,
    seed: int = 0,
    levels: int = 0,
    accuracy: Callable[[str, float], float] | None = None,
) -> pd.DataFrame:
    """The measurements of attacks on `records` records, of which a share p are members, in each of the repeats.

    `levels`: scores take so many values a unit; 0: no two are alike. `accuracy`: of an arm's models at an epsilon.
    """
    rows: list[tuple[Any, ...]] = []
    for number, (arm, p, epsilon, repeat) in enumerate(product(arms, ps, epsilons, range(repeats))):
        members = round(p * records)
        for place, attack in enumerate(attacks):
            shift = strength(arm, attack, p, epsilon)
            of = _answers(shift, members, records - members, (seed + 1) * 100_000 + 10 * number + place, levels)
            rows += [(arm, attack, name, p, epsilon, repeat, *value) for name, value in of.items()]
        if accuracy is not None:
            rng = np.random.default_rng([seed, number])
            for name in ("accuracy_test", "accuracy_train"):
                hits = rng.binomial(1000, accuracy(arm, epsilon)) / 1000
                rows.append((arm, "", name, p, epsilon, repeat, hits, math.sqrt(hits * (1 - hits) / 1000), 1000))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", *AXES, "repeat", "value", "stderr", "n"])


def severities(
    expectation: Any, frame: pd.DataFrame, facts: ControlFacts | None = None, draws: int = DRAWS
) -> list[Outcomes]:
    """What controls say of each part of an expectation, on a table of a sequential design."""
    evidence = evidence_of(frame, Sequential(), AXES)
    parts, worlds = list(parts_of(expectation, evidence)), Worlds(evidence, facts or ControlFacts("made"))
    result = []
    for index, part in enumerate(parts):
        compared = part.contrasts(evidence)
        assert isinstance(compared, Comparisons)
        which = Part(index, len(parts), 0.025)
        result.append(severity_of_part(compared, worlds, which, draws))
    return result


__all__ = ["AXES", "attack_table", "declared_by", "severities"]
