"""What answers and models are worth: advantage, TPR and FPR, AUC, accuracy, and the uncertainty of each.

A metric is one function with one registration (`metric`); importing this package registers the built-in ones.
"""

from harness.metrics import calibration, exposure, membership, model, points, precision, queried
from harness.metrics.answers import Answers, ModelOutputs, Outputs, Run
from harness.metrics.metric import METRICS, Metric, metric, metrics_of
from harness.metrics.value import Value, average, share

__all__ = [
    "METRICS",
    "Answers",
    "Metric",
    "ModelOutputs",
    "Outputs",
    "Run",
    "Value",
    "average",
    "calibration",
    "exposure",
    "membership",
    "metric",
    "metrics_of",
    "model",
    "points",
    "precision",
    "queried",
    "share",
]
