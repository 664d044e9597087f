"""A pool of models like the one that is audited, each trained on a random half of the candidate records."""

from __future__ import annotations

import numpy as np

from harness.arrays import Array
from harness.attacks.pool import InOutModel, Pool
from harness.extensions.audit.model.asking import Job, train_pool
from harness.extensions.audit.model.question import Question
from harness.extensions.audit.model.records import Records
from harness.hashing import derive_seed, generator
from harness.metrics.answers import Outputs
from harness.progress import Progress

SEEDS = 1 << 31
"""Seeds are below it, as those of scikit-learn and NumPy have to be."""


def draw_halves(labels: Array, models: int, seed: int) -> Array:
    """Which model is trained on which record, (models, n) bool: models 2j and 2j + 1 share the records between them.

    Each record is in either half by a fair coin; halves have, to one record, as many records of each class.
    """
    rng, inside = generator(seed, "model audit", "halves", len(labels)), np.zeros((models, len(labels)), dtype=bool)
    for pair in range(models // 2):
        shuffled = rng.permutation(len(labels))
        in_turn = shuffled[np.argsort(labels[shuffled], kind="stable")]
        inside[2 * pair, in_turn[int(rng.integers(2)) :: 2]] = True
        inside[2 * pair + 1] = ~inside[2 * pair]
    return inside


def make_pool(
    question: Question, records: Records, outputs: Outputs, classes: tuple[str, ...], progress: Progress
) -> Pool:
    """Train the pool and ask its models about all records; `outputs` are the audited model's."""
    n, labels, smallest = records.candidates, outputs.labels, outputs.log_probabilities.min()
    halves = draw_halves(labels[:n], question.models, question.seed)
    seeds = [derive_seed(question.seed, "model audit", "model", i) % SEEDS for i in range(question.models)]
    jobs = [Job(half, seed, records.copies[:n]) for half, seed in zip(halves, seeds, strict=True)]
    answers = train_pool(question, records.features, records.labels, classes, jobs, progress)
    return Pool(
        InOutModel(Outputs(logp[:n], labels[:n]), Outputs(logp[n:], labels[n:]), half)
        for logp, half in zip((np.where(np.isneginf(one), smallest, one) for one in answers), halves, strict=True)
    )


def fill_zeros(log_probabilities: Array) -> Array:
    """A probability of 0 becomes half of the smallest other one of the same model.

    A forest of a hundred trees says 0 where another record would have had the share of one tree. The pool's zeros
    become the same number, so that confidences can be compared.
    """
    zero = np.isneginf(log_probabilities)
    if not zero.any():
        return log_probabilities
    return np.where(zero, log_probabilities[~zero].min() - np.log(2), log_probabilities)
