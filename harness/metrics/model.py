"""Metrics of a model itself: accuracy, loss, and what noise costs relative to the model without it."""

from __future__ import annotations

import numpy as np

from harness.metrics.membership import Value

MODEL_METRICS = ("accuracy_train", "accuracy_test", "accuracy_nonmembers", "loss_train", "loss_nonmembers")
RELATIVE_METRICS = ("accuracy_loss_test", "accuracy_loss_nonmembers")


def accuracy_loss(own: Value, baseline: Value) -> Value:
    """1 - accuracy / accuracy of the model without noise (jayaraman2019 Section 4.2), by the delta method.

    Not a number where the model without noise is never right.
    """
    if baseline.value == 0:
        return Value(float("nan"), 0.0, own.n)
    ratio = own.value / baseline.value
    spread = np.hypot(own.stderr / baseline.value, ratio * baseline.stderr / baseline.value)
    return Value(1 - ratio, float(spread), own.n)
