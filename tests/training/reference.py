"""Per-example gradients by automatic differentiation in float64, record by record; shares no code with any engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.training.engine import Job
from harness.training.layers import AveragePool, Conv2d, Dense, Dropout, Flatten, MaxPool
from harness.training.model import Weights
from harness.training.runtime import import_tensorflow

ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "linear": "identity"}


def logits(layers: Sequence[Any], weights: Sequence[Any], inputs: Any) -> Any:
    """The network written with TensorFlow's public functions, one layer after another."""
    tf = import_tensorflow()
    use = list(weights)
    for layer in layers:
        match layer:
            case Dense():
                inputs = tf.linalg.matmul(inputs, use.pop(0)) + use.pop(0)
            case Conv2d():
                inputs = tf.nn.conv2d(inputs, use.pop(0), layer.stride, layer.padding.upper()) + use.pop(0)
            case MaxPool():
                inputs = tf.nn.max_pool2d(inputs, layer.size, layer.step, "VALID")
            case AveragePool():
                inputs = tf.nn.avg_pool2d(inputs, layer.size, layer.step, "VALID")
            case Flatten():
                inputs = tf.reshape(inputs, (inputs.shape[0], -1))
            case Dropout():
                assert layer.rate == 0
        if isinstance(layer, Dense | Conv2d) and layer.activation != "linear":
            inputs = getattr(tf.nn, ACTIVATIONS[layer.activation])(inputs)
    return inputs


def example_gradients(job: Job, weights: Weights, rows: Sequence[int]) -> list[list[np.ndarray]]:
    """Gradient of each chosen record's cross-entropy by each weight, float64."""
    tf = import_tensorflow()
    layers = job.model.layers(job.n_classes)
    shape = job.model.input_shape(job.features.shape[1])
    variables = [tf.Variable(w.astype(np.float64)) for w in weights]
    result = []
    for row in rows:
        with tf.GradientTape() as tape:
            x = tf.constant(job.features[row].astype(np.float64).reshape(1, *shape))
            loss = -tf.nn.log_softmax(logits(layers, variables, x))[0, int(job.labels[row])]
        result.append([g.numpy() for g in tape.gradient(loss, variables)])
    return result


def clipped_mean(job: Job, weights: Weights, rows: Sequence[int], clip: float | None) -> list[np.ndarray]:
    """Mean over a batch of the gradients, each scaled down to norm `clip` (None: as they are)."""
    total = [np.zeros(w.shape) for w in weights]
    for gradient in example_gradients(job, weights, rows):
        norm = np.sqrt(sum((g**2).sum() for g in gradient))
        factor = 1.0 if clip is None else min(1.0, clip / norm)
        total = [t + factor * g for t, g in zip(total, gradient, strict=True)]
    return [t / job.training.batch_size for t in total]


def relative_error(result: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Norm of the difference of two gradients over the norm of the second."""
    difference = sum(((f - e) ** 2).sum() for f, e in zip(result, expected, strict=True))
    return float(np.sqrt(difference / sum((e**2).sum() for e in expected)))
