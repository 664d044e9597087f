"""The derivative of the cross-entropy after a softmax, where the backward pass begins."""

from __future__ import annotations

import tensorflow as tf

from harness.training.ghost_clipping.noise import ALIGNMENT
from harness.training.ghost_clipping.rule import Tensor, activate

# So many classes, or fewer, go before the records (`softmax_delta`).
FEW_CLASSES = 16


def softmax_delta(logits: Tensor, labels: Tensor) -> Tensor:
    """The derivative of each record's cross-entropy by its logits, (replicates, records, classes).

    Of two classes the probability of one is a sigmoid of the difference. A few classes go first, so that vector
    instructions run over the records; of many, rows are summed as they are. In each case a record's numbers do not
    depend on how many records there are.
    """
    classes = logits.shape[-1]
    if classes == 2:
        second = activate("sigmoid", logits[..., 1] - logits[..., 0]) - tf.cast(labels, tf.float32)
        return tf.stack([-second, second], axis=-1)
    flat = tf.reshape(logits, (-1, classes))
    few = classes <= FEW_CLASSES
    flat = tf.transpose(flat) if few else flat
    axis = 0 if few else 1
    records = tf.shape(flat)[1 - axis]
    filling = [(0, 0), (0, 0)]
    filling[1 - axis] = (0, -records % ALIGNMENT)
    # A remainder that fills no vector register is computed by another, slightly different exponential: no remainder.
    exponentials = tf.exp(tf.pad(flat - tf.reduce_max(flat, axis=axis, keepdims=True), filling))
    exponentials = exponentials[:, :records] if few else exponentials[:records]
    total = tf.add_n(tf.unstack(exponentials)) if few else tf.reduce_sum(exponentials, axis=1, keepdims=True)
    delta = exponentials / total - tf.one_hot(tf.reshape(labels, (-1,)), classes, axis=axis)
    return tf.reshape(tf.transpose(delta) if few else delta, tf.shape(logits))
