"""What asking a trained model for labels costs, and the sampling attack on the whole of Location-30."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from harness.arrays import Array
from harness.attacks.perturbed import label_counts
from harness.defences import ModelOracle
from harness.training.as_keras import keras_layers
from harness.training.forward import initial_weights, log_probabilities
from harness.training.inference import Labels
from harness.training.model import Model, Weights
from harness.training.models import Cnn, Mlp
from harness.training.runtime import import_tensorflow

MODELS: dict[str, tuple[Model, int, int, int]] = {
    "MLP 446-256-128-128-30": (Mlp(hidden=(256, 128, 128)), 446, 30, 40_000),
    "VGG-like, 28 x 28 x 1": (Cnn(image=(28, 28, 1), network="vgg-like"), 784, 10, 1_500),
    "VGG-like, 32 x 32 x 3": (Cnn(image=(32, 32, 3), network="vgg-like"), 3072, 10, 1_500),
}
"""Model, numbers a record, classes, records asked about."""
LOCATION_RECORDS, SCALES, COPIES = 2504, [i * 0.005 for i in range(21)], 1000


def label_times(console: Console, rounds: int) -> dict[str, Any]:
    """Microseconds a record, in turns: by this package, by Keras' `predict`, and by NumPy."""
    found: dict[str, Any] = {}
    for title, (model, width, classes, records) in MODELS.items():
        rng = np.random.default_rng(0)
        weights = initial_weights(model, width, classes, rng)
        features = rng.random((records, width), dtype=np.float32)
        ways = _ways(model, width, classes, weights)
        times: dict[str, list[float]] = {way: [] for way in ways}
        for way in ways.values():
            way(features[:300])  # compile
        for _ in range(rounds):
            for name, way in ways.items():
                begun = time.perf_counter()
                way(features)
                times[name].append((time.perf_counter() - begun) / records * 1e6)
        table = Table(title=title, box=None, header_style="bold")
        for column in ("who", "microseconds a record", "times this package"):
            table.add_column(column)
        own = statistics.median(times["this package"])
        for name, values in times.items():
            middle = statistics.median(values)
            table.add_row(name, f"{middle:.1f}", f"{middle / own:.2f}")
        console.print(table)
        found[title] = times
    return found


def _ways(model: Model, width: int, classes: int, weights: Weights) -> dict[str, Callable[[Array], Array]]:
    tf = import_tensorflow()
    network = tf.keras.Sequential(keras_layers(model, width, classes))
    network.set_weights(weights)
    return {
        "this package": Labels(model, weights),
        "Keras predict, batches of 64": lambda x: network.predict(x, batch_size=64, verbose=0).argmax(axis=1),
        "Keras predict, batches of 1024": lambda x: network.predict(x, batch_size=1024, verbose=0).argmax(axis=1),
        "NumPy": lambda x: log_probabilities(model, weights, x).argmax(axis=1),
    }


def sampling_seconds(console: Console) -> dict[str, float]:
    """Core-seconds of the sampling attack on Location-30, N = 1,000 and every scale, from a tenth of its records."""
    model, width, classes, _ = MODELS["MLP 446-256-128-128-30"]
    rng = np.random.default_rng(0)
    weights = initial_weights(model, width, classes, rng)
    oracle = ModelOracle(lambda x: log_probabilities(model, weights, x), classes, Labels(model, weights))
    features = (rng.random((LOCATION_RECORDS // 10, width)) < 0.06).astype(np.float32)
    label_counts(oracle, features[:9], 10, "flip", 0.1, rng)
    begun = time.perf_counter()
    for scale in SCALES:
        label_counts(oracle, features, COPIES, "flip", scale, rng)
    shadow = (time.perf_counter() - begun) * LOCATION_RECORDS / len(features)
    found = {"all scales on the shadow model": shadow, "the best on the target": shadow / len(SCALES)}
    console.print({name: round(seconds, 1) for name, seconds in found.items()})
    return found
