"""A Keras model to audit: a network that reads handwritten digits, with TensorFlow's own Keras.

    python examples/audit_keras_model.py
    harness audit examples/audit_keras_model.py:predict --members members.npz --nonmembers nonmembers.npz \
        --reference reference.npz --train examples/audit_keras_model.py:train

The first line trains it and writes `model.keras` and the records to the current folder.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

EPOCHS, LEARNING_RATE, HIDDEN = 60, 0.01, 64


def predict(features: np.ndarray) -> np.ndarray:
    """Probabilities of the ten digits, (n, 10), by the model that was trained before."""
    answer: np.ndarray = _saved().predict(features, verbose=0)
    return answer


def train(features: np.ndarray, labels: np.ndarray, seed: int) -> Any:
    """Such a model, on other records, as the function that asks it."""
    model = _fit(features, labels, seed)
    return lambda records: model.predict(records, verbose=0)


@cache
def _saved() -> Any:
    import tensorflow as tf

    return tf.keras.models.load_model("model.keras")


def _fit(features: np.ndarray, labels: np.ndarray, seed: int) -> Any:
    import tensorflow as tf

    tf.keras.utils.set_random_seed(seed)
    layers = [tf.keras.layers.Dense(HIDDEN, activation="relu"), tf.keras.layers.Dense(10, activation="softmax")]
    model = tf.keras.Sequential([tf.keras.Input((features.shape[1],)), *layers])
    model.compile(tf.keras.optimizers.Adam(LEARNING_RATE), "sparse_categorical_crossentropy")
    model.fit(features, labels, batch_size=len(labels), epochs=EPOCHS, verbose=0)
    return model


def main() -> None:
    """Divide the records into thirds, train on the first, and write everything."""
    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    for name, places in zip(("members", "nonmembers", "reference"), np.array_split(order, 3), strict=True):
        part = (features[places] / 16).astype(np.float32), labels[places].astype(np.int64)
        np.savez(f"{name}.npz", features=part[0], labels=part[1])
        if name == "members":
            _fit(*part, seed=0).save("model.keras")
    print("model.keras, members.npz, nonmembers.npz, reference.npz")


if __name__ == "__main__":
    main()
