"""Whether the means of a run fit those of the deciding run, of the runs there that have other seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from harness.coordinates import Level
from harness.report.vocabulary import attack_words, figure, level_words, metric_words
from harness.spec.model import Spec

LEVEL = 0.05
"""Chance that any mean is named that differs by chance alone."""
DRAWS = 9_999
"""Permutations of a test; its p-values are no smaller than one in ten thousand."""
FEWEST = 6
"""Runs that each side needs for a comparison of their means."""
SAME = 1e-9
"""Two values of one seed that are no further apart are the same."""
METRICS = ("advantage", "accuracy_train", "accuracy_test", "accuracy_nonmembers")
"""Metrics whose means are compared."""


@dataclass(frozen=True)
class MeansBeside:
    """How the means of a run lie to the deciding run's."""

    compared: int
    """Means of which both runs have enough."""
    apart: tuple[str, ...]
    """Those that do not fit, in words."""
    shared: int
    """Values that both runs have of the same seed."""
    equal: int
    """Those of them that are the same."""

    @property
    def fitting(self) -> int:
        """Means that fit."""
        return self.compared - len(self.apart)


def compare_means(tables: Sequence[tuple[Spec, pd.DataFrame, pd.DataFrame]]) -> MeansBeside:
    """Compare the means of a run with the deciding run's, over all its specs.

    Args:
        tables: of each spec this run's measurements and the deciding run's.
    """
    tests: list[tuple[str, float]] = []
    shared = equal = 0
    for spec, mine, theirs in tables:
        own, other = _values_by_place(spec, mine), _values_by_place(spec, theirs)
        for key, values in own.items():
            if key not in other:
                continue
            both = [(value, other[key][repeat]) for repeat, value in values.items() if repeat in other[key]]
            shared += len(both)
            equal += sum(abs(a - b) <= SAME for a, b in both)
            others = [value for repeat, value in other[key].items() if repeat not in values]
            if min(len(values), len(others)) >= FEWEST:
                tests.append((_mean_words(spec, key, values, others), _p_value(list(values.values()), others)))
    apart = tuple(words for words, p in tests if p <= LEVEL / len(tests))
    return MeansBeside(len(tests), apart, shared, equal)


Key = tuple[str, str, str, tuple[tuple[str, Level], ...]]
"""Arm, attack, metric, and place on the axes."""


def _values_by_place(spec: Spec, table: pd.DataFrame) -> dict[Key, dict[int, float]]:
    """The value of each compared metric at each place, by repeat."""
    kept = table[table["metric"].isin(METRICS)]
    axes = [axis for axis in spec.axes if axis in table.columns]
    values: dict[Key, dict[int, float]] = {}
    columns = [kept[name].tolist() for name in ("arm", "attack", "metric", *axes, "repeat", "value")]
    for arm, attack, metric, *levels, repeat, value in zip(*columns, strict=True):
        place = tuple(zip(axes, levels, strict=True))
        values.setdefault((arm, attack, metric, place), {})[int(repeat)] = float(value)
    return values


def _p_value(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Two-sided p-value of a difference of means, by permutation; 1 where all values are alike."""
    if np.ptp([*mine, *theirs]) == 0:
        return 1.0
    test = scipy.stats.permutation_test(
        (np.asarray(mine), np.asarray(theirs)),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        n_resamples=DRAWS,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def _mean_words(spec: Spec, key: Key, mine: Mapping[int, float], theirs: Sequence[float]) -> str:
    """A mean that is compared, with both values."""
    arm, attack, metric, place = key
    arms = spec.experiment.arms if spec.experiment is not None else {}
    where = ", ".join(level_words(axis, value) for axis, value in place)
    of = f" of the {attack_words(attack, spec.attack_labels)}" if attack else ""
    own, other = figure(float(np.mean(list(mine.values())))), figure(float(np.mean(theirs)))
    label = arms[arm].label or arm if arm in arms else arm
    return f"{spec.id}, {label}, {where}: {metric_words(metric)}{of} {own} here, {other} there"
