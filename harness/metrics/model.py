"""Metrics of a model itself: accuracy, loss, and what noise costs relative to the model without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from harness.arrays import Array
from harness.metrics.answers import ModelOutputs, Outputs
from harness.metrics.metric import metric
from harness.metrics.value import Value, average, share

# The sets of records that models are measured on.
SETS = {"train": "members", "test": "test", "nonmembers": "nonmembers"}
"""By the word in a metric's name: the records it is about."""


def accuracy(outputs: Outputs) -> Value:
    """The share of records whose most likely class is their label."""
    return share(outputs.log_probabilities.argmax(axis=1) == outputs.labels)


def accuracy_loss(own: Value, baseline: Value) -> Value:
    """The accuracy loss, 1 - accuracy / accuracy of the model without noise (jayaraman2019 Section 4.2).

    Its standard error is by the delta method. It is not a number where the model without noise is never right.

    >>> loss = accuracy_loss(Value(0.6, 0.01, 1000), Value(0.8, 0.01, 1000))
    >>> round(loss.value, 4), round(loss.stderr, 4)
    (0.25, 0.0156)
    """
    if not baseline.value > 0:
        return Value(math.nan, 0.0, own.n)
    ratio = own.value / baseline.value
    spread = np.hypot(own.stderr / baseline.value, ratio * baseline.stderr / baseline.value)
    return Value(1 - ratio, float(spread), own.n)


def _accuracy(which: str, outputs: ModelOutputs) -> Value:
    return accuracy(getattr(outputs, which))


def _loss(which: str, outputs: ModelOutputs) -> Value:
    return average(getattr(outputs, which).losses())


def _accuracy_loss(of: str, own: Mapping[str, Value], baseline: Mapping[str, Value]) -> Value:
    return accuracy_loss(own[of], baseline[of])


for _word, _records in SETS.items():
    metric(f"accuracy_{_word}", f"accuracy on {_records}", scope="model")(partial(_accuracy, _records))
for _word, _records in SETS.items():
    metric(f"loss_{_word}", f"mean cross-entropy on {_records}", scope="model", high=math.inf)(partial(_loss, _records))
for _word in ("test", "nonmembers"):
    _text = f"share of the accuracy on {SETS[_word]} that noise costs"
    metric(f"accuracy_loss_{_word}", _text, scope="baseline", low=-math.inf)(
        partial(_accuracy_loss, f"accuracy_{_word}")
    )


@metric("epochs_trained", "epochs until training ended", scope="epochs", low=1.0, high=math.inf)
def _epochs(accuracies: Array, n: int) -> Value:
    return Value(float(len(accuracies)), 0.0, n)


@metric(
    "best_accuracy_test", "largest accuracy on test records after any epoch (thudi2022 Figures 6, 8)", scope="epochs"
)
def _best_accuracy(accuracies: Array, n: int) -> Value:
    best = float(accuracies.max())
    return Value(best, float(np.sqrt(best * (1 - best) / n)), n)
