"""A bug that people ship, and what is right: noise for a sum of clipped gradients, which is then divided by how many
records there are. With one record fewer the whole sum is divided by another number, so that a record in the other
direction moves the result by up to twice what the noise is for.

    harness audit examples/audit_divided_by_count.py:by_count --epsilon 1 --canary sought --score loss --runs 16000

finds an epsilon above 1 by the bound for normal scores alone, which they do not look; of `by_constant`, which divides
by a number that is fixed beforehand, it does not.
"""

import numpy as np

NOISE = 3.74
"""Standard deviation for a sum that one record moves by at most 1: epsilon is 1 at delta 1e-5."""
EXPECTED = 64


class Model:
    """A linear model of two classes."""

    def __init__(self, w):
        self.w = w

    def predict_proba(self, features):
        p = 1 / (1 + np.exp(-features @ self.w))
        return np.stack([1 - p, p], axis=1)


def step(features, labels, seed, count):
    """One step of DP-SGD for logistic regression, from zero."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    rows = features / np.maximum(norms, 1.0) * np.where(labels > 0, 1.0, -1.0)[:, None]
    noise = np.random.default_rng(seed).normal(0.0, NOISE, features.shape[1])
    return Model((rows.sum(axis=0) + noise) / count)


def by_count(features, labels, seed):
    return step(features, labels, seed, len(features))


def by_constant(features, labels, seed):
    return step(features, labels, seed, EXPECTED)
