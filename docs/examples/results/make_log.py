"""Writes log.csv: the accuracies of a small network after each epoch, for ten seeds, as a training script logs them.

`python docs/examples/results/make_log.py`: scikit-learn's digits (1,797 images, bundled), half of them to train on, by
seed; one hidden layer of 64, plain SGD.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

SEEDS, EPOCHS = range(10), range(1, 21)


def train(seed: int) -> list[tuple[int, int, str, str]]:
    """Rows of one run: seed, epoch, and both accuracies."""
    features, labels = load_digits(return_X_y=True)
    inside, outside, own, other = train_test_split(features / 16, labels, train_size=0.5, random_state=seed)
    model = MLPClassifier((64,), solver="sgd", learning_rate_init=0.1, batch_size=32, random_state=seed)
    rows = []
    for epoch in EPOCHS:
        model.partial_fit(inside, own, classes=np.unique(labels))
        rows.append((seed, epoch, f"{model.score(inside, own):.6f}", f"{model.score(outside, other):.6f}"))
    return rows


if __name__ == "__main__":
    with Path(__file__).with_name("log.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", "epoch", "train_acc", "val_acc"])
        for seed in SEEDS:
            writer.writerows(train(seed))
