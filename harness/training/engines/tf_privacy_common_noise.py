"""TensorFlow Privacy's clipping and Keras' update, with the noise that engine `fast` draws.

Two engines that draw their own noise give models as far apart as two runs of either. With one noise for both, whatever
remains between them is a difference of clipping, averaging, penalty or update.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from harness.hashing import derive_seed
from harness.training.engine import ENGINES, Job
from harness.training.engines.tf_privacy import KerasEngine, build, optimizer_of
from harness.training.runtime import import_tensorflow


@ENGINES.register
class TfPrivacyCommonNoise(KerasEngine):
    """TensorFlow Privacy with its own noise left out, and that of engine `fast` added to what the optimizer gets."""

    kind: Literal["tf-privacy-common-noise"] = "tf-privacy-common-noise"
    modules: ClassVar[tuple[str, ...]] = (
        *KerasEngine.modules,
        "harness.training.engines.tf_privacy_common_noise",
        "harness.training.ghost_clipping.noise",
    )

    def build_model(self, job: Job) -> Any:
        """The compiled Keras model of a job, whose optimizer adds the noise where the job is private."""
        return build(job, draws_noise=False, optimizer=_noised_optimizer(job)) if job.is_private else build(job)


def _noised_optimizer(job: Job) -> Any:
    """The optimizer of a job, which adds the noise of the step to the gradients before it updates the weights."""
    tf = import_tensorflow()
    from harness.training.ghost_clipping.noise import columns, gaussian
    from harness.training.ghost_clipping.rule import Step

    share = 1.0 / job.training.batch_size if job.training.clipping == "per-example" else 1.0
    spread = np.array([job.noise_multiplier], np.float32) * np.float32(job.training.l2_norm_clip * share)
    keys = np.array([derive_seed(job.seed, "noise")], np.int64)
    plain = optimizer_of(job.training)

    class Noised(type(plain)):  # type: ignore[misc]
        def apply_gradients(self, grads_and_vars: Any, *args: Any, **named: Any) -> Any:
            pairs = list(grads_and_vars)
            sizes = [int(np.prod(variable.shape)) for _, variable in pairs]
            step = Step(tf.cast(self.iterations, tf.int64), tf.constant(keys))
            noise = gaussian(step, tf.constant(spread), sum(sizes))
            ends = np.cumsum(sizes)
            noised = [
                (gradient + tf.reshape(columns(noise, end - size, end), gradient.shape), variable)
                for (gradient, variable), size, end in zip(pairs, sizes, ends, strict=True)
            ]
            return super().apply_gradients(noised, *args, **named)

    return Noised.from_config(plain.get_config())
