"""The reference engine: TensorFlow Privacy's DPSequential with its fast gradient clipping.

The fast path needs three things together, else TensorFlow Privacy quietly takes a path that is an
order of magnitude slower: a built model (an InputLayer), a layer registry, and a reduced loss.
`steps_per_execution` keeps a whole epoch inside one graph call.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Literal

import numpy as np

from harness.hashing import derive_seed, generator
from harness.training.engine import ENGINES, Engine, Job, batches
from harness.training.model import Weights, initial_weights


def import_tensorflow() -> Any:
    """TensorFlow on one thread and without its start-up chatter.

    One thread a process is what makes results independent of the number of workers: TensorFlow's
    sums depend on how they are cut among threads. N workers use N cores.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:  # already initialised in this process, by an earlier job
        if tf.config.threading.get_intra_op_parallelism_threads() != 1:
            raise
    tf.get_logger().setLevel("ERROR")
    return tf


def build(job: Job) -> Any:
    """The compiled Keras model of a job; private where its noise multiplier is positive."""
    tf = import_tensorflow()
    from tensorflow_privacy.privacy.fast_gradient_clipping import layer_registry
    from tensorflow_privacy.privacy.keras_models.dp_keras_model import DPSequential

    n_features = job.features.shape[1]
    penalty = tf.keras.regularizers.L2(job.model.l2) if job.model.l2 else None
    layers = [tf.keras.layers.InputLayer((n_features,))]
    layers += [
        tf.keras.layers.Dense(width, job.model.hidden_activation, kernel_regularizer=penalty)
        for width in job.model.widths
    ]
    layers.append(tf.keras.layers.Dense(job.n_classes, kernel_regularizer=penalty))
    if job.noise_multiplier > 0:
        model = DPSequential(
            l2_norm_clip=job.training.l2_norm_clip,
            noise_multiplier=job.noise_multiplier,
            num_microbatches=None,
            use_xla=False,
            layer_registry=layer_registry.make_default_layer_registry(),
            layers=layers,
        )
        if not model._enable_fast_peg_computation:
            raise RuntimeError("TensorFlow Privacy would fall back to its slow clipping for this model")
    else:
        model = tf.keras.Sequential(layers)
    rate = job.training.learning_rate
    optimizer = {"adam": tf.keras.optimizers.Adam, "sgd": tf.keras.optimizers.SGD}[job.training.optimizer]
    model.compile(
        optimizer=optimizer(rate),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        steps_per_execution=max(1, len(job.labels) // job.training.batch_size),
    )
    return model


@ENGINES.register
class TfPrivacy(Engine):
    """Keras and TensorFlow Privacy; the semantics that every other engine must match."""

    kind: Literal["tf-privacy"] = "tf-privacy"
    modules: ClassVar[tuple[str, ...]] = (
        "harness.training.engines.tf_privacy", "harness.training.engine", "harness.training.model",
    )  # fmt: skip
    packages: ClassVar[tuple[str, ...]] = ("tensorflow", "tensorflow-privacy", "keras", "numpy")

    def train(self, job: Job) -> Weights:
        tf = import_tensorflow()
        tf.keras.backend.clear_session()
        tf.random.set_seed(derive_seed(job.seed, "noise") % (1 << 31))
        model = build(job)
        rng = generator(job.seed, "weights")
        model.set_weights(initial_weights(job.model, job.features.shape[1], job.n_classes, rng))
        features, labels = tf.constant(job.features), tf.constant(job.labels)
        order = batches(len(job.labels), job.training, job.seed)

        def gather(index: Any) -> tuple[Any, Any]:
            return tf.gather(features, index), tf.gather(labels, index)

        stream = tf.data.Dataset.from_tensor_slices(order).map(gather)
        # One Keras epoch over all steps: the batches of every epoch are in `order` already.
        model.fit(stream, epochs=1, verbose=0)
        return [np.asarray(w) for w in model.get_weights()]
