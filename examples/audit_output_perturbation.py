"""A training function to audit: ridge-regularised logistic regression, made private by noise on its weights.

    harness audit examples/audit_output_perturbation.py:train --epsilon 2 --delta 1e-5 --runs 2000
    harness audit examples/audit_output_perturbation.py:divides_twice --epsilon 2 --delta 1e-5 --runs 2000

Records are cut to length 1, so one of them moves the minimiser by at most 2 / (n l2) (Chaudhuri, Monteleoni and Sarwate
2011, Corollary 8), and Gaussian noise of that sensitivity gives (epsilon, delta)-DP, of neighbours that differ in one
record's values. The second function divides by n once too often, a mistake that was once made with DP-SGD's batch size
and found by an audit (tramer2025 Section 6.1).
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

EPSILON, DELTA, L2 = 2.0, 1e-5, 0.05


def train(features: np.ndarray, labels: np.ndarray, seed: int) -> LogisticRegression:
    """Logistic regression without intercept on records of length at most 1, and noise on its coefficients."""
    return _noisy(features, labels, seed, sensitivity=2 / (len(labels) * L2))


def divides_twice(features: np.ndarray, labels: np.ndarray, seed: int) -> LogisticRegression:
    """The same with noise for a sensitivity that is n times too small."""
    return _noisy(features, labels, seed, sensitivity=2 / (len(labels) ** 2 * L2))


def _noisy(features: np.ndarray, labels: np.ndarray, seed: int, sensitivity: float) -> LogisticRegression:
    from harness.formulas.gaussian import exact_noise_multiplier

    n, lengths = len(labels), np.linalg.norm(features, axis=1, keepdims=True)
    model = LogisticRegression(C=1 / (L2 * n), fit_intercept=False, tol=1e-8, max_iter=1000)
    model.fit(features / np.maximum(1.0, lengths), labels)
    noise = exact_noise_multiplier(EPSILON, DELTA) * sensitivity
    model.coef_ = model.coef_ + np.random.default_rng(seed).normal(0, noise, model.coef_.shape)
    return model
