"""Gaussian noise for all parameters of a stack of models in one draw."""

from __future__ import annotations

import math

import tensorflow as tf

from harness.training.bookkeeping.rule import Step, Tensor

ALIGNMENT = 16
"""Replicates start at multiples of this, so that vector instructions cut every replicate alike."""
PIECES = 4
"""Drawn one by one, so that threads find work between other operations."""


def gaussian(step: Step, spread: Tensor, size: int) -> Tensor:
    """(replicates, at least `size`) normal float32 of standard deviation `spread` (replicates,).

    A function of each replicate's key and the step: Box and Muller's transform of counter-based (Philox)
    32-bit integers, twice as fast as TensorFlow's own normal numbers. The radius comes from 32 bits, so
    the tails reach 6.7 standard deviations. As in every floating-point implementation, the DP guarantee
    is that of the real-valued mechanism.
    """
    half = -(-size // (2 * ALIGNMENT * PIECES)) * ALIGNMENT
    drawn = []
    for piece in range(PIECES):
        number = step.number * PIECES + piece
        words = [
            tf.random.stateless_uniform(
                (2 * half,), tf.stack([step.keys[r], number]), minval=None, maxval=None, dtype=tf.int32, alg="philox"
            )
            for r in range(spread.shape[0])
        ]
        signed = tf.cast(tf.stack(words), tf.float32)
        radius = tf.sqrt(-2.0 * tf.math.log(tf.abs(signed[:, :half]) * 2.0**-31 + 2.0**-33)) * spread[:, None]
        angle = signed[:, half:] * (math.pi * 2.0**-31)
        drawn += [radius * tf.cos(angle), radius * tf.sin(angle)]
    return tf.concat(drawn, axis=1)
