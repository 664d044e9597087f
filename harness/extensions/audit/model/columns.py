"""Which column of a model's answers is which label, and whether the answers speak against that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.stats import binomtest

from harness.arrays import Array
from harness.data.encoding import sorted_classes
from harness.data.quoting import quote_names, quote_value
from harness.errors import HarnessError

RANGE = re.compile(r"(\d+)\.\.(\d+)")
"""`0..9`: each whole number from the first to the last."""
SUREST = 0.001
"""Level of the test whether columns in another order agree better with the labels."""


@dataclass(frozen=True)
class ColumnCheck:
    """Whether a model's answers agree with the labels of the records, column by column."""

    accuracy: tuple[float, float]
    """On members, and on the non-members that are attacked."""
    chance: float
    """Accuracy on members of answers that are given regardless of the record, each as often as the model gives it."""
    order: tuple[str, ...] = ()
    """The labels in the order of columns with which the model is right more often; empty: none is known."""
    accuracy_in_order: tuple[float, float] | None = None
    """What the accuracies are then."""

    @property
    def at_chance(self) -> bool:
        """Whether the model is right on no more members than by chance."""
        return self.accuracy[0] <= self.chance + 1e-12

    @property
    def out_of_order(self) -> bool:
        """Whether the labels fit the columns in another order, so that what attacks find with these says nothing."""
        return self.accuracy_in_order is not None


def check_columns(log_probabilities: Array, labels: Array, is_member: Array, classes: Sequence[str]) -> ColumnCheck:
    """Compare answers (n, k) with the columns of the labels (n,), for members and others apart.

    The order of columns that is right on most members is taken, and holds as better where it is right on more of the
    non-members too, by an exact test of the records on which the two orders differ, at level `SUREST`: these had no
    part in the choice.
    """
    predicted, k = log_probabilities.argmax(axis=1), len(classes)
    right = predicted == labels
    accuracy = (float(right[is_member].mean()), float(right[~is_member].mean()))
    counts = np.zeros((k, k))
    np.add.at(counts, (labels[is_member], predicted[is_member]), 1)
    chance = float((counts.sum(axis=1) * counts.sum(axis=0)).sum() / counts.sum() ** 2)
    # Of orders that are right equally often, that which keeps most columns where they are.
    _, column = linear_sum_assignment(-(counts + 0.5 / k * np.eye(k)))
    then = column[labels] == predicted
    gained, lost = int((then & ~right)[~is_member].sum()), int((right & ~then)[~is_member].sum())
    inside, outside = float(then[is_member].mean()), float(then[~is_member].mean())
    if inside <= accuracy[0] or gained <= lost:
        return ColumnCheck(accuracy, chance)
    if binomtest(gained, gained + lost, 0.5, alternative="greater").pvalue > SUREST:
        return ColumnCheck(accuracy, chance)
    return ColumnCheck(accuracy, chance, tuple(classes[i] for i in np.argsort(column)), (inside, outside))


def name_classes(given: Sequence[str]) -> tuple[str, ...]:
    """The labels that `--classes` names, with `0..9` as each of these numbers."""
    names: list[str] = []
    for text in given:
        ends = RANGE.fullmatch(text)
        if ends is None:
            names.append(text)
        else:
            names += [str(number) for number in range(int(ends.group(1)), int(ends.group(2)) + 1)]
    return tuple(names)


def label_text(value: object) -> str:
    """A label as it is compared: a whole number without a point, however it is stored."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def label_places(
    labels: Array, columns: int, classes: Sequence[str], where: str, own: Sequence[str] = ()
) -> tuple[Array, tuple[str, ...]]:
    """The column of its class for each label, (n,) int64, and the classes in the order of columns.

    They are those of `--classes` (`classes`), else those that the model itself names (`own`), else the labels of the
    files in their order, if there are as many as columns. Raises HarnessError where labels and columns do not fit.
    """
    values = [label_text(value) for value in sorted_classes(pd.Series(labels, name="label"))]
    chosen, named_by = (name_classes(classes), "--classes") if classes else (tuple(own), f"{where}: its classes")
    if chosen:
        unknown = [value for value in values if value not in chosen]
        if unknown:
            what = "lacks" if classes else "lack"
            raise HarnessError(f"{named_by} {what} the label {quote_value(unknown[0])}; name one class a column")
        if len(chosen) != columns or len(set(chosen)) != len(chosen):
            what = f"names {len(chosen)} classes" if classes else f"are {len(chosen)}"
            raise HarnessError(f"{named_by} {what}, and {where} gives {columns} columns; name one class a column")
    elif len(values) == columns:
        chosen = tuple(values)
    else:
        several = f"--classes {values[0]} --classes {values[1]} ..." if len(values) > 1 else "--classes"
        raise HarnessError(
            f"audit: {where}: gives {columns} columns where the files have {len(values)} labels "
            f"({quote_names(values, 5)}); name the label of each column in their order, as in {several} (0..9 stands "
            "for ten numbers), or give the model itself, whose classes_ say it"
        )
    at = {name: column for column, name in enumerate(chosen)}
    return np.array([at[label_text(value)] for value in labels], dtype=np.int64), chosen
