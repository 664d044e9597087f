"""The reference engine: TensorFlow Privacy's DPSequential.

Its fast path needs three things together, else TensorFlow Privacy quietly takes a path that is an
order of magnitude slower: a built model (an InputLayer), a layer registry that knows every layer, and
a reduced loss. Models with convolutions are not in that registry and take the slow path knowingly.
`steps_per_execution` keeps a whole epoch inside one graph call.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from harness.hashing import derive_seed, generator
from harness.training.as_keras import keras_layers
from harness.training.batches import batches
from harness.training.engine import ENGINES, AfterEpoch, Engine, Job
from harness.training.forward import initial_weights
from harness.training.layers import Dense
from harness.training.model import Model, Weights
from harness.training.runtime import import_tensorflow
from harness.training.settings import Training


def build(job: Job, draws_noise: bool = True, optimizer: Any = None) -> Any:
    """The compiled Keras model of a job; private where its noise multiplier is positive.

    Args:
        job: the model and how it is trained.
        draws_noise: whether TensorFlow Privacy adds its noise to the clipped gradients, or leaves them as they are.
        optimizer: what updates the weights; None: what the job's training asks for.

    Raises RuntimeError where TensorFlow Privacy would take its slow path for a model of dense layers.
    """
    tf = import_tensorflow()
    from tensorflow_privacy.privacy.fast_gradient_clipping import layer_registry
    from tensorflow_privacy.privacy.keras_models.dp_keras_model import DPSequential

    penalty = tf.keras.regularizers.L2(job.model.l2) if job.model.l2 else None
    own = job.model.layers(job.n_classes)
    layers = keras_layers(job.model, job.features.shape[1], job.n_classes, penalty)
    if job.is_private:
        model = DPSequential(
            l2_norm_clip=job.training.l2_norm_clip,
            noise_multiplier=job.noise_multiplier if draws_noise else 0.0,
            num_microbatches=1 if job.training.clipping == "batch" else None,
            use_xla=False,
            layer_registry=layer_registry.make_default_layer_registry(),
            layers=layers,
        )
        if all(isinstance(layer, Dense) for layer in own) and not model._enable_fast_peg_computation:
            raise RuntimeError("TensorFlow Privacy would fall back to its slow clipping for this model")
    else:
        model = tf.keras.Sequential(layers)
    model.compile(
        optimizer=optimizer or optimizer_of(job.training),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        steps_per_execution=max(1, len(job.labels) // job.training.batch_size),
    )
    return model


def optimizer_of(training: Training) -> Any:
    """The optimizer of Keras that a training asks for."""
    tf = import_tensorflow()
    if training.optimizer == "adam":
        return tf.keras.optimizers.Adam(training.learning_rate)
    velocity = training.momentum if training.optimizer == "momentum" else 0.0
    return tf.keras.optimizers.SGD(training.learning_rate, momentum=velocity)


def _each_epoch(steps: int, after_epoch: AfterEpoch | None) -> list[Any]:
    """The callbacks that call `after_epoch` each so many steps: Keras sees all epochs as one of its own."""
    if after_epoch is None:
        return []
    show = after_epoch

    class Each(import_tensorflow().keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if (batch + 1) % steps == 0:
                self.model.stop_training = show([[np.asarray(w) for w in self.model.get_weights()]])

    return [Each()]


class KerasEngine(Engine):
    """Base of the engines that train a compiled Keras model on the batches of a job."""

    modules: ClassVar[tuple[str, ...]] = ("harness.training.engines.tf_privacy", "harness.training.as_keras")
    packages: ClassVar[tuple[str, ...]] = ("tensorflow", "tensorflow-privacy", "keras", "numpy")

    def refuses(self, model: Model, training: Training) -> str | None:
        if training.sampling == "poisson":
            return "engine tf-privacy trains on batches of one size; use sampling: shuffle or engine: fast"
        return None

    def build_model(self, job: Job) -> Any:
        """The compiled Keras model of a job."""
        return build(job)

    def train(self, job: Job, after_epoch: AfterEpoch | None = None) -> Weights:
        tf = import_tensorflow()
        tf.keras.backend.clear_session()
        tf.random.set_seed(derive_seed(job.seed, "noise") % (1 << 31))
        model = self.build_model(job)
        rng = generator(job.seed, "weights")
        model.set_weights(initial_weights(job.model, job.features.shape[1], job.n_classes, rng))
        features, labels = tf.constant(job.features), tf.constant(job.labels)
        order = batches(len(job.labels), job.training, job.seed)

        def gather(index: Any) -> tuple[Any, Any]:
            return tf.gather(features, index), tf.gather(labels, index)

        stream = tf.data.Dataset.from_tensor_slices(order).map(gather)
        # One Keras epoch over all steps: the batches of every epoch are in `order` already.
        per_epoch = len(job.labels) // job.training.batch_size
        model.fit(stream, epochs=1, verbose=0, callbacks=_each_epoch(per_epoch, after_epoch))
        return [np.asarray(w) for w in model.get_weights()]


@ENGINES.register
class TfPrivacy(KerasEngine):
    """Keras and TensorFlow Privacy; the semantics that every other engine must match."""

    kind: Literal["tf-privacy"] = "tf-privacy"
