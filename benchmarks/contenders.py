"""One contender a function, each run in a process of its own: `python -m benchmarks.contenders NAME JSON`.

Every contender trains the same network on the same random data and prints milliseconds a step, taken over
whole passes after a first pass that compiles. `ImportError` is reported as not installed.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Setup = dict[str, Any]
STANDARD: Setup = {
    "n": 10_000,
    "features": 104,
    "hidden": [256, 256],
    "classes": 2,
    "batch": 200,
    "epochs": 4,
    "replicates": 1,
    "noise": 1.0,
    "clip": 1.0,
    "learning_rate": 0.01,
    "steps": 0,
}


def data(setup: Setup) -> tuple[Any, Any]:
    """The records that every contender trains on."""
    rng = np.random.default_rng(0)
    width = int(np.prod(setup["image"])) if "image" in setup else setup["features"]
    features = rng.random((setup["n"], width), dtype=np.float32)
    return features, rng.integers(0, setup["classes"], setup["n"])


def per_step(setup: Setup, train: Callable[[int], None]) -> float:
    """Milliseconds a step and model of `train(epochs)`, after one epoch that compiles.

    With `apart`, the time of one epoch is taken off that of so many more.
    """
    train(1)
    started = time.perf_counter()
    if setup.get("apart"):  # what comes before the first step is no part of one, and long for large networks
        train(1)
        before = time.perf_counter() - started
        started = time.perf_counter()
        train(1 + setup["epochs"])
        steps = setup["epochs"] * (setup["n"] // setup["batch"]) * setup["replicates"]
        return (time.perf_counter() - started - before) / steps * 1e3
    train(setup["epochs"])
    steps = setup["epochs"] * (setup["n"] // setup["batch"]) * setup["replicates"]
    return (time.perf_counter() - started) / steps * 1e3


def _model(setup: Setup) -> Any:
    from harness.training.models import Cnn, Logistic, Mlp

    if "image" in setup:
        return Cnn(image=tuple(setup["image"]), network=setup["network"])
    return Mlp(hidden=tuple(setup["hidden"])) if setup["hidden"] else Logistic()


def fast(setup: Setup, engine: str = "fast") -> float:
    """This package's engine; with `replicates`, that many models as one stack."""
    from harness.training.engine import ENGINES, Job
    from harness.training.engines import fast as _fast  # noqa: F401  (registers the engines)
    from harness.training.settings import Training

    features, labels = data(setup)
    model = _model(setup)
    trainer = ENGINES[engine]()

    def train(epochs: int) -> None:
        training = Training(
            engine=engine,
            epochs=epochs,
            batch_size=setup["batch"],
            learning_rate=setup["learning_rate"],
            l2_norm_clip=setup["clip"],
        )
        jobs = [
            Job(model, training, setup["noise"], features, labels, setup["classes"], seed)
            for seed in range(setup["replicates"])
        ]
        trainer.train_stack(jobs)

    return per_step(setup, train)


def tf_privacy(setup: Setup) -> float:
    """This package's reference engine: TF Privacy's DPSequential with fast clipping, an epoch a graph call."""
    return fast(setup, "tf-privacy")


def _keras_layers(setup: Setup) -> list[Any]:
    import tensorflow as tf

    if "image" in setup:
        from harness.training.as_keras import keras_layers

        return keras_layers(_model(setup), int(np.prod(setup["image"])), setup["classes"])
    hidden = [tf.keras.layers.Dense(width, "relu") for width in setup["hidden"]]
    return [tf.keras.layers.InputLayer((setup["features"],)), *hidden, tf.keras.layers.Dense(setup["classes"])]


def keras(setup: Setup) -> float:
    """Keras' own fit, without privacy, with TensorFlow's own choice of threads."""
    import tensorflow as tf

    features, labels = data(setup)
    model = tf.keras.Sequential(_keras_layers(setup))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(setup["learning_rate"]), loss)
    return per_step(setup, lambda epochs: model.fit(features, labels, setup["batch"], epochs=epochs, verbose=0))


def _dp_optimizer(setup: Setup, optimizer: Any) -> float:
    import tensorflow as tf

    features, labels = data(setup)
    model = tf.keras.Sequential(_keras_layers(setup))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=tf.losses.Reduction.NONE)
    model.compile(
        optimizer(
            l2_norm_clip=setup["clip"],
            noise_multiplier=setup["noise"],
            num_microbatches=setup["batch"],
            learning_rate=setup["learning_rate"],
        ),
        loss,
    )
    steps = setup["steps"] or 10
    few = slice(0, steps * setup["batch"])
    model.fit(features[: 2 * setup["batch"]], labels[: 2 * setup["batch"]], setup["batch"], verbose=0)
    started = time.perf_counter()
    model.fit(features[few], labels[few], setup["batch"], epochs=1, verbose=0)
    return (time.perf_counter() - started) / steps * 1e3


def vectorized_dp_adam(setup: Setup) -> float:
    """TF Privacy's VectorizedDPKerasAdamOptimizer, one microbatch a record."""
    from tensorflow_privacy import VectorizedDPKerasAdamOptimizer

    return _dp_optimizer(setup, VectorizedDPKerasAdamOptimizer)


