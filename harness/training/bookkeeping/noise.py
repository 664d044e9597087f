"""Gaussian noise for all parameters of a stack of models in one draw."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from harness.training.bookkeeping.rule import Step, Tensor

ALIGNMENT = 16
"""Replicates start at multiples of this, so that vector instructions cut every replicate alike."""
INCREMENT = 0x9E3779B97F4A7C15
MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31


def splitmix64(keys: Tensor, first: Tensor, count: int) -> Tensor:
    """(replicates, count) uint64: outputs first + 1 to first + count of SplitMix64 seeded with each of `keys`.

    The generator of Steele, Lea and Flood (OOPSLA 2014), which passes BigCrush: a bijective mixture of a
    counter, so output n needs none before it. `keys` is (replicates,) uint64, `first` () uint64.
    """
    counter = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(INCREMENT)
    mixed = (keys + first * tf.constant(INCREMENT, tf.uint64))[:, None] + tf.constant(counter)
    for shift, factor in MIXERS:
        mixed = _folded(mixed, shift) * tf.constant(factor, tf.uint64)
    return _folded(mixed, LAST_SHIFT)


def _folded(words: Tensor, shift: int) -> Tensor:
    return tf.bitwise.bitwise_xor(words, tf.bitwise.right_shift(words, tf.constant(shift, tf.uint64)))


def gaussian(step: Step, spread: Tensor, size: int) -> Tensor:
    """(replicates, at least `size`) normal float32 of standard deviation `spread` (replicates,).

    A function of each replicate's key and the step: Box and Muller's transform of the key's own SplitMix64
    sequence, of which every step takes its stretch, so that no number is used twice. In TensorFlow's
    integer operations that takes half as long as TensorFlow's generators. The radius comes from 32 bits,
    so the tails reach 6.7 standard deviations. The generator is statistical, not cryptographic, and as in
    every floating-point implementation the DP guarantee is that of the real-valued mechanism.
    """
    half = -(-size // (2 * ALIGNMENT)) * ALIGNMENT
    words = splitmix64(tf.bitcast(step.keys, tf.uint64), tf.cast(step.number * half, tf.uint64), half)
    signed = tf.cast(tf.reshape(tf.bitcast(words, tf.int32), (spread.shape[0], 2 * half)), tf.float32)
    uniform = tf.abs(columns(signed, 0, half)) * 2.0**-31 + 2.0**-33
    radius = tf.sqrt(tf.math.log(uniform) * (-2.0 * spread * spread)[:, None])
    angle = columns(signed, half, 2 * half) * (math.pi * 2.0**-31)
    return tf.concat([radius * tf.cos(angle), radius * tf.sin(angle)], axis=1)


def columns(value: Tensor, start: int, end: int) -> Tensor:
    """Columns of (replicates, n). Of one replicate they are a stretch of memory, which needs not be copied."""
    if value.shape[0] == 1:
        return tf.reshape(value, (-1,))[start:end][None]
    return value[:, start:end]
