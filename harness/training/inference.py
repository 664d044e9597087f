"""Compiled forward passes, one an architecture, by which a trained model is asked many times over."""

from __future__ import annotations

import atexit
from functools import lru_cache
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.errors import HarnessError
from harness.training import forward
from harness.training.as_keras import keras_layers
from harness.training.forward import FORWARD_BYTES, placed_layers
from harness.training.function_process import ask_function
from harness.training.model import Model, Weights
from harness.training.models.function import FunctionModel
from harness.training.runtime import import_tensorflow

ROWS = 4096
"""Records of one pass at most: of more, what a layer gives no longer stays in the processor's cache."""
GRADIENTS = 1 << 27
"""Numbers of gradients, one for each record and weight, that are held at a time."""


class _Compiled:
    """A compiled network without weights of its own; whoever asks puts in theirs first."""

    def __init__(self, model: Model, n_features: int, n_classes: int) -> None:
        tf = import_tensorflow()
        network = tf.keras.Sequential(keras_layers(model, n_features, n_classes))
        signature = [tf.TensorSpec((None, n_features), tf.float32)]
        self._labels = tf.function(lambda x: tf.argmax(network(x, training=False), axis=1), input_signature=signature)
        self._logp = tf.function(lambda x: tf.nn.log_softmax(network(x, training=False)), input_signature=signature)
        self._network, self._owner = network, object()
        placed = placed_layers(model, n_features, n_classes)
        widest = max(int(np.prod(shape)) for p in placed for shape in (p.shape, p.layer.output_shape(p.shape)))
        self._rows = max(1, min(ROWS, FORWARD_BYTES // (4 * widest)))

    def labels(self, owner: object, weights: Weights, features: Array) -> Array:
        """The most likely class of each record, (k,), by the weights of `owner`."""
        parts = self._answers(self._labels, owner, weights, features)
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def log_probabilities(self, owner: object, weights: Weights, features: Array) -> Array:
        """The log-softmax outputs, (k, n_classes) float32, by the weights of `owner`."""
        parts = self._answers(self._logp, owner, weights, features)
        return np.concatenate(parts) if parts else np.zeros((0, len(weights[-1])), dtype=np.float32)

    def _answers(self, function: Any, owner: object, weights: Weights, features: Array) -> list[Array]:
        if self._owner is not owner:
            self._network.set_weights(weights)
            self._owner = owner
        return [
            function(np.asarray(features[start : start + self._rows], dtype=np.float32)).numpy()
            for start in range(0, len(features), self._rows)
        ]


_compiled = lru_cache(maxsize=8)(_Compiled)
atexit.register(_compiled.cache_clear)  # graphs cannot be taken down after TensorFlow


class Labels:
    """The function from features (k, d) to the most likely class of each record, (k,) integers."""

    def __init__(self, model: Model, weights: Weights) -> None:
        self.model, self.weights = model, weights

    def __call__(self, features: Array) -> Array:
        if isinstance(self.model, FunctionModel):
            most_likely: Array = log_probabilities(self.model, self.weights, features).argmax(axis=1)
            return most_likely
        network = _compiled(self.model, features.shape[1], len(self.weights[-1]))
        return network.labels(self, self.weights, features)


def log_probabilities(model: Model, weights: Weights, features: Array) -> Array:
    """The log-softmax outputs (n, n_classes) float32: of images by TensorFlow, of all else by NumPy.

    Products of matrices are NumPy's as fast as TensorFlow's; convolutions are more than twice as fast there. A model of
    a function is asked in the process that has the function.
    """
    if isinstance(model, FunctionModel):
        return ask_function(model, weights, features)
    if len(model.input_shape(features.shape[1])) == 1:
        return forward.log_probabilities(model, weights, features)
    return _compiled(model, features.shape[1], len(weights[-1])).log_probabilities(object(), weights, features)


def gradient_norms(model: Model, weights: Weights, features: Array, labels: Array) -> Array:
    """The Euclidean norm of each record's gradient of the cross-entropy in all weights, (k,) float64.

    `features` are (k, d) and `labels` (k,). The l2 penalty, which sees no record, is left out.
    """
    if isinstance(model, FunctionModel):
        raise HarnessError(f"{model.path}: a model of a function gives no gradients; leave this attack out")
    tf = import_tensorflow()
    network = tf.keras.Sequential(keras_layers(model, features.shape[1], len(weights[-1])))
    network.set_weights(weights)

    def squared_norm(record: tuple[Any, Any]) -> Any:
        with tf.GradientTape() as tape:
            logits = network(record[0][None], training=False)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(record[1][None], logits)[0]
        return tf.add_n([tf.reduce_sum(tf.square(g)) for g in tape.gradient(loss, network.trainable_variables)])

    signature = [tf.TensorSpec((None, features.shape[1]), tf.float32), tf.TensorSpec((None,), tf.int64)]
    compiled = tf.function(lambda x, y: tf.vectorized_map(squared_norm, (x, y)), input_signature=signature)
    rows = max(1, GRADIENTS // sum(w.size for w in weights))
    parts = [
        compiled(features[at : at + rows].astype(np.float32), labels[at : at + rows].astype(np.int64)).numpy()
        for at in range(0, len(features), rows)
    ]
    norms: Array = np.sqrt(np.concatenate(parts).astype(np.float64))
    return norms