def dp_adam(setup: Setup) -> float:
    """TF Privacy's DPKerasAdamOptimizer, one microbatch a record."""
    from tensorflow_privacy import DPKerasAdamOptimizer

    return _dp_optimizer(setup, DPKerasAdamOptimizer)


def opacus(setup: Setup, ghost: bool = False) -> float:
    """Opacus with per-example gradients by hooks."""
    import torch
    from opacus import PrivacyEngine

    features, labels = (torch.from_numpy(a) for a in data(setup))
    widths = [setup["features"], *setup["hidden"], setup["classes"]]
    layers: list[Any] = []
    for i in range(len(widths) - 1):
        layers += [torch.nn.Linear(widths[i], widths[i + 1]), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(features, labels), batch_size=setup["batch"])
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.Adam(model.parameters(), setup["learning_rate"]),
        data_loader=loader,
        noise_multiplier=setup["noise"],
        max_grad_norm=setup["clip"],
        poisson_sampling=False,
        criterion=torch.nn.CrossEntropyLoss(),
        grad_sample_mode="ghost" if ghost else "hooks",
    )
    private, optimizer = made[0], made[1]
    criterion = made[2] if ghost else torch.nn.CrossEntropyLoss()

    def train(epochs: int) -> None:
        for _ in range(epochs):
            order = torch.randperm(setup["n"])
            for start in range(0, setup["n"] - setup["batch"] + 1, setup["batch"]):
                rows = order[start : start + setup["batch"]]
                optimizer.zero_grad()
                criterion(private(features[rows]), labels[rows]).backward()
                optimizer.step()

    return per_step(setup, train)


def opacus_ghost(setup: Setup) -> float:
    """Opacus with ghost clipping."""
    return opacus(setup, ghost=True)


def jax_vmap(setup: Setup) -> float:
    """A plain JAX step: vmap of the gradient, an epoch in one scan."""
    import jax
    import jax.numpy as jnp

    features, labels = (jnp.asarray(a) for a in data(setup))
    widths = [setup["features"], *setup["hidden"], setup["classes"]]
    rng = np.random.default_rng(0)
    weights = [
        (jnp.asarray(rng.normal(0, 0.05, (a, b)), jnp.float32), jnp.zeros(b)) for a, b in itertools.pairwise(widths)
    ]

    def loss(w: Any, x: Any, y: Any) -> Any:
        for kernel, bias in w[:-1]:
            x = jax.nn.relu(x @ kernel + bias)
        return -jax.nn.log_softmax(x @ w[-1][0] + w[-1][1])[y]

    def step(state: Any, rows: Any) -> Any:
        w, m, v, t, key = state
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(w, features[rows], labels[rows])
        leaves, tree = jax.tree_util.tree_flatten(gradients)
        norms = jnp.sqrt(sum(jnp.sum(g**2, tuple(range(1, g.ndim))) for g in leaves))
        scale = jnp.minimum(1.0, setup["clip"] / norms)
        key, *keys = jax.random.split(key, len(leaves) + 1)
        spread = setup["noise"] * setup["clip"]
        noisy = [
            (jnp.tensordot(scale, g, 1) + spread * jax.random.normal(k, g.shape[1:])) / setup["batch"]
            for g, k in zip(leaves, keys, strict=True)
        ]
        mean = jax.tree_util.tree_unflatten(tree, noisy)
        t = t + 1
        m = jax.tree_util.tree_map(lambda a, g: 0.9 * a + 0.1 * g, m, mean)
        v = jax.tree_util.tree_map(lambda a, g: 0.999 * a + 0.001 * g * g, v, mean)
        rate = setup["learning_rate"] * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = jax.tree_util.tree_map(lambda a, b, c: a - rate * b / (jnp.sqrt(c) + 1e-7), w, m, v)
        return (w, m, v, t, key), None

    run = jax.jit(lambda state, order: jax.lax.scan(step, state, order)[0])
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    state = (weights, zeros, zeros, jnp.float32(0), jax.random.PRNGKey(0))
    per_epoch = setup["n"] // setup["batch"]

    def train(epochs: int) -> None:
        nonlocal state
        for epoch in range(epochs):
            order = np.random.default_rng(epoch).permutation(setup["n"])[: per_epoch * setup["batch"]]
            state = run(state, jnp.asarray(order.reshape(per_epoch, -1)))
        jax.block_until_ready(state)

    return per_step(setup, train)


CONTENDERS: dict[str, Callable[[Setup], float]] = {
    f.__name__: f for f in (fast, tf_privacy, keras, vectorized_dp_adam, dp_adam, opacus, opacus_ghost, jax_vmap)
}


def main() -> None:
    """Run one contender; print JSON with `ms` or `missing`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    setup = {**STANDARD, **json.loads(sys.argv[2])}
    try:
        found: dict[str, Any] = {"ms": CONTENDERS[sys.argv[1]](setup)}
    except ImportError as error:
        found = {"missing": str(error)}
    print("RESULT " + json.dumps(found))


if __name__ == "__main__":
    main()
