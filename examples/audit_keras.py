"""A training function to audit, in Keras: full-batch DP gradient descent with gradients of each record from TensorFlow.

    harness audit examples/audit_keras.py:train --epsilon 2 --delta 1e-5 --runs 600
    harness audit examples/audit_keras.py:clips_the_sum --epsilon 2 --delta 1e-5 --runs 600

Every step adds the gradients of all records, each cut to length CLIP, and Gaussian noise. One record's place in the sum
changes by at most 2 CLIP when its values do, so STEPS of these are one Gaussian mechanism of sensitivity
2 CLIP sqrt(STEPS). The second function cuts the sum of all gradients, times the number of records, to that length: one
record may then move it by far more, a mistake that averages over batches invite.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

EPSILON, DELTA = 2.0, 1e-5
STEPS, CLIP, RATE = 10, 1.0, 0.05


def train(features: np.ndarray, labels: np.ndarray, seed: int) -> list[np.ndarray]:
    """Weights of a softmax regression, each record's gradient being cut."""
    return _descend(features, labels, seed, each=True)


def clips_the_sum(features: np.ndarray, labels: np.ndarray, seed: int) -> list[np.ndarray]:
    """The same where the sum is cut."""
    return _descend(features, labels, seed, each=False)


def _descend(features: np.ndarray, labels: np.ndarray, seed: int, each: bool) -> list[np.ndarray]:
    from harness.formulas.gaussian import exact_noise_multiplier

    model, gradients = _compiled(features.shape[1], each)
    model.set_weights([np.zeros_like(w) for w in model.get_weights()])
    rng = np.random.default_rng(seed)
    noise = exact_noise_multiplier(EPSILON, DELTA) * 2 * CLIP * np.sqrt(STEPS)
    for _ in range(STEPS):
        found = gradients(features.astype(np.float32), labels.astype(np.int64))
        for weights, summed in zip(model.trainable_variables, found, strict=True):
            weights.assign_sub(RATE / len(labels) * (summed + rng.normal(0, noise, summed.shape).astype(np.float32)))
    return [np.array(w) for w in model.get_weights()]


@cache
def _compiled(columns: int, each: bool) -> tuple[Any, Any]:
    """A model, and a function that adds up its gradients."""
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.InputLayer((columns,)), tf.keras.layers.Dense(2)])

    def of_one(record: tuple[Any, Any]) -> list[Any]:
        with tf.GradientTape() as tape:
            logits = model(record[0][None])
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(record[1][None], logits)[0]
        return tape.gradient(loss, model.trainable_variables)

    def cut(gradients: list[Any], length: float) -> list[Any]:
        norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients]))
        return [g * tf.minimum(1.0, length / tf.maximum(norm, 1e-12)) for g in gradients]

    def of_all(features: Any, labels: Any) -> list[Any]:
        of_record = (lambda record: cut(of_one(record), CLIP)) if each else of_one
        summed = [tf.reduce_sum(g, axis=0) for g in tf.vectorized_map(of_record, (features, labels))]
        return summed if each else cut(summed, CLIP * tf.cast(tf.shape(labels)[0], tf.float32))

    signature = [tf.TensorSpec((None, columns), tf.float32), tf.TensorSpec((None,), tf.int64)]
    return model, tf.function(of_all, input_signature=signature)
