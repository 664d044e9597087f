"""Numbers that say what answers and models are worth: advantage, TPR and FPR, AUC, accuracy, with their uncertainty.

A metric is one function with one registration (`metric`); importing this package registers the built-in ones.
"""

from harness.imports import import_all
from harness.metrics.answers import Answers, ModelOutputs, Outputs
from harness.metrics.jackknife import jackknife
from harness.metrics.metric import METRICS, metric, metrics_of
from harness.metrics.value import Value, average, share

__all__ = [
    "METRICS",
    "Answers",
    "ModelOutputs",
    "Outputs",
    "Value",
    "average",
    "jackknife",
    "metric",
    "metrics_of",
    "share",
]

import_all(__name__, __path__)
