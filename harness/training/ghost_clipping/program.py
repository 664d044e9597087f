"""The training of a stack of models as one compiled graph, which a process keeps and uses again."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from harness.arrays import Array
from harness.training.forward import placed_layers
from harness.training.ghost_clipping.dense import FirstDenseRule
from harness.training.ghost_clipping.noise import columns, gaussian
from harness.training.ghost_clipping.rule import GhostLayer, Step, Tensor, sum_of_squares
from harness.training.ghost_clipping.softmax import softmax_delta
from harness.training.layer import Shape
from harness.training.layers.dense import Dense
from harness.training.layers.dropout import Dropout
from harness.training.model import Model, Weights
from harness.training.settings import Training

ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-7
STEPS_A_CALL = 500  # in one call of the graph, at most
PROGRAMS_KEPT = 8  # by a process, see `program_for`
WORTH_TWO_LANES = 1 << 20
"""Numbers that the widest layer takes of a batch."""
ENOUGH_FOR_TWO = 8
"""Records of a batch, so that no batch that is drawn leaves a lane empty."""


@dataclass(frozen=True)
class Stack:
    """The data of all replicates as one: record j of replicate r is row r * n + j."""

    features: Array
    """(replicates * n, n_features) float32."""
    labels: Array
    """(replicates * n,) int32."""
    order: Array
    """(steps, replicates, width) int32 rows; -1 where a batch is not full."""
    noise_multipliers: Array
    """(replicates,) float32."""
    noise_keys: Array
    """(replicates,) int64."""
    dropout_keys: Array
    """(replicates,) int64."""


class Program:
    """The forward pass, book-keeping, clipping, noise and update of `replicates` models of one architecture."""

    def __init__(
        self, model: Model, training: Training, n_features: int, n_classes: int, replicates: int, private: bool
    ) -> None:
        self.model, self.training, self.private = model, training, private
        self.n_features, self.n_classes, self.replicates = n_features, n_classes, replicates
        self.placed = placed_layers(model, n_features, n_classes)
        self.rules: list[GhostLayer] = []
        for index, p in enumerate(self.placed):
            kind = importlib.import_module(p.layer.ghost_module).RULE
            if index == 0 and isinstance(p.layer, Dense):
                kind = FirstDenseRule
            self.rules.append(kind(p.layer, p.shape, replicates, index))
        self.carries_ones = isinstance(self.rules[0], FirstDenseRule)
        for rule, p in zip(self.rules, self.placed, strict=True):
            if p.n_weights:
                kernel, (units,) = p.layer.weight_shapes(p.shape)
                ones = isinstance(rule, FirstDenseRule)
                shapes: list[Shape] = [(kernel[0] + 1, units)] if ones else [kernel, (1, units)]
                rule.weights = [tf.Variable(tf.zeros((replicates, *s))) for s in shapes]
        self.variables = [w for rule in self.rules for w in rule.weights]
        self.slots = [
            [tf.Variable(tf.zeros_like(w)) for w in self.variables]
            for _ in range({"adam": 2, "momentum": 1, "sgd": 0}[training.optimizer])
        ]
        self.sizes = [math.prod(v.shape[1:]) for v in self.variables]
        self.lanes_end = next((i for i, p in enumerate(self.placed) if len(p.shape) == 1), 0)
        """The first layer that sees vectors and not images."""
        self.lanes = self._lanes()
        self.padded = training.sampling == "poisson"
        width = None if self.padded else training.batch_size
        self.run = tf.function(
            self._run,
            autograph=False,
            input_signature=[
                tf.TensorSpec((None, n_features + self.carries_ones), tf.float32),
                tf.TensorSpec((None,), tf.float32),
                tf.TensorSpec((None,), tf.int32),
                tf.TensorSpec((None, replicates, width), tf.int32),
                tf.TensorSpec((replicates,), tf.float32),
                tf.TensorSpec((replicates,), tf.int64),
                tf.TensorSpec((replicates,), tf.int64),
                tf.TensorSpec((), tf.int64),
            ],
        )

    def _lanes(self) -> int:
        """The number of parts of a batch that go through the layers on images by themselves: two threads have work.

        Small batches are not worth it. The number follows from the model and the batch and not from the threads at
        hand, since TensorFlow's convolutions of fewer images differ in their last digits.
        """
        kinds = {type(p.layer) for p in self.placed[: self.lanes_end]}
        if not self.private or self.training.clipping != "per-example" or Dropout in kinds:
            return 1
        records, widest = self.training.batch_size, max(math.prod(p.shape) for p in self.placed)
        return 2 if self.lanes_end and records >= ENOUGH_FOR_TWO and widest * records >= WORTH_TWO_LANES else 1

    def set_weights(self, stack: Sequence[Weights]) -> None:
        """Start from given weights, one list a replicate, with a fresh optimizer."""
        for rule, p in zip(self.rules, self.placed, strict=True):
            if not p.n_weights:
                continue
            kernel, bias = (np.stack(values) for values in zip(*(p.weights(w) for w in stack), strict=True))
            if isinstance(rule, FirstDenseRule):
                rule.weights[0].assign(np.concatenate([kernel, bias[:, None]], axis=1))
            else:
                rule.weights[0].assign(kernel)
                rule.weights[1].assign(bias[:, None])
        for slot in self.slots:
            for variable in slot:
                variable.assign(tf.zeros_like(variable))

    def get_weights(self) -> list[Weights]:
        """The weights, one list a replicate."""
        weights: list[Weights] = [[] for _ in range(self.replicates)]
        for rule in self.rules:
            if isinstance(rule, FirstDenseRule):
                both = rule.weights[0].numpy()
                parts = [both[:, :-1], both[:, -1]]
            else:
                parts = [w.numpy() for w in rule.weights]
                parts[1:] = [b[:, 0] for b in parts[1:]]
            for part in parts:
                for replicate, value in enumerate(part):
                    weights[replicate].append(np.ascontiguousarray(value))
        return weights

    def train(self, stack: Stack, stops: int | None = None, at_stop: Callable[[], bool] | None = None) -> None:
        """Train on all batches of `stack.order`; after each `stops` steps call `at_stop`, which may end it (True)."""
        features = stack.features
        if self.carries_ones:
            features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
        norms = np.square(features, dtype=np.float64).sum(axis=1).astype(np.float32)
        tensors = [tf.constant(v) for v in (features, norms, stack.labels)]
        keys = [tf.constant(v) for v in (stack.noise_multipliers, stack.noise_keys, stack.dropout_keys)]
        steps = len(stack.order)
        starts = sorted({*range(0, steps, STEPS_A_CALL), *range(0, steps, stops or steps)})
        for start, end in zip(starts, [*starts[1:], steps], strict=True):
            self.run(*tensors, tf.constant(stack.order[start:end]), *keys, tf.constant(start, tf.int64))
            if at_stop is not None and stops is not None and end % stops == 0 and at_stop():
                return

    def _run(
        self,
        features: Tensor,
        norms: Tensor,
        labels: Tensor,
        order: Tensor,
        noise_multipliers: Tensor,
        noise_keys: Tensor,
        dropout_keys: Tensor,
        start: Tensor,
    ) -> None:
        steps = tf.shape(order, out_type=tf.int64)[0]

        def body(i: Tensor) -> tuple[Tensor]:
            rows = order[i]
            number = start + i
            gradients = self.gradients(features, norms, labels, rows, Step(number, dropout_keys))
            if self.private:
                gradients = self._add_noise(gradients, noise_multipliers, Step(number, noise_keys))
            self._update(self._add_penalty(gradients), tf.cast(number + 1, tf.float32))
            return (i + 1,)

        tf.while_loop(lambda i: i < steps, body, (tf.constant(0, tf.int64),), parallel_iterations=1)

    def gradients(self, features: Tensor, norms: Tensor, labels: Tensor, rows: Tensor, step: Step) -> list[Tensor]:
        """The clipped (where private) mean gradient of one batch, for each variable; no noise, no penalty.

        `rows` (replicates, width) are rows of `features`; under Poisson sampling -1 stands for nothing.
        """
        mask = None
        if self.padded:
            mask = tf.cast(rows >= 0, tf.float32)
            rows = tf.maximum(rows, 0)
        inputs: Any = tf.gather(features, rows)
        if self.carries_ones:
            inputs = (inputs, tf.gather(norms, rows))
        elif len(self.placed[0].shape) > 1:
            inputs = tf.reshape(inputs, (self.replicates, -1, *self.placed[0].shape))
        logits, caches = self._forward(inputs, step)
        share = 1.0 / self.training.batch_size
        per_example = self.private and self.training.clipping == "per-example"
        delta = softmax_delta(logits, tf.gather(labels, rows))
        scale = None
        if not per_example:
            delta *= share if mask is None else mask[..., None] * share
        deltas = self._deltas(delta, caches)
        weighted = [i for i, rule in enumerate(self.rules) if rule.weights]
        memos: dict[int, Any] = {}
        if per_example:
            parts = []
            for i in weighted:
                lanes = zip(deltas[i], caches[i], strict=True)
                norms_of, memos_of = zip(*(self.rules[i].square_norms(*lane) for lane in lanes), strict=True)
                parts.append(_join_lanes(norms_of))
                memos[i] = _join_lanes(memos_of)
            scale = self._clip(share, tf.add_n(parts))
            scale = scale if mask is None else scale * mask
        gradients = []
        for i in weighted:
            # What a memo stands for needs not be put together again.
            delta, cache = (
                (None, None)
                if self.rules[i].remembers(memos.get(i))
                else (_join_lanes(deltas[i]), _join_lanes(caches[i]))
            )
            gradients += self.rules[i].gradients(delta, scale, cache, memos.get(i))
        if self.private and not per_example:
            axes = [list(range(1, len(g.shape))) for g in gradients]
            total = tf.add_n([sum_of_squares(g, a) for g, a in zip(gradients, axes, strict=True)])
            gradients = [
                self._clip(g, tf.reshape(total, (-1, *[1] * len(a)))) for g, a in zip(gradients, axes, strict=True)
            ]
        return gradients

    def _clip(self, value: Any, square_norms: Tensor) -> Tensor:
        """`value` times min(1, clip / norm), as (value * clip) / max(norm, clip).

        Written so that TensorFlow's rewriter finds neither a division by a root nor one of 1: it makes reciprocals of
        those, which are not exact and differ with an entry's place in the array (see `rule.activate`).
        """
        clip = self.training.l2_norm_clip
        return (value * clip) / tf.maximum(tf.sqrt(square_norms), clip)

    def _forward(self, inputs: Tensor, step: Step) -> tuple[Tensor, list[list[Any]]]:
        """The logits, and for each layer what its lanes keep for the backward pass."""
        lanes = _in_lanes(inputs, self.lanes)
        caches = []
        for i, rule in enumerate(self.rules):
            lanes = [_join_lanes(lanes)] if i == self.lanes_end else lanes
            passed = [rule.forward(lane, step) for lane in lanes]
            lanes = [outputs for outputs, _ in passed]
            caches.append([cache for _, cache in passed])
        return lanes[0], caches

    def _deltas(self, delta: Tensor, caches: list[list[Any]]) -> list[list[Tensor]]:
        """The derivatives before each layer's activation, in lanes, by one backward pass."""
        lowest = next(i for i, rule in enumerate(self.rules) if rule.weights)
        deltas: list[list[Tensor]] = [[] for _ in self.rules]
        lanes = [delta]
        for i in reversed(range(len(self.rules))):
            rule = self.rules[i]
            lanes = _in_lanes(lanes[0], self.lanes) if i + 1 == self.lanes_end else lanes
            lanes = deltas[i] = [rule.before_activation(*lane) for lane in zip(lanes, caches[i], strict=True)]
            if i == lowest:
                break
            lanes = [rule.backward(*lane) for lane in zip(lanes, caches[i], strict=True)]
        return deltas

    def _add_noise(self, gradients: list[Tensor], noise_multipliers: Tensor, step: Step) -> list[Tensor]:
        share = 1.0 / self.training.batch_size if self.training.clipping == "per-example" else 1.0
        spread = noise_multipliers * (self.training.l2_norm_clip * share)
        noise = gaussian(step, spread, sum(self.sizes))
        noised, used = [], 0
        for gradient, size in zip(gradients, self.sizes, strict=True):
            noised.append(gradient + tf.reshape(columns(noise, used, used + size), gradient.shape))
            used += size
        return noised

    def _add_penalty(self, gradients: list[Tensor]) -> list[Tensor]:
        """Add the gradient of l2 * sum of squared kernel entries; as in TF Privacy it is neither clipped nor noised."""
        if not self.model.l2:
            return gradients
        penalised, place = [], 0
        for rule in self.rules:
            for j, variable in enumerate(rule.weights):
                penalty = 2 * self.model.l2 * variable
                if isinstance(rule, FirstDenseRule):
                    kept = np.ones((variable.shape[1], 1), np.float32)
                    kept[-1] = 0.0
                    penalty *= kept
                penalised.append(gradients[place] + penalty if j == 0 else gradients[place])
                place += 1
        return penalised

    def _update(self, gradients: list[Tensor], number: Tensor) -> None:
        rate = self.training.learning_rate
        for i, (variable, gradient) in enumerate(zip(self.variables, gradients, strict=True)):
            if self.training.optimizer == "adam":
                tf.raw_ops.ResourceApplyAdam(
                    var=variable.handle,
                    m=self.slots[0][i].handle,
                    v=self.slots[1][i].handle,
                    beta1_power=tf.pow(ADAM_BETA1, number),
                    beta2_power=tf.pow(ADAM_BETA2, number),
                    lr=rate,
                    beta1=ADAM_BETA1,
                    beta2=ADAM_BETA2,
                    epsilon=ADAM_EPSILON,
                    grad=gradient,
                )
            elif self.training.optimizer == "momentum":
                tf.raw_ops.ResourceApplyKerasMomentum(
                    var=variable.handle,
                    accum=self.slots[0][i].handle,
                    lr=rate,
                    grad=gradient,
                    momentum=self.training.momentum,
                )
            else:
                tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)


def _in_lanes(value: Tensor, lanes: int) -> list[Tensor]:
    """The parts of (replicates, records, ...) along the records, as equal as can be."""
    if lanes == 1:
        return [value]
    records = tf.shape(value)[1]
    ends = [records * i // lanes for i in range(lanes + 1)]
    return [value[:, start:end] for start, end in itertools.pairwise(ends)]


def _join_lanes(lanes: Sequence[Any]) -> Any:
    """The tensors (replicates, records, ...) of all lanes, or structures of such, joined over all records."""

    def over_all(first: Any, *others: Any) -> Any:
        return None if first is None else tf.concat([first, *others], axis=1)

    return lanes[0] if len(lanes) == 1 else tf.nest.map_structure(over_all, *lanes)


@lru_cache(maxsize=PROGRAMS_KEPT)
def program_for(
    model: Model, training: Training, n_features: int, n_classes: int, replicates: int, private: bool
) -> Program:
    """The program of a shape; tracing costs about a second, so a process keeps the last few."""
    return Program(model, training, n_features, n_classes, replicates, private)
