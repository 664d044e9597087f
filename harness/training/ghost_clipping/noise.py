"""Gaussian noise for all parameters of a stack of models in one draw."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from harness.training.ghost_clipping.rule import Step, Tensor
from harness.training.runtime import silence_stderr

ALIGNMENT = 16
"""Replicates start at multiples of this, so that vector instructions cut every replicate alike."""
# The constants of SplitMix64: the counter's step, shifts and factors of its two mixtures, and the shift of the last.
INCREMENT = 0x9E3779B97F4A7C15
MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
# Polynomials through Chebyshev nodes, highest power first. Of y = x * x, for |x| up to a quarter turn:
SINE = (2.60516628e-06, -1.98090464e-04, 8.33305062e-03, -1.66666580e-01, 9.99999996e-01)
COSINE = (-2.60510764e-07, 2.47601355e-05, -1.38883608e-03, 4.16666362e-02, -4.99999994e-01, 1.0)
# log(1 + z) / z, from the root of a half to that of two:
LOGARITHM = (
    *(-0.07638592, 0.1291417, -0.13240843, 0.14180079, -0.16609127),
    *(0.20002072, -0.25001585, 0.33333324, -0.49999988, 1.0),
)
# The bits of a float32 below its exponent.
MANTISSA_BITS = 23
LOWEST = int(np.float32(math.sqrt(0.5)).view(np.int32))
"""Bits of the smallest mantissa, so that those of numbers about 1 are themselves about 1."""
# Whether the draw is compiled to one pass over memory.
COMPILED = not tf.config.list_physical_devices("GPU")
"""For a GPU the compiler needs libraries that TensorFlow does not bring."""
if COMPILED:
    with silence_stderr():  # the compiler says once in a process that it was used
        tf.function(lambda value: value + value, jit_compile=True)(tf.constant(0.0))


def splitmix64(keys: Tensor, first: Tensor, count: int) -> Tensor:
    """The outputs first + 1 to first + count of SplitMix64 seeded with each of `keys`, (replicates, count) uint64.

    It is the generator of Steele, Lea and Flood (OOPSLA 2014), which passes BigCrush: a bijective mixture of a
    counter, so output n needs none before it. `keys` is (replicates,) uint64, `first` () uint64.
    """
    counter = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(INCREMENT)
    mixed = (keys + first * tf.constant(INCREMENT, tf.uint64))[:, None] + tf.constant(counter)
    for shift, factor in MIXERS:
        mixed = _fold_words(mixed, shift) * tf.constant(factor, tf.uint64)
    return _fold_words(mixed, LAST_SHIFT)


def _fold_words(words: Tensor, shift: int) -> Tensor:
    """The words with their upper bits folded onto the lower ones, by an exclusive or with themselves shifted."""
    return tf.bitwise.bitwise_xor(words, tf.bitwise.right_shift(words, tf.constant(shift, tf.uint64)))


def gaussian(step: Step, spread: Tensor, size: int) -> Tensor:
    """Normal numbers of standard deviation `spread` (replicates,), as (replicates, at least `size`) float32.

    They are a function of each replicate's key and the step: Box and Muller's transform of the key's own
    SplitMix64 sequence, of which every step takes its stretch, so that no number is used twice. Compiled to one pass
    over memory it takes less than half of the time of TensorFlow's operations one by one, which take half of that of
    its generators. The radius comes from 31 bits, so the tails reach 6.7 standard deviations. The generator is
    statistical, not cryptographic, and as in every floating-point implementation the DP guarantee is that of the
    real-valued mechanism.
    """
    half = -(-size // (2 * ALIGNMENT)) * ALIGNMENT
    return tf.concat(_compiled(step.keys, step.number, spread, half), axis=1)


def _halves(keys: Tensor, number: Tensor, spread: Tensor, half: int) -> tuple[Tensor, Tensor]:
    """The two coordinates of `half` points of the normal distribution in the plane, (replicates, half) each.

    They are made of sums, products, roots and operations on bits alone: whatever numbers of them a processor takes at
    a time, each comes out the same.
    """
    words = splitmix64(tf.bitcast(keys, tf.uint64), tf.cast(number * half, tf.uint64), half)
    upper = tf.cast(tf.bitwise.right_shift(words, tf.constant(33, tf.uint64)), tf.int32)
    # A little is added, so that no number is 0, whose logarithm is infinite.
    uniform = tf.cast(upper, tf.float32) * 2.0**-31 + 2.0**-33
    radius = tf.sqrt(-2.0 * logarithm(uniform)) * spread[:, None]
    lower = tf.bitcast(tf.cast(words, tf.uint32), tf.int32)
    turned = tf.cast(tf.bitwise.right_shift(lower, tf.constant(1, tf.int32)), tf.float32)
    angle = turned * np.float32(math.pi * 2.0**-31)  # over half a turn; the last bit says which half
    radius *= tf.cast(1 - 2 * tf.bitwise.bitwise_and(lower, tf.constant(1, tf.int32)), tf.float32)
    cosine, sine = cosine_and_sine(angle)
    return radius * cosine, radius * sine


_compiled = tf.function(_halves, autograph=False, jit_compile=COMPILED)


def logarithm(value: Tensor) -> Tensor:
    """The natural logarithm of normal positive float32, within 2e-7 of its own size."""
    bits = tf.bitcast(value, tf.int32) - LOWEST
    exponent = tf.cast(tf.bitwise.right_shift(bits, tf.constant(MANTISSA_BITS, tf.int32)), tf.float32)
    mantissa = tf.bitwise.bitwise_and(bits, tf.constant((1 << MANTISSA_BITS) - 1, tf.int32)) + LOWEST
    above = tf.bitcast(mantissa, tf.float32) - 1.0
    return exponent * np.float32(math.log(2)) + above * _polynomial(above, LOGARITHM)


def cosine_and_sine(angle: Tensor) -> tuple[Tensor, Tensor]:
    """The cosine and sine of float32 angles of at most a quarter turn to either side, within 2e-7."""
    square = angle * angle
    return _polynomial(square, COSINE), angle * _polynomial(square, SINE)


def _polynomial(value: Tensor, coefficients: Sequence[float]) -> Tensor:
    """The polynomial with these coefficients, highest power first, by Horner's rule."""
    total = value * np.float32(coefficients[0]) + np.float32(coefficients[1])
    for coefficient in coefficients[2:]:
        total = total * value + np.float32(coefficient)
    return total


def columns(value: Tensor, start: int, end: int) -> Tensor:
    """The columns from `start` to `end` of (replicates, n).

    Of one replicate they are a stretch of memory, which needs not be copied.
    """
    if value.shape[0] == 1:
        return tf.reshape(value, (-1,))[start:end][None]
    return value[:, start:end]
